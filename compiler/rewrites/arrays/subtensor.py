"""Indexing moved to where less is computed: merged, or before operations.

An index is a list of parts: a variable for an integer, a tuple (start, stop, step) for
a slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo, broadcast_to
from gpuarray.compiler.ops.creation.joining import Join
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle,
    Reshape,
    Shape_i,
    dimshuffle,
    elements,
    reshape,
    shape_i,
)
from gpuarray.compiler.ops.slicing.subtensor import (
    Subtensor,
    form_of,
    integer_of,
    keeps_the_only_one,
    length_of_slice,
    numbers_of,
)
from gpuarray.compiler.ops.variables.basic import MakeVector, is_constant
from gpuarray.compiler.rewrites.arrays.ranges import (
    Slice,
    are_apart,
    counted_slices,
    slice_of,
    within,
)
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import cast

Part = Any
FULL = (None, None, None)
REVERSED = (None, None, -1)


# ---- the parts of an index ----


def parts_of(node: Apply) -> list[Part]:
    """Return the parts of a view's index, one for each axis of the array."""
    op, x = node.op, node.inputs[0]
    assert isinstance(op, Subtensor)
    return op.parts(node.inputs[1:]) + [FULL] * (x.type.ndim - len(op.idx_list))


def view(x: Variable, parts: Sequence[Part]) -> Variable:
    """Return ``x`` indexed by parts; ``x`` itself if they keep everything."""
    entries = list(parts)
    while entries and entries[-1] == FULL:
        entries.pop()
    if not entries:
        return x
    form, variables = form_of(entries)
    out: Variable = Subtensor(form)(x, *variables)
    return out


def is_slice(part: Part) -> bool:
    """True if the part keeps its axis."""
    return isinstance(part, tuple)


def is_first(part: Part) -> bool:
    """True if the part is the integer of the only element of an axis of length 1."""
    return isinstance(part, Constant) and int(part.data) in (0, -1)


def integer(value: int) -> Constant:
    """Return a constant of an index."""
    return core.constant(value, "int64")


def only_reader(fgraph: FunctionGraph, variable: Variable) -> bool:
    """True if the variable is read once."""
    return len(fgraph.clients[variable]) == 1


def is_cut_apart(fgraph: FunctionGraph, variable: Variable) -> bool:
    """True if all that reads a variable are slices of it that have nothing in common.

    They are slices without steps along one axis, counted from its beginning, between
    constants or multiples of one length.
    """
    axes, slices = set(), []
    for reader, place in fgraph.clients[variable]:
        if not isinstance(reader, Apply) or not isinstance(reader.op, Subtensor):
            return False
        cut = [(i, part) for i, part in enumerate(parts_of(reader)) if part != FULL]
        if place > 0 or len(cut) != 1 or not is_slice(cut[0][1]):
            return False
        axis, part = cut[0]
        axes.add(axis)
        slices.append(part)
    return len(axes) == 1 and are_apart(slices)


def indexed_later(fgraph: FunctionGraph, node: Apply) -> bool:
    """True if a node's result is only computed with and indexed."""
    while True:
        (result,) = node.outputs
        if not only_reader(fgraph, result):
            return False
        ((reader, _),) = fgraph.clients[result]
        if not isinstance(reader, Apply) or len(reader.outputs) > 1:
            return False
        if isinstance(reader.op, Subtensor):
            return reader.inputs[0] is result
        if not isinstance(reader.op, Elemwise) or reader.op.destroy_map:
            return False
        node = reader


def typed(result: Variable, node: Apply) -> Variable | None:
    """Return a rule's result, if it has the type of the node's output."""
    return result if result.type == node.outputs[0].type else None


# ---- useless parts ----


@rewrite(phase="canonicalize", ops=[Subtensor])
def drop_useless_slices(node: Apply) -> Variable | None:
    """Drop slices over all of an axis.

    X[0, :] -> X[0]
    X[:] -> X
    X[0 : X.shape[0], ::1] -> X
    row(x)[0:, 1:] -> row(x)[:, 1:]
    """
    x = node.inputs[0]
    short = [
        shortened(x, axis, part) if is_slice(part) else part
        for axis, part in enumerate(parts_of(node))
    ]
    return typed(view(x, short), node)


def shortened(x: Variable, axis: int, part: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a slice without parts that equal the defaults."""
    if x.type.broadcastable[axis] and keeps_the_only_one(part):
        return FULL
    start, stop, step = part
    if is_constant(step, 1):
        step = None
    if step is None and is_constant(start, 0):
        start = None
    if step is None and stop is not None and is_length(stop, x, axis):
        stop = None
    return start, stop, step


def is_length(variable: Variable, x: Variable, axis: int) -> bool:
    """True if a variable is the length of an axis."""
    owner = variable.owner
    if owner is None or not isinstance(owner.op, Shape_i):
        return False
    return owner.inputs[0] is x and owner.op.i == axis


@rewrite(phase="canonicalize", ops=[Subtensor])
def drop_axes_of_one(node: Apply) -> Variable | None:
    """Drop an axis of length 1 instead of indexing it.

    row(x)[0] -> dimshuffle(row(x), 1)
    row(x)[-1, 1:] -> dimshuffle(row(x), 1)[1:]
    """
    x = node.inputs[0]
    parts = parts_of(node)
    flags = x.type.broadcastable
    dropped = [i for i, part in enumerate(parts) if flags[i] and is_first(part)]
    remaining = [axis for axis in range(x.type.ndim) if axis not in dropped]
    return typed(
        view(dimshuffle(x, *remaining), [parts[axis] for axis in remaining]), node
    )


# ---- views of views ----


@rewrite(phase="canonicalize", ops=[Subtensor])
def merge_subtensors(node: Apply) -> Variable | None:
    """Merge a view of a view, where the numbers are known.

    X[1][2] -> X[1, 2]
    X[:, 1][2:] -> X[2:, 1]
    x[1:][2:] -> x[3:]
    x[1:3][1:] -> x[2:3]
    x[:3][:2] -> x[:2]
    x[::2][1::2] -> x[2::4]
    x[1::2][1] -> x[3]
    x[::-1][::-1] -> x
    x[: 2 * y.shape[0]][y.shape[0] : 2 * y.shape[0]] -> x[y.shape[0] : 2 * y.shape[0]]
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, Subtensor):
        return None
    outer = iter(parts_of(node))
    merged: list[Part] = []
    flags = owner.inputs[0].type.broadcastable
    for is_one, part in zip(flags, parts_of(owner), strict=True):
        merged_entry = merged_part(part, next(outer)) if is_slice(part) else part
        if merged_entry is None or (is_one and part != FULL and merged_entry != part):
            return None  # an index beyond an axis of length 1 has no type
        merged.append(merged_entry)
    return typed(view(owner.inputs[0], merged), node)


def merged_part(inner: tuple[Any, ...], outer: Part) -> Part | None:
    """Return a part in terms of the axis that was sliced; None if not known."""
    if inner == FULL or outer == FULL:
        return outer if inner == FULL else inner
    first, end, stride = numbers_of(inner) or (None, None, None)
    if (first, end, stride) == REVERSED and is_slice(outer):
        return FULL if numbers_of(outer) == REVERSED else None
    first, stride = first or 0, stride or 1
    if numbers_of(inner) is None or min(first, end or 0, stride - 1) < 0:
        return merged_multiples(inner, outer) if is_slice(outer) else None
    if not is_slice(outer):
        place = integer_of(outer)
        if place is None or place < 0:
            return None
        place = first + place * stride
        return integer(place) if end is None or place < end else None
    if numbers_of(outer) is None:
        return merged_multiples(inner, outer)
    return merged_slices(first, end, stride, numbers_of(outer))


def merged_multiples(inner: Slice, outer: Slice) -> Slice | None:
    """Return a slice of a slice, both between multiples of one length."""
    counted = counted_slices([inner, outer])
    if counted is None:
        return None
    (of_array, of_slice), unit = counted
    return slice_of(within(of_array, of_slice), unit)


def merged_slices(
    first: int, end: int | None, stride: int, outer: tuple[Any, ...] | None
) -> Part | None:
    """Return a slice of a slice whose numbers are not negative."""
    start, stop, step = outer or (None, None, None)
    start, step = start or 0, step or 1
    if outer is None or min(start, stop or 0, step - 1) < 0:
        return None
    ends = [end] if end is not None else []
    ends += [first + stop * stride] if stop is not None else []
    bounds = (first + start * stride, min(ends, default=None), step * stride)
    return (
        integer(bounds[0]) if bounds[0] else None,
        None if bounds[1] is None else integer(bounds[1]),
        integer(bounds[2]) if bounds[2] != 1 else None,
    )


@rewrite(phase="canonicalize", ops=[Subtensor])
def index_before_moving_axes(node: Apply) -> Variable | None:
    """Index before the axes are moved.

    X.T[1] -> X[:, 1]
    X.T[1:, 0] -> X[0, 1:]
    X.T[1:] -> X[:, 1:].T
    row(x)[:, 1:] -> row(x[1:])
    row(x)[0, 1:] -> x[1:]
    row(x)[-1] -> x
    row(x)[1:] -> row(x)[1:]   # none of one
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, DimShuffle):
        return None
    (x,) = owner.inputs
    inner: list[Part] = [FULL] * x.type.ndim
    order: list[int | str] = []
    for place, part in zip(owner.op.new_order, parts_of(node), strict=True):
        if isinstance(place, int):
            inner[place] = part
        if is_slice(part):
            order.append(place)
        if place == "x" and part != FULL and not is_first(part):
            return None
    sliced = [axis for axis, part in enumerate(inner) if is_slice(part)]
    moved = [sliced.index(axis) if isinstance(axis, int) else axis for axis in order]
    return typed(dimshuffle(view(x, inner), *moved), node)


@rewrite(phase="canonicalize", ops=[Subtensor])
def index_before_repeating(node: Apply) -> Variable | None:
    """Index a repeated array before it is repeated.

    broadcast_to(a, (3, 4))[1] -> broadcast_to(a, (4,))
    broadcast_to(row(x), (3, x.shape[0]))[0, 1] -> row(x)[0, 1]
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, BroadcastTo):
        return None
    x, vector = owner.inputs
    lengths = elements(vector)
    if lengths is None:
        return None
    extra = len(lengths) - x.type.ndim
    inner: list[Part] = []
    lengths_left: list[Any] = []
    for axis, part in enumerate(parts_of(node)):
        repeats = axis < extra or x.type.broadcastable[axis - extra]
        if is_slice(part):
            lengths_left.append(length_of_slice(part, lengths[axis]))
        if axis >= extra:
            inner.append(repeated_part(part) if repeats else part)
    if any(length is None for length in lengths_left):
        return None
    indexed = view(x, inner)
    return typed(broadcast_to(indexed, lengths_left) if lengths_left else indexed, node)


def repeated_part(part: Part) -> Part:
    """Return a part of an index on an axis of length 1 that was repeated."""
    return FULL if is_slice(part) else integer(0)


# ---- views of results ----


@rewrite(phase="canonicalize", ops=[Subtensor])
def index_before_computing(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Index the operands of an elementwise operation, not its result.

    So do all slices of a result, if none has elements of another.

    exp(X)[0] -> exp(X[0])
    (X + row(u))[1, 2:] -> X[1, 2:] + row(u)[0, 2:]
    (X + row(u))[1:] -> X[1:] + row(u)
    """
    whole = node.inputs[0]
    owner = whole.owner
    if owner is None or not isinstance(owner.op, Elemwise) or len(owner.outputs) > 1:
        return None
    if owner.op.destroy_map or not (
        only_reader(fgraph, whole) or is_cut_apart(fgraph, whole)
    ):
        return None
    if indexed_later(fgraph, node):
        return None  # that index moves here first, and both move on as one
    parts = parts_of(node)
    inputs = [
        view(
            operand,
            [
                repeated_part(part) if flag and not repeats else part
                for part, flag, repeats in zip(
                    parts,
                    operand.type.broadcastable,
                    whole.type.broadcastable,
                    strict=True,
                )
            ],
        )
        for operand in owner.inputs
    ]
    return typed(owner.op.make_node(*inputs).out, node)


@rewrite(phase="canonicalize", ops=[Subtensor])
def index_before_joining(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Index the parts of a join, or take one of them.

    join(0, row(x), row(y))[1] -> row(y)[0]
    join(0, row(x), row(y))[-2] -> row(x)[0]
    join(1, X, Y)[0] -> join(0, X[0], Y[0])
    join(0, X, Y)[:, 1:] -> join(0, X[:, 1:], Y[:, 1:])
    """
    whole = node.inputs[0]
    owner = whole.owner
    if owner is None or not isinstance(owner.op, Join):
        return None
    parts, axis = parts_of(node), owner.op.axis
    along = parts[axis]
    if along != FULL:
        place = None if is_slice(along) else integer_of(along)
        ones = all(operand.type.broadcastable[axis] for operand in owner.inputs)
        if place is None or not ones or place not in places_of(owner.inputs):
            return None
        parts[axis] = integer(0)
        return typed(view(owner.inputs[place], parts), node)
    if not only_reader(fgraph, whole):
        return None
    left = sum(is_slice(part) for part in parts[:axis])
    joined = Join(left)(*(view(operand, parts) for operand in owner.inputs))
    return typed(joined, node)


def places_of(sequence: Sequence[Any]) -> range:
    """Return the valid indices of a sequence, from the front and from the back."""
    return range(-len(sequence), len(sequence))


@rewrite(phase="simplify", ops=[Subtensor])
def index_before_multiplying(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Multiply only the rows and columns that are indexed.

    dot(X, Y)[1] -> dot(X[1], Y)
    dot(X, Y)[:, 1:] -> dot(X, Y[:, 1:])
    dot(X, Y)[1, 2] -> dot(X[1], Y[:, 2])
    dot(X, u)[1:] -> dot(X[1:], u)
    """
    whole = node.inputs[0]
    owner = whole.owner
    if owner is None or not isinstance(owner.op, Dot):
        return None
    if not only_reader(fgraph, whole):
        return None
    a, b = owner.inputs
    parts = parts_of(node)
    rows = parts[: a.type.ndim - 1]
    columns = [FULL] * (b.type.ndim - 1) + parts[len(rows) :]
    return typed(owner.op.make_node(view(a, rows), view(b, columns)).out, node)


@rewrite(phase="specialize", ops=[Reshape])
def reshape_before_reversing(node: Apply) -> Variable | None:
    """Merge two reversed axes before they are reversed: that is a view, not a copy.

    reshape(X[::-1, ::-1], (-1,)) -> reshape(reshape(X, (-1,))[::-1], (-1,))
    """
    reversed_x, lengths = node.inputs
    owner = reversed_x.owner
    if owner is None or not isinstance(owner.op, Subtensor):
        return None
    x, ndim = owner.inputs[0], reversed_x.type.ndim
    parts = parts_of(owner)
    are_reversed = [is_slice(p) and numbers_of(p) == REVERSED for p in parts]
    if are_reversed != [True, True] + [False] * (ndim - 2):
        return None
    if any(part != FULL for part in parts[2:]) or node.outputs[0].type.ndim >= ndim:
        return None
    others = [shape_i(x, axis) for axis in range(2, ndim)]
    count = shape_i(x, 0) * shape_i(x, 1) if others else -1
    rows = reshape(x, [count, *others], ndim=ndim - 1)
    return typed(node.op.make_node(view(rows, [parts[0]]), lengths).out, node)


@rewrite(phase="canonicalize", ops=[Subtensor])
def take_from_made_vector(node: Apply) -> Variable | None:
    """Replace an element of a vector made of scalars by the scalar.

    subtensor(make_vector(shape_i(X, 0), shape_i(X, 1)), 1) -> shape_i(X, 1)
    subtensor(make_vector(1, 2, shape_i(x, 0)), slice(2)) -> make_vector(1, 2)
    """
    x = node.inputs[0]
    if x.owner is None or not isinstance(x.owner.op, MakeVector):
        return None
    (part,) = parts_of(node)
    scalars = x.owner.inputs
    known = numbers_of(part) if is_slice(part) else integer_of(part)
    if isinstance(known, int):
        fits = known in places_of(scalars)
        return cast(scalars[known], x.type.dtype) if fits else None
    if known is None:
        return None
    selected = scalars[slice(*known)]
    return typed(MakeVector(x.type.dtype)(*selected), node) if selected else None
