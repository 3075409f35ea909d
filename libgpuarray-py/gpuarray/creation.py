"""Functions that make arrays: from host values, filled, or like another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray import dlpack, sharing
from gpuarray.array import Array
from gpuarray.base import BaseArray, Order, as_shape, order_code, require
from gpuarray.context import Context
from gpuarray.context import context as find_context
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, NeedsCopy
from gpuarray.shaping import diagonal

Place = str | Context | None
Shape = int | Sequence[int]


_SINGLE = {np.dtype(d): np.dtype(s) for d, s in (("f8", "f4"), ("c16", "c8"))}


def _place(operation: str, context: Place, device: Place) -> Context:
    """The context named by either word, or the default one."""
    if context is not None and device is not None:
        raise BadType(f"{operation}: context and device are one thing; give one")
    return find_context(device if context is None else context)


def _made_dtype(
    operation: str, dtype: npt.DTypeLike | None, place: Context
) -> np.dtype[Any]:
    """The dtype asked for, else the widest of floats that the device has."""
    if dtype is None:
        return np.dtype(np.float64 if place.has_double else np.float32)
    return as_dtype(dtype, operation)


def _fitting(host: npt.NDArray[Any], place: Context) -> npt.NDArray[Any]:
    """Values of no chosen dtype, which without float64 on the device become float32."""
    if place.has_double:
        return host
    return host.astype(_SINGLE.get(host.dtype, host.dtype), copy=False)


def _host_values(
    values: Any, dtype: npt.DTypeLike | None, place: Context
) -> npt.NDArray[Any]:
    host = np.asarray(
        values, dtype=None if dtype is None else as_dtype(dtype, "asarray")
    )
    if dtype is None and not isinstance(values, np.ndarray | np.generic):
        host = _fitting(host, place)
    if host.dtype.kind == "O":
        raise BadType(
            f"asarray: got {type(values).__name__}, which is no array of numbers"
        )
    return host


def asarray(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    copy: bool | None = None,
    *,
    order: Order = "K",
    device: Place = None,
) -> Array:
    """``a`` as an array on a context; itself if it is one there already.

    ``a`` is anything that ``numpy.asarray`` takes, or an array, also of another
    context. An array of another library on a device (one with ``__dlpack__`` or
    ``__cuda_array_interface__``, or PyOpenCL's) is used where it lies. ``copy=True``
    always copies; ``copy=False`` raises NeedsCopy rather than copy. ``device`` is the
    array API standard's name of ``context``.
    """
    context = context if device is None else _place("asarray", context, device)
    if not isinstance(a, BaseArray | list | tuple | np.ndarray | np.generic) and (
        sharing.is_foreign(a)
    ):
        a = sharing.take(Array, a)
    if not isinstance(a, BaseArray):
        if copy is False:
            raise NeedsCopy("asarray: host values cannot be used without a copy")
        place = find_context(context)
        made = Array.from_host(_host_values(a, dtype, place), place)
        return made if order in ("K", "A") else _ordered(made, order)
    assert isinstance(a, Array)
    target = a.context if context is None else find_context(context)
    wanted = a.dtype if dtype is None else as_dtype(dtype, "asarray")
    if target is a.context and wanted == a.dtype:
        return a.copy(order) if copy else _ordered(a, order)
    if copy is False:
        raise NeedsCopy(
            f"asarray: {a.dtype} on {a.context.name} to {wanted} on "
            f"{target.name} needs a copy"
        )
    return _ordered(a.astype(wanted, copy=False).transfer(target), order)


asanyarray = asarray


def _ordered(array: Array, order: Order) -> Array:
    """The array in C or Fortran order, if asked for; itself if it is so already."""
    flags = array.flags
    if order == "C" and not flags.c_contiguous:
        return array.copy("C")
    return array.copy("F") if order == "F" and not flags.f_contiguous else array


def from_dlpack(x: Any, *, device: Place = None, copy: bool | None = None) -> Array:
    """The array of another library on its own memory, without a copy.

    ``x`` has ``__dlpack__``: an array of PyTorch, CuPy, JAX, NumPy. It is on the
    context of its device; with ``device``, the name of another, and from the host it is
    a copy, which ``copy=False`` forbids and ``copy=True`` asks for in any case.
    """
    return dlpack.take(Array, x, device, copy)


def array(
    object: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    copy: bool = True,
    *,
    order: Order = "K",
    ndmin: int = 0,
    device: Place = None,
) -> Array:
    """A new array of ``object``; with ``copy=False`` as ``asarray``.

    Axes of length 1 are put in front until there are ``ndmin``.
    """
    place = _place("array", context, device)
    made = asarray(object, dtype, place, copy=True if copy else None, order=order)
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape)


def ascontiguousarray(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    *,
    device: Place = None,
) -> Array:
    """``a`` as an array in C order with at least one axis."""
    found = asarray(a, dtype, context, device=device)
    found = found if found.ndim else found.reshape(1)
    return found if found.flags.c_contiguous else found.copy("C")


def asfortranarray(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    *,
    device: Place = None,
) -> Array:
    """``a`` as an array in Fortran order with at least one axis."""
    found = asarray(a, dtype, context, device=device)
    found = found if found.ndim else found.reshape(1)
    return found if found.flags.f_contiguous else found.copy("F")


def copy(a: Array, order: Order = "K") -> Array:
    """A new array of the same elements."""
    made: Array = require(a, "copy").copy(order)
    return made


# ---- filled ----


def empty(
    shape: Shape,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order = "C",
    *,
    device: Place = None,
) -> Array:
    """A new array with undefined elements, of floats if no dtype is given."""
    place = _place("empty", context, device)
    made = _made_dtype("empty", dtype, place)
    return Array.allocate(as_shape(shape, "empty"), made, place, order_code(order))


def zeros(
    shape: Shape,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order = "C",
    *,
    device: Place = None,
) -> Array:
    """A new array of zeros, of floats if no dtype is given."""
    place = _place("zeros", context, device)
    made = _made_dtype("zeros", dtype, place)
    lengths = as_shape(shape, "zeros")
    return Array.allocate(lengths, made, place, order_code(order), True, "zeros")


def full(
    shape: Shape,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order = "C",
    *,
    device: Place = None,
) -> Array:
    """A new array of ``fill_value`` everywhere, of its dtype if none is given."""
    place = _place("full", context, device)
    made = dtype
    if dtype is None and isinstance(fill_value, BaseArray):
        made = fill_value.dtype
    elif dtype is None:
        made = _host_values(fill_value, None, place).dtype
    result = empty(shape, made, place, order)
    result.fill(fill_value)
    return result


def ones(
    shape: Shape,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order = "C",
    *,
    device: Place = None,
) -> Array:
    """A new array of ones, of floats if no dtype is given."""
    place = _place("ones", context, device)
    return full(shape, 1, _made_dtype("ones", dtype, place), place, order)


# ---- like another ----


def empty_like(
    prototype: Array,
    dtype: npt.DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: Shape | None = None,
    device: Place = None,
) -> Array:
    """A new array with undefined elements, else like another.

    Its shape, order, context and dtype, where none is given.
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
    """Zeros of another's shape, order, context and dtype, where none is given."""
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
    """``fill_value`` in another's shape, order, context and dtype, if none is given."""
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
    """Ones of another's shape, order, context and dtype, where none is given."""
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
    made = source.dtype if dtype is None else as_dtype(dtype, operation)
    lengths = source.shape if shape is None else as_shape(shape, operation)
    place = source.context if device is None else find_context(device)
    code = order_code(order, source)
    return Array.allocate(lengths, made, place, code, zeroed, operation)


# ---- counted ----


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
    """The numbers from ``start`` (0, if it is alone) up to ``stop``, by ``step``."""
    made = None if dtype is None else as_dtype(dtype, "arange")
    first, last = (0, start) if stop is None else (start, stop)
    host: npt.NDArray[Any] = np.arange(first, last, step, dtype=made)
    return _put("arange", host, dtype, context, device)


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
    """
    made = None if dtype is None else as_dtype(dtype, "linspace")
    host, step = np.linspace(
        start, stop, num, endpoint, retstep=True, dtype=made, axis=axis
    )
    points = _put("linspace", host, dtype, context, device)
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
    """``base`` to the powers of ``linspace``."""
    made = None if dtype is None else as_dtype(dtype, "logspace")
    host = np.logspace(start, stop, num, endpoint, base, made, axis)
    return _put("logspace", host, dtype, context, device)


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
    """``num`` numbers at one ratio from ``start`` to ``stop``."""
    made = None if dtype is None else as_dtype(dtype, "geomspace")
    host = np.geomspace(start, stop, num, endpoint, made, axis)
    return _put("geomspace", host, dtype, context, device)


def _put(
    operation: str,
    host: npt.NDArray[Any],
    dtype: npt.DTypeLike | None,
    context: Place,
    device: Place,
) -> Array:
    """Host values on a context, in a dtype that it has if none was asked for."""
    place = _place(operation, context, device)
    return Array.from_host(host if dtype is not None else _fitting(host, place), place)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    order: Order = "C",
    *,
    device: Place = None,
) -> Array:
    """A matrix of zeros with ones on the k-th diagonal."""
    place = _place("eye", context, device)
    made = _made_dtype("eye", dtype, place)
    result = zeros((N, N if M is None else M), made, place, order)
    diagonal(result, k)[...] = 1
    return result


def identity(
    n: int,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    *,
    device: Place = None,
) -> Array:
    """The square matrix of zeros with ones on the diagonal."""
    return eye(n, dtype=dtype, context=context, device=device)
