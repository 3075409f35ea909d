"""Requirements: what must hold of lengths and indices for a node to run."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Requirement(NamedTuple):
    """A relation of two integers, variables, without which a node raises.

    ``"equal"``: the two are equal, or it is a ValueError. ``"within"``: the first
    indexes an axis whose length is the second, or it is an IndexError.
    """

    relation: Literal["equal", "within"]
    left: Any
    right: Any


def equal(left: Any, right: Any) -> list[Requirement]:
    """Require equal lengths; nothing where they are one variable or not known."""
    if left is right or left is None or right is None:
        return []
    return [Requirement("equal", left, right)]


def within(index: Any, length: Any) -> list[Requirement]:
    """Require an index to be within an axis of a length, if that is known."""
    return [] if length is None else [Requirement("within", index, length)]
