"""Patterns: matchers and builders of graphs for rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from gpuarray._core.info import FloatInfo, finfo
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.types import is_float_name
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Elemwise
from gpuarray.compiler.ops.shape.shape import DimShuffle
from gpuarray.compiler.rewrites.engine.rows import row_of_op
from gpuarray.scalars import SCALARS

_DEPTH = 6


def match(variable: Variable, row: str) -> Sequence[Variable] | None:
    """The inputs of the node that computes the variable, if it applies the row."""
    owner = variable.owner
    if owner is None or row_of_op(owner.op) != row:
        return None
    return owner.inputs


def argument(variable: Variable, row: str) -> Variable | None:
    """Return the input of a unary row that computes the variable, of the same type."""
    owner = variable.owner
    if owner is None or row_of_op(owner.op) != row:
        return None
    (inner,) = owner.inputs
    return inner if inner.type == variable.type else None


def constant_of(variable: Variable) -> Any:
    """Return the number of a constant, through casts and new axes, or None."""
    if isinstance(variable, Constant):
        data = np.asarray(variable.data)
        return data.reshape(())[()] if data.size == 1 else None
    owner = variable.owner
    if owner is None:
        return None
    if isinstance(owner.op, DimShuffle):
        return constant_of(owner.inputs[0])
    if row_of_op(owner.op) == "cast":
        value = constant_of(owner.inputs[0])
        return (
            None if value is None else np.asarray(value).astype(variable.type.dtype)[()]
        )
    return None


def is_constant(variable: Variable, value: float) -> bool:
    """True if every element of the variable is this number."""
    known = constant_of(variable)
    return known is not None and bool(known == value)


def beside_one(inputs: Sequence[Variable]) -> Variable | None:
    """Return the other of two inputs, if one of them is the number 1."""
    left, right = inputs
    if is_constant(left, 1):
        return right
    return left if is_constant(right, 1) else None


def split_constant(inputs: Sequence[Variable]) -> tuple[Any, Variable] | None:
    """Return (number, other input) of two inputs, if exactly one is a number."""
    left, right = (constant_of(operand) for operand in inputs)
    if left is not None and right is None:
        return left, inputs[1]
    if right is not None and left is None:
        return right, inputs[0]
    return None


def number(value: Any, like: Variable) -> Variable:
    """Return a constant of the dtype and the rank of another variable."""
    shape = (1,) * like.type.ndim
    data = np.asarray(value).astype(like.type.dtype).reshape(shape)
    return Constant(like.type.clone(broadcastable=(True,) * len(shape)), data)


def keeps_digits(value: float, dtype: str) -> bool:
    """True if a value is a normal number of the dtype: not 0, inf, nan or subnormal.

    >>> keeps_digits(1e30, "float32"), keeps_digits(1e60, "float32")
    (True, False)
    """
    limits = limits_of(dtype)
    return limits.smallest_normal <= abs(value) <= limits.max


@cache
def limits_of(dtype: str) -> FloatInfo:
    """Return the limits of a dtype of floats."""
    return finfo(dtype)


def call(row: str, *args: Variable) -> Variable:
    """Return the row applied to variables."""
    out = elemwise(row)(*args)
    assert isinstance(out, Variable)
    return out


@cache
def elemwise(row: str) -> Elemwise:
    """Return the op that applies a row, always the same: it need not be compared."""
    return Elemwise(SCALARS[row])


def cast(variable: Variable, dtype: str) -> Variable:
    """Return the variable in this dtype; itself if it has it."""
    if variable.type.dtype == dtype:
        return variable
    out = Elemwise(Cast(dtype))(variable)
    assert isinstance(out, Variable)
    return out


def is_float(variable: Variable) -> bool:
    """True if the variable has a real floating dtype."""
    return is_float_name(variable.type.dtype)


def same(left: Variable, right: Variable, depth: int = _DEPTH) -> bool:
    """True if two variables are equal by construction: equal ops on equal inputs."""
    if left is right:
        return True
    if isinstance(left, Constant) and isinstance(right, Constant):
        return left.equals(right)
    a, b = left.owner, right.owner
    if (
        a is None
        or b is None
        or depth == 0
        or a.op != b.op
        or left.index != right.index
    ):
        return False
    if len(a.inputs) != len(b.inputs):
        return False
    return all(same(x, y, depth - 1) for x, y in zip(a.inputs, b.inputs, strict=True))


def negated(variable: Variable) -> Variable:
    """Return the negative of a variable, in the simplest form there is."""
    inner = argument(variable, "neg")
    if inner is not None:
        return inner
    value = constant_of(variable)
    if value is not None:
        return number(np.negative(np.asarray(value)), variable)  # an integer wraps
    return call("neg", variable)


def turned(variable: Variable) -> Variable:
    """Return the negative of a variable, a difference the other way round.

    A difference of equal numbers gives 0, not -0: for readers that ignore a 0's sign.
    """
    terms = match(variable, "sub")
    return negated(variable) if terms is None else call("sub", terms[1], terms[0])


def opposite(left: Variable, right: Variable) -> bool:
    """True if one variable is the other's negative, but for a 0's sign."""
    for a, b in ((left, right), (right, left)):
        inner = argument(a, "neg")
        if inner is not None and same(inner, b):
            return True
    x, y = match(left, "sub"), match(right, "sub")
    return x is not None and y is not None and same(x[0], y[1]) and same(x[1], y[0])
