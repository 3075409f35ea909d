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
    elemwise,
    gpuarray,
    operations,
    reduction,
    tools,
)
from gpuarray._array import ndgpuarray
from gpuarray._elemwise import GpuElemwise, arg
from gpuarray.gpuarray import (
    GpuArray,
    GpuArrayException,
    GpuContext,
    GpuKernel,
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


# ---- shapes and strides ----


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array")
def test_shape_is_set_in_place(context, order):
    for before, after in (
        *(((2, 3), (6,)), ((2, 3), 6), ((6,), (2, 3)), ((6,), (1, 6, 1)), ((), (1,))),
        *(((1,), ()), ((2, 3), (-1, 2)), ((0, 3), (3, 0)), ((1, 1), (1, 1, 1))),
    ):
        host = np.array(values("float32", before), order=order)
        device = gpuarray.array(host, None, True, order, 0, context)
        try:
            host.shape = after
        except AttributeError:
            with pytest.raises(AttributeError):
                device.shape = after
            with pytest.raises(GpuArrayException):
                device.shape = after
            assert device.shape == before
            continue
        device.shape = after
        same(device, host)
        assert_same(device + 1, host + 1)
    device = gpuarray.zeros((2, 3), context=context)
    with pytest.raises(ValueError):
        device.shape = (4, 2)
    assert device.shape == (2, 3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy's setter
@pytest.mark.parametrize(
    ("index", "strides"),
    [
        (slice(None), (24, 8)),
        (slice(None), (8, 24)),
        (slice(None), (0, 8)),
        (slice(None), (-24, 8)),
        (slice(None), (48, 8)),
        (slice(None), (24,)),
        (slice(None), (24, 8, 0)),
        (slice(None, None, -1), (-24, 8)),
        (slice(None, None, -1), (24, 8)),
        (slice(1, 2), (24, 8)),
        (slice(1, 2), (-24, 24)),
        (slice(2, 2), (800, 8)),
        (slice(1, None), (-24, 8)),
        (slice(None), (4, 4)),
    ],
)
def test_strides_are_set_in_place(context, index, strides):
    host = np.arange(12.0).reshape(4, 3)[index]
    device = gpuarray.array(np.arange(12.0).reshape(4, 3), context=context)[index]
    try:
        host.strides = strides
    except ValueError:
        before = device.strides
        with pytest.raises(ValueError, match="strides"):
            device.strides = strides
        assert device.strides == before
        return
    device.strides = strides
    assert device.strides == strides
    for key in ("C", "F", "A", "W"):
        if host.size:
            assert device.flags[key] == host.flags[key]
    if device.flags.aligned:
        assert_same(device, host, exact=True)
        assert_same(device * 2, host * 2)


def test_strides_of_axes_of_length_1_are_numpys(context):
    for shape in ((1, 3), (3, 1), (1, 1), (2, 1, 3), (1, 2, 1)):
        for order in "CF":
            host = np.array(values("float32", shape), order=order)
            device = gpuarray.array(host, None, True, order, 0, context)
            same(device, host)
            same(device.T, host.T)
            for index in (
                *(np.s_[::2], np.s_[::-1], np.s_[:1], np.s_[..., ::3], np.s_[None]),
                *(np.s_[..., None], np.s_[0], np.s_[..., :1], np.s_[..., ::-2]),
                *(np.s_[0, ..., None], np.s_[::2, None, ::2]),
            ):
                same(device[index], host[index])


def test_reshape_and_transpose(context):
    host = values("int32", (2, 3, 4))
    device = gpuarray.array(host, context=context)
    for shape in ((6, 4), (24,), (-1,), (2, -1), (4, 3, 2), (1, 24, 1), [3, 8]):
        for order in "CFA":
            same(device.reshape(shape, order), host.reshape(shape, order=order))
            same(
                device.reshape(shape, order=order.lower()),
                host.reshape(shape, order=order),
            )
    same(device.reshape(24, order="F"), host.reshape(24, order="F"))
    same(device.reshape(4, 6), host.reshape(4, 6))
    same(device.reshape(24, "F"), host.reshape(24, order="F"))
    for axes in ((), (None,), ((2, 0, 1),), (2, 0, 1), ([1, 0, 2],), (-1, 0, 1)):
        same(device.transpose(*axes), host.transpose(*axes))
    same(np.transpose(device), host.transpose())
    same(np.transpose(device, (1, 0, 2)), host.transpose(1, 0, 2))
    for bad in ((0, 1), (0, 0, 1), (0, 1, 5)):
        with pytest.raises(ValueError):
            device.transpose(*bad)
    for bad in ((5,), (-1, -1), (7, -1), (2, 3)):
        with pytest.raises(GpuArrayException):
            device.reshape(bad)


# ---- copies, views, transfers ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_and_views(context, dtype):
    base = values(dtype, (4, 5))
    device_base = gpuarray.array(base, context=context)
    for index in (np.s_[:], np.s_[::2, ::-1], np.s_[1], np.s_[2:2], np.s_[1:2, 3:]):
        host, device = base[index], device_base[index]
        for order in ("C", "F", "A"):
            same(device.copy(order), host.copy(order))
            same(device.copy(order.lower()), host.copy(order))
        same(device.copy(), host.copy())
        same(device.copy(order=None), host.copy(order="A"))
        same(copy.copy(device), host.copy())
        memo = {}
        deep = copy.deepcopy(device, memo)
        same(deep, host.copy())
        assert memo[id(device)] is deep
        same(device.view(), host.view())
        assert gpuarray.may_share_memory(device.view(), device_base) == bool(host.size)
        for order in ("C", "F", "A"):
            wide = device.astype("complex128", order, True)
            same(wide, host.astype("complex128", order=order))
        assert device.astype(dtype, "A", False) is device
        if device.flags.c_contiguous:
            assert device.astype(dtype, order="C", copy=False) is device
        assert device.astype(dtype, copy=True) is not device
        assert device.sync() is None
        back = pickle.loads(pickle.dumps(device))
        assert_same(back, host, exact=True)
        assert_same(np.asarray(device, dtype=dtype), host, exact=True)
        got = device.__array__()
        assert got.dtype == dtype and got.flags.forc
    like = device_base._empty_like_me()
    assert (like.shape, like.dtype) == (base.shape, base.dtype)
    like = device_base._empty_like_me(dtype="int8", order="F")
    assert like.dtype == np.int8 and like.flags.f_contiguous
    assert device_base.T._empty_like_me(order="A").flags.f_contiguous


def test_write(context):
    host = values("float32", (3, 4))
    for order in "CF":
        device = gpuarray.zeros((3, 4), "float32", order, context)
        for source in (host, np.asfortranarray(host), np.repeat(host, 2, 1)[:, ::2]):
            device[...] = 0
            assert device.write(source) is None
            same(device, np.array(host, order=order))
    read_only = host.copy()
    read_only.flags.writeable = False
    device.write(read_only)
    flat = gpuarray.zeros(12, "float32", "C", context)
    flat.write(host)
    assert_same(flat, host.ravel())
    part = flat[4:8]
    part.write(np.arange(4, dtype="float32"))
    assert_same(
        flat,
        np.concatenate([host.ravel()[:4], np.arange(4), host.ravel()[8:]]).astype("f4"),
    )
    gpuarray.zeros((0, 3), context=context).write(np.zeros((0, 3)))
    for bad in (host[:2], host.astype("f8"), [1.0] * 12, 3):
        with pytest.raises(ValueError):
            device.write(bad)
    with pytest.raises(ValueError, match="contiguous"):
        flat[::2].write(np.zeros(6, "float32"))
    with pytest.raises(ValueError):
        flat[:1].broadcast_to(1).write(np.zeros(1, "float32"))


def test_read(context):
    host = values("float32", (3, 4))
    for order in "CF":
        device = gpuarray.array(host, None, True, order, 0, context)
        out = np.empty((3, 4), "float32", order)
        assert device.read(out) is None
        np.testing.assert_array_equal(out, host)
        with pytest.raises(ValueError, match="contiguous"):
            device.read(np.empty((3, 4), "float32", "FC"["CF".index(order)]))
    device = gpuarray.array(host, context=context)
    flat = np.empty(12, "float32")
    device.read(flat)
    np.testing.assert_array_equal(flat, host.ravel())
    locked = np.empty((3, 4), "float32")
    locked.flags.writeable = False
    for bad in (np.empty((2, 4), "f4"), np.empty((3, 4)), locked, [0.0] * 12):
        with pytest.raises(ValueError):
            device.read(bad)
    with pytest.raises(ValueError):
        device.read(np.empty((3, 8), "f4")[:, ::2])
    with pytest.raises(ValueError):
        device[:, ::2].read(np.empty((3, 2), "f4"))
    gpuarray.zeros((0, 3), context=context).read(np.empty((0, 3)))


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8"])
def test_take1(context, kind):
    for shape in ((5,), (5, 3), (5, 3, 2), (20, 4)):
        host = values("float32", shape)
        device = gpuarray.array(host, context=context)
        places = [0, 3, 1, 1, 4, *range(5), 2, 0, 4]
        places += [] if kind == "uint8" else [-1, -5]
        index = np.array(places, kind)
        for one, other in ((host, device), (host[::-1], device[::-1])):
            found = other.take1(gpuarray.array(index, context=context))
            same(found, np.take(one, index, axis=0))
        empty = gpuarray.array(index[:0], context=context)
        same(device.take1(empty), host[:0].copy())
        bad = gpuarray.array(np.array([0, shape[0]], kind), context=context)
        with pytest.raises(IndexError):
            device.take1(bad)
        same(device.take1(gpuarray.array(index[:2], context=context)), host[index[:2]])
    with pytest.raises(ValueError):
        device.take1(device)
    with pytest.raises((TypeError, ValueError)):
        device.take1(3)


def test_transfer(context, null):
    device = gpuarray.array(values("float32", (3, 4)), context=context)
    there = device.transfer(null)
    assert there.context is null
    assert_same(there.transfer(context), np.asarray(device), exact=True)


# ---- attributes ----


def test_attributes(context):
    host = values("float32", (3, 4))
    device = gpuarray.array(host, context=context)
    part, host_part = device[1:, ::2], host[1:, ::2]
    for name in ("shape", "strides", "size", "ndim", "dtype", "itemsize"):
        assert getattr(part, name) == getattr(host_part, name)
    assert part.offset == 16 and part.context is context
    assert part.typecode == gpuarray.dtype_to_typecode("float32") == 11
    assert gpuarray.dtype_to_typecode(11) == 11
    assert gpuarray.dtype_to_ctype("int64") == "ga_long"
    assert (gpuarray.SIZE, gpuarray.SSIZE) == (24, 25)
    assert device.base is None
    assert len(part) == 2
    with pytest.raises(TypeError):
        hash(part)
    with pytest.raises(TypeError):
        len(device[0, 0])
    for bad in (np.longdouble, "S3", "complex256"):
        with pytest.raises(ValueError):
            gpuarray.dtype_to_typecode(np.dtype(bad))
    for name in ("dtype", "T", "size", "ndim", "context", "offset", "flags"):
        with pytest.raises(AttributeError):
            setattr(device, name, None)
    if context.kind == b"opencl":
        assert device.data == device.base_data and isinstance(device.data, int)
        with pytest.raises(ValueError):
            part.data  # noqa: B018
        with pytest.raises(TypeError):
            device.gpudata  # noqa: B018
    with pytest.raises(ValueError):
        gpuarray.zeros(2, context="null").get_ipc_handle()
    with pytest.raises(ValueError):
        gpuarray.open_ipc_handle(gpuarray.init("null"), bytes(64), 8)


def test_numbers_and_iteration(context):
    for value in (0, 3, -2.5):
        for shape in ((), (1,), (1, 1)):
            host = np.full(shape, value)
            device = gpuarray.array(host, context=context)
            assert bool(device) == bool(host)
            assert float(device) == float(host.item())
            assert int(device) == int(host.item())
            assert complex(device) == complex(host.item())
    with pytest.raises(ValueError):
        bool(gpuarray.zeros(2, context=context))
    host = values("int32", (3, 4))
    device = gpuarray.array(host, context=context)
    for one, other in zip(host, device, strict=True):
        assert_same(other, one)
    assert [int(x) for x in device[1]] == host[1].tolist()
    assert range(5)[device[0, 0] * 0 + 2] == 2
    with pytest.raises(TypeError):
        iter(device[0, 0]).__next__()
    assert str(device) == str(host) and "array(" in repr(device)


INDEXES = [
    *(np.s_[0], np.s_[-1], np.s_[1:], np.s_[::-1], np.s_[::2, 1], np.s_[...]),
    *(np.s_[..., 0], np.s_[0, ...], np.s_[None], np.s_[:, None, 1], np.s_[1, 2, 3]),
    *(np.s_[...,], np.s_[5:2], np.s_[-2:-20:-3], np.s_[np.int64(1)], np.s_[:, :, ::-2]),
    *(np.s_[1, None, ..., None], np.s_[()], np.s_[1:2, 2:3], np.s_[100:, :-100]),
    np.s_[np.int32(0), np.uint8(1)],
]


@pytest.mark.parametrize("order", ["C", "F"])
def test_items(context, order):
    for dtype in ("float32", "int64", "complex64", "bool"):
        host = np.array(values(dtype, (3, 4, 5)), order=order)
        for index in INDEXES:
            device = gpuarray.array(host, None, True, order, 0, context)
            expected = host[index]
            found = device[index]
            assert_same(found, expected, exact=True)
            assert isinstance(found, GpuArray)
            other = host.copy(order)
            number = np.array(1, dtype)
            for value in (number, 1, values(dtype, np.shape(expected), 3)):
                device[index] = value
                other[index] = value
                assert_same(device, other, exact=True)
            device[index] = gpuarray.array(expected, context=context)
            other[index] = expected
            assert_same(device, other, exact=True)
    for bad in (3, -4, (0, 0, 0, 0), (0, 9), "a", 1.5, (..., ...), ((0,), slice(0))):
        try:
            host[bad]
        except IndexError:
            with pytest.raises(IndexError):
                device[bad]
    with pytest.raises(ValueError):
        device[:, 0] = values("bool", (4, 5))
    device = gpuarray.zeros((3, 4), "int32", context=context)
    device[1:] = values("float64", (4,))
    expected = np.zeros((3, 4), "int32")
    expected[1:] = values("float64", (4,))
    assert_same(device, expected)


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
