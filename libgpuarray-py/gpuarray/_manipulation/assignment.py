"""``copyto``, ``putmask``, ``place`` and ``fill_diagonal``: elements set in an array.

None of them waits for the device.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray, on_host
from gpuarray._indexing.advanced_indexing import INT64, put_at, take_at
from gpuarray._indexing.indexing import as_integers, as_values, assign
from gpuarray._kernels.apply import apply_row
from gpuarray._kernels.codegen import Casting
from gpuarray._manipulation.shaping import diagonal
from gpuarray._manipulation.take_put import as_mask
from gpuarray._manipulation.tiling import resize
from gpuarray._ufunc.scanning import cumsum
from gpuarray.dtypes import can_cast
from gpuarray.errors import BadType, BadValue, ReadOnly
from gpuarray.scalars import SCALARS

# Its messages are those of the function.
_COPYTO = dataclasses.replace(SCALARS["second"], name="copyto")


def _target(array: Any, operation: str) -> Any:
    if not isinstance(array, BaseArray):
        raise BadType(
            f"{operation}: the array to store in is of {type(array).__name__}, "
            "expected a gpuarray array; store in one of the host by dst[...] = x.get()"
        )
    if not array.flags.writeable:
        raise ReadOnly(
            f"{operation}: the array is read-only, as broadcast views and elements are"
        )
    return array


def copyto(
    dst: Any, src: Any, casting: Casting = "same_kind", where: Any = True
) -> None:
    """Store ``src``, which broadcasts, in ``dst``; where the mask ``where`` is true.

    ``casting`` is the rule that the two dtypes must keep to.

    >>> a = gpuarray.zeros(3)
    >>> gpuarray.copyto(a, [1, 2, 3], where=[True, False, True])
    >>> print(a)
    [1. 0. 3.]
    """
    target = _target(dst, "copyto")
    if not isinstance(src, BaseArray | bool | int | float | complex | np.generic):
        host = on_host(src, "src", "copyto")
        src = host[()] if host.ndim == 0 else target.from_host(host, target.context)
    if isinstance(src, int) and target.dtype.kind in "iu":
        as_integers(src, target.dtype, "copyto")
    if isinstance(where, list | tuple):
        where = as_mask(where, target, "copyto: where")
    apply_row(_COPYTO, (target, src), target, where=where, casting=casting)


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Set the elements where ``mask`` is true to those at their places in ``values``.

    The values are repeated where there are fewer than elements.

    >>> a = gpuarray.arange(6)
    >>> gpuarray.putmask(a, a > 2, [-1, -2])
    >>> print(a)
    [ 0  1  2 -2 -1 -2]
    """
    target = _target(a, "putmask")
    chosen = _mask_of(target, mask, "putmask")
    stored = _safe_values(target, values, "putmask")
    if not stored.size:
        return
    if stored.size == 1:
        stored = stored.reshape(())
    elif stored.shape != target.shape:
        stored = resize(stored, target.shape)
    copyto(target, stored, "unsafe", chosen)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Set the elements where ``mask`` is true to the first of ``vals``, one by one.

    They begin anew at their end. Raises BadValue if there are none.

    >>> a = gpuarray.arange(6)
    >>> gpuarray.place(a, a > 2, [-1, -2])
    >>> print(a)
    [ 0  1  2 -1 -2 -1]
    """
    target = _target(arr, "place")
    chosen = _mask_of(target, mask, "place")
    stored = _safe_values(target, vals, "place").ravel()
    if not target.size:
        return
    if not stored.size:
        raise BadValue("place: vals is empty, expected one value or more")
    if stored.size > 1:
        rank = cumsum(chosen.ravel(), dtype=INT64) - 1
        stored = take_at(stored, [rank % stored.size], 0).reshape(target.shape)
    copyto(target, stored, "unsafe", chosen)


def _mask_of(target: BaseArray, mask: Any, operation: str) -> Any:
    chosen = as_mask(mask, target, operation)
    if chosen.size != target.size:
        raise BadValue(
            f"{operation}: the mask has {chosen.size} elements, the array {target.size}"
        )
    return chosen.reshape(target.shape)


def _safe_values(target: BaseArray, values: Any, operation: str) -> Any:
    """Return the values beside ``target``; an array's dtype must cast to it safely."""
    is_array = isinstance(values, BaseArray | np.ndarray)
    if is_array and not can_cast(values.dtype, target.dtype, "safe"):
        raise BadType(
            f"{operation}: values of {values.dtype} do not safely cast to "
            f"{target.dtype}; convert them with astype"
        )
    return as_values(target, values, operation)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Set the elements whose indices are equal, of all axes; ``val`` is repeated.

    ``wrap`` begins a diagonal anew one row below the end of one in a high matrix.

    >>> a = gpuarray.zeros((2, 2), "int32")
    >>> gpuarray.fill_diagonal(a, [1, 2])
    >>> print(a)
    [[1 0]
     [0 2]]
    """
    target = _target(a, "fill_diagonal")
    if target.ndim < 2:
        raise BadValue(
            f"fill_diagonal: an array of shape {target.shape}, expected at least 2 axes"
        )
    if target.ndim > 2 and len(set(target.shape)) > 1:
        raise BadValue(
            f"fill_diagonal: shape {target.shape}, expected axes of one length where "
            "there are more than two"
        )
    values = as_values(target, val, "fill_diagonal")
    rows, columns = target.shape[:2]
    if wrap and target.ndim == 2 and rows > columns > 0:
        flat = np.arange(0, rows * columns, columns + 1, dtype=INT64)
        places = [target.from_host(x, target.context) for x in divmod(flat, columns)]
        put_at(target, places, 0, _repeated(values, flat.size))
        return
    line = diagonal(target)
    if target.ndim > 2:
        line = target.strided(target.shape[:1], (sum(target.strides),))
    assign(line, (), _repeated(values, line.size))


def _repeated(values: Any, count: int) -> Any:
    return values.reshape(()) if values.size == 1 else resize(values, count)
