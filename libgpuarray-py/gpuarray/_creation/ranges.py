"""Numbers in order: by steps, by equal distances, by equal ratios.

NumPy makes them on the host, so that they are its own to the bit; what the device has
no room for is refused before.
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
"""Of more numbers it is asked first whether the device has room for them."""


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
    """The numbers from ``start`` (0, if it is alone) up to ``stop``, by ``step``.

    Of integers int64, else floats; BadType for both ``context`` and ``device``.

    >>> print(gpuarray.arange(4), gpuarray.arange(1, 2, 0.5))
    [0 1 2 3] [1.  1.5]
    """
    ends = (0, start, step) if stop is None else (start, stop, step)
    how = dtype, context, device
    made: Array = _counted("arange", np.arange, ends, *how, count=_steps)
    return made


def _steps(start: Any, stop: Any, step: Any) -> int:
    """How many numbers ``arange`` makes; 0 where NumPy says what is wrong."""
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
    """``num`` numbers at one distance from ``start`` to ``stop``.

    Without ``endpoint`` the last of one more is left out; with ``retstep`` the distance
    is returned, too.

    >>> print(gpuarray.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    how = {"num": num, "endpoint": endpoint, "retstep": True, "axis": axis}
    make, ends = partial(np.linspace, **how), (start, stop)
    how_many = partial(_asked, num)
    points, step = _counted(
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
    made: Array = _counted("logspace", make, ends, *how, count=partial(_asked, num))
    return made


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
    """``num`` numbers at one ratio from ``start`` to ``stop``.

    >>> print(gpuarray.geomspace(1, 1000, 4))
    [   1.   10.  100. 1000.]
    """
    make = partial(np.geomspace, num=num, endpoint=endpoint, axis=axis)
    ends, how = (start, stop), (dtype, context, device)
    made: Array = _counted("geomspace", make, ends, *how, count=partial(_asked, num))
    return made


def _asked(num: Any, *ends: Any) -> int:
    """How many numbers there are, ``num`` for each of the ends' elements."""
    count = num if isinstance(num, int) else 0  # NumPy says what is wrong with others
    return max(count, 0) * max(np.size(one) for one in ends)


def _counted(
    operation: str,
    make: Callable[..., Any],
    ends: Sequence[Any],
    dtype: npt.DTypeLike | None,
    context: Place,
    device: Place,
    *,
    count: Callable[..., int],
) -> Any:
    """Numbers that NumPy makes of ``ends`` on the host, on a context.

    It is that of the first array among the ends, which are read, if none is named. A
    device without float64 takes float32, if no dtype is asked for. What else is made
    comes behind the array. ``count`` gives their number.
    """
    arrays = [one for one in ends if isinstance(one, BaseArray)]
    if arrays and context is None and device is None:
        context = arrays[0].context
    made = None if dtype is None else as_dtype(dtype, operation)
    numbers = [x._read() if isinstance(x, BaseArray) else x for x in ends]
    place = place_of(operation, context, device)
    length = count(*numbers)
    if length > _MANY:
        stored = np.dtype(np.int64) if made is None else made
        Array.allocate((length,), stored, place, operation=operation)
    with host_errors(operation):
        found = make(*numbers, dtype=made)
    host, *more = found if isinstance(found, tuple) else (found,)
    result = Array.from_host(host if made is not None else fitting(host, place), place)
    return (result, *more) if more else result
