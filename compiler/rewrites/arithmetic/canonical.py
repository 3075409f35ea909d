"""Canonical forms: constants are folded, views merged, no-ops dropped.

Equal nodes and equal constants are merged by the engine itself, in every phase. No rule
here changes a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle, Reshape, Shape_i, elements
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import call, cast, match
from gpuarray.compiler.rewrites.engine.rows import row_of_op

_FOLDED_BYTES = 1 << 16


@rewrite(phase="canonicalize", ops=[Elemwise, DimShuffle, Reshape, Reduce, MakeVector])
def fold_constants(node: Apply) -> list[Variable] | None:
    """Fold nodes whose inputs are all constants, if they are small.

    constant(2.0) * constant(3.0) -> constant(6.0)
    x + (constant(2.0) * constant(3.0)) -> x + constant(6.0)
    """
    if not node.inputs or not all(isinstance(v, Constant) for v in node.inputs):
        return None
    types = [out.type for out in node.outputs]
    if not all(isinstance(kind, TensorType) for kind in types) or node.op.destroy_map:
        return None
    arrays = [np.asarray(v.data) for v in node.inputs if isinstance(v, Constant)]
    if sum(array.nbytes for array in arrays) > _FOLDED_BYTES:
        return None
    try:
        with np.errstate(all="ignore"):
            values = [np.asarray(value) for value in node.op.evaluate(node, arrays)]
    except (ArithmeticError, ValueError):
        return None  # raised at run time
    if sum(value.nbytes for value in values) > _FOLDED_BYTES:
        return None
    return [
        Constant(kind, value.astype(kind.dtype))
        for kind, value in zip(types, values, strict=True)
    ]


@rewrite(phase="canonicalize", ops=[DimShuffle])
def merge_dimshuffles(node: Apply) -> Variable | None:
    """Merge moves of axes, or drop them.

    X.T.T -> X
    dimshuffle(dimshuffle(x, "x", 0), 1, 0) -> dimshuffle(x, 0, "x")
    dimshuffle(dimshuffle(x, "x", 0), 1) -> x
    dimshuffle(dimshuffle(x, "x", 0) * 2.0, "x", 1) -> dimshuffle(x, "x", 0) * 2.0
    """
    op, (x,) = node.op, node.inputs
    assert isinstance(op, DimShuffle)
    if _stays(op.new_order, x.type.ndim):
        return x
    owner = x.owner
    if owner is None or not isinstance(owner.op, DimShuffle):
        return None
    inner, order = owner.inputs[0], owner.op.new_order
    merged = [axis if isinstance(axis, str) else order[axis] for axis in op.new_order]
    if _stays(merged, inner.type.ndim):
        return inner
    out = type(op)(inner.type.broadcastable, merged)(inner)
    assert isinstance(out, Variable)
    return out


def _stays(order: Sequence[int | str], ndim: int) -> bool:
    """True if each axis keeps its place, or is dropped for a new one there."""
    return len(order) == ndim and all(
        axis in (place, "x") for place, axis in enumerate(order)
    )


@rewrite(phase="specialize", ops=[DimShuffle])
def spread_before_computing(node: Apply) -> Variable | None:
    """Move a scalar computation after its broadcast, to the array it is used with.

    dimshuffle(exp(a) * 2.0, "x") -> exp(dimshuffle(a, "x")) * 2.0
    dimshuffle(exp(x), 0, "x") -> dimshuffle(exp(x), 0, "x")
    """
    op, (value,) = node.op, node.inputs
    assert isinstance(op, DimShuffle)
    owner = value.owner
    if owner is None or not isinstance(owner.op, Elemwise) or len(owner.outputs) != 1:
        return None
    if value.type.ndim != 0 or value.type.dtype[0] in "iu":
        return None
    inputs = [type(op)((), op.new_order)(operand) for operand in owner.inputs]
    return owner.op.make_node(*inputs).out


@rewrite(phase="canonicalize", ops=["cast"])
def merge_casts(node: Apply) -> Variable | None:
    """Drop a cast to the same dtype, and one by way of a wider dtype.

    cast(x, "float64") -> x
    cast(cast(i, "int64"), "int32") -> i
    cast(cast(i, "float64"), "int16") -> cast(i, "int16")
    cast(cast(i > 0, "int8"), "float64") -> cast(i > 0, "float64")
    cast(cast(cast(i, "uint8"), "int16"), "int64") -> cast(cast(i, "uint8"), "int64")
    cast(cast(x, "float32"), "float64") -> cast(cast(x, "float32"), "float64")
    """
    out, (x,) = node.outputs[0], node.inputs
    if x.type == out.type:
        return x
    args = match(x, "cast")
    if args is None or not _holds(x.type.dtype, args[0].type.dtype):
        return None
    return cast(args[0], out.type.dtype)


def _holds(wide: str, narrow: str) -> bool:
    """True if a dtype holds every value of another, and casts on in the same way."""
    to, source = np.dtype(wide), np.dtype(narrow)
    if to.kind == "f" and source.kind in "iu":
        return bool(8 * source.itemsize <= np.finfo(to).nmant)
    same_kind = (
        to.kind == source.kind
        or source.kind == "b"
        or (source.kind, to.kind) == ("u", "i")
    )
    return same_kind and bool(np.can_cast(source, to, "safe"))


@rewrite(phase="canonicalize", ops=[Reshape])
def merge_reshapes(node: Apply) -> Variable | None:
    """Keep the last of several reshapes; drop one to the same shape.

    reshape(reshape(X, (2, -1)), (-1,)) -> reshape(X, (-1,))
    reshape(X, (X.shape[0], X.shape[1])) -> X
    reshape(X, (X.shape[1], X.shape[0])) -> reshape(X, (X.shape[1], X.shape[0]))
    reshape(X, (X.shape[0] * 1, -1)) -> reshape(X, (X.shape[0] * 1, -1))
    """
    x, lengths = node.inputs
    out = node.outputs[0]
    if x.type == out.type and _is_shape_of(lengths, x):
        return x
    owner = x.owner
    if owner is None or not isinstance(owner.op, Reshape):
        return None
    return node.clone_with([owner.inputs[0], lengths]).out


def _is_shape_of(lengths: Variable, x: Variable) -> bool:
    """True if a vector has the lengths of a variable, in order.

    An axis that is known to have length 1 may have any entry.
    """
    axis_lengths = elements(lengths)
    if axis_lengths is None:
        return False
    for axis, length in enumerate(axis_lengths):
        if x.type.broadcastable[axis]:
            continue
        owner = length.owner
        if owner is None or not isinstance(owner.op, Shape_i):
            return False
        if owner.op.i != axis or not _same_lengths(owner.inputs[0], x):
            return False
    return True


def _same_lengths(other: Variable, x: Variable) -> bool:
    """True if `x` has the lengths of `given`: it is that, or elementwise of it."""
    return other is x or any(other is source for source in _sources(x))


def _sources(x: Variable) -> Iterator[Variable]:
    """Yield the elementwise sources of ``x`` with the same axes, nearest first."""
    while x.owner is not None and isinstance(x.owner.op, Elemwise):
        pattern = x.type.broadcastable
        alike = [v for v in x.owner.inputs if v.type.broadcastable == pattern]
        if not alike:
            break
        x = alike[0]
        yield x


@rewrite(phase="canonicalize", ops=[Reduce])
def drop_reduction_of_one(node: Apply) -> Variable | None:
    """Replace a reduction over axes of length 1 by dropping them.

    sum(X.dimshuffle(0, "x", 1), 1) -> X.dimshuffle(0, "x", 1).dimshuffle(0, 2)
    max(X.dimshuffle(0, "x", 1), 1) -> X.dimshuffle(0, "x", 1).dimshuffle(0, 2)
    """
    op, (x,) = node.op, node.inputs
    assert isinstance(op, Reduce)
    if not all(x.type.broadcastable[axis] for axis in op.axes):
        return None
    remaining = [axis for axis in range(x.type.ndim) if axis not in op.axes]
    dropped = DimShuffle(x.type.broadcastable, remaining)(x) if op.axes else x
    return cast(dropped, node.outputs[0].type.dtype)


@rewrite(phase="canonicalize", ops=["second"])
def take_shape_from_input(node: Apply) -> Variable | None:
    """Take a shape from an input, where only the shape of an array is used.

    second(exp(x) * y, a) -> second(x, a)
    second(x, y) -> y
    """
    shape, value = node.inputs
    if value.type == node.outputs[0].type:
        return value
    *_, source = shape, *_sources(shape)
    return call("second", source, value)


@rewrite(phase="canonicalize", ops=[Elemwise])
def sink_second(node: Apply) -> Variable | None:
    """Apply operations to a value before it is filled, or instead.

    second(x, a) * y -> dimshuffle(a, "x") * y
    y - second(x, a) -> y - dimshuffle(a, "x")
    exp(second(x, a)) -> second(x, exp(dimshuffle(a, "x")))
    """
    fills = [match(operand, "second") for operand in node.inputs]
    if row_of_op(node.op) == "second" or not any(fills) or len(node.outputs) != 1:
        return None
    inputs = [
        operand if args is None else args[1]
        for operand, args in zip(node.inputs, fills, strict=True)
    ]
    result, out = node.op.make_node(*inputs).out, node.outputs[0].type
    if result.type == out:
        return result
    shapes = [args[0] for args in fills if args is not None]
    fitting = [
        shape for shape in shapes if shape.type.broadcastable == out.broadcastable
    ]
    return call("second", fitting[0], result) if fitting else None
