"""The layouts over which operations are tested, on host and device."""

import numpy as np

# Name -> a function of a host and of a device array of shape (7, 5, 6) alike. Its axes
# are longer than what most layouts keep, so that offsets and gaps come out.
BASE = (7, 5, 6)
LAYOUTS = {
    "c_order": lambda a: a,
    "fortran_order": lambda a: a.transpose(),
    "permuted": lambda a: a.transpose(1, 0, 2),
    "step": lambda a: a[::2, :, ::3],
    "negative_step": lambda a: a[::-1, :, ::-2],
    "offset": lambda a: a[2:, 1:4, 3:],
    "row": lambda a: a[3],
    "column": lambda a: a[:, 2, 3],
    "element": lambda a: a[3, 2, 1, ...],
    "one_element": lambda a: a[1:2, 2:3, 3:4],
    "length_1_axes": lambda a: a[:, 1:2, :],
    "new_axis": lambda a: a[2, :, None, :],
    "empty": lambda a: a[:, 2:2, :],
    "flat": lambda a: a.reshape(-1),
}
EMPTY = ("empty",)


def values(dtype, shape=BASE, seed=0):
    """Host values of a dtype: both signs, zeros and fractions where it has them."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "u":
        return random.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "i":
        return random.integers(-50, 50, shape).astype(dtype)
    real = np.round(random.normal(0, 3, shape), 2)
    if dtype.kind == "c":
        return (real + 1j * np.round(random.normal(0, 3, shape), 2)).astype(dtype)
    return real.astype(dtype)


def pair(name, dtype, context, seed=0):
    """The same layout of the same values, in NumPy and on a context."""
    import gpuarray

    host = values(dtype, seed=seed)
    device = gpuarray.asarray(host, context=context)
    return LAYOUTS[name](host), LAYOUTS[name](device)


def broadcast_pair(dtype, context, shape=(4, 3, 5)):
    """A stride-0 view of one row, in NumPy and on a context."""
    import gpuarray

    host = values(dtype, shape[-1:])
    device = gpuarray.asarray(host, context=context)
    return np.broadcast_to(host, shape), device.broadcast_to(shape)
