"""Linear systems: solved without an inverse, or by substitution.

The results differ by rounding errors only, which are smaller.
"""

from __future__ import annotations

from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.linalg.products import BatchedDot
from gpuarray.compiler.ops.linalg.slinalg import Cholesky
from gpuarray.compiler.ops.linalg.solving import MatrixInverse, Solve, turned
from gpuarray.compiler.ops.shape.shape import DimShuffle
from gpuarray.compiler.rewrites.engine.engine import rewrite


def _operand(variable: Variable, op: type[Op]) -> Variable | None:
    """Return the only input of the op that computes the variable."""
    owner = variable.owner
    return owner.inputs[0] if owner is not None and isinstance(owner.op, op) else None


@rewrite(phase="stabilize", ops=[Dot, BatchedDot])
def solve_instead_of_inverting(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Solve a system instead of multiplying with an inverse.

    dot(matrix_inverse(A), B) -> solve(A, B)
    dot(matrix_inverse(A), u) -> solve(A, u)
    dot(B, matrix_inverse(A)) -> solve(A.T, B.T).T
    dot(u, matrix_inverse(A)) -> solve(A.T, u)
    """
    left, right = node.inputs
    for inverse, other in ((left, right), (right, left)):
        matrix = _operand(inverse, MatrixInverse)
        if matrix is None or len(fgraph.clients[inverse]) > 1:
            continue
        if inverse is left:
            result: Variable = Solve()(matrix, other)
        elif other.type.ndim == 1:
            result = Solve()(turned(matrix), other)
        else:
            result = turned(Solve()(turned(matrix), turned(other)))
        return result if result.type == node.outputs[0].type else None
    return None


@rewrite(phase="stabilize", ops=[Solve])
def solve_by_substitution(node: Apply) -> Variable | None:
    """Solve a system of a triangular factor by substitution.

    solve(cholesky(dot(A, A.T)), u) -> solve_lower_triangular(cholesky(dot(A, A.T)), u)
    solve(cholesky(dot(A, A.T)).T, B) -> solve_upper_triangular(cholesky(dot(A, A.T)).T, B)
    """  # noqa: E501
    op, (matrix, right) = node.op, node.inputs
    assert isinstance(op, Solve)
    owner, is_lower = matrix.owner, True
    if op.reads_lower is not None or owner is None:
        return None
    if isinstance(owner.op, DimShuffle) and owner.op.is_transpose:
        owner, is_lower = owner.inputs[0].owner, False
    if owner is None or not isinstance(owner.op, Cholesky):
        return None
    is_lower = is_lower == owner.op.lower
    structure = "lower_triangular" if is_lower else "upper_triangular"
    result: Variable = Solve(structure)(matrix, right)
    return result
