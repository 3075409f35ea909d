"""Shapes, copies, transfers and attributes of arrays, as programs of pygpu use them."""

import copy
import pickle

import numpy as np
import pytest
from gpuarray import (
    gpuarray,
)
from gpuarray.gpuarray import (
    GpuArray,
    GpuArrayException,
)
from judge import assert_same
from layouts import values
from test_pygpu_programs import DTYPES, same

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
