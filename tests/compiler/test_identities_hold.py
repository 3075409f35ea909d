"""Rewrites of identities, folds and integers give what NumPy gives, on edge cases."""

from contextlib import suppress

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.rewrites.arrays.filling import is_never_negative
from gpuarray.scalars import SCALARS
from run_graph import run_graph
from test_rules_hold import both, vectors

# ---- identities ----

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["bool", "int8", "uint8", "int64", "uint64"]
COMPLEX = ["complex64", "complex128"]
IDENTITIES = {
    "x + 0": lambda x: x + 0,
    "0 + x": lambda x: 0 + x,
    "x + -0.0": lambda x: x + -0.0,
    "x - 0": lambda x: x - 0,
    "x - -0.0": lambda x: x - -0.0,
    "0 - x": lambda x: 0 - x,
    "x * 1": lambda x: x * 1,
    "1 * x": lambda x: 1 * x,
    "x * -1": lambda x: x * -1,
    "x * 0": lambda x: x * 0,
    "x / 1": lambda x: x / 1,
    "x / -1": lambda x: x / -1,
    "0 / x": lambda x: 0 / x,
    "1 / x": lambda x: 1 / x,
    "x // 1": lambda x: x // 1,
    "x ** 1": lambda x: x**1,
    "x ** 0": lambda x: x**0,
    "x - x": lambda x: x - x,
    "x / x": lambda x: x / x,
    "x + x": lambda x: x + x,
    "-(x - 1)": lambda x: -(x - 1),
    "-(x - x)": lambda x: -(x - x),
    "(-x) - x": lambda x: (-x) - x,
    "neg(neg(x))": lambda x: T.neg(T.neg(x)),
    "x * x": lambda x: x * x,
    "maximum(x, x)": lambda x: T.maximum(x, x),
    "maximum(x, -inf)": lambda x: T.maximum(x, -np.inf),
    "minimum(x, inf)": lambda x: T.minimum(x, np.inf),
    "fmax(x, nan)": lambda x: T.fmax(x, np.nan),
    "fmax(x, -inf)": lambda x: T.fmax(x, -np.inf),
    "x | 0": lambda x: x | 0,
    "x ^ 0": lambda x: x ^ 0,
    "x & -1": lambda x: x & -1,
    "logaddexp(x, -inf)": lambda x: T.logaddexp(x, -np.inf),
    "where(True, x, 0)": lambda x: T.where(True, x, 0),
}


INVERSES = {(name, row.undone_by) for name, row in SCALARS.items() if row.undone_by}
INVERSES |= {pair[::-1] for pair in INVERSES}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_function_is_undone_where_it_is_defined(dtype):
    (x,) = vectors(dtype, "x")
    outputs = []
    for inner, outer in sorted(INVERSES):
        with suppress(TypeError):  # of integers only, or of real numbers only
            outputs.append(getattr(T, outer)(getattr(T, inner)(x)))
    line = np.array([-3, -1, -0.6, 0, 0.6, 1, 3], dtype)
    values = {x: line * (2 + 1j) if dtype == "complex128" else line}
    fgraph = FunctionGraph([x], outputs)
    wanted = run_graph(fgraph, values)
    rewrites.optimize(fgraph)
    for output, right, value in zip(
        outputs, wanted, run_graph(fgraph, values), strict=True
    ):
        np.testing.assert_allclose(value, right, 1e-5, 1e-6, err_msg=str(output.owner))


def numbers(dtype):
    """Numbers of a dtype, the ends of its range among them."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        range_ = np.iinfo(dtype)
        return np.array([range_.min, 0, 1, 5, range_.max], dtype)
    limits = np.finfo(dtype)
    line = [0.0, -0.0, 1.0, -1.0, 0.7, np.inf, -np.inf, np.nan, limits.max, limits.tiny]
    if dtype.kind == "f":
        return np.array(line, dtype)
    return np.array([complex(a, b) for a in line for b in line], dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", IDENTITIES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_identity_keeps_numbers_and_signs_of_zeros(name, dtype):
    (x,) = vectors(dtype, "x")
    try:
        output = IDENTITIES[name](x)
    except TypeError:
        return  # NumPy has no such operation either
    wanted, found = both([x], output, [numbers(dtype)])
    np.testing.assert_array_equal(found, wanted)
    is_zero = wanted == 0
    np.testing.assert_array_equal(
        np.signbit(found)[is_zero], np.signbit(wanted)[is_zero]
    )


# ---- folds in a wider dtype ----

FOLDED_IN = {
    "half in float": ("float16", "float32", [2048, 1, 1]),
    "float in double": ("float32", "float64", [2**24, 1, 1]),
    "bytes": ("int8", "int8", [100, 100, 100]),
    "bytes in words": ("int8", "int64", [100, 100, 100]),
}


@pytest.mark.parametrize("name", FOLDED_IN)
def test_stacked_parts_are_folded_in_the_dtype_that_is_asked_for(name):
    dtype, wide, numbers = FOLDED_IN[name]
    rows = [T.row(each, dtype=dtype) for each in "abc"]
    values = [np.full((1, 2), number, dtype) for number in numbers]
    joined = T.join(0, *rows)
    for fold in (T.sum, T.prod):
        output = fold(joined, axis=0, dtype=dtype, acc_dtype=wide)
        wanted, found = both(rows, output, values)
        np.testing.assert_array_equal(found, wanted)


# ---- integers that wrap ----

WRAPPING = {
    "(x * y) % 7": lambda x, y: (x * y) % 7,
    "(x + y) // 2": lambda x, y: (x + y) // 2,
    "x - y > 0": lambda x, y: (x - y) > 0,
    "x + 1 > x": lambda x, y: (x + 1) > x,
    "x - 1 < x": lambda x, y: (x - 1) < x,
    "abs(-x)": lambda x, y: T.abs(-x),
    "abs(x) // 2": lambda x, y: T.abs(x) // 2,
    "-x // 3": lambda x, y: (-x) // 3,
    "-x % 3": lambda x, y: (-x) % 3,
    "x * x // x": lambda x, y: (x * x) // x,
    "x * 2 / 2.0": lambda x, y: (x * 2) / 2.0,
    "x * 2 // 2 == x": lambda x, y: T.eq(x * 2 // 2, x),
    "x ** 3 % 5": lambda x, y: (x**3) % 5,
    "square(x) < 0": lambda x, y: T.sqr(x) < 0,
    "sign(x * y)": lambda x, y: T.sgn(x * y),
    "float(x + y)": lambda x, y: T.cast(x + y, "float32"),
    "int64(x * y)": lambda x, y: T.cast(x * y, "int64"),
    "(x << 1) > 0": lambda x, y: (x << 1) > 0,
    "sum(x * y)": lambda x, y: T.sum(x * y, dtype=x.dtype),
}


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_integers_wrap_within_a_kernel_as_in_numpy(dtype, context):
    x, y = vectors(dtype, "xy")
    range_ = np.iinfo(dtype)
    low, high = range_.min, range_.max
    values = [
        np.array([high, high - 1, low, high // 2, 5, low], dtype),
        np.array([high, 3, high, high // 2 + 3, 7, low], dtype),
    ]
    outputs = [build(x, y) for build in WRAPPING.values()]
    wanted = run_graph(
        FunctionGraph([x, y], outputs), dict(zip([x, y], values, strict=True))
    )
    with gpuarray.context(context):
        found = function([x, y], outputs)(*values)
    for name, right, value in zip(WRAPPING, wanted, found, strict=True):
        np.testing.assert_array_equal(np.asarray(value), right, err_msg=name)


# ---- Python's sum begins with 0 ----


def test_zero_and_a_product_of_matrices_is_the_product():
    A, B = T.dmatrices("AB")
    total = sum([T.dot(A, B), T.dot(B, A)])
    fgraph = FunctionGraph([A, B], [total])
    rewrites.optimize(fgraph)
    lone = FunctionGraph([A, B], [T.dot(A, B) + T.dot(B, A)])
    rewrites.optimize(lone)
    assert len(fgraph.toposort()) == len(lone.toposort())
    values = [
        np.array([[-0.0, 1.0], [-0.0, -0.0]]),
        np.array([[0.0, -0.0], [0.0, 3.0]]),
    ]
    for each in (T.dot(A, B), T.dot(A, B[0]), T.dot(A[0], B), T.batched_dot(A, B)):
        wanted, found = both([A, B], 0 + each, values)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
        np.testing.assert_array_equal(found, wanted)


def test_zero_and_a_sum_is_kept(context):
    A = T.dmatrix("A")
    wanted, found = both([A], 0 + (-A), [np.zeros((2, 2))])
    assert not np.signbit(wanted).any() and not np.signbit(found).any()
    with gpuarray.context(context):
        made = function([A], 0 + T.dot(A, A))([[-0.0]])
    assert not np.signbit(np.asarray(made)).any()


# ---- lengths that may be negative ----


def test_what_is_made_of_lengths_is_known_to_be_one():
    X, n = T.dmatrix("X"), T.lscalar("n")
    rows, columns = X.shape[0], X.shape[1]
    for length in (rows, rows + columns, rows * 2 + 1, T.minimum(rows, columns)):
        assert is_never_negative(T.as_tensor_variable(length))
    for length in (rows - columns, n, rows + n, rows * n, T.minimum(rows, n), -1):
        assert not is_never_negative(T.as_tensor_variable(length))
    assert not is_never_negative(T.maximum(rows, n))


def test_a_length_that_may_be_negative_is_refused_where_it_is():
    X = T.dmatrix("X")
    total = T.broadcast_to(T.constant(2.0), (X.shape[0] - X.shape[1],)).sum()
    _, found = both([X], total, [np.ones((4, 1))])
    assert found == 6
    fgraph = FunctionGraph([X], [total])
    rewrites.optimize(fgraph)
    with pytest.raises(ValueError):
        run_graph(fgraph, {X: np.ones((1, 4))})
