"""Integers made of lengths that are not negative."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.shape.shape import Shape_i

COUNTING = "add", "mul", "floor_divide", "maximum", "minimum"
"""The operations whose result is not negative if no operand is."""


def is_count(variable: Variable) -> bool:
    """True if an integer is computed of lengths in such a way that it is not negative.

    x.shape[0] // 3 + 1
    """
    seen: set[Variable] = set()
    stack = [variable]
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        owner = part.owner
        if owner is None:
            if not is_natural(part):
                return False
        elif isinstance(owner.op, Elemwise) and owner.op.row_name in COUNTING:
            stack += owner.inputs
        elif not isinstance(owner.op, Shape_i):
            return False
    return True


def is_natural(variable: Variable) -> bool:
    """True if a variable is a constant integer that is not negative."""
    return (
        isinstance(variable, Constant)
        and variable.type.ndim == 0
        and variable.type.dtype[0] in "iu"
        and int(variable.data) >= 0
    )
