"""Zeros of gradients: which expressions are known to keep them, and need no mask."""

from dataclasses import replace
from random import Random

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import f64
from evaluate import evaluate
from gpuarray.compiler import (
    Mode,
    function,
    grad,
)
from gpuarray.compiler.derivatives import choices
from gpuarray.compiler.graph.disconnected import NullType
from gpuarray.compiler.graph.traverse import same_graph, toposort
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.elemwise.math import FUNCTIONS
from gpuarray.scalars import SCALARS

# ---- what is known to hold zeros ----

ZEROS_ARE_KEPT = {
    "itself": (lambda z, y: z, True),
    "a multiple": (lambda z, y: z * 2, True),
    "a product": (lambda z, y: y * z, True),
    "a quotient": (lambda z, y: z / y, True),
    "a divisor": (lambda z, y: y / z, False),
    "a power": (lambda z, y: z**2, True),
    "a function of 0 that is 0": (lambda z, y: T.sin(z), True),
    "a function of 0 that is 1": (lambda z, y: T.exp(z), False),
    "a sum with a number": (lambda z, y: z + 2, False),
    "a sum with 0": (lambda z, y: z + 0.0, True),
    "a sum with its like": (lambda z, y: z + 3 * z, True),
    "a sum with an array": (lambda z, y: z + y, False),
    "a difference from a number": (lambda z, y: 2 - z, False),
    "an angle": (lambda z, y: T.arctan2(z, y), False),
    "other axes": (lambda z, y: z.dimshuffle("x", 0), True),
    "a part": (lambda z, y: z[1:], True),
    "another array": (lambda z, y: T.exp(y) * y, False),
}


@pytest.mark.parametrize("name", ZEROS_ARE_KEPT)
def test_zeros_of_a_choice_are_followed_where_they_stay(name):
    build, expected = ZEROS_ARE_KEPT[name]
    x, y = T.dvectors("xy")
    for z in (T.where(y > 0, x, 0.0), T.where(y > 0, 0.0, x)):
        assert choices.holds_zeros(build(z, y)) == expected
    assert not choices.holds_zeros(build(T.where(y > 0, x, 1.0), y))


def test_a_row_is_0_beside_a_0_where_numpy_says_so():
    places = {
        "mul": (True, True), "true_div": (True, False), "add": (False, False),
        "sub": (False, False), "arctan2": (False, False), "power": (False, False),
        "hypot": (False, False), "floor_divide": (True, False),
    }  # fmt: skip
    choices.annihilates.cache_clear()
    for name, expected in places.items():
        found = tuple(choices.annihilates(SCALARS[name], place) for place in (0, 1))
        assert found == expected, name


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_constant_of_several_numbers_leaves_zeros_as_well(length):
    x = T.dvector("x")
    kept = T.constant(np.arange(3.0)[:length])
    values = {x: np.array([0.0, 2.0, 1.0])[:length]}
    for cost in (T.log(x) * kept, kept * T.log(x)):
        found = evaluate(grad(cost.sum(), x), values)
        np.testing.assert_array_equal(found, [0.0, 0.5, 2.0][:length])
    found = evaluate(grad(T.sqrt(x * kept).sum(), x), {x: np.ones(length)})
    np.testing.assert_allclose(found, [0.0, 0.5, 2**-0.5][:length])


@pytest.mark.parametrize("ndim", [0, 1, 2])
def test_a_factor_of_0_leaves_no_gradient(ndim):
    x = T.tensor("float64", (False,) * ndim, "x")
    values = {x: np.zeros((2,) * ndim)}
    for y in (T.sqrt(x) * 0.0, 0.0 * T.sqrt(x), T.sqrt(x * 0.0), T.sqrt(0.0 * x) * 2):
        found = evaluate(grad(y.sum(), x), values)
        np.testing.assert_array_equal(found, np.zeros((2,) * ndim))


def masks_of(variable):
    """How many choices a graph makes."""
    nodes = toposort([variable])
    rows = [node.op.scalar for node in nodes if isinstance(node.op, Elemwise)]
    return sum(getattr(row, "name", "")[:5] == "where" for row in rows)


FINITE = {
    "nothing": lambda y: y, "a number": lambda y: y * 2.0, "minus": lambda y: -y,
    "axes": lambda y: y.T, "a multiple with other axes": lambda y: y.T * 3.0,
    "a sum": lambda y: y + 1.0, "another axis": lambda y: y.dimshuffle(0, "x", 1),
    "a quotient": lambda y: y / 2.0, "a difference": lambda y: 1.0 - y,
    "the same twice": lambda y: y + y,
}  # fmt: skip


@pytest.mark.parametrize("name", FINITE)
def test_numbers_signs_and_axes_need_no_mask(name):
    x = T.dmatrix("x")
    chosen = T.where(x > 0, T.exp(x), 0.0)  # a mask for it, beside that of `where`
    assert masks_of(grad(FINITE[name](chosen).sum(), x)) == 2
    step = FINITE[name]
    alone = T.where(step(x) > 0, step(T.exp(x)), 0.0)
    assert masks_of(grad(alone.sum(), x)) <= 3  # one more under what is no mask itself


CONDITIONS = {
    "true": (lambda x: T.constant(True), 1.0),
    "false": (lambda x: T.constant(False), 0.0),
    "of numbers": (lambda x: T.gt(T.constant(2.0), 1.0), 1.0),
    "a number as a truth": (lambda x: T.cast(T.constant(1.0), "bool"), 1.0),
    "of a value": (lambda x: T.gt(x, 0.0), 1.0),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_may_be_known_in_every_form(name):
    build, expected = CONDITIONS[name]
    x = T.dscalar("x")
    y = T.log(T.where(build(x), x, T.constant(3.0)))
    for other in (y, T.where(build(x), T.log(x), 0.0)):
        found = evaluate(grad(other, x, disconnected_inputs="ignore"), {x: 0.5})
        np.testing.assert_allclose(found, 2 * expected)


def masked(random, value, depth):
    """A gradient under masks within masks, and where all of them let it pass."""
    if not depth:
        return value, np.ones(4, bool)
    inner, passed = masked(random, value, depth - 1)
    mask = np.array(random.choices([0.0, 1.0], k=4))
    kind = random.choice([0, 0, 0, 1, 2, 3, 4, 5])
    if kind > 2:
        again = masked(random, value, depth - 1)
        several = [lambda: inner * 2.0, lambda: -inner / 2.0, lambda: inner + again[0]]
        return several[kind - 3](), passed | (again[1] & (kind == 5))
    row = Elemwise(SCALARS["where_nonzero"])
    asked = T.constant(mask) > 0
    built = [
        lambda: row(T.constant(mask), inner),
        lambda: T.where(asked, inner, 0.0),
        lambda: T.where(T.invert(asked), 0.0, inner),
    ]
    return built[kind](), passed & (mask > 0)


def test_a_product_under_masks_is_zero_wherever_one_of_them_is():
    random = Random(0)
    g, slope = T.dvector("g"), T.dvector("slope")
    values = {g: np.array([1.0, 2.0, 3.0, 4.0])}
    for _ in range(200):
        gradient, passed = masked(random, g, random.randrange(2, 6))
        by = evaluate(gradient, values)
        for wild in (np.inf, np.nan):
            slopes = np.where(passed, 0.5, wild)
            product = choices.times(gradient, slope)
            quotient = choices.over(gradient, 1 / slope)
            for result in (product, quotient):
                found = evaluate(result, values | {slope: slopes})
                np.testing.assert_array_equal(found, np.where(passed, by * 0.5, 0.0))


def test_gradients_under_one_mask_are_added_under_it():
    x, y, f, h = T.dvectors("x", "y", "f", "h")
    factor = Elemwise(SCALARS["where_nonzero"])
    asked, other = f > 0, h > 0
    alike = [
        (T.where(asked, x, 0.0), T.where(asked, y, 0.0)),
        (T.where(asked, 0.0, x), T.where(asked, 0.0, y)),
        (factor(f, x), factor(f, y)),
    ]
    apart = [
        (T.where(asked, x, 0.0), T.where(other, y, 0.0)),
        (T.where(asked, x, 0.0), T.where(asked, 0.0, y)),
        (T.where(asked, x, 1.0), T.where(asked, y, 1.0)),
        (factor(f, x), factor(h, y)),
        (factor(f, x), T.where(asked, y, 0.0)),
        (factor(f, x), y),
        (factor(f, x), factor(f, y).sum()),
        (factor(f, x), factor(f, T.cast(y, "float32") * T.cast(f, "float32"))),
        (factor(f, x), factor(f, y.dimshuffle("x", 0))),
        (T.where(asked, x, 0.0), T.where(asked, y.dimshuffle("x", 0), 0.0)),
    ]
    values = {x: f64(4), y: f64(4) + 1, f: np.array([0.0, 1.0, -1.0, 2.0])}
    for a, b in alike:
        found = choices.added(a, b)
        assert masks_of(found) == 1
        np.testing.assert_array_equal(evaluate(found, values), evaluate(a + b, values))
    assert [choices.added(a, b) for a, b in apart] == [None] * len(apart)


def test_what_is_used_twice_under_two_masks_has_no_gradient_where_either_is_0():
    x, a, b = T.dvectors("xab")
    u, first, second = T.sqrt(x), a > 0, b > 0
    values = {
        x: np.array([0.0, 0.0, 0.0, 4.0]),
        a: np.array([0.0, 1.0, 0.0, 1.0]),
        b: np.array([0.0, 0.0, 1.0, 1.0]),
    }
    one, other = (u * first) * second, (first * u) * second
    for y, times in ((one, 1), (one + other, 2), (one + 2 * other, 3)):
        found = evaluate(grad(y.sum(), x), values)
        np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, 0.25 * times])


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_a_row_that_takes_no_fractions_annihilates_nothing(error):
    def refused(x, y):
        raise error

    row = replace(SCALARS["mul"], name="of integers", reference=refused)
    assert not choices.annihilates(row, 0)


def test_zeros_are_zeros_in_every_form():
    x, a = T.dvector("x"), T.dscalar("a")
    zero = T.constant(0.0)
    zeros = [
        zero, T.cast(zero, "float32"), zero.dimshuffle("x"), T.constant(np.zeros(3)),
        T.broadcast_to(zero, (3,)), T.zeros_like(x), T.fill(x, 0.0),
        T.cast(T.fill(x, 0), "float64"), T.where(T.constant(True), zero, a),
    ]  # fmt: skip
    others = [
        x, a, T.constant(1.0), T.constant(np.array([0.0, 1.0])), T.ones_like(x),
        T.fill(x, a), T.exp(zero), T.where(T.constant(False), zero, a), zero + a,
    ]  # fmt: skip
    assert [choices.is_zeros(each) for each in zeros] == [True] * len(zeros)
    assert [choices.is_zeros(each) for each in others] == [False] * len(others)


def test_a_mask_is_where_the_gradient_is_not_zero():
    x, z, b = T.dvector("x"), T.zvector("z"), T.vector("b", "bool")
    masked = T.where(b, x, T.constant(0.0))
    nobody_tells = NullType("why")()
    nonzero = FUNCTIONS["where_nonzero"]
    assert same_graph(choices.chosen(x), nonzero(x, x))
    assert same_graph(choices.chosen(z), nonzero(T.neq(z, 0), z))
    terms = choices.masked(masked, lambda g: [nobody_tells, g * x, None], [x])
    assert terms[0] is nobody_tells and terms[2] is None
    assert same_graph(terms[1], T.where(b, x * x, 0))


BIG = 1000.0
# Each gives a cost of a matrix whose exponentials overflow in the first row: the factor
# before the last is 1 / inf, which no choice has left. The last row is as it should be.
OVERFLOWS = {
    "index": lambda m: T.sqrt(T.exp(m).sum(axis=1))[::1],
    "reversed": lambda m: T.sqrt(T.exp(m)[::-1])[::-1],
    "transposed": lambda m: T.sqrt(T.exp(m).T)[:2].T,
    "reshaped": lambda m: T.sqrt(T.exp(m).reshape((4,)))[:4],
    "maximum": lambda m: T.maximum(T.sqrt(T.exp(m).sum(axis=1)), -5),
    "mean": lambda m: T.sqrt(T.exp(m).mean(axis=1))[T.arange(2)],
    "stacked": lambda m: T.log(T.stack([T.exp(m), T.exp(m)]).sum(axis=2))[0],
    "column": lambda m: (T.sqrt(T.exp(m)) / T.exp(m).sum(axis=1, keepdims=True))[:, :1],
}


@pytest.mark.parametrize("mode", ["FAST_COMPILE", Mode(optimizer=None)], ids=str)
@pytest.mark.parametrize("name", OVERFLOWS)
def test_a_factor_that_is_too_small_is_no_choice(name, mode):
    m = T.dmatrix("m")
    slope = function([m], grad(OVERFLOWS[name](m).sum(), m), mode=mode)
    found = slope([[BIG, 0.0], [3.0, 1.0]])
    alone = slope([[2.0, 0.0], [3.0, 1.0]])
    np.testing.assert_allclose(found[1], alone[1], rtol=1e-12)
    assert np.isnan(found[0, 0])
