"""Products of matrices, one of them sparse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.ops.linalg import linalg
from gpuarray.compiler.ops.sparse.elementwise import of_one_dtype, to_dense
from gpuarray.compiler.ops.sparse.matrix import (
    MatrixParts,
    SparseOp,
    as_either,
    as_sparse_variable,
    by_rows,
    is_sparse,
    summed,
    turned_if,
)
from gpuarray.compiler.ops.sparse.products import Sampled, SparseMatmul
from gpuarray.compiler.ops.sparse.spgemm import multiplied
from gpuarray.compiler.ops.sparse.structure import SparseFromDense, transpose


def product(x: Variable, y: Variable) -> Variable:
    """Return the product of a sparse operand and a dense or sparse one.

    Dense operands have one axis or two. Gradients by sparse operands are structured.
    """
    x, y = of_one_dtype(x, y)
    if is_sparse(x) and is_sparse(y):
        return multiplied(x, y)
    if is_sparse(y):
        if x.type.ndim == 1:
            return product(transpose(y), x)
        return product(transpose(y), x.T).T
    own, is_turned = by_rows(x)
    op = SparseMatmul(is_turned)
    result: Variable = op(*own.storage, y, *own.lengths)
    return result


def check_operands(name: str, x: Variable, y: Variable) -> None:
    """Raise TypeError unless one operand is sparse and the other fits."""
    if not is_sparse(x) and not is_sparse(y):
        raise GraphTypeError(
            f"{name}: given {x} of {x.type} and {y} of {y.type}, expected a sparse "
            "matrix among them; for arrays use T.dot"
        )
    for operand in (x, y):
        if not is_sparse(operand) and operand.type.ndim not in (1, 2):
            raise GraphTypeError(
                f"{name}: given {operand} of {operand.type}, expected one axis or two"
            )


class StructuredDot(SparseOp):
    """A product whose gradient by a sparse operand is that of the stored values."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the product."""
        return product(*inputs)


class Dot(SparseOp):
    """A product whose gradient by a sparse operand is a dense matrix."""

    __props__: ClassVar[tuple[str, ...]] = ()
    needs_all_elements = True

    def graph(self, *inputs: Variable) -> Variable:
        """Return the product."""
        return product(*inputs)

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return products with the gradient, not sampled."""
        (x, y), (g,) = inputs, output_gradients
        if g is None:
            return [None, None]
        return [of_left(x, y, g), of_right(x, g)]

    def R_op(
        self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]
    ) -> list[Variable | None]:
        """Return the products with each direction, summed."""
        (x, y), (dx, dy) = inputs, eval_points
        terms = [
            None if dx is None else any_dot(dx, y),
            None if dy is None else any_dot(x, dy),
        ]
        moved = [term for term in terms if term is not None]
        return [moved[0] if len(moved) == 1 else summed(*moved)]


def of_left(x: Variable, y: Variable, g: Variable) -> Variable:
    """Return the gradient of a product by its left operand."""
    if y.type.ndim == 1:
        return linalg.outer(g, y)
    if x.type.ndim == 1 and not is_sparse(x):
        return any_dot(y, g)
    return any_dot(g, turned(y))


def of_right(x: Variable, g: Variable) -> Variable:
    """Return the gradient of a product by its right operand."""
    if x.type.ndim == 1 and not is_sparse(x):
        return linalg.outer(x, g)
    return any_dot(turned(x), g)


def turned(x: Variable) -> Variable:
    """Return a matrix or an array transposed."""
    return transpose(x) if is_sparse(x) else x.T


def any_dot(x: Variable, y: Variable) -> Variable:
    """Return the product of operands of any kind."""
    if is_sparse(x) or is_sparse(y):
        result: Variable = Dot()(x, y)
        return result
    return linalg.dot(x, y)


class TrueDot(SparseOp):
    """A product, sparse: of a sparse and a dense matrix its elements that are not zero.

    Its gradient by a sparse operand is sparse.
    """

    __props__ = ("grad_preserves_dense",)

    def __init__(self, grad_preserves_dense: bool = True) -> None:
        self.grad_preserves_dense = grad_preserves_dense

    def graph(self, *inputs: Variable) -> Variable:
        """Return the product, of a dense operand made sparse."""
        made = product(*inputs)
        if is_sparse(made):
            return made
        first = next(x for x in inputs if is_sparse(x))
        result: Variable = SparseFromDense(first.type.format)(made)
        return result


class SamplingDot(SparseOp):
    """``p`` times ``x`` ``y.T`` element by element, at the places of ``p`` alone."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the sampled products times the values."""
        x, y, p = inputs
        for operand in (x, y):
            if is_sparse(operand) or operand.type.ndim != 2:
                raise GraphTypeError(
                    f"sampling_dot: given {operand} of {operand.type}, expected a "
                    "dense matrix"
                )
        own, is_turned = by_rows(as_sparse_variable(p))
        left, right = of_one_dtype(x, y)
        left, right = (right, left) if is_turned else (left, right)
        found = Sampled()(own.indices, own.indptr, left, right.T, *own.lengths)
        made = MatrixParts("csr", found * own.data, *own.pattern)
        return turned_if(made, is_turned)


class Usmm(SparseOp):
    """``alpha x y + z``, of a sparse ``x`` and dense matrices."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the sum."""
        alpha, x, y, z = inputs
        kinds = [operand.type.ndim for operand in inputs]
        if kinds != [0, 2, 2, 2] or is_sparse(x) == is_sparse(y):
            given = ", ".join(f"{operand} of {operand.type}" for operand in inputs)
            raise GraphTypeError(
                f"usmm: given {given}; expected a scalar and three matrices, of which "
                "the first or the second is sparse, and the other one is not"
            )
        dense = to_dense(z) if is_sparse(z) else z
        return dense + alpha * product(x, y)


structured_dot_op, dot_op = StructuredDot(), Dot()
sampling_dot, usmm = SamplingDot(), Usmm()


def by_vectors(outer: SparseOp, x: Variable, y: Variable) -> Variable | None:
    """Return the product of two sparse matrices and a vector as products by vectors.

    None for anything else. So neither the product of the matrices is computed, nor its
    gradient, which would be dense; gradients by the two are the same.
    """
    matrix, vector = (x, y) if is_sparse(x) else (y, x)
    inner = matrix.owner
    if inner is None or is_sparse(vector) or vector.type.ndim != 1:
        return None
    if not isinstance(inner.op, (Dot, TrueDot, StructuredDot)):
        return None
    is_structured = not isinstance(inner.op, Dot)
    if not is_structured and outer is not dot_op:
        return None
    a, b = inner.inputs
    dtypes = {operand.type.dtype for operand in (a, b, vector)}
    if not is_sparse(a) or not is_sparse(b) or len(dtypes) > 1:
        return None
    op = structured_dot if is_structured else dot
    return op(a, op(b, vector)) if matrix is x else op(op(vector, a), b)


def structured_dot(x: Any, y: Any) -> Variable:
    """Return the product of two matrices, one of them sparse.

    Its gradient by a sparse operand is sparse: that of the stored values. Of two sparse
    operands the result is sparse.
    """
    a, b = as_either(x), as_either(y)
    check_operands("structured_dot", a, b)
    made = by_vectors(structured_dot_op, a, b)
    result: Variable = structured_dot_op(a, b) if made is None else made
    return result


def dot(x: Any, y: Any) -> Variable:
    """Return the product of two operands, one of them sparse.

    Its gradient by a sparse operand is that of all elements, a dense matrix;
    ``structured_dot`` has a sparse one. Of two sparse operands the result is sparse.
    """
    a, b = as_either(x), as_either(y)
    check_operands("dot", a, b)
    made = by_vectors(dot_op, a, b)
    result: Variable = dot_op(a, b) if made is None else made
    return result


def true_dot(x: Any, y: Any, grad_preserves_dense: bool = True) -> Variable:
    """Return the product of two operands, one of them sparse, as a sparse matrix.

    Its gradient by a sparse operand is sparse, too.
    ``grad_preserves_dense`` makes the gradient of a dense operand dense, which it is.
    """
    a, b = as_either(x), as_either(y)
    check_operands("true_dot", a, b)
    result: Variable = TrueDot(grad_preserves_dense)(a, b)
    return result
