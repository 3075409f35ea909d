"""libgpuarray 0.7's functions that split and join arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray import joining
from gpuarray.context import Context
from gpuarray.errors import BadValue
from gpuarray.joining import array_split, dsplit, hsplit, split, vsplit
from gpuarray.shaping import atleast_1d, atleast_2d, atleast_3d

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "vsplit",
    "vstack",
]


def __dir__() -> list[str]:
    return __all__


def _on(arrays: Sequence[Any], context: Context | None, operation: str) -> list[Any]:
    """The arrays, which must be on ``context`` if one is named."""
    listed = list(arrays)
    for one in listed:
        if context is not None and one.context is not context:
            raise BadValue(
                f"{operation}: an array is on {one.context.name}, not on {context.name}"
            )
    return listed


def concatenate(
    arys: Sequence[Any], axis: int = 0, context: Context | None = None
) -> Any:
    """The arrays one after another along an axis that they have.

    >>> a = gpuarray.arange(2)
    >>> print(gpuarray.operations.concatenate((a, a)))
    [0 1 0 1]
    """
    return joining.concatenate(_on(arys, context, "concatenate"), axis=axis)


def hstack(tup: Sequence[Any], context: Context | None = None) -> Any:
    """The arrays side by side.

    >>> print(gpuarray.operations.hstack((gpuarray.arange(2), gpuarray.arange(3))))
    [0 1 0 1 2]
    """
    return joining.hstack(_on(tup, context, "hstack"))


def vstack(tup: Sequence[Any], context: Context | None = None) -> Any:
    """The arrays above each other.

    >>> print(gpuarray.operations.vstack((gpuarray.arange(2), gpuarray.arange(2))))
    [[0 1]
     [0 1]]
    """
    return joining.vstack(_on(tup, context, "vstack"))


def dstack(tup: Sequence[Any], context: Context | None = None) -> Any:
    """The arrays behind each other.

    >>> gpuarray.operations.dstack((gpuarray.zeros(2), gpuarray.ones(2))).tolist()
    [[[0.0, 1.0], [0.0, 1.0]]]
    """
    return joining.dstack(_on(tup, context, "dstack"))
