"""Functions that make arrays: from host values, filled, or like another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray import dlpack
from gpuarray.array import Array
from gpuarray.base import BaseArray, Order, as_shape, order_code
from gpuarray.context import Context
from gpuarray.context import context as find_context
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, NeedsCopy

Place = str | Context | None
Shape = int | Sequence[int]


def _host_values(values: Any, dtype: npt.DTypeLike | None) -> npt.NDArray[Any]:
    host = np.asarray(
        values, dtype=None if dtype is None else as_dtype(dtype, "asarray")
    )
    if host.dtype.kind == "O":
        raise BadType(
            f"asarray: got {type(values).__name__}, which is no array of numbers"
        )
    return host


def asarray(
    values: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    copy: bool | None = None,
) -> Array:
    """``values`` as an array on a context; itself if it is one there already.

    ``values`` is anything that ``numpy.asarray`` takes, or an array, also of another
    context. ``copy=True`` always copies; ``copy=False`` raises NeedsCopy rather than
    copy.
    """
    if not isinstance(values, BaseArray):
        if copy is False:
            raise NeedsCopy("asarray: host values cannot be used without a copy")
        return Array.from_host(_host_values(values, dtype), find_context(context))
    assert isinstance(values, Array)
    target = values.context if context is None else find_context(context)
    wanted = values.dtype if dtype is None else as_dtype(dtype, "asarray")
    if target is values.context and wanted == values.dtype:
        return values.copy("K") if copy else values
    if copy is False:
        raise NeedsCopy(
            f"asarray: {values.dtype} on {values.context.name} to {wanted} on "
            f"{target.name} needs a copy"
        )
    return values.astype(wanted, copy=False).transfer(target)


def from_dlpack(
    other: Any, /, *, device: Place = None, copy: bool | None = None
) -> Array:
    """The array of another library on its own memory, without a copy.

    ``other`` has ``__dlpack__``: an array of PyTorch, CuPy, JAX, NumPy. It is on the
    context of its device; with ``device``, the name of another, and from the host it is
    a copy, which ``copy=False`` forbids and ``copy=True`` asks for in any case.
    """
    return dlpack.take(Array, other, device, copy)


def array(
    values: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    copy: bool = True,
) -> Array:
    """A new array of ``values``; with ``copy=False`` as ``asarray``."""
    return asarray(values, dtype, context, copy=True if copy else None)


def ascontiguousarray(
    values: Any, dtype: npt.DTypeLike | None = None, context: Place = None
) -> Array:
    """``values`` as an array in C order with at least one axis."""
    found = asarray(values, dtype, context)
    found = found if found.ndim else found.reshape(1)
    return found if found.flags.c_contiguous else found.copy("C")


def asfortranarray(
    values: Any, dtype: npt.DTypeLike | None = None, context: Place = None
) -> Array:
    """``values`` as an array in Fortran order with at least one axis."""
    found = asarray(values, dtype, context)
    found = found if found.ndim else found.reshape(1)
    return found if found.flags.f_contiguous else found.copy("F")


def empty(
    shape: Shape,
    dtype: npt.DTypeLike = float,
    context: Place = None,
    order: Order = "C",
) -> Array:
    """A new array with undefined elements."""
    lengths, made = as_shape(shape, "empty"), as_dtype(dtype, "empty")
    return Array.allocate(lengths, made, find_context(context), order_code(order))


def zeros(
    shape: Shape,
    dtype: npt.DTypeLike = float,
    context: Place = None,
    order: Order = "C",
) -> Array:
    """A new array of zeros."""
    lengths, made = as_shape(shape, "zeros"), as_dtype(dtype, "zeros")
    place = find_context(context)
    return Array.allocate(lengths, made, place, order_code(order), True, "zeros")


def full(
    shape: Shape,
    value: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order = "C",
) -> Array:
    """A new array of ``value`` everywhere, of its dtype if none is given."""
    made = np.asarray(value).dtype if dtype is None else dtype
    result = empty(shape, made, context, order)
    result.fill(value)
    return result


def ones(
    shape: Shape,
    dtype: npt.DTypeLike = float,
    context: Place = None,
    order: Order = "C",
) -> Array:
    """A new array of ones."""
    return full(shape, 1, dtype, context, order)


def arange(
    *bounds: Any, dtype: npt.DTypeLike | None = None, context: Place = None
) -> Array:
    """``numpy.arange(start, stop, step)`` on a context."""
    made = None if dtype is None else as_dtype(dtype, "arange")
    return asarray(np.arange(*bounds, dtype=made), context=context)


def linspace(
    start: complex,
    stop: complex,
    num: int = 50,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
) -> Array:
    """``numpy.linspace(start, stop, num)`` on a context."""
    made = None if dtype is None else as_dtype(dtype, "linspace")
    return asarray(np.linspace(start, stop, num, dtype=made), context=context)


def eye(
    rows: int,
    columns: int | None = None,
    k: int = 0,
    dtype: npt.DTypeLike = float,
    context: Place = None,
) -> Array:
    """A matrix of zeros with ones on the k-th diagonal."""
    return asarray(np.eye(rows, columns, k, as_dtype(dtype, "eye")), context=context)


def empty_like(like: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """A new array of another's shape, order, context and, if none is given, dtype."""
    made = like.dtype if dtype is None else as_dtype(dtype, "empty_like")
    return Array.allocate(like.shape, made, like.context, order_code("K", like))


def zeros_like(like: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """Zeros of another's shape, order, context and, if none is given, dtype."""
    made = like.dtype if dtype is None else as_dtype(dtype, "zeros_like")
    order = order_code("K", like)
    return Array.allocate(like.shape, made, like.context, order, True, "zeros_like")


def full_like(like: Array, value: Any, dtype: npt.DTypeLike | None = None) -> Array:
    """An array like another with every element set to ``value``."""
    result = empty_like(like, dtype)
    result.fill(value)
    return result


def ones_like(like: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """Ones of another's shape, order, context and, if none is given, dtype."""
    return full_like(like, 1, dtype)
