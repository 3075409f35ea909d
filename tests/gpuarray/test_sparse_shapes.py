"""Places of extremes, other shapes and sampled products of sparse arrays."""

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from judge import assert_same
from sparse_arrays import FORMATS, host, hosts, on, same


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes_are_numpys(context, name):
    for a in hosts():
        dense, device = a.toarray(), on(context, a)
        if 0 in a.shape:
            with pytest.raises(gpuarray.BadValue, match=f"{name}: no elements"):
                getattr(device, name)()
            continue
        assert getattr(device, name)() == getattr(dense, name)()
        for axis in (0, 1, -1):
            expected = getattr(dense, name)(axis=axis)
            assert_same(getattr(device, name)(axis=axis), expected, exact=True)


def test_nan_and_stored_zeros_are_places_of_extremes(context):
    dense = np.array([[0, -1, 0], [-2, np.nan, 5], [-1, -1, -1]], "float32")
    listed = sp.csr_array(dense)
    stored = sp.csr_array((listed.data, listed.indices, listed.indptr), (3, 3))
    stored.data[0] = 0  # what was -1
    dense[0, 1] = 0
    device = on(context, stored)
    for axis in (None, 0, 1):
        assert_same(np.asarray(device.argmax(axis)), dense.argmax(axis), exact=True)
        assert_same(np.asarray(device.argmin(axis)), dense.argmin(axis), exact=True)
    assert device.argmax(1, explicit=True).tolist() == [1, 1, 0]
    nothing_below = on(context, sp.csr_array([[0, 3], [0, 0]]))
    assert nothing_below.argmax(1, explicit=True).tolist() == [1, 0]
    assert nothing_below.argmin(0, explicit=True).tolist() == [0, 0]
    vector = gpuarray.sparse.coo_array(gpuarray.asarray([0, 3, 0, 4], context=context))
    assert (vector.argmax(), vector.argmin()) == (3, 0)


@pytest.mark.parametrize("format", FORMATS)
def test_extremes_without_nan_are_scipys(context, format):
    dense = np.array(
        [[0, -1, np.nan], [-2, np.nan, 5], [-1, np.nan, -3], [np.nan] * 3, [0] * 3]
    ).astype("float32")
    for host_dense in (dense, dense[3:4], dense[:3, 1:2], np.nan_to_num(dense)):
        a = sp.coo_array(host_dense).asformat(format)
        device = on(context, a)
        for name in ("nanmax", "nanmin"):
            for explicit in (False, True):
                for axis in (0, 1):
                    expected = getattr(a, name)(axis, explicit=explicit).toarray()
                    made = getattr(device, name)(axis, explicit=explicit)
                    assert_same(made.toarray(), expected, exact=True)
                expected = getattr(a, name)(explicit=explicit)
                assert_same(getattr(device, name)(explicit=explicit), expected)
    whole = host((6, 8), 0.3, dtype="int32", format=format)
    same(on(context, whole).nanmin(0), whole.nanmin(0))


def test_axes_are_exchanged(context):
    a = host((6, 8), 0.3)
    device = on(context, a)
    same(gpuarray.sparse.permute_dims(device), sp.permute_dims(a))
    same(gpuarray.sparse.permute_dims(device, (0, -1)), a.tocoo())
    same(gpuarray.sparse.swapaxes(device, 1, 0), sp.swapaxes(a, 1, 0))
    line = sp.coo_array(a[1].toarray())
    for axis in (0, 1, -1):
        made = gpuarray.sparse.expand_dims(on(context, line), axis=axis)
        same(made, sp.expand_dims(line, axis=axis))
    with pytest.raises(gpuarray.BadValue, match=r"axes \(0, 0\) of an array of 2"):
        gpuarray.sparse.permute_dims(device, (0, 0))
    with pytest.raises(gpuarray.BadValue, match="expected one axis"):
        gpuarray.sparse.expand_dims(device)


@pytest.mark.parametrize("format", FORMATS)
def test_reshape_and_resize_are_scipys(context, format):
    a = host((6, 8), 0.3, format=format)
    device = on(context, a)
    for shape in ((4, 12), (48, 1), (-1, 16), (1, 48)):
        for order in ("C", "F"):
            made = device.reshape(shape, order=order)
            same(made, a.reshape(shape, order=order))
    flat = device.reshape(-1)
    assert (flat.format, flat.shape) == ("coo", (48,))
    assert_same(flat.toarray(), a.toarray().reshape(-1), exact=True)
    same(flat.reshape(8, 6), sp.coo_array(a.toarray().reshape(8, 6)))
    for shape in ((3, 5), (9, 2), (7, 11)):
        made, expected = device.copy(), a.copy()
        made.resize(shape)
        expected.resize(shape)
        same(made, expected)
    with pytest.raises(gpuarray.BadValue, match="has 48 elements, not"):
        device.reshape(5, 5)
    with pytest.raises(gpuarray.BadValue, match="resize: shape"):
        device.resize(5)


@pytest.mark.parametrize("format", FORMATS)
def test_sampled_products(context, format):
    a = host((6, 8), 0.3, format=format)
    rng = np.random.default_rng(2)
    x, y = rng.integers(-3, 4, (6, 5)), rng.integers(-3, 4, (5, 8))
    x, y = x.astype("float32"), y.astype("float32")
    device = on(context, a)
    expected = a.astype(bool).astype("float32").multiply(x @ y).asformat(format)
    given = [gpuarray.asarray(part, context=context) for part in (x, y)]
    same(gpuarray.sparse.sddmm(device, *given), expected)
    expected = (2 * expected + 3 * a).asformat(format)
    same(gpuarray.sparse.sddmm(device, *given, 2, 3), expected)
    assert_same(device.toarray(), a.toarray(), exact=True)
    with pytest.raises(gpuarray.BadValue, match=r"\(5, 8\) @ \(5, 8\) is no product"):
        gpuarray.sparse.sddmm(device, given[1], given[1])
    with pytest.raises(gpuarray.BadType, match="y is list, expected a dense matrix"):
        gpuarray.sparse.sddmm(device, given[0], [1])


def test_a_column_times_a_row_is_repeated(context):
    column, row = host((5, 1), 0.6), host((1, 7), 0.5, seed=1)
    for pair in ((column, row), (row, column)):
        first, second = (on(context, part) for part in pair)
        same(first * second, (column @ row).asformat("csr"))
    matrix = host((5, 7), 0.6)
    for line in (column, row):
        product = on(context, matrix) * on(context, line)
        same(product, (matrix * line).tocsr())
        assert product.nnz == (matrix * line).nnz


def test_names_of_scipy_say_what_to_use():
    for module, name, use in (
        (gpuarray.sparse, "csr_matrix", "use csr_array, whose [*] is elementwise"),
        (gpuarray.sparse, "eye", "use eye_array"),
        (gpuarray.sparse, "lil_array", "use coo_array"),
        (gpuarray.sparse, "csr_aray", "did you mean 'csr_array'"),
        (gpuarray.sparse.linalg, "spsolve", "use cg, gmres or bicgstab"),
    ):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; {use}"):
            getattr(module, name)
