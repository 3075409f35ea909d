"""Changes of parts of arrays: dropped, or merged with reads and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable, constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.creation.creation import alloc
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.index.advanced import AdvancedChange, Picks, are_distinct
from gpuarray.compiler.ops.shape.lengths import settled
from gpuarray.compiler.ops.shape.shape import Shape_i, shape_i
from gpuarray.compiler.ops.slicing.subtensor import (
    FULL,
    Change,
    IncSubtensor,
    Subtensor,
    length_of_slice,
)
from gpuarray.compiler.rewrites.arithmetic.canonical import fold_constants
from gpuarray.compiler.rewrites.arrays.ranges import END, Slice, ranges_of
from gpuarray.compiler.rewrites.arrays.subtensor import only_reader, typed
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    call,
    constant_of,
    match,
    negated,
    number,
    same,
)
from gpuarray.compiler.rewrites.engine.rows import row_of_op

CHANGES = [IncSubtensor, AdvancedChange]
READS = [Subtensor, Picks]


@rewrite(phase="canonicalize", ops=[Subtensor, Picks, IncSubtensor, AdvancedChange])
def fold_indexing(node: Apply) -> list[Variable] | None:
    """Fold indexing of constants, if it is small.

    constant([2.0, 3.0])[1] -> constant(3.0, "float64")
    x[constant([4, 5])[0]] -> x[4]
    """
    return fold_constants.transform(node)  # type: ignore[return-value]


def is_zeros(variable: Variable) -> bool:
    """True if every element is 0: a constant, or a repeated one."""
    number = constant_of(variable)
    if number is not None:
        return bool(number == 0)
    filled = match(variable, "second")
    if filled is not None:
        return is_zeros(filled[1])
    owner = variable.owner
    is_repeated = owner is not None and isinstance(owner.op, BroadcastTo)
    return is_repeated and owner is not None and is_zeros(owner.inputs[0])


def is_distinct(node: Apply) -> bool:
    """True if a change has each index once only."""
    op = node.op
    assert isinstance(op, Change)
    return isinstance(op, IncSubtensor) or are_distinct(op.idx_list, node.inputs[2:])


def is_known(node: Apply) -> bool:
    """True if lengths tell that a change's index is within bounds, not the device.

    The lengths are checked where the change is dropped, too (`Op.requirements`).
    """
    return not any(
        variable.type.ndim
        and variable.type.dtype != "bool"
        and not isinstance(variable, Constant)
        for variable in node.inputs[2:]
    )


@rewrite(phase="canonicalize", ops=CHANGES)
def drop_adding_zero(node: Apply) -> Variable | None:
    """Drop adding 0.

    inc_subtensor(X[1:], 0.0) -> X
    inc_subtensor(X[[0, 1]], zeros_like(X[:2])) -> X
    inc_subtensor(x[k], 0.0) -> inc_subtensor(x[k], 0.0)  # k may be out of bounds
    """
    op = node.op
    assert isinstance(op, Change)
    is_nothing = not op.set_instead_of_inc and is_zeros(node.inputs[1])
    return node.inputs[0] if is_nothing and is_known(node) else None


@rewrite(phase="canonicalize", ops=CHANGES)
def set_instead_of_adding_to_zero(node: Apply) -> Variable | None:
    """Set a part of zeros instead of adding to it.

    inc_subtensor(zeros_like(X)[0], u) -> set_subtensor(zeros_like(X)[0], u)
    inc_subtensor(zeros_like(X)[[0, 0]], u) -> inc_subtensor(zeros_like(X)[[0, 0]], u)
    """
    op = node.op
    assert isinstance(op, Change)
    if not is_zeros(node.inputs[0]) or not is_distinct(node):
        return None
    result: Variable = op.as_set(True)(*node.inputs)
    return result


@rewrite(phase="canonicalize", ops=CHANGES)
def repeat_while_changing(node: Apply) -> Variable | None:
    """Let a change broadcast a value, instead of writing it out before.

    set_subtensor(X[0], second(u, a)) -> set_subtensor(X[0], dimshuffle(a, "x"))
    inc_subtensor(X[[0, 0]], broadcast_to(u, (2, 4))) -> inc_subtensor(X[[0, 0]], u)
    """
    x, y, *index = node.inputs
    filled = match(y, "second")
    value = filled[1] if filled is not None else None
    if y.owner is not None and isinstance(y.owner.op, BroadcastTo):
        value = y.owner.inputs[0]
    if value is None or value.type == y.type:
        return None
    changed: Variable = node.op(x, value, *index)
    return changed


@rewrite(phase="canonicalize", ops=[IncSubtensor])
def change_all(node: Apply) -> Variable | None:
    """Replace setting or adding to all of an array by the values or a sum.

    set_subtensor(X[:], Y) -> Y
    inc_subtensor(X[:, :], row(u)) -> X + row(u)
    set_subtensor(X[:], a) -> second(X, dimshuffle(a, "x", "x"))
    """
    op = node.op
    assert isinstance(op, IncSubtensor)
    x, y = node.inputs[:2]
    if any(entry != FULL for entry in op.idx_list):
        return None
    if not op.set_instead_of_inc:
        return typed(call("add", x, y), node)
    return y if y.type == x.type else typed(call("second", x, y), node)


@rewrite(phase="canonicalize", ops=CHANGES)
def drop_setting_to_itself(node: Apply) -> Variable | None:
    """Drop setting a part to its own value.

    set_subtensor(X[0], X[0]) -> X
    """
    op, (x, y) = node.op, node.inputs[:2]
    assert isinstance(op, Change)
    is_same = y.owner is not None and reads_what_changes(y.owner, node)
    is_itself = is_same and y.owner is not None and y.owner.inputs[0] is x
    return x if op.set_instead_of_inc and is_itself and is_known(node) else None


def reads_what_changes(read: Apply, change: Apply) -> bool:
    """True if a node reads the very part of an array that another changes."""
    if not isinstance(read.op, Subtensor | Picks) or not isinstance(change.op, Change):
        return False
    return read.op == change.op.getter() and all(
        map(same, read.inputs[1:], change.inputs[2:])
    )


@rewrite(phase="canonicalize", ops=READS)
def read_what_was_changed(node: Apply) -> Variable | None:
    """Read elements from the change that set them; for an addition, from the sum.

    set_subtensor(X[1], u)[1] -> u
    set_subtensor(X[1], a)[1] -> second(X[1], dimshuffle(a, "x"))
    inc_subtensor(X[1:], Y[1:])[1:] -> X[1:] + Y[1:]
    set_subtensor(X[[1, 0]], Y[:2])[[1, 0]] -> Y[:2]
    set_subtensor(X[[1, 1]], Y[:2])[[1, 1]] -> set_subtensor(X[[1, 1]], Y[:2])[[1, 1]]
    """
    owner = node.inputs[0].owner
    if owner is None or not reads_what_changes(node, owner) or not is_distinct(owner):
        return None
    x, y, *index = owner.inputs
    assert isinstance(owner.op, Change)
    if owner.op.set_instead_of_inc and y.type == node.outputs[0].type:
        return y
    before: Variable = node.op(x, *index)
    row = "second" if owner.op.set_instead_of_inc else "add"
    return typed(call(row, before, y), node)


@rewrite(phase="simplify", ops=["mul", "neg"])
def scale_before_spreading(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Scale a part before it is put among zeros.

    0.5 * inc_subtensor(zeros_like(X)[0], u) -> inc_subtensor(zeros_like(X)[0], 0.5 * u)
    -set_subtensor(zeros_like(X)[0], u) -> set_subtensor(zeros_like(X)[0], -u)
    """
    for part in node.inputs:
        spreading = spread(part, fgraph)
        others = [
            constant_of(variable) for variable in node.inputs if variable is not part
        ]
        if spreading is None or not all(map(is_finite, others)):
            continue
        zeros, y, *index = spreading.inputs
        scaled = [
            y if variable is part else number(others[0], y) for variable in node.inputs
        ]
        change: Variable = spreading.op(zeros, node.op.make_node(*scaled).out, *index)
        return typed(change, node)
    return None


def is_finite(value: Any) -> bool:
    """True if a number is known, and neither infinite nor nan."""
    return value is not None and bool(np.isfinite(value))


def spread(variable: Variable, fgraph: FunctionGraph) -> Apply | None:
    """Return the node that puts a part among zeros, if it has one reader only."""
    owner = variable.owner
    if owner is None or not isinstance(owner.op, Change):
        return None
    is_alone = is_zeros(owner.inputs[0]) and only_reader(fgraph, variable)
    return owner if is_alone else None


@rewrite(phase="simplify", ops=["add", "sub"])
def add_in_place_of_a_sum(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Add a part to an array, instead of to zeros that are added to it.

    So the gradients of several parts of an array are added, and a part of a shared
    array is updated without reading the rest.

    X + inc_subtensor(zeros_like(Y)[0], u) -> inc_subtensor(X[0], u)
    set_subtensor(zeros_like(Y)[0], u) + X -> inc_subtensor(X[0], u)
    X + inc_subtensor(zeros_like(Y)[[0, 0]], u) -> inc_subtensor(X[[0, 0]], u)
    X - inc_subtensor(zeros_like(Y)[[0, 0]], u) -> inc_subtensor(X[[0, 0]], -u)
    X + inc_subtensor(zeros_like(row(v))[0], u) -> X + inc_subtensor(zeros_like(row(v))[0], u)
    """  # noqa: E501
    is_sum = row_of_op(node.op) == "add"
    for place in (1, 0) if is_sum else (1,):
        part, other = node.inputs[place], node.inputs[1 - place]
        spreading = spread(part, fgraph)
        if spreading is None or not part.type == other.type == node.outputs[0].type:
            continue  # broadcast, or rounded or wrapped in its own dtype
        assert isinstance(spreading.op, Change)
        if spreading.op.set_instead_of_inc and not is_distinct(spreading):
            continue
        y, *index = spreading.inputs[1:]
        added = y if is_sum else negated(y)
        return typed(spreading.op.as_set(False)(other, added, *index), node)
    return None


@rewrite(phase="specialize", ops=[IncSubtensor])
def join_what_fills_zeros(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Join parts that lie side by side among zeros, instead of setting one by one.

    So the gradients of the slices of an array are written once.

    inc_subtensor(set_subtensor(zeros_like(x)[2:], x[2:])[:2], u[:2]) -> join(0, u[:2], x[2:])
    set_subtensor(zeros_like(x)[2:], x[2:]) -> set_subtensor(zeros_like(x)[2:], x[2:])
    """  # noqa: E501
    if _is_changed_on(node, fgraph):
        return None
    places: list[Slice] = []
    parts: list[Variable] = []
    axes = set()
    zeros = node.outputs[0]
    while not is_zeros(zeros):
        change = zeros.owner
        is_apart = change is node or only_reader(fgraph, zeros)
        place = None if change is None or not is_apart else _place_of(change)
        if change is None or place is None:
            return None
        axes.add(place[0])
        places.append(place[1])
        parts.append(change.inputs[1])
        zeros = change.inputs[0]
    ranges = ranges_of(places)
    if len(parts) < 2 or len(axes) > 1 or ranges is None:
        return None
    order = sorted(range(len(parts)), key=ranges.__getitem__)
    ends = [0, *(ranges[i][1] for i in order)]
    if [ranges[i][0] for i in order] != ends[:-1]:
        return None
    (axis,) = axes
    joined = [parts[i] for i in order]
    last = places[order[-1]]
    if ends[-1] != END and not _covers_the_end(last, shape_i(zeros, axis)):
        lengths = [shape_i(zeros, k) for k in range(zeros.type.ndim)]
        lengths[axis] = length_of_slice((last[1], None, None), lengths[axis])
        joined.append(alloc(constant(0, zeros.type.dtype), *lengths))
    return typed(join(axis, *joined), node)


def _covers_the_end(last: Slice, length: Variable) -> bool:
    """True if a slice ends behind the last element of an axis of another slice."""
    length = settled(length)
    whole: list[Slice] = [(None, most, None) for most in match(length, "minimum") or ()]
    owner = length.owner
    if owner is not None and isinstance(owner.op, Shape_i):
        view = owner.inputs[0].owner
        if view is not None and isinstance(view.op, Subtensor):
            parts = view.op.parts(view.inputs[1:])
            kept = [part for part in parts if isinstance(part, tuple)]
            whole = kept[owner.op.i : owner.op.i + 1]
    for part in whole:
        ranges = ranges_of([last, part])
        if ranges is not None and ranges[1][1] - ranges[1][0] <= ranges[0][1]:
            return True
    return False


def _is_changed_on(node: Apply, fgraph: FunctionGraph) -> bool:
    """True if another slice of the result is changed, and nothing else reads it.

    The last change of a row of them joins all parts.
    """
    readers = list(fgraph.clients[node.outputs[0]])
    reader, place = readers[0]
    is_change = isinstance(reader, Apply) and isinstance(reader.op, IncSubtensor)
    return len(readers) == 1 and place == 0 and is_change


def _place_of(change: Apply) -> tuple[int, Slice] | None:
    """Return the axis and the slice that a change fills with all of its values."""
    op = change.op
    if not isinstance(op, IncSubtensor):
        return None
    x, y, *index = change.inputs
    cut = [(i, part) for i, part in enumerate(op.parts(index)) if part != FULL]
    is_whole = y.type == op.getter()(x, *index).type
    if len(cut) != 1 or not isinstance(cut[0][1], tuple) or not is_whole:
        return None
    return cut[0]
