"""The loops of a profile: their iterations, and the time of each step of a body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuarray.compiler import plan as p
from gpuarray.compiler.executor import integer
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.scan.scan import Scan


@dataclass
class LoopProfile:
    """The calls of a loop.

    ``iterations`` is the sum over all calls, None where the profile does not know it;
    a loop that ``may_stop`` earlier is counted to its end. ``as_kernel`` counts the
    calls in which the loop was one kernel, whose steps have no times of their own.
    ``seconds`` and ``commands`` are those of the body's nodes, in all iterations.
    """

    calls: int = 0
    iterations: int | None = 0
    may_stop: bool = False
    as_kernel: int = 0
    seconds: dict[Apply, float] = field(default_factory=dict)
    commands: dict[Apply, int] = field(default_factory=dict)

    def add_calls(self, calls: int, iterations: int | None, may_stop: bool) -> None:
        """Count calls of so many iterations."""
        self.calls += calls
        if self.iterations is not None and iterations is not None:
            self.iterations += calls * iterations
        else:
            self.iterations = None
        self.may_stop = self.may_stop or may_stop

    def add_time(self, node: Apply, seconds: float) -> None:
        """Count a command of a node of the body."""
        self.seconds[node] = self.seconds.get(node, 0.0) + seconds
        self.commands[node] = self.commands.get(node, 0) + 1

    def text(self) -> str:
        """Return how many iterations a call has, and how they run."""
        if self.iterations is None or not self.calls:
            count = "? iterations a call"
        else:
            most = "at most " if self.may_stop else ""
            count = f"{most}{self.iterations / self.calls:g} iterations a call"
        return f"{count}, one kernel" if self.as_kernel else count


def nodes_of(nodes: Sequence[Apply], path: Sequence[int]) -> list[Apply]:
    """Return the node with this number, then that in its body with the next, ..."""
    chain = []
    for number in path:
        chain.append(nodes[number])
        op = chain[-1].op
        if isinstance(op, Scan):
            nodes = op.placed_body.toposort()
    return chain


def known_integers(plan: p.Plan, values: Mapping[int, Any]) -> dict[int, int]:
    """Return the host integers of a plan that follow from these inputs alone."""
    known: dict[int, Any] = dict(values)
    integers = {n: value for n, value in values.items() if isinstance(value, int)}
    for step in plan.steps:
        if isinstance(step, p.HostInt | p.Dim | p.IntOp) and known.keys() >= {
            *step.ins
        }:
            result = integer(step, [known[number] for number in step.ins])
            known[step.outs[0]] = integers[step.outs[0]] = result
    return integers


def loop_lines(
    loops: Mapping[Apply, LoopProfile], times: Mapping[Apply, float], most: int
) -> Iterator[str]:
    """Return the section on loops: a line for each, and for each step of its body."""
    used = {node: loop for node, loop in loops.items() if loop.calls or loop.seconds}
    if not used:
        return
    yield "Loops"
    yield "-----"
    yield (
        "<% of the steps' time> <seconds> <time per iteration> <commands> "
        "<Apply of the body>"
    )
    for node, loop in used.items():
        spent = f", {times[node]:.3g}s" if node in times else ""
        calls = f", {loop.calls} calls" if loop.calls else ""
        yield f"{node.op}: {loop.text()}{calls}{spent}"
        if loop.as_kernel:
            yield "    its steps are one kernel and have no times of their own"
        yield from _step_lines(loop, most)
    yield ""


def _step_lines(loop: LoopProfile, most: int) -> Iterator[str]:
    whole = sum(loop.seconds.values())
    rows = sorted(loop.seconds.items(), key=lambda row: -row[1])
    for node, seconds in rows[:most]:
        share = 100 * seconds / whole if whole else 0.0
        mean = f"{seconds / loop.iterations:8.2e}s" if loop.iterations else "        ?"
        count = loop.commands[node]
        yield f"    {share:5.1f}% {seconds:8.3f}s {mean} {count:7d} {node}"
    if len(rows) > most:
        rest = sum(seconds for _, seconds in rows[most:])
        yield f"    ... (remaining {len(rows) - most} steps: {rest:.3g}s)"
