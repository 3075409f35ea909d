"""Ranges: arange, linspace, logspace, geomspace.

NumPy computes them on the host, so that they are equal to its own to the bit; a range
too large for the device is refused first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray._creation.arguments import Place, fitting, place_of
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import host_errors

_MANY = 1 << 24
"""From so many numbers on it is checked first whether the device has room."""


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    *,
    device: Place = None,
) -> Array:
    """Return the numbers from ``start``, by default 0, up to ``stop``, by ``step``.

    Integers give int64, else floats. BadType for both ``context`` and ``device``.

    >>> print(gpuarray.arange(4), gpuarray.arange(1, 2, 0.5))
    [0 1 2 3] [1.  1.5]
    """
    ends = (0, start, step) if stop is None else (start, stop, step)
    how = dtype, context, device
    result: Array = counted("arange", np.arange, ends, *how, count=steps)
    return result


def steps(start: Any, stop: Any, step: Any) -> int:
    """Return the length of ``arange``; 0 for arguments that NumPy refuses."""
    try:
        count: int = math.ceil((stop - start) / step)
        return max(count, 0)
    except (ArithmeticError, TypeError, ValueError):
        return 0


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    context: Place = None,
    *,
    device: Place = None,
) -> Any:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``.

    Without ``endpoint`` the interval excludes ``stop``; with ``retstep`` the distance
    is returned, too.

    >>> print(gpuarray.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    how = {"num": num, "endpoint": endpoint, "retstep": True, "axis": axis}
    make, ends = partial(np.linspace, **how), (start, stop)
    how_many = partial(_asked, num)
    points, step = counted(
        "linspace", make, ends, dtype, context, device, count=how_many
    )
    return (points, step) if retstep else points


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    context: Place = None,
    *,
    device: Place = None,
) -> Array:
    """``base`` to the powers of ``linspace``.

    >>> print(gpuarray.logspace(0, 2, 3))
    [  1.  10. 100.]
    """
    make = partial(_logspace, num=num, endpoint=endpoint, axis=axis)
    ends, how = (start, stop, base), (dtype, context, device)
    result: Array = counted("logspace", make, ends, *how, count=partial(_asked, num))
    return result


def _logspace(start: Any, stop: Any, base: Any, **how: Any) -> npt.NDArray[Any]:
    return np.logspace(start, stop, base=base, **how)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    context: Place = None,
    *,
    device: Place = None,
) -> Array:
    """Return ``num`` numbers of constant ratio from ``start`` to ``stop``.

    >>> print(gpuarray.geomspace(1, 1000, 4))
    [   1.   10.  100. 1000.]
    """
    make = partial(np.geomspace, num=num, endpoint=endpoint, axis=axis)
    ends, how = (start, stop), (dtype, context, device)
    result: Array = counted("geomspace", make, ends, *how, count=partial(_asked, num))
    return result


def _asked(num: Any, *ends: Any) -> int:
    """Return the number of elements, ``num`` for each of the ends' elements."""
    count = num if isinstance(num, int) else 0  # NumPy refuses others
    return max(count, 0) * max(np.size(end) for end in ends)


def counted(
    operation: str,
    make: Callable[..., Any],
    ends: Sequence[Any],
    dtype: npt.DTypeLike | None,
    context: Place,
    device: Place,
    *,
    count: Callable[..., int],
) -> Any:
    """Return numbers that NumPy makes of ``ends`` on the host, on a context.

    By default it is the context of the first array among the ends, which are read. A
    device without float64 gets float32, if no dtype is given. Other results follow the
    array. ``count`` computes the number of elements.
    """
    arrays = [end for end in ends if isinstance(end, BaseArray)]
    if arrays and context is None and device is None:
        context = arrays[0].context
    target = None if dtype is None else as_dtype(dtype, operation)
    numbers = [x._read() if isinstance(x, BaseArray) else x for x in ends]
    place = place_of(operation, context, device)
    with host_errors(operation):
        length = count(*numbers)
    if length > _MANY:
        stored = np.dtype(np.int64) if target is None else target
        Array.allocate((length,), stored, place, operation=operation)
    with host_errors(operation):
        results = make(*numbers, dtype=target)
    host, *more = results if isinstance(results, tuple) else (results,)
    result = Array.from_host(
        host if target is not None else fitting(host, place), place
    )
    return (result, *more) if more else result
