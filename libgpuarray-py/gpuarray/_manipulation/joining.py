"""Arrays side by side, cut apart, repeated, and with parts put in or taken out."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import (
    BaseArray,
    as_shape,
    asnumpy,
    axes_numbers,
    axis_number,
    require,
)
from gpuarray._core.base import require_all as _require_all
from gpuarray._core.context import Context
from gpuarray._core.context import context as find_context
from gpuarray._indexing.advanced_indexing import INT64, take_at
from gpuarray._indexing.indexing import as_values
from gpuarray._manipulation.shaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    moveaxis,
)
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.dtypes import as_dtype, can_cast, dtype_to_typecode, result_type
from gpuarray.errors import BadArgument, BadIndex, BadType, BadValue

Parts = int | Sequence[int]
Place = str | Context | None


# ---- side by side ----


def concatenate(
    arrays: Sequence[Any],
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
    context: Place = None,
) -> Any:
    """The arrays side by side along ``axis`` (None: as vectors), in their common dtype.

    Raises BadValue unless they have one shape but for ``axis``, and one context. With
    ``context``, which may stand in the place of ``out``, that is theirs, and NumPy's
    arrays among them are copied there.

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
    made = first.wrap(struct, first.context, target, typecode)
    return made if out is None else _into(out, made, "concatenate")


concat = concatenate


def _listed(operation: str, arrays: Any, context: Place = None) -> list[Any]:
    """The arrays of a list or tuple, or along the first axis of one; at least one.

    All are on ``context``, if it is given; then NumPy's arrays are copied there.
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
        return _require_all(operation, *listed)
    first = next((one for one in listed if isinstance(one, BaseArray)), None)
    if first is not None:
        place = find_context(context)
        if first.context is not place:
            raise BadValue(
                f"{operation}: an array is on {first.context.name}, not on {place.name}"
            )
        listed = [
            first.from_host(one, place) if isinstance(one, np.ndarray) else one
            for one in listed
        ]
    return _require_all(operation, *listed)


def _cast(operation: str, source: Any, target: Any, casting: str) -> Any:
    if casting == "same_kind":
        fits = can_cast(source, target)
    else:
        fits = np.can_cast(source, target, casting)  # type: ignore[arg-type]
    if not fits:
        raise BadType(
            f"{operation}: {source} is not stored as {target} by the rule {casting!r}"
        )
    return target


def _into(out: Any, made: Any, operation: str) -> Any:
    if require(out, operation).shape != made.shape:
        raise BadArgument(
            f"{operation}: out has shape {out.shape}, expected {made.shape}"
        )
    _cast(operation, made.dtype, out.dtype, "same_kind")
    out[...] = made
    return out


def block(arrays: Any) -> Any:
    """One array of blocks in lists: the innermost are joined along the last axis.

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
    found = [leaf for leaf, _ in leaves if isinstance(leaf, BaseArray)]
    if not found:
        raise BadType("block: no block is a gpuarray array; use numpy.block")
    (depth,) = depths
    ndim = max(depth, *(leaf.ndim for leaf in found))

    def joined(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return concatenate([joined(one, level + 1) for one in part], level - depth)
        leaf = part if isinstance(part, BaseArray) else _beside(found[0], part, "block")
        return leaf.reshape((1,) * (ndim - leaf.ndim) + leaf.shape)

    return joined(arrays, 0) if depth else found[0].copy("K")


def _leaves(part: Any, depth: int) -> Iterator[tuple[Any, int]]:
    """The blocks, and how many lists each is in."""
    if isinstance(part, tuple):
        raise BadType("block: got a tuple, expected lists of arrays")
    if not isinstance(part, list):
        yield part, depth
        return
    if not part:
        raise BadValue("block: a list is empty")
    for one in part:
        yield from _leaves(one, depth + 1)


def stack(
    arrays: Sequence[Any],
    axis: int = 0,
    out: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """Arrays of one shape side by side along a new axis.

    BadValue unless they have one shape and one context.

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


def unstack(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """Views of the parts along ``axis``, without that axis.

    >>> [part.tolist() for part in gpuarray.unstack(gpuarray.arange(4).reshape(2, 2))]
    [[0, 1], [2, 3]]
    """
    if require(x, "unstack").ndim == 0:
        raise BadValue("unstack: a 0-d array has no axis")
    front = moveaxis(x, axis, 0)
    return tuple(front[i] for i in range(front.shape[0]))


def hstack(
    tup: Sequence[Any],
    context: Place = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """Side by side along the second axis; vectors along their only one.

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
    """One below the other along the first axis; a vector is a row.

    ``context`` as for ``concatenate``.

    >>> print(gpuarray.vstack((gpuarray.arange(2), gpuarray.asarray([5, 6]))))
    [[0 1]
     [5 6]]
    """
    listed = [atleast_2d(array) for array in _listed("vstack", tup, context)]
    return concatenate(listed, 0, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any], context: Place = None) -> Any:
    """Side by side along the third axis; ``context`` as for ``concatenate``.

    >>> gpuarray.dstack((gpuarray.zeros((1, 2)), gpuarray.ones((1, 2)))).tolist()
    [[[0.0, 1.0], [0.0, 1.0]]]
    """
    return concatenate([atleast_3d(a) for a in _listed("dstack", tup, context)], 2)


def column_stack(tup: Sequence[Any]) -> Any:
    """Side by side along the second axis; a vector is a column.

    >>> print(gpuarray.column_stack((gpuarray.arange(2), gpuarray.asarray([5, 6]))))
    [[0 5]
     [1 6]]
    """
    listed = _listed("column_stack", tup)
    return concatenate([a if a.ndim > 1 else a.reshape(-1, 1) for a in listed], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``values`` behind the array along ``axis`` (None: both as vectors).

    >>> a, b = gpuarray.asarray([1, 2]), gpuarray.asarray([[3], [4]])
    >>> print(gpuarray.append(a, b))
    [1 2 3 4]
    """
    source = require(arr, "append")
    behind = _beside(source, values, "append")
    return concatenate((source, behind), axis)


def _beside(array: Any, values: Any, operation: str) -> Any:
    """``values`` as an array on the context of ``array``, in a dtype of their own."""
    if isinstance(values, BaseArray):
        return _require_all(operation, array, values)[1]
    weak = np.asarray(values)
    if isinstance(values, int | float | complex):
        weak = weak.astype(result_type(array.dtype, type(values)))
    return array.from_host(weak, array.context)


# ---- cut apart ----


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of parts along ``axis``: so many, or cut at these places.

    Of so many parts the first ones are longer by one where the length asks for it.

    >>> [part.tolist() for part in gpuarray.array_split(gpuarray.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    source = require(ary, "array_split")
    axis = axis_number(axis, source.ndim, "array_split")
    length = source.shape[axis]
    if _is_many(indices_or_sections):
        cuts = [0, *(operator.index(i) for i in indices_or_sections), length]
    else:
        parts = _count(indices_or_sections, "array_split")
        short, longer = divmod(length, parts)
        sizes = [short + 1] * longer + [short] * (parts - longer)
        cuts = [0, *np.cumsum(sizes).tolist()]
    before = (slice(None),) * axis
    return [
        source[(*before, slice(start, stop))]
        for start, stop in itertools.pairwise(cuts)
    ]


def _is_many(sections: Any) -> bool:
    """Whether places to cut at are given, not a number of parts."""
    return hasattr(sections, "__len__") and getattr(sections, "ndim", 1) > 0


def _count(sections: Any, operation: str) -> int:
    try:
        parts = operator.index(sections)
    except TypeError:
        raise BadType(
            f"{operation}: got {type(sections).__name__}, expected a number of parts "
            "or a list of places"
        ) from None
    if parts <= 0:
        raise BadValue(f"{operation}: {parts} parts, expected at least 1")
    return parts


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of parts along ``axis``: so many of one length, or cut at these places.

    BadValue if the length is not divisible by the number of parts.

    >>> [part.tolist() for part in gpuarray.split(gpuarray.arange(5), [2, 3])]
    [[0, 1], [2], [3, 4]]
    >>> gpuarray.split(gpuarray.arange(5), 2)
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadValue: split: axis 0 of length 5 is not cut into 2 ...
    """
    source = require(ary, "split")
    axis = axis_number(axis, source.ndim, "split")
    if not _is_many(indices_or_sections):
        parts = _count(indices_or_sections, "split")
        if source.shape[axis] % parts:
            raise BadValue(
                f"split: axis {axis} of length {source.shape[axis]} is not cut into "
                f"{parts} parts of one length; use array_split"
            )
    return array_split(source, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``split`` along the second axis; of a vector along its only one.

    BadValue for a 0-d array.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> [part.tolist() for part in gpuarray.hsplit(a, 2)]
    [[[0], [2]], [[1], [3]]]
    """
    if require(ary, "hsplit").ndim == 0:
        raise BadValue("hsplit: a 0-d array has no axis")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``split`` along the first of at least two axes.

    BadValue for fewer axes.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> [part.tolist() for part in gpuarray.vsplit(a, 2)]
    [[[0, 1]], [[2, 3]]]
    """
    if require(ary, "vsplit").ndim < 2:
        raise BadValue(f"vsplit: an array of shape {ary.shape}, expected 2 axes")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``split`` along the third of at least three axes.

    BadValue for fewer axes.

    >>> [part.shape for part in gpuarray.dsplit(gpuarray.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    if require(ary, "dsplit").ndim < 3:
        raise BadValue(f"dsplit: an array of shape {ary.shape}, expected 3 axes")
    return split(ary, indices_or_sections, 2)


# ---- repeated and shifted ----


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element as many times as ``repeats`` says, along ``axis`` (None: of all).

    ``repeats`` is a number, or one for each element along the axis; of an array on the
    device the sum is waited for.

    >>> print(gpuarray.repeat(gpuarray.asarray([1, 2]), 2))
    [1 1 2 2]
    >>> print(gpuarray.repeat(gpuarray.asarray([1, 2]), [3, 0]))
    [1 1 1]
    """
    source = require(a, "repeat")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "repeat")
    counts = asnumpy(repeats)
    if counts.dtype.kind not in "biu":
        raise BadType(f"repeat: repeats of {counts.dtype}, expected integers")
    if counts.ndim > 1:
        raise BadValue(f"repeat: repeats have {counts.ndim} axes, expected 1 at most")
    if (counts < 0).any():
        raise BadValue("repeat: a negative number of repeats")
    length = source.shape[axis]
    if counts.size == 1:
        times = int(counts.reshape(()))
        shape = list(source.shape)
        shape[axis + 1 : axis + 1] = [times]
        result = [*shape[:axis], length * times, *shape[axis + 2 :]]
        return expand_dims(source, axis + 1).broadcast_to(shape).reshape(result)
    if counts.size != length:
        raise BadValue(
            f"repeat: {counts.size} repeats for axis {axis} of length {length}"
        )
    places = np.repeat(np.arange(length, dtype=INT64), counts)
    return take_at(source, [source.from_host(places, source.context)], axis)


def tile(
    A: Any,
    reps: Parts,
) -> Any:
    """The array repeated as a whole, so many times along each axis.

    Of fewer numbers than axes the first axes stand once; of more the array gets axes.

    >>> print(gpuarray.tile(gpuarray.asarray([1, 2]), (2, 2)))
    [[1 2 1 2]
     [1 2 1 2]]
    """
    source = require(A, "tile")
    times = as_shape(reps, "tile")
    ndim = max(len(times), source.ndim)
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - source.ndim) + source.shape
    pairs = list(zip(times, shape, strict=True))
    # Each axis is preceded by one to repeat along, where there is something to repeat.
    split_shape = [
        n for t, length in pairs for n in ((1, length) if t != 1 else (length,))
    ]
    wide = [n for t, length in pairs for n in ((t, length) if t != 1 else (length,))]
    result = tuple(t * length for t, length in pairs)
    return source.reshape(split_shape).broadcast_to(wide).copy().reshape(result)


def roll(a: Any, shift: Parts, axis: int | Sequence[int] | None = None) -> Any:
    """The elements moved on by ``shift`` along ``axis``, from the end to the front.

    None: along the array as a vector. Several axes go with several shifts, or one.

    >>> print(gpuarray.roll(gpuarray.arange(4), 1))
    [3 0 1 2]
    """
    source = require(a, "roll")
    if axis is None:
        return roll(source.ravel(), shift, 0).reshape(source.shape)
    shifts, axes = np.broadcast_arrays(asnumpy(shift), axis)
    if shifts.ndim > 1 or shifts.dtype.kind not in "iu":
        raise BadValue(f"roll: shift {shift!r}, expected an integer or a list of them")
    steps = [0] * source.ndim
    for one, step in zip(axes.ravel().tolist(), shifts.ravel().tolist(), strict=True):
        steps[axis_number(one, source.ndim, "roll")] += step
    result = source
    for i, step in enumerate(steps):
        length = source.shape[i]
        if length and step % length:
            before = (slice(None),) * i
            tail = result[(*before, slice(length - step % length, None))]
            head = result[(*before, slice(None, length - step % length))]
            result = concatenate((tail, head), i)
    return result.copy() if result is source else result


def resize(a: Any, new_shape: Parts) -> Any:
    """A new array of this shape, of the elements over and over again.

    >>> print(gpuarray.resize(gpuarray.asarray([1, 2, 3]), (2, 2)))
    [[1 2]
     [3 1]]
    """
    source = require(a, "resize")
    shape = as_shape(new_shape, "resize")
    size = math.prod(shape)
    flat = source.ravel()
    if flat.size == 0 or size == 0:
        return source.allocate(shape, source.dtype, source.context, zeroed=True)
    flat = flat if flat.size >= size else tile(flat, -(-size // flat.size))
    return flat[:size].reshape(shape, copy=True)


# ---- parts put in and taken out ----


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """A copy without the parts along ``axis`` that ``obj`` names (None: of all).

    ``obj`` is an integer, a slice, a list of integers or a mask; one on the device is
    waited for.

    >>> print(gpuarray.delete(gpuarray.arange(5), [0, 2]))
    [1 3 4]
    """
    source = require(arr, "delete")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "delete")
    chosen = obj if isinstance(obj, slice | int) else asnumpy(obj)
    if isinstance(chosen, np.ndarray) and chosen.size == 0:
        chosen = chosen.astype(INT64)
    try:
        kept = np.delete(np.arange(source.shape[axis], dtype=INT64), chosen)
    except IndexError as error:
        raise BadIndex(f"delete: {error}") from None
    except ValueError as error:
        raise BadValue(f"delete: {error}") from None
    return take_at(source, [source.from_host(kept, source.context)], axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """A copy with ``values`` before the places ``obj`` along ``axis`` (None: of all).

    ``obj`` is an integer, a slice, a list of integers or a mask; one on the device is
    waited for. The values are converted to the array's dtype.

    >>> print(gpuarray.insert(gpuarray.arange(3), 1, gpuarray.asarray([7, 8])))
    [0 7 8 1 2]
    """
    source = require(arr, "insert")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "insert")
    length = source.shape[axis]
    places = _places(obj, length, axis)
    given = as_values(source, values, "insert")
    while given.ndim < source.ndim:
        given = expand_dims(given, 0)
    if places.ndim == 0:
        given = moveaxis(given, 0, axis)
    if places.size == 1:
        places = np.full(given.shape[axis], int(places.reshape(())), INT64)
    order = places.argsort(kind="stable")
    places[order] += np.arange(places.size)
    shape = list(source.shape)
    shape[axis] = length + places.size
    result = source.allocate(tuple(shape), source.dtype, source.context)
    is_old = np.ones(shape[axis], bool)
    is_old[places] = False
    before = (slice(None),) * axis
    result[(*before, np.flatnonzero(is_old))] = source
    result[(*before, places)] = given
    return result


def _places(obj: Any, length: int, axis: int) -> npt.NDArray[Any]:
    """Where to insert, counted from the front."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(length), dtype=INT64)
    places = np.array(asnumpy(obj))
    if places.dtype.kind == "b":
        if places.ndim != 1 or places.size != length:
            raise BadValue(
                f"insert: a mask of shape {places.shape} for axis {axis} of {length}"
            )
        places = np.flatnonzero(places)
    if places.size == 0:
        places = places.astype(INT64)
    if places.ndim > 1 or places.dtype.kind not in "iu":
        raise BadIndex(
            f"insert: {places.dtype} of {places.ndim} axes, expected an integer, a "
            "slice, or a list of integers or bools"
        )
    places = places.astype(INT64)
    if ((places < -length) | (places > length)).any():
        raise BadIndex(
            f"insert: a place is out of bounds for axis {axis} of length {length}"
        )
    return np.where(places < 0, places + length, places)


def trim_zeros(
    filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None
) -> Any:
    """A view without zeros at the ends of ``axis`` (None: of every one); waits.

    ``trim`` says which ends: 'f' the front, 'b' the back.

    >>> print(gpuarray.trim_zeros(gpuarray.asarray([0, 0, 1, 0, 2, 0])))
    [1 0 2]
    """
    source = require(filt, "trim_zeros")
    sides = str(trim).lower()
    if not sides or set(sides) - set("fb"):
        raise BadValue(f"trim_zeros: trim is {trim!r}, expected 'f', 'b' or 'fb'")
    chosen = (
        range(source.ndim)
        if axis is None
        else axes_numbers(axis, source.ndim, "trim_zeros")
    )
    found = [one.get() for one in source.nonzero()] if source.ndim else []
    index: list[Any] = [slice(None)] * source.ndim
    for i in chosen:
        if not found[i].size:
            index[i] = slice(0, 0)
            continue
        start = int(found[i].min()) if "f" in sides else None
        stop = int(found[i].max()) + 1 if "b" in sides else None
        index[i] = slice(start, stop)
    return source[tuple(index)]
