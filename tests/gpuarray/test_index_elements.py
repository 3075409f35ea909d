"""Elements of arrays are values and rows are views, as in NumPy; wrong indices."""

import itertools
import random

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import values
from test_indexing import on

# ---- failures ----


def test_a_wrong_index_on_the_device_is_told_at_the_next_wait(context):
    device = on(context, np.arange(5.0))
    wrong = on(context, np.array([1, 7]))
    device[wrong]
    with pytest.raises(IndexError, match=r"take.*7 is out of bounds.*length 5"):
        context.sync()
    device[wrong] = on(context, np.array([10.0, 20.0]))
    with pytest.raises(IndexError, match=r"put.*7 is out of bounds.*length 5"):
        np.asarray(device)
    assert_same(device, np.array([0.0, 10, 2, 3, 4]))
    gpuarray.add_at(device, wrong, on(context, np.array([0.5, 0.5])))
    with pytest.raises(IndexError, match=r"add_at.*7"):
        device.sync()
    assert_same(device, np.array([0.0, 10.5, 2, 3, 4]))
    big = on(context, np.array([2**63 + 1], np.uint64))
    device[big]
    with pytest.raises(IndexError):
        context.sync()


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ([9], "9 is out of bounds for axis 0 of length 7"),
        (([0], [-6]), "-6 is out of bounds for axis 1 of length 5"),
        ([0.5], "float64"),
        ("ab", "integers"),
        (np.ones(4, bool), "shape .4,. does not fit axis 0 of length 7"),
        (([0], [0], [0], [0]), "4 indices for an array of 3 axes"),
        ((Ellipsis, [0], Ellipsis), "one Ellipsis"),
        ([[0, 1], [0]], "inhomogeneous"),
    ],
    ids=str,
)
def test_wrong_indices_of_the_host_are_told_at_once(null, index, text):
    device = gpuarray.zeros((7, 5, 6), context=null)
    with pytest.raises(IndexError, match=text):
        device[index]
    with pytest.raises(IndexError, match=text):
        device[index] = 1


def test_other_failures_name_what_was_given(context, null):
    device = gpuarray.zeros((3, 4), context=context)
    with pytest.raises(ValueError, match="do not broadcast"):
        device[[0, 1], [0, 1, 2]]
    with pytest.raises(ValueError, match="do not broadcast"):
        device[[0, 1]] = np.zeros(3)
    with pytest.raises(ValueError, match="do not broadcast"):
        device[device == 0] = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        gpuarray.zeros(4, context=context).broadcast_to((3, 4))[[0]] = 1
    with pytest.raises(ValueError, match="mode 'about'"):
        gpuarray.take(device, [0], mode="about")
    with pytest.raises(TypeError, match="float64"):
        gpuarray.take(device, [0.5])
    with pytest.raises(TypeError, match="asarray"):
        gpuarray.take(np.zeros(3), [0])
    with pytest.raises(ValueError, match="null"):
        device[gpuarray.zeros(2, "int64", null)]
    with pytest.raises(IndexError, match="no elements"):
        gpuarray.zeros((0, 3), context=context)[on(context, np.array([0]))]
    with pytest.raises(ValueError, match="0-d"):
        gpuarray.nonzero(device[0, 0, ...])


@pytest.mark.oclgrind
def test_what_the_kernels_do_stays_in_bounds(context):
    host = values("float32", (6, 7))
    device = on(context, host)
    picks = np.array([5, 0, -1])
    assert_same(device[on(context, picks)], host[picks])
    device[on(context, picks)] = on(context, host[:3])
    mask = host > 0
    assert_same(on(context, host)[on(context, mask)], host[mask])
    gpuarray.add_at(device, on(context, picks), 1.0)
    assert_same(
        on(context, host)[:, ::2][on(context, mask)[:, ::2]], host[:, ::2][mask[:, ::2]]
    )
    many = np.arange(70) % 4
    gpuarray.add_at(device, on(context, many), 1.0)
    device[on(context, many)] = on(context, values("float32", (70, 7)))
    context.sync()


def test_a_slice_is_bounded_as_python_bounds_it(context):
    ends = [None, -(10**30), -9, -4, -1, 0, 1, 3, 4, 9, 10**30, np.int8(2)]
    host = np.arange(8.0, dtype="float32").reshape(4, 2)
    device = on(context, host)
    for start, stop in itertools.product(ends, ends):
        for step in (None, 1, 2, 10**30, -1, -3, -(10**30)):
            where = slice(start, stop, step)
            view, expected = device[where], host[where]
            assert view.shape == expected.shape
            if expected.size:
                assert view.offset == expected.ctypes.data - host.ctypes.data
            if len(expected) > 1:
                assert view.strides == expected.strides
    for bad in (4, -5, 10**30, slice(0, 1, 0), slice("a"), slice(1.5, None)):
        with pytest.raises(IndexError):
            device[bad]


# ---- elements are values, rows are views ----


def test_an_element_is_a_value_as_in_numpy(context):
    host = np.arange(6)
    device = gpuarray.asarray(host, context=context)
    kept = [device[2], device[np.int64(2)], device.reshape(2, 3)[0, 2], list(device)[2]]
    kept.append(gpuarray.asarray(2, context=context)[()])
    view, whole = device[2, ...], gpuarray.asarray(2, context=context)[...]
    device += 10
    assert [int(one) for one in kept] == [2] * 5
    assert int(view) == 12
    whole += 1
    assert int(whole) == 3
    for store in (lambda: kept[0].fill(1), lambda: gpuarray.sum(device, out=kept[0])):
        with pytest.raises(gpuarray.errors.ReadOnly, match="elements"):
            store()
    view[...] = 7
    assert device[2].item() == 7


def test_elements_are_changed_in_place_as_in_numpy(context):
    host = np.arange(4.0)
    device = gpuarray.asarray(host, context=context)
    for array in (host, device):
        array[1] += 2
        array[2] -= array[1]
        array[3] *= 3.0
        array[0], array[1] = array[1], array[0]
        kept = array[0]
        kept += 1
    assert_same(device, host)


SHUFFLES = {
    "numpy.random": lambda a: np.random.RandomState(0).shuffle(a),
    "Generator": lambda a: np.random.default_rng(0).shuffle(a),
    "random": lambda a: random.Random(0).shuffle(a),
}


@pytest.mark.filterwarnings("ignore:you are shuffling a:UserWarning")
@pytest.mark.parametrize("name", SHUFFLES)
def test_a_shuffle_of_elements_loses_none(context, name):
    device = gpuarray.arange(20, context=context)
    SHUFFLES[name](device)
    assert sorted(device.tolist()) == list(range(20)) != device.tolist()
    host = list(range(20))
    SHUFFLES[name](host)
    assert device.tolist() == host


@pytest.mark.filterwarnings("ignore:you are shuffling a:UserWarning")
@pytest.mark.parametrize("name", SHUFFLES)
def test_a_shuffle_of_rows_says_that_it_cannot(context, name):
    """Rows are views, of which the first store overwrites one."""
    device = gpuarray.arange(60, context=context).reshape(20, 3)
    with pytest.raises(ValueError, match=r"Write a\[\[i, j\]\] = a\[\[j, i\]\]"):
        SHUFFLES[name](device)


def test_rows_may_be_exchanged_by_a_list_and_stored_one_after_another(context):
    host = np.arange(12).reshape(4, 3)
    device = gpuarray.asarray(host, context=context)
    for array in (host, device):
        array[[0, 2]] = array[[2, 0]]
        array[1] = array[0]
        array[0, ...].fill(50)
        array[0] = array[1]  # what was looked up after the store is as it is
        row = array[3]
        array[3] = 8
        array[2] = row
        array[2] = array[2]
    assert_same(device, host)
    with pytest.raises(ValueError, match="exchanged"):
        device[0], device[1] = device[1], device[0]


def test_other_functions_of_random_numbers_take_an_array(context):
    device = gpuarray.arange(10, context=context)
    rng = np.random.default_rng(0)
    drawn = rng.permutation(device), rng.choice(device, 10, replace=False)
    assert all(sorted(one.tolist()) == list(range(10)) for one in drawn)
    assert int(random.Random(0).choice(device)) in range(10)
    assert sorted(map(int, random.Random(0).sample(list(device), 10))) == list(
        range(10)
    )
    assert [int(one) for one in sorted(-device)] == list(range(-9, 1))


class Foreign:
    """An array of another library on the host, as a tensor of PyTorch is."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.ndim = self.values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.values.dtype)

    def __index__(self):
        return self.values.__index__() if self.ndim == 0 else int(self.values.item())


@pytest.mark.parametrize(
    "values", [[0], [2, 0], [[1], [0]], [True, False, True], 1, True]
)
def test_arrays_of_other_libraries_are_index_arrays(context, values):
    """Also one of a single element, which Python could take for an integer."""
    host = np.arange(12).reshape(3, 4)
    a = gpuarray.asarray(host, context=context)
    index = Foreign(values)
    assert_same(a[index], host[index.values])
    assert_same(a[index, ...], host[index.values, ...])
    host = host.copy()
    a[index] = -1
    host[index.values] = -1
    assert_same(a, host)


@pytest.mark.parametrize("value", [300, -1, [1, 2, 300], 2**70, float("nan")])
def test_numbers_that_no_element_holds_are_refused_as_in_numpy(context, value):
    host, device = np.zeros(3, "uint8"), gpuarray.zeros(3, "uint8", context)
    with pytest.raises((OverflowError, ValueError)) as told:
        host[:] = value
    with pytest.raises(told.type):
        device[:] = value
    if not isinstance(value, list):
        with pytest.raises(told.type):
            device.fill(value)
        with pytest.raises(told.type):
            gpuarray.full(3, value, "uint8", context)
    assert not device.any()


@pytest.mark.parametrize("value", [255, 0, True, 3.7, [1.5, 2, True], np.int64(300)])
def test_other_numbers_are_stored_as_numpy_stores_them(context, value):
    host, device = np.zeros(3, "uint8"), gpuarray.zeros(3, "uint8", context)
    host[:] = value
    device[:] = value
    assert_same(device, host)


def test_an_array_without_axes_is_an_index_that_copies(context):
    host = np.arange(6.0, dtype="float32").reshape(2, 3)
    device = gpuarray.asarray(host, context=context)
    for index in (np.array(1), (np.array(1), slice(None)), (..., np.array(2))):
        got, expected = device[index], host[index]
        assert_same(got, expected)
        got[...] = 7
        assert_same(device, host)
    device[np.array(1)] = 5
    assert device.tolist() == [[0, 1, 2], [5, 5, 5]]
