"""Indexing: views by integers and slices, gather and scatter by arrays and masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gpuarray._indexing.advanced_indexing import (
    gather_axes,
    pick,
    put_at,
)
from gpuarray._indexing.indexing import assign, get, view_of
from gpuarray._kernels.codegen import convert
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.ops.fused.row_steps import Fold
from gpuarray.compiler.ops.index.advanced import MASK, AdvancedChange, Nonzero, Picks
from gpuarray.compiler.ops.slicing.subtensor import (
    Change,
    Entry,
    IncSubtensor,
    Slice,
    Subtensor,
    check_lengths,
    check_range,
    key_of,
)

Range = tuple[int, int]


# ---- by integers and slices ----


@lowers(Subtensor)
def lower_subtensor(op: Subtensor, node: Apply, k: Lowerer) -> None:
    """Lower to a view: nothing is launched."""
    x, *integers = node.inputs
    ins = (k.number(x), *map(k.integer, integers))
    form = tuple(map(parts_of, op.idx_list))
    k.add(plan.Index("subtensor", k.origin(node), k.outputs(node), ins, form))


def parts_of(entry: Entry) -> tuple[str, ...] | None:
    """Return the parts of a slice that are given; None for an integer."""
    if not isinstance(entry, Slice):
        return None
    return tuple(name for name, part in entry._asdict().items() if part is not None)


@step_function("inc_subtensor")
def inc_subtensor(
    x: Array,
    y: Array,
    *integers: int,
    form: Sequence[Entry],
    operation: str,
    inplace: bool,
    repeats: Sequence[bool],
) -> Array:
    """Return the array with a view of it set or added to; in place if ``inplace``."""
    key = key_of(form, integers)
    check_places(x, key, ())
    result = x if inplace else x.copy()
    part = view_of(result, key)
    check_lengths(operation, part.shape, y.shape, repeats)
    if operation == "set_subtensor":
        assign(part, Ellipsis, y)
    else:
        part += y
    return result


@body_of("inc_subtensor")
def inc_subtensor_steps(
    s: Steps,
    x: int,
    y: int,
    *integers: int,
    form: Sequence[Entry],
    operation: str,
    inplace: bool,
    repeats: Sequence[bool],
) -> int:
    """Add a copy, unless in place, and an assignment to a view of it."""
    result = x if inplace else s.copy(x)
    part = s.index(result, tuple(map(parts_of, form)), integers)
    value = s.array(part)
    lengths = [s.length(part, axis) for axis in range(value.ndim)]
    require_lengths(s, operation, lengths, y, repeats)
    assigned = y if operation == "set_subtensor" else s.row("add", part, y)
    s.routine("assign", [part, assigned], value.dtype, value.ndim)
    return result


def require_lengths(
    s: Steps, operation: str, part: Sequence[int], y: int, repeats: Sequence[bool]
) -> None:
    """Fail unless values have the part's lengths, save where they repeat."""
    extra = len(part) - s.array(y).ndim
    conditions = [
        s.arithmetic("eq", s.length(y, axis), part[extra + axis])
        for axis, flag in enumerate(repeats)
        if not flag
    ]
    s.require(y, conditions, f"{operation}: Input dimension mis-match")


@lowers(IncSubtensor)
def lower_inc_subtensor(op: IncSubtensor, node: Apply, k: Lowerer) -> None:
    """Lower to a copy, unless in place, and one launch."""
    k.call(
        node,
        "inc_subtensor",
        node.inputs,
        options_of(op, node),
        inplace=over(op),
        label=op.operation,
    )


def options_of(op: Change, node: Apply) -> dict[str, Any]:
    """Return the options of a change: all but its arrays and integers."""
    return {
        "form": op.idx_list,
        "operation": op.operation,
        "inplace": op.inplace,
        "repeats": node.inputs[1].type.broadcastable,
    }


def over(op: Change) -> tuple[int, ...]:
    """Return the input whose memory the result takes over."""
    return (0,) if op.inplace else ()


# ---- by arrays and masks ----


@step_function("advanced_subtensor")
def advanced_subtensor(
    x: Array, *index: Any, form: Sequence[Entry], ranges: Sequence[Range | None]
) -> Array:
    """Return a new array of the elements that the index selects."""
    key = key_of(form, index)
    check_places(x, key, ranges)
    selected: Array = get(x, key)
    return selected


def count_nonzero(s: Steps, x: int) -> int:
    """Return the number of nonzero elements: the plan waits for it."""
    value = s.array(x)
    text = convert("x", np.dtype(value.dtype), np.dtype("bool"))
    fold = Fold("add", 0, "int64", "int64", of_none=True)
    axes = tuple(range(value.ndim))
    return s.read(s.reduction([fold], [(text, "bool")], ["x"], [x], axes))


def places_of(s: Steps, x: int) -> tuple[int, int]:
    """Return indices of the nonzero elements, a row for each axis, and their count."""
    return s.routine("nonzero", [x], "int64", 2), count_nonzero(s, x)


@body_of("nonzero")
def nonzero_steps(s: Steps, x: int) -> int:
    """Add the nonzero routine and a view of as many indices as there are."""
    indices, count = places_of(s, x)
    return s.index(indices, ((), ("stop",)), [count])


def unmasked(
    s: Steps, x: int, index: Sequence[int], form: Sequence[Entry]
) -> tuple[list[int], list[Entry]]:
    """Return the index with arrays of indices for each mask, and its form."""
    rest = iter(index)
    indices: list[int] = []
    entries: list[Entry] = []
    axis = 0
    for entry in form:
        count = len(parts_of(entry) or ()) if isinstance(entry, Slice) else 1
        numbers = [next(rest) for _ in range(count)]
        if entry != MASK:
            indices += numbers
            entries.append(entry)
            axis += 1
            continue
        (mask,) = numbers
        ndim = s.array(mask).ndim
        s.mask_fits(x, mask, axis)
        rows, places = places_of(s, mask)
        for k in range(ndim):
            indices.append(s.index(rows, (None, ("stop",)), [s.integer(k), places]))
            entries.append("int64")
        axis += ndim
    return indices, entries


@dataclass(frozen=True, slots=True)
class Sides:
    """A view whose array-indexed axes stand side by side, from ``first`` on."""

    view: int
    arrays: tuple[int, ...]
    first: int


def sides(s: Steps, x: int, index: Sequence[int], form: Sequence[Entry]) -> Sides:
    """Return the view of ``x`` by the index's integers and slices, and its arrays."""
    rest = iter(index)
    parts: list[tuple[str, ...] | None] = []
    integers: list[int] = []
    arrays: list[int] = []
    axes: list[int] = []  # of the arrays, in the view
    runs, in_run, view_axis = 0, False, 0
    for entry in form:
        stands = not isinstance(entry, Slice)
        slice_parts = parts_of(entry) or ()
        numbers = [next(rest)] if stands else [next(rest) for _ in slice_parts]
        runs += stands and not in_run
        in_run = stands
        is_array = stands and s.is_array(numbers[0])
        if is_array:
            arrays += numbers
            axes.append(view_axis)
        else:
            integers += numbers
        parts.append(None if stands and not is_array else slice_parts)
        view_axis += is_array or not stands
    view = s.index(x, parts, integers)
    others = [axis for axis in range(s.array(view).ndim) if axis not in axes]
    first = 0 if runs > 1 else axes[0]
    order = [*others[:first], *axes, *others[first:]]
    if order != sorted(order):
        view = s.view(view, order)
    return Sides(view, tuple(arrays), first)


def joint_rank(s: Steps, arrays: Sequence[int]) -> int:
    """Return the broadcast rank of arrays."""
    return max(s.array(array).ndim for array in arrays)


def picked_lengths(s: Steps, selection: Sides) -> list[int]:
    """Return the lengths of an index's result."""
    ndim = joint_rank(s, selection.arrays)
    one = s.integer(1)
    joint = [one] * ndim
    for array in selection.arrays:
        rank = s.array(array).ndim
        for axis in range(rank):
            place, length = ndim - rank + axis, s.length(array, axis)
            joint[place] = s.wider(joint[place], length, one)
    count = s.array(selection.view).ndim
    last = selection.first + len(selection.arrays)
    before = [s.length(selection.view, axis) for axis in range(selection.first)]
    return [
        *before,
        *joint,
        *(s.length(selection.view, axis) for axis in range(last, count)),
    ]


@body_of("advanced_subtensor")
def advanced_subtensor_steps(
    s: Steps,
    x: int,
    *index: Any,
    form: Sequence[Entry],
    ranges: Sequence[Range | None],
) -> int:
    """Add a view and a gather from it; the plan waits for masks."""
    selection = sides(s, x, *unmasked(s, x, index, form))
    value = s.array(selection.view)
    ndim = value.ndim - len(selection.arrays) + joint_rank(s, selection.arrays)
    ins = [selection.view, *selection.arrays]
    return s.routine("take", ins, value.dtype, ndim, selection.first)


@lowers(Picks)
def lower_advanced_subtensor(op: Picks, node: Apply, k: Lowerer) -> None:
    """Lower to one gather; the plan waits for a mask's count first.

    Out-of-bounds indices that the device computes raise at the next wait for the
    context.
    """
    options = {"form": op.idx_list, "ranges": ranges_of(node.inputs[1:])}
    is_recorded = MASK not in op.idx_list
    k.call(node, "advanced_subtensor", node.inputs, options, recorded=is_recorded)


@step_function("advanced_inc_subtensor")
def advanced_inc_subtensor(
    x: Array,
    y: Array,
    *index: Any,
    form: Sequence[Entry],
    operation: str,
    inplace: bool,
    repeats: Sequence[bool],
    ranges: Sequence[Range | None],
) -> Array:
    """Return the array with the indexed elements set, or added to for each index."""
    key = key_of(form, index)
    check_places(x, key, ranges)
    result = x if inplace else x.copy()
    picked = pick(result, key)
    view, first = gather_axes(picked, view_of(result, tuple(picked.entries)))
    arrays = np.broadcast_shapes(*(array.shape for array in picked.indices))
    last = first + len(picked.indices)
    shape = (*view.shape[:first], *arrays, *view.shape[last:])
    check_lengths(operation, shape, y.shape, repeats)
    put_at(view, picked.indices, first, y, adds=operation != "set_subtensor")
    return result


@body_of("advanced_inc_subtensor")
def advanced_inc_subtensor_steps(
    s: Steps,
    x: int,
    y: int,
    *index: Any,
    form: Sequence[Entry],
    operation: str,
    inplace: bool,
    repeats: Sequence[bool],
    ranges: Sequence[Range | None],
) -> int:
    """Add a copy, unless in place, and a scatter into a view of it."""
    places = unmasked(s, x, index, form)
    result = x if inplace else s.copy(x)
    part = sides(s, result, *places)
    value = s.array(part.view)
    require_lengths(s, operation, picked_lengths(s, part), y, repeats)
    change = "put" if operation == "set_subtensor" else "add_at"
    ins = [part.view, *part.arrays, y]
    s.routine(change, ins, value.dtype, value.ndim, part.first)
    return result


@lowers(AdvancedChange)
def lower_advanced_change(op: AdvancedChange, node: Apply, k: Lowerer) -> None:
    """Lower to a copy, unless in place, and a scatter; the plan waits for a mask.

    Values added to one element are added in the order of their indices.
    """
    options = options_of(op, node) | {"ranges": ranges_of(node.inputs[2:])}
    k.call(
        node,
        "advanced_inc_subtensor",
        node.inputs,
        options,
        recorded=MASK not in op.idx_list,
        inplace=over(op),
        label=op.operation,
    )


def ranges_of(variables: Sequence[Variable]) -> tuple[Range | None, ...]:
    """Return the extrema of each integer array, None unless it is a constant."""
    return tuple(
        (int(variable.data.min()), int(variable.data.max()))
        if isinstance(variable, Constant) and variable.data.size
        else None
        for variable in variables
        if variable.type.ndim
    )


def check_places(x: Array, key: Sequence[Any], ranges: Sequence[Range | None]) -> None:
    """Raise IndexError for an integer, or an array of a range, out of bounds.

    ``ranges`` is for the arrays among the entries of ``key``, in order.
    """
    known = iter(ranges)
    axis = 0
    for entry in key:
        span: Range | None = (entry, entry) if isinstance(entry, int) else None
        is_mask = False
        if isinstance(entry, Array) and entry.ndim:
            span = next(known)
            is_mask = entry.dtype == np.bool_
        if span is not None and not is_mask:
            check_range(*span, axis, x.shape[axis])
        axis += entry.ndim if is_mask else 1


lowered_by_call(Nonzero, "nonzero", recorded=False)
