"""ProgramStep: what each kind of step of a program answers."""

from __future__ import annotations

from typing import ClassVar


class ProgramStep:
    """A step of a program; its value has a ``dtype``.

    It knows its ``operands``, the numbers of the values that it reads; `reading`, the
    step on others; `value`, what it gives of arrays, with NumPy; `graph`, the same of
    variables; `text`, how it reads. What a kernel computes is registered in gpukernels.
    """

    __slots__ = ()

    kind: ClassVar[str] = ""
    """What it has a value for in a program of rows; "" where operands tell."""
    is_fold: ClassVar[bool] = False
    """Whether a row is walked for it."""
    is_index: ClassVar[bool] = False
    """Whether it reports an index that leads nowhere."""
    is_element: ClassVar[bool] = False
    """Whether it reads elements of an array."""
