"""Requirements: relations of lengths and indices without which a node fails."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Requirement(NamedTuple):
    """A relation of two integer variables without which a node raises.

    ``"equal"``: the two are equal, else it raises ValueError. ``"within"``: the first
    indexes an axis whose length is the second, else it raises IndexError.
    """

    relation: Literal["equal", "within"]
    left: Any
    right: Any


def equal(left: Any, right: Any) -> list[Requirement]:
    """Require equal lengths; nothing if they are one variable or unknown."""
    if left is right or left is None or right is None:
        return []
    return [Requirement("equal", left, right)]


def within(index: Any, length: Any) -> list[Requirement]:
    """Require an index to be within an axis of a length, if that is known."""
    return [] if length is None else [Requirement("within", index, length)]
