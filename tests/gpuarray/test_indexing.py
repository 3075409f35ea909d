"""Indexing by arrays and masks, and the functions that pick; NumPy is the judge."""

import gpuarray
import numpy as np
import pytest
from gpuarray.dtypes import DTYPES
from judge import assert_same
from layouts import LAYOUTS, pair, values

HAVE_AXES = [name for name in LAYOUTS if name not in ("empty", "element")]


def on(context, host):
    return gpuarray.asarray(host, context=context)


def indices(rng, length, shape, dtype="int64"):
    """Indices into an axis, negative ones too where the dtype has them."""
    least = 0 if np.dtype(dtype).kind == "u" else -length
    return rng.integers(least, length, shape).astype(dtype)


def to_device(context, index):
    return tuple(on(context, e) if isinstance(e, np.ndarray) else e for e in index)


# Indices of an array of shape (7, 5, 6): arrays side by side, apart, with all else.
A = np.array([3, -1, 0, 3])
B = np.array([[1], [-2]])
C = np.array([0, 4, 2, -5], np.int8)
FANCY = [
    (A,),
    ([0, 2, 2],),
    (B,),
    (np.array([], np.int64),),
    (slice(None), C),
    (A, C),
    (B, C),
    (A, slice(1, 4), A),
    (slice(None), A, A),
    (slice(None), A, 2),
    (2, slice(None), A),
    (1, A),
    (A, None, C),
    (None, A),
    (Ellipsis, C),
    (slice(None), A, Ellipsis, C),
    (A, Ellipsis),
    (slice(None, None, -2), slice(1, None), A),
    (True, A),
    (slice(None), False),
    (A.astype(np.uint8) % 5, C, A),
    (np.array(2, np.uint16), slice(None), A),
]


@pytest.mark.parametrize("index", FANCY, ids=str)
def test_indexing_by_arrays_gets_and_sets(context, index):
    host = values("float32", (7, 5, 6))
    device = on(context, host)
    for given in (index, to_device(context, index)):
        assert_same(device[given], host[index], exact=True)
    for given in (index, to_device(context, index)):
        expected, target = host.copy(), device.copy()
        new = np.arange(host[index].size).reshape(host[index].shape)
        expected[index] = new
        target[given] = on(context, new)
        assert_same(target, expected, exact=True)
        expected[index], target[given] = -3, -3
        assert_same(target, expected, exact=True)


@pytest.mark.parametrize("layout", HAVE_AXES)
def test_every_layout_is_indexed_as_it_lies(context, layout):
    rng = np.random.default_rng(1)
    host, device = pair(layout, "int32", context)
    for axis in range(host.ndim):
        picks = indices(rng, host.shape[axis], (3, 2))
        index = (slice(None),) * axis + (picks,)
        assert_same(device[to_device(context, index)], host[index], exact=True)
    host, device = pair(layout, "int32", context)
    whole = device
    picks = indices(rng, host.shape[0], 5)
    new = values("int32", (5, *host.shape[1:]), seed=3)
    host[picks] = new
    whole[on(context, picks)] = on(context, new)
    assert_same(whole, host, exact=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_is_taken_and_put(context, dtype):
    host = values(dtype, (6, 7))
    device = on(context, host)
    picks = np.array([5, 0, -1, 5])
    assert_same(device[on(context, picks)], host[picks], exact=True)
    assert_same(device[:, on(context, picks)], host[:, picks], exact=True)
    new = values(dtype, (4, 7), seed=8)
    host[picks] = new
    device[on(context, picks)] = on(context, new)
    assert_same(device, host, exact=True)


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_indices_are_of_any_integer_type(context, dtype):
    rng = np.random.default_rng(2)
    host = values("float32", (50,))
    picks = indices(rng, 50, 300, dtype)
    assert_same(on(context, host)[on(context, picks)], host[picks], exact=True)


def test_index_arrays_have_any_layout(context):
    host, picks = values("int64", (9, 4)), indices(np.random.default_rng(3), 9, (6, 4))
    device, chosen = on(context, host), on(context, picks)
    for view in (lambda i: i.T, lambda i: i[::-2, 1:], lambda i: i[1]):
        assert_same(device[view(chosen)], host[view(picks)], exact=True)
    wide = np.broadcast_to(picks[:, :1], picks.shape)
    stretched = chosen[:, :1].broadcast_to(picks.shape)
    assert_same(device[stretched], host[wide], exact=True)


# Rows of lengths that are words of each size, below and above a block.
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("width", [1, 3, 8, 30, 257, 1500])
def test_rows_of_every_length_and_alignment(context, dtype, width):
    rng = np.random.default_rng(width)
    host = values(dtype, (40, width + 3))
    device, picks = on(context, host), indices(rng, 40, 70)
    for part in (slice(None, width), slice(3, None), slice(1, width)):
        assert_same(device[:, part][on(context, picks)], host[:, part][picks])


def test_the_last_of_repeated_indices_wins(context):
    rng = np.random.default_rng(4)
    for length, count in ((5, 4000), (300, 20), (20000, 100), (4000, 9000)):
        host, picks = np.zeros(length), indices(rng, length, count)
        new, device = rng.random(count), on(context, host)
        host[picks] = new
        device[on(context, picks)] = on(context, new)
        assert_same(device, host, exact=True)
    host, device = np.zeros((6, 7, 3)), gpuarray.zeros((6, 7, 3), context=context)
    i, k = indices(rng, 6, (40, 1)), indices(rng, 7, 30)
    new = rng.random((40, 30, 3))
    host[i, k] = new
    device[on(context, i), on(context, k)] = on(context, new)
    assert_same(device, host, exact=True)


def test_adding_to_an_indexed_part_counts_repeated_indices_once(context):
    host, device = np.zeros(4), gpuarray.zeros(4, context=context)
    picks = np.array([1, 1, 3])
    host[picks] += 2.5
    device[on(context, picks)] += 2.5
    assert_same(device, host, exact=True)


def test_values_and_indices_may_be_a_part_of_the_array(context):
    host = np.random.default_rng(5).permutation(20)
    device = on(context, host)
    expected = host.copy()
    expected[expected] = expected[::-1].copy()
    device[device] = device[::-1]
    assert_same(device, expected, exact=True)


def test_values_are_converted_as_numpy_does(context):
    host, device = np.zeros(5, "int16"), gpuarray.zeros(5, "int16", context)
    picks = np.array([4, 0, 2])
    for new in (np.array([1.9, -2.9, 3e4]), np.array([True, False, True])):
        host[picks] = new
        device[on(context, picks)] = on(context, new)
        assert_same(device, host, exact=True)


# ---- masks ----


@pytest.mark.parametrize(
    ("layout", "share"),
    [
        *((layout, 0.3) for layout in HAVE_AXES),
        *((layout, share) for layout in ("c_order", "permuted") for share in (0, 1)),
    ],
)
def test_masks_of_every_rank_get_and_set(context, layout, share):
    rng = np.random.default_rng(6)
    host, device = pair(layout, "float32", context)
    for rank in range(1, host.ndim + 1):
        mask = rng.random(host.shape[:rank]) < share
        for given in (on(context, mask), mask, on(context, mask.T.copy()).T):
            assert_same(device[given], host[mask], exact=True)
        new = values("float32", host[mask].shape, seed=rank)
        for value in (new, np.float32(7), new[:1]):
            if np.shape(value)[:1] == (0,) and mask.any():
                continue
            host[mask] = value
            device[on(context, mask)] = on(context, np.asarray(value))
            assert_same(device, host, exact=True)
        if rank < host.ndim:
            rest = values("int32", host.shape[rank:], seed=9)
            host[mask] = rest
            device[on(context, mask)] = on(context, rest)
            assert_same(device, host, exact=True)


def test_masks_beside_other_indices(context):
    host = values("float32", (7, 5, 6))
    device = on(context, host)
    rows, columns = np.arange(7) % 3 == 0, np.arange(6) > 2
    plane = host[..., 0] > 0
    for index in (
        (rows, 2),
        (rows, slice(None), columns),
        (slice(None), slice(1, 4), columns),
        (plane, slice(None, None, 2)),
        (Ellipsis, columns),
        (rows, None),
        (rows, [0, 1, 2]),
    ):
        assert_same(device[to_device(context, index)], host[index], exact=True)
        expected, target = host.copy(), device.copy()
        expected[index] = target[to_device(context, index)] = 5
        assert_same(target, expected, exact=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_is_not_zero_is_counted_and_listed(context, dtype):
    # Shapes and layouts are walked alike in every dtype: one of them has them all.
    shapes, views = [(70, 5, 9)], [lambda a: a.T[::-2]]
    if dtype == "f4":
        shapes = [(3000,), (1,), (0, 4), *shapes]
        views = [lambda a: a, lambda a: a.T, lambda a: a[::-2]]
    for shape in shapes:
        host = values(dtype, shape)
        host = np.where(values("float32", shape, seed=1) > 0, host, host * 0)
        host = host.astype(dtype)
        for view in views:
            device = view(on(context, host))
            expected = view(host)
            found = gpuarray.nonzero(device)
            for got, wanted in zip(found, expected.nonzero(), strict=True):
                assert_same(got, wanted.astype(np.int64), exact=True)
            assert gpuarray.count_nonzero(device) == np.count_nonzero(expected)
            assert_same(gpuarray.argwhere(device), np.argwhere(expected))
            assert_same(gpuarray.flatnonzero(device), np.flatnonzero(expected))
    assert_same(
        gpuarray.count_nonzero(on(context, host), axis=0),
        np.count_nonzero(host, axis=0),
    )


def test_a_large_mask(context):
    rng = np.random.default_rng(7)
    mask = rng.random(1_000_003) < 0.2
    host = np.arange(mask.size, dtype=np.int32)
    assert_same(on(context, host)[on(context, mask)], host[mask], exact=True)


# ---- functions ----


def test_take_by_every_axis_and_mode(context):
    rng = np.random.default_rng(8)
    host, device = pair("permuted", "float32", context)
    picks, wild = indices(rng, 5, (3, 2)), rng.integers(-30, 30, (3, 2))
    for axis in (None, 0, 1, -1):
        expected = np.take(host, picks, axis)
        assert_same(gpuarray.take(device, picks, axis), expected, exact=True)
        assert_same(device.take(on(context, picks), axis), expected, exact=True)
        for mode in ("wrap", "clip"):
            expected = np.take(host, wild, axis, mode=mode)
            for given in (wild, on(context, wild)):
                got = gpuarray.take(device, given, axis, mode=mode)
                assert_same(got, expected, exact=True)
    out = gpuarray.zeros((3, 2), "float64", context)
    assert gpuarray.take(device, picks, out=out) is out
    assert_same(out, np.take(host, picks).astype("float64"))


def test_put_repeats_its_values(context):
    for layout in ("c_order", "fortran_order", "step"):
        host, device = pair(layout, "float32", context)
        expected = host.copy()
        for picks, new in (([0, -3, 17], [1, 2]), ([2], 5), ([1, 9], [4, 5, 6])):
            np.put(expected, picks, new)
            gpuarray.put(device, picks, new)
        np.put(expected, [100, -100], [7, 8], mode="wrap")
        gpuarray.put(device, on(context, np.array([100, -100])), [7, 8], mode="wrap")
        assert_same(device, expected, exact=True)


def test_along_an_axis(context):
    rng = np.random.default_rng(9)
    host, device = pair("permuted", "float32", context)
    for axis in (0, 1, -1):
        shape = list(host.shape)
        shape[axis] = 3
        picks = indices(rng, host.shape[axis], shape)
        expected = np.take_along_axis(host, picks, axis)
        got = gpuarray.take_along_axis(device, on(context, picks), axis)
        assert_same(got, expected, exact=True)
        order = np.argsort(rng.random(host.shape), axis)
        order = order.take([0, 1], axis)
        written, target = host.copy(), device.copy()
        np.put_along_axis(written, order, 9, axis)
        gpuarray.put_along_axis(target, on(context, order), 9, axis)
        assert_same(target, written, exact=True)


def test_compress_and_extract(context):
    host, device = pair("c_order", "float32", context)
    condition = [True, False, True, True]
    for axis in (None, 0, 1, 2):
        expected = np.compress(condition, host, axis)
        got = gpuarray.compress(condition, device, axis)
        assert_same(got, expected, exact=True)
        assert_same(device.compress(condition, axis), expected, exact=True)
    assert_same(gpuarray.extract(device > 0, device), np.extract(host > 0, host))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_adding_sums_what_belongs_to_one_place(context, dtype):
    def eighths(x):  # sums of these are exact in any order
        return (np.round(x * 8) / 8).astype(dtype) if x.dtype.kind in "fVc" else x

    rng = np.random.default_rng(10)
    cases = [
        ((10,), (rng.integers(-10, 10, 200),)),
        ((10, 7), (rng.integers(0, 10, (6, 5)),)),
        ((5, 6, 3), (rng.integers(0, 5, (40, 1)), rng.integers(0, 6, 2))),
    ]
    for shape, index in cases:
        host = eighths(values(dtype, shape))
        new = eighths(values(dtype, np.zeros(shape)[index].shape, 1))
        device, again = on(context, host), on(context, host)
        gpuarray.add_at(device, to_device(context, index), on(context, new))
        gpuarray.add_at(again, to_device(context, index), on(context, new))
        assert np.asarray(device).tobytes() == np.asarray(again).tobytes()
        if host.dtype.itemsize == 2 and host.dtype.kind not in "iu":
            wide = host.astype("float32")  # rounded once, in the end
            np.add.at(wide, index, new.astype("float32"))
            host = wide.astype(dtype)
        else:
            np.add.at(host, index, new)
        assert_same(device, host, exact=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_adding_far_more_often_than_there_are_places(context, dtype):
    rng = np.random.default_rng(11)
    for length, count in ((1, 33), (2, 5000), (300, 5000), (20000, 3000)):
        index, new = rng.integers(0, length, count), rng.random(count).astype(dtype)
        wanted = np.zeros(length, new.dtype if new.dtype.kind == "c" else float)
        np.add.at(wanted, index, new)
        made = []
        for any_order in (False, False, True):
            device = gpuarray.zeros(length, dtype, context)
            there = on(context, index), on(context, new)
            gpuarray.add_at(device, *there, any_order=any_order)
            assert_same(device, wanted.astype(dtype), rtol=1e-4)
            made.append(np.asarray(device).tobytes())
        assert made[0] == made[1]
    rows = rng.random((90, 3)).astype(dtype)
    device = gpuarray.zeros((3, 4), dtype, context)[:, 1:]
    gpuarray.add_at(device, on(context, np.full(90, -1)), on(context, rows))
    assert_same(device, np.stack([0 * rows[0], 0 * rows[0], rows.sum(0)]), rtol=1e-4)


def test_the_last_value_wins_where_one_index_stands_for_all(context):
    """A broadcast index array leads every value to one place."""
    n = 400_000
    value = (np.arange(n) % 97).astype("float32")
    row = gpuarray.asarray(value, context=context)
    place = gpuarray.broadcast_to(gpuarray.asarray([1], context=context), (n,))
    for _ in range(5):
        a = gpuarray.zeros((3,), "float32", context=context)
        a[place] = row
        b = gpuarray.zeros((3, 3), "float32", context=context)
        b[place, place] = row
        assert a[1] == value[-1]
        assert b[1, 1] == value[-1]


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_the_last_of_many_values_for_a_place_wins(context, dtype):
    rng = np.random.default_rng(12)
    for length, count in ((3, 700), (900, 700), (9000, 700), (900, 3)):
        index, new = rng.integers(-length, length, count), values(dtype, (count, 2))
        host = np.zeros((length, 5), dtype)
        device = on(context, host)
        host[index, 1::2] = new
        device[:, 1::2][on(context, index)] = on(context, new)
        assert_same(device, host, exact=True)
    wrong, device = np.array([1, 7, 1, 2, 0, -1]), gpuarray.zeros(5, context=context)
    device[on(context, wrong)] = on(context, np.arange(1.0, 7))
    with pytest.raises(IndexError, match=r"put.*7 is out of bounds.*length 5"):
        context.sync()
    assert_same(device, np.array([5.0, 3, 4, 0, 6]))


@pytest.mark.parametrize("count", [1, 15, 16, 4096, 4097, 70_001])
def test_masks_of_any_length_and_layout(context, count):
    rng = np.random.default_rng(count)
    mask, host = rng.random(2 * count) < 0.4, rng.integers(0, 3, 2 * count)
    there, device = on(context, mask), on(context, host)
    for part in (np.s_[:count], np.s_[::2], np.s_[::-1], np.s_[1:]):
        assert gpuarray.count_nonzero(there[part]) == np.count_nonzero(mask[part])
        assert gpuarray.count_nonzero(device[part]) == np.count_nonzero(host[part])
        assert_same(device[part][there[part]], host[part][mask[part]], exact=True)
        assert_same(gpuarray.where(device[part])[0], np.where(host[part])[0])
        assert_same(gpuarray.where(there[part])[0], np.where(mask[part])[0])


def test_picking_by_masks_that_lie_otherwise(context):
    for dtype in ("bool", "float16", "complex128"):
        host = values(dtype, (6, 5, 8))
        mask = host.real > host.real.mean() if dtype != "bool" else host
        device, there = on(context, host), on(context, mask)
        for part in (np.s_[:], np.s_[::-2, 1:], np.s_[..., ::3]):
            assert_same(device[part].T[there[part].T], host[part].T[mask[part].T])
            packed = np.ascontiguousarray(mask[part])
            assert_same(device[part][on(context, packed)], host[part][packed])
        for got, wanted in zip(gpuarray.where(there), np.where(mask), strict=True):
            assert_same(got, wanted, exact=True)
