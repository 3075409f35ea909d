"""Pseudo-inverses, least squares, powers of matrices, and systems of tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphMatrixError,
    GraphValueError,
    NoGradientError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import common_dtype, merged_length
from gpuarray.compiler.ops.linalg.nlinalg import REAL
from gpuarray.compiler.ops.linalg.products import matmul
from gpuarray.compiler.ops.linalg.solving import (
    as_floats,
    as_matrices,
    lengths_of,
    matrix_inverse,
    solve,
    turned,
    with_diagonal,
)
from gpuarray.compiler.ops.shape.shape import dimshuffle, flatten, reshape, shape_i
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    known_real,
    normalise_axis,
)


class MatrixPinv(Op):
    """The pseudo-inverses of Moore and Penrose.

    Singular values up to ``rcond`` times the largest count as 0; None: NumPy's choice.
    """

    reports = True

    __props__ = ("rcond",)

    is_holomorphic = False

    def __init__(self, rcond: float | None = None) -> None:
        self.rcond = None if rcond is None else known_real("pinv", "rcond", rcond)

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("pinv", x)
        return Apply(self, [variable], [turned(variable).type()])

    def reference(self, x: Any) -> Any:
        """The pseudo-inverses with NumPy."""
        return (
            np.linalg.pinv(x) if self.rcond is None else np.linalg.pinv(x, self.rcond)
        )

    def grad(self, m: Any, g: Any, y: Variable, x: Variable) -> Variable:
        """Return the gradient by Golub and Pereyra, for constant rank."""
        turned_g, turned_y = turned(g), turned(y)
        inside = -matmul(turned_y, matmul(g, turned_y))
        left = matmul(turned_g, matmul(y, turned_y))
        right = matmul(matmul(turned_y, y), turned_g)
        left = left - matmul(x, matmul(y, left))
        right = right - matmul(matmul(right, y), x)
        return inside + left + right

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The transposed shape."""
        (lengths,) = input_shapes
        return [(*lengths[:-2], lengths[-1], lengths[-2])]


def pinv(x: Any, rcond: float | None = None) -> Variable:
    """The pseudo-inverses of Moore and Penrose of matrices.

    Singular values up to ``rcond`` times the largest count as 0; None: NumPy's choice.
    """
    inverse: Variable = MatrixPinv(rcond)(x)
    return inverse


class Lstsq(Op):
    """Least squares as NumPy's ``lstsq``: solution, sums of squares, rank, singular.

    The inputs are a matrix, and a vector or a matrix. Singular values up to ``rcond``
    times the largest count as 0; None: NumPy's choice. The solution has a gradient
    while the rank stays constant.
    """

    reports = True

    __props__ = ("rcond",)

    is_holomorphic = False

    def __init__(self, rcond: float | None = None) -> None:
        self.rcond = None if rcond is None else known_real("pinv", "rcond", rcond)

    def make_node(self, x: Any, y: Any, rcond: Any = None) -> Apply:
        """A node over both sides; ``rcond``, a number, may be an argument, too."""
        matrix, right = as_matrices("lstsq", x), as_floats("lstsq", y)
        if matrix.type.ndim != 2 or right.type.ndim not in (1, 2):
            raise GraphArgumentError(
                f"lstsq: given {matrix.type} and {right.type}, expected a matrix, and "
                "a vector or a matrix"
            )
        op = self if rcond is None else Lstsq(_number("lstsq: rcond", rcond))
        dtype = common_dtype(matrix, right)
        real = TensorType(REAL.get(dtype, dtype), (False,))
        pattern = (matrix.type.broadcastable[1], *right.type.broadcastable[1:])
        outputs = [
            TensorType(dtype, pattern)(),
            real(),
            TensorType("int64", ())(),
            real(),
        ]
        return Apply(op, [math.cast(matrix, dtype), math.cast(right, dtype)], outputs)

    def reference(self, x: Any, y: Any) -> Any:
        """Return all four with NumPy."""
        solution, left, rank, s = np.linalg.lstsq(x, y, self.rcond)
        return solution, left, np.asarray(rank, "int64"), s

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient of the pseudo-inverse times the right side."""
        g, *others = output_gradients
        if g is None or any(other is not None for other in others):
            raise NoGradientError(f"{self}: only the solution has a gradient")
        x, y = inputs
        inverse = pinv(x, self.rcond)
        of_y = matmul(turned(inverse), g)
        if y.type.ndim == 1:
            of_inverse = dimshuffle(g, 0, "x") * dimshuffle(y, "x", 0)
        else:
            of_inverse = matmul(g, turned(y))
        assert inverse.owner is not None
        (of_x,) = inverse.owner.op.pull_back(math, [x], [inverse], [of_inverse])
        return [of_x, of_y]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return all but the number of sums of squares, which depends on the rank."""
        x, y = input_shapes
        return [(x[1], *y[1:]), (None,), (), (lengths_of(x)[2],)]


def _number(what: str, value: Any) -> float:
    if isinstance(value, Constant) and value.type.ndim == 0:
        value = value.data.item()
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return float(value)
    raise GraphArgumentError(
        f"{what} is {value!r}, expected a number that is known now"
    )


def lstsq(x: Any = None, y: Any = None, rcond: Any = None) -> Any:
    """Least squares: the solution, sums of squares, rank and singular values.

    Without operands the op, so that ``lstsq()(x, y, rcond)`` works too.
    """
    return Lstsq() if x is None else Lstsq()(x, y, rcond)


def matrix_power(M: Any, n: int) -> Variable:
    """The n-th powers of square matrices, of their inverses if ``n`` is negative."""
    x = as_tensor_variable(M)
    if x.type.ndim < 2:
        raise GraphMatrixError(
            f"matrix_power: given {x.type}, expected square matrices"
        )
    try:
        exponent = operator.index(n)
    except TypeError:
        raise GraphArgumentError(
            f"matrix_power: n is {n!r}, expected an integer"
        ) from None
    if exponent == 0:
        return with_diagonal(math.zeros_like(x), core.constant(1, x.type.dtype))
    if exponent < 0:
        x, exponent = matrix_inverse(x), -exponent
    result: Variable | None = None
    while True:
        if exponent & 1:
            result = x if result is None else matmul(result, x)
        exponent >>= 1
        if exponent == 0:
            assert result is not None
            return result
        x = matmul(x, x)


def matrix_dot(*args: Any) -> Variable:
    """The product of several matrices, multiplied from the left."""
    if not args:
        raise GraphArgumentError("matrix_dot: given nothing, expected matrices")
    result = as_tensor_variable(args[0])
    for arg in args[1:]:
        result = matmul(result, arg)
    return result


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Variable:
    """Return the ``x`` with ``tensordot(a, x, x.ndim)`` equal to ``b``.

    ``axes`` of ``a`` are moved to its end first.
    """
    x, right = as_floats("tensorsolve", a), as_floats("tensorsolve", b)
    ndim = x.type.ndim
    moved = [normalise_axis("tensorsolve", axis, ndim) for axis in axes or ()]
    x = dimshuffle(x, *(axis for axis in range(ndim) if axis not in moved), *moved)
    if right.type.ndim >= ndim:
        raise GraphValueError(
            f"tensorsolve: given {ndim} and {right.type.ndim} axes; expected fewer of "
            "the second"
        )
    unknowns = list(range(right.type.ndim, ndim))
    count = merged_length(x, unknowns)
    solution = solve(reshape(x, (count, count)), flatten(right))
    return reshape(solution, [shape_i(x, axis) for axis in unknowns])


def tensorinv(a: Any, ind: int = 2) -> Variable:
    """The inverse for ``tensordot`` over the first ``ind`` axes."""
    x = as_floats("tensorinv", a)
    ndim = x.type.ndim
    if not isinstance(ind, int) or not 0 < ind < ndim:
        raise GraphMatrixError(
            f"tensorinv: ind is {ind!r} for {ndim} axes, expected a number from 1 to "
            f"{ndim - 1}"
        )
    rows, columns = list(range(ind)), list(range(ind, ndim))
    count = merged_length(x, rows)
    inverse = matrix_inverse(reshape(x, (count, merged_length(x, columns))))
    return reshape(inverse, [shape_i(x, axis) for axis in columns + rows])
