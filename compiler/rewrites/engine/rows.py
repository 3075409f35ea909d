"""Which row of the scalar table a node applies, and the same op with another."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Composite, Elemwise
from gpuarray.scalars import Scalar


def row_of(variable: Variable) -> str | None:
    """The name of the scalar row that makes the variable, or None."""
    owner = variable.owner
    return None if owner is None else row_of_op(owner.op)


def row_of_op(op: Op) -> str | None:
    """The name of the scalar row that the op applies, or ``cast``, ``composite``."""
    return op.row_name if isinstance(op, Elemwise) else None


def name_of(node: Apply) -> str:
    """The name of the scalar row that an elementwise node applies."""
    assert isinstance(node.op, Elemwise)
    return node.op.row_name


def with_scalar(
    op: Elemwise,
    scalar: Scalar | Composite | Cast,
    inplace: Mapping[int, int] | None = None,
) -> Elemwise:
    """The same op, of the same class and on the same context, with another scalar."""
    made = copy.copy(op)
    made.settle(scalar, inplace or {})
    return made
