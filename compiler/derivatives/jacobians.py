"""Jacobians and Hessians, all rows at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuarray.compiler.derivatives import (  # noqa: F401  (rules)
    batching_indexing,
    batching_loops,
    batching_rules,
    checkpoints,
    loops,
)
from gpuarray.compiler.derivatives.batching import over_rows
from gpuarray.compiler.derivatives.choices import chosen
from gpuarray.compiler.derivatives.node import carries
from gpuarray.compiler.derivatives.reverse import (
    Disconnected,
    Lop,
    grad,
    listed,
    shaped_as,
)
from gpuarray.compiler.errors import GraphTypeError, made_at
from gpuarray.compiler.graph.core import Variable, derived
from gpuarray.compiler.ops.creation.creation import eye
from gpuarray.compiler.ops.shape.shape import reshape, shape_i, size


def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Disconnected = "raise",
) -> Any:
    """Return the derivative of each element of ``expression`` by each of every ``wrt``.

    The result has the axes of the expression and then those of the variable: of a
    vector by a vector it is the matrix of ``d expression[i] / d wrt[j]``. ``wrt`` is a
    variable, or a list or tuple of them; so is the result. All rows are computed
    together: the gradient's products of matrices and vectors become products of
    matrices. Raises as `grad` does.

    >>> from gpuarray.compiler import tensor as T
    >>> x = T.dvector("x")
    >>> print(jacobian(x ** 2, x).type)
    TensorType(float64, matrix)
    """
    expressions = listed(expression, "jacobian: expression")
    if len(expressions) != 1:
        raise GraphTypeError(
            f"jacobian: given {len(expressions)} expressions, expected one"
        )
    (output,) = expressions
    variables = listed(wrt, "jacobian: wrt")
    if not carries(output):
        raise GraphTypeError(
            made_at(
                f"jacobian: given {output} of {output.type}; integers have no gradient",
                getattr(output.tag, "trace", None),
            )
        )
    if output.type.ndim == 0:
        return grad(output, wrt, consider_constant, disconnected_inputs)
    unit = output.type("u")
    seed = chosen(unit)
    pulled = Lop(output, variables, seed, consider_constant, disconnected_inputs)
    rows = over_rows(pulled, {unit: _units(output)})
    lengths = [shape_i(output, axis) for axis in range(output.type.ndim)]
    return shaped_as(
        wrt,
        [
            derived(_with_axes(row, lengths, variable), output)
            for row, variable in zip(rows, variables, strict=True)
        ],
    )


def _units(output: Variable) -> Variable:
    """Return, for each element, an array that is 1 there and else 0, stacked."""
    units = eye(size(output), dtype=output.type.dtype)
    if output.type.ndim == 1:
        return units
    lengths = [shape_i(output, axis) for axis in range(output.type.ndim)]
    return reshape(units, [size(output), *lengths])


def _with_axes(rows: Variable, lengths: list[Variable], variable: Variable) -> Variable:
    """Return the stacked rows along the axes of the expression."""
    if len(lengths) == 1:
        return rows
    own = [shape_i(variable, axis) for axis in range(variable.type.ndim)]
    return reshape(rows, [*lengths, *own])


def hessian(
    cost: Variable,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Disconnected = "raise",
) -> Any:
    """Return the second derivatives of ``cost``, a scalar, by each variable of ``wrt``.

    The result has the axes of the variable twice: by a vector it is the matrix of ``d
    cost / d wrt[i] d wrt[j]``. ``wrt`` is a variable, or a list or tuple of them; so is
    the result. Where a gradient is constant they are zeros. Raises as `grad` does.
    """
    variables = listed(wrt, "hessian: wrt")
    gradients = grad(cost, variables, consider_constant, disconnected_inputs)
    return shaped_as(
        wrt,
        [
            jacobian(gradient, variable, consider_constant, disconnected_inputs)
            for gradient, variable in zip(gradients, variables, strict=True)
        ],
    )
