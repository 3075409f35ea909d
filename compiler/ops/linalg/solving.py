"""Linear systems and inverses, and checks of matrix operands.

Functions of matrices work on the last two axes; those before them are a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphMatrixError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, SameShapeOp, Variable
from gpuarray.compiler.graph.types import Pattern, TensorType, is_integer_name
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.creation.diagonals import tril, triu
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import common_dtype, outer
from gpuarray.compiler.ops.linalg.products import matmul
from gpuarray.compiler.ops.shape.shape import (
    dimshuffle,
    shape_i,
    shape_padleft,
    swapaxes,
)
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

DTYPES = ("float32", "float64", "complex64", "complex128")


def as_floats(name: str, x: Any) -> Variable:
    """Return ``x`` in a dtype that can be factorized: integers as float64.

    Raises TypeError for floats of 16 bits, as NumPy.
    """
    variable = as_tensor_variable(x)
    if variable.type.dtype in DTYPES:
        return variable
    if is_integer_name(variable.type.dtype):
        return math.cast(variable, "float64")
    raise GraphTypeError(
        f"{name}: given {variable} of {variable.type}; expected one of the dtypes "
        f"{', '.join(DTYPES)}: cast it"
    )


def as_matrices(name: str, x: Any) -> Variable:
    """``as_floats`` of at least 2 axes."""
    variable = as_floats(name, x)
    if variable.type.ndim < 2:
        raise GraphMatrixError(
            f"{name}: given {variable} of {variable.type}, expected a matrix, or "
            "matrices in the last two axes"
        )
    return variable


def turned(x: Variable) -> Variable:
    """The matrices transposed."""
    return swapaxes(x, -2, -1)


def with_diagonal(x: Variable, entries: Variable) -> Variable:
    """Return the matrices with their diagonals replaced by these entries."""
    rows, columns = (counted(shape_i(x, axis)) for axis in (-2, -1))
    is_diagonal = math.eq(dimshuffle(rows, 0, "x"), dimshuffle(columns, "x", 0))
    last = entries.type.ndim - 1
    spread = entries if last < 0 else dimshuffle(entries, *range(last), "x", last)
    return math.where(is_diagonal, spread, x)


def folded(x: Variable, lower: bool) -> Variable:
    """Return one triangle plus the other one transposed; the other is zero.

    It is the gradient for one triangle of a symmetric matrix, given that for all of it.
    """
    zero = core.constant(0, x.type.dtype)
    beside = with_diagonal(turned(x), zero)
    return (tril if lower else triu)(x + beside)


class Solve(Op):
    """The ``x`` with ``A @ x`` equal to ``b``, a vector or matrices.

    ``A_structure`` is "general", "symmetric" (which is not checked), "lower_triangular"
    or "upper_triangular": of these only the triangle is read. ``lower``,
    ``overwrite_A`` and ``overwrite_b`` are accepted so that programs of Theano run: the
    structure has the triangle, and functions decide themselves on operations in place.
    """

    reports = True

    __props__ = ("A_structure",)

    STRUCTURES = ("general", "symmetric", "lower_triangular", "upper_triangular")

    def __init__(
        self,
        A_structure: str = "general",
        lower: bool = False,
        overwrite_A: bool = False,
        overwrite_b: bool = False,
    ) -> None:
        if A_structure not in self.STRUCTURES:
            raise GraphValueError(
                f"Solve: A_structure is {A_structure!r}, expected one of "
                f"{self.STRUCTURES}"
            )
        self.A_structure = A_structure

    @property
    def reads_lower(self) -> bool | None:
        """The triangle that is read: True for the lower, False the upper, None both."""
        kind = self.A_structure
        return kind == "lower_triangular" if kind.endswith("triangular") else None

    def make_node(self, A: Any, b: Any) -> Apply:
        """A node over the matrices and the right sides, in their common dtype."""
        matrix, right = as_matrices("solve", A), as_floats("solve", b)
        if right.type.ndim == 0 or (right.type.ndim == 1 and matrix.type.ndim > 2):
            raise GraphArgumentError(
                f"solve: given {matrix.type} and {right.type}; expected a matrix and a "
                "vector, or matrices on both sides"
            )
        dtype = common_dtype(matrix, right)
        matrix, right = math.cast(matrix, dtype), math.cast(right, dtype)
        if right.type.ndim > 1:
            ndim = max(matrix.type.ndim, right.type.ndim)
            matrix, right = (
                shape_padleft(operand, ndim - operand.type.ndim)
                for operand in (matrix, right)
            )
        pattern = _solution(matrix.type.broadcastable, right.type.broadcastable)
        return Apply(self, [matrix, right], [TensorType(dtype, pattern)()])

    def reference(self, A: Any, b: Any) -> Any:
        """The solution with NumPy. Raises LinAlgError for a singular matrix."""
        if self.reads_lower is not None:
            A = np.tril(A) if self.reads_lower else np.triu(A)
        return np.asarray(np.linalg.solve(A, b))

    def grad(
        self, m: Any, g: Any, y: Variable, A: Variable, b: Variable
    ) -> tuple[Variable, Variable]:
        """Return the transposed system's solution, and minus its product with ``y``."""
        other = {"lower": "upper", "upper": "lower"}.get(self.A_structure[:5])
        op = Solve(f"{other}_triangular") if other else self
        of_b: Variable = op(turned(A), g)
        of_A = -(outer(of_b, y) if y.type.ndim == 1 else matmul(of_b, turned(y)))
        if self.reads_lower is not None:
            of_A = (tril if self.reads_lower else triu)(of_A)
        return of_A, of_b

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The batch of both, and the shape of the right sides."""
        A, b = input_shapes
        flags = node.inputs[1].type.broadcastable
        if len(b) == 1:
            return [(A[-1],)]
        batch = [A[i] if flags[i] else b[i] for i in range(len(b) - 2)]
        return [(*batch, A[-1], b[-1])]


def _solution(A: Pattern, b: Pattern) -> Pattern:
    if len(b) == 1:
        return (A[-1],)
    batch = (of_A and of_b for of_A, of_b in zip(A[:-2], b[:-2], strict=True))
    return (*batch, A[-1], b[-1])


def solve(A: Any, b: Any, assume_a: str = "gen", lower: bool = False) -> Variable:
    """The ``x`` with ``A @ x`` equal to ``b``, a vector or matrices.

    ``assume_a`` is "gen", "sym" or "pos". Raises LinAlgError for a singular matrix.
    """
    structures = {"gen": "general", "sym": "symmetric", "pos": "symmetric"}
    if not isinstance(assume_a, str) or assume_a not in structures:
        raise GraphValueError(
            f"solve: assume_a is {assume_a!r}, expected one of {sorted(structures)}"
        )
    x: Variable = Solve(structures[assume_a])(A, b)
    return x


def solve_triangular(A: Any, b: Any, lower: bool = False) -> Variable:
    """Return ``solve`` of the upper, or the lower, triangle of ``A``."""
    x: Variable = Solve("lower_triangular" if lower else "upper_triangular")(A, b)
    return x


def solve_lower_triangular(A: Any, b: Any) -> Variable:
    """``solve`` of the lower triangle of ``A``."""
    return solve_triangular(A, b, lower=True)


def solve_upper_triangular(A: Any, b: Any) -> Variable:
    """``solve`` of the upper triangle of ``A``."""
    return solve_triangular(A, b, lower=False)


def solve_symmetric(A: Any, b: Any) -> Variable:
    """``solve`` of a symmetric matrix, which is not checked."""
    return solve(A, b, assume_a="sym")


class MatrixInverse(SameShapeOp):
    """The inverses of square matrices."""

    reports = True

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("matrix_inverse", x)
        return Apply(self, [variable], [turned(variable).type()])

    def reference(self, x: Any) -> Any:
        """The inverses with NumPy. Raises LinAlgError for a singular matrix."""
        return np.linalg.inv(x)

    def grad(self, m: Any, g: Any, y: Variable, x: Variable) -> Variable:
        """Return minus ``y' g y'``, where the stroke transposes."""
        return -matmul(turned(y), matmul(g, turned(y)))


def matrix_inverse(x: Any) -> Variable:
    """The inverses of square matrices. Raises LinAlgError for a singular one."""
    inverse: Variable = MatrixInverse()(x)
    return inverse


def lengths_of(shape: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return rows, columns, and the smaller of both; None where it is not known."""
    m, n = shape[-2:]
    return m, n, None if m is None or n is None else math.minimum(m, n)
