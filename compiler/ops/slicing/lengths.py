"""Integers that are made of lengths of arrays."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.shape.shape import Shape, Shape_i
from gpuarray.compiler.ops.slicing.subtensor import Subtensor


def is_of_lengths(variable: Variable) -> bool:
    """True for an integer that the host makes of lengths of arrays that it is given."""
    kind = variable.type
    if getattr(kind, "ndim", 1) > 0 or kind.dtype[0] not in "iu":
        return False
    if isinstance(variable, Constant):
        return True
    owner = variable.owner
    if owner is None:
        return False
    if isinstance(owner.op, Shape_i):
        return owner.inputs[0].owner is None
    if isinstance(owner.op, Subtensor):
        shape = owner.inputs[0].owner
        if shape is None or not isinstance(shape.op, Shape):
            return False
        return shape.inputs[0].owner is None
    return isinstance(owner.op, Elemwise) and all(map(is_of_lengths, owner.inputs))
