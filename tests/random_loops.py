"""Random loops: by NumPy turn by turn, as a graph, rewritten, and on a device.

As a program it draws many. Without a context the host alone judges them: the graph of
`scan` and the graph that is left of it, some 40 ms each; one in ten with its
gradients, which are judged by those of the graph as it was drawn and by quotients of
differences. With a context they are run as well, several to a function. It tells every
few seconds how far it is; Ctrl-C ends it with its result.
python tests/random_loops.py --cases 100000 --jobs 2
python tests/random_loops.py --context cuda0 --cases 10000 --seed 1 --jobs 8
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice

import gpuarray.compiler.tensor as T
import numpy as np
from drawn_loops import DrawnLoop
from drawn_steps import kind_of
from gpuarray.compiler import config, function, grad, rewrites
from gpuarray.compiler.graph.core import Constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import evaluated
from gpuarray.compiler.scan_module.scan_utils import map_variables
from gpuarray.scalars import Scalar
from random_choices import slope
from random_drawing import quiet
from random_judging import unlike
from random_program import halved, options_parser, run
from random_rounding import MOVES, ROUNDED, most, same, wide
from run_graph import run_graph

WAYS = 6
"""How many times inputs are moved by some last digits."""
LOST = 1e-2
"""A loop that moves its results so far, relative to the largest, amplifies roundings.

It is not judged where it differs.
"""
TOGETHER = 2
"""How many loops are rewritten in one graph: those of one length may be merged."""
GRADIENTS = 10
"""One in how many loops has gradients: they take ten times as long."""
PLACES = 4
"""At how many places of the inputs a gradient is compared with differences."""


def cost_of(m, parts):
    """A bounded smooth number that all floats of some outputs have a part in."""
    total = m.cast(0, "float64")
    for k, part in enumerate(parts):
        if kind_of(part) in "fc":
            one = m.cast(m.real(part), "float64") + 0.5
            other = m.cast(m.imag(part), "float64") if kind_of(part) == "c" else 0
            square = one * one + other * other
            total = total + (k + 1) * m.sum(square / (1 + square))
    return total


class JudgedLoop:
    """The graph of what a program reads of a drawn loop, and what its values should be.

    ``asked`` are parts of the outputs, values that shared variables get and, of some
    loops, gradients. ``right`` has their values for the inputs that were drawn, and for
    others of other lengths.
    """

    def __init__(self, seed):
        self.drawn = drawn = DrawnLoop(seed)
        self.inputs, outputs, self.updates = drawn.variables()
        self.n_outputs = len(outputs)
        turns = drawn.turns_of(drawn.by_numpy())
        self.parts = drawn.read(drawn.tensor, self.inputs, outputs, turns)
        self.slopes = {} if seed % GRADIENTS else self.gradients()
        self.values = [*self.parts, *self.updates.values()]
        self.asked = [*self.values, *self.slopes.values()]
        self.right = [Right(self, drawn.arrays), Right(self, drawn.other_arrays(turns))]

    def gradients(self):
        """The gradient by each input that is of floats, by its place."""
        places = [i for i, x in enumerate(self.inputs) if kind_of(x) in "fc"]
        cost = cost_of(self.drawn.tensor, self.parts)
        if cost.owner is None or not places:
            return {}
        wrt = [self.inputs[i] for i in places]
        gradients = grad(cost, wrt, disconnected_inputs="ignore")
        return dict(zip(places, gradients, strict=True))

    def read(self, arrays, results):
        """The parts of NumPy's outputs, and the values of shared variables."""
        split, turns = self.n_outputs, self.drawn.turns_of(results)
        parts = self.drawn.read(self.drawn.numpy, arrays, results[:split], turns)
        return [np.asarray(x) for x in [*parts, *results[split:]]]

    def by_graph(self, arrays):
        """The values by the graph as it was drawn."""
        return evaluated(self.asked, dict(zip(self.inputs, arrays, strict=True)))

    def name(self, place):
        """What a value is, for messages."""
        if place < len(self.parts):
            return f"output {place}"
        if place < len(self.values):
            return f"update {place - len(self.parts)}"
        return f"gradient by input {list(self.slopes)[place - len(self.values)]}"

    def differences(self):
        """Where and how values of the graph as it was drawn differ."""
        for right in self.right:
            yield "as drawn", right.difference(right.by_graph[: len(self.values)])
        for _ in range(PLACES if self.slopes else 0):
            yield "differences", self.of_quotient()

    def of_quotient(self):
        """How a gradient differs from a quotient of differences by one number."""
        drawn, right = self.drawn, self.right[0]
        kinds = {array.dtype.name for array in drawn.arrays}
        if not right.turns or kinds & {"float16", "float32"}:
            return ""
        place = drawn.pick.choice(list(self.slopes))
        at = tuple(drawn.pick.randrange(n) for n in drawn.arrays[place].shape)
        unit = drawn.pick.choice([1, 1j]) if kind_of(drawn.arrays[place]) == "c" else 1
        got = right.values[len(self.values) + list(self.slopes).index(place)][at]
        got = got.imag if unit == 1j else got.real
        quotient, error = slope(lambda step: self.cost(place, at, unit * step))
        if not abs(got - quotient) <= error:
            return f"gradient by input {place} at {at}: {got}, not {quotient}"
        return ""

    def cost(self, place, at, step):
        """The cost with a step in one of the inputs; of other turns, infinite."""
        arrays = list(self.drawn.arrays)
        arrays[place] = arrays[place].copy()
        arrays[place][at] += step
        turns = self.right[0].turns
        results = self.drawn.by_numpy_at_last(arrays, turns)
        if self.drawn.turns_of(results) != turns:
            return np.inf
        parts = self.read(arrays, results)[: len(self.parts)]
        return float(cost_of(self.drawn.numpy, parts))


class Right:
    """What the values of a loop's graph should be, for some values of its inputs.

    They are those of NumPy; of gradients those of the graph as it was drawn.
    """

    def __init__(self, loop, arrays):
        self.loop = loop
        self.arrays = arrays
        results = loop.drawn.by_numpy(arrays)
        self.turns = loop.drawn.turns_of(results)
        self.by_graph = loop.by_graph(arrays)
        if self.turns:
            self.values = loop.read(arrays, results)
        else:  # the shapes are those of the graph
            self.values = [x[:0] for x in self.by_graph[: len(loop.parts)]]
            self.values += loop.drawn.arguments(loop.drawn.numpy, arrays).shared
        self.values += self.by_graph[len(self.values) :]

    def difference(self, values):
        """How values differ; empty if they do not."""
        for place, (value, right) in enumerate(zip(values, self.values, strict=False)):
            if text := unlike(value, right, partial(self.spread, place)):
                return f"{self.loop.name(place)}: {text}"
        return ""

    def spread(self, place):
        """How far a value moves with what the loop is given.

        Infinite where it may be anything.
        """
        right = self.values[place]
        spread = np.maximum(np.abs(wide(right)), 1) * self.digit()
        for way in range(2 * WAYS):
            if way < WAYS:
                value = self.again(place, self.moved(way))
            else:
                value = self.by_moved_results(place, way)
            if np.shape(value) != right.shape:
                return np.array(np.inf)
            off = np.abs(wide(value) - wide(right))
            off = np.where(same(value, right), 0, off)
            spread = most(spread, np.where(np.isnan(off), np.inf, off))
        is_lost = spread.max(initial=0) > LOST * np.abs(wide(right)).max(initial=1)
        return np.array(np.inf) if is_lost else spread

    def digit(self):
        """The last digit of 1 in the coarsest dtype of the loop."""
        arrays = [*self.arrays, *(state.start for state in self.loop.drawn.states)]
        floats = [x.dtype for x in arrays if x.dtype.kind in "fc"]
        return max((np.finfo(dtype).eps for dtype in floats), default=0)

    def again(self, place, arrays):
        """A value for other inputs, by NumPy where it is no gradient."""
        loop = self.loop
        if self.turns and place < len(loop.values):
            return loop.read(arrays, loop.drawn.by_numpy(arrays))[place]
        return loop.by_graph(arrays)[place]

    def by_moved_results(self, place, way):
        """A value of the graph whose constants and rounded results are moved, too."""
        move = partial(moved_variable, np.random.default_rng(way))
        graph = map_variables(move, [self.loop.asked[place]])
        known = dict(zip(self.loop.inputs, self.moved(way), strict=True))
        return evaluated(graph, known)[0]

    def moved(self, way):
        """The inputs with each float moved by some last digits, up or down."""
        rng = np.random.default_rng(way)
        arrays = list(self.arrays)
        for place, array in enumerate(arrays):
            if array.dtype.kind in "fc":
                real = array.real.dtype
                up = rng.choice([-1, 1], array.shape) * MOVES[real.name]
                step = np.spacing(np.maximum(abs(array), np.finfo(real).tiny)) * up
                arrays[place] = (array + step).astype(array.dtype)
        return arrays


def moved_variable(rng, variable):
    """A constant, or a result that is rounded, with its last digits moved.

    In each turn one way. Whole numbers that are computed may be exact: they stay.
    """
    kind = variable.type.numpy_dtype
    if isinstance(variable, Constant) and kind.kind == "f":
        signs = rng.choice([-1, 1], variable.data.shape)
        step = np.spacing(variable.data) * MOVES[kind.name] * signs
        return variable.type.make_constant((variable.data + step).astype(kind))
    name = type(variable.owner.op).__name__ if variable.owner else ""
    if name not in ROUNDED or kind.kind not in "fc":
        return variable
    factor = 1 + rng.choice([-1, 1]) * np.finfo(kind).eps
    result = variable * T.constant(factor, dtype=kind.name)
    if kind.kind == "c":
        return result
    is_whole = T.eq(variable, T.rint(variable)) & (T.abs(variable) < 1000)
    result = T.where(is_whole, variable, result)
    is_row = isinstance(getattr(variable.owner.op, "scalar", None), Scalar)
    return stored(variable, result) if is_row and kind == np.float16 else result


def stored(variable, result):
    """A result in float16, a number where it is inf or 0 but not in float32.

    Kernels compute in float32 and round what they store.
    """
    least, large = np.finfo(np.float16).smallest_subnormal, 3e4
    arrays = [
        T.cast(x, "float32") if x.type.dtype == "float16" else x
        for x in variable.owner.inputs
    ]
    exact = T.cast(variable.owner.op(*arrays), "float32")
    sign = T.cast(T.sgn(exact), "float16")
    is_small = T.eq(variable, 0) & (T.abs(exact) > 0)
    is_large = T.isinf(variable) & ~T.isinf(exact)
    result = T.where(is_small, sign * T.constant(least, dtype="float16"), result)
    return T.where(is_large, sign * T.constant(large, dtype="float16"), result)


# ---- several loops together ----


def rewritten(cases):
    """What differs in one graph of some loops after all rewrites: the case and how."""
    inputs = [variable for case in cases for variable in case.inputs]
    graph = FunctionGraph(inputs, [x for case in cases for x in case.asked])
    rewrites.optimize(graph, keep_requirements=True)
    for rights in zip(*(case.right for case in cases), strict=True):
        arrays = [array for right in rights for array in right.arrays]
        results = iter(run_graph(graph, dict(zip(graph.inputs, arrays, strict=True))))
        for right in rights:
            values = list(islice(results, len(right.values)))
            if text := right.difference(values):
                yield right.loop, text


def on_device(cases, context):
    """What differs where a device runs one function of some loops."""
    updates = {x: value for case in cases for x, value in case.updates.items()}
    inputs = [x for case in cases for x in case.inputs if x not in updates]
    outputs = [x for case in cases for x in [*case.parts, *case.slopes.values()]]
    with config.use(device=context.name):
        f = function(inputs, outputs, updates=updates, on_unused_input="ignore")
    for rights in zip(*(case.right for case in cases), strict=True):
        for right, values in zip(rights, called(f, updates, rights), strict=True):
            if text := right.difference(values):
                yield right.loop, text


def called(f, updates, rights):
    """The values that a function of some loops gives: of each loop, as it asks them."""
    arguments = {}
    for right in rights:
        arguments |= zip(right.loop.inputs, right.arrays, strict=True)
    for variable in updates:
        variable.set_value(arguments.pop(variable))
    results = map(np.asarray, f(*arguments.values()))
    for right in rights:
        loop = right.loop
        values = list(islice(results, len(loop.parts)))
        values += [np.asarray(variable.get_value()) for variable in loop.updates]
        yield [*values, *islice(results, len(loop.slopes))]


def found(seeds, context=None):
    """The differences of a batch: seed, where, and how."""
    cases = []
    with quiet(), config.use(floatX="float64"):
        for seed in seeds:
            try:
                cases.append(JudgedLoop(seed))
                texts = list(cases[-1].differences())
            except Exception as error:
                texts = [("raised", f"{type(error).__name__}: {error}")]
            yield from ((seed, where, text) for where, text in texts if text)
        for first in range(0, len(cases), TOGETHER):
            for case, text in halved(cases[first : first + TOGETHER], rewritten):
                yield case.drawn.seed, "rewritten", text
        if context is not None and cases:
            for case, text in halved(cases, partial(on_device, context=context)):
                yield case.drawn.seed, context.name, text


def main(arguments=None):
    """Draw loops; print what differs."""
    return run(options_parser(__doc__).parse_args(arguments), found)


if __name__ == "__main__":
    sys.exit(main())
