"""Sort, top-k, running folds, binary search and unique."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from gpuarray._manipulation import sets
from gpuarray._native import lib
from gpuarray._sorting import searching, sorting
from gpuarray._ufunc import scanning
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.gpukernels.subtensor import places_of
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.sorting.extra_ops import SearchSorted, Unique
from gpuarray.compiler.ops.sorting.scanning import FUNCTIONS, CumOp
from gpuarray.compiler.ops.sorting.sorting import ArgSort, ArgSortRandom, Sort, TopK
from gpuarray.dtypes import as_dtype, kind_of, work_dtype


@step_function("sort")
def sort(x: Array, axis: int) -> Array:
    """Return the elements in order."""
    ordered: Array = sorting.sort(x, axis)
    return ordered


lowered_by_call(Sort, "sort", "axis")


@step_function("argsort")
def argsort(x: Array, axis: int) -> Array:
    """Return the indices that sort the elements."""
    places: Array = sorting.argsort(x, axis)
    return places


lowered_by_call(ArgSort, "argsort", "axis")


@step_function("argsort_random")
def argsort_random(x: Array, axis: int) -> Array:
    """Return the indices that sort random bits."""
    places: Array = sorting.argsort_random(x, axis)
    return places


lowered_by_call(ArgSortRandom, "argsort_random", "axis")


@body_of("sort")
def sort_steps(s: Steps, x: int, *, axis: int) -> int:
    """Add the sort routine."""
    value = s.array(x)
    return s.routine("sort", [x], value.dtype, value.ndim, axis, 0)


@body_of("argsort")
def argsort_steps(s: Steps, x: int, *, axis: int) -> int:
    """Add the argsort routine."""
    return s.routine("argsort", [x], "int64", s.array(x).ndim, axis, 0)


@body_of("argsort_random")
def argsort_random_steps(s: Steps, x: int, *, axis: int) -> int:
    """Add the argsort routine with its hint."""
    flags = lib.GA_SORT_RANDOM
    return s.routine("argsort", [x], "int64", s.array(x).ndim, axis, flags)


@step_function("topk")
def topk(x: Array, kth: int, axis: int, dtype: str) -> tuple[Array, Array]:
    """Return the largest or smallest elements, and their indices."""
    if not 1 <= abs(kth) <= x.shape[axis]:
        raise GraphValueError(
            f"topk: kth is {kth} for axis {axis} of length {x.shape[axis]}"
        )
    values, places = sorting.topk(x, abs(kth), axis, largest=kth > 0)
    return values, places.astype(np.dtype(dtype), copy=False)


@lowers(TopK)
def lower_topk(op: TopK, node: Apply, k: Lowerer) -> None:
    """Lower to a library step."""
    k.call(node, "topk", node.inputs, {"axis": op.axis, "dtype": op.idx_dtype})


@body_of("topk")
def topk_steps(
    s: Steps, x: int, kth: int, *, axis: int, dtype: str
) -> tuple[int, int] | None:
    """Add a routine for the largest or the smallest, by the sign of ``kth``."""
    value, zero = s.array(x), s.integer(0)
    places = replace(value, dtype="int64")
    count = s.arithmetic("maximum", kth, s.arithmetic("sub", zero, kth))
    most = s.arithmetic("le", count, s.length(x, axis))
    least = s.arithmetic("lt", zero, count)
    s.require(x, [most, least], f"topk: kth is 0, or more than axis {axis} has")
    is_largest = s.arithmetic("lt", zero, kth)
    with s.under(is_largest, True):
        largest = s.routines("topk", [x, count], [value, places], axis, 1)
    with s.under(is_largest, False):
        smallest = s.routines("topk", [x, count], [value, places], axis, 0)
    selected = s.choose(is_largest, largest, smallest)
    at = s.choose(is_largest, largest + 1, smallest + 1)
    return selected, s.cast(at, dtype)


@step_function("cumulate")
def cumulate(x: Array, axis: int, function: str, reverse: bool) -> Array:
    """Return the running sums, products or extrema."""
    fold: Any = getattr(scanning, function)
    result: Array = fold(x, axis, x.dtype, reverse=reverse)
    return result


@lowers(CumOp)
def lower_cumulate(op: CumOp, node: Apply, k: Lowerer) -> None:
    """Lower to a library step."""
    options = {
        "axis": op.axis,
        "function": FUNCTIONS[op.mode],
        "reverse": op.reverse,
    }
    k.call(node, "cumulate", node.inputs, options)


SCANS = ("cumsum", "cumprod", "cummax", "cummin")
"""The running folds, in the order of the library's enumeration."""


@body_of("cumulate")
def cumulate_steps(s: Steps, x: int, *, axis: int, function: str, reverse: bool) -> int:
    """Add the scan routine."""
    value = s.array(x)
    flags = lib.GA_SCAN_REVERSE if reverse else 0
    params = SCANS.index(function), axis, flags
    return s.routine("scan", [x], value.dtype, value.ndim, *params)


@step_function("searchsorted")
def searchsorted(x: Array, v: Array, *sorter: Array, side: Any) -> Array:
    """Return the insertion points of values in a sorted vector.

    The kernel takes the sorter where its buffer begins, so it gets a copy.
    """
    copies = [array.copy() for array in sorter]
    places: Array = searching.searchsorted(x, v, side, *copies)
    return places


@body_of("searchsorted")
def searchsorted_steps(s: Steps, x: int, v: int, *sorter: int, side: Any) -> int | None:
    """Add the searchsorted routine, on a gathered vector if there is a sorter."""
    common = np.result_type(s.array(x).dtype, s.array(v).dtype)
    dtype = str(work_dtype(common))
    if np.dtype(dtype).kind == "c":
        return None
    for order in sorter:
        x = s.routine("take", [x, order], s.array(x).dtype, 1, 0)
    ins = [s.cast(x, dtype), s.cast(v, dtype)]
    return s.routine(
        "searchsorted", ins, "int64", s.array(v).ndim, int(side == "right")
    )


lowered_by_call(SearchSorted, "searchsorted", "side")


@step_function("unique")
def unique(x: Array, **options: Any) -> Any:
    """Return the unique elements, and the optional results; waits."""
    return sets.unique(x, **options)


@lowers(Unique)
def lower_unique(op: Unique, node: Apply, k: Lowerer) -> None:
    """Lower to a step that waits: the number of results depends on the values."""
    options = {name: getattr(op, name) for name in Unique.__props__}
    k.call(node, "unique", node.inputs, options, recorded=False)


@body_of("unique")
def unique_steps(
    s: Steps,
    x: int,
    *,
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    axis: int | None,
) -> list[int] | None:
    """Add a sort and a comparison of neighbours; None for unique along an axis."""
    value = s.array(x)
    if axis is not None and value.ndim > 1:
        return None
    lengths = [s.length(x, dimension) for dimension in range(value.ndim)]
    flat = s.reshape(x, [s.integer(-1)])
    order = s.routine("argsort", [flat], "int64", 1, 0, 0)
    ordered = s.routine("take", [flat, order], value.dtype, 1, 0)
    is_first = differs(s, ordered)
    starts = places_of_true(s, is_first)
    results = [s.routine("take", [ordered, starts], value.dtype, 1, 0)]
    if return_index:
        results.append(s.routine("take", [order, starts], "int64", 1, 0))
    if return_inverse:
        places = s.routine("scan", [s.cast(is_first, "int64")], "int64", 1, 0, 0, 0)
        counted = s.launch(
            [places], ["int64"], "o0 = i - 1;", label="places", names=("i",)
        )
        target = s.routine("empty", [s.length(order, 0)], "int64", 1)
        put = s.routine("put", [target, order, counted], "int64", 1, 0)
        results.append(s.reshape(put, lengths))
    if return_counts:
        results.append(runs(s, starts, s.length(ordered, 0)))
    return results


def differs(s: Steps, ordered: int) -> int:
    """Return a mask of the elements of a sorted vector that differ from the one before.

    The first one does; a nan does not differ from another one.
    """
    value = s.array(ordered)
    counts = s.routine("arange", [s.length(ordered, 0)], "int64", 1)
    text = "o0 = i > 0 ? i - 1 : 0;"
    before = s.launch([counts], ["int64"], text, label="unique", names=("i",))
    other = s.routine("take", [ordered, before], value.dtype, 1, 0)
    kind = kind_of(as_dtype(value.dtype))
    differ = "ga_cne(x, y)" if kind == "c" else "x != y"
    nan = "ga_cisnan({0})" if kind == "c" else "{0} != {0}"
    both_nan = f"({nan.format('x')}) && ({nan.format('y')})"
    text = f"o0 = i == 0 || (({differ}) && !({both_nan}));"
    names = "x", "y", "i"
    operands = [ordered, other, counts]
    return s.launch(operands, ["bool"], text, label="unique", names=names)


def places_of_true(s: Steps, mask: int) -> int:
    """Return the indices of true elements: the plan waits for their count."""
    positions, count = places_of(s, mask)
    return s.index(positions, [None, ("stop",)], [s.integer(0), count])


def runs(s: Steps, starts: int, end: int) -> int:
    """Return the distance of each index to the next, of the last one to the end."""
    count = s.length(starts, 0)
    counts = s.routine("arange", [count], "int64", 1)
    text = "o0 = i + 1 < n ? i + 1 : i;"
    after = s.launch([counts, count], ["int64"], text, label="runs", names=("i", "n"))
    stops = s.routine("take", [starts, after], "int64", 1, 0)
    text = "o0 = (i + 1 < n ? y : e) - x;"
    operands, names = [counts, count, stops, end, starts], ("i", "n", "y", "e", "x")
    return s.launch(operands, ["int64"], text, label="runs", names=names)
