"""Angles of complex numbers, phases without jumps, and ``sinc``."""

from __future__ import annotations

import math
from typing import Any

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import require
from gpuarray._math.statistics import diff
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.scanning import cumsum
from gpuarray.dtypes import result_type
from gpuarray.errors import BadType, TooLarge

where = FUNCTIONS["where"]


def angle(z: Any, deg: bool = False, **options: Any) -> Any:
    """Return the angles of complex numbers, from -pi to pi; in degrees with ``deg``.

    ``options`` are those of elementwise functions.

    >>> a = gpuarray.asarray([1j, -1.0])
    >>> print(gpuarray.angle(a), gpuarray.angle(a, deg=True))
    [1.57079633 3.14159265] [ 90. 180.]
    """
    radians = FUNCTIONS["angle"](z, **options)
    return radians * (180 / math.pi) if deg else radians


def sinc(x: Any) -> Any:
    """Return ``sin(pi * x) / (pi * x)``, which is 1 at 0.

    >>> print(gpuarray.sinc(gpuarray.asarray([0.0, 0.5])))
    [1.         0.63661977]
    """
    turned = require(x, "sinc") * math.pi
    return where(turned == 0, 1, FUNCTIONS["sin"](turned) / turned)


def unwrap(
    p: Any,
    discont: float | None = None,
    axis: int = -1,
    *,
    period: float = 2 * math.pi,
) -> Any:
    """Return phases along ``axis`` without jumps: neighbours differ by half a period.

    A multiple of the ``period`` is added where two differ by more than ``discont``, by
    default half of it, which is also the least.

    >>> print(gpuarray.unwrap(gpuarray.asarray([0, 3, 2, 1]), period=4))
    [ 0 -1 -2 -3]
    """
    source = require(p, "unwrap")
    if source.dtype.kind == "c":
        raise BadType(f"unwrap: phases of {source.dtype}, expected real numbers")
    at = axis_number(axis, source.ndim, "unwrap")
    step = diff(source, axis=at)
    dtype = result_type(step.dtype, type(period))
    result = source.astype(dtype)
    if dtype.kind == "u":
        raise TooLarge(
            f"unwrap: differences of {dtype} have no sign; convert the phases to a "
            "signed dtype, or give a period that is a float"
        )
    if dtype.kind == "i":
        half, odd = divmod(period, 2)
        is_ambiguous = odd == 0
    else:
        half, is_ambiguous = period / 2, True
    short = FUNCTIONS["remainder"](step + half, period) - half
    if is_ambiguous:  # half a period up stays half a period up
        short = where((short == -half) & (step > 0), half, short)
    least = period / 2 if discont is None else discont
    jumps = where(FUNCTIONS["absolute"](step) < least, 0, short - step)
    behind = (*(slice(None),) * at, slice(1, None))
    if jumps.size:
        result[behind] = source[behind] + cumsum(jumps, at)
    return result
