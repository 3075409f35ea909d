"""Numbers in order: by steps, by equal distances, by equal ratios.

NumPy makes them on the host, so that they are its own to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray.array import Array
from gpuarray.base import BaseArray
from gpuarray.creation import Place, fitting, place_of
from gpuarray.dtypes import as_dtype


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
    made: Array = _counted("arange", np.arange, ends, dtype, context, device)
    return made


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
    points, step = _counted("linspace", make, ends, dtype, context, device)
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
    made: Array = _counted(
        "logspace", make, (start, stop, base), dtype, context, device
    )
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
    made: Array = _counted("geomspace", make, (start, stop), dtype, context, device)
    return made


def _counted(
    operation: str,
    make: Callable[..., Any],
    ends: Sequence[Any],
    dtype: npt.DTypeLike | None,
    context: Place,
    device: Place,
) -> Any:
    """Numbers that NumPy makes of ``ends`` on the host, on a context.

    It is that of the first array among the ends, which are read, if none is named. A
    device without float64 takes float32, if no dtype is asked for. What else is made
    comes behind the array.
    """
    arrays = [one for one in ends if isinstance(one, BaseArray)]
    if arrays and context is None and device is None:
        context = arrays[0].context
    made = None if dtype is None else as_dtype(dtype, operation)
    numbers = [x._read() if isinstance(x, BaseArray) else x for x in ends]
    found = make(*numbers, dtype=made)
    host, *more = found if isinstance(found, tuple) else (found,)
    place = place_of(operation, context, device)
    result = Array.from_host(host if made is not None else fitting(host, place), place)
    return (result, *more) if more else result
