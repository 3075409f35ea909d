"""Arguments of transforms: dtypes, lengths, axes, the norm."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from gpuarray._core.arguments import as_list, axis_number
from gpuarray._core.base import require
from gpuarray.dtypes import kind_of
from gpuarray.errors import BadType, BadValue, TooLarge

Norm = Literal["backward", "ortho", "forward"] | None
Axes = int | Sequence[int] | None


def operand(operation: str, x: Any, is_real: bool = False) -> Any:
    """Return the array in a dtype that can be transformed."""
    require(x, operation)
    kind = kind_of(x.dtype)
    if kind == "c":
        if is_real:
            raise BadType(f"{operation}: got {x.dtype}, expected real elements")
        return x
    if kind in "biu":
        return x.astype(np.float64)
    if x.dtype == np.float16:
        return x.astype(np.float32)
    if x.dtype.itemsize == 2:
        raise BadType(
            f"{operation}: {x.dtype} is not offered; convert it: x.astype('float32')"
        )
    return x


def scale_of(operation: str, norm: Norm, n: int, inverse: bool) -> float:
    """Return the scale of a transform of n elements."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise BadValue(
            f"{operation}: norm is {norm!r}, expected 'backward', 'ortho' or 'forward'"
        )
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") != inverse else 1.0


def length_of(operation: str, n: int | None, default: int) -> int:
    if n is None:
        n = default
    else:
        try:
            n = operator.index(n)
        except TypeError:
            raise BadType(f"{operation}: n is {n!r}, expected an integer") from None
    if n < 1:
        raise BadValue(
            f"{operation}: {n} elements are no signal; expected at least 1 along the "
            "axis"
        )
    if n > sys.maxsize:
        raise TooLarge(f"{operation}: n is {n}, expected at most {sys.maxsize}")
    return n


def lengths_and_axes(
    operation: str, x: Any, s: Sequence[int] | None, axes: Axes, halved: bool = False
) -> tuple[list[int], list[int]]:
    """Return lengths and axes; the whole array's lengths if the last axis is halved."""
    if s is not None:
        s = as_list(s, "s", operation)
    if axes is None:
        count = x.ndim if s is None else len(s)
        listed = list(range(-count, 0))
    else:
        listed = [axes] if isinstance(axes, int) else as_list(axes, "axes", operation)
    order = [axis_number(axis, x.ndim, operation) for axis in listed]
    if s is None:
        lengths = [x.shape[axis] for axis in order]
        if halved and lengths:
            lengths[-1] = 2 * (lengths[-1] - 1)
    else:
        if len(s) != len(order):
            raise BadValue(
                f"{operation}: {len(s)} lengths for {len(order)} axes, expected as many"
            )
        lengths = [
            x.shape[axis] if n == -1 else n for n, axis in zip(s, order, strict=True)
        ]
    if not order:
        raise BadValue(f"{operation}: no axis is given")
    return [length_of(operation, n, 0) for n in lengths], order
