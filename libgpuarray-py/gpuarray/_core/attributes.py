"""Questions to arrays that read no element: axes, kinds, shared memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuarray._core.arguments import as_integer, axes_numbers
from gpuarray._core.base import BaseArray, may_share_memory, on_host, require
from gpuarray.errors import host_errors

_FIRST_ADDRESS = 4096


def ndim(a: Any) -> int:
    """Return the number of axes of an array, or of what NumPy takes for one.

    >>> gpuarray.ndim(gpuarray.zeros((2, 3))), gpuarray.ndim([1, 2])
    (2, 1)
    """
    return a.ndim if isinstance(a, BaseArray) else on_host(a, "a", "ndim").ndim


def shape(a: Any) -> tuple[int, ...]:
    """Return the lengths of the axes of an array, or of what NumPy takes for one.

    >>> gpuarray.shape(gpuarray.zeros((2, 3))), gpuarray.shape(1.5)
    ((2, 3), ())
    """
    return a.shape if isinstance(a, BaseArray) else on_host(a, "a", "shape").shape


def size(a: Any, axis: int | tuple[int, ...] | None = None) -> int:
    """Return the number of elements along ``axis``, one or several; None: of all.

    >>> a = gpuarray.zeros((2, 3))
    >>> gpuarray.size(a), gpuarray.size(a, 1)
    (6, 3)
    """
    lengths = shape(a)
    if axis is None:
        return math.prod(lengths)
    return math.prod(lengths[k] for k in axes_numbers(axis, len(lengths), "size"))


def iscomplexobj(x: Any) -> bool:
    """Return True if the dtype of an array, or the type of a number, is complex.

    >>> gpuarray.iscomplexobj(gpuarray.zeros(2, "complex64"))
    True
    """
    if isinstance(x, BaseArray):
        return bool(x.dtype.kind == "c")
    with host_errors("iscomplexobj"):
        return np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Return True if the dtype of an array, or the type of a number, is not complex.

    >>> gpuarray.isrealobj(gpuarray.zeros(2))
    True
    """
    return not iscomplexobj(x)


def isfortran(a: Any) -> bool:
    """Return True if the elements lie in Fortran order, and not in C order, too.

    >>> a = gpuarray.zeros((2, 3))
    >>> gpuarray.isfortran(a), gpuarray.isfortran(a.T)
    (False, True)
    """
    return bool(require(a, "isfortran").flags.fnc)


# ---- shared memory ----


class _Places:
    """The addresses of an array's elements in its buffer, for NumPy to compare.

    NumPy computes with them and reads nothing; they are counted from one that no offset
    leads below.
    """

    def __init__(self, array: BaseArray) -> None:
        self.__array_interface__ = {
            "data": (_FIRST_ADDRESS + array.offset, True),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
            "version": 3,
        }


def shares_memory(a: Any, b: Any, max_work: int | None = -1) -> bool:
    """Return whether two arrays have an element's memory in common.

    Exact, where ``may_share_memory`` compares the ends. NumPy's TooHardError where more
    than ``max_work`` candidates, if that is not -1, would have to be considered.

    >>> a = gpuarray.arange(6)
    >>> gpuarray.shares_memory(a[::2], a[1::2]), gpuarray.may_share_memory(a, a[1:])
    (False, True)
    """
    if not may_share_memory(a, b):
        return False
    compare: Any = np.shares_memory
    max_work = as_integer(max_work, "max_work", "shares_memory")
    return bool(compare(np.asarray(_Places(a)), np.asarray(_Places(b)), max_work))
