"""Arrays: making, viewing, indexing, converting, transferring, printing."""

import copy
import gc
import pickle
from contextlib import nullcontext

import gpuarray
import numpy as np
import pytest
from gpuarray.dtypes import DOUBLES, DTYPES, kind_of
from gpuarray.errors import ReadOnly
from judge import assert_same
from layouts import LAYOUTS, broadcast_pair, pair, values

INDICES = [
    (),
    (0,),
    (-1,),
    (slice(None),),
    (slice(1, -1),),
    (slice(None, None, -1),),
    (slice(5, 1, -2), slice(None), slice(1, None, 3)),
    (slice(10, 20),),
    (slice(-100, 100, 3),),
    (2, 3, 4),
    (Ellipsis, 1),
    (1, Ellipsis, slice(2)),
    (None, 2, None, slice(None), None),
    (slice(None), None),
    (Ellipsis, None),
    (np.int64(2), np.uint8(1)),
    (slice(3, 3),),
    (np.int64(0), None, 1),
]


def on(context, host):
    return gpuarray.asarray(host, context=context)


def assert_same_layout(device, host):
    assert device.shape == host.shape
    assert device.flags.c_contiguous == host.flags.c_contiguous
    assert device.flags.f_contiguous == host.flags.f_contiguous
    if host.size:
        assert device.strides == host.strides


# ---- making ----


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_round_trip_keeps_every_bit(null, dtype):
    for shape in ((), (1,), (0,), (3, 0, 2), (4, 5)):
        host = values(dtype, shape)
        device = on(null, host)
        assert_same(device, host, exact=True)
        assert device.nbytes == host.nbytes and device.itemsize == host.itemsize


def test_fortran_order_is_kept(null):
    host = np.asfortranarray(values("float32", (3, 4)))
    device = on(null, host)
    assert_same_layout(device, host)
    assert np.asarray(device).flags.f_contiguous
    assert_same(device, host, exact=True)


def test_strided_and_foreign_host_values(null):
    host = values("float32", (6, 8))
    assert_same(on(null, host[::-2, 1::3]), host[::-2, 1::3], exact=True)
    assert_same(on(null, host.astype(">f4")), host, exact=True)
    assert_same(on(null, [[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    assert_same(on(null, 5.0), np.array(5.0))
    read_only = host.copy()
    read_only.flags.writeable = False
    assert_same(on(null, read_only), host, exact=True)


def test_asarray_copies_only_what_it_must(null):
    device = on(null, values("float32", (3,)))
    assert gpuarray.asarray(device) is device
    assert gpuarray.asarray(device, dtype="float32", context="null") is device
    assert gpuarray.array(device) is not device
    with pytest.raises(ValueError, match="needs a copy"):
        gpuarray.asarray(device, dtype="float64", copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        gpuarray.asarray([1.0], context=null, copy=False)


def test_functions_that_fill(context):
    assert_same(gpuarray.zeros((2, 3), "int16", context), np.zeros((2, 3), "int16"))
    assert_same(gpuarray.ones(4, "float32", context), np.ones(4, "float32"))
    assert_same(gpuarray.full((2, 2), 7, context=context), np.full((2, 2), 7))
    assert_same(gpuarray.full(3, True, context=context), np.full(3, True))
    assert_same(gpuarray.arange(2, 9, 3, context=context), np.arange(2, 9, 3))
    assert_same(gpuarray.eye(3, 4, 1, "f4", context), np.eye(3, 4, 1, "f4"))
    line = gpuarray.linspace(0, 1, 5, dtype="f4", context=context)
    assert_same(line, np.linspace(0, 1, 5, dtype="f4"))
    empty = gpuarray.empty((2, 5), "float16", context, order="F")
    assert empty.flags.f_contiguous and empty.dtype == np.float16
    assert gpuarray.zeros(3, context="null").dtype == np.float64


def test_functions_that_make_one_like_another(context):
    host, device = pair("fortran_order", "int32", context)
    assert_same(gpuarray.zeros_like(device), np.zeros_like(host))
    assert_same_layout(gpuarray.empty_like(device), np.empty_like(host))
    assert_same(gpuarray.ones_like(device, "float32"), np.ones_like(host, "float32"))
    assert_same(gpuarray.full_like(device, 9), np.full_like(host, 9))


def test_contiguous_forms(context):
    host, device = pair("permuted", "float32", context)
    c, f = gpuarray.ascontiguousarray(device), gpuarray.asfortranarray(device)
    assert_same_layout(c, np.ascontiguousarray(host))
    assert_same_layout(f, np.asfortranarray(host))
    assert_same(c, host, exact=True)
    assert_same(f, host, exact=True)
    assert gpuarray.ascontiguousarray(c) is c
    assert gpuarray.ascontiguousarray(device[0, 0, 0]).shape == (1,)


# ---- views ----


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_has_numpy_s_layout(null, layout):
    host, device = pair(layout, "float32", null)
    assert_same_layout(device, host)
    assert device.ndim == host.ndim and device.size == host.size
    for key in ("C", "F_CONTIGUOUS", "ALIGNED", "WRITEABLE"):
        assert device.flags[key] == host.flags[key]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_basic_indexing(context, index):
    host = values("float32")
    device = on(context, host)
    expected = np.asarray(host[index])
    assert_same(device[index], expected, exact=True)
    if None not in index and expected.size:
        assert device[index].strides == expected.strides


@pytest.mark.oclgrind
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_assigning_to_a_basic_index(context, index):
    host = values("float32")
    device = on(context, host)
    host = host.copy()
    host[index] = 5
    device[index] = 5
    assert_same(device, host, exact=True)


def test_assigning_arrays_broadcasts_and_converts(context):
    host = values("float32")
    device = on(context, host)
    row = values("int32", (6,))
    for value in (row, row.astype("float32")[None, :], row[:1]):
        host[1:5, ::2] = value
        device[1:5, ::2] = on(context, value)
        assert_same(device, host, exact=True)
        host[0] = value + 1
        device[0] = value + 1
        assert_same(device, host, exact=True)


def test_assigning_a_view_of_itself(context):
    host = values("int32", (50,))
    device = on(context, host)
    host[1:] = host[:-1].copy()
    device[1:] = device[:-1]
    assert_same(device, host)
    host[:] = host[::-1].copy()
    device[:] = device[::-1]
    assert_same(device, host)


@pytest.mark.parametrize("target", ["uint8", "float16", "int32", "float64"])
@pytest.mark.parametrize("source", ["int8", "float32", "complex64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_as_another_dtype(context, layout, source, target):
    host, device = pair(layout, source, context)
    try:
        expected = host.view(target)
        refused = None if expected.flags.aligned else "multiples of"
    except ValueError:
        refused = "^view: "
    if refused:
        with pytest.raises(ValueError, match=refused):
            device.view(target)
        return
    got = device.view(target)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert gpuarray.may_share_memory(got, device) or not expected.size
    assert np.asarray(got).tobytes() == expected.tobytes()


def test_a_view_as_another_dtype_writes_through(context):
    device = on(context, np.zeros(4, "float32"))
    device.view("int32")[1] = 0x3F800000
    assert np.asarray(device).tolist() == [0, 1, 0, 0]
    assert device.view(np.uint8).shape == (16,)
    with pytest.raises(ReadOnly):
        device.broadcast_to((2, 4)).view("int32")[0] = 1


def test_a_view_shares_its_elements(context):
    device = on(context, np.zeros((3, 4), "float32"))
    view = device[1, ::2]
    assert gpuarray.may_share_memory(device, view)
    assert not gpuarray.may_share_memory(device, device.copy())
    view += 1
    device.T[3] = 7
    expected = np.zeros((3, 4), "float32")
    expected[1, ::2] += 1
    expected.T[3] = 7
    assert_same(device, expected)


@pytest.mark.parametrize(
    "shape", [(210,), (6, 35), (-1, 5), (7, 5, 6), (2, -1, 3), (1, 210, 1)]
)
def test_reshape(context, shape):
    for layout in ("c_order", "fortran_order", "permuted"):
        host, device = pair(layout, "float32", context)
        assert_same(device.reshape(*shape), host.reshape(*shape), exact=True)
        assert_same(device.reshape(shape), host.reshape(shape), exact=True)
        expected = host.reshape(shape, order="F")
        assert_same(device.reshape(shape, order="F"), expected, exact=True)


def test_ravel_squeeze_and_iteration(context):
    host, device = pair("step", "float32", context)
    assert_same(device.ravel(), host.ravel(), exact=True)
    assert_same(device[:1].squeeze(), host[:1].squeeze(), exact=True)
    for one, expected in zip(device, host, strict=True):
        assert_same(one, expected, exact=True)
    assert len(device) == len(host)


def test_transpose(null):
    host, device = pair("c_order", "float32", null)
    for axes in ((2, 0, 1), (0, -1, 1), (1, 0, 2)):
        assert_same_layout(device.transpose(*axes), host.transpose(*axes))
        assert_same_layout(device.transpose(axes), host.transpose(axes))
    assert_same_layout(device.T, host.T)
    assert device.dimshuffle(2, "x", 0, 1).shape == (6, 1, 7, 5)


def test_broadcast_views_are_read_only(null):
    host, device = broadcast_pair("float32", null)
    assert device.strides == host.strides
    assert not device.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        device[0] = 1


# ---- conversions and copies ----


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_conversions(context, source):
    drawn = values(source, (9,))
    place = DTYPES.index(source)
    chosen = {DTYPES[(place + shift) % len(DTYPES)] for shift in (1, 5, 9, 10)}
    for target in chosen:
        if target in DOUBLES and not context.has_double:
            continue
        below = kind_of(source) in "fc" and target.kind == "u"
        host = np.abs(drawn).astype(source) if below else drawn
        loses = kind_of(source) == "c" and target.kind not in "bc"
        kept = host.real if loses else host
        warns = pytest.warns(np.exceptions.ComplexWarning) if loses else nullcontext()
        with warns:
            converted = on(context, host).astype(target)
        assert_same(converted, kept.astype(target), exact=True)


def test_float16_rounds_to_nearest_even(context):
    host = np.concatenate(
        [np.linspace(-70000, 70000, 999), np.logspace(-9, 5, 999), [np.nan, np.inf]]
    ).astype("float32")
    with np.errstate(over="ignore"):
        expected = host.astype("float16")
    device = on(context, host)
    assert_same(device.astype("float16"), expected, exact=True)
    back = on(context, expected).astype("float32")
    assert_same(back, expected.astype("float32"), exact=True)


def test_numbers_convert_to_bool_by_being_zero_or_not(context):
    host = np.array([0.0, -0.0, 0.25, np.nan, 256.0], "float32")
    assert_same(on(context, host).astype(bool), host.astype(bool))
    whole = np.array([0, 256, -1])
    assert_same(on(context, whole).astype("?"), whole.astype("?"))


def test_copies_are_apart(context):
    host, device = pair("permuted", "float32", context)
    for made in (device.copy(), copy.copy(device), copy.deepcopy(device), +device):
        assert_same(made, host, exact=True)
        made.fill(0)
    assert_same(device, host, exact=True)
    assert device.copy("F").flags.f_contiguous
    assert device.astype("float32", copy=False) is device


@pytest.mark.parametrize("length", [65537, 3 * 65536 + 4095])
def test_copies_of_many_bytes_have_any_length(context, length):
    host = np.random.default_rng(0).integers(0, 256, length, "uint8")
    to = gpuarray.zeros(length + 8, "uint8", context=context)
    to[3 : length + 3] = gpuarray.asarray(host, context=context)
    assert_same(to, np.pad(host, (3, 5)))
    assert_same(to.copy(), np.pad(host, (3, 5)))


def test_one_element_is_a_number(context):
    device = on(context, np.array([[3]], "int32"))
    assert int(device) == 3 and float(device) == 3.0 and bool(device)
    assert list(range(5))[device[0, 0]] == 3
    assert f"{device[0, 0]:.2f}" == "3.00"
    assert device.item() == 3 and device.tolist() == [[3]]
    assert not bool(on(context, np.zeros(1)))


def test_numpy_takes_the_array_as_it_is(context):
    host, device = pair("step", "float32", context)
    assert_same(on(context, np.asarray(device)), host, exact=True)
    assert np.asarray(device, dtype="float64").dtype == np.float64
    np.testing.assert_array_equal(np.array(device, copy=True), host)
    with pytest.raises(ValueError, match="copied to the host"):
        np.asarray(device, copy=False)


def test_an_array_goes_to_another_context_and_back(context, null):
    host, device = pair("permuted", "float32", context)
    moved = gpuarray.asarray(device, context=null)
    assert moved.context is null and device.context is context
    assert_same(moved, host, exact=True)
    assert_same(gpuarray.asarray(moved, context=context), host, exact=True)
    assert device.transfer(context) is device


# ---- printing and identity ----


def test_repr_shows_values_dtype_and_context(null):
    device = on(null, np.array([1.0, 2.0], "float32"))
    assert repr(device) == "array([1., 2.], dtype=float32, context='null')"
    assert str(device) == "[1. 2.]"
    assert repr(on(null, np.int8(3))) == "array(3, dtype=int8, context='null')"
    empty = on(null, np.empty((0, 3)))
    assert repr(empty) == "array([], shape=(0, 3), dtype=float64, context='null')"


@pytest.mark.parametrize(
    "shape", [(2000,), (40, 50), (7, 300), (3, 2000), (12, 13, 14)]
)
def test_a_large_array_prints_as_numpy_s_and_transfers_only_its_edges(context, shape):
    host = np.arange(np.prod(shape), dtype="int32").reshape(shape)
    device = on(context, host)
    read = []
    original = type(device)._read

    def counted(self):
        read.append(self.size)
        return original(self)

    try:
        type(device)._read = counted
        assert str(device) == str(host)
    finally:
        type(device)._read = original
    assert sum(read) < host.size / 2


def test_what_arrays_and_contexts_refuse(null):
    device = on(null, [1.0])
    with pytest.raises(TypeError, match="unhashable"):
        hash(device)
    with pytest.raises(TypeError, match="pickle its name"):
        pickle.dumps(null)
    with pytest.raises(TypeError, match="arrays are made by"):
        gpuarray.Array()


def test_transfer_takes_a_context_or_its_name(null):
    array = gpuarray.zeros(3, context=null)
    assert array.transfer("null") is array
    assert array.transfer(null) is array
    with pytest.raises(gpuarray.GpuArrayError, match="cudaa"):
        array.transfer("cudaa")


# ---- NumPy's attributes ----


def test_comparison_with_what_is_no_number_is_elementwise(context):
    a = on(context, np.arange(6.0).reshape(2, 3))
    for other in (None, "a", b"a", object()):
        assert_same(a == other, np.zeros((2, 3), bool))
        assert_same(a != other, np.ones((2, 3), bool))
    assert None not in a
    with pytest.raises(TypeError):
        a < None  # noqa: B015


class Knows:
    def __eq__(self, other):
        return "me"

    __hash__ = None


def test_an_object_that_knows_how_it_compares_is_asked(null):
    assert (on(null, [1.0]) == Knows()) == "me"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_flat_is_numpys(context, layout):
    host, device = pair(layout, "float32", context)
    host = host.copy() if not host.flags.writeable else host
    assert len(device.flat) == host.size
    assert [float(x) for x in device.flat] == list(host.flat)
    assert_same(device.flat[::2], host.flat[::2])
    assert_same(device.flat.copy(), host.flat.copy())
    if host.size > 3:
        for index in (slice(1, 3), 2, [0, 2]):
            host.flat[index], device.flat[index] = 7, 7
            assert_same(device, host)
        device.flat, host.flat = on(context, np.arange(3.0)), np.arange(3.0)
        assert_same(device, host)


def test_base_is_none_for_what_fills_its_buffer(null):
    a = on(null, np.arange(6.0).reshape(2, 3))
    assert a.base is None and a.T.base is None and a[...].base is None
    assert_same(a[1:].base, np.arange(6.0))
    assert_same(a[:, 1].base, np.arange(6.0))


def test_astype_has_numpys_arguments(null):
    a = on(null, np.arange(3))
    assert a.astype("int64", "K", "unsafe", True, False) is a
    assert a.astype("int64", casting="no", copy=False) is a
    with pytest.raises(TypeError, match="int64 is not converted to int8"):
        a.astype("int8", casting="safe")


def test_struct_keeps_its_array_alive(null):
    gc.collect()  # what tests before left in cycles is not freed while we count
    before = null.memory_info().n_live
    struct = on(null, np.arange(6.0).reshape(2, 3)).struct
    assert null.memory_info().n_live == before + 1
    assert (struct.nd, list(struct.dimensions[0:2])) == (2, [2, 3])
    del struct
    assert null.memory_info().n_live == before
