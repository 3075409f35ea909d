"""NumPy as the judge: one comparison of value, dtype and shape."""

from functools import cache

import numpy as np
from gpuarray._nn.vendor import dnn_version

# Relative tolerances of results that a device may compute with other rounding than
# NumPy.
RTOL = {
    "float16": 2e-3,
    "bfloat16": 1e-2,
    "float32": 2e-5,
    "float64": 1e-12,
    "complex64": 2e-5,
    "complex128": 1e-12,
}


def assert_same(device, host, rtol=None, exact=False):
    """``device`` has the dtype, the shape and the elements of ``host``."""
    host = np.asarray(host)
    got = np.asarray(device)
    assert got.dtype == host.dtype
    assert device.shape == host.shape == got.shape
    if exact or host.dtype.name not in RTOL:
        np.testing.assert_array_equal(got, host)
        return
    tolerance = RTOL[host.dtype.name] if rtol is None else rtol
    if host.dtype.name == "bfloat16":
        got, host = got.astype("float32"), host.astype("float32")
    scale = np.abs(host[np.isfinite(host)]).max(initial=0) if host.size else 0
    np.testing.assert_allclose(got, host, rtol=tolerance, atol=tolerance * 1e-2 * scale)


@cache
def _transforms_tiles(context):
    return bool(dnn_version(context)[0])


def assert_convolved(device, host):
    """As `assert_same`, of sums of whole numbers: exact, but for tiles by Winograd.

    cuDNN may transform float32 so; the error is some roundings of the tile's numbers.
    """
    if device.dtype != "float32" or not _transforms_tiles(device.context):
        assert_same(device, host, exact=True)
        return
    scale = np.abs(host).max(initial=0)
    assert device.shape == host.shape
    np.testing.assert_allclose(np.asarray(device), host, rtol=0, atol=1e-5 * scale)


def in_order(host, axis=-1):
    """``host`` in NumPy's stable order.

    NumPy 2.4's default sort puts a few of many float16 in wrong places on processors
    with AVX-512.
    """
    return np.sort(host, axis, kind="stable")


def quietly(function, *operands):
    """NumPy's result without its warnings of overflow and the like."""
    with np.errstate(all="ignore"):
        return function(*operands)
