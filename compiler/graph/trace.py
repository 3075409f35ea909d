"""Traces: the lines of the user's program that variables and nodes remember."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, NamedTuple

from gpuarray.compiler.config import config


class Trace(NamedTuple):
    """A line of the user's program; ``outer`` has the lines that called it, if kept."""

    file: str
    line: int
    function: str
    outer: tuple[Any, ...] = ()

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        place = f"{self.file}:{self.line} in {self.function}"
        return f"{place}: {text}" if text else place


TRACE: ContextVar[Trace | str | None] = ContextVar("trace", default="caller")


@contextmanager
def traced_as(trace: Trace | None) -> Iterator[None]:
    """Have nodes made in the block remember ``trace`` instead of the current line."""
    token = TRACE.set(trace)
    try:
        yield
    finally:
        TRACE.reset(token)


def user_line() -> Trace | None:
    """Return the innermost line on the stack that is not of this package.

    With the setting ``exception_verbosity=high`` it has its callers too.
    """
    fixed = TRACE.get()
    if not isinstance(fixed, str):
        return fixed
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("gpuarray.") and module != "gpuarray":
            line = _line(frame)
            if config.current().exception_verbosity == "high":
                line = line._replace(outer=tuple(_callers(frame)))
            return line
        frame = frame.f_back  # type: ignore[assignment]
    return None


_LINES: dict[tuple[int, int], tuple[CodeType, Trace]] = {}
"""A cache of lines by position in their code, since their look-up is linear."""
_MOST_LINES = 4096


def _line(frame: FrameType) -> Trace:
    code = frame.f_code
    place = id(code), frame.f_lasti  # the cached code keeps its identity
    known = _LINES.get(place)
    if known is None:
        if len(_LINES) >= _MOST_LINES:
            _LINES.clear()
        line = Trace(code.co_filename, frame.f_lineno, code.co_name)
        known = _LINES[place] = code, line
    return known[1]


def _callers(frame: FrameType) -> Iterator[Trace]:
    """Return the lines that called a frame, up to ``traceback.limit``."""
    outer = frame.f_back
    for _ in range(config.traceback.limit):
        if outer is None:
            return
        yield _line(outer)
        outer = outer.f_back
