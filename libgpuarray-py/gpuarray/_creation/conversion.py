"""Conversion to arrays: of lists, NumPy's arrays, those of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import Order, as_integer
from gpuarray._core.base import BaseArray, require
from gpuarray._core.context import Context
from gpuarray._core.geometry import array_class, is_in_order
from gpuarray._core.opening import context as find_context
from gpuarray._creation.arguments import Place, fitting, in_either_order, place_of
from gpuarray._interop import cuda_array_interface, dlpack
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, NeedsCopy, host_errors


def host_values(
    values: Any, dtype: npt.DTypeLike | None, place: Context
) -> npt.NDArray[Any]:
    """Return ``values`` as a NumPy array of ``dtype``, else of one of the device's."""
    if hasattr(type(values), "__dlpack__") and not hasattr(values, "__array__"):
        values = np.from_dlpack(values)
    target = None if dtype is None else as_dtype(dtype, "asarray")
    with host_errors("asarray"):
        host = np.asarray(values, dtype=target)
    if dtype is None and not isinstance(values, np.ndarray | np.generic):
        host = fitting(host, place)
    if host.dtype.kind == "O":
        raise BadType(
            f"asarray: got {type(values).__name__}, which is no array of numbers"
        )
    return host


@in_either_order("order context")
def asarray(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    copy: bool | None = None,
    *,
    order: Order | None = "K",
    device: Place = None,
) -> Array:
    """Return ``a`` as an array on a context; itself if it is one there already.

    ``a`` is anything that ``numpy.asarray`` takes, or an array, also of another
    context. An array of another library on a device (one with ``__dlpack__`` or
    ``__cuda_array_interface__``, or PyOpenCL's) is wrapped without a copy.
    ``copy=True`` always copies; ``copy=False`` raises NeedsCopy rather than copy.
    ``device`` is the array API standard's name of ``context``. An array of a subclass
    gives one of ``Array``, on the same memory; ``asanyarray`` keeps the class.

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
    result = _as_class(None, a, dtype, context, copy, order, device)
    return result if result.__class__ is Array else result.view(Array)


@in_either_order("order context")
def asanyarray(
    a: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    copy: bool | None = None,
    *,
    order: Order | None = "K",
    device: Place = None,
) -> Array:
    """Return ``a`` as by ``asarray``; an array of a subclass keeps its class.

    >>> gpuarray.asanyarray([1, 2]).tolist()
    [1, 2]
    """
    return _as_class(None, a, dtype, context, copy, order, device)


def _as_class(
    cls: type[Array] | None,
    a: Any,
    dtype: npt.DTypeLike | None,
    context: Place,
    copy: bool | None,
    order: Order | None,
    device: Place,
) -> Array:
    """Return ``a`` as an array of ``cls``; None: of its own class."""
    context = context if device is None else place_of("asarray", context, device)
    if not isinstance(a, BaseArray | list | tuple | np.ndarray | np.generic) and (
        cuda_array_interface.is_foreign(a)
    ):
        a = cuda_array_interface.take(cls or Array, a)
    if not isinstance(a, BaseArray):
        if copy is False:
            raise NeedsCopy("asarray: host values cannot be used without a copy")
        place = find_context(context)
        try:
            host = host_values(a, dtype, place)
        except TypeError:  # a dtype that NumPy lacks, such as bfloat16
            if isinstance(a, np.ndarray) or not hasattr(type(a), "__dlpack__"):
                raise
            shared = from_dlpack(a, device=place)
            return _as_class(cls, shared, dtype, place, copy, order, None)
        return _ordered((cls or Array).from_host(host, place), order)
    assert isinstance(a, Array)
    if cls is not None and a.__class__ is not cls:
        a = a.view(cls)
    target = a.context if context is None else find_context(context)
    target_dtype = a.dtype if dtype is None else as_dtype(dtype, "asarray")
    if target is a.context and target_dtype == a.dtype:
        return a.copy(order) if copy else _ordered(a, order)
    if copy is False:
        raise NeedsCopy(
            f"asarray: {a.dtype} on {a.context.name} to {target_dtype} on "
            f"{target.name} needs a copy"
        )
    return _ordered(a.astype(target_dtype, copy=False).transfer(target), order)


def _ordered(array: Array, order: Order | None) -> Array:
    """Return the array in C or Fortran order, if asked for; itself if it has it."""
    return array if is_in_order(array, order) else array.copy(order)


def from_dlpack(x: Any, *, device: Place = None, copy: bool | None = None) -> Array:
    """Return another library's array on its own memory, without a copy.

    ``x`` has ``__dlpack__``: an array of PyTorch, CuPy, JAX, NumPy. The result is on
    the context of its device; with another ``device``, and from the host, it is a copy,
    which ``copy=False`` forbids and ``copy=True`` always makes.

    >>> a = gpuarray.arange(3)
    >>> b = gpuarray.from_dlpack(a)
    >>> b[0] = 7
    >>> print(a)
    [7 1 2]
    >>> print(gpuarray.from_dlpack(np.arange(3.0)))
    [0. 1. 2.]
    """
    return dlpack.take(Array, x, device, copy)


@in_either_order("copy order ndmin context cls")
def array(
    object: Any,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
    copy: bool = True,
    *,
    order: Order | None = "K",
    ndmin: int = 0,
    device: Place = None,
    cls: type[Array] | None = None,
) -> Array:
    """A new array of ``object``; with ``copy=False`` as ``asarray``.

    An array stays on its context if none is given. Axes of length 1 are put in front
    until there are ``ndmin``. The array is of ``cls``, a subclass; if that is None, of
    the class of ``object``, else of ``Array``.

    >>> print(gpuarray.array([1, 2], "float32", ndmin=2))
    [[1. 2.]]
    """
    least = as_integer(ndmin, "ndmin", "array")
    kind = None if cls is None else array_class(cls, "array")
    copied = True if copy else None
    result = _as_class(kind, object, dtype, context, copied, order, device)
    missing = least - result.ndim
    if missing <= 0:
        return result
    return result.reshape((1,) * missing + result.shape)


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
    result = asarray(a, dtype, context, device=device)
    return _ordered(result if result.ndim else result.reshape(1), "C")


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
    result = asarray(a, dtype, context, device=device)
    return _ordered(result if result.ndim else result.reshape(1), "F")


def copy(a: Array, order: Order = "K") -> Array:
    """A new array of the same elements.

    >>> a = gpuarray.zeros(2)
    >>> b = gpuarray.copy(a)
    >>> b[0] = 1
    >>> print(a, b)
    [0. 0.] [1. 0.]
    """
    copied: Array = require(a, "copy").copy(order)
    return copied
