"""How far results of sums may be from NumPy's: by the dtype and the number of terms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gpuarray.dtypes import as_dtype, work_dtype

TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 0}
"""What a device may take for zero."""


class Right(NamedTuple):
    """What a result should be: values that are exact, or off by ``error`` at most.

    A result in a dtype may be what any number so near rounds to.
    """

    value: Any
    error: Any = 0.0


def unit(dtype):
    """The largest relative error of an operation in the type that sums are in."""
    return float(np.finfo(work_dtype(dtype)).eps) / 2


def sum_of(value, size, terms, dtype):
    """A sum of so many products, whose magnitudes have the sum ``size``.

    Any order of n roundings is off by n u / (1 - n u) of that (Higham, chapter 3), and
    NumPy rounds as float64. Whole numbers are exact while the type holds their sums;
    then ``size`` is None.
    """
    if size is None:
        return Right(value)
    u = unit(dtype) + unit("float64")
    return Right(value, terms * u / (1 - terms * u) * size)


def is_exact(size, dtype):
    """Whether sums of whole numbers whose magnitudes have this sum are exact."""
    return np.max(size, initial=0) * unit(dtype) <= 1


def difference(got, right, dtype):
    """How a result differs from what is right; empty if it does not."""
    dtype, value = as_dtype(dtype), np.asarray(right.value)
    if got.dtype != dtype:
        return f"dtype {got.dtype}, expected {dtype}"
    if got.shape != value.shape:
        return f"shape {got.shape}, expected {value.shape}"
    if dtype.kind in "iuc":
        alike = got == value.astype(dtype)
    else:
        with np.errstate(all="ignore"):
            error = np.where(np.isfinite(value), right.error, 0)
            error = error + np.where(error > 0, TINY[dtype.name], 0)
            ends = [(value + off).astype(dtype) for off in (-error, error)]
        low, wide, high = (a.astype("float64") for a in (ends[0], got, ends[1]))
        alike = (low <= wide) & (wide <= high) | np.isnan(wide) & np.isnan(value)
    if alike.all():
        return ""
    place = tuple(int(n) for n in np.argwhere(~alike)[0])
    error = np.broadcast_to(right.error, value.shape)[place]
    return (
        f"{got[place]!s}, expected {value[place]!s} to {error:.2g}, at {place} of "
        f"{got.shape}, and {(~alike).sum() - 1} more"
    )
