"""ProgramStep: the interface of a program's steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gpuarray.compiler.errors import GraphValueError


class ProgramStep:
    """A step of a program; its value has a ``dtype``.

    It has ``operands``, the numbers of the values that it reads; `reading`, the step
    with other operands; `value`, its result with NumPy; `graph`, its result as a graph;
    `text`, its formula. Its kernel text is registered in gpukernels.
    """

    __slots__ = ()

    kind: ClassVar[str] = ""
    """The kind of its value in a row program; "" if the operands determine it."""
    is_fold: ClassVar[bool] = False
    """True if it takes a walk along the row."""
    is_index: ClassVar[bool] = False
    """True if it reports indices out of bounds."""
    is_element: ClassVar[bool] = False
    """True if it reads elements of an array."""


def check_operands(program: str, steps: Sequence[Any], n_inputs: int) -> None:
    """Raise ValueError unless each step reads inputs and steps before it only."""
    for number, step in enumerate(steps):
        known = n_inputs + number
        if any(not 0 <= operand < known for operand in step.operands):
            raise GraphValueError(
                f"{program}: step {number} ({step.label}) reads {step.operands}, but "
                f"only the {known} values before it exist"
            )
