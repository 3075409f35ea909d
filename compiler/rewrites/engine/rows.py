"""The row of the scalar table that a node applies, and the op with another one."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Composite, Elemwise
from gpuarray.scalars import Scalar


def row_of(variable: Variable) -> str | None:
    """Return the name of the scalar row that computes the variable, or None."""
    owner = variable.owner
    return None if owner is None else row_of_op(owner.op)


def row_of_op(op: Op) -> str | None:
    """Return the name of the op's scalar row, ``cast`` or ``composite``, or None."""
    return op.row_name if isinstance(op, Elemwise) else None


def name_of(node: Apply) -> str:
    """Return the name of the scalar row that an elementwise node applies."""
    assert isinstance(node.op, Elemwise)
    return node.op.row_name


def with_scalar(
    op: Elemwise,
    scalar: Scalar | Composite | Cast,
    inplace: Mapping[int, int] | None = None,
) -> Elemwise:
    """Return the op with another scalar, of the same class and context."""
    other = copy.copy(op)
    other.settle(scalar, inplace or {})
    return other
