"""Comparisons of whole arrays, ``lexsort`` and ``partition``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import as_list, axis_number
from gpuarray._core.base import BaseArray, on_host, require
from gpuarray._kernels.numbers import number_operand
from gpuarray._manipulation.take_put import take_along_axis
from gpuarray._sorting.sorting import argsort, is_lone, sort, sort_inplace
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import all as all_of
from gpuarray.dtypes import kind_of
from gpuarray.errors import BadType, BadValue, Unsupported

where = FUNCTIONS["where"]


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Return ``|a - b| <= atol + rtol * |b|``, for each pair of elements.

    Infinities are close to themselves alone; nan to nan only if ``equal_nan``.

    >>> a = gpuarray.asarray([1.0, np.nan])
    >>> print(gpuarray.isclose(a, a), gpuarray.isclose(a, a, equal_nan=True))
    [ True False] [ True  True]
    """
    if not isinstance(a, BaseArray) and not isinstance(b, BaseArray):
        raise BadType("isclose: no operand is a gpuarray array; use numpy.isclose")
    for x in (a, b):
        if not isinstance(x, BaseArray | np.ndarray) and number_operand(x) is None:
            raise BadType(
                f"isclose: an operand is of {type(x).__name__}, expected a gpuarray "
                "array or a number"
            )
    far = b
    if isinstance(b, BaseArray) and kind_of(b.dtype) in "biu":
        far = b.astype(np.float64)
    near = FUNCTIONS["absolute"](a - far) <= abs(far) * rtol + atol
    finite = (
        FUNCTIONS["isfinite"](far) if isinstance(far, BaseArray) else np.isfinite(b)
    )
    close = (near & finite) | (a == b)
    if equal_nan:
        close = close | ((a != a) & (b != b))
    return close


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Return True if all elements are close, by ``isclose``; waits.

    One of the operands may be a NumPy array.

    >>> a = gpuarray.asarray([1.0, 2.0])
    >>> bool(gpuarray.allclose(a, a + 1e-9)), bool(gpuarray.allclose(a, a + 0.1))
    (True, False)
    >>> gpuarray.allclose(a, np.array([1.0, 2.0]))
    True
    """
    first, second = _beside(a, b), _beside(b, a)
    return bool(all_of(isclose(first, second, rtol, atol, equal_nan)))


def _beside(operand: Any, other: Any) -> Any:
    """Return the operand, a NumPy array as one on the context of the other operand."""
    if isinstance(operand, np.ndarray) and isinstance(other, BaseArray):
        return other.from_host(operand, other.context)
    return operand


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Return True if the shapes and all elements are equal; waits.

    One of the operands may be a NumPy array.

    >>> a = gpuarray.asarray([1, 2])
    >>> bool(gpuarray.array_equal(a, a)), bool(gpuarray.array_equal(a, a[:1]))
    (True, False)
    """
    first = require(_beside(a1, a2), "array_equal")
    second = require(_beside(a2, a1), "array_equal")
    if first.shape != second.shape:
        return False
    same = first == second
    if equal_nan:
        same = same | ((first != first) & (second != second))
    return bool(all_of(same))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Return True if one, broadcast to the shape of the other, equals it; waits.

    One of the operands may be a NumPy array.

    >>> a = gpuarray.asarray([1, 1])
    >>> bool(gpuarray.array_equiv(a, a[:1]))
    True
    """
    first = require(_beside(a1, a2), "array_equiv")
    second = require(_beside(a2, a1), "array_equiv")
    try:
        np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return False
    return bool(all_of(first == second))


def isposinf(x: Any, out: Any = None) -> Any:
    """Return True for elements that are positive infinity.

    >>> print(gpuarray.isposinf(gpuarray.asarray([1.0, np.inf, -np.inf])))
    [False  True False]
    """
    return FUNCTIONS["equal"](_real("isposinf", x), math.inf, out=out)


def isneginf(x: Any, out: Any = None) -> Any:
    """Return True for elements that are negative infinity.

    >>> print(gpuarray.isneginf(gpuarray.asarray([1.0, np.inf, -np.inf])))
    [False False  True]
    """
    return FUNCTIONS["equal"](_real("isneginf", x), -math.inf, out=out)


def spacing(x: Any, out: Any = None) -> Any:
    """Return the distance to the next float away from 0; of float16 to the next above.

    >>> print(gpuarray.spacing(gpuarray.asarray([1.0])))
    [2.22044605e-16]
    """
    source = _real("spacing", x)
    if kind_of(source.dtype) != "f":
        dtype = np.spacing(np.ones(1, source.dtype)).dtype
        source = source.astype(dtype)
    # As in NumPy: of negative halves to the next above.
    is_half = source.dtype == np.float16
    is_below = source == -math.inf if is_half else source < 0
    limit = where(is_below, -math.inf, math.inf).astype(source.dtype, copy=False)
    return FUNCTIONS["subtract"](FUNCTIONS["nextafter"](source, limit), source, out=out)


def _real(operation: str, x: Any) -> Any:
    if require(x, operation).dtype.kind == "c":
        raise BadType(f"{operation}: elements of {x.dtype}, expected real numbers")
    return x


# ---- orders ----


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices (int64) that sort by the last key, equal ones by the one before.

    ``keys`` is a sequence of arrays of one shape, or an array with the keys along its
    first axis.

    >>> surnames, names = gpuarray.asarray([2, 1, 1]), gpuarray.asarray([1, 3, 2])
    >>> print(gpuarray.lexsort((names, surnames)))
    [2 1 0]
    """
    listed = as_list(keys, "keys", "lexsort")
    if not listed:
        raise BadType("lexsort: no key is given")
    shapes = [require(key, "lexsort").shape for key in listed]
    if len(set(shapes)) > 1:
        raise BadValue(
            f"lexsort: the keys have shapes {', '.join(map(str, shapes))}, expected "
            "one shape"
        )
    at = axis_number(axis, len(shapes[0]), "lexsort")
    order = argsort(listed[0], at)
    for key in listed[1:]:
        moved = take_along_axis(key, order, at)
        order = take_along_axis(order, argsort(moved, at), at)
    return order


def partition(
    a: Any,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Any:
    """Return a copy in which the elements at ``kth`` are where a sort would put them.

    Those before are not greater, those behind not smaller. It is sorted as a whole.

    >>> print(gpuarray.partition(gpuarray.asarray([5, 1, 4, 2]), 2)[2])
    4
    """
    _check_kth("partition", a, kth, axis, kind, order)
    return sort(a, axis)


def partition_inplace(
    array: BaseArray,
    kth: int | Sequence[int],
    axis: int = -1,
    kind: str = "introselect",
    order: None = None,
) -> None:
    """Bring the elements at ``kth`` to where a sort would put them, as ``partition``.

    >>> a = gpuarray.asarray([5, 1, 4, 2])
    >>> a.partition(2)
    >>> print(a[2])
    4
    """
    _check_kth("partition", array, kth, axis, kind, order)
    sort_inplace(array, axis)


def argpartition(
    a: Any,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Any:
    """Return the indices (int64) of the elements of ``partition``'s result.

    >>> a = gpuarray.asarray([5, 1, 4, 2])
    >>> print(a[gpuarray.argpartition(a, 1)][:2])
    [1 2]
    """
    _check_kth("argpartition", a, kth, axis, kind, order)
    return argsort(a, axis)


def _check_kth(
    operation: str, array: Any, kth: Any, axis: int | None, kind: str, order: None
) -> None:
    source = require(array, operation)
    if kind != "introselect":
        raise BadValue(f"{operation}: kind is {kind!r}, expected 'introselect'")
    if order is not None:
        raise Unsupported(f"{operation}: order is for dtypes with fields; none has any")
    if axis is None or (operation == "argpartition" and is_lone(source, axis)):
        length = source.size
    else:
        length = source.shape[axis_number(axis, source.ndim, operation)]
    places = np.atleast_1d(on_host(kth, "kth", operation))
    if places.dtype.kind not in "iu":
        raise BadType(f"{operation}: kth of {places.dtype}, expected integers")
    if ((places < -length) | (places >= length)).any():
        raise BadValue(f"{operation}: kth {kth} is out of bounds for {length} elements")
