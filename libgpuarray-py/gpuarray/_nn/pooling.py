"""Pooling: maxima, sums and averages of windows over the last axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuarray._core.base import BaseArray, require
from gpuarray._native import check, ffi, lib, sized
from gpuarray.errors import BadType, BadValue

MODES = {
    "max": lib.GA_POOL_MAX,
    "sum": lib.GA_POOL_SUM,
    "average_inc_pad": lib.GA_POOL_AVERAGE_PADDED,
    "average_exc_pad": lib.GA_POOL_AVERAGE,
}
"""The library's modes, by Theano's names."""

LONGEST = (1 << 31) - 1
"""The longest window, stride and padding."""

Lengths = int | Sequence[int]
Padding = int | Sequence[int | tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over the last axes, in elements of each; ``before`` and ``after`` pad.

    With ``shared``, equal maxima of a window divide its gradient among them.
    """

    window: tuple[int, ...]
    stride: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    mode: str = "max"
    ceil: bool = False
    shared: bool = False

    def struct(self, operation: str) -> Any:
        """Return the library's description. Raises BadValue for what it cannot hold."""
        nd, most = len(self.window), lib.GA_POOL_MAX_AXES
        if not 1 <= nd <= most:
            raise BadValue(
                f"{operation}: a window of {nd} axes, expected 1 to {most} lengths"
            )
        struct = sized("gpupool")
        struct.nd, struct.mode = nd, MODES[self.mode]
        struct.flags = lib.GA_POOL_CEIL * self.ceil + lib.GA_POOL_SHARED * self.shared
        for name in ("window", "stride", "before", "after"):
            for axis, number in enumerate(getattr(self, name)):
                if not 0 <= number <= LONGEST:
                    raise BadValue(
                        f"{operation}: {name} is {number} for spatial axis {axis}, "
                        f"expected 0 to {LONGEST}"
                    )
                getattr(struct, name)[axis] = number
        return struct


def pool(a: BaseArray, windows: Windows, operation: str = "pool") -> Any:
    """Return the pooled array."""
    struct = windows.struct(operation)
    out = _empty_result(a, struct, operation)
    check(lib.GpuArray_pool(out.struct, a.struct, struct), operation)
    return out


def pool_grad(a: BaseArray, *arrays: BaseArray, windows: Windows) -> Any:
    """Return the gradient by ``a`` from that of the result, the last of ``arrays``.

    For maxima the first one is the result. Otherwise of ``a`` only the shape is read.
    """
    *result, grad = arrays
    out = a.allocate(a.shape, a.dtype, a.context, operation="pool_grad")
    maxima = result[0].struct if result else ffi.NULL
    struct = windows.struct("pool_grad")
    status = lib.GpuArray_pool_grad(out.struct, a.struct, maxima, grad.struct, struct)
    check(status, "pool_grad")
    return out


def pool_at_maxima(
    a: BaseArray, result: BaseArray, v: BaseArray, windows: Windows
) -> Any:
    """Return for each window of ``a`` the sum of ``v`` where ``a`` is the maximum."""
    struct = windows.struct("pool_at_maxima")
    out = _empty_result(a, struct, "pool_at_maxima")
    status = lib.GpuArray_pool_at_maxima(
        out.struct, a.struct, result.struct, v.struct, struct
    )
    check(status, "pool_at_maxima")
    return out


def pool_at_first(a: BaseArray, v: BaseArray, windows: Windows) -> Any:
    """Return for each window of ``a`` the element of ``v`` at the first maximum."""
    struct = windows.struct("pool_at_first")
    out = _empty_result(a, struct, "pool_at_first")
    check(
        lib.GpuArray_pool_at_first(out.struct, a.struct, v.struct, struct),
        "pool_at_first",
    )
    return out


def _empty_result(a: BaseArray, struct: Any, operation: str) -> Any:
    nd = struct.nd
    if a.ndim < nd:
        raise BadValue(
            f"{operation}: shape {a.shape} and a window of {nd} axes, expected {nd} "
            "axes or more"
        )
    lengths = ffi.new("size_t[]", nd)
    check(lib.gpupool_shape(lengths, struct, a.shape[a.ndim - nd :]), operation)
    shape = (*a.shape[: a.ndim - nd], *lengths)
    return a.allocate(shape, a.dtype, a.context, operation=operation)


# ---- eager functions ----


def max_pool(
    a: Any,
    window: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    *,
    ceil: bool = False,
) -> Any:
    """Return the maxima of windows over the last axes; nan where there is one.

    ``window`` has a length for each of these axes, one to three; an int is for one. The
    stride between windows is the window unless given. ``padding``, less than the
    window, is a number for all axes, or one for each, or pairs of before and after; it
    is no element. With ``ceil`` the last window may be cut short by the end; without,
    what no whole window covers there is left out.

    >>> a = gpuarray.arange(8, dtype="float32").reshape(2, 4)
    >>> print(gpuarray.nn.max_pool(a, (2, 2)))
    [[5. 7.]]
    """
    return _pooled("max_pool", "max", a, window, stride, padding, ceil)


def sum_pool(
    a: Any,
    window: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    *,
    ceil: bool = False,
) -> Any:
    """Return the sums of windows over the last axes, as `max_pool` takes them.

    >>> a = gpuarray.arange(8, dtype="float32").reshape(2, 4)
    >>> print(gpuarray.nn.sum_pool(a, (2, 2)))
    [[10. 18.]]
    """
    return _pooled("sum_pool", "sum", a, window, stride, padding, ceil)


def avg_pool(
    a: Any,
    window: Lengths,
    stride: Lengths | None = None,
    padding: Padding = 0,
    *,
    ceil: bool = False,
    include_padding: bool = True,
) -> Any:
    """Return the averages of windows over the last axes, as `max_pool` takes them.

    Padding counts as zeros, or with ``include_padding=False`` not at all.

    >>> a = gpuarray.arange(4, dtype="float32")
    >>> print(gpuarray.nn.avg_pool(a, 2, padding=1))
    [0.  1.5 1.5]
    >>> print(gpuarray.nn.avg_pool(a, 2, padding=1, include_padding=False))
    [0.  1.5 3. ]
    """
    mode = "average_inc_pad" if include_padding else "average_exc_pad"
    return _pooled("avg_pool", mode, a, window, stride, padding, ceil)


def _pooled(
    operation: str,
    mode: str,
    a: Any,
    window: Lengths,
    stride: Lengths | None,
    padding: Padding,
    ceil: bool,
) -> Any:
    array = require(a, operation)
    lengths = _numbers(operation, "window", window)
    steps = lengths
    if stride is not None:
        steps = _numbers(operation, "stride", stride, len(lengths))
    pairs = _pairs(operation, padding, len(lengths))
    before, after = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    windows = Windows(lengths, steps, before, after, mode, bool(ceil))
    return pool(array, windows, operation)


def _numbers(
    operation: str, name: str, value: Any, count: int | None = None
) -> tuple[int, ...]:
    """Return integers, ``count`` of them; one stands for all."""
    try:
        if isinstance(value, Sequence):
            numbers = tuple(operator.index(number) for number in value)
        else:
            numbers = (operator.index(value),) * (count or 1)
    except TypeError:
        raise BadType(
            f"{operation}: {name} is {value!r}, expected an integer or a sequence of "
            "them"
        ) from None
    if count is not None and len(numbers) != count:
        raise BadValue(
            f"{operation}: {name} is {value!r}, expected {count} numbers, one for each "
            "axis of the window"
        )
    return numbers


def _pairs(operation: str, padding: Any, count: int) -> list[tuple[int, ...]]:
    """Return the padding before and after each of ``count`` axes."""
    if not isinstance(padding, Sequence):
        return [_numbers(operation, "padding", padding, 2)] * count
    if len(padding) != count:
        raise BadValue(
            f"{operation}: padding is {padding!r}, expected a number or a pair for "
            f"each of the {count} axes of the window"
        )
    return [_numbers(operation, "padding", pair, 2) for pair in padding]
