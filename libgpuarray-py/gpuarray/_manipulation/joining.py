"""Concatenation and stacking of arrays, and ``roll``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import (
    BaseArray,
    asnumpy,
    on_host,
    require,
    require_all as _require_all,
)
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._manipulation.shaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
)
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.dtypes import (
    as_dtype,
    can_cast,
    check_casting,
    dtype_to_typecode,
    result_type,
)
from gpuarray.errors import BadArgument, BadType, BadValue, host_errors

Parts = int | Sequence[int]
Place = str | Context | None


def concatenate(
    arrays: Sequence[Any],
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
    context: Place = None,
) -> Any:
    """The arrays joined along ``axis`` (None: as vectors), in their common dtype.

    Raises BadValue unless their shapes agree but for ``axis``, and they share a
    context. ``context``, which may take the place of ``out``, is the result's: NumPy's
    arrays are copied there.

    >>> a = gpuarray.asarray([[1, 2]])
    >>> print(gpuarray.concatenate((a, a * 10)))
    [[ 1  2]
     [10 20]]
    >>> print(gpuarray.concatenate((a, a * 10), axis=1))
    [[ 1  2 10 20]]
    """
    if isinstance(out, Context):
        out, context = None, out
    listed = _listed("concatenate", arrays, context)
    if axis is None:
        listed, axis = [array.ravel() for array in listed], 0
    first = listed[0]
    if first.ndim == 0:
        raise BadValue("concatenate: 0-d arrays have no axis; use stack")
    at = axis_number(axis, first.ndim, "concatenate")
    target = result_type(*(array.dtype for array in listed))
    if dtype is not None:
        target = _cast("concatenate", target, as_dtype(dtype, "concatenate"), casting)
    typecode = dtype_to_typecode(target)
    struct = ffi.new(ARRAY)
    structs = ffi.new("GpuArray *[]", [array.struct for array in listed])
    status = lib.GpuArray_concatenate(struct, structs, len(listed), at, typecode)
    if status:
        shapes = ", ".join(str(array.shape) for array in listed[:4])
        check(status, f"concatenate of {shapes} along axis {at}")
    joined = first.wrap(struct, first.context, target, typecode)
    return joined if out is None else _into(out, joined, "concatenate")


concat = concatenate


def _listed(operation: str, arrays: Any, context: Place = None) -> list[Any]:
    """The arrays of a list or tuple, or along the first axis of one; at least one.

    Lists and numbers beside an array are copied to its context. All are on ``context``,
    if it is given, where NumPy's arrays are copied.
    """
    if not isinstance(arrays, list | tuple | BaseArray):
        try:
            arrays = list(arrays)
        except TypeError:
            raise BadType(
                f"{operation}: got {type(arrays).__name__}, expected a list of arrays"
            ) from None
    listed = list(arrays)
    if not listed:
        raise BadValue(f"{operation}: got no array, expected at least one")
    if context is None:
        return _require_all(operation, *_beside_arrays(operation, listed))
    first = next((part for part in listed if isinstance(part, BaseArray)), None)
    if first is not None:
        place = find_context(context)
        if first.context is not place:
            raise BadValue(
                f"{operation}: an array is on {first.context.name}, not on {place.name}"
            )
        listed = [
            first.from_host(part, place) if isinstance(part, np.ndarray) else part
            for part in listed
        ]
    return _require_all(operation, *listed)


def _beside_arrays(operation: str, parts: list[Any]) -> list[Any]:
    """Return the parts, lists and numbers as arrays on the context of the first."""
    like = next((part for part in parts if isinstance(part, BaseArray)), None)
    if like is None:
        return parts
    host = (list, tuple, bool, int, float, complex, np.generic)
    with host_errors(operation):
        return [
            like.from_host(np.asarray(part), like.context)
            if isinstance(part, host)
            else part
            for part in parts
        ]


def _cast(operation: str, source: Any, target: Any, casting: str) -> Any:
    check_casting(casting, operation)
    if casting == "same_kind":
        fits = can_cast(source, target)
    else:
        fits = np.can_cast(source, target, casting)  # type: ignore[arg-type]
    if not fits:
        raise BadType(
            f"{operation}: {source} is not stored as {target} by the rule {casting!r}"
        )
    return target


def _into(out: Any, result: Any, operation: str) -> Any:
    if require(out, operation).shape != result.shape:
        raise BadArgument(
            f"{operation}: out has shape {out.shape}, expected {result.shape}"
        )
    _cast(operation, result.dtype, out.dtype, "same_kind")
    out[...] = result
    return out


def block(arrays: Any) -> Any:
    """Return one array of nested lists of blocks; the innermost along the last axis.

    >>> a = gpuarray.ones((2, 1))
    >>> print(gpuarray.block([[a, 2 * a], [3 * a, 4 * a]]).tolist())
    [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]]
    """
    leaves = list(_leaves(arrays, 0))
    depths = {depth for _, depth in leaves}
    if len(depths) > 1:
        raise BadValue(
            f"block: blocks lie in {sorted(depths)} lists, expected one depth"
        )
    parts = [leaf for leaf, _ in leaves if isinstance(leaf, BaseArray)]
    if not parts:
        raise BadType("block: no block is a gpuarray array; use numpy.block")
    (depth,) = depths
    ndim = max(depth, *(leaf.ndim for leaf in parts))

    def joined(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return concatenate(
                [joined(inner, level + 1) for inner in part], level - depth
            )
        leaf = (
            part if isinstance(part, BaseArray) else as_operand(parts[0], part, "block")
        )
        return leaf.reshape((1,) * (ndim - leaf.ndim) + leaf.shape)

    return joined(arrays, 0) if depth else parts[0].copy("K")


def _leaves(part: Any, depth: int) -> Iterator[tuple[Any, int]]:
    """Return the blocks and the depth of each one's nesting."""
    if isinstance(part, tuple):
        raise BadType("block: got a tuple, expected lists of arrays")
    if not isinstance(part, list):
        yield part, depth
        return
    if not part:
        raise BadValue("block: a list is empty")
    for inner in part:
        yield from _leaves(inner, depth + 1)


def stack(
    arrays: Sequence[Any],
    axis: int = 0,
    out: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """Return arrays of one shape joined along a new axis.

    Raises BadValue unless they have one shape and one context.

    >>> print(gpuarray.stack((gpuarray.arange(2), gpuarray.asarray([5, 6]))))
    [[0 1]
     [5 6]]
    """
    listed = _listed("stack", arrays)
    shapes = {array.shape for array in listed}
    if len(shapes) > 1:
        raise BadValue(f"stack: shapes {sorted(shapes)} differ, expected one shape")
    at = axis_number(axis, listed[0].ndim + 1, "stack")
    raised = [expand_dims(array, at) for array in listed]
    return concatenate(raised, at, out, dtype=dtype, casting=casting)


def hstack(
    tup: Sequence[Any],
    context: Place = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """Return the arrays joined along the second axis; vectors along their only one.

    ``context`` as for ``concatenate``.

    >>> print(gpuarray.hstack((gpuarray.arange(2), gpuarray.arange(3))))
    [0 1 0 1 2]
    """
    listed = [atleast_1d(array) for array in _listed("hstack", tup, context)]
    axis = 0 if listed[0].ndim == 1 else 1
    return concatenate(listed, axis, dtype=dtype, casting=casting)


def vstack(
    tup: Sequence[Any],
    context: Place = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """Return the arrays joined along the first axis; a vector is a row.

    ``context`` as for ``concatenate``.

    >>> print(gpuarray.vstack((gpuarray.arange(2), gpuarray.asarray([5, 6]))))
    [[0 1]
     [5 6]]
    """
    listed = [atleast_2d(array) for array in _listed("vstack", tup, context)]
    return concatenate(listed, 0, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any], context: Place = None) -> Any:
    """The arrays joined along the third axis; ``context`` as for ``concatenate``.

    >>> gpuarray.dstack((gpuarray.zeros((1, 2)), gpuarray.ones((1, 2)))).tolist()
    [[[0.0, 1.0], [0.0, 1.0]]]
    """
    return concatenate([atleast_3d(a) for a in _listed("dstack", tup, context)], 2)


def column_stack(tup: Sequence[Any]) -> Any:
    """Return the arrays joined along the second axis; a vector is a column.

    >>> print(gpuarray.column_stack((gpuarray.arange(2), gpuarray.asarray([5, 6]))))
    [[0 5]
     [1 6]]
    """
    listed = _listed("column_stack", tup)
    return concatenate([a if a.ndim > 1 else a.reshape(-1, 1) for a in listed], 1)


def as_operand(array: Any, values: Any, operation: str) -> Any:
    """Return ``values`` as an array on the context of ``array``, in their own dtype."""
    if isinstance(values, BaseArray):
        return _require_all(operation, array, values)[1]
    weak = on_host(values, "values", operation)
    if isinstance(values, int | float | complex):
        weak = weak.astype(result_type(array.dtype, type(values)))
    return array.from_host(weak, array.context)


def roll(a: Any, shift: Parts, axis: int | Sequence[int] | None = None) -> Any:
    """The elements shifted by ``shift`` along ``axis``, from the end to the front.

    None: along the raveled array. Several axes go with several shifts, or one.

    >>> print(gpuarray.roll(gpuarray.arange(4), 1))
    [3 0 1 2]
    """
    source = require(a, "roll")
    if axis is None:
        return roll(source.ravel(), shift, 0).reshape(source.shape)
    with host_errors("roll: shift and axis"):
        shifts, axes = np.broadcast_arrays(asnumpy(shift), axis)
    if shifts.ndim > 1 or shifts.dtype.kind not in "iu":
        raise BadValue(f"roll: shift {shift!r}, expected an integer or a list of them")
    steps = [0] * source.ndim
    for number, step in zip(
        axes.ravel().tolist(), shifts.ravel().tolist(), strict=True
    ):
        steps[axis_number(number, source.ndim, "roll")] += step
    result = source
    for i, step in enumerate(steps):
        length = source.shape[i]
        if length and step % length:
            before = (slice(None),) * i
            tail = result[(*before, slice(length - step % length, None))]
            head = result[(*before, slice(None, length - step % length))]
            result = concatenate((tail, head), i)
    return result.copy() if result is source else result
