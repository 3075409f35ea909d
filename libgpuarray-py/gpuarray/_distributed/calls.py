"""Descriptions of collective calls, and the comparison of those of all ranks."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuarray.errors import DistributedError

_COMPARED = "operation", "detail", "dtype", "shape"


WORLD = "world"
"""The name of the communicator of all ranks; those split from it begin with it."""


@dataclass(frozen=True, slots=True)
class CollectiveCall:
    """A collective call: operation, what it is called with, and the user's line.

    ``dtype`` and ``shape`` are None for a rank that asks the others for them.
    """

    operation: str
    detail: str = ""
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    line: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as it is sent."""
        return {name: getattr(self, name) for name in (*_COMPARED, "line")}

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> CollectiveCall:
        """Return the call that ``as_json`` gave on another rank."""
        values = {name: said.get(name) for name in (*_COMPARED, "line")}
        if (shape := values["shape"]) is not None:
            values["shape"] = tuple(shape)
        return cls(**values)  # type: ignore[arg-type]

    def __str__(self) -> str:
        array = f"{self.dtype} {self.shape}" if self.dtype else ""
        inside = ", ".join(filter(None, [self.detail, array]))
        return f"{self.operation}({inside}) at {self.line}"


def differs(a: CollectiveCall, b: CollectiveCall) -> bool:
    """Return True if two ranks' calls are not of one sequence."""
    return any(
        x != y
        for x, y in ((getattr(a, name), getattr(b, name)) for name in _COMPARED)
        if x is not None and y is not None
    )


def listed(ranks: Sequence[int]) -> str:
    """Return ranks as a sentence has them.

    >>> listed([1]), listed([0, 2, 3])
    ('rank 1', 'ranks 0, 2 and 3')
    """
    numbers = [str(rank) for rank in ranks]
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    return f"ranks {', '.join(numbers[:-1])} and {numbers[-1]}"


def of_group(name: str) -> str:
    """Return what a call's number has behind it: its communicator, if not the first.

    >>> of_group("world"), of_group("world/1")
    ('', " of 'world/1'")
    """
    return "" if name == WORLD else f" of {name!r}"


class _Place(threading.local):
    """The line whose calls this thread's plan records; empty outside of one."""

    line = ""


_place = _Place()


@contextlib.contextmanager
def recorded_at(line: str) -> Iterator[None]:
    """Have the calls within, which a plan records, made by this line."""
    before, _place.line = _place.line, line or "?"
    try:
        yield
    finally:
        _place.line = before


def recorded_line() -> str:
    """Return the line whose calls are being recorded; empty where they are made."""
    return _place.line


def user_line() -> str:
    """Return file and line of the innermost caller outside of this package."""
    frame = sys._getframe(1)
    while frame is not None:
        if not f"{frame.f_globals.get('__name__', '')}.".startswith("gpuarray."):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"


def described(
    call: CollectiveCall, shape: tuple[int, ...] | None, dtype: np.dtype[Any] | None
) -> CollectiveCall:
    """Return the call with an array's dtype and shape, and the user's line."""
    name = None if dtype is None else dtype.name
    return CollectiveCall(call.operation, call.detail, name, shape, user_line())


def summary(error: BaseException) -> str:
    """Return an error as one line.

    >>> summary(ValueError("too small")), summary(KeyboardInterrupt())
    ('ValueError: too small', 'KeyboardInterrupt')
    """
    kind, text = type(error).__name__, str(error)
    return f"{kind}: {text}".splitlines()[0] if text else kind


def error_of(
    cause: str, rank: int, number: int | str, call: CollectiveCall | None
) -> DistributedError:
    """Return the error of a rank in its call, with what went wrong."""
    where = f"{call}, call {number} of rank {rank}" if call else f"rank {rank}"
    error = DistributedError(f"{where}: {cause}")
    error.rank, error.number = rank, number
    error.operation = call.operation if call else ""
    error.line = call.line if call else ""
    return error
