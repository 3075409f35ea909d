"""Products of matrices and vectors; rewrites make Gemv and Gemm of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphIndexError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, SameShapeOp, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import (
    dimshuffle,
    flatten,
    reshape,
    shape_i,
    swapaxes,
    transpose,
)
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    axis_list,
    known_integer,
    normalise_axis,
)


class Dot(Op):
    """The product of operands of 1 or 2 axes: last axis of ``a`` by first of ``b``."""

    __props__ = ()

    def make_node(self, a: Any, b: Any) -> Apply:
        """A node over the operands, cast to their common dtype."""
        x, y = as_tensor_variable(a), as_tensor_variable(b)
        for operand in (x, y):
            if operand.type.ndim not in (1, 2):
                raise GraphArgumentError(
                    f"dot: given {operand} of {operand.type}, expected 1 or 2 axes"
                )
        dtype = common_dtype(x, y)
        pattern = x.type.broadcastable[:-1] + y.type.broadcastable[1:]
        inputs = [math.cast(x, dtype), math.cast(y, dtype)]
        return Apply(self, inputs, [TensorType(dtype, pattern)()])

    def reference(self, a: Any, b: Any) -> Any:
        """The product with NumPy; 16-bit floats are summed in float32."""
        return np.asarray(np.dot(wide(a), wide(b))).astype(a.dtype)

    def grad(
        self, m: Any, g: Any, y: Variable, a: Variable, b: Variable
    ) -> tuple[Variable, Variable]:
        """``g`` times the other operand, transposed."""
        if a.type.ndim == 1 and b.type.ndim == 1:
            return m.times(g, b), m.times(g, a)
        if a.type.ndim == 1:
            return dot(b, g), outer(a, g)
        if b.type.ndim == 1:
            return outer(g, b), dot(transpose(a), g)
        return dot(g, transpose(b)), dot(transpose(a), g)

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require equal lengths of the summed axes."""
        a, b = input_shapes
        return equal(a[-1], b[0])

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return all axes but the summed ones."""
        a, b = input_shapes
        return [(*a[:-1], *b[1:])]

    def pretty(self, *texts: str) -> str:
        r"""``(a \dot b)``."""
        return f"({texts[0]} \\dot {texts[1]})"

    def __str__(self) -> str:
        return "dot" if type(self) is Dot else type(self).__name__


def dot(a: Any, b: Any) -> Variable:
    """Return the product over the last axis of ``a`` and the last but one of ``b``.

    As NumPy's: a vector has one axis, and a 0-d operand multiplies. The other axes of
    ``a`` come before those of ``b``; the result has the common dtype.
    """
    for operand, other, name in ((a, b, "__dot__"), (b, a, "__rdot__")):
        if hasattr(operand, name):  # a sparse matrix
            own: Variable = getattr(operand, name)(other)
            return own
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if 0 in (x.type.ndim, y.type.ndim):
        return math.mul(x, y)
    if x.type.ndim > 2 or y.type.ndim > 2:
        return tensordot(x, y, [[-1], [-2 if y.type.ndim > 1 else -1]])
    result: Variable = Dot()(x, y)
    return result


def outer(a: Any, b: Any) -> Variable:
    """Return the matrix of products of each element of ``a`` with each of ``b``.

    Operands that are no vectors are flattened.
    """
    x, y = (flatten(as_tensor_variable(operand)) for operand in (a, b))
    return math.mul(dimshuffle(x, 0, "x"), dimshuffle(y, "x", 0))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Variable:
    """The sum of products over axes of both operands.

    ``axes`` is a number, of last axes of ``a`` and first ones of ``b``, or a pair of
    lists of axes, or of axes. The other axes of ``a`` come before those of ``b``.
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    left, right = paired_axes("tensordot", axes, x.type.ndim, y.type.ndim)
    rows = [axis for axis in range(x.type.ndim) if axis not in left]
    columns = [axis for axis in range(y.type.ndim) if axis not in right]
    lengths = [shape_i(x, i) for i in rows] + [shape_i(y, i) for i in columns]
    product = Dot()(_as_matrix(x, rows, left), _as_matrix(y, right, columns))
    return product if len(rows) == len(columns) == 1 else reshape(product, lengths)


def paired_axes(
    name: str, axes: Any, ndim: int, other: int, first: int = 0
) -> tuple[list[int], list[int]]:
    """The axes of two operands to sum over; those before ``first`` are invalid."""
    parts = axis_list(axes)
    if len(parts) == 1 and not isinstance(axes, (list, tuple, str)):
        count = known_integer(name, "axes", parts[0])
        if not 0 <= count <= min(ndim, other) - first:
            raise GraphIndexError(
                f"{name}: axes={count} for operands of {ndim} and {other} axes"
            )
        return [*range(ndim - count, ndim)], [*range(first, first + count)]
    if len(parts) != 2 or isinstance(axes, str):
        raise GraphArgumentError(
            f"{name}: axes is {axes!r}, expected a number or a pair of lists of axes"
        )
    lists = [axis_list(part) for part in parts]
    left = [normalise_axis(name, axis, ndim) for axis in lists[0]]
    right = [normalise_axis(name, axis, other) for axis in lists[1]]
    if len(left) != len(right):
        raise GraphValueError(
            f"{name}: {len(left)} axes of the first operand for {len(right)} of the "
            "second"
        )
    for side in (left, right):
        if len(set(side)) < len(side) or any(axis < first for axis in side):
            raise GraphValueError(
                f"{name}: axes {side}: they must differ"
                + (f", and the first {first} are the batch" if first else "")
            )
    return left, right


def _as_matrix(x: Variable, rows: Sequence[int], columns: Sequence[int]) -> Variable:
    """``x`` with some axes merged into rows and the others into columns."""
    moved = dimshuffle(x, *rows, *columns)
    if len(rows) == len(columns) == 1:
        return moved
    lengths = [merged_length(x, axes) for axes in (rows, columns)]
    return reshape(moved, lengths)


def merged_length(x: Variable, axes: Sequence[int]) -> Variable:
    """Return the length of some axes of ``x`` merged into one, int64."""
    lengths = [shape_i(x, axis) for axis in axes if not x.type.broadcastable[axis]]
    if not lengths:
        return core.constant(1, "int64")
    return lengths[0] if len(lengths) == 1 else math.mul(*lengths)


def common_dtype(*variables: Variable) -> str:
    """Return the dtype that NumPy computes in for operands of these types."""
    return np.result_type(*(variable.type.numpy_dtype for variable in variables)).name


class Blas(SameShapeOp):
    """The base of Gemv and Gemm: scales, and whether the first input is overwritten."""

    alpha: float
    beta: float
    inplace: bool
    axes: Sequence[int]

    def _share(self) -> None:
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        """A node over floats of one dtype; the result has the type of the first."""
        variables = [as_tensor_variable(value) for value in inputs]
        ndims = tuple(variable.type.ndim for variable in variables)
        dtypes = {variable.type.dtype for variable in variables}
        if ndims != tuple(self.axes) or len(dtypes) > 1:
            types = ", ".join(str(variable.type) for variable in variables)
            raise GraphArgumentError(
                f"{self}: given {types}; expected {self.axes} axes and one dtype"
            )
        if not core.is_float(variables[0]):
            raise GraphTypeError(f"{self}: given {variables[0].type}, expected floats")
        return Apply(self, variables, [variables[0].type()])

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The result with NumPy, in the memory of the first input where ``inplace``."""
        result = self.reference(*arrays)
        if not self.inplace:
            return [result]
        arrays[0][...] = result
        return [arrays[0]]

    def _combine(self, y: Any, product: Any) -> Any:
        work = product.dtype
        scaled = work.type(self.alpha) * product
        if self.beta != 0:
            scaled = scaled + work.type(self.beta) * y.astype(work)
        elif scaled.shape != y.shape:
            raise ValueError(
                f"{self}: the result has shape {scaled.shape}, not {y.shape}"
            )
        return scaled.astype(y.dtype)

    def __str__(self) -> str:
        flag = "inplace" if self.inplace else "no_inplace"
        name = type(self).__name__
        return f"{name}{{{flag}, alpha={self.alpha:g}, beta={self.beta:g}}}"


def wide(x: Any) -> Any:
    """Return ``x`` in the dtype that its products are summed in."""
    return x.astype(np.float32) if x.dtype.name in ("float16", "bfloat16") else x


class Gemv(Blas):
    """``beta * y + alpha * op(A) . x``, where ``op`` transposes if ``transpose``."""

    __props__ = ("alpha", "beta", "transpose", "inplace")

    axes = (1, 2, 1)

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        transpose: bool = False,
        inplace: bool = False,
    ) -> None:
        self.alpha, self.beta = float(alpha), float(beta)
        self.transpose, self.inplace = bool(transpose), bool(inplace)
        self._share()

    def reference(self, y: Any, A: Any, x: Any) -> Any:
        """Return the result with NumPy. With ``beta`` 0, nan in ``y`` is not read."""
        matrix = A.T if self.transpose else A
        return self._combine(y, np.dot(wide(matrix), wide(x)))

    def grad(
        self,
        m: Any,
        g: Any,
        out: Variable,
        y: Variable,
        A: Variable,
        x: Variable,
    ) -> tuple[Variable, Variable, Variable]:
        """Return the gradients by the product rule."""
        scaled = self.alpha * g
        matrix = transpose(A) if self.transpose else A
        gradient = outer(x, scaled) if self.transpose else outer(scaled, x)
        return self.beta * g, gradient, dot(transpose(matrix), scaled)


class MatrixProduct(Blas):
    """``beta * C + alpha * op(A) . op(B)``; ``op`` transposes by the flags.

    The last two axes are the matrices; a subclass sets the rank.
    """

    __props__ = ("alpha", "beta", "transpose_a", "transpose_b", "inplace")

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        transpose_a: bool = False,
        transpose_b: bool = False,
        inplace: bool = False,
    ) -> None:
        self.alpha, self.beta = float(alpha), float(beta)
        self.transpose_a, self.transpose_b = bool(transpose_a), bool(transpose_b)
        self.inplace = bool(inplace)
        self._share()

    def product(self, a: Variable, b: Variable) -> Variable:
        """Return the plain product of two variables of the op's rank."""
        raise NotImplementedError(type(self).__name__)

    def reference(self, C: Any, A: Any, B: Any) -> Any:
        """Return the result with NumPy. With ``beta`` 0, nan in ``C`` is not read."""
        left = np.swapaxes(A, -2, -1) if self.transpose_a else A
        right = np.swapaxes(B, -2, -1) if self.transpose_b else B
        return self._combine(C, np.matmul(wide(left), wide(right)))

    def grad(
        self,
        m: Any,
        g: Any,
        out: Variable,
        C: Variable,
        A: Variable,
        B: Variable,
    ) -> tuple[Variable, Variable, Variable]:
        """Return the gradients by the product rule."""
        scaled = self.alpha * g
        left = swapaxes(A, -2, -1) if self.transpose_a else A
        right = swapaxes(B, -2, -1) if self.transpose_b else B
        of_left = self.product(scaled, swapaxes(right, -2, -1))
        of_right = self.product(swapaxes(left, -2, -1), scaled)
        return (
            self.beta * g,
            swapaxes(of_left, -2, -1) if self.transpose_a else of_left,
            swapaxes(of_right, -2, -1) if self.transpose_b else of_right,
        )


class Gemm(MatrixProduct):
    """``beta * C + alpha * op(A) . op(B)`` of matrices."""

    axes = (2, 2, 2)

    def product(self, a: Variable, b: Variable) -> Variable:
        """Return ``dot``."""
        return dot(a, b)
