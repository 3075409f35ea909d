"""Views in other shapes, and joining and cutting: NumPy is the judge."""

import gpuarray
import numpy as np
import pytest
from gpuarray.errors import TooLarge
from judge import assert_same
from layouts import LAYOUTS, pair, values
from numpy.lib.stride_tricks import sliding_window_view

THREE_AXES = ("c_order", "fortran_order", "permuted", "step", "negative_step", "empty")

VIEWS = {
    "expand_dims": lambda m, a: m.expand_dims(a, 1),
    "expand_dims_many": lambda m, a: m.expand_dims(a, (0, -1)),
    "moveaxis": lambda m, a: m.moveaxis(a, 0, -1),
    "moveaxis_many": lambda m, a: m.moveaxis(a, (0, 2), (1, 0)),
    "swapaxes": lambda m, a: m.swapaxes(a, 0, -1),
    "rollaxis": lambda m, a: m.rollaxis(a, 2, 1),
    "rollaxis_back": lambda m, a: m.rollaxis(a, 0, 3),
    "transpose": lambda m, a: m.transpose(a, (2, 0, 1)),
    "matrix_transpose": lambda m, a: a.mT,
    "flip": lambda m, a: m.flip(a),
    "flip_axis": lambda m, a: m.flip(a, axis=(0, -1)),
    "fliplr": lambda m, a: m.fliplr(a),
    "flipud": lambda m, a: m.flipud(a),
    "rot90": lambda m, a: m.rot90(a),
    "rot90_thrice": lambda m, a: m.rot90(a, 3, axes=(2, 1)),
    "rot90_twice": lambda m, a: m.rot90(a, -2, axes=(0, 2)),
    "diagonal": lambda m, a: m.diagonal(a),
    "diagonal_right": lambda m, a: m.diagonal(a, 2, 1, 2),
    "diagonal_below": lambda m, a: m.diagonal(a, -3, -1, 0),
    "diagonal_outside": lambda m, a: m.diagonal(a, 40),
    "trace": lambda m, a: m.trace(a, 1, 0, 2),
    "broadcast_to": lambda m, a: m.broadcast_to(a, (2, *a.shape)),
    "ravel": lambda m, a: m.ravel(a),
    "ravel_fortran": lambda m, a: m.ravel(a, "F"),
    "reshape": lambda m, a: m.reshape(a, (-1, 1)) if a.size else a,
    "roll": lambda m, a: m.roll(a, 3),
    "roll_axis": lambda m, a: m.roll(a, -2, axis=1),
    "roll_axes": lambda m, a: m.roll(a, (1, 5), axis=(0, 2)),
    "repeat": lambda m, a: m.repeat(a, 2),
    "repeat_axis": lambda m, a: m.repeat(a, 3, axis=1),
    "tile": lambda m, a: m.tile(a, 2),
    "tile_axes": lambda m, a: m.tile(a, (2, 1, 3, 1)),
    "tril": lambda m, a: m.tril(a, 1),
    "triu": lambda m, a: m.triu(a, -1),
    "concatenate_self": lambda m, a: m.concatenate((a, a), axis=1),
    "stack_self": lambda m, a: m.stack([a, a], axis=-1),
    "split": lambda m, a: m.array_split(a, 3, axis=2)[1],
    "delete": lambda m, a: m.delete(a, [0], axis=0) if a.size else a,
    "pad": lambda m, a: m.pad(a, ((1, 2), (0, 3), (2, 0))),
    "windows": lambda m, a: windows_of(m)(a, (2, 3), (-1, 0)) if a.size else a,
}


def windows_of(module):
    """Return its ``sliding_window_view``, which NumPy has elsewhere."""
    return getattr(module, "sliding_window_view", sliding_window_view)


@pytest.mark.parametrize("layout", THREE_AXES)
@pytest.mark.parametrize("case", VIEWS)
def test_any_layout(context, case, layout):
    host, device = pair(layout, "int32", context)
    assert_same(VIEWS[case](gpuarray, device), VIEWS[case](np, host), exact=True)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float64", "complex64"])
@pytest.mark.parametrize(
    "case", ["roll_axes", "tile_axes", "repeat_axis", "tril", "pad", "stack_self"]
)
def test_any_dtype(context, case, dtype):
    host, device = pair("step", dtype, context)
    assert_same(VIEWS[case](gpuarray, device), VIEWS[case](np, host), exact=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_at_least_so_many_axes_and_squeeze(context, layout):
    host, device = pair(layout, "float32", context)
    for name in ("atleast_1d", "atleast_2d", "atleast_3d", "squeeze"):
        assert_same(
            getattr(gpuarray, name)(device), getattr(np, name)(host), exact=True
        )


def vectors(context, *shapes):
    hosts = [values("float32", shape, seed=i) for i, shape in enumerate(shapes)]
    return hosts, [gpuarray.asarray(host, context=context) for host in hosts]


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((3, 2), (3, 2)), ((1, 2), (1, 2))])
def test_stacks(context, name, shapes):
    hosts, devices = vectors(context, *shapes)
    assert_same(getattr(gpuarray, name)(devices), getattr(np, name)(hosts), exact=True)


@pytest.mark.parametrize(
    "dtypes", [("int8", "uint8"), ("float16", "int32"), "bf", "?d"]
)
def test_joined_in_the_common_dtype(context, dtypes):
    hosts = [values(dtype, (4, 2)) for dtype in dtypes]
    devices = [gpuarray.asarray(host, context=context) for host in hosts]
    assert_same(gpuarray.concat(devices), np.concatenate(hosts), exact=True)
    axisless = gpuarray.concatenate(devices, axis=None)
    assert_same(axisless, np.concatenate(hosts, axis=None), exact=True)


def test_joined_into_a_dtype_and_an_array(context):
    (a, b), (da, db) = vectors(context, (3, 2), (1, 2))
    wide = gpuarray.concatenate([da, db], dtype="float64")
    assert_same(wide, np.concatenate([a, b], dtype="float64"), exact=True)
    out = gpuarray.zeros((4, 2), "float64", context)
    assert gpuarray.concatenate([da, db], out=out) is out
    assert_same(out, np.concatenate([a, b]).astype("float64"), exact=True)
    with pytest.raises(TypeError, match="float32 is not stored as int32"):
        gpuarray.concatenate([da, db], dtype="int32")


@pytest.mark.parametrize("cut", [1, 3, [2], [2, 2, 9], [-2], []])
def test_cut(context, cut):
    (host,), (device,) = vectors(context, (6, 4, 2))
    for name in ("array_split", "hsplit", "vsplit"):
        if name != "array_split" and cut == 3 and name == "hsplit":
            continue
        parts = getattr(gpuarray, name)(device, cut)
        expected = getattr(np, name)(host, cut)
        assert len(parts) == len(expected)
        for got, wanted in zip(parts, expected, strict=True):
            assert_same(got, wanted, exact=True)
    assert_same(gpuarray.dsplit(device, 2)[1], np.dsplit(host, 2)[1], exact=True)
    parts = gpuarray.unstack(device, axis=1)
    for got, wanted in zip(parts, host.swapaxes(0, 1), strict=True):
        assert_same(got, wanted, exact=True)


@pytest.mark.parametrize("repeats", [0, 1, [2], [0, 3, 1, 2, 0]])
def test_repeats_of_each(context, repeats):
    (host,), (device,) = vectors(context, (2, 5))
    expected = np.repeat(host, repeats, axis=1)
    assert_same(gpuarray.repeat(device, repeats, axis=1), expected, exact=True)
    counts = gpuarray.asarray(np.asarray(repeats), context=context)
    assert_same(gpuarray.repeat(device, counts, axis=1), expected, exact=True)


PLACES = [
    0,
    2,
    -1,
    5,
    slice(1, 4, 2),
    [1, 3],
    [3, 1, 1],
    np.array([1, 0, 1, 0, 0], bool),
]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("obj", PLACES, ids=str)
def test_delete_and_insert(context, obj, axis):
    (host,), (device,) = vectors(context, (5, 5))
    if not isinstance(obj, int) or obj != 5:
        expected = np.delete(host, obj, axis)
        assert_same(gpuarray.delete(device, obj, axis), expected, exact=True)
    for given in (7, np.arange(5.0)):
        if isinstance(given, np.ndarray) and not isinstance(obj, int) and not axis:
            continue
        if isinstance(given, np.ndarray) and axis and not isinstance(obj, int):
            continue
        expected = np.insert(host, obj, given, axis)
        assert_same(gpuarray.insert(device, obj, given, axis), expected, exact=True)


def test_append_resize_and_trim(context):
    (host,), (device,) = vectors(context, (2, 3))
    assert_same(gpuarray.append(device, [1, 2]), np.append(host, [1, 2]), exact=True)
    behind = gpuarray.append(device, device, axis=0)
    assert_same(behind, np.append(host, host, axis=0), exact=True)
    for shape in (4, (3, 5), (0,), ()):
        wanted = np.resize(host, shape)
        assert_same(gpuarray.resize(device, shape), wanted, exact=True)
    padded = np.array([0, 0, 3, 0, 4, 0], "int16")
    for trim in ("f", "b", "fb"):
        got = gpuarray.trim_zeros(gpuarray.asarray(padded, context=context), trim)
        assert_same(got, np.trim_zeros(padded, trim), exact=True)
    nothing = gpuarray.trim_zeros(gpuarray.zeros(4, "int32", context))
    assert nothing.shape == (0,)


MODES = [
    ("constant", {}),
    ("constant", {"constant_values": ((1, 2), (3, 4))}),
    ("edge", {}),
    ("wrap", {}),
    ("reflect", {}),
    ("symmetric", {}),
    ("maximum", {}),
    ("minimum", {"stat_length": 2}),
    ("mean", {"stat_length": ((1, 2), (3, 1))}),
    ("median", {}),
    ("linear_ramp", {"end_values": 5}),
]


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("mode, options", MODES, ids=str)
def test_pad(context, mode, options, dtype):
    host = values(dtype, (4, 5))
    device = gpuarray.asarray(host, context=context)
    for width in (2, (1, 0), ((3, 1), (0, 9))):
        expected = np.pad(host, width, mode, **options)
        assert_same(gpuarray.pad(device, width, mode, **options), expected)


def test_coordinates(context):
    x, y = np.arange(3, dtype="float32"), np.arange(4)
    dx, dy = (gpuarray.asarray(v, context=context) for v in (x, y))
    for options in ({}, {"indexing": "ij"}, {"sparse": True}, {"copy": False}):
        got = gpuarray.meshgrid(dx, dy, **options)
        assert isinstance(got, tuple)
        for one, wanted in zip(got, np.meshgrid(x, y, **options), strict=True):
            assert_same(one, wanted, exact=True)
    assert gpuarray.meshgrid() == ()
    made = gpuarray.indices((2, 3), context=context)
    assert_same(made, np.indices((2, 3)), exact=True)
    with context.as_default():
        assert_same(gpuarray.mgrid[0:3, 1:2:5j], np.mgrid[0:3, 1:2:5j], exact=True)
        for got, wanted in zip(gpuarray.ogrid[0:3, :4], np.ogrid[0:3, :4], strict=True):
            assert_same(got, wanted, exact=True)
    picks = gpuarray.ix_(dy, [True, False, True])
    for got, wanted in zip(picks, np.ix_(y, [True, False, True]), strict=True):
        assert_same(got, wanted, exact=True)


def test_matrices_of_a_vector(context):
    host = values("float32", (4,))
    device = gpuarray.asarray(host, context=context)
    for k in (-2, 0, 1):
        assert_same(gpuarray.diag(device, k), np.diag(host, k), exact=True)
        wanted = np.diagflat(host.reshape(2, 2), k)
        assert_same(gpuarray.diagflat(device.reshape(2, 2), k), wanted, exact=True)
        tri = gpuarray.tri(3, 5, k, "int16", context=context)
        assert_same(tri, np.tri(3, 5, k, "int16"), exact=True)
        assert_same(gpuarray.eye(3, 4, k=k, context=context), np.eye(3, 4, k))
    for options in ({}, {"N": 2}, {"increasing": True}):
        assert_same(gpuarray.vander(device, **options), np.vander(host, **options))


def test_diagonals_are_views(context):
    host = np.zeros((3, 4), "float32")
    device = gpuarray.asarray(host, context=context)
    gpuarray.diagonal(device, 1)[...] = 5
    host[range(3), range(1, 4)] = 5
    assert_same(device, host, exact=True)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda a: gpuarray.concatenate([a, a[:, :1]], 0), ValueError),
        (lambda a: gpuarray.concatenate([]), ValueError),
        (lambda a: gpuarray.concatenate([a, a], 2), IndexError),
        (lambda a: gpuarray.concatenate([a, [1]]), ValueError),
        (lambda a: gpuarray.concatenate(5), TypeError),
        (lambda a: gpuarray.stack([a, a[0]]), ValueError),
        (lambda a: gpuarray.split(a, 2, 1), ValueError),
        (lambda a: gpuarray.split(a, 0), ValueError),
        (lambda a: gpuarray.squeeze(a, 0), ValueError),
        (lambda a: gpuarray.moveaxis(a, (0, 0), (0, 1)), ValueError),
        (lambda a: gpuarray.moveaxis(a, 0, 5), IndexError),
        (lambda a: gpuarray.expand_dims(a, (0, 0)), ValueError),
        (lambda a: gpuarray.broadcast_to(a, (3, 3)), ValueError),
        (lambda a: gpuarray.broadcast_shapes((2,), (3,)), ValueError),
        (lambda a: sliding_window_view(a, 4, 1), ValueError),
        (lambda a: sliding_window_view(a, 2), ValueError),
        (lambda a: sliding_window_view(a, (1, 1))[...].fill(0), ValueError),
        (lambda a: gpuarray.diagonal(a[0]), ValueError),
        (lambda a: gpuarray.diagonal(a, 0, 1, 1), ValueError),
        (lambda a: gpuarray.repeat(a, [1, 2, 3], axis=0), ValueError),
        (lambda a: gpuarray.repeat(a, -1), ValueError),
        (lambda a: gpuarray.repeat(a, 1.5), TypeError),
        (lambda a: gpuarray.insert(a, 9, 1, 0), IndexError),
        (lambda a: gpuarray.delete(a, 9, 0), IndexError),
        (lambda a: gpuarray.pad(a, -1), ValueError),
        (lambda a: gpuarray.pad(a, 1.5), TypeError),
        (lambda a: gpuarray.pad(a, 1, "no"), ValueError),
        (lambda a: gpuarray.pad(a, 1, "reflect", reflect_type="odd"), Exception),
        (lambda a: gpuarray.rot90(a, 1, (0, 0)), ValueError),
        (lambda a: a.T.reshape(6, copy=False), ValueError),
        (lambda a: a[0].mT, ValueError),
    ],
)
def test_what_does_not_fit(context, call, error):
    device = gpuarray.asarray(values("float32", (2, 3)), context=context)
    with pytest.raises(error) as caught:
        call(device)
    assert isinstance(caught.value, gpuarray.GpuArrayError)


# ---- places and functions of them ----


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
@pytest.mark.parametrize("arguments", [(3,), (3, 1), (4, -1, 2), (0,)])
def test_places_of_triangles(first_context, name, arguments):
    expected = getattr(np, name)(*arguments)
    got = getattr(gpuarray, name)(*arguments, context=first_context)
    for ours, theirs in zip(got, expected, strict=True):
        assert_same(ours, theirs)


def test_places_of_diagonals(first_context):
    got = gpuarray.diag_indices(3, 3, context=first_context)
    for ours, theirs in zip(got, np.diag_indices(3, 3), strict=True):
        assert_same(ours, theirs)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_fromfunction(first_context, dtype):
    def function(i, j, k=1):
        return i * 2 + j * k

    expected = np.fromfunction(function, (3, 4), dtype=dtype, k=3)
    options = {"dtype": dtype, "context": first_context, "k": 3}
    assert_same(gpuarray.fromfunction(function, (3, 4), **options), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "function",
    [
        lambda v: v.sum(),
        lambda v, k=1: v[::-1] * k,
        lambda v: v[:2, None] * v[None, :3],
    ],
)
def test_apply_along_axis(first_context, axis, function):
    host = np.arange(24.0).reshape(2, 4, 3)[:, :3]
    a = gpuarray.asarray(host, context=first_context)
    if function(host[0, 0]).ndim == 1:
        expected = np.apply_along_axis(function, axis, host, k=2)
        assert_same(gpuarray.apply_along_axis(function, axis, a, k=2), expected)
        return
    if function(host[0, 0]).ndim == 2 and axis == 0:
        return  # an axis of length 2 has no three elements
    expected = np.apply_along_axis(function, axis, host)
    assert_same(np.apply_along_axis(function, axis, a), expected)


def test_apply_over_axes(first_context):
    host = np.arange(24.0).reshape(2, 3, 4)
    a = gpuarray.asarray(host, context=first_context)
    for axes in ([0, 2], (1,), -1):
        expected = np.apply_over_axes(np.sum, host, axes)
        assert_same(gpuarray.apply_over_axes(gpuarray.sum, a, axes), expected)


def test_lengths_in_arrays_of_the_host():
    a = gpuarray.zeros((2, 3), context="null")
    for one in (np.array(6), np.array([6]), np.int16(6)):
        assert gpuarray.zeros(one, context="null").shape == (6,)
        assert a.reshape(one).shape == gpuarray.reshape(a, one).shape == (6,)
    assert a.reshape(np.array([3, -1])).shape == (3, 2)
    assert a.transpose(np.array([1, 0])).shape == (3, 2)
    a.shape = np.array([1, 6])
    assert a.shape == (1, 6)
    with pytest.raises(TypeError, match="not an integer or a sequence of integers"):
        gpuarray.zeros(np.array(6.0), context="null")


def test_shapes_whose_elements_nothing_counts_are_too_large(context):
    one = gpuarray.ones(1, "float32", context=context)
    long = gpuarray.broadcast_to(one, (2**33,))
    with pytest.raises(TooLarge, match="more than 9223372036854775807 bytes"):
        gpuarray.broadcast_to(one, (2**62,))
    with pytest.raises(TooLarge, match="broadcast_shapes: broadcast dimensions too"):
        gpuarray.meshgrid(long, long)
