"""Mutants are drawn, and each meets its tests in a process of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from .coverage import Covers
from .orders import command, environment, say
from .package import ROOT
from .patching import Cannot, Functions, put, put_texts
from .state import State
from .trees import Mutant, mutants_of

AGAIN = "survived", "uncovered", "failed"
"""Outcomes that new tests, or a map of more of them, may change."""
SECONDS_BEFORE = 20.0
"""What a mutant may take beyond ten times what its tests took."""


def drawn(order: dict[str, Any]) -> list[Mutant]:
    """A sample of the mutants of an order, the same for the same seed.

    It is by their keys, so that a change elsewhere in a file draws no others.
    """
    seed = f"{order['seed']} "
    found = sorted(mutants_of(order["paths"]), key=lambda one: drawing(seed + one.key))
    return found[: order["sample"]]


def drawing(text: str) -> bytes:
    """A number as good as drawn."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


class Outcome:
    """Tells through a pipe which test failed first, and ends the process."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def tell(self, text: str) -> None:
        """Tell, and end."""
        os.write(self.pipe, text.encode()[:4000])
        os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of the first failure."""
        if report.failed:
            self.tell(f"killed {report.nodeid}")


@dataclass
class Child:
    """A process that runs a mutant's tests."""

    mutant: Mutant
    pid: int
    pipe: int
    folder: Path
    cache: Path
    tests: int
    limit: float
    start: float = field(default_factory=time.monotonic)

    def outcome(self) -> str | None:
        """How it ended; None where it has not."""
        ended, _ = os.waitpid(self.pid, os.WNOHANG)
        if not ended:
            if time.monotonic() < self.start + self.limit:
                return None
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            text = "timeout"
        else:
            text = os.read(self.pipe, 4000).decode() or "killed by a crash"
        os.close(self.pipe)
        self._keep_kernels()
        return f"{text} ({self.tests} tests, {time.monotonic() - self.start:.1f} s)"

    def _keep_kernels(self) -> None:
        """What was compiled is there for the next ones: it is kept by its source."""
        for path in [each for each in self.folder.rglob("*") if each.is_file()]:
            relative = path.relative_to(self.folder)
            other = self.cache / relative
            if path.suffix == ".kernel" and not other.exists():
                other.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.replace(other)
        shutil.rmtree(self.folder, ignore_errors=True)


class Run:
    """The mutants of an order, each against its tests."""

    def __init__(
        self,
        order: dict[str, Any],
        session: pytest.Session,
        items: dict[str, pytest.Item],
        functions: Functions,
    ) -> None:
        self.order, self.session = order, session
        self.items, self.functions = items, functions
        self.state = State(Path(order["state"]))
        self.covers = Covers(Path(order["map"]), set(items))
        self.cache = Path(os.environ["GPUARRAY_CACHE_DIR"])

    def all(self) -> None:
        """Run them, several at a time, and tell how far it is."""
        waiting = self.asked()
        total, start = len(waiting), time.monotonic()
        running: list[Child] = []
        counts: Counter[str] = Counter()
        say(f"{total} mutants, {len(self.items)} tests")
        while waiting or running:
            is_late = time.monotonic() > start + self.order["seconds"]
            while waiting and not is_late and len(running) < self.order["jobs"]:
                running.append(self.started(waiting.pop(0)))
            if is_late and not running:
                break
            time.sleep(0.02)
            for child in [*running]:
                outcome = child.outcome()
                if outcome is None:
                    continue
                running.remove(child)
                self.note(child.mutant, outcome)
                counts[outcome.partition(" ")[0]] += 1
                done = counts.total()
                left = (time.monotonic() - start) / done * (total - done)
                if done % 10 == 0:
                    say(f"{done} of {total}, {left:.0f} s left: {dict(counts)}")
        say(f"{counts.total()} of {total}: {dict(counts)}")

    def note(self, mutant: Mutant, outcome: str) -> None:
        """Keep what became of a mutant, and tell what somebody is to look at."""
        is_alive = outcome.startswith("survived")
        if self.order["control"]:
            if not is_alive:
                say(f"CONTROL {outcome}")
            return
        self.state.note(mutant, outcome)
        if is_alive:
            say(f"SURVIVED {mutant.file}:{mutant.line} {mutant.text}")

    def asked(self) -> list[Mutant]:
        """The mutants of the order that are to run."""
        found = drawn(self.order)
        if self.order["control"]:
            return found
        wanted = AGAIN if self.order["again"] else (None,)
        return [each for each in found if self.state.outcome(each) in wanted]

    def started(self, mutant: Mutant) -> Child:
        """A process that runs a mutant's tests."""
        tests, seconds = self.covers.tests(
            mutant, self.order["budget"], self.state.noticed_by(mutant.file)
        )
        limit = SECONDS_BEFORE + 20 * mutant.is_outside + 10 * seconds
        folder = Path(tempfile.mkdtemp(prefix="mutant-"))
        take, give = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.close(take)
            try:
                self.child(mutant, tests, folder, give)
            except BaseException as error:
                os.write(give, f"failed {type(error).__name__} {error}".encode())
            finally:
                os._exit(0)
        os.close(give)
        return Child(mutant, pid, take, folder, self.cache, len(tests), limit)

    def child(self, mutant: Mutant, tests: list[str], folder: Path, pipe: int) -> None:
        """The mutant's process: its tests, quick ones first, until one fails."""
        outcome = Outcome(pipe)
        if not tests:
            outcome.tell("uncovered")
        self.link_kernels(folder)
        os.environ["GPUARRAY_CACHE_DIR"] = str(folder)
        empty = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(empty, each)
        try:
            if not self.order["control"] and not put_texts(mutant):
                put(mutant, self.functions)
        except (Cannot, ValueError):
            self.anew(mutant, tests, outcome)
        manager = self.session.config.pluginmanager
        manager.unregister(
            name="terminalreporter"
        )  # it would print a dot for each test
        manager.register(outcome)
        chosen = [self.items[each] for each in tests]
        hook = self.session.config.hook
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            hook.pytest_runtest_protocol(item=item, nextitem=following)
        outcome.tell("survived")

    def link_kernels(self, folder: Path) -> None:
        """Bring into a folder the kernels compiled so far; plans are made anew."""
        for path in self.cache.rglob("*.kernel"):
            other = folder / path.relative_to(self.cache)
            if "plans" not in path.parts and "ops" not in path.parts:
                other.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.link(path, other)

    def anew(self, mutant: Mutant, tests: list[str], outcome: Outcome) -> None:
        """Import everything in a process of its own, the mutant with the change."""
        report = Path(os.environ["GPUARRAY_CACHE_DIR"], "report")
        names = report.with_name("tests")
        names.write_text("\n".join(tests))
        order = {"do": "one", "file": mutant.file, "key": mutant.key}
        order |= {"report": str(report), "tests": str(names)}
        files = dict.fromkeys(each.partition("::")[0] for each in tests)
        done = subprocess.run(
            command(self.order["contexts"], "-x", *files),
            cwd=ROOT,
            env=environment(order, "mutant"),
            check=False,
        )
        text = report.read_text() if report.exists() else "unreported"
        outcome.tell(text if done.returncode else "survived")
