"""Small facts of graphs, nodes and ops: each end of a range, each side of a choice."""

from functools import partial, wraps

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler.graph import constants, printing
from gpuarray.compiler.graph.op import Op, _n_arguments, _n_parameters
from gpuarray.compiler.graph.requirements import Requirement, equal, within
from gpuarray.compiler.graph.types import pattern_name
from gpuarray.compiler.graph.variable import short_op


class Named(Op):
    """An op whose text has a given length."""

    __props__ = ("text",)

    def __init__(self, length):
        self.text = "a" * length

    def __str__(self):
        return self.text


@pytest.mark.parametrize("length", [1, 59, 60, 61, 200])
def test_an_op_of_more_than_60_characters_is_told_by_its_kind(length):
    wanted = "a" * length if length <= 60 else "Named{...}"
    assert short_op(Named(length)) == wanted


def plain(a, b, /, c=1, *rest, d, **more):
    return a


@wraps(plain)
def wrapped(*given):
    return plain(*given, d=0)


COUNTS = [
    (None, 0),
    (plain, 6),
    (wrapped, 6),
    (partial(plain, 1), 5),
    (lambda: 0, 0),
    (lambda *rest: 0, 1),
    (lambda **more: 0, 1),
    (lambda *, a: 0, 1),
    (divmod, 2),
]


@pytest.mark.parametrize(("function", "count"), COUNTS)
def test_the_parameters_of_a_function_are_counted(function, count):
    assert _n_parameters(function) == count


class Asked:
    def method(self, a, b):
        return a

    each = staticmethod(plain)


def test_the_arguments_of_a_method_are_those_that_a_caller_gives():
    assert _n_arguments(Asked().method) == 2
    assert _n_arguments(Asked().each) == 6


INTEGERS = [
    (-129, "int16"), (-128, "int8"), (0, "int8"), (127, "int8"), (128, "int16"),
    (-(2**15), "int16"), (2**15 - 1, "int16"), (2**15, "int32"),
    (-(2**31), "int32"), (2**31 - 1, "int32"), (2**31, "int64"),
    (-(2**63), "int64"), (2**63 - 1, "int64"), (2**63, "uint64"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "dtype"), INTEGERS)
def test_an_integer_takes_the_smallest_dtype_that_holds_it(value, dtype):
    assert constants.literal_dtype(value, "float64") == dtype
    found = constants.constant(value)
    assert found.type.dtype == dtype and found.data == value


LITERALS = [
    (0.5, "float64", "float32"),
    (0.1, "float64", "float64"),
    (0.1, "float32", "float32"),
    (0.1, "float16", "float16"),
    (float("nan"), "float64", "float32"),
    (float("inf"), "float64", "float32"),
    (1e300, "float64", "float64"),
    (0.5 + 1j, "float64", "complex64"),
    (0.1 + 1j, "float64", "complex128"),
    (0.5 + 0.1j, "float64", "complex128"),
    (0.1 + 1j, "float32", "complex64"),
    (True, "float64", None),
    (np.float64(0.5), "float64", None),
    (np.complex128(0.5), "float64", None),
    (np.int64(5), "float64", None),
    ([1.0], "float64", None),
]


@pytest.mark.parametrize(("value", "float_x", "wanted"), LITERALS)
def test_a_literal_takes_the_dtype_that_keeps_it(value, float_x, wanted):
    assert constants.literal_dtype(value, float_x) == wanted


SHOWN = [
    (3, "3"),
    (np.array([]), "[]"),
    (np.array([2.0, 2.0]), "(2,) of 2.0"),
    (np.array([1.0, 2.0]), "[1. 2.]"),
    (np.array([[1, 2], [3, 4]]), "[[1 2]  [3 4]]"),
    (np.arange(9), "[0 1 2 3 4 5 6 7 8]"),
    (np.array([11, 22, 33, 44, 5555, 66666]), "[   11    ..555 66666]"),
    (np.array([None, 1], object), "[None 1]"),
]


@pytest.mark.parametrize("place", range(len(SHOWN)))
def test_the_value_of_a_constant_is_abbreviated_beyond_24_characters(place):
    value, wanted = SHOWN[place]
    assert constants.short_value(value) == wanted


PATTERNS = {
    (): "scalar", (False,): "vector", (True,): "(True,)", (True, False): "row",
    (False, True): "col", (True, True): "(True, True)", (False,) * 3: "3D",
    (False, True, False): "(False, True, False)",
}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_has_a_name(pattern):
    assert pattern_name(pattern) == PATTERNS[pattern]


@pytest.mark.parametrize(
    ("number", "wanted"), [(0, "A"), (25, "Z"), (26, "BA"), (27, "BB"), (676, "BAA")]
)
def test_nodes_are_lettered(number, wanted):
    assert printing.letters(number) == wanted


def test_requirements_are_of_what_is_known_and_not_one_already():
    n, m = T.lscalars("n", "m")
    assert equal(n, m) == [Requirement("equal", n, m)]
    assert equal(n, n) == equal(None, m) == equal(n, None) == []
    assert within(n, m) == [Requirement("within", n, m)]
    assert within(n, None) == []


x, y = T.dvectors("x", "y")
TEXTS = {
    "a variable": (x, "A. x"),
    "a sum": (x + y, "A. Elemwise{add,no_inplace}\n B. x\n C. y"),
    "one twice": (
        x + x,
        "A. Elemwise{add,no_inplace}\n B. x\n <B>",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_top_of_a_graph_has_a_line_for_each_variable(name):
    variable, wanted = TEXTS[name]
    assert printing.min_informative_str(variable) == wanted


def test_the_top_of_a_graph_ends_at_a_depth_and_at_names():
    inner = T.exp(x)
    assert printing.min_informative_str(T.neg(-inner), depth=1).count("\n") == 1
    assert printing.min_informative_str(T.neg(-inner), depth=2).count("\n") == 2
    inner.name = "inner"
    assert printing.min_informative_str(-inner).endswith("B. inner")
