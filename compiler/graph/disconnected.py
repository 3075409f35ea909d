"""The types of disconnected and of undefined gradients.

Ops with Theano's interface use them: the gradient of an output that nothing reads is a
variable of `DisconnectedType`, and an op may return one, or one of `NullType`, for an
input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.types import Type

if TYPE_CHECKING:
    from gpuarray.compiler.graph.core import Op, Variable


@dataclass(frozen=True, slots=True)
class DisconnectedType(Type):
    """The type of a disconnected gradient.

    >>> DisconnectedType()
    DisconnectedType()
    """

    ndim: ClassVar[int] = 0
    dtype: ClassVar[str] = "disconnected"

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """Raise TypeError: there is no value of this type."""
        raise GraphTypeError(f"{self}: there is no value of a gradient that is absent")


@dataclass(frozen=True, slots=True)
class NullType(Type):
    """The type of a gradient that is undefined or not implemented, and why.

    >>> NullType("the angle at 0 has no slope")
    NullType(why_null='the angle at 0 has no slope')
    """

    why_null: str = "the gradient is not defined"

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """Raise TypeError: there is no value of this type."""
        raise GraphTypeError(f"NullType: there is no value: {self.why_null}")


disconnected_type = DisconnectedType()
null_type = NullType()


def grad_undefined(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return an undefined gradient, for an input that has none.

    ``x_pos`` is the input's index, ``x`` the input; ``comment`` says why.
    """
    return _null(op, x_pos, x, "is mathematically not defined", comment)


def grad_not_implemented(
    op: Op, x_pos: int, x: Variable, comment: str = ""
) -> Variable:
    """Return the gradient of an input for which an op implements none."""
    return _null(op, x_pos, x, "is not implemented", comment)


def _null(op: Op, x_pos: int, x: Variable, what: str, comment: str) -> Variable:
    end = f": {comment}" if comment else ""
    why = f"the gradient of {op} with respect to its input {x_pos} ({x}) {what}{end}"
    return NullType(why)()
