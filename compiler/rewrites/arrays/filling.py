"""Filled and repeated arrays, and reshapes: those that can be dropped or moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce as fold

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.ops.broadcast.broadcast import (
    BroadcastTo,
    Rebroadcast,
    broadcast_to,
)
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.lengths import parts_of
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle,
    Reshape,
    Shape_i,
    dimshuffle,
    elements,
    reshape,
    shape_i,
)
from gpuarray.compiler.ops.variables.basic import is_constant
from gpuarray.compiler.rewrites.arrays.joining import typed
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    call,
    cast,
    constant_of,
    match,
    same,
)
from gpuarray.compiler.rewrites.engine.rows import row_of_op


def length_of(x: Variable, axis: int) -> Variable:
    """Return the length of an axis, from the first array that an expression reads."""
    while x.owner is not None and not x.type.broadcastable[axis]:
        if not isinstance(x.owner.op, Elemwise):
            break
        x = next(v for v in x.owner.inputs if not v.type.broadcastable[axis])
    return shape_i(x, axis)


# ---- repeated values ----


@rewrite(phase="canonicalize", ops=[BroadcastTo])
def keep_own_shape(node: Apply) -> Variable | None:
    """Drop a broadcast to the array's own shape.

    broadcast_to(X, X.shape) -> X
    broadcast_to(exp(X), X.shape) -> exp(X)
    """
    x, lengths = node.inputs
    axis_lengths = elements(lengths)
    if axis_lengths is None or x.type != node.outputs[0].type:
        return None
    is_own = all(
        same(length_of(x, axis), length) for axis, length in enumerate(axis_lengths)
    )
    return x if is_own else None


@rewrite(phase="canonicalize", ops=[BroadcastTo])
def repeat_once(node: Apply) -> Variable | None:
    """Keep the last of several broadcasts; it adds new axes on the left itself.

    broadcast_to(broadcast_to(a, (4,)), (3, 4)) -> broadcast_to(a, (3, 4))
    broadcast_to(row(x), (3, x.shape[0])) -> broadcast_to(x, (3, x.shape[0]))
    """
    x, lengths = node.inputs
    owner = x.owner
    if owner is None:
        return None
    if isinstance(owner.op, DimShuffle):
        order = owner.op.new_order
        inner = owner.inputs[0]
        if order != ("x",) * (len(order) - inner.type.ndim) + tuple(
            range(inner.type.ndim)
        ):
            return None
    elif isinstance(owner.op, BroadcastTo):
        inner = owner.inputs[0]
    else:
        return None
    return typed(node.op.make_node(inner, lengths).out, node)


@rewrite(phase="specialize", ops=[Elemwise])
def compute_before_repeating(node: Apply) -> Variable | None:
    """Apply a function before a broadcast.

    exp(broadcast_to(a, (3, 4))) -> broadcast_to(exp(a), (3, 4))
    """
    if len(node.inputs) != 1 or len(node.outputs) != 1:
        return None
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, BroadcastTo):
        return None
    x, lengths = owner.inputs
    value = node.op.make_node(x).out
    return typed(owner.op.make_node(value, lengths).out, node)


@rewrite(phase="canonicalize", ops=[Elemwise])
def broadcast_instead_of_repeating(node: Apply) -> Variable | None:
    """Let a value broadcast with an operand of the shape that it is repeated to.

    X + broadcast_to(a, X.shape) -> X + dimshuffle(a, "x", "x")
    exp(X) * broadcast_to(u, X.shape) -> exp(X) * row(u)
    X + broadcast_to(u, (X.shape[0], u.shape[0])) -> X + row(u)
    u + broadcast_to(a, (4,)) -> u + broadcast_to(a, (4,))
    """
    if len(node.outputs) != 1 or len(node.inputs) < 2:
        return None
    for index, operand in enumerate(node.inputs):
        value = unrepeated(operand, [v for v in node.inputs if v is not operand])
        if value is not None:
            inputs = [*node.inputs[:index], value, *node.inputs[index + 1 :]]
            return typed(node.op.make_node(*inputs).out, node)
    return None


def unrepeated(operand: Variable, others: Sequence[Variable]) -> Variable | None:
    """Return the array before it was repeated, if others have all its lengths."""
    owner = operand.owner
    if owner is None or not isinstance(owner.op, BroadcastTo):
        return None
    x, axis_lengths = owner.inputs[0], elements(owner.inputs[1])
    missing = operand.type.ndim - x.type.ndim
    flags = (True,) * missing + tuple(x.type.broadcastable)
    for axis, flag in enumerate(flags):
        if not flag or operand.type.broadcastable[axis]:
            continue
        if axis_lengths is None or not any(
            same(length_of(other, axis), axis_lengths[axis]) for other in others
        ):
            return None
    return dimshuffle(x, *("x",) * missing, *range(x.type.ndim))


@rewrite(phase="specialize", ops=["second"])
def fill_without_the_model(node: Apply) -> Variable | None:
    """Fill by lengths, so that an array read for its shape is not computed.

    second(dot(X, Y), a) -> broadcast_to(a, (shape_i(dot(X, Y), 0), shape_i(dot(X, Y), 1)))
    second(X, a) -> second(X, a)
    """  # noqa: E501
    model, value = node.inputs
    if model.owner is None or isinstance(model.owner.op, Elemwise):
        return None
    lengths = [shape_i(model, axis) for axis in range(model.type.ndim)]
    while value.owner is not None and isinstance(value.owner.op, DimShuffle):
        inner = value.owner.inputs[0]
        if inner.type.ndim > 0:
            break
        value = inner
    return typed(broadcast_to(value, lengths), node) if lengths else None


@rewrite(phase="specialize", ops=[Reduce])
def sum_repeated_number(node: Apply) -> Variable | None:
    """Replace the sum of a repeated number by a product.

    sum(broadcast_to(a, (3, 4))) -> cast(constant(12), "float64") * a
    sum(broadcast_to(a, (3, 4)), 1) -> sum(broadcast_to(a, (3, 4)), 1)

    The repeat stays if a length may be negative, for it refuses that.
    """
    op, (x,) = node.op, node.inputs
    owner, out = x.owner, node.outputs[0].type
    assert isinstance(op, Reduce)
    if owner is None or not isinstance(owner.op, BroadcastTo):
        return None
    value, axis_lengths = owner.inputs[0], elements(owner.inputs[1])
    if op.monoid != "add" or axis_lengths is None or not all(value.type.broadcastable):
        return None
    counts = [
        length.data.item() for length in axis_lengths if isinstance(length, Constant)
    ]
    number = constant_of(value)
    is_finite = number is not None and bool(np.isfinite(number))
    if not is_finite and (
        len(counts) < len(axis_lengths) or 0 in counts or value.type.is_complex
    ):
        return None  # an infinite part and a 0 make a nan
    if not all(map(is_never_negative, axis_lengths)):
        return None
    dtype = out.dtype if op.acc_dtype is None else op.acc_dtype
    size = fold(lambda a, b: call("mul", a, b), axis_lengths)
    if len(counts) == len(axis_lengths):
        size = Constant(axis_lengths[0].type, math.prod(counts))
    total = call("mul", cast(size, dtype), cast(dimshuffle(value), dtype))
    return typed(cast(total, out.dtype), node)


def is_never_negative(length: Variable) -> bool:
    """True if a number is a length of an array, or computed from lengths."""
    return all(map(_is_part_of_length, parts_of(length)))


def _is_part_of_length(part: Variable) -> bool:
    if isinstance(part, Constant):
        return bool(part.data >= 0)
    if part.owner is None:
        return False
    op = part.owner.op
    return isinstance(op, Shape_i) or row_of_op(op) in ("add", "mul", "minimum")


# ---- new shapes ----


@rewrite(phase="canonicalize", ops=[Reshape])
def reshape_a_vector_to_a_vector(node: Apply) -> Variable | None:
    """Drop flattening of a vector.

    reshape(x, (-1,)) -> x
    """
    x, lengths = node.inputs
    axis_lengths = elements(lengths)
    if axis_lengths is None or len(axis_lengths) != 1:
        return None
    return typed(x, node) if is_constant(axis_lengths[0], -1) else None


@rewrite(phase="canonicalize", ops=[Reshape])
def reshape_without_new_axes(node: Apply) -> Variable | None:
    """Drop new axes of length 1 before a reshape.

    reshape(dimshuffle(X, 0, "x", 1), (-1,)) -> reshape(X, (-1,))
    reshape(dimshuffle(X, 1, "x", 0), (-1,)) -> reshape(dimshuffle(X, 1, "x", 0), (-1,))
    """
    x, lengths = node.inputs
    owner = x.owner
    if owner is None or not isinstance(owner.op, DimShuffle):
        return None
    if owner.op.kept != sorted(owner.op.kept):
        return None
    return typed(node.op.make_node(owner.inputs[0], lengths).out, node)


@rewrite(phase="canonicalize", ops=[Reshape])
def reshape_to_new_axes(node: Apply) -> Variable | None:
    """Make axes of length 1 by a view instead of a reshape.

    reshape(X, (-1, 1)) -> dimshuffle(reshape(X, (-1,)), 0, "x")
    reshape(x, (1, x.shape[0])) -> dimshuffle(reshape(x, (x.shape[0],)), "x", 0)
    """
    x, lengths = node.inputs
    axis_lengths = elements(lengths)
    if axis_lengths is None or not any(
        is_constant(length, 1) for length in axis_lengths
    ):
        return None
    longer = [length for length in axis_lengths if not is_constant(length, 1)]
    places = iter(range(len(longer)))
    order = ["x" if is_constant(length, 1) else next(places) for length in axis_lengths]
    return typed(dimshuffle(reshape(x, longer, ndim=len(longer)), *order), node)


# ---- declared broadcasting ----


@rewrite(phase="canonicalize", ops=[Rebroadcast])
def say_once_what_broadcasts(node: Apply) -> Variable | None:
    """Merge two declarations of broadcastable axes.

    addbroadcast(unbroadcast(row(x), 0), 0) -> row(x)
    unbroadcast(addbroadcast(X[:1], 0), 0) -> unbroadcast(addbroadcast(X[:1], 0), 0)
    """
    op, (x,) = node.op, node.inputs
    assert isinstance(op, Rebroadcast)
    if x.type.broadcastable == op.broadcastable:
        return x
    owner = x.owner
    if owner is None or not isinstance(owner.op, Rebroadcast):
        return None
    inner = owner.inputs[0]
    flags = zip(
        x.type.broadcastable, inner.type.broadcastable, op.broadcastable, strict=True
    )
    if any(now and not before and not after for now, before, after in flags):
        return None  # a check would get lost
    if inner.type.broadcastable == op.broadcastable:
        return inner
    return node.op.make_node(inner).out


@rewrite(phase="canonicalize", ops=[Rebroadcast])
def say_before_computing_what_broadcasts(node: Apply) -> Variable | None:
    """Move a declaration of broadcastable axes to a function's operand.

    addbroadcast(exp(X[:1]), 0) -> exp(addbroadcast(X[:1], 0))
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, Elemwise) or len(owner.inputs) != 1:
        return None
    if len(owner.outputs) != 1 or match(node.inputs[0], "composite") is not None:
        return None
    inner = node.op.make_node(owner.inputs[0]).out
    return typed(owner.op.make_node(inner).out, node)
