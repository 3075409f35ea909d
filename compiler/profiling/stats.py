"""Measurements of functions: times of calls, nodes, transfers and compiling."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from gpuarray._core.file_write import write_file
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.variables.transfer import GpuFromHost, HostFromGpu
from gpuarray.compiler.profiling.loops import LoopProfile
from gpuarray.compiler.profiling.memory import MemoryProfile
from gpuarray.compiler.profiling.report import write_summary

KEPT_EVENTS = 200_000


class TraceEvent(NamedTuple):
    """An interval for a trace: on the device or on the host."""

    name: str
    category: str
    on_device: bool
    lane: int
    start: float
    seconds: float
    label: str


@dataclass
class CompileTimes:
    """The compile time of a function, by part, phase and rule.

    ``parts`` are the steps from the program to the loaded plan, ``phases`` those of the
    rewriting; ``rules`` has the number of calls of each rewrite and its seconds, with
    the setting ``profile_optimizer``, and ``fired`` the number of its changes.
    """

    parts: dict[str, float] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    rules: dict[str, tuple[int, float]] = field(default_factory=dict)
    fired: Counter[str] = field(default_factory=Counter)
    last: float = field(default_factory=time.perf_counter)

    def lap(self, part: str) -> None:
        """End a part, and begin the next one."""
        now = time.perf_counter()
        self.parts[part] = self.parts.get(part, 0.0) + now - self.last
        self.last = now

    def note(self, log: Any) -> None:
        """Add the entries of a log of rewriting."""
        for phase, seconds in log.seconds.items():
            self.phases[phase] = self.phases.get(phase, 0.0) + seconds
        for name, tried in (log.tried or {}).items():
            calls, spent = self.rules.get(name, (0, 0.0))
            self.rules[name] = calls + tried.calls, spent + tried.seconds
        self.fired += log.fired

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return sum(self.parts.values())

    def add(self, other: CompileTimes) -> None:
        """Add another function's times."""
        for own, others in ((self.parts, other.parts), (self.phases, other.phases)):
            for name, seconds in others.items():
                own[name] = own.get(name, 0.0) + seconds
        for name, (calls, seconds) in other.rules.items():
            known, spent = self.rules.get(name, (0, 0.0))
            self.rules[name] = known + calls, spent + seconds
        self.fired += other.fired


@dataclass(eq=False)
class ProfileStats:
    """The measurements of one function, or of several that share them.

    Times of nodes are of the device: from the beginning to the end of a node's
    launches. Nodes of the host, and transfers, have wall times that include waiting for
    the device. A loop's time is that of all its iterations; ``loops`` has the steps of
    its body. ``f.profile.summary()`` prints all tables,
    ``f.profile.chrome_trace(path)`` writes a file for ``chrome://tracing``.

    ``message`` is the headline; with ``atexit_print`` the end of the program prints it.
    """

    atexit_print: bool = False
    message: str | None = None
    compile: CompileTimes = field(default_factory=CompileTimes)
    fct_callcount: int = 0
    fct_call_time: float = 0.0
    vm_call_time: float = 0.0
    calls: dict[str, tuple[int, float]] = field(default_factory=dict)
    apply_time: dict[Apply, float] = field(default_factory=dict)
    apply_callcount: dict[Apply, int] = field(default_factory=dict)
    position: dict[Apply, int] = field(default_factory=dict)
    on_host: set[Apply] = field(default_factory=set)
    loops: dict[Apply, LoopProfile] = field(default_factory=dict)
    memory: dict[str, MemoryProfile] = field(default_factory=dict)
    graphs: list[FunctionGraph] = field(default_factory=list)
    other_time: float = 0.0
    lost: int = 0
    workspace: int = 0
    events: deque[TraceEvent] = field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))

    def add_graph(self, fgraph: FunctionGraph) -> None:
        """Register the nodes of a placed graph."""
        self.graphs.append(fgraph)
        for index, node in enumerate(fgraph.toposort()):
            self.position[node] = index
            self.apply_time.setdefault(node, 0.0)
            self.apply_callcount.setdefault(node, 0)

    def add_time(self, node: Apply, seconds: float) -> None:
        """Count time spent on a node."""
        self.apply_time[node] = self.apply_time.get(node, 0.0) + seconds

    def loop(self, node: Apply) -> LoopProfile:
        """Return the profile of a loop."""
        return self.loops.setdefault(node, LoopProfile())

    def add_call(self, name: str, seconds: float) -> None:
        """Count a call of a function."""
        self.fct_callcount += 1
        self.fct_call_time += seconds
        count, spent = self.calls.get(name, (0, 0.0))
        self.calls[name] = count + 1, spent + seconds

    @property
    def compile_time(self) -> float:
        """The seconds of compiling."""
        return self.compile.total

    @property
    def optimizer_time(self) -> float:
        """The seconds of rewriting."""
        return self.compile.parts.get("rewriting", 0.0)

    @property
    def linker_time(self) -> float:
        """The seconds from the rewritten graph to the loaded plan."""
        parts = self.compile.parts
        return sum(parts.get(part, 0.0) for part in ("placing", "lowering", "loading"))

    @property
    def local_time(self) -> float:
        """The seconds of all nodes."""
        return sum(self.apply_time.values()) + self.other_time

    def kind(self, node: Apply) -> str:
        """Return the kind of a node: ``transfer``, ``host`` or ``device``."""
        if isinstance(node.op, GpuFromHost | HostFromGpu):
            return "transfer"
        return "host" if node in self.on_host else "device"

    def class_time(self) -> dict[type[Op], float]:
        """Return the seconds of each class of ops."""
        totals: dict[type[Op], float] = {}
        for node, seconds in self.apply_time.items():
            totals[type(node.op)] = totals.get(type(node.op), 0.0) + seconds
        return totals

    def op_time(self) -> dict[Op, float]:
        """Return the seconds of each op."""
        totals: dict[Op, float] = {}
        for node, seconds in self.apply_time.items():
            totals[node.op] = totals.get(node.op, 0.0) + seconds
        return totals

    def summary(
        self,
        file: TextIO | None = None,
        n_ops_to_print: int | None = None,
        n_apply_to_print: int | None = None,
    ) -> None:
        """Print all tables, by default to ``profiling.destination``."""
        write_summary(self, file, n_ops_to_print, n_apply_to_print)

    def add(self, others: Sequence[ProfileStats]) -> None:
        """Add other profiles."""
        for other in others:
            self.compile.add(other.compile)
            self.fct_callcount += other.fct_callcount
            self.fct_call_time += other.fct_call_time
            self.vm_call_time += other.vm_call_time
            self.other_time += other.other_time
            self.lost += other.lost
            for name, (count, spent) in other.calls.items():
                known, seconds = self.calls.get(name, (0, 0.0))
                self.calls[name] = known + count, seconds + spent
            self.apply_time.update(other.apply_time)
            self.apply_callcount.update(other.apply_callcount)
            self.position.update(other.position)
            self.on_host |= other.on_host
            self.loops.update(other.loops)
            self.memory.update(other.memory)
            self.graphs += other.graphs

    def chrome_trace(self, path: str | Path) -> None:
        """Write calls and launches for ``chrome://tracing`` and Perfetto."""
        names = ((0, "host"), (1, "device"))
        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
            for pid, name in names
        ]
        first = min((event.start for event in self.events), default=0.0)
        events += [
            {
                "ph": "X",
                "name": event.name,
                "cat": event.category,
                "pid": int(event.on_device),
                "tid": event.lane,
                "ts": (event.start - first) * 1e6,
                "dur": event.seconds * 1e6,
                "args": {"label": event.label},
            }
            for event in self.events
        ]
        write_file(path, json.dumps({"traceEvents": events}))
