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

    >>> a = gpuarray.asarray([[1, 2], [3, 4]], "float32")
    >>> print(a)
    [[1. 2.]
     [3. 4.]]
    >>> gpuarray.asarray(a) is a
    True
    >>> gpuarray.asarray([1, 2], copy=False)
    Traceback (most recent call last):
        ...
    gpuarray.errors.NeedsCopy: asarray: host values cannot be used without a copy
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

    >>> a = gpuarray.arange(3)
    >>> b = gpuarray.from_dlpack(a)
    >>> b[0] = 7
    >>> print(a)
    [7 1 2]
    >>> print(gpuarray.from_dlpack(np.arange(3.0)))
    [0. 1. 2.]
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

    >>> print(gpuarray.array([1, 2], "float32", ndmin=2))
    [[1. 2.]]
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
    """``a`` as an array in C order with at least one axis.

    >>> a = gpuarray.ascontiguousarray(gpuarray.arange(6).reshape(2, 3).T)
    >>> a.flags.c_contiguous
    True
    """
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
    """``a`` as an array in Fortran order with at least one axis.

    >>> gpuarray.asfortranarray(gpuarray.arange(6).reshape(2, 3)).strides
    (8, 16)
    """
    found = asarray(a, dtype, context, device=device)
    found = found if found.ndim else found.reshape(1)
    return found if found.flags.f_contiguous else found.copy("F")


def copy(a: Array, order: Order = "K") -> Array:
    """A new array of the same elements.

    >>> a = gpuarray.zeros(2)
    >>> b = gpuarray.copy(a)
    >>> b[0] = 1
    >>> print(a, b)
    [0. 0.] [1. 0.]
    """
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
    """A new array with undefined elements, of floats if no dtype is given.

    ``shape`` is a length or several; ``dtype`` is by default float64, or float32 on a
    device without it. BadValue for a negative length, OutOfMemory, BadType for a dtype
    that no device has.

    >>> a = gpuarray.empty((2, 3), "float32")
    >>> a.shape, a.dtype, a.nbytes
    ((2, 3), dtype('float32'), 24)
    """
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
    """A new array of zeros, of floats if no dtype is given.

    As ``empty``; the memory is cleared by the device.

    >>> print(gpuarray.zeros((2, 2)))
    [[0. 0.]
     [0. 0.]]
    """
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
    """A new array of ``fill_value`` everywhere, of its dtype if none is given.

    >>> print(gpuarray.full((2, 2), 7))
    [[7 7]
     [7 7]]
    """
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
    """A new array of ones, of floats if no dtype is given.

    As ``empty``.

    >>> print(gpuarray.ones((2, 2), "int32"))
    [[1 1]
     [1 1]]
    """
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
    """Zeros of another's shape, order, context and dtype, where none is given.

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
    """``fill_value`` in another's shape, order, context and dtype, if none is given.

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
    """Ones of another's shape, order, context and dtype, where none is given.

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
    """The numbers from ``start`` (0, if it is alone) up to ``stop``, by ``step``.

    Of integers int64, else floats; BadType for both ``context`` and ``device``.

    >>> print(gpuarray.arange(4), gpuarray.arange(1, 2, 0.5))
    [0 1 2 3] [1.  1.5]
    """
    made = None if dtype is None else as_dtype(dtype, "arange")
    first, last = (0, start) if stop is None else (start, stop)
    ends, where = _on_host(first, last, step)
    host: npt.NDArray[Any] = np.arange(*ends, dtype=made)
    return _put("arange", host, dtype, context, device, where)


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
    made = None if dtype is None else as_dtype(dtype, "linspace")
    (start, stop), where = _on_host(start, stop)
    host, step = np.linspace(
        start, stop, num, endpoint, retstep=True, dtype=made, axis=axis
    )
    points = _put("linspace", host, dtype, context, device, where)
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
    made = None if dtype is None else as_dtype(dtype, "logspace")
    (start, stop, base), where = _on_host(start, stop, base)
    host = np.logspace(start, stop, num, endpoint, base, made, axis)
    return _put("logspace", host, dtype, context, device, where)


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
    made = None if dtype is None else as_dtype(dtype, "geomspace")
    (start, stop), where = _on_host(start, stop)
    host = np.geomspace(start, stop, num, endpoint, made, axis)
    return _put("geomspace", host, dtype, context, device, where)


def _on_host(*ends: Any) -> tuple[list[Any], Context | None]:
    """Ends with the arrays among them read, and the context of the first array."""
    arrays = [one for one in ends if isinstance(one, BaseArray)]
    where = arrays[0].context if arrays else None
    return [x._read() if isinstance(x, BaseArray) else x for x in ends], where


def _put(
    operation: str,
    host: npt.NDArray[Any],
    dtype: npt.DTypeLike | None,
    context: Place,
    device: Place,
    where: Context | None,
) -> Array:
    """Host values on a context, in a dtype that it has if none was asked for.

    ``where`` they go if no context is named.
    """
    named = context is not None or device is not None
    place = _place(operation, context if named else where, device)
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
    """A matrix of zeros with ones on the k-th diagonal.

    >>> print(gpuarray.eye(2, 3, k=1))
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
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
    """The square matrix of zeros with ones on the diagonal.

    >>> print(gpuarray.identity(2))
    [[1. 0.]
     [0. 1.]]
    """
    return eye(n, dtype=dtype, context=context, device=device)
