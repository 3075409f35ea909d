"""Gradient markers: identity ops that change a variable's gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Apply, SameShapeOp, Variable, as_variable
from gpuarray.compiler.graph.disconnected import NullType, grad_undefined
from gpuarray.compiler.ops.elemwise.math import zeros_like
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class Mark(SameShapeOp):
    """The base of gradient markers: the same array."""

    __props__: ClassVar[tuple[str, ...]] = ()

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def infer(self, x: Any) -> Any:
        """The type of ``x``."""
        return x

    def reference(self, x: Any) -> Any:
        """``x``."""
        return x

    def __str__(self) -> str:
        return type(self).__name__


class ZeroGrad(Mark):
    """An identity with a gradient of 0."""

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """Zeros."""
        zeros: Variable = m.zeros_like(g)
        return zeros

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Zeros."""
        return [None if point is None else zeros_like(point) for point in eval_points]


class DisconnectedGrad(Mark):
    """An identity whose result is disconnected from ``x``."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Disconnect the input."""
        return [[False]]

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> None:
        """Return None."""


class UndefinedGrad(Mark):
    """An identity whose gradient is an error."""

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """An undefined gradient."""
        return grad_undefined(self, 0, x, "undefined_grad was put there")


class WithoutGradient(Mark):
    """The first input, of which others are parameters without a gradient, and why."""

    __props__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def infer(self, x: Any, *parameters: Any) -> Any:
        """The type of ``x``."""
        return x

    def reference(self, x: Any, *parameters: Any) -> Any:
        """``x``."""
        return x

    def grad(
        self, m: Any, g: Variable, y: Variable, x: Variable, *parameters: Variable
    ) -> list[Variable]:
        """The gradient of ``x``, and undefined ones, which say why."""
        return [g, *(NullType(self.why)() for _ in parameters)]


class GradClip(Mark):
    """An identity whose gradient is clipped to an interval."""

    __props__ = ("clip_lower_bound", "clip_upper_bound")

    def __init__(self, clip_lower_bound: float, clip_upper_bound: float) -> None:
        if not clip_lower_bound <= clip_upper_bound:
            raise GraphValueError(
                f"grad_clip: the bounds are {clip_lower_bound} and {clip_upper_bound}; "
                "the first is not greater than the second"
            )
        self.clip_lower_bound = clip_lower_bound
        self.clip_upper_bound = clip_upper_bound

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """``g`` within the bounds."""
        bounds = (self.clip_lower_bound, self.clip_upper_bound)
        low, high = (
            m.cast(as_tensor_variable(bound), g.type.dtype) for bound in bounds
        )
        clipped: Variable = m.minimum(m.maximum(g, low), high)
        return clipped

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the direction: only the gradient is clipped."""
        return list(eval_points)


class GradScale(Mark):
    """An identity whose gradient is multiplied by a number."""

    __props__ = ("multiplier",)

    def __init__(self, multiplier: float) -> None:
        self.multiplier = multiplier

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """``g`` times the number."""
        factor = m.cast(as_tensor_variable(self.multiplier), g.type.dtype)
        scaled: Variable = g * factor
        return scaled

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the direction: only the gradient is scaled."""
        return list(eval_points)


def _marked(op: Mark, x: Any) -> Variable:
    result: Variable = op(as_variable(x, str(op)))
    return result


def zero_grad(x: Any) -> Variable:
    """Return ``x`` with a gradient of 0: it is a constant to ``grad``.

    ``x`` stays connected, so ``grad`` does not raise. Its R-operator is 0, too.
    """
    return _marked(ZeroGrad(), x)


def consider_constant(x: Any) -> Variable:
    """Return ``x`` as a constant to ``grad``: `zero_grad` by its older name."""
    return zero_grad(x)


def disconnected_grad(x: Any) -> Variable:
    """Return ``x``, disconnected from its inputs for ``grad``.

    A variable that reaches the cost in no other way is disconnected from it, which is
    an error of ``grad`` by default.
    """
    return _marked(DisconnectedGrad(), x)


def without_gradient(x: Any, parameters: Sequence[Any], why: str) -> Variable:
    """Return ``x``, whose gradient by the parameters is an error that says why."""
    marked: Variable = WithoutGradient(why)(x, *parameters)
    return marked


def undefined_grad(x: Any) -> Variable:
    """Return ``x`` with an undefined gradient: ``grad`` raises."""
    return _marked(UndefinedGrad(), x)


def grad_clip(x: Any, lower_bound: float, upper_bound: float) -> Variable:
    """Return ``x``; its gradient is clipped to the two bounds.

    Useful where gradients explode, as in recurrent networks.
    """
    return _marked(GradClip(lower_bound, upper_bound), x)


def grad_scale(x: Any, multiplier: float) -> Variable:
    """Return ``x``; its gradient is multiplied by ``multiplier``."""
    return _marked(GradScale(multiplier), x)
