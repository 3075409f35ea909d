"""Frequencies of transforms, and shifts of the spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_integer, as_real, axes_numbers
from gpuarray._core.base import require
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._creation.ranges import arange
from gpuarray._fft.arguments import Axes, length_of
from gpuarray._manipulation.joining import roll
from gpuarray.dtypes import as_dtype, kind_of
from gpuarray.errors import BadType


def _frequencies(
    operation: str,
    first: int,
    last: int,
    n: int,
    d: float,
    dtype: npt.DTypeLike | None,
    device: Context | str | None,
) -> Any:
    place = find_context(device)
    default = np.float64 if place.has_double else np.float32
    checked = as_dtype(default if dtype is None else dtype, operation)
    if kind_of(checked) != "f":
        raise BadType(f"{operation}: dtype {checked}, expected a real floating one")
    scale = 1.0 / (as_integer(n, "n", operation) * as_real(d, "d", operation))
    steps: Any = arange(first, last, context=place).astype(checked)
    return steps * scale


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Context | str | None = None,
) -> Any:
    """The frequencies of ``fft``'s elements, for samples ``d`` apart.

    >>> print(gpuarray.fft.fftfreq(4))
    [ 0.    0.25 -0.5  -0.25]
    """
    n = length_of("fftfreq", n, 0)
    half = (n - 1) // 2 + 1
    ordered = _frequencies("fftfreq", half - n, half, n, d, dtype, device)
    return roll(ordered, half)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Context | str | None = None,
) -> Any:
    """The frequencies of ``rfft``'s elements, for samples ``d`` apart.

    >>> print(gpuarray.fft.rfftfreq(4))
    [0.   0.25 0.5 ]
    """
    n = length_of("rfftfreq", n, 0)
    return _frequencies("rfftfreq", 0, n // 2 + 1, n, d, dtype, device)


def _shifted(operation: str, x: Any, axes: Axes, sign: int) -> Any:
    require(x, operation)
    listed = tuple(range(x.ndim)) if axes is None else axes
    numbers = axes_numbers(
        tuple(listed) if isinstance(listed, Sequence) else listed, x.ndim, operation
    )
    halves = [x.shape[axis] // 2 for axis in numbers]
    steps = [half if sign > 0 else -half for half in halves]
    return roll(x, tuple(steps), tuple(numbers))


def fftshift(x: Any, axes: Axes = None) -> Any:
    """The array with frequency 0 moved to the middle of the axes (None: all).

    >>> print(gpuarray.fft.fftshift(gpuarray.fft.fftfreq(4)))
    [-0.5  -0.25  0.    0.25]
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Any, axes: Axes = None) -> Any:
    """The inverse of ``fftshift``.

    >>> print(gpuarray.fft.ifftshift(gpuarray.asarray([-2, -1, 0, 1])))
    [ 0  1 -2 -1]
    """
    return _shifted("ifftshift", x, axes, -1)
