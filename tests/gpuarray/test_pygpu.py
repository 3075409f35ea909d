"""libgpuarray 0.7's Python names: elemwise, reduction, operations, basic, tools."""

import gpuarray
import numpy as np
import pytest
from gpuarray import basic, dtypes, elemwise, operations, reduction, tools
from gpuarray.elemwise import GpuElemwise, arg
from gpuarray.errors import BadType, BadValue
from judge import assert_same
from layouts import values


@pytest.fixture
def pairs(context):
    host, row = values("float32", (3, 4)), values("float32", (4,), seed=1)
    return host, row, *(gpuarray.asarray(x, context=context) for x in (host, row))


def test_elementwise_kernels(context, pairs):
    host, row, x, y = pairs
    args = [
        arg("res", "float32", write=True),
        arg("a", x.dtype, read=True),
        arg("s", "float32", scalar=True),
        arg("b", y.dtype, read=True),
    ]
    out = gpuarray.empty((3, 4), "float32", context)
    kernel = GpuElemwise(context, b"res = a * s + b", args)
    kernel(out, x, 2, y)
    assert_same(out, host * 2 + row)
    with pytest.raises(ValueError):
        kernel(out, x, 2, y, broadcast=False, padshape=False)
    with pytest.raises(TypeError, match="3 arguments, expected 4"):
        kernel(out, x, 2)
    with pytest.raises(TypeError, match="must be a list"):
        GpuElemwise(context, "res = a", ["a"])
    with pytest.raises(ValueError, match="none of read, write and scalar"):
        arg("a", "float32")


def test_elementwise_helpers(pairs):
    host, row, x, y = pairs
    assert_same(elemwise.elemwise1(x, "-"), -host)
    assert_same(elemwise.elemwise2(x, "+", y, x, broadcast=True), host + row)
    for number in (2, 0.3, np.array(3, "int8"), np.float32(0.5)):
        assert_same(elemwise.elemwise2(x, "*", number, x), host * number)
    assert_same(elemwise.compare(x, "<", 1), host < 1)
    assert_same(elemwise.compare(x, ">=", y, broadcast=True), host >= row)
    same = x.copy()
    assert elemwise.ielemwise2(same, "*", 2) is same
    assert_same(same, host * 2)
    with pytest.raises(ValueError):
        elemwise.ielemwise2(y, "+", x, broadcast=True)
    argument = elemwise.as_argument(3, "n")
    assert argument.scalar and argument.type == np.asarray(3).dtype


def test_reductions(context, pairs):
    host, row, x, y = pairs
    kernel = reduction.ReductionKernel(
        context, "float32", "0", "a + b", [True, False], arguments="float *x"
    )
    assert_same(kernel(x), host.sum(0))
    product = reduction.ReductionKernel(
        context,
        "float32",
        "0",
        "a + b",
        [False, True],
        map_expr="x[i] * y[i]",
        arguments="float *x, float *y",
    )
    assert_same(product(x, y), (host * row).sum(1))
    assert_same(reduction.reduce1(x, "+", "0", "float32", axis=1), host.sum(1))
    out = gpuarray.empty(4, "float32", context)
    assert kernel(x, out=out) is out
    for given in ((), (x, y)):
        fact = f"ReductionKernel: {len(given)} arguments, expected 1"
        with pytest.raises(BadType, match=fact):
            kernel(*given)
    with pytest.raises(TypeError, match="out is float32"):
        kernel(x, out=gpuarray.empty(3, "float32", context))
    with pytest.raises(BadValue, match="arrays of 1 axes, expected 2"):
        kernel(x[0])
    for bad, fact in (
        ({"redux": [False, False]}, "redux reduces no axis"),
        ({"arguments": "float a"}, "no argument is an array"),
        ({"arguments": "float *x, float *y"}, "several arguments need a map_expr"),
        ({"arguments": "float *x, float y"}, "several arguments need a map_expr"),
        ({"arguments": "nothing *x"}, "nothing"),
    ):
        options = {"redux": [True, False], "arguments": "float *x"} | bad
        with pytest.raises(BadValue, match=fact):
            reduction.ReductionKernel(context, "float32", "0", "a + b", **options)


def test_triangles_are_made_in_place(context):
    host = values("float32", (4, 5))
    for name in ("triu", "tril"):
        x = gpuarray.asarray(host, context=context)
        assert getattr(basic, name)(x) is x
        assert_same(x, getattr(np, name)(host))
        y = gpuarray.asarray(host, context=context)
        assert_same(getattr(basic, name)(y, inplace=False), getattr(np, name)(host))
        assert_same(y, host)
        with pytest.raises(ValueError, match="a contiguous matrix"):
            getattr(basic, name)(y[:, ::2])


def test_arrays_are_split_and_joined(context, pairs):
    host, _, x, _ = pairs
    parts = operations.array_split(x, 2, axis=1)
    assert_same(parts[0], host[:, :2])
    joined = operations.concatenate([x, x], axis=-1, context=context)
    assert_same(joined, np.concatenate([host, host], -1))
    assert_same(operations.vstack((x, x), context), np.vstack((host, host)))
    joined = gpuarray.gpuarray._concatenate([x, host], 1, x.typecode, context=context)
    assert_same(joined, np.concatenate([host, host], 1))
    null = gpuarray.context("null")
    with pytest.raises(BadValue, match="not on null"):
        operations.hstack((x, x), null)


def test_tools_and_dtypes(null):
    a = gpuarray.zeros((50, 1, 20), "float32", null)
    assert tools.check_args((a, 3)) == (
        1000,
        3,
        (50, 1, 20),
        ((80, 80, 4), None),
        (0, None),
    )
    assert tools.check_args((a,), collapse=True) == (
        1000,
        1,
        (1000,),
        ((4,),),
        (0,),
    )
    with pytest.raises(BadValue):
        tools.check_args((a, a[:10]))
    with pytest.raises(BadType):
        tools.check_args((1, 2))
    row = gpuarray.zeros((1, 1, 20), "float32", null)
    assert tools.check_args((a, row), broadcast=True)[3] == ((80, 80, 4), (0, 80, 4))
    array, number = tools.as_argument(a, "a"), tools.as_argument(np.int8(2), "n")
    assert array.decltype() == "GLOBAL_MEM ga_float *" and array.expr() == "a[i]"
    assert number.decltype() == "ga_byte" and number.expr() == "n"
    assert tools.prod((2, 3)) == 6
    assert dtypes.upcast("int8", "uint8") == "int16"
    assert dtypes.get_common_dtype(a, 2.0, True) == "float32"
    assert dtypes.get_common_dtype(a, np.float64(2), False) == "float32"
    assert dtypes.NAME_TO_DTYPE["unsigned int"] == "uint32"
    dtypes.register_dtype("float32", ["real_t"])
    kinds = tools.ScalarArg, tools.ArrayArg
    assert dtypes.parse_c_arg_backend("const real_t *x", *kinds) == tools.ArrayArg(
        "float32", "x"
    )
    assert dtypes.parse_c_arg_backend("int n", *kinds) == tools.ScalarArg("int32", "n")
    with pytest.raises(BadValue, match="is not known"):
        dtypes.parse_c_arg_backend("thing n", *kinds)


def test_kernels_take_the_old_options(context):
    source = b"""
KERNEL void add_one(GLOBAL_MEM ga_float *x, ga_size n) {
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    x[i] += 1;
}
"""
    types = [gpuarray.GpuArray, gpuarray.SIZE]
    kernel = gpuarray.GpuKernel(source, b"add_one", types, context, have_double=False)
    assert kernel.numargs == 2
    x = gpuarray.zeros(5, "float32", context)
    kernel(x, 5, gs=1, ls=4)
    kernel(x, 5, n=5)
    assert x.tolist() == [2] * 5
    with pytest.raises(TypeError, match="not all known"):
        gpuarray.GpuKernel(source, "add_one", types, context, have_luck=True)
