"""Products of matrices and vectors against NumPy."""

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import values

SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 1), (1, 1)),
    ((67, 33), (33, 129)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((131,), (131,)),
    ((0, 4), (4, 2)),
    ((3, 0), (0, 2)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4,)),
]


def operands(context, a, b, dtype, other=None):
    left, right = values(dtype, a), values(other or dtype, b, seed=1)
    on = [gpuarray.asarray(x, context=context) for x in (left, right)]
    return left, right, *on


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_matmul(context, a, b):
    left, right, x, y = operands(context, a, b, "float32")
    assert_same(x @ y, left @ right, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "int64", "bool"])
def test_every_kind_of_dtype(context, dtype):
    if dtype == "float64" and not context.has_double:
        pytest.skip("the device lacks float64")
    for a, b in SHAPES[:6]:
        left, right, x, y = operands(context, a, b, dtype)
        if dtype == "float16":
            expected = (left.astype("f4") @ right.astype("f4")).astype("f2")
            assert_same(x @ y, expected, rtol=4e-3)
        else:
            assert_same(x @ y, left @ right)


@pytest.mark.oclgrind
def test_every_layout_of_matrices(context):
    views = {
        "c_order": lambda a: a[:6, :6].copy(),
        "fortran_order": lambda a: a[:6, :6].T,
        "gaps": lambda a: a[1:7, 2:8],
        "step": lambda a: a[::2, ::2],
        "negative_step": lambda a: a[5::-1, 11:5:-1],
        "repeated": lambda a: a[:1, :6] if a is None else a[:6, 3:9],
    }
    left, right, x, y = operands(context, (12, 12), (12, 12), "float32")
    for one in views.values():
        for other in views.values():
            assert_same(one(x) @ other(y), one(left) @ other(right), rtol=1e-4)
            assert_same(one(x) @ other(y)[0], one(left) @ other(right)[0], rtol=1e-4)
            assert_same(
                one(x)[:, 1] @ other(y), one(left)[:, 1] @ other(right), rtol=1e-4
            )


def test_mixed_dtypes_promote(context):
    left, right, x, y = operands(context, (3, 4), (4, 2), "float32", "int8")
    assert_same(x @ y, left @ right)


def test_dot(context):
    left, right, x, y = operands(context, (5,), (5,), "float32")
    assert_same(gpuarray.dot(x, y), np.dot(left, right))
    assert_same(x.dot(y[0]), np.dot(left, right[0]))


@pytest.mark.parametrize(
    ("a", "b"), [((3, 4), (3, 4)), ((3,), (4,)), ((2, 3, 4), (3, 4, 5))], ids=str
)
def test_shapes_that_do_not_fit_are_refused(null, a, b):
    x, y = gpuarray.zeros(a, context=null), gpuarray.zeros(b, context=null)
    with pytest.raises(ValueError, match="matmul"):
        x @ y


def test_a_number_is_no_matrix(null):
    x = gpuarray.zeros((3, 3), context=null)
    with pytest.raises(ValueError, match="0-d operand"):
        gpuarray.matmul(x, gpuarray.zeros((), context=null))
    with pytest.raises(TypeError, match="unsupported operand"):
        x @ 3
    with pytest.raises(TypeError, match=r"gpuarray.asarray"):
        x @ np.eye(3)
