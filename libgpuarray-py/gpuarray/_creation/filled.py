"""Creation: empty, filled and identity arrays, also like another array."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from gpuarray._core.arguments import Order, as_shape
from gpuarray._core.base import BaseArray, require
from gpuarray._core.geometry import array_class, order_code
from gpuarray._core.opening import context as find_context
from gpuarray._creation.arguments import (
    Place,
    Shape,
    float_dtype,
    in_either_order,
    place_of,
)
from gpuarray._creation.conversion import host_values
from gpuarray._manipulation.shaping import diagonal
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype


@in_either_order("order context cls")
def empty(
    shape: Shape,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order | None = "C",
    *,
    device: Place = None,
    cls: type[Array] | None = None,
) -> Array:
    """Return a new array with uninitialized elements, by default of floats.

    ``shape`` is a length or several; ``dtype`` is by default float64, or float32 on a
    device without it; ``cls`` is a subclass of Array. Raises BadValue for a negative
    length, OutOfMemory, BadType for a dtype that no device has.

    >>> a = gpuarray.empty((2, 3), "float32")
    >>> a.shape, a.dtype, a.nbytes
    ((2, 3), dtype('float32'), 24)
    """
    return _new("empty", shape, dtype, context, order, device, cls=cls)


@in_either_order("order context cls")
def zeros(
    shape: Shape,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order | None = "C",
    *,
    device: Place = None,
    cls: type[Array] | None = None,
) -> Array:
    """Return a new array of zeros, by default of floats.

    As ``empty``; the memory is cleared by the device.

    >>> print(gpuarray.zeros((2, 2)))
    [[0. 0.]
     [0. 0.]]
    """
    return _new("zeros", shape, dtype, context, order, device, zeroed=True, cls=cls)


@in_either_order("order context")
def full(
    shape: Shape,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order | None = "C",
    *,
    device: Place = None,
) -> Array:
    """Return a new array filled with ``fill_value``, by default of its dtype.

    >>> print(gpuarray.full((2, 2), 7))
    [[7 7]
     [7 7]]
    """
    place = place_of("full", context, device)
    if dtype is None and isinstance(fill_value, BaseArray):
        dtype = fill_value.dtype
    elif dtype is None:
        dtype = host_values(fill_value, None, place).dtype
    result = _new("full", shape, dtype, place, order)
    result.fill(fill_value)
    return result


@in_either_order("order context")
def ones(
    shape: Shape,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order | None = "C",
    *,
    device: Place = None,
) -> Array:
    """Return a new array of ones, by default of floats.

    As ``empty``.

    >>> print(gpuarray.ones((2, 2), "int32"))
    [[1 1]
     [1 1]]
    """
    result = _new("ones", shape, dtype, context, order, device)
    result.fill(1)
    return result


def _new(
    operation: str,
    shape: Shape,
    dtype: npt.DTypeLike | None,
    context: Place,
    order: Order | None = "C",
    device: Place = None,
    *,
    zeroed: bool = False,
    cls: type[Array] | None = None,
) -> Array:
    place = place_of(operation, context, device)
    checked = float_dtype(operation, dtype, place)
    lengths = as_shape(shape, operation)
    kind: type[Array] = Array if cls is None else array_class(cls, operation)
    return kind.allocate(lengths, checked, place, order_code(order), zeroed, operation)


# ---- like another ----


def empty_like(
    prototype: Array,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: Shape | None = None,
    device: Place = None,
) -> Array:
    """Return a new array with uninitialized elements, like another.

    It has the other's shape, order, context and dtype by default.

    >>> gpuarray.empty_like(gpuarray.zeros((2, 3)), "int32").shape
    (2, 3)
    """
    return _like("empty_like", prototype, dtype, order, shape, device, False)


def zeros_like(
    a: Array,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: Shape | None = None,
    device: Place = None,
) -> Array:
    """Return zeros, by default of another's shape, order, context and dtype.

    >>> print(gpuarray.zeros_like(gpuarray.ones(3)))
    [0. 0. 0.]
    """
    return _like("zeros_like", a, dtype, order, shape, device, True)


def full_like(
    a: Array,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: Shape | None = None,
    device: Place = None,
) -> Array:
    """Return an array of ``fill_value``, by default like another.

    >>> print(gpuarray.full_like(gpuarray.zeros(3), 0.5))
    [0.5 0.5 0.5]
    """
    result = _like("full_like", a, dtype, order, shape, device, False)
    result.fill(fill_value)
    return result


def ones_like(
    a: Array,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: Shape | None = None,
    device: Place = None,
) -> Array:
    """Return ones, by default of another's shape, order, context and dtype.

    >>> print(gpuarray.ones_like(gpuarray.zeros(3)))
    [1. 1. 1.]
    """
    return full_like(a, 1, dtype, order, shape=shape, device=device)


def _like(
    operation: str,
    like: Any,
    dtype: npt.DTypeLike | None,
    order: Order,
    shape: Shape | None,
    device: Place,
    zeroed: bool,
) -> Array:
    source = require(like, operation)
    kind = source.dtype if dtype is None else as_dtype(dtype, operation)
    lengths = source.shape if shape is None else as_shape(shape, operation)
    place = source.context if device is None else find_context(device)
    code = order_code(order, source)
    return Array.allocate(lengths, kind, place, code, zeroed, operation)


# ---- with ones on a diagonal ----


@in_either_order("order context")
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order | None = "C",
    *,
    device: Place = None,
) -> Array:
    """A matrix of zeros with ones on the k-th diagonal.

    >>> print(gpuarray.eye(2, 3, k=1))
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    shape = N, N if M is None else M
    result = _new("eye", shape, dtype, context, order, device, zeroed=True)
    diagonal(result, k)[...] = 1
    return result


def identity(
    n: int,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    *,
    device: Place = None,
) -> Array:
    """The square matrix of zeros with ones on the diagonal.

    >>> print(gpuarray.identity(2))
    [[1. 0.]
     [0. 1.]]
    """
    return eye(n, dtype=dtype, context=context, device=device)
