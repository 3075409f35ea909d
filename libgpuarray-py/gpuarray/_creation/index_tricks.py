"""``r_`` and ``c_``, arrays joined in brackets; indices of masks and elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuarray._core.arguments import require_callable
from gpuarray._core.base import BaseArray, asnumpy, require
from gpuarray._core.context import Context
from gpuarray._core.info import result_type
from gpuarray._core.opening import context as find_context
from gpuarray._creation.arguments import Place
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import ones
from gpuarray._creation.ranges import arange, linspace
from gpuarray._manipulation.joining import concatenate
from gpuarray._manipulation.take_put import nonzero
from gpuarray.errors import BadValue

_NUMBERS = bool | int | float | complex | np.generic


class _Joining:
    """``r_`` and ``c_``: arrays, numbers and ranges in brackets, joined as NumPy's.

    ``r_`` joins along the first axis, ``c_`` vectors as columns. A slice is a range, or
    with an imaginary step so many points; a text in front has the axis, the least
    number of axes, and where those of an array with fewer stand. The result is on the
    context of the arrays, without one on the default one.

    >>> print(gpuarray.r_[gpuarray.asarray([1.0, 2.0]), 0, 5:7])
    [1. 2. 0. 5. 6.]
    >>> print(gpuarray.c_[gpuarray.asarray([1, 2]), gpuarray.asarray([3, 4])])
    [[1 3]
     [2 4]]
    """

    __slots__ = ("_directive",)

    def __init__(self, directive: tuple[int, int, int]) -> None:
        self._directive = directive

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self._directive
        if items and isinstance(items[0], str):
            axis, ndmin, place = _directive(items.pop(0), self._directive)
        if not items:
            raise BadValue("r_: nothing is given, expected arrays, numbers or slices")
        context = next((x.context for x in items if isinstance(x, BaseArray)), None)
        home = find_context(context)
        found = [x if isinstance(x, _NUMBERS) else _array(x, home) for x in items]
        dtype = result_type(*found)
        arrays = [_raised(asarray(x, dtype, home), ndmin, place) for x in found]
        return concatenate(arrays, axis)


def _directive(text: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        numbers = ()
    if not 1 <= len(numbers) <= 3:
        raise BadValue(
            f"r_: got {text!r}, expected numbers, as in '0,2' or '0,2,-1': there is no "
            "class of matrices"
        )
    axis, ndmin, place = numbers + (0, 1, -1)[len(numbers) :]
    return axis, ndmin, place


def _array(item: Any, home: Context) -> Any:
    if not isinstance(item, slice):
        return asarray(item, context=home)
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)), context=home)
    return arange(start, item.stop, step, context=home)


def _raised(array: Any, ndmin: int, place: int) -> Any:
    """Return the array with ``ndmin`` axes, its own ones from ``place`` on."""
    more = ndmin - array.ndim
    if more <= 0:
        return array
    before = place if place >= 0 else place + more + 1
    shape = ((1,) * before, array.shape, (1,) * (more - before))
    return array.reshape(sum(shape, ()))


r_ = _Joining((0, 1, -1))
c_ = _Joining((-1, 2, 0))


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Return the pairs of indices and elements, which are waited for and copied.

    >>> for place, value in gpuarray.ndenumerate(gpuarray.asarray([[1, 2]])):
    ...     print(place, value)
    (0, 0) 1
    (0, 1) 2
    """
    return np.ndenumerate(asnumpy(require(arr, "ndenumerate")))


def mask_indices(
    n: int,
    mask_func: Callable[..., Any],
    k: Any = 0,
    context: Place = None,
) -> tuple[Any, ...]:
    """Return the indices of what ``mask_func(ones((n, n)), k)`` leaves; waits.

    >>> print(*gpuarray.mask_indices(2, gpuarray.triu))
    [0 0 1] [0 1 1]
    """
    require_callable(mask_func, "mask_func", "mask_indices")
    return nonzero(mask_func(ones((n, n), "int64", context), k))
