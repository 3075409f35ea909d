"""The compile task: all that determines a plan, and the passes that make it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from gpuarray._core.context import Context
from gpuarray.compiler import rewrites
from gpuarray.compiler.config import CompilerFlags, config
from gpuarray.compiler.debug import Mode
from gpuarray.compiler.debug.checks import Source
from gpuarray.compiler.debug.explaining import Explainer
from gpuarray.compiler.debug.mode import Runner
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.executor import Executable
from gpuarray.compiler.explain import Explain
from gpuarray.compiler.function.call import Function
from gpuarray.compiler.function.profiled import ProfiledFunction
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.placement import place
from gpuarray.compiler.plan import Plan
from gpuarray.compiler.profiling import CompileTimes
from gpuarray.compiler.profiling.registry import profile_of
from gpuarray.compiler.rewrites.memory.guarded_updates import is_unkept
from gpuarray.compiler.schedule import Lowered, lowered
from gpuarray.compiler.shared import SharedVariable


@dataclass(frozen=True, slots=True)
class Placed:
    """A rewritten and placed graph, and the log of the rewrites.

    A call of one that ``confirms`` waits for index errors before it stores updates.
    """

    fgraph: FunctionGraph
    log: tuple[Any, ...] = ()
    confirms: bool = False


@dataclass(frozen=True, eq=False)
class Task:
    """All that determines a plan.

    ``expressions`` are the outputs, then the updates' new values; ``become`` maps a new
    value's index to the variable that it updates. ``stay`` has the indices of
    expressions that stay on the context. ``home`` names the plan's own context;
    ``names`` and ``contexts`` are as in `UsedContexts`.
    """

    name: str
    variables: Sequence[Variable]
    shared: Sequence[SharedVariable]
    expressions: Sequence[Variable]
    selection: rewrites.Selection
    become: Mapping[int, Variable]
    stay: Collection[int]
    home: str | None
    names: Mapping[str | None, str | None] | None
    contexts: Mapping[str | None, Context]
    settings: CompilerFlags

    @property
    def leaves(self) -> list[Variable]:
        """The plan's inputs: those of the function, then the shared variables."""
        return [*self.variables, *self.shared]

    @property
    def new_values(self) -> dict[Variable, int]:
        """The updated shared variables, with the index of each new value."""
        known = set(self.shared)
        return {v: out for out, v in self.become.items() if v in known}

    def placed(self, times: CompileTimes | None = None) -> Placed:
        """Return the graph, rewritten and placed under the function's settings."""
        times = times or CompileTimes()
        with config.fixed(self.settings):
            fgraph = FunctionGraph(self.leaves, self.expressions)
            fgraph.several_contexts = self.names is not None
            times.lap("graph")
            log = rewrites.optimize(
                fgraph,
                self.selection,
                destroyable=self.new_values,
                keep_requirements=True,
            )
            times.note(log)
            times.lap("rewriting")
            graph = place(
                fgraph, self.home, self.shared, self.stay, self.names, self.become
            )
            times.lap("placing")
        return Placed(graph, tuple(fgraph.log), is_unkept(fgraph, self.become))

    def lowered(self, placed: Placed) -> Lowered:
        """Return the plan, with the nodes of its steps."""
        place_of = {leaf: index for index, leaf in enumerate(self.leaves)}
        places = {out: place_of[v] for v, out in self.new_values.items()}
        with config.fixed(self.settings):
            fgraph, confirms = placed.fgraph, placed.confirms
            return lowered(fgraph, self.name, self.home, places, confirms)

    def as_written(self) -> Lowered:
        """Return the plan of the graph without rewrites: a step for each operation."""
        plain = replace(self, selection=rewrites.Selection(()))
        return plain.lowered(plain.placed())

    @property
    def source(self) -> Source:
        """The graph before rewriting."""
        return Source(
            self.leaves, list(self.expressions), self.selection, self.new_values
        )


class Maker:
    """The placed graph, the log of rewrites and the mode of a function.

    A plan from disk has no graph yet: ``placed`` makes it on demand, and
    ``written`` the plan of the graph before rewriting.
    """

    def __init__(
        self,
        placed: Callable[[], Placed],
        mode: Mode,
        source: Source | None = None,
        home: str | None = None,
        written: Callable[[], Lowered] | None = None,
    ) -> None:
        self._place = placed
        self.mode = mode
        self.source = source
        self.home = home
        self.written = written

    @cached_property
    def _placed(self) -> Placed:
        return self._place()

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph as placed."""
        return self._placed.fgraph

    @property
    def log(self) -> tuple[Any, ...]:
        """The log of rewrites; empty for a function from a pickle."""
        return self._placed.log

    def load(
        self,
        plan: Plan,
        context: Context,
        is_part: bool = False,
        make: Callable[[Plan, Context, Explain], Runner] = Executable,
    ) -> Runner:
        """Return the mode's runner of the plan on a context.

        A subset of the outputs is run without looking at each step. ``make`` is the
        constructor of the runner where the mode has none of its own.
        """
        if is_part:
            return make(plan, context, Explainer(None, plan, context))

        def with_nodes() -> Lowered:
            return lowered(self.fgraph, plan.name, self.home)

        runner = self.mode.load(with_nodes, self.source, context)
        if runner is not None:
            return runner
        return make(plan, context, Explainer(with_nodes, plan, context, self.written))

    def factory(self, is_profiled: bool, profile: Any) -> Callable[..., Function]:
        """Return the class for a copy of a function, profiled or not."""
        setting = is_profiled if profile is None else profile
        stats = profile_of(setting, "copy")
        if stats is None:
            return Function
        if not is_profiled:
            raise GraphValueError(
                "copy: a profile is asked for, but the function has none to begin "
                "with; compile it with profile=True"
            )
        return partial(ProfiledFunction, profile=stats)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what is pickled: no log, and not the graph before rewriting."""
        return _unpickled, (self.fgraph, self.mode, self.home)


def _unpickled(fgraph: FunctionGraph, mode: Mode, home: str | None) -> Maker:
    placed = Placed(fgraph)
    return Maker(lambda: placed, mode, home=home)
