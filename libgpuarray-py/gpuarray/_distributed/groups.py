"""A group: the processes of one ``init``, and the end of it."""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from gpuarray._core.context import Context
from gpuarray._distributed.calls import WORLD, summary
from gpuarray._distributed.hub import Hub
from gpuarray._distributed.member import Member
from gpuarray.errors import DistributedError

_AT_EXIT = 60.0  # seconds that rank 0 waits for others when its program ends


class _Closed(Protocol):
    def close(self) -> None:
        """Free what a communicator holds."""


class Group:
    """The state that the communicators of one ``init`` share."""

    def __init__(
        self,
        member: Member,
        hub: Hub | None,
        context: Context,
        local_rank: int,
        launcher: str,
    ) -> None:
        self.member, self.context = member, context
        self.local_rank, self.launcher = local_rank, launcher
        self._hub = hub
        self._engines: list[_Closed] = []
        self._is_closed = False
        self._behind: dict[str, Callable[[], None]] = {}
        _open.add(self)

    def add(self, engine: _Closed) -> None:
        """Have an engine closed when the group ends."""
        self._engines.append(engine)

    def run_behind(self, name: str, finish: Callable[[], None]) -> None:
        """Have the end of work of a communicator waited for before its next, and its
        close.
        """
        self._behind[name] = finish

    def finish(self, name: str) -> None:
        """Wait for a communicator's work behind the program; raise its error."""
        if finish := self._behind.pop(name, None):
            finish()

    def close_one(self, engine: _Closed, name: str) -> None:
        """Free a communicator; with the world's the group ends."""
        if name == WORLD:
            self.close()
        elif engine in self._engines:
            self._engines.remove(engine)
            try:
                self.finish(name)
            finally:
                engine.close()

    def close(self, text: str = "has left", limit: float | None = None) -> None:
        """Free all communicators and leave; rank 0 waits for others, if all is well.

        Work behind the program is waited for; its error is raised at the end.
        """
        if self._is_closed:
            return
        self._is_closed = True
        _open.discard(self)
        with contextlib.ExitStack() as behind:
            behind.callback(self._leave, text, limit)
            for name in list(self._behind):
                behind.callback(self.finish, name)

    def _leave(self, text: str, limit: float | None) -> None:
        for engine in reversed(self._engines):
            with contextlib.suppress(Exception):
                engine.close()
        self._engines.clear()
        has_failed = self.member.failure is not None
        if has_failed and not self.member.all_are_alive:
            _failed.append(True)
        self.member.close(text)
        if self._hub is not None:
            waits = self.member.timeout if limit is None else limit
            self._hub.close(1.0 if has_failed else waits)


_last: list[Callable[[], None]] = []
"""The function that runs at exit, unless ranks have failed."""

_failed: list[bool] = []
"""Not empty once a rank has died: what waits for all of them would hang."""


def at_the_end(action: Callable[[], None]) -> None:
    """Have something done when the program ends, if all ranks come to it."""
    _last.append(action)


_open: set[Group] = set()


def close_all() -> None:
    """Leave every group that is still open, as the program ends."""
    error = getattr(sys, "last_value", None)  # what was raised and not caught
    if error is None:
        text = "has ended its program"
    else:
        text = f"ended with {summary(error)}"
        _failed.append(True)
    for group in list(_open):
        try:
            group.close(text, min(group.member.timeout, _AT_EXIT))
        except DistributedError as one:
            sys.excepthook(type(one), one, one.__traceback__)
    while _last and not _failed:
        _last.pop()()


atexit.register(close_all)


def groups_of(colors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the ranks of each color, ordered by key; ``colors`` are of each rank.

    A negative color is of no group.

    >>> groups_of([(0, 5), (1, 0), (0, 3), (-1, 0)])
    [[2, 0], [1]]
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for rank, (color, key) in enumerate(colors):
        if color >= 0:
            found.setdefault(color, []).append((key, rank))
    return [[rank for _, rank in sorted(found[color])] for color in sorted(found)]
