"""Advanced indexing by arrays and masks, as NumPy's: parsing, and library calls.

An index becomes a view in which the array-indexed axes are neighbours, and one array of
integers for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.dtypes import dtype_to_typecode
from gpuarray.errors import BadIndex, BadValue

INT64 = np.dtype(np.int64)
MODES = {
    "raise": lib.GA_INDEX_RAISE,
    "wrap": lib.GA_INDEX_WRAP,
    "clip": lib.GA_INDEX_CLIP,
}
_KINDS = (
    "only integers, slices, Ellipsis, None and arrays of integers or bools are indices"
)


def is_fancy(entry: Any) -> bool:
    """True if an entry of an index is an array or a mask."""
    if entry is None or isinstance(entry, int | slice | EllipsisType):
        return isinstance(entry, bool)
    if isinstance(entry, BaseArray | np.bool_ | Sequence):
        return True
    if isinstance(entry, np.generic) or not hasattr(entry, "__array__"):
        return False
    host = np.asarray(entry)  # itself, or an array of another library
    return host.ndim > 0 or host.dtype.kind == "b"


# ---- the library's calls ----


def _list(arrays: Sequence[BaseArray]) -> Any:
    return ffi.new("GpuArray *[]", [array._struct for array in arrays])


def take_at(
    array: BaseArray, indices: Sequence[BaseArray], first: int, mode: int = 0
) -> Any:
    """Return a new array with index arrays in place of neighbouring axes."""
    struct = ffi.new(ARRAY)
    check(
        lib.GpuArray_take(
            struct, array._struct, len(indices), _list(indices), first, mode
        )
    )
    return array._like(struct)


def put_at(
    array: BaseArray,
    indices: Sequence[BaseArray],
    first: int,
    value: BaseArray,
    mode: int = 0,
    *,
    adds: bool = False,
) -> None:
    """Set the elements at index arrays, or add to them, once for each occurrence."""
    function = lib.GpuArray_add_at if adds else lib.GpuArray_put
    places = array._struct, len(indices), _list(indices), first
    check(function(*places, value._struct, mode))


def compress_by(array: BaseArray, mask: BaseArray) -> Any:
    """Return ``array[mask]``; waits for the count of the mask."""
    struct = ffi.new(ARRAY)
    check(lib.GpuArray_compress(struct, array._struct, mask._struct))
    return array._like(struct)


def positions(array: BaseArray) -> Any:
    """Return the indices of nonzero elements: an int64 array (axes, count); waits."""
    struct = ffi.new(ARRAY)
    check(lib.GpuArray_nonzero(struct, array._struct))
    typecode = dtype_to_typecode(INT64)
    return array.wrap(struct, array._context, INT64, typecode)


def row(array: BaseArray, number: int) -> Any:
    """Return a view of one row of a matrix."""
    struct = ffi.new(ARRAY)
    stops = [0, array.shape[1]]
    check(lib.GpuArray_index(struct, array._struct, [number, 0], stops, [0, 1]))
    return array._like(struct)


# ---- parsing ----


class Picked(NamedTuple):
    """Entries for a view of the array, and the index arrays for its axes."""

    entries: list[Any]  # integers, slices, None; slices in place of arrays
    places: list[int]  # positions of the arrays among the entries
    indices: list[BaseArray]
    is_apart: bool


def single_mask(array: BaseArray, index: Sequence[Any]) -> BaseArray | None:
    """Return the mask on the array's context that is the whole index, else None."""
    entries = [entry for entry in index if not isinstance(entry, EllipsisType)]
    if len(entries) != 1 or (len(index) > 1 and index[0] is not entries[0]):
        return None
    mask = entries[0]
    if isinstance(mask, BaseArray) and mask.dtype.kind == "b" and mask.ndim:
        _check_context(mask, array)
        _check_mask(mask.shape, array.shape, 0)
        return mask
    return None


def _check_context(index: BaseArray, array: BaseArray) -> None:
    if index._context is not array._context:
        raise BadValue(
            f"index: the index is on {index.context.name}, the array on "
            f"{array.context.name}; use index.transfer(array.context)"
        )


def _check_mask(mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    part = shape[axis : axis + len(mask)]
    if len(part) < len(mask):
        raise BadIndex(
            f"index: a mask of {len(mask)} axes from axis {axis} on, of {len(shape)}"
        )
    for k, (mask_length, length) in enumerate(zip(mask, part, strict=True)):
        if mask_length != length:
            raise BadIndex(
                f"index: a mask of shape {mask} does not fit axis {axis + k} of length "
                f"{length}"
            )


def _as_index(entry: Any, array: BaseArray) -> Any:
    """Return ours, or a NumPy array, of integers or bools for an entry of an index."""
    if isinstance(entry, BaseArray):
        _check_context(entry, array)
        if entry.dtype.kind not in "iub":
            raise BadIndex(f"index: an array of {entry.dtype}; {_KINDS}")
        return entry
    try:
        host = np.asarray(entry)
    except ValueError as error:
        raise BadIndex(f"index: {error}") from None
    if host.size == 0 and not isinstance(entry, np.ndarray):
        host = host.astype(np.intp)
    if host.dtype.kind not in "iub":
        raise BadIndex(f"index: {type(entry).__name__} of {host.dtype}; {_KINDS}")
    return host


def _axes_of(entry: Any) -> int:
    """Return the number of axes that an entry indexes."""
    if entry is None or isinstance(entry, EllipsisType):
        return 0
    if isinstance(entry, np.ndarray | BaseArray) and entry.dtype.kind == "b":
        return entry.ndim
    return 1


def _expand(array: BaseArray, index: Sequence[Any]) -> list[Any]:
    """Return the entries, with slices for an Ellipsis or at the end."""
    entries = [_as_index(e, array) if is_fancy(e) else e for e in index]
    gaps = [i for i, e in enumerate(entries) if isinstance(e, EllipsisType)]
    if len(gaps) > 1:
        raise BadIndex("index: only one Ellipsis may stand in an index")
    n_axes = sum(_axes_of(e) for e in entries)
    if n_axes > array.ndim:
        raise BadIndex(f"index: {n_axes} indices for an array of {array.ndim} axes")
    place = gaps[0] + 1 if gaps else len(entries)
    entries[place:place] = [slice(None)] * (array.ndim - n_axes)
    return entries


def upload_indices(
    host: npt.NDArray[Any], length: int, axis: int, like: BaseArray
) -> Any:
    """Return host indices on the context of ``like``; BadIndex out of bounds."""
    if host.size:
        low, high = int(host.min()), int(host.max())
        if low < -length or high >= length:
            wrong = high if high >= length else low
            raise BadIndex(
                f"index: {wrong} is out of bounds for axis {axis} of length {length}"
            )
    return like.from_host(host.astype(INT64, copy=False), like._context)


def _integers(array: BaseArray, entry: Any, axis: int) -> list[BaseArray]:
    """Return the index arrays of an array of integers or a mask, from ``axis`` on."""
    shape = array.shape
    if entry.dtype.kind != "b":
        if isinstance(entry, BaseArray):
            return [entry]
        return [upload_indices(entry, shape[axis], axis, array)]
    _check_mask(entry.shape, shape, axis)
    if isinstance(entry, BaseArray):
        rows = positions(entry)
        return [row(rows, k) for k in range(entry.ndim)]
    return [array.from_host(part, array._context) for part in entry.nonzero()]


def _truth(entry: Any, array: BaseArray) -> BaseArray:
    """Return the index array of a bool: of its new axis, one element or none."""
    return array.from_host(np.zeros(int(bool(entry)), INT64), array._context)


def pick(array: BaseArray, index: Sequence[Any]) -> Picked:
    """Parse an index with arrays in it for ``array``."""
    entries: list[Any] = []
    places: list[int] = []
    indices: list[BaseArray] = []
    runs, in_run, axis = 0, False, 0
    for entry in _expand(array, index):
        is_array = isinstance(entry, np.ndarray | BaseArray) and is_fancy(entry)
        stands = is_array or hasattr(entry, "__index__")
        runs += stands and not in_run
        in_run = stands
        if is_array:
            is_truth = entry.dtype.kind == "b" and entry.ndim == 0
            arrays = [_truth(entry, array)] if is_truth else []
            arrays = arrays or _integers(array, entry, axis)
            places.extend(range(len(entries), len(entries) + len(arrays)))
            entries.extend([None if is_truth else slice(None)] * len(arrays))
            indices.extend(arrays)
        elif not isinstance(entry, EllipsisType):
            entries.append(entry)
        axis += _axes_of(entry)
    return Picked(entries, places, indices, runs > 1)


def gather_axes(picked: Picked, view: BaseArray) -> tuple[Any, int]:
    """Return a view with the arrays' axes side by side, and the first of them."""
    view_entries = [
        i
        for i, entry in enumerate(picked.entries)
        if entry is None or isinstance(entry, slice)
    ]
    number = {entry: axis for axis, entry in enumerate(view_entries)}
    picks = [number[place] for place in picked.places]
    first = 0 if picked.is_apart else picks[0]
    rest = [axis for axis in range(view.ndim) if axis not in picks]
    order = [*rest[:first], *picks, *rest[first:]]
    if order == list(range(view.ndim)):
        return view, first
    return view.transpose(*order), first
