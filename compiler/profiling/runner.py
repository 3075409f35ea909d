"""Runs a plan and measures, on the device, the time of each of its nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.profiling import Profile, Span, profile as device_profile
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.config import config
from gpuarray.compiler.contexts import sync_all
from gpuarray.compiler.debug.stepwise import Stepwise, Watcher
from gpuarray.compiler.executor import Executable, contexts_of
from gpuarray.compiler.explain import Explain, line_of
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.variables.transfer import GpuFromHost, HostFromGpu
from gpuarray.compiler.plan_stages import pauses
from gpuarray.compiler.profiling.loops import known_integers, nodes_of
from gpuarray.compiler.profiling.memory import memory_profile
from gpuarray.compiler.profiling.stats import ProfileStats, TraceEvent
from gpuarray.compiler.schedule import Lowered, lowered

now = time.perf_counter

LANES = 64
"""The numbers of a context's queues in a trace; those of the next one follow."""

Run = Callable[[Sequence[Any]], list[Array]]


def marked(lowering: Lowered, fgraph: FunctionGraph, above: str = "#") -> p.Plan:
    """Return the plan with the node of the graph as each step's mark.

    It is ``#4 ``, in the body of that node ``#4/1 ``.
    """
    places = {node: place for place, node in enumerate(fgraph.toposort())}
    steps = []
    for number, (step, node) in enumerate(
        zip(lowering.plan.steps, lowering.nodes, strict=True)
    ):
        if node is None:
            steps.append(step)
            continue
        mark = f"{above}{places[node]}"
        if isinstance(step, p.LoopStep) and isinstance(node.op, Scan):
            body = marked(lowering.bodies[number], node.op.placed_body, f"{mark}/")
            step = replace(step, body=replace(step.body, plan=body))
        steps.append(replace(step, mark=f"{mark} "))
    return replace(lowering.plan, steps=tuple(steps))


def path_of(mark: str) -> tuple[int, ...]:
    """Return the numbers in a step's mark or the label of a launch; () for others."""
    head, _, _ = mark.partition(" ")
    numbers = head[1:].split("/")
    is_mark = head[:1] == "#" and all(map(str.isdigit, numbers))
    return tuple(map(int, numbers)) if is_mark else ()


def place_of(mark: str) -> int | None:
    """Return the number of the function's node in a mark or a label."""
    return next(iter(path_of(mark)), None)


class _Executable(Executable):
    """A plan whose pauses are timed: calls of Python between its parts.

    ``note`` gets each with its times, and of a loop the number of its iterations.
    """

    def __init__(
        self,
        plan: p.Plan,
        context: Context,
        note: Callable[[p.Step, float, float, int], None],
        explain: Explain,
    ) -> None:
        self.note = note
        super().__init__(plan, context, explain)

    def of_body(self, plan: p.Plan, context: Context, explain: Explain) -> Executable:
        """Return the executable of the body of a loop, whose pauses are timed, too."""
        return _Executable(plan, context, self.note, explain)

    def _pause(self, step: p.Call | p.LoopStep | p.Read, known: dict[int, Any]) -> None:
        sync_all(self.contexts.values())
        start = now()
        super()._pause(step, known)
        sync_all(self.contexts.values())
        loop = self._loops.get(id(step))
        self.note(step, start, now(), 0 if loop is None else loop.count)


class Measured:
    """A plan on a context; each run adds its times to ``stats``.

    It waits for the device before and after, and transfers the results whose indices
    are in ``to_host`` to the host, which is measured, too. ``overhead`` are the seconds
    spent on measuring.
    """

    def __init__(
        self,
        plan: p.Plan,
        context: Context,
        stats: ProfileStats,
        fgraph: FunctionGraph,
        to_host: Collection[int],
        name: str,
        explain: Explain = line_of,
    ) -> None:
        self.plan = plan
        self.context = context
        self.stats = stats
        self.fgraph = fgraph
        self.to_host = to_host
        self.name = name
        self.overhead = 0.0
        self.nodes = fgraph.toposort()
        self._lane = len(stats.calls)
        self._shapes: set[tuple[Any, ...]] = set()
        self._executable = _Executable(plan, context, self.note_pause, explain)
        self._contexts = tuple(dict.fromkeys(contexts_of(plan, context).values()))
        stats.add_graph(fgraph)
        # A read belongs to the node that needs the integer, which may be in a branch.
        self._counted = self._places(
            lambda step: not step.when and not isinstance(step, p.Read)
        )
        self._in_branches = self._places(lambda step: bool(step.when)) - self._counted
        if self._executable.whole is None:  # else nothing returns to Python
            stats.on_host |= {self.nodes[place] for place in self._places(pauses)}

    def _places(self, is_wanted: Callable[[p.Step], bool]) -> set[int]:
        """Return the numbers in the graph of the nodes that have such steps."""
        numbers = {place_of(step.mark) for step in self.plan.steps if is_wanted(step)}
        return {place for place in numbers if place is not None}

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Return the results for the inputs, NumPy arrays where the host wants them."""
        run: Run = self._executable.run
        if config.profile_memory and self._is_new(values):
            run = _BySteps(self).run
        if not config.profiling.time_thunks:
            return list(run(values))
        begin = now()
        sync_all(self._contexts)
        with ExitStack() as profiles:
            logs = [profiles.enter_context(device_profile(c)) for c in self._contexts]
            start = now()
            self.overhead += start - begin
            results = run(values)
            sync_all(self._contexts)
            end = now()
        log = logs[0]
        for lane, other in enumerate(logs[1:], 1):
            spans = (replace(s, queue=s.queue + LANES * lane) for s in other.spans)
            log.spans += spans
            log.lost += other.lost
        self._note(log, start, end, values)
        self.overhead += now() - end
        return self._read(results)

    def info(self) -> dict[str, int]:
        """Return counts of the latest run and of the bindings kept."""
        return self._executable.info()

    def note_input(self, index: int, start: float, end: float) -> None:
        """Count the time of an input's transfer to the device."""
        variable = self.fgraph.inputs[index]
        for client, _ in self.fgraph.clients.get(variable, ()):
            if isinstance(client, Apply) and isinstance(client.op, GpuFromHost):
                self._note_host(client, "transfer", start, end)
                self.stats.apply_callcount[client] += 1
                return
        self.stats.other_time += end - start

    def _note_host(self, node: Apply, category: str, start: float, end: float) -> None:
        self.stats.add_time(node, end - start)
        self.stats.events.append(
            TraceEvent(
                str(node.op), category, False, self._lane, start, end - start, ""
            )
        )

    def note_pause(
        self, step: p.Step, start: float, end: float, iterations: int = 0
    ) -> None:
        """Count a step that Python called between two parts of the plan.

        Of a loop that Python ran it also counts the iterations.
        """
        nodes = nodes_of(self.nodes, path_of(step.mark))
        if isinstance(step, p.LoopStep) and nodes:
            self.stats.loop(nodes[-1]).add_calls(1, iterations, may_stop=False)
        if len(nodes) > 1:
            self.stats.loop(nodes[-2]).add_time(nodes[-1], end - start)
        elif nodes:
            self._note_host(nodes[0], "pause", start, end)
        else:
            self.stats.other_time += end - start

    def _note_loops(
        self, log: Profile, plan: p.Plan, values: Mapping[int, Any], times: int = 1
    ) -> None:
        """Count the iterations of recorded loops, and those that were one kernel.

        ``times`` is how often the plan ran, which may be the body of a loop.
        """
        steps = [s for s in plan.steps if isinstance(s, p.LoopStep) and s.recorded]
        integers = known_integers(plan, values) if steps else {}
        launched = {path_of(span.label) for span in log.spans if span.kind == "launch"}
        for step in steps:
            path = path_of(step.mark)
            if not path:
                continue
            loop = self.stats.loop(nodes_of(self.nodes, path)[-1])
            count = integers.get(step.ins[0])
            count = None if count is None else max(count, 0)
            loop.add_calls(times, count, "u" in step.takes)
            inner = any(other[:-1] == path for other in launched)
            loop.as_kernel += times * (path in launched and not inner)
            if count is not None:
                inputs = enumerate(step.ins[1:])
                known = {i: integers[n] for i, n in inputs if n in integers}
                self._note_loops(log, step.body.plan, known, times * count)

    def _note(
        self, log: Profile, start: float, end: float, values: Sequence[Any]
    ) -> None:
        """Count a run: the device's times, by node."""
        self._note_loops(log, self.plan, dict(enumerate(values)))
        stats = self.stats
        stats.vm_call_time += end - start
        stats.lost += log.lost
        stats.workspace = max(stats.workspace, self.info().get("workspace", 0))
        launched = {place_of(span.label) for span in log.spans if span.kind != "read"}
        for place in self._counted | (self._in_branches & launched):
            stats.apply_callcount[self.nodes[place]] += 1
        for span in log.spans:
            self._note_span(span, start)
        lane = self._lane
        stats.events.append(
            TraceEvent(self.name, "call", False, lane, start, end - start, "")
        )

    def _note_span(self, span: Span, start: float) -> None:
        nodes = nodes_of(self.nodes, path_of(span.label))
        for loop, node in pairwise(nodes):
            self.stats.loop(loop).add_time(node, span.seconds)
        if nodes:
            if nodes[0] in self.stats.on_host:
                return  # counted with its pause
            self.stats.add_time(nodes[0], span.seconds)
        elif span.label:
            self.stats.other_time += span.seconds
        self.stats.events.append(
            TraceEvent(
                span.name,
                span.kind,
                True,
                span.queue,
                start + span.start,
                span.seconds,
                span.label,
            )
        )

    def _read(self, results: Sequence[Any]) -> list[Any]:
        """Return the results, those for the host read."""
        values = list(results)
        for index in self.to_host:
            start = now()
            values[index] = np.asarray(values[index])
            node = self.fgraph.outputs[index].owner
            if node is not None and isinstance(node.op, HostFromGpu):
                self._note_host(node, "transfer", start, now())
                self.stats.apply_callcount[node] += 1
        return values

    def _is_new(self, values: Sequence[Any]) -> bool:
        """Return True if the inputs have new shapes."""
        key = tuple(getattr(value, "shape", value) for value in values)
        is_new = key not in self._shapes
        self._shapes.add(key)
        return is_new


class _BySteps(Watcher):
    """Runs a graph step by step to record the shape of each result."""

    def __init__(self, owner: Measured) -> None:
        self.owner = owner
        plan = lowered(owner.fgraph, owner.plan.name)
        self.whole = replace(plan, plan=marked(plan, owner.fgraph))
        self.shapes: dict[Variable, tuple[int, ...]] = {}
        self.variables: dict[int, list[Variable]] = {}
        for variable, number in self.whole.numbers.items():
            self.variables.setdefault(number, []).append(variable)
        self.begun = 0.0

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Return the results, and record their memory in the profile."""
        for number, value in enumerate(values):
            self._look(number, value)
        context = self.owner.context
        stepwise = Stepwise(self.whole, context, self)
        results = stepwise.run(values)
        profile = memory_profile(self.owner.fgraph, self.shapes)
        self.owner.stats.memory[self.owner.name] = profile
        return results

    def _look(self, number: int, value: Any) -> None:
        if hasattr(value, "shape"):
            for variable in self.variables.get(number, ()):
                self.shapes[variable] = tuple(value.shape)

    def before(self, number: int, known: dict[int, Any]) -> None:
        """Begin to time a step that pauses."""
        if pauses(self.whole.plan.steps[number]):
            self.owner.context.sync()
            self.begun = now()

    def after(self, number: int, known: dict[int, Any]) -> None:
        """Note the time of a step that pauses, and all shapes."""
        step = self.whole.plan.steps[number]
        if pauses(step):
            self.owner.context.sync()
            self.owner.note_pause(step, self.begun, now())
        for value in (*step.ins, *step.outs):
            self._look(value, known[value])
