"""Sparse matrices as values: of scipy on the host, of gpuarray.sparse on a device."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError


def canonical_value(value: Any) -> Any:
    """Return a matrix with indices in order and no duplicates: itself if it is so."""
    if value.has_canonical_format:
        return value
    copy = value.copy()
    copy.sum_duplicates()
    return copy


def assembled(format: str, arrays: Sequence[Any], is_canonical: bool = False) -> Any:
    """Return the matrix of values, indices, indptr and an array of the other length.

    Of arrays on a device it is an array of gpuarray.sparse, which is checked unless it
    ``is_canonical``, else a matrix of scipy. A number may stand for the last array.
    """
    data, indices, indptr, extent = arrays
    minor = int(extent) if np.ndim(extent) == 0 else len(extent)
    major = indptr.shape[0] - 1
    shape = (major, minor) if format == "csr" else (minor, major)
    if isinstance(data, Array):
        sparse: Any = import_module("gpuarray.sparse")  # for such results alone
        if is_canonical:
            base: Any = import_module("gpuarray._sparse.base")
            return base.of_canonical(format, (data, indices, indptr), shape)
        make = {"csr": sparse.csr_array, "csc": sparse.csc_array}[format]
        return make((data, indices, indptr), shape=shape)
    return scipy_matrix(format, (data, indices, indptr), shape)


def scipy_matrix(format: str, arrays: Any, shape: tuple[int, int]) -> Any:
    """Return a matrix of scipy of values, indices and indptr."""
    try:
        of_host: Any = import_module("scipy.sparse")  # for results alone
    except ImportError:
        raise GraphValueError(
            "sparse: a result on the host is a matrix of scipy, which is not "
            "installed; pip install scipy, or keep it on the device: "
            "function(..., on_device=True)"
        ) from None
    make = {"csr": of_host.csr_matrix, "csc": of_host.csc_matrix}[format]
    return make(tuple(map(np.asarray, arrays)), shape=shape)
