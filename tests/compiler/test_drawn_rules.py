"""Rules on drawn dtypes, axes and numbers: each step of rewriting judged by NumPy.

The left sides of all rules' examples are drawn with operands of other dtypes, of small
integers, bool and complex numbers too, with axes of length 1 and numbers at the ends of
a range. So are all neighbours of the examples, where conditions of rules are needed.
And products of constants of every size that stay within the range as they are written
stay there when they are optimized.
"""

import random
import re

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import rewrites
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import ancestors
from gpuarray.compiler.rewrites.engine.engine import Fixpoint, Log
from gpuarray.compiler.rewrites.engine.requirements import Missing
from gpuarray.compiler.rewrites.passes import all_rules
from neighbours import neighbours
from random_drawing import Values, quiet
from random_judging import Judged
from run_graph import run_graph
from test_rewrites import leaves, namespace

DTYPES = ["float64", "float32", "float16", "complex64", "complex128"]
DTYPES += ["int8", "uint8", "int64", "uint32", "bool"]
INDICES = ["int8", "uint8", "int32", "int64"]
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0]
LENGTH = 4
DRAWS = 6
DRAWN_OF = 4
"""Of so many neighbours of examples one has operands of drawn dtypes and axes, too."""
UNTOLD = {"sum_of_spread"}
"""Rules that drop places that may be out of bounds: the cost reads them, too."""
ERRORS = (IndexError, ValueError)
"""What an expression may raise for its values, and must raise if it is rewritten."""
REFUSED = (CompilerError, TypeError, ValueError, IndexError, AssertionError)
"""What an expression of these dtypes and shapes may raise as it is written."""


class RuleDrawn:
    """An example of a rule with drawn operands, as `Judged` takes it.

    With ``plain`` all operands have the dtypes and axes that the example says.
    ``error`` is what the expression raises for its values: of an index or a shape.
    """

    def __init__(self, text, seed, plain=False):
        self.seed = seed
        self.random = random.Random(f"{seed} {text}")
        self.rng = np.random.default_rng(self.random.randrange(1 << 32))
        # Both sides of a choice are computed by the references, so both must fit.
        self.ones = 0 if "ifelse" in text else self.random.choice([0, 0, 0.3])
        self.ones *= not plain
        # What is solved or overflows in a product depends on every digit.
        self.is_plain = bool(re.search("inverse|solve|dot", text))
        base = self.random.choice(DTYPES)
        values = {}
        with quiet():
            for name, leaf in leaves(re.findall(r"\b\w\b", text)).items():
                dtype = leaf.dtype if plain else self.dtype(name, base)
                pattern = [self.random.random() < self.ones for _ in range(leaf.ndim)]
                variable = T.tensor(dtype, pattern, name)
                shape = [1 if flag else LENGTH for flag in pattern]
                values[variable] = self.array(name, dtype, shape)
            scope = namespace({each.name: each for each in values})
            self.outputs = [eval(text, scope)]
            used = set(ancestors(self.outputs))
            self.inputs = [each for each in values if each in used]
            self.values = Values({each: values[each] for each in self.inputs})
            self.error = None
            try:
                self.values.of(self.outputs[0])
            except ERRORS as error:
                self.error = error

    def dtype(self, name, base):
        if name in "ik":
            return self.random.choice(INDICES)
        return base if self.random.random() < 0.75 else self.random.choice(DTYPES)

    def array(self, name, dtype, shape):
        dtype = np.dtype(dtype)
        if name == "k":
            return self.rng.permutation(LENGTH).astype(dtype)[: shape[0]]
        if dtype.kind == "b":
            return self.rng.random(shape) < 0.5
        if dtype.kind in "iu":
            return self.integers(dtype, shape)
        if dtype.kind == "f":
            return self.floats(dtype, shape)
        array = np.empty(shape, dtype)
        for part in (array.real, array.imag):
            part[...] = self.rng.normal(0, 2, shape)
        return array

    def integers(self, dtype, shape):
        range_ = np.iinfo(dtype)
        array = self.rng.integers(max(range_.min, -5), 6, shape).astype(dtype)
        ends = self.rng.choice([range_.min, range_.max], size=shape).astype(dtype)
        return self.mixed(array, ends)

    def floats(self, dtype, shape):
        limits = np.finfo(dtype)
        array = self.rng.normal(0, 2, shape).astype(dtype)
        ends = [limits.max, -limits.max, limits.tiny, -limits.tiny]
        array = self.mixed(array, self.rng.choice(SPECIAL, size=shape).astype(dtype))
        return self.mixed(array, self.rng.choice(ends, size=shape).astype(dtype))

    def mixed(self, array, others):
        """Some elements of another array, at times."""
        share = self.random.choice([0, 0, 0.3])
        is_other = self.rng.random(array.shape) < (0 if self.is_plain else share)
        return np.asarray(np.where(is_other, others, array))


def drawn(text, seed, plain=False):
    """The example with drawn operands; None where NumPy has no value for it."""
    try:
        return RuleDrawn(text, seed, plain)
    except REFUSED:
        return None


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_rule_holds_for_drawn_operands(rule):
    cases = [
        drawn(example.before, seed)
        for example in rule.examples
        for seed in range(DRAWS)
    ]
    cases = [each for each in cases if each is not None and each.error is None]
    assert cases
    found = {(each.outputs[0].owner, each.seed): Judged(each).found for each in cases}
    assert {key: text for key, text in found.items() if text} == {}


class JudgedAlone(Judged):
    """An expression rewritten by one rule alone."""

    def __init__(self, drawn, rule):
        self.rule = rule
        super().__init__(drawn)

    def rewrite(self):
        Fixpoint(self.fgraph, [self.rule], Log()).run()


def difference(text, plain, rule):
    """How a rule changes an expression's value or error; nothing where it has none."""
    case = drawn(text, 0, plain)
    if case is None:
        return ""
    if case.error is not None:
        return "" if rule.name in UNTOLD else lost_error(case, rule)
    try:
        return JudgedAlone(case, rule).found
    except REFUSED:
        if "ifelse" in text:  # the branches fit alone, both are computed here
            return ""
        raise


def lost_error(case, rule):
    """What a rule makes of an expression that raises; nothing where it still does."""
    fgraph = FunctionGraph(case.inputs, case.outputs)
    missing = Missing(fgraph)
    Fixpoint(fgraph, [rule], Log()).run()
    missing.seen(fgraph)
    missing.restored(fgraph)
    values = Values({each: case.values.of(each) for each in case.inputs})
    try:
        with quiet():
            found = values.of(fgraph.outputs[0])
    except ERRORS:
        return ""
    return f"{found}, which raised {case.error}"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_rule_holds_beside_its_examples(rule):
    texts = {text for each in rule.examples for text in neighbours(each.before)}
    assert texts
    plain = {text: difference(text, True, rule) for text in texts}
    drawn = {text: difference(text, False, rule) for text in sorted(texts)[::DRAWN_OF]}
    found = [*plain.items(), *drawn.items()]
    assert {key: text for key, text in found if text} == {}


# ---- products of constants ----

DECADES = {"float16": 3, "float32": 36, "float64": 300}
MARGIN = 1e4
"""Of a float16, e**4: for exponentials, which may go, those of -2 to 2 are drawn."""


class Chain:
    """A product of variables, constants and exponentials; ``parts`` are its steps."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.random.choice(list(DECADES))
        x, y, z = self.inputs = [T.vector(name, dtype=self.dtype) for name in "xyz"]
        numbers = {x: self.size, y: self.size, z: lambda: self.random.uniform(-2, 2)}
        self.values = {
            each: np.array([draw() for _ in range(6)], self.dtype)
            for each, draw in numbers.items()
        }
        product = x
        self.parts = [product]
        for _ in range(self.random.randrange(2, 7)):
            c = constant(np.array(self.size(), self.dtype))
            steps = [
                lambda p, c=c: p * c, lambda p, c=c: c * p, lambda p, c=c: p / c,
                lambda p: -p, lambda p: p * y, lambda p: p / y,
                lambda p: p * T.exp(z), lambda p: p / (1 + T.exp(z)),
                lambda p: p / T.exp(z), lambda p: T.nnet.sigmoid(-z) * p,
            ]  # fmt: skip
            product = self.random.choice(steps)(product)
            self.parts.append(product)

    def size(self):
        decades = DECADES[self.dtype]
        return 10 ** self.random.uniform(-decades, decades) * self.random.choice(
            [1, -1]
        )


@pytest.mark.parametrize("first", range(0, 600, 200))
def test_a_product_within_the_range_stays_there(first):
    checked = 0
    for seed in range(first, first + 200):
        with quiet():
            chain = Chain(seed)
            steps = run_graph(FunctionGraph(chain.inputs, chain.parts), chain.values)
            fgraph = FunctionGraph(chain.inputs, chain.parts[-1:])
            rewrites.optimize(fgraph)
            (found,) = run_graph(fgraph, chain.values)
            limits = np.finfo(chain.dtype)
            margin = 64 if chain.dtype == "float16" else MARGIN
            sizes = np.abs(np.array(steps, np.longdouble))
        inside = (sizes > limits.tiny * margin) & (sizes < limits.max / margin)
        inside = inside.all(axis=0)
        checked += inside.sum()
        np.testing.assert_allclose(
            found[inside], steps[-1][inside], rtol=200 * limits.eps, err_msg=str(seed)
        )
    assert checked > 100
