"""Shape inference: lengths of results from the lengths of the inputs."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.ops.shape.lengths import own_lengths
from gpuarray.compiler.ops.shape.shape import Shape, Shape_i, shape_i
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.rewrites.engine.engine import rewrite


@rewrite(phase="canonicalize", ops=[Shape])
def split_shape(node: Apply) -> Variable | None:
    """Split a shape into a vector of lengths.

    shape(X) -> make_vector(shape_i(X, 0), shape_i(X, 1))
    """
    (x,) = node.inputs
    if x.type.ndim == 0:
        return None
    out = MakeVector("int64")(*(shape_i(x, axis) for axis in range(x.type.ndim)))
    assert isinstance(out, Variable)
    return out if out.type == node.outputs[0].type else None


@rewrite(phase="canonicalize", ops=[Shape_i])
def take_length_from_inputs(node: Apply) -> Variable | None:
    """Compute a length from the lengths of the inputs, as the op knows it.

    shape_i(exp(X) + Y, 1) -> shape_i(X, 1)
    shape_i(dot(X, Y), 1) -> shape_i(Y, 1)
    shape_i(X.T, 0) -> shape_i(X, 1)
    shape_i(dimshuffle(x, "x", 0), 0) -> constant(1, "int64")
    """
    op, (x,) = node.op, node.inputs
    assert isinstance(op, Shape_i)
    known = shape_i(x, op.i)
    if isinstance(known, Constant):
        return known
    owner = x.owner
    if owner is None:
        return None
    shapes: list[Any] = [own_lengths(operand) for operand in owner.inputs]
    length = owner.op.output_shapes(owner, shapes)[x.index or 0][op.i]
    return None if length is None else _as_length(length)


def _as_length(length: Any) -> Variable | None:
    """Return the length as an int64 scalar; None if it has another dtype."""
    scalar = length if isinstance(length, Variable) else core.constant(length, "int64")
    return scalar if scalar.type.dtype == "int64" and scalar.type.ndim == 0 else None
