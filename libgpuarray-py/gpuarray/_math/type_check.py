"""Which elements of an array are real, and complex arrays as real ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.base import require
from gpuarray._sorting.sorting import sort
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import all as all_of
from gpuarray.dtypes import kind_of, parts_dtype


def iscomplex(x: Any) -> Any:
    """Return True for the elements whose imaginary part is not 0.

    >>> print(gpuarray.iscomplex(gpuarray.asarray([1 + 1j, 2])))
    [ True False]
    """
    source = require(x, "iscomplex")
    if source.dtype.kind == "c":
        return FUNCTIONS["not_equal"](source.imag, 0)
    return source.allocate(
        source.shape, np.dtype(np.bool_), source.context, zeroed=True
    )


def isreal(x: Any) -> Any:
    """Return True for the elements whose imaginary part is 0.

    >>> print(gpuarray.isreal(gpuarray.asarray([1 + 1j, 2])))
    [False  True]
    """
    return FUNCTIONS["logical_not"](iscomplex(require(x, "isreal")))


def real_if_close(a: Any, tol: float = 100) -> Any:
    """Return the real parts if all imaginary ones are near 0, else the array itself.

    Near is less than ``tol``, if that is above 1 times the dtype's ``eps``. Waits for
    the elements of a complex array.

    >>> print(gpuarray.real_if_close(gpuarray.asarray([1 + 1e-15j])))
    [1.]
    """
    source = require(a, "real_if_close")
    if source.dtype.kind != "c":
        return source
    least = tol * np.finfo(parts_dtype(source.dtype)).eps if tol > 1 else tol
    is_near = all_of(FUNCTIONS["absolute"](source.imag) < float(least))
    return source.real if is_near else source


def sort_complex(a: Any) -> Any:
    """Return the sorted elements as complex numbers: by real, then imaginary parts.

    >>> print(gpuarray.sort_complex(gpuarray.asarray([2, 1])))
    [1.+0.j 2.+0.j]
    """
    ordered = sort(require(a, "sort_complex"))
    if kind_of(ordered.dtype) == "c":
        return ordered
    is_small = ordered.dtype.kind in "iu" and ordered.dtype.itemsize < 4
    return ordered.astype(np.complex64 if is_small else np.complex128)
