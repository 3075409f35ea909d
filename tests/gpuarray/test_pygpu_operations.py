"""Operators, elementwise kernels and reductions, as programs of pygpu use them."""

import pickle

import numpy as np
import pytest
from gpuarray import (
    dtypes,
    elemwise,
    gpuarray,
    reduction,
    tools,
)
from gpuarray._array import ndgpuarray
from gpuarray._elemwise import GpuElemwise, arg
from gpuarray.gpuarray import (
    GpuArray,
    GpuArrayException,
    GpuKernel,
    UnsupportedException,
)
from judge import assert_same
from layouts import values

# ---- operators ----

BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("lt", "le", "eq", "ne", "gt", "ge", "divmod"),
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float64", "int64"])
def test_operators(context, name, dtype):
    import operator

    function = divmod if name == "divmod" else getattr(operator, name)
    one = np.abs(values(dtype, (3, 4))) + np.array(1, dtype)
    two = np.abs(values(dtype, (4,), 1)) % np.array(5, dtype) + np.array(1, dtype)
    a, b = (gpuarray.array(x, context=context) for x in (one, two))
    number = np.array(3, dtype)
    cases = [(a, b, one, two), (a, 2, one, 2), (2, a, 2, one)]
    cases += [(a, number, one, number), (a, number[()], one, number[()])]
    cases += [
        (a.T, a[0, 0], one.T, one[0, 0]),
        (a[::-1], b[::-1], one[::-1], two[::-1]),
    ]
    for x, y, u, v in cases:
        found, expected = function(x, y), function(u, v)
        if name != "divmod":
            found, expected = (found,), (expected,)
        for mine, theirs in zip(found, expected, strict=True):
            assert_same(mine, theirs, rtol=2e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize(
    "name", ["iadd", "isub", "imul", "ifloordiv", "imod", "itruediv"]
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_operators_in_place(context, name, dtype):
    import operator

    function = getattr(operator, name)
    for other in (np.array(values(dtype, (4,), 1) * 0 + 2), 2, np.array(2, dtype)):
        host = np.abs(values(dtype, (3, 4))) + np.array(2, dtype)
        device = gpuarray.array(host, context=context)
        given = other
        if isinstance(other, np.ndarray) and other.ndim:
            given = gpuarray.array(other, context=context)
        try:
            expected = function(host, other)
        except TypeError:
            with pytest.raises(TypeError):
                function(device, given)
            continue
        before = device
        device = function(device, given)
        assert device is before
        assert_same(device, expected)


def test_reductions_of_arrays(context):
    for dtype in ("bool", "int8", "uint8", "int32", "float32", "float64"):
        for shape in ((), (0,), (5,), (3, 4), (2, 3, 4), (0, 3)):
            host = values(dtype, shape)
            device = gpuarray.array(host, context=context, cls=ndgpuarray)
            axes = [None, *(range(-host.ndim, host.ndim) if shape else (0, -1))]
            axes += [tuple(range(host.ndim)), ()] if host.ndim else []
            for name in ("all", "any", "sum", "prod"):
                for axis in axes:
                    expected = getattr(host, name)(axis)
                    assert_same(getattr(device, name)(axis), expected, rtol=1e-3)
                    out = gpuarray.zeros(
                        np.shape(expected), np.asarray(expected).dtype, "C", context
                    )
                    assert getattr(device, name)(axis=axis, out=out) is out
                    assert_same(out, expected, rtol=1e-3)
    host = values("float32", (3, 4))
    device = gpuarray.array(host, context=context)
    assert_same(device.sum(0, "float64"), host.sum(0, "float64"))
    assert_same(device.prod(1, np.float64), host.prod(1, np.float64))
    for name in ("all", "any", "sum", "prod"):
        call = getattr(device, name)
        with pytest.raises(TypeError):
            call(axis=0, out=gpuarray.zeros(3, "float32", "C", context))
        with pytest.raises(ValueError):
            call(axis=2)
    with pytest.raises(TypeError):
        device.sum(axis=0, out=gpuarray.zeros(4, "int8", "C", context))
    number = device[0, 0]
    for axis in (0, -1):
        for name in ("max", "min", "ptp", "argmax", "argmin"):
            assert_same(
                getattr(number, name)(axis), getattr(np, name)(host[0, 0], axis)
            )
        for name in ("mean", "var", "std"):  # NumPy has none of these
            with pytest.raises(IndexError, match=name):
                getattr(number, name)(axis)
    for axis in (1, -2, (0,)):
        with pytest.raises(IndexError):
            number.sum(axis)


# ---- elementwise ----


def test_elementwise_helpers(context):
    for dtype in ("float32", "int8", "uint64"):
        host = values(dtype, (3, 4, 5))
        small = values(dtype, (4, 5), 1)
        a, b = (gpuarray.array(x, context=context) for x in (host, small))
        assert_same(elemwise.elemwise1(a, "-"), -host)
        out = a._empty_like_me()
        assert elemwise.elemwise1(a, "-", out=out) is out
        assert_same(out, -host)
        assert_same(
            elemwise.elemwise1(a, "", oper="res = a * (a > 3)"), host * (host > 3)
        )
        assert_same(elemwise.elemwise2(a, "+", b, a, broadcast=True), host + small)
        assert_same(elemwise.elemwise2(b, "+", a, a, broadcast=True), host + small)
        assert_same(elemwise.elemwise2(2, "*", a, a), (2 * host))
        assert_same(
            elemwise.elemwise2(a, "*", 2, a, odtype="f8"), host.astype("f8") * 2
        )
        for op, function in (
            ("<", np.less),
            ("==", np.equal),
            (">=", np.greater_equal),
        ):
            assert_same(
                elemwise.compare(a, op, b, broadcast=True), function(host, small)
            )
            assert_same(elemwise.compare(a, op, 3), function(host, 3))
        changed = a.copy()
        assert elemwise.ielemwise2(changed, "+", b, broadcast=True) is changed
        assert_same(changed, host + small)
        assert_same(elemwise.ielemwise2(a.copy(), "*", 2), host * 2)
        with pytest.raises(ValueError):
            elemwise.ielemwise2(b.copy(), "+", a, broadcast=True)
        for empty in (a[:0], a[0, 0, 0]):
            assert_same(elemwise.elemwise1(empty, "-"), -np.asarray(empty))
            assert_same(
                elemwise.elemwise2(empty, "+", empty, empty), np.asarray(empty) * 2
            )
    x = elemwise.as_argument(a, "x", read=True)
    assert (x.name, x.type, x.read, x.write, x.scalar) == ("x", a.dtype, 1, 0, 0)
    n = elemwise.as_argument(np.float32(3), "n")
    assert (n.type, n.scalar) == (np.dtype("float32"), 1)
    with pytest.raises(ValueError):
        elemwise.as_argument(a, "x")


def test_gpuelemwise(context):
    host = values("float32", (3, 4))
    a = gpuarray.array(host, context=context)
    f4 = np.dtype("float32")
    arguments = [
        arg("r", f4, write=True),
        arg("a", f4, read=True),
        arg("s", np.dtype("int32"), scalar=True),
    ]
    kernel = GpuElemwise(context, "r = sqrt(fabs(a)) + s", arguments)
    for one, other in ((a, host), (a.T, host.T), (a[::-1, ::2], host[::-1, ::2])):
        out = one._empty_like_me()
        assert kernel(out, one, 3) is None
        assert_same(out, np.sqrt(np.abs(other)) + np.float32(3))
    out = gpuarray.empty((3, 4), "float32", "F", context)
    kernel(out, a[:1], np.int32(1), broadcast=True)
    assert_same(out, np.broadcast_to(np.sqrt(np.abs(host[:1])) + np.float32(1), (3, 4)))
    for wrong in (lambda: kernel(out[:1], a, 1), lambda: kernel(a[0], a, 1)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(ValueError):
        kernel(out, a[:1], 1, broadcast=False)
    with pytest.raises(TypeError):
        kernel(out, a, 1, nothing=True)
    half = np.dtype("float16")
    twice = GpuElemwise(
        context,
        b"r = 2 * a",
        [arg("r", half, write=True), arg("a", half, read=True)],
        nd=2,
        preamble=b"",
        convert_f16=True,
    )
    one = gpuarray.array(host.astype("f2"), context=context)
    out = one._empty_like_me()
    twice(out, one)
    assert_same(out, host.astype("f2") * 2)
    with pytest.raises(GpuArrayException):
        GpuElemwise(context, "r = no_such(a)", arguments)(out, a, 1)


# ---- reductions ----


def test_reduction_kernels(context):
    host = values("float32", (3, 4, 5))
    a = gpuarray.array(host, context=context)
    for redux in ([1, 0, 0], [0, 1, 0], [True, False, True], [True] * 3):
        axes = tuple(i for i, one in enumerate(redux) if one)
        for arguments in (
            "float *a",
            [tools.as_argument(a, "a")],
            reduction.parse_c_args("const float *a"),
            [tools.ArrayArg(np.dtype("float32"), "a")],
        ):
            kernel = reduction.ReductionKernel(
                context, "float32", "0", "a + b", redux, arguments=arguments
            )
            assert_same(kernel(a), host.sum(axes))
        weighted = reduction.ReductionKernel(
            context,
            dtype_out="float32",
            neutral="0",
            reduce_expr="a + b",
            redux=redux,
            map_expr="s * x[i] * y[i]",
            arguments=[
                tools.as_argument(a, "x"),
                tools.as_argument(np.float32(2), "s"),
                tools.as_argument(a, "y"),
            ],
            preamble="",
            init_nd=3,
        )
        assert_same(weighted(a, 2, a), (host * host * 2).sum(axes))
        row = a[:1]
        assert_same(
            weighted(a, 2, row, broadcast=True), (host * host[:1] * 2).sum(axes)
        )
    out = gpuarray.empty((), "float32", "C", context)
    assert kernel(a, out=out) is out
    assert_same(out, host.sum())
    strided = gpuarray.zeros((4, 10), "float32", "C", context)[:, ::2]
    first = reduction.ReductionKernel(
        context, "float32", "0", "a + b", [True, False, False], arguments="float *x"
    )
    first(a, out=strided)
    assert_same(strided, host.sum(0))
    for bad in (gpuarray.empty(4, "float32", "C", context), strided.astype("f8")):
        with pytest.raises(TypeError):
            first(a, out=bad)
    with pytest.raises(TypeError):
        reduction.ReductionKernel(
            context, "float32", "0", "a + b", [True], arguments=["float *a"]
        )
    assert_same(
        reduction.reduce1(a, "*", "1", "float64", axis=(0, 2)),
        host.astype("f8").prod((0, 2)),
    )
    assert_same(
        reduction.reduce1(a, "", "0", "float32", oper="a > b ? a : b"),
        np.float32(max(host.max(), 0)),
    )
    assert reduction.massage_op("x[i] + y[i]") == "x + y"
    assert [m.group(1) for m in reduction.INDEX_RE.finditer("x[i] + y[i]")] == [
        "x",
        "y",
    ]


# ---- kernels ----

SOURCE = """
KERNEL void scale(GLOBAL_MEM ga_float *x, ga_size x_off, ga_float s, ga_size n) {
  x = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)x + x_off);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0) x[i] *= s;
}
"""


def test_kernels(context):
    types = [GpuArray, gpuarray.SIZE, "float32", gpuarray.SIZE]
    for kernel in (
        GpuKernel(SOURCE, "scale", types, context),
        GpuKernel(SOURCE.encode(), b"scale", types, context=context, have_small=False),
        GpuKernel(SOURCE, "scale", types, context, False, False, False, False),
    ):
        device = gpuarray.array(np.arange(6, dtype="f4"), context=context)
        part = device[2:]
        assert kernel(part, part.offset, 10, part.size, n=4) is None
        kernel(part, part.offset, np.float32(2), part.size, gs=1, ls=4)
        kernel(part, part.offset, 0.5, part.size, gs=(2,), ls=(1,), shared=0)
        assert_same(device, np.array([0, 1, 20, 30, 40, 50], "f4"))
        assert kernel.context is context and kernel.numargs == 4
        assert kernel.maxlsize >= kernel.preflsize >= 1
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(RuntimeError):
                pickle.dumps(kernel, protocol)
        with pytest.raises(ValueError):
            kernel(part, 0, 1, 1)
        with pytest.raises(ValueError):
            kernel(part, 0, 1, 1, n=4, ls=(1, 1))
        with pytest.raises(TypeError):
            kernel(part, 0, 1, n=4)
        with pytest.raises(TypeError):
            kernel(np.zeros(3), 0, 1, 1, n=4)
    with pytest.raises(GpuArrayException):
        GpuKernel("KERNEL void k(nothing x) {}", "k", [], context)


# ---- what C's operators do not know ----


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float16", "bool"])
def test_elementwise_helpers_of_other_dtypes(context, dtype):
    host, other = values(dtype, (3, 4)), values(dtype, (3, 4), 1)
    a, b = (gpuarray.array(x, context=context) for x in (host, other))
    for op, function in (
        *(("+", np.add), ("*", np.multiply), ("==", np.equal), ("!=", np.not_equal)),
        *(("-", np.subtract), ("/", np.true_divide)) * (dtype != "bool"),
    ):
        if op[-1] == "=":
            assert_same(elemwise.compare(a, op, b), function(host, other))
            assert_same(elemwise.compare(a, op, 2), function(host, 2))
            continue
        with np.errstate(all="ignore"):
            assert_same(elemwise.elemwise2(a, op, b, a), function(host, other))
            assert_same(
                elemwise.elemwise2(a[::2], op, b[:1], a, broadcast=True),
                function(host[::2], other[:1]),
            )
            if dtype == "bool":
                continue
            assert_same(
                elemwise.elemwise2(a, op, 2, a), function(host, host.dtype.type(2))
            )
            assert_same(
                elemwise.elemwise2(2, op, a, a), function(host.dtype.type(2), host)
            )
            assert_same(elemwise.ielemwise2(a.copy(), op, b), function(host, other))
    if dtype != "bool":
        assert_same(elemwise.elemwise1(a, "-"), -host)
    if dtype.startswith("complex"):
        with pytest.raises(UnsupportedException, match="complex"):
            elemwise.elemwise2(a, "%", b, a)
        with pytest.raises(TypeError, match="is not stored"):
            elemwise.ielemwise2(gpuarray.zeros(4, context=context), "+", b[0])


def test_what_else_programs_give(context):
    host = values("float32", (3, 4))
    a = gpuarray.array(host, context=context)
    for index in ([slice(None), 0], [slice(0, 2), slice(1, 3)], [Ellipsis, -1]):
        assert_same(a[index], host[tuple(index)])
        changed, other = a.copy(), host.copy()
        changed[index] = 5
        other[tuple(index)] = 5
        assert_same(changed, other)
    assert_same(a[[0, 2]], host[[0, 2]])
    code = gpuarray.dtype_to_typecode("int16")
    assert gpuarray.zeros(2, code, "C", context).dtype == np.int16
    assert a.astype(code).dtype == gpuarray.array(host, code, context=context).dtype
    with pytest.raises(TypeError):
        gpuarray.zeros(2, 99, "C", context)
    assert_same(elemwise.elemwise2(1.0, "+", 2.0, a), np.full((3, 4), 3.0))
    for bad in (host, [1, 2]):
        with pytest.raises(TypeError):
            elemwise.elemwise2(a, "+", bad, a)
        with pytest.raises(TypeError):
            gpuarray.may_share_memory(a, bad)
    dtypes.register_dtype("float32", "one_name_t")
    assert "one_name_t" in dtypes.NAME_TO_DTYPE and "o" not in dtypes.NAME_TO_DTYPE
