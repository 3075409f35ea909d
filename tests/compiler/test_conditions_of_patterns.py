"""What rules ask of graphs, one table a question: both sides of each condition."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler.graph.core import Constant, constant
from gpuarray.compiler.graph.traverse import same_graph
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Elemwise
from gpuarray.compiler.rewrites.engine import patterns

x, y, z = T.dvectors("xyz")
f, j, a = T.fvector("f"), T.ivector("j"), T.dscalar("a")
one, two = constant([1.0]), constant([2.0])


def told(found, wanted):
    """Whether a result is a variable, or as many, or a number, or None."""
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        return all(map(told, found, wanted))
    return found is wanted if hasattr(wanted, "owner") else found == wanted


MATCHES = [
    (x, "neg", None),
    (-x, "neg", [x]),
    (-x, "exp", None),
    (T.dot(x, y), "add", None),
    (x + y, "add", [x, y]),
]


@pytest.mark.parametrize(("variable", "row", "wanted"), MATCHES)
def test_a_row_matches_its_node_only(variable, row, wanted):
    assert told(patterns.match(variable, row), wanted)


ARGUMENTS = [
    (x, "neg", None),
    (-x, "neg", x),
    (-x, "exp", None),
    (Elemwise(patterns.SCALARS["exp"])(j), "exp", None),  # which converts its operand
    (T.exp(f), "exp", f),
]


@pytest.mark.parametrize(("variable", "row", "wanted"), ARGUMENTS)
def test_an_argument_has_the_type_of_the_result(variable, row, wanted):
    assert told(patterns.argument(variable, row), wanted)


NUMBERS = [
    (x, None),
    (x + 1, None),
    (constant(2.5), 2.5),
    (two, 2.0),
    (constant([[3]]), 3),
    (constant([2.0, 2.0]), None),
    (constant(np.zeros(0)), None),
    (two.dimshuffle("x", 0), 2.0),
    (x.dimshuffle("x", 0), None),
    (Elemwise(Cast("int32"))(constant(2.5)), 2),
    (Elemwise(Cast("int32"))(x), None),
    (-two, None),
]


@pytest.mark.parametrize(("variable", "wanted"), NUMBERS)
def test_a_number_is_seen_through_casts_and_new_axes(variable, wanted):
    found = patterns.constant_of(variable)
    assert found == wanted
    if found is not None:
        assert np.ndim(found) == 0 and found.dtype == variable.type.dtype
    assert patterns.is_constant(variable, 7) is False
    assert patterns.is_constant(variable, wanted) is (wanted is not None)


PAIRS = [
    ([x, y], None, None),
    ([one, x], x, (1.0, x)),
    ([x, one], x, (1.0, x)),
    ([two, x], None, (2.0, x)),
    ([x, two], None, (2.0, x)),
    ([one, two], two, None),
    ([two, one], two, None),
]


@pytest.mark.parametrize(("inputs", "beside_one", "split"), PAIRS)
def test_one_of_two_operands_is_a_number(inputs, beside_one, split):
    assert told(patterns.beside_one(inputs), beside_one)
    assert told(patterns.split_constant(inputs), split)


@pytest.mark.parametrize("like", [a, x, T.fmatrix("F"), T.irow("r")])
def test_a_number_has_the_dtype_and_rank_of_another_variable(like):
    found = patterns.number(3, like)
    assert isinstance(found, Constant) and found.data.shape == (1,) * like.type.ndim
    assert found.type == like.type.clone(broadcastable=(True,) * like.type.ndim)
    assert found.data.reshape(()) == 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_digits_are_kept_between_the_ends_of_the_normal_range(dtype):
    limits = patterns.limits_of(dtype)
    least, most = float(limits.smallest_normal), float(limits.max)
    for value in (least, most, -least, -most, 1.0):
        assert patterns.keeps_digits(value, dtype)
    for value in (0.0, least / 2, -least / 2, np.inf, -np.inf, np.nan):
        assert not patterns.keeps_digits(value, dtype)


def test_a_cast_to_its_own_dtype_is_the_variable():
    assert patterns.cast(x, "float64") is x
    found = patterns.cast(x, "float32")
    assert found.owner.inputs == [x] and found.type.dtype == "float32"


def exponentials(v, count):
    for _ in range(count):
        v = T.exp(v)
    return v


parts = T.split(x, [1, 3], 2)
SAME = [
    (x, x, True),
    (x, y, False),
    (one, constant([1.0]), True),
    (one, two, False),
    (one, constant([1.0], "float32"), False),
    (one, x, False),
    (x, one, False),
    (T.exp(x), x, False),
    (x, T.exp(x), False),
    (T.exp(x), T.exp(x), True),
    (T.exp(x), -x, False),
    (T.exp(x), T.exp(y), False),
    (x + y, x + y, True),
    (x + y, x + z, False),
    (x + y, z + y, False),
    (parts[0], parts[1], False),
    (parts[0], T.split(x, [1, 3], 2)[0], True),
    (T.join(0, x, y), T.join(0, x, y), True),
    (T.join(0, x, y), T.join(0, x, y, z), False),
    (exponentials(x, 6), exponentials(x, 6), True),
    (exponentials(x, 7), exponentials(x, 7), False),
]


@pytest.mark.parametrize("place", range(len(SAME)))
def test_graphs_are_the_same_by_construction(place):
    left, right, wanted = SAME[place]
    assert patterns.same(left, right) is wanted
    assert patterns.same(right, left) is wanted


NEGATIVES = [
    (x, -x, -x),
    (-x, x, x),
    (x - y, -(x - y), y - x),
    (two, constant([-2.0]), constant([-2.0])),
    (constant([-128], "int8"), constant([-128], "int8"), constant([-128], "int8")),
    (T.exp(x), -T.exp(x), -T.exp(x)),
]


@pytest.mark.parametrize(("variable", "negative", "turned"), NEGATIVES)
def test_negatives_have_the_simplest_form(variable, negative, turned):
    assert same_graph(patterns.negated(variable), negative)
    assert same_graph(patterns.turned(variable), turned)


OPPOSITES = [
    (x, -x, True),
    (x, -y, False),
    (x, x, False),
    (-x, -x, False),
    (x - y, y - x, True),
    (x - y, x - y, False),
    (x - y, y - z, False),
    (x - y, z - x, False),
    (x - y, x + y, False),
    (T.exp(x), -T.exp(x), True),
    (T.exp(x), y - x, False),
]


@pytest.mark.parametrize(("left", "right", "wanted"), OPPOSITES)
def test_variables_are_opposite_but_for_the_sign_of_a_zero(left, right, wanted):
    assert patterns.opposite(left, right) is wanted
    assert patterns.opposite(right, left) is wanted
