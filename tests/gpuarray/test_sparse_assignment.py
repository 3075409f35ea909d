"""Parts of sparse arrays that are set; NumPy's dense arrays are the judge."""

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from judge import assert_same
from sparse_arrays import FORMATS, host, messy, on

ROW = np.array([5, 0, 6, 0, 7, 0, 8, 9, 0], "float32")
COLUMN = np.array([1, 0, 2, 3, 0, 4], "float32")
MASK = np.array([True, False, True, True, False, False])

DENSE = [  # an index of a 6 x 9 matrix, and what is assigned
    ((2, 3), 5),
    ((-1, -1), 0),
    (2, 1.5),
    (2, ROW),
    (-2, ROW.tolist()),
    ((slice(None), 1), COLUMN),
    (slice(1, 5, 2), 0),
    (slice(1, 5, 2), ROW),
    ((slice(None, None, -2), slice(2, 7)), 3),
    ((slice(0, 2), slice(7, None)), [[1, 2], [3, 4]]),
    ((slice(0, 2), slice(7, None)), [[1], [2]]),
    (([3, 0, 3], [1, 4, 1]), [1, 2, 3]),
    (([3, 0, 3], [1, 4, 1]), 0),
    ((1, [0, 2, 0]), [1, 2, 3]),
    ([4, 4, 0], np.arange(27, dtype="float32").reshape(3, 9)),
    (np.ix_([3, 0], [1, 4, 0]), 4),
    (MASK, 1),
    ((MASK, 2), [7, 8, 9]),
    (..., 2),
    (slice(5, 2), 9),
    ([], 3),
]


@pytest.mark.parametrize("format", FORMATS)
def test_parts_are_set(context, format):
    for a in (host((6, 9), 0.4, format=format), messy((6, 9), format)):
        for index, value in DENSE:
            device, dense = on(context, a), a.toarray()
            device[index] = value
            dense[index] = value
            assert device.format == format
            assert_same(device.toarray(), dense, exact=True)
        device[1:5:2, 3] = [[7], [8]]  # a part as a matrix
        dense[1:5:2, 3] = [7, 8]
        assert_same(device.toarray(), dense, exact=True)


def test_parts_are_set_to_sparse_ones(context):
    a, b = host((6, 9), 0.4), host((6, 9), 0.4, seed=5)
    row, column = sp.csr_array(ROW[None]), sp.csc_array(COLUMN[:, None])
    line = sp.coo_array(ROW)
    for index, value in (
        (1, row),
        (1, line),
        ([1, 1, 3], row),
        (slice(1, 3), line),
        ((slice(None), 2), sp.coo_array(COLUMN)),
        ((slice(None), [2, 5]), column),
        (slice(None), b),
        ((slice(2, 4), slice(1, 4)), b[:2, :3]),
        (([0, 0], slice(None)), b[:2]),
    ):
        device, dense = on(context, a), a.toarray()
        device[index] = on(context, value)
        dense[index] = value.toarray()
        assert_same(device.toarray(), dense, exact=True)


def test_elements_are_set_by_masks(context):
    a = host((6, 9), 0.4)
    for mask in (a > 0, a.toarray() > 0, a != 0):
        device, dense = on(context, a), a.toarray()
        is_sparse = sp.issparse(mask)
        if not is_sparse:
            assert_same(device[mask, ...], dense[mask], exact=True)
            assert_same(device[mask.tolist()], dense[mask], exact=True)
        device[on(context, mask) if is_sparse else mask] = 7
        dense[mask.toarray() if is_sparse else mask] = 7
        assert_same(device.toarray(), dense, exact=True)
        assert device.nnz == a.nnz
    device = on(context, a)
    turned = device.T  # shares the values, as scipy's does
    device[device > 0] = 1
    assert_same(turned.toarray(), device.toarray().get().T, exact=True)


def test_vectors_and_empty_arrays_are_set(context):
    device = gpuarray.sparse.coo_array(gpuarray.asarray(ROW, context=context))
    device[3] = 4
    device[-2:] = [0, 1]
    expected = ROW.copy()
    expected[3], expected[-2:] = 4, [0, 1]
    assert_same(device.toarray(), expected, exact=True)
    nothing = gpuarray.sparse.csr_array((3, 4), dtype="float32", context=context)
    nothing[1, [0, 3]] = [5, 6]
    assert nothing.toarray().tolist() == [[0] * 4, [5, 0, 0, 6], [0] * 4]
    flags = on(context, host((6, 9), 0.4).astype(bool))
    flags[0] = True
    assert int(flags[0].sum()) == 9


def test_what_cannot_be_set_is_named(context):
    device = on(context, host((6, 9), 0.4))
    for index, value, text in (
        (slice(1, 3), COLUMN, r"of shape \(6,\) for a part of shape \(2, 9\)"),
        (1, on(context, host((2, 9))), r"of shape \(2, 9\) for a part of shape"),
        ((1, 2), [1, 2], r"of shape \(2,\) for a part of shape \(\)"),
    ):
        with pytest.raises(gpuarray.BadValue, match=text):
            device[index] = value
    with pytest.raises(gpuarray.BadIndex, match="out of bounds"):
        device[6, 0] = 1
    with pytest.raises(gpuarray.BadType, match="scipy's csr_array; put it on the dev"):
        device[1] = host((1, 9))
    with pytest.raises(gpuarray.BadIndex, match=r"shapes \(3,\) and \(2,\)"):
        device[[0, 1, 2], [0, 1]] = 1
    with pytest.raises(gpuarray.BadIndex, match="None makes a new axis"):
        device[None, 1] = 1
