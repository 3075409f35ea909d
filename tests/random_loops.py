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

import numpy as np
from drawn_loops import DrawnLoop
from drawn_steps import kind_of
from gpuarray.compiler import config, function, grad, rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import evaluated
from random_choices import slope
from random_drawing import quiet
from random_judging import unlike
from random_program import halved, options_parser, run
from random_rounding import MOVES, most, same, wide
from run_graph import run_graph

WAYS = 6
"""How many times inputs are moved by some last digits."""
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
    """What a program reads of a drawn loop, and how that differs from what is right.

    ``asked`` are variables: parts of the outputs, values that shared variables get and,
    of some loops, gradients. ``expected`` are their values.
    """

    def __init__(self, seed):
        self.drawn = drawn = DrawnLoop(seed)
        self.results = drawn.by_numpy()
        self.turns = drawn.turns_of(self.results)
        self.inputs, outputs, self.updates = drawn.variables()
        self.parts = drawn.read(drawn.tensor, outputs, self.turns)
        self.n_outputs = len(outputs)
        self.slopes = {} if seed % GRADIENTS else self.gradients()
        self.values = [*self.parts, *self.updates.values()]
        self.asked = [*self.values, *self.slopes.values()]
        self.evaluated = self.by_graph(drawn.arrays)
        self.expected = list(self.evaluated)
        if self.turns:
            self.expected[: len(self.values)] = self.read(self.results)

    def gradients(self):
        """The gradient by each input that is of floats, by its place."""
        places = [i for i, x in enumerate(self.inputs) if kind_of(x) in "fc"]
        cost = cost_of(self.drawn.tensor, self.parts)
        if cost.owner is None or not places:
            return {}
        wrt = [self.inputs[i] for i in places]
        gradients = grad(cost, wrt, disconnected_inputs="ignore")
        return dict(zip(places, gradients, strict=True))

    def read(self, results):
        """The parts of NumPy's outputs, and the values of shared variables."""
        split = self.n_outputs
        turns = self.drawn.turns_of(results)
        parts = self.drawn.read(self.drawn.numpy, results[:split], turns)
        return [np.asarray(x) for x in [*parts, *results[split:]]]

    def by_graph(self, arrays):
        """The values by the graph as it was drawn."""
        return evaluated(self.asked, dict(zip(self.inputs, arrays, strict=True)))

    # ---- how far values may be off ----

    def moved(self, way):
        """The inputs with each float moved by some last digits, up or down."""
        rng = np.random.default_rng(way)
        arrays = list(self.drawn.arrays)
        for place, array in enumerate(arrays):
            if array.dtype.kind in "fc":
                real = array.real.dtype
                up = rng.choice([-1, 1], array.shape) * MOVES[real.name]
                step = np.spacing(np.maximum(abs(array), np.finfo(real).tiny)) * up
                arrays[place] = (array + step).astype(array.dtype)
        return arrays

    def spread(self, place):
        """How far a value moves with the inputs; infinite where it may be anything."""
        base, spread = self.expected[place], np.zeros(self.expected[place].shape)
        for way in range(WAYS):
            value = self.again(place, self.moved(way))
            if np.shape(value) != base.shape:
                return np.array(np.inf)
            off = np.abs(wide(value) - wide(base))
            off = np.where(same(value, base), 0, off)
            spread = most(spread, np.where(np.isnan(off), np.inf, off))
        return spread

    def again(self, place, arrays):
        """A value for other inputs, by NumPy where it is no gradient."""
        if self.turns and place < len(self.values):
            results = self.drawn.by_numpy(arrays)
            return self.read(results)[place] if results else None
        return self.by_graph(arrays)[place]

    # ---- what differs ----

    def differences(self):
        """Where and how values of the graph as it was drawn differ."""
        yield "as drawn", self.difference(self.evaluated[: len(self.values)])
        for _ in range(PLACES if self.slopes else 0):
            yield "differences", self.of_quotient()

    def difference(self, values):
        """How values differ; empty if they do not."""
        for place, value in enumerate(values):
            text = unlike(
                value, self.expected[place], lambda place=place: self.spread(place)
            )
            if text:
                return f"{self.name(place)}: {text}"
        return ""

    def name(self, place):
        k = place - len(self.parts)
        if k < 0:
            return f"output {place}"
        if place < len(self.values):
            return f"update {k}"
        return f"gradient by input {list(self.slopes)[place - len(self.values)]}"

    def of_quotient(self):
        """How a gradient differs from a quotient of differences by one number."""
        drawn = self.drawn
        kinds = {array.dtype.name for array in drawn.arrays}
        if not self.turns or kinds & {"float16", "float32"}:
            return ""
        place = drawn.pick.choice(list(self.slopes))
        at = tuple(drawn.pick.randrange(n) for n in drawn.arrays[place].shape)
        unit = drawn.pick.choice([1, 1j]) if kind_of(drawn.arrays[place]) == "c" else 1
        got = self.expected[len(self.values) + list(self.slopes).index(place)][at]
        got = got.imag if unit == 1j else got.real
        right, error = slope(lambda step: self.cost(place, at, unit * step))
        if not abs(got - right) <= error:
            return f"gradient by input {place} at {at}: {got}, of differences: {right}"
        return ""

    def cost(self, place, at, step):
        """The cost with a step in one of the inputs; of other turns, infinite."""
        arrays = list(self.drawn.arrays)
        arrays[place] = arrays[place].copy()
        arrays[place][at] += step
        results = self.drawn.by_numpy_at_last(arrays, self.turns)
        if self.drawn.turns_of(results) != self.turns:
            return np.inf
        parts = self.read(results)[: len(self.parts)]
        return float(cost_of(self.drawn.numpy, parts))


# ---- several loops together ----


def rewritten(cases):
    """What differs in one graph of some loops after all rewrites: the case and how."""
    inputs = [variable for case in cases for variable in case.inputs]
    arrays = [array for case in cases for array in case.drawn.arrays]
    graph = FunctionGraph(inputs, [x for case in cases for x in case.asked])
    rewrites.optimize(graph, keep_requirements=True)
    results = iter(run_graph(graph, dict(zip(graph.inputs, arrays, strict=True))))
    for case in cases:
        if text := case.difference([next(results) for _ in case.asked]):
            yield case, text


def on_device(cases, context):
    """What differs where a device runs one function of some loops."""
    arguments = {}
    for case in cases:
        arguments |= zip(case.inputs, case.drawn.arrays, strict=True)
    updates = {x: value for case in cases for x, value in case.updates.items()}
    for variable in updates:
        variable.set_value(arguments.pop(variable))
    outputs = [x for case in cases for x in [*case.parts, *case.slopes.values()]]
    with config.use(device=context.name):
        f = function(
            list(arguments), outputs, updates=updates, on_unused_input="ignore"
        )
    results = map(np.asarray, f(*arguments.values()))
    for case in cases:
        values = list(islice(results, len(case.parts)))
        values += [np.asarray(variable.get_value()) for variable in case.updates]
        if text := case.difference([*values, *islice(results, len(case.slopes))]):
            yield case, text


def judged(seeds):
    """Loops with what differs in them: where, and how."""
    for seed in seeds:
        try:
            case = JudgedLoop(seed)
            yield case, [(where, text) for where, text in case.differences() if text]
        except Exception as error:
            yield seed, [("raised", f"{type(error).__name__}: {error}")]


def found(seeds, context=None):
    """The differences of a batch: seed, where, and how."""
    cases = []
    with quiet(), config.use(floatX="float64"):
        for case, differences in judged(seeds):
            is_case = isinstance(case, JudgedLoop)
            cases += [case] if is_case else []
            for where, text in differences:
                yield case.drawn.seed if is_case else case, where, text
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
