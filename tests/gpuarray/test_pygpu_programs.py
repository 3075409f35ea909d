"""Programs as they were written for pygpu 0.7: only the import is another."""

import copy
import pickle

import gpuarray as pygpu
import numpy as np
import pytest
from gpuarray import (
    basic,
    blas,
    collectives,
    dtypes,
    gpuarray,
    operations,
    reduction,
    tools,
)
from gpuarray._array import ndgpuarray
from gpuarray.gpuarray import (
    GpuArray,
    GpuArrayException,
    GpuContext,
    UnsupportedException,
)
from judge import assert_same
from layouts import values

DTYPES = (
    *("bool", "int8", "int32", "int64", "uint8", "uint64"),
    *("float16", "float32", "float64", "complex64"),
)
SHAPES = (), (0,), (5,), (1, 1), (2, 0, 3), (2, 3, 4), (1, 3), (3, 1)


class Mine(GpuArray):
    """A class of the user's."""

    def doubled(self):
        return self + self


def same(device, host):
    """The same elements and layout as NumPy's."""
    assert_same(device, host, exact=True)
    host = np.asarray(host)
    if host.size:
        assert device.strides == host.strides
    for key in ("C_CONTIGUOUS", "F_CONTIGUOUS", "ALIGNED"):
        assert device.flags[key] == host.flags[key], key


# ---- contexts ----


def test_contexts(context):
    assert isinstance(context, GpuContext) and isinstance(context, pygpu.GpuContext)
    kind = context.kind
    assert kind == context.name.rstrip("0123456789:")
    assert kind == kind.encode() and kind.encode() == kind
    assert kind != b"nothing"
    assert (kind != kind.encode()) is False
    assert {kind: 1}[str(kind)] == 1
    assert isinstance(context.bin_id, bytes) and isinstance(context.ptr, int)
    before = gpuarray.get_default_context()
    try:
        gpuarray.set_default_context(context)
        assert gpuarray.get_default_context() is context
        assert gpuarray.zeros(3).context is context
    finally:
        gpuarray.set_default_context(before)
    assert gpuarray.init(context.name) is context
    with pytest.raises(RuntimeError):
        GpuContext()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(RuntimeError, match="cannot be pickled"):
            pickle.dumps(context, protocol)
    with pytest.raises(TypeError, match="sched"):
        gpuarray.init(context.name, sched="never")


def test_versions_and_headers():
    assert gpuarray.api_version() == (2, 0)
    major, minor = gpuarray.abi_version()
    assert major >= 4 and minor >= 0
    assert pygpu.get_include() == gpuarray.get_include()
    header = gpuarray.get_include() + "/gpuarray/array.h"
    with open(header) as file:  # noqa: PTH123
        assert "GpuArray" in file.read()


# ---- making arrays ----


@pytest.mark.parametrize("make", [gpuarray, pygpu], ids=["module", "package"])
@pytest.mark.parametrize("name", ["zeros", "empty"])
def test_order_stands_before_the_context(context, make, name):
    function, theirs = getattr(make, name), getattr(np, name)
    for order in ("C", "F", "c", "f"):
        for found in (
            function((2, 3), "float32", order, context),
            function((2, 3), "float32", order, context.name),
            function((2, 3), "float32", order, context=context),
            function((2, 3), dtype="float32", order=order, context=context),
            function((2, 3), "float32", context, order),
        ):
            host = theirs((2, 3), "float32", order.upper())
            assert found.strides == host.strides and found.dtype == host.dtype
            assert found.context is context and type(found) is GpuArray
    for order in (None, "A", "a"):
        assert function((2, 3), "int8", order, context).flags.c_contiguous
    mine = function((2, 3), "float32", "F", context, Mine)
    assert type(mine) is Mine and mine.strides == (4, 8)
    assert type(function(3, "int8", context=context, cls=Mine)) is Mine
    with pytest.raises(ValueError, match="order"):
        function(3, "float32", "Q", context)
    with pytest.raises(TypeError, match="cls"):
        function(3, cls=int, context=context)
    with pytest.raises(TypeError, match="positional"):
        function(3, "float32", "C", order="C", context=context)
    with pytest.raises(TypeError):
        function()


def test_numpys_place_of_the_order(context):
    with context.as_default():
        for found, host in (
            (pygpu.ones((2, 3), "int32", "F"), np.ones((2, 3), "int32", "F")),
            (pygpu.full((2, 3), 7, "int32", "F"), np.full((2, 3), 7, "int32", "F")),
            (pygpu.eye(2, 3, 1, "int32", "F"), np.eye(2, 3, 1, "int32", "F")),
            (pygpu.zeros((2, 3), "int32", "F"), np.zeros((2, 3), "int32", "F")),
            (pygpu.asarray([[1, 2]] * 2, "int8", "F"), np.full((2, 2), 1)),
        ):
            assert found.flags.f_contiguous == (host.flags.f_contiguous or True)
        same(pygpu.ones((2, 3), "int32", "F"), np.ones((2, 3), "int32", "F"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_array_takes_pygpus_arguments(context, dtype):
    for shape in SHAPES:
        host = values(dtype, shape)
        for order in (None, "C", "F", "A"):
            found = gpuarray.array(host, dtype, True, order, 0, context)
            expected = np.array(host, dtype, copy=True, order=order or "K")
            (assert_same if 1 in shape else same)(found, expected)
            found = gpuarray.array(host, None, False, order, 4, context, Mine)
            assert type(found) is Mine and found.ndim == max(4, host.ndim)
            assert_same(found, np.array(host, order=order or "K", ndmin=4), exact=True)
        found = gpuarray.array(host, dtype=dtype, copy=True, order="f", context=context)
        (assert_same if 1 in shape else same)(found, np.array(host, order="F"))
        same(gpuarray.asarray(host, dtype, "F", context), np.asarray(host, order="F"))
        same(gpuarray.asarray(host, None, "A", context), np.asarray(host))
        same(gpuarray.asarray(host, None, None, context), np.asarray(host))
        same(gpuarray.asarray(host, context=context), np.asarray(host))
        same(gpuarray.ascontiguousarray(host, dtype, context), np.atleast_1d(host))
        back = gpuarray.asfortranarray(host, dtype, context)
        same(back, np.asfortranarray(np.atleast_1d(host)))


def test_array_of_an_array(context):
    host = values("float32", (3, 4))
    a = gpuarray.array(host, context=context)
    assert gpuarray.array(a, copy=False) is a
    assert gpuarray.array(a, copy=False, dtype="float32", order="C") is a
    assert gpuarray.asarray(a) is a
    assert not gpuarray.may_share_memory(gpuarray.array(a), a)
    mine = gpuarray.array(a, copy=False, cls=Mine)
    assert type(mine) is Mine and gpuarray.may_share_memory(mine, a)
    assert type(gpuarray.array(mine)) is Mine
    assert type(gpuarray.array(mine, cls=GpuArray)) is GpuArray
    base = gpuarray.asarray(mine)
    assert type(base) is GpuArray and gpuarray.may_share_memory(base, a)
    assert pygpu.asanyarray(mine) is mine
    same(gpuarray.array(a.T), host.T.copy("K"))
    same(gpuarray.array(a, "float64", False, "F"), host.astype("f8", order="F"))
    null = gpuarray.init("null")  # not the default context
    for made in (pygpu.array, pygpu.asarray, pygpu.ascontiguousarray):
        assert made(a.transfer(null)).context is null
    raised = gpuarray.array(a, copy=False, ndmin=3)
    assert raised.shape == (1, 3, 4) and gpuarray.may_share_memory(raised, a)


def test_classes_of_the_users(context):
    host = values("float32", (3, 4))
    a = gpuarray.array(host, context=context, cls=Mine)
    for made in (
        *(a.doubled(), -a, a + 1, 1 + a, a < 2, a[0], a[:, None], a.T, a.copy()),
        *(a.reshape(4, 3), a.astype("int32"), a.transpose(1, 0), a.sum(0), a + a),
        *(copy.copy(a), copy.deepcopy(a), a._empty_like_me(), a.view(Mine)),
        a.take1(gpuarray.asarray([0], context=context)),
        pickle.loads(pickle.dumps(a)),
    ):
        assert type(made) is Mine
    assert type(a.view(GpuArray)) is GpuArray
    assert gpuarray.may_share_memory(a.view(GpuArray), a)
    assert_same(a.doubled(), host * 2)
    a.more = "attributes"
    assert a.more == "attributes"
    for call in (GpuArray, lambda: Mine((2, 3)), lambda: ndgpuarray()):
        with pytest.raises((RuntimeError, TypeError)):
            call()
    with pytest.raises(RuntimeError):
        GpuArray()


# ---- flags ----

KEYS = (
    *("C", "F", "W", "B", "A", "CA", "FNC", "FORC", "CARRAY", "FORTRAN", "BEHAVED"),
    *("ALIGNED", "WRITEABLE", "CONTIGUOUS", "C_CONTIGUOUS", "F_CONTIGUOUS"),
)
OWN = "O", "OWNDATA", "FA", "FARRAY"
ATTRIBUTES = (
    *("c_contiguous", "contiguous", "f_contiguous", "fortran", "aligned"),
    *("writeable", "behaved", "carray", "forc", "fnc"),
)


def test_flags(context):
    host = np.zeros((4, 5, 1), "float32")
    device = gpuarray.zeros((4, 5, 1), "float32", "C", context)
    pairs = [(host, device), (host.T, device.T), (host[::2, ::2], device[::2, ::2])]
    pairs += [(host[0], device[0]), (host[:0], device[:0]), (host[:1], device[:1])]
    for one, other in pairs:
        for key in KEYS:
            assert other.flags[key] == one.flags[key], key
            assert other.flags[key.encode()] == one.flags[key], key
        for name in ATTRIBUTES:
            assert getattr(other.flags, name) == getattr(one.flags, name), name
    for key in OWN:
        assert device.flags[key] == host.flags[key]
        assert device.T.flags[key] is (key[0] == "O" or device.T.flags.fnc)
    assert device.flags.owndata is True and device.flags.farray is False
    assert device.flags.updateifcopy is False
    assert device.flags["U"] is False and device.flags["UPDATEIFCOPY"] is False
    with pytest.raises(KeyError):
        device.flags["Q"]
    with pytest.raises(AttributeError):
        device.flags.c_contiguous = True
    flags = device.flags
    assert isinstance(flags, gpuarray.flags) and gpuarray.flags(flags.num) == flags
    assert flags == device.copy().flags and flags != device[::2].flags
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(flags, protocol)) == flags
    assert "OWNDATA : True" in repr(flags)


# ---- others ----


def test_dtypes_and_tools(context):
    gpuarray.register_dtype("float32", b"my_real_t")
    pygpu.register_dtype(np.dtype("int8"), "my_byte_t")
    (one,) = reduction.parse_c_args("my_real_t *x")
    assert isinstance(one, tools.ArrayArg) and one.dtype == np.float32
    assert dtypes.NAME_TO_DTYPE["my_byte_t"] == np.int8
    with pytest.raises(UnsupportedException, match="uint8"):
        gpuarray.register_dtype([("a", "f4"), ("b", "i4")], "pair")
    ones = gpuarray.zeros((1, 1), "float32", "C", context)
    assert tools.check_args((ones,), collapse=True) == (1, 1, (1,), ((4,),), (0,))
    assert tools.check_args((ones,), collapse=None)[1] == 1
    number = ones[0, 0]
    assert tools.check_args((number,), collapse=True) == (1, 0, (), ((),), (0,))
    a = gpuarray.zeros((5, 2, 3), "float32", "C", context)[1:]
    assert tools.check_args((a, 2.0), collapse=True) == (
        *(24, 1, (24,)),
        *(((4,), None), (24, None)),
    )
    assert tools.check_args((a, a[:1]), collapse=False, broadcast=True) == (
        *(24, 3, (4, 2, 3)),
        *(((24, 12, 4), (0, 12, 4)), (24, 24)),
    )
    assert tools.prod([2, 3]) == 6
    array, scalar = tools.as_argument(a, "a"), tools.as_argument(np.int16(2), "s")
    assert array.isarray and not scalar.isarray
    assert scalar.spec() == np.dtype("int16") and issubclass(GpuArray, array.spec())


def test_operations(context):
    host, other = values("float32", (3, 4)), values("int32", (2, 4), 1)
    a, b = (gpuarray.array(x, context=context) for x in (host, other))
    for place in (pygpu, operations):
        for given in ((), (0,), (0, context), (0, None)):
            assert_same(
                place.concatenate([a, b], *given), np.concatenate([host, other])
            )
        assert_same(
            place.concatenate([a, b], axis=-2, context=context),
            np.concatenate([host, other], -2),
        )
        for name in ("hstack", "vstack", "dstack"):
            function, theirs = getattr(place, name), getattr(np, name)
            for shape in ((3,), (3, 1), (2, 3, 1)):
                x, y = values("float32", shape), values("float64", shape, 1)
                g, h = (gpuarray.array(z, context=context) for z in (x, y))
                for found in (
                    function((g, h)),
                    function((g, h), context),
                    function([g, h], context=context),
                    function((g, y), context.name),
                ):
                    assert_same(found, theirs((x, y)))
            with pytest.raises(ValueError, match="null"):
                function((a, a), gpuarray.init("null"))
        with pytest.raises(ValueError):
            place.concatenate([], 0, context)


def test_parts(context):
    host, other = values("float32", (3, 4)), values("int32", (2, 4), 1)
    a, b = (gpuarray.array(x, context=context) for x in (host, other))
    for place in (pygpu, operations):
        with pytest.raises(ValueError):
            place.split(a, 2)
        for cut in (2, 3, [1, 2], [1, 9]):
            for axis in (0, 1):
                mine, theirs = (
                    place.array_split(a, cut, axis),
                    np.array_split(host, cut, axis),
                )
                for one, two in zip(mine, theirs, strict=True):
                    assert_same(one, two)
        for name in ("hsplit", "vsplit"):
            for one, two in zip(
                getattr(place, name)(a, [1]), getattr(np, name)(host, [1]), strict=True
            ):
                assert_same(one, two)
    assert_same(operations.atleast_3d(a), np.atleast_3d(host))
    assert [x.shape for x in operations.atleast_2d(a[0], a)] == [(1, 4), (3, 4)]
    parts = gpuarray._split(a, [1, 2], 0)
    assert [x.shape for x in parts] == [(1, 4)] * 3
    code = gpuarray.dtype_to_typecode("float64")
    joined = gpuarray._concatenate([a, b], 0, code, Mine, context)
    assert type(joined) is Mine
    assert_same(joined, np.concatenate([host, other]))


def test_triangles(context):
    for order in "CF":
        host = values("float64", (5, 7))
        device = gpuarray.array(host, None, True, order, 0, context)
        assert_same(basic.triu(device, inplace=False), np.triu(host))
        assert_same(basic.tril(device, False), np.tril(host))
        assert basic.triu(device) is device
        assert_same(device, np.triu(host))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blas(context, dtype):
    rng = np.random.default_rng(1)
    A, B = rng.random((3, 4)).astype(dtype), rng.random((4, 5)).astype(dtype)
    C, x, y = (rng.random(s).astype(dtype) for s in ((3, 5), (4,), (3,)))
    gA, gB, gC, gx, gy = (gpuarray.array(z, context=context) for z in (A, B, C, x, y))
    assert_same(blas.dot(gx, gx), x @ x)
    assert_same(blas.dot(gx[::-1], gx), x[::-1] @ x)
    for keep in (False, True):
        z = gpuarray.zeros((), dtype, "C", context)
        for found in (
            blas.dot(gx, gx, z, overwrite_z=keep),
            blas.dot(X=gx, Y=gx, Z=z, overwrite_z=keep),
        ):
            assert_same(found, x @ x)
            assert (found is z) is keep
        assert float(z) == (pytest.approx(x @ x) if keep else 0)
    assert_same(blas.dot(gx, gx, None, overwrite_z=False), x @ x)
    assert_same(blas.gemv(2, gA, gx), 2 * A @ x)
    assert_same(blas.gemv(alpha=2, A=gA, X=gx, beta=3, Y=gy), 2 * A @ x + 3 * y)
    assert_same(blas.gemv(2, gA, gy, 0.0, None, True), 2 * A.T @ y)
    kept = gy.copy()
    assert blas.gemv(2, gA, gx, 3, kept, overwrite_y=True) is kept
    assert_same(kept, 2 * A @ x + 3 * y)
    assert_same(blas.gemm(2, gA, gB, 0), 2 * A @ B)
    assert_same(blas.gemm(alpha=2, A=gA, B=gB, beta=3, C=gC), 2 * A @ B + 3 * C)
    assert_same(blas.gemm(1, gB, gA, 0, None, True, True), B.T @ A.T)
    assert_same(blas.gemm(1, gA[:, ::-1], gB[::-1], 0), A[:, ::-1] @ B[::-1])
    kept = gC.copy("F")
    assert blas.gemm(2, gA, gB, 3, kept, overwrite_c=True) is kept
    assert_same(kept, 2 * A @ B + 3 * C)
    assert_same(blas.ger(2, gy, gx), 2 * np.outer(y, x))
    assert_same(blas.ger(alpha=2, X=gy, Y=gx, A=gA), 2 * np.outer(y, x) + A)
    kept = gA.copy()
    assert blas.ger(2, gy, gx, kept, overwrite_a=True) is kept
    D, E = rng.random((2, 3, 4)).astype(dtype), rng.random((2, 4, 5)).astype(dtype)
    gD, gE = (gpuarray.array(z, context=context) for z in (D, E))
    assert_same(blas.gemmBatch_3d(1, gD, gE, 0), D @ E)
    assert_same(blas.gemmBatch_3d(alpha=1, A=gD, B=gE, beta=0, C=None), D @ E)
    for wrong in (
        lambda: blas.dot(gA, gx),
        lambda: blas.gemv(1, gx, gx),
        lambda: blas.gemm(1, gA, gx, 0),
        lambda: blas.ger(1, gA, gx),
        lambda: blas.gemmBatch_3d(1, gA, gB, 0),
    ):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (
        lambda: blas.gemv(1, gA, gx, 1),
        lambda: blas.gemm(1, gA, gB, 1),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(GpuArrayException):
        blas.gemm(1, gA, gA, 0)


def test_numpys_dot_stores_into_out(context):
    host = values("float64", (3, 3))
    a = gpuarray.array(host, context=context)
    out = a._empty_like_me()
    assert pygpu.dot(a, a, out) is out
    assert_same(out, host @ host)
    assert a.dot(a, out=out) is out


def test_buffers_by_address(context):
    from gpuarray._native import ffi

    host = np.arange(12, dtype="float32")
    a = gpuarray.array(host, context=context)
    address = int(ffi.cast("uintptr_t", a.struct.data))
    whole = gpuarray.from_gpudata(address, 0, "float32", (3, 4), context)
    assert_same(whole, host.reshape(3, 4))
    part = gpuarray.from_gpudata(
        *(address, 8, np.dtype("float32"), [2, 2], context, (24, 4), False, a, Mine)
    )
    assert type(part) is Mine and not part.flags.writeable
    assert_same(part, np.lib.stride_tricks.as_strided(host[2:], (2, 2), (24, 4)))
    whole[0, 2] = 50
    assert float(part[0, 0]) == 50 == float(a[2])
    with pytest.raises(ValueError):
        part[0, 0] = 1
    del a
    assert float(whole[0, 2]) == 50
    for bad in (
        lambda: gpuarray.from_gpudata(address, 0, "float32", 13, context),
        lambda: gpuarray.from_gpudata(address, 0, "float32", 4, context, (8, 4)),
        lambda: gpuarray.from_gpudata(address, 0, "float32", 4, "null"),
    ):
        if context.kind != "null":
            with pytest.raises(ValueError):
                bad()


def test_contexts_of_other_libraries(context):
    if context.kind != b"opencl":
        with pytest.raises(ValueError, match="own"):
            gpuarray.cuda_wrap_ctx(0, True)
        return
    cl = pytest.importorskip("pyopencl")
    queue = cl.CommandQueue.from_int_ptr(context.stream, retain=True)
    native = cl.Context([queue.device])
    wrapped = gpuarray.cl_wrap_ctx(native.int_ptr)
    assert wrapped is not context and wrapped.kind == b"opencl"
    assert gpuarray.cl_wrap_ctx(native.int_ptr) is wrapped
    assert pygpu.context(native) is wrapped
    assert_same(gpuarray.zeros(3, "float32", "C", wrapped) + 1, np.ones(3, "float32"))
    wrapped.close()


def test_collectives_are_there():
    assert collectives.COMM_ID_BYTES == 128
    assert collectives.GpuComm and collectives.GpuCommCliqueId
