"""Agreement of ranks on one call: messages between them, also in the background."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gpuarray._checkpoints.files import Damaged
from gpuarray._distributed.calls import CollectiveCall, error_of
from gpuarray._distributed.communicator import Communicator
from gpuarray.errors import DistributedError, GpuArrayError

Said = dict[str, Any]
"""The message of a rank, as JSON."""


class Agreement:
    """The messages of ranks in one call, also in the background."""

    def __init__(self, comm: Communicator, call: CollectiveCall) -> None:
        self.comm, self.call = comm, call
        self._number = comm.calls + 1
        self._rounds = 0

    def begin(self, content: Said) -> list[Said]:
        """Make the call; return what each rank says with it."""
        answer = self.comm._ask(self.call, json.dumps(content).encode())
        return [json.loads(one) for one in answer.contents]

    def say(self, content: Said) -> list[Said]:
        """Return what each rank says."""
        self._rounds += 1
        number = f"{self._number}, round {self._rounds}"
        contents = self.comm._ask_beside(
            number, self.call, json.dumps(content).encode()
        )
        return [json.loads(one) for one in contents]

    def after(self, work: Callable[[], Any]) -> list[Said]:
        """Return the result of each rank's work, ``done``, or its ``error``.

        Ranks that are not done say so in time, so none waits for longer than the
        timeout for one that is at work.
        """
        results: list[Said] = []

        def run() -> None:
            try:
                results.append({"done": work()})
            except (GpuArrayError, MemoryError, OSError, Damaged) as error:
                results.append({"error": str(error) or type(error).__name__})
            except BaseException as error:
                results.append({"error": repr(error)})
                raise

        thread = threading.Thread(target=run, name="gpuarray-checkpoint", daemon=True)
        thread.start()
        while True:
            thread.join(self.comm.timeout / 3)
            said = self.say(results[0] if results else {"works": True})
            if not any("works" in one for one in said):
                return said

    def fail(self, causes: Sequence[str]) -> None:
        """Raise DistributedError if there is a cause."""
        if causes:
            raise self.error("; ".join(causes))

    def error(self, cause: str) -> DistributedError:
        """Return the error of this call."""
        return error_of(cause, self.comm.rank, self._number, self.call)


class BackgroundWork:
    """Work behind the program."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, name="gpuarray-checkpoint", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error

    def finish(self) -> None:
        """Wait for the end; raise the error."""
        self._thread.join()
        if self._error is not None:
            raise self._error


def errors_of(said: Sequence[Said], verb: str) -> list[str]:
    return [
        f"rank {rank} cannot {verb} {one['error']}"
        for rank, one in enumerate(said)
        if "error" in one
    ]
