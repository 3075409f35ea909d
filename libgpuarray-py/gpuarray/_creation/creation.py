"""Functions that make arrays: of what there is, filled, or like another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import (
    BaseArray,
    Order,
    array_class,
    as_shape,
    is_in_order,
    order_code,
    require,
)
from gpuarray._core.context import Context
from gpuarray._core.context import context as find_context
from gpuarray._interop import cuda_array_interface, dlpack
from gpuarray._manipulation.shaping import diagonal
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, NeedsCopy, host_errors

Place = str | Context | None
Shape = int | Sequence[int]
F = TypeVar("F", bound=Callable[..., Any])


# ---- the order of arguments ----


def in_either_order(names: str) -> Callable[[F], F]:
    """Let arguments behind the dtype stand in the order ``names``, too.

    That is NumPy's and libgpuarray 0.7's, which begin with the order or with whether
    to copy, where ours begin with the context: what stands there tells them apart.
    """
    others = names.split()

    def decorate(function: F) -> F:
        first = function.__code__.co_varnames.index("context")

        @wraps(function)
        def either(*args: Any, **named: Any) -> Any:
            if (
                len(args) > first
                and args[first].__class__ is not Context
                and not _begins_with_context(args[first:])
            ):
                rest = dict(zip(others, args[first:], strict=False))
                if len(args) - first > len(others) or not named.keys().isdisjoint(rest):
                    raise BadType(
                        f"{function.__name__}: got {len(args)} positional arguments "
                        f"and {', '.join(named) or 'no others'}, expected behind the "
                        f"dtype at most: {', '.join(others)}"
                    )
                return function(*args[:first], **rest, **named)
            return function(*args, **named)

        return either  # type: ignore[return-value]

    return decorate


def _begins_with_context(given: tuple[Any, ...]) -> bool:
    """Whether the first is a context; if it is None, whether no other is one."""
    if given[0] is None:
        return not any(map(_is_context, given))
    return _is_context(given[0])


def _is_context(given: Any) -> bool:
    """Whether it may name a context: none of the other arguments' kinds."""
    if isinstance(given, str):
        return len(given) != 1  # an order is a letter
    return not (given is None or isinstance(given, bool | int | type))


_SINGLE = {np.dtype(d): np.dtype(s) for d, s in (("f8", "f4"), ("c16", "c8"))}


def place_of(operation: str, context: Place, device: Place) -> Context:
    """The context named by either word, or the default one."""
    if context is not None and device is not None:
        raise BadType(f"{operation}: context and device are one thing; give one")
    return find_context(device if context is None else context)


def _float_dtype(
    operation: str, dtype: npt.DTypeLike | None, place: Context
) -> np.dtype[Any]:
    """The dtype asked for, else the widest of floats that the device has."""
    if dtype is None:
        return np.dtype(np.float64 if place.has_double else np.float32)
    return as_dtype(dtype, operation)


def fitting(host: npt.NDArray[Any], place: Context) -> npt.NDArray[Any]:
    """Values of no chosen dtype, which without float64 on the device become float32."""
    if place.has_double:
        return host
    return host.astype(_SINGLE.get(host.dtype, host.dtype), copy=False)


def _host_values(
    values: Any, dtype: npt.DTypeLike | None, place: Context
) -> npt.NDArray[Any]:
    if hasattr(type(values), "__dlpack__") and not hasattr(values, "__array__"):
        values = np.from_dlpack(values)
    chosen = None if dtype is None else as_dtype(dtype, "asarray")
    with host_errors("asarray"):
        host = np.asarray(values, dtype=chosen)
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
    """``a`` as an array on a context; itself if it is one there already.

    ``a`` is anything that ``numpy.asarray`` takes, or an array, also of another
    context. An array of another library on a device (one with ``__dlpack__`` or
    ``__cuda_array_interface__``, or PyOpenCL's) is used where it lies. ``copy=True``
    always copies; ``copy=False`` raises NeedsCopy rather than copy. ``device`` is the
    array API standard's name of ``context``. An array of a class of your own gives one
    of ``Array``, on the same memory; ``asanyarray`` keeps the class.

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
    found = _as_class(None, a, dtype, context, copy, order, device)
    return found if found.__class__ is Array else found.view(Array)


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
    """As ``asarray``; an array of a class of your own keeps its class.

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
    """``a`` as an array of ``cls``; None: of its own class."""
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
            host = _host_values(a, dtype, place)
        except TypeError:  # of a dtype that NumPy has not, as bfloat16
            if not hasattr(type(a), "__dlpack__"):
                raise
            shared = from_dlpack(a, device=place)
            return _as_class(cls, shared, dtype, place, copy, order, None)
        return _ordered((cls or Array).from_host(host, place), order)
    assert isinstance(a, Array)
    if cls is not None and a.__class__ is not cls:
        a = a.view(cls)
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


def _ordered(array: Array, order: Order | None) -> Array:
    """The array in C or Fortran order, if asked for; itself if it is so already."""
    return array if is_in_order(array, order) else array.copy(order)


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
    until there are ``ndmin``. The array is of ``cls``, a class of your own; if that is
    None, of the class of ``object``, else of ``Array``.

    >>> print(gpuarray.array([1, 2], "float32", ndmin=2))
    [[1. 2.]]
    """
    kind = None if cls is None else array_class(cls, "array")
    copied = True if copy else None
    made = _as_class(kind, object, dtype, context, copied, order, device)
    if ndmin <= made.ndim:
        return made
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
    return _ordered(found if found.ndim else found.reshape(1), "C")


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
    return _ordered(found if found.ndim else found.reshape(1), "F")


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
    """A new array with undefined elements, of floats if no dtype is given.

    ``shape`` is a length or several; ``dtype`` is by default float64, or float32 on a
    device without it; ``cls`` is a class of your own. BadValue for a negative length,
    OutOfMemory, BadType for a dtype that no device has.

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
    """A new array of zeros, of floats if no dtype is given.

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
    """A new array of ``fill_value`` everywhere, of its dtype if none is given.

    >>> print(gpuarray.full((2, 2), 7))
    [[7 7]
     [7 7]]
    """
    place = place_of("full", context, device)
    if dtype is None and isinstance(fill_value, BaseArray):
        dtype = fill_value.dtype
    elif dtype is None:
        dtype = _host_values(fill_value, None, place).dtype
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
    """A new array of ones, of floats if no dtype is given.

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
    made = _float_dtype(operation, dtype, place)
    lengths = as_shape(shape, operation)
    kind: type[Array] = Array if cls is None else array_class(cls, operation)
    return kind.allocate(lengths, made, place, order_code(order), zeroed, operation)


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
