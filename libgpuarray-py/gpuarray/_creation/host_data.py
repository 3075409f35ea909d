"""Arrays of what is read on the host: buffers, files, texts and iterators."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._creation.arguments import Place
from gpuarray._creation.conversion import asarray
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue, host_errors


def _dtype(dtype: npt.DTypeLike | None, operation: str) -> np.dtype[Any]:
    return as_dtype(float if dtype is None else dtype, operation)


def frombuffer(
    buffer: Any,
    dtype: npt.DTypeLike | None = None,
    count: int = -1,
    offset: int = 0,
    context: Place = None,
) -> Any:
    """Return a new array of the bytes of a buffer: ``count`` elements from ``offset``.

    float64, unless ``dtype`` says another, as for files and texts.

    >>> print(gpuarray.frombuffer(b"\\x01\\x02", "uint8"))
    [1 2]
    """
    with host_errors("frombuffer"):
        host = np.frombuffer(buffer, _dtype(dtype, "frombuffer"), count, offset)
    return asarray(host, context=context)


def fromfile(
    file: Any,
    dtype: npt.DTypeLike | None = None,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    context: Place = None,
) -> Any:
    """Return the elements in a file, as ``tofile`` writes them; ``sep``: of a text.

    >>> gpuarray.arange(3).tofile("counts.bin")
    >>> print(gpuarray.fromfile("counts.bin", "int64"))
    [0 1 2]
    """
    if not isinstance(file, str | os.PathLike) and not hasattr(file, "fileno"):
        raise BadType(
            f"fromfile: file is of {type(file).__name__}, expected a path or an open "
            "file; frombuffer reads bytes"
        )
    with host_errors("fromfile"):
        kind = _dtype(dtype, "fromfile")
        host = np.fromfile(file, kind, count, sep, offset)
    return asarray(host, context=context)


def fromiter(
    iter: Iterable[Any], dtype: npt.DTypeLike, count: int = -1, context: Place = None
) -> Any:
    """Return a vector of an iterable's numbers, of the first ``count``.

    >>> print(gpuarray.fromiter((i * i for i in range(3)), "int32"))
    [0 1 4]
    """
    with host_errors("fromiter"):
        host = np.fromiter(iter, as_dtype(dtype, "fromiter"), count)
    return asarray(host, context=context)


def fromstring(
    string: str,
    dtype: npt.DTypeLike | None = None,
    count: int = -1,
    *,
    sep: str = "",
    context: Place = None,
) -> Any:
    """Return the numbers in a text, with ``sep``, which is not empty, between them.

    >>> print(gpuarray.fromstring("1 2 3", "int32", sep=" "))
    [1 2 3]
    """
    with host_errors("fromstring"):
        host = np.fromstring(string, _dtype(dtype, "fromstring"), count, sep=sep)
    return asarray(host, context=context)


def asarray_chkfinite(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    order: Any = None,
    context: Place = None,
) -> Any:
    """Return ``a`` as by ``asarray``; BadValue if an element is nan or infinite.

    Waits for the elements.

    >>> print(gpuarray.asarray_chkfinite([1.0, 2.0]))
    [1. 2.]
    """
    array = asarray(a, dtype, context, order=order)
    if array.dtype.kind in "fc" and not bool(array.isfinite().all()):
        raise BadValue(
            "asarray_chkfinite: an element is nan or infinite, expected finite numbers"
        )
    return array
