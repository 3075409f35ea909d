"""Sorted arrays, the largest elements, running sums, places in sorted vectors, sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from gpuarray import scanning, searching, sets, sorting
from gpuarray._native import lib
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.extra_ops import SearchSorted, Unique
from gpuarray.compiler.ops.scanning import FUNCTIONS, CumOp
from gpuarray.compiler.ops.sorting import ArgSort, Sort, TopK
from gpuarray.dtypes import work_dtype


@step_function("sort")
def sort(x: Array, axis: int) -> Array:
    """The elements in order."""
    ordered: Array = sorting.sort(x, axis)
    return ordered


@lowers(Sort)
def lower_sort(op: Sort, node: Apply, k: Lowerer) -> None:
    """A library step of several launches."""
    k.call(node, "sort", node.inputs, {"axis": op.axis})


@step_function("argsort")
def argsort(x: Array, axis: int) -> Array:
    """The places in order."""
    places: Array = sorting.argsort(x, axis)
    return places


@lowers(ArgSort)
def lower_argsort(op: ArgSort, node: Apply, k: Lowerer) -> None:
    """A library step of several launches."""
    k.call(node, "argsort", node.inputs, {"axis": op.axis})


@body_of("sort")
def sort_steps(s: Steps, x: int, *, axis: int) -> int:
    """A routine."""
    value = s.array(x)
    return s.routine("sort", [x], value.dtype, value.ndim, axis, 0)


@body_of("argsort")
def argsort_steps(s: Steps, x: int, *, axis: int) -> int:
    """A routine."""
    return s.routine("argsort", [x], "int64", s.array(x).ndim, axis, 0)


@step_function("topk")
def topk(x: Array, kth: int, axis: int, dtype: str) -> tuple[Array, Array]:
    """The largest or smallest elements, and their places."""
    if not 1 <= abs(kth) <= x.shape[axis]:
        raise GraphValueError(
            f"topk: kth is {kth} for axis {axis} of length {x.shape[axis]}"
        )
    values, places = sorting.topk(x, abs(kth), axis, largest=kth > 0)
    return values, places.astype(np.dtype(dtype), copy=False)


@lowers(TopK)
def lower_topk(op: TopK, node: Apply, k: Lowerer) -> None:
    """A library step."""
    k.call(node, "topk", node.inputs, {"axis": op.axis, "dtype": op.idx_dtype})


@body_of("topk")
def topk_steps(
    s: Steps, x: int, kth: int, *, axis: int, dtype: str
) -> tuple[int, int] | None:
    """A routine for the largest or the smallest, as the sign says."""
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
    found = s.choose(is_largest, largest, smallest)
    at = s.choose(is_largest, largest + 1, smallest + 1)
    return found, s.cast(at, dtype)


@step_function("cumulate")
def cumulate(x: Array, axis: int, function: str, reverse: bool) -> Array:
    """The running sums or products."""
    fold: Any = getattr(scanning, function)
    made: Array = fold(x, axis, x.dtype, reverse=reverse)
    return made


@lowers(CumOp)
def lower_cumulate(op: CumOp, node: Apply, k: Lowerer) -> None:
    """A library step."""
    options = {
        "axis": op.axis,
        "function": FUNCTIONS[op.mode],
        "reverse": op.reverse,
    }
    k.call(node, "cumulate", node.inputs, options)


SCANS = ("cumsum", "cumprod", "cummax", "cummin")
"""The functions of running folds, in the order of the library's kinds."""


@body_of("cumulate")
def cumulate_steps(s: Steps, x: int, *, axis: int, function: str, reverse: bool) -> int:
    """A routine."""
    value = s.array(x)
    flags = lib.GA_SCAN_REVERSE if reverse else 0
    params = SCANS.index(function), axis, flags
    return s.routine("scan", [x], value.dtype, value.ndim, *params)


@step_function("searchsorted")
def searchsorted(x: Array, v: Array, *sorter: Array, side: Any) -> Array:
    """The places of values in a sorted vector.

    The kernel takes the sorter where its buffer begins, so it gets a copy.
    """
    copies = [each.copy() for each in sorter]
    places: Array = searching.searchsorted(x, v, side, *copies)
    return places


@body_of("searchsorted")
def searchsorted_steps(s: Steps, x: int, v: int, *sorter: int, side: Any) -> int | None:
    """A routine; with a sorter on what it takes."""
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


@lowers(SearchSorted)
def lower_searchsorted(op: SearchSorted, node: Apply, k: Lowerer) -> None:
    """One launch."""
    k.call(node, "searchsorted", node.inputs, {"side": op.side})


@step_function("unique")
def unique(x: Array, **options: Any) -> Any:
    """The different elements, and what was asked for beside them; waits."""
    return sets.unique(x, **options)


@lowers(Unique)
def lower_unique(op: Unique, node: Apply, k: Lowerer) -> None:
    """How many there are only the values tell, so the plan waits."""
    options = {name: getattr(op, name) for name in Unique.__props__}
    k.call(node, "unique", node.inputs, options, recorded=False)
