"""Sparse arrays of scipy and of the device, side by side."""

import gpuarray
import numpy as np
import scipy.sparse as sp
from judge import assert_same

MADE = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}
SHAPES = [(5, 7, 0.4), (40, 30, 0.1), (1, 60, 0.5), (60, 1, 0.5), (3, 3, 0), (0, 4, 0)]
FORMATS = "csr", "csc", "coo"


def host(shape, density=0.3, dtype="float32", format="csr", seed=0):
    """A canonical array of small integers, some of them negative."""
    rng = np.random.default_rng(seed)
    listed = sp.random_array(shape, density=density, format="coo", rng=rng)
    values = rng.integers(1, 5, listed.nnz) * rng.choice([-1, 1], listed.nnz)
    places = listed.row, listed.col
    return sp.coo_array((values.astype(dtype), places), shape).asformat(format)


def messy(shape, format="coo", dtype="float32", seed=0):
    """An array with duplicates, in no order."""
    rng = np.random.default_rng(seed)
    count = 3 * max(shape)
    places = rng.integers(0, shape[0], count), rng.integers(0, shape[1], count)
    values = rng.integers(-4, 5, count).astype(dtype)
    if format == "coo":
        return sp.coo_array((values, places), shape)
    major = places[0] if format == "csr" else places[1]
    minor = places[1] if format == "csr" else places[0]
    order = np.argsort(major, kind="stable")
    lines = shape[0] if format == "csr" else shape[1]
    indptr = np.searchsorted(major[order], np.arange(lines + 1))
    return MADE[format]((values[order], minor[order], indptr), shape)


def hosts(dtype="float32"):
    """Arrays of every shape and format, and some that are not canonical."""
    for rows, columns, density in SHAPES:
        for format in FORMATS:
            yield host((rows, columns), density, dtype, format)
    for format in FORMATS:
        yield messy((6, 9), format, dtype)


def on(context, array):
    """The array on a device, in its format."""
    made = getattr(gpuarray.sparse, f"{array.format}_array")
    return made(array, context=context)


def same(device, expected, exact=True, format=True):
    """A sparse array has the format, dtype, shape and elements of scipy's."""
    assert gpuarray.sparse.issparse(device), type(device)
    if format:
        assert device.format == expected.format
    assert device.shape == expected.shape
    device.check_format()
    assert_same(device.toarray(), expected.toarray(), exact=exact)
