"""libgpuarray 0.7's ``triu`` and ``tril``, which work in place by default."""

from __future__ import annotations

from typing import Any

from gpuarray._core.base import require
from gpuarray._creation import twodim_base
from gpuarray.errors import BadValue

__all__ = ["tril", "triu"]


def __dir__() -> list[str]:
    return __all__


def _keep(operation: str, matrix: Any, inplace: bool) -> Any:
    source = require(matrix, operation)
    flags = source.flags
    if source.ndim != 2 or not (flags.c_contiguous or flags.f_contiguous):
        raise BadValue(
            f"{operation}: got an array of shape {source.shape}, expected a contiguous "
            "matrix"
        )
    result = getattr(twodim_base, operation)(source)
    if not inplace:
        return result
    source[...] = result
    return source


def triu(A: Any, inplace: bool = True) -> Any:
    """Return the matrix with zeros below the diagonal; itself if ``inplace``.

    >>> a = gpuarray.ones((2, 2))
    >>> gpuarray.basic.triu(a) is a
    True
    >>> print(a)
    [[1. 1.]
     [0. 1.]]
    """
    return _keep("triu", A, inplace)


def tril(A: Any, inplace: bool = True) -> Any:
    """Return the matrix with zeros above the diagonal; itself if ``inplace``.

    >>> print(gpuarray.basic.tril(gpuarray.ones((2, 2)), inplace=False))
    [[1. 0.]
     [1. 1.]]
    """
    return _keep("tril", A, inplace)
