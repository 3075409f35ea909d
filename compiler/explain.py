"""The notes on failed runs: what they tell, and the plainest of them, the line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gpuarray.compiler import plan as p


class Explain(Protocol):
    """Tells what failed."""

    def __call__(
        self,
        error: Exception,
        plan: p.Plan,
        number: int,
        first: int,
        values: Sequence[Any],
    ) -> str:
        """Return the message of a failed run.

        ``plan`` has the steps that ran, ``number`` is the failed one, -1 if unknown,
        ``first`` the number of steps of the function's plan before them, and ``values``
        are those that they ran on.
        """

    def inside(self, number: int) -> Explain:
        """Return that of the body of the loop that is a step of the function's plan."""


class LineOf:
    """Tells the user's line that made the failed step."""

    def __call__(
        self,
        error: Exception,
        plan: p.Plan,
        number: int,
        first: int,
        values: Sequence[Any],
    ) -> str:
        """Return the line; empty if it is not known."""
        origin = plan.steps[number].origin if number >= 0 else ""
        return f"  made at {origin}" if origin else ""

    def inside(self, number: int) -> Explain:
        """Return this, which knows no loop."""
        return self


line_of = LineOf()


def note(error: Exception, text: str) -> None:
    """Add a note on an error's origin to an exception."""
    if text and text not in getattr(error, "__notes__", ()):
        error.add_note(text)
