"""Products of matrices and vectors. Gemv and Gemm are what rewrites make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, NotOfferedError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops import math
from gpuarray.compiler.ops.basic import as_tensor_variable
from gpuarray.compiler.ops.shape import dimshuffle, transpose


class Dot(Op):
    """The product of operands of 1 or 2 axes: last of ``a`` by first of ``b``."""

    __props__ = ()

    def make_node(self, a: Any, b: Any) -> Apply:
        """A node over the operands, cast to their common dtype."""
        x, y = as_tensor_variable(a), as_tensor_variable(b)
        for given in (x, y):
            if given.type.ndim not in (1, 2):
                raise GraphTypeError(
                    f"dot: given {given} of {given.type}, expected 1 or 2 axes"
                )
        dtype = np.promote_types(x.type.dtype, y.type.dtype).name
        pattern = x.type.broadcastable[:-1] + y.type.broadcastable[1:]
        inputs = [math.cast(x, dtype), math.cast(y, dtype)]
        return Apply(self, inputs, [TensorType(dtype, pattern)()])

    def reference(self, a: Any, b: Any) -> Any:
        """The product with NumPy; float16 is summed in float32."""
        if a.dtype == np.float16:
            wide = np.dot(a.astype(np.float32), b.astype(np.float32))
            return np.asarray(wide).astype(np.float16)
        return np.asarray(np.dot(a, b))

    def grad(
        self, m: Any, g: Any, y: Variable, a: Variable, b: Variable
    ) -> tuple[Variable, Variable]:
        """``g`` times the other operand, transposed."""
        if a.type.ndim == 1 and b.type.ndim == 1:
            return g * b, g * a
        if a.type.ndim == 1:
            return dot(b, g), outer(a, g)
        if b.type.ndim == 1:
            return outer(g, b), dot(transpose(a), g)
        return dot(g, transpose(b)), dot(transpose(a), g)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """All axes but those summed over."""
        a, b = input_shapes
        return [(*a[:-1], *b[1:])]

    def pretty(self, *texts: str) -> str:
        r"""``(a \dot b)``."""
        return f"({texts[0]} \\dot {texts[1]})"

    def __str__(self) -> str:
        return "dot" if type(self) is Dot else type(self).__name__


def dot(a: Any, b: Any) -> Variable:
    """The product of ``a`` and ``b`` as NumPy's, for operands of at most 2 axes."""
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if 0 in (x.type.ndim, y.type.ndim):
        return math.mul(x, y)
    if x.type.ndim > 2 or y.type.ndim > 2:
        raise NotOfferedError(
            f"dot: given {x.type.ndim} and {y.type.ndim} axes; products of more than 2 "
            "axes are not offered: reshape the operands to matrices"
        )
    result: Variable = Dot()(x, y)
    return result


def outer(a: Any, b: Any) -> Variable:
    """The matrix of products of each element of ``a`` with each of ``b``."""
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if x.type.ndim != 1 or y.type.ndim != 1:
        raise GraphTypeError(
            f"outer: given {x.type} and {y.type}, expected vectors: flatten them"
        )
    return math.mul(dimshuffle(x, 0, "x"), dimshuffle(y, "x", 0))


class Blas(Op):
    """What Gemv and Gemm share: scales, and whether the first input is overwritten."""

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
            given = ", ".join(str(variable.type) for variable in variables)
            raise GraphTypeError(
                f"{self}: given {given}; expected {self.axes} axes and one dtype"
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

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of the first input."""
        return [tuple(input_shapes[0])]

    def __str__(self) -> str:
        flag = "inplace" if self.inplace else "no_inplace"
        name = type(self).__name__
        return f"{name}{{{flag}, alpha={self.alpha:g}, beta={self.beta:g}}}"


def _wide(x: Any) -> Any:
    return x.astype(np.float32) if x.dtype == np.float16 else x


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
        """The result with NumPy. With ``beta`` 0, nan in ``y`` does not spread."""
        matrix = A.T if self.transpose else A
        return self._combine(y, np.dot(_wide(matrix), _wide(x)))

    def grad(
        self,
        m: Any,
        g: Any,
        out: Variable,
        y: Variable,
        A: Variable,
        x: Variable,
    ) -> tuple[Variable, Variable, Variable]:
        """What the product rule says."""
        scaled = self.alpha * g
        matrix = transpose(A) if self.transpose else A
        gradient = outer(x, scaled) if self.transpose else outer(scaled, x)
        return self.beta * g, gradient, dot(transpose(matrix), scaled)


class Gemm(Blas):
    """``beta * C + alpha * op(A) . op(B)``; ``op`` transposes as the flags say."""

    __props__ = ("alpha", "beta", "transpose_a", "transpose_b", "inplace")

    axes = (2, 2, 2)

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

    def reference(self, C: Any, A: Any, B: Any) -> Any:
        """The result with NumPy. With ``beta`` 0, nan in ``C`` does not spread."""
        left = A.T if self.transpose_a else A
        right = B.T if self.transpose_b else B
        return self._combine(C, np.dot(_wide(left), _wide(right)))

    def grad(
        self,
        m: Any,
        g: Any,
        out: Variable,
        C: Variable,
        A: Variable,
        B: Variable,
    ) -> tuple[Variable, Variable, Variable]:
        """What the product rule says."""
        scaled = self.alpha * g
        left = transpose(A) if self.transpose_a else A
        right = transpose(B) if self.transpose_b else B
        of_left, of_right = dot(scaled, transpose(right)), dot(transpose(left), scaled)
        return (
            self.beta * g,
            transpose(of_left) if self.transpose_a else of_left,
            transpose(of_right) if self.transpose_b else of_right,
        )
