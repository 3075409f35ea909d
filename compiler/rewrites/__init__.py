"""Rewriting: rules and passes in phases, applied to a graph before it is placed.

`passes` lists the phases, rules and passes in the order in which they run.
"""

from __future__ import annotations

import difflib
import time
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from gpuarray.compiler.config import config as current
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Variable, traced_as
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.rewrites.engine.engine import (
    GraphPass,
    Log,
    RewriteError,
    Rule,
    run_phase,
)
from gpuarray.compiler.rewrites.engine.merging import merge_constants
from gpuarray.compiler.rewrites.engine.requirements import Missing
from gpuarray.compiler.rewrites.loops.checkpoints import (
    has_checkpoints,
    settle_checkpoints,
)
from gpuarray.compiler.rewrites.loops.parts import run_all_iterations
from gpuarray.compiler.rewrites.memory.inplace import orderings
from gpuarray.compiler.rewrites.passes import (
    PHASES,
    Phase,
    all_rewrites,
    all_tags,
    passes_of,
    rules_of,
)

__all__ = [
    "PHASES",
    "Log",
    "Phase",
    "RewriteError",
    "Selection",
    "is_exact",
    "optimize",
    "orderings",
    "phases_of",
]


COMPUTED = ("canonicalize", "simplify", "stabilize", "specialize")
"""The phases that change what is computed; later ones change how."""


EARLY = ("canonicalize", "simplify")
"""The phases for bodies of loops before those of the graph that they are in."""


def phases_of(config: Any) -> tuple[str, ...]:
    """Return the names of the phases that the settings ask for.

    ``rewrites="safe"`` leaves out rules that change values, and ``"none"`` everything;
    ``fuse=False`` leaves out fusion.
    """
    if config.rewrites == "none":
        return ()
    switches = {
        phase.name: (phase.is_exact or config.rewrites == "all")
        and (phase.name != "fuse" or config.fuse)
        for phase in PHASES
    }
    return tuple(name for name, is_on in switches.items() if is_on)


@dataclass(frozen=True, slots=True)
class Selection:
    """The rewrites to apply: those of ``phases``, and rewrites chosen by name.

    ``including`` and ``excluding`` name single rules, phases, or all of a file
    (``fusion``, ``inplace``, ``blas``); excluding wins. ``phases`` None are those of
    the settings. An unknown name, as Theano's programs have them, chooses nothing and
    gives a warning; an unknown phase is a ValueError.
    """

    phases: tuple[str, ...] | None = None
    including: frozenset[str] = frozenset()
    excluding: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        known = [phase.name for phase in PHASES]
        for name in self.phases or ():
            if name not in known:
                raise GraphValueError(
                    f"optimize: {name!r} is no phase; there are {known}"
                )
        for name in sorted(self.including | self.excluding):
            if name not in all_tags():
                near = difflib.get_close_matches(name, all_tags(), 3)
                hint = f"did you mean {' or '.join(near)}?" if near else "see RULES"
                warnings.warn(
                    f"optimize: no rewrite is called {name!r}, so it chooses nothing; "
                    f"{hint}",
                    stacklevel=8,
                )

    def wants(self, rule: Rule | GraphPass, phases: Collection[str]) -> bool:
        """True if a rule is chosen, where ``phases`` are the selected ones."""
        if self.excluding and rule.tags & self.excluding:
            return False
        if rule.phase in phases:
            return True
        return bool(self.including) and not rule.tags.isdisjoint(self.including)


def is_exact(name: str) -> bool:
    """True if a rewrite keeps every value up to rounding."""
    inexact = {phase.name for phase in PHASES if not phase.is_exact}
    return not any(
        rewrite.name == name and rewrite.phase in inexact for rewrite in all_rewrites()
    )


def named(text: str) -> frozenset[str]:
    """Return the names in a setting's text, ``a:b:c``."""
    return frozenset(filter(None, (name.strip() for name in text.split(":"))))


def optimize(
    fgraph: FunctionGraph,
    phases: Iterable[str] | Selection | None = None,
    config: Any = None,
    *,
    destroyable: Collection[Variable] | Mapping[Variable, int] | None = None,
    keep_text: bool = False,
    keep_requirements: bool = False,
    is_final: bool = True,
) -> Log:
    """Rewrite the graph in place, phase by phase; return a log of what fired.

    ``phases`` are names, by default those that ``config`` asks for, or a Selection;
    they run in the order of ``PHASES``. ``destroyable`` are the inputs that may be
    overwritten; a mapping also gives the output that is the new value of each. With
    ``keep_requirements`` a graph that fails for its lengths still fails. At last, if
    ``is_final``, loops with ``until`` run all iterations, whatever the phases. Raises
    ValueError for a name that is no phase.
    """
    settings = current.current() if config is None else config
    if not isinstance(phases, Selection):
        phases = Selection(None if phases is None else tuple(phases))
    names = phases_of(settings) if phases.phases is None else phases.phases
    selection = Selection(
        names,
        phases.including | named(settings.optimizer_including),
        phases.excluding | named(settings.optimizer_excluding),
    )
    if destroyable is not None:
        fgraph.destroyable = destroyable
    log = Log(keep_text, tried={} if settings.profile_optimizer else None)
    is_off = current.compute_test_value == "off"
    quiet: AbstractContextManager[Any] = (
        nullcontext() if is_off else current.use(compute_test_value="off")
    )
    early = tuple(name for name in EARLY if name in names)
    with traced_as(None), quiet:
        is_any = bool(names or selection.including)
        missing = Missing(fgraph) if is_any and keep_requirements else None
        if names and has_checkpoints(fgraph):
            settle_checkpoints(fgraph, log)
        if early:
            tidy = Selection(early, excluding=selection.excluding)
            _rewrite_bodies(fgraph, tidy, settings, keep_requirements, is_final=False)
        _run_phases(fgraph, selection, names, log, missing)
        if is_final:
            run_all_iterations(fgraph, log)
    if is_final:
        _rewrite_bodies(fgraph, selection, settings, keep_requirements)
    return log


def _rewrite_bodies(
    fgraph: FunctionGraph,
    selection: Selection,
    settings: Any,
    keep_requirements: bool,
    is_final: bool = True,
) -> None:
    """Rewrite the bodies of loops, each as a graph by itself."""
    for node in fgraph.toposort():
        op = node.op
        if isinstance(op, Scan):
            inner = FunctionGraph(op.body.inputs, op.body.outputs)
            inner.moving_inputs = inner.inputs[: op.n_sequences + op.n_states]
            inner.owns_inputs = True
            optimize(
                inner,
                _of_one_kernel(selection) if op.body.is_one_kernel else selection,
                settings,
                destroyable=_overwritable(inner, op),
                keep_requirements=keep_requirements,
                is_final=is_final,
            )
            body = Body(inner.inputs, inner.outputs)
            node.op = op.like(body, op.n_sequences, op.n_states)


def _overwritable(body: FunctionGraph, loop: Scan) -> dict[Variable, int]:
    """Return the states that an iteration may overwrite, with their next values.

    Not one whose values in all iterations are stored: each has memory of its own there.
    """
    n = loop.n_states
    pairs = enumerate(zip(loop.states(body.inputs), body.outputs[:n], strict=True))
    stored = body.outputs[n:]
    return {state: i for i, (state, after) in pairs if after not in stored}


def _of_one_kernel(selection: Selection) -> Selection:
    """The rewrites of a body that is one kernel with its loop: its steps stay apart."""
    apart = {"fuse_results", "fuse_rows", "fuse_sibling_reductions"}
    return replace(selection, excluding=selection.excluding | apart)


def _run_phases(
    fgraph: FunctionGraph,
    selection: Selection,
    requested: tuple[str, ...],
    log: Log,
    missing: Missing | None,
) -> None:
    """Run the selected phases, and those of the rewrites chosen by name."""
    names = {*requested, *_phases_with(selection.including)}
    allowed = {
        *requested,
        *(o for p in PHASES if p.name in requested for o in p.includes),
    }
    rested: Collection[Rule] = ()
    if names:
        merge_constants(fgraph)
    for phase in without_prefixes([phase for phase in PHASES if phase.name in names]):
        if missing is not None and phase.name not in COMPUTED:
            missing.seen(fgraph)
        if missing is not None and phase.name == "inplace":
            missing.restored(fgraph)
        start = time.perf_counter()
        rules = [rule for rule in rules_of(phase) if selection.wants(rule, allowed)]
        passes = [p for p in passes_of(phase) if selection.wants(p, allowed)]
        rested = run_phase(fgraph, rules, passes, log, rested)
        log.seconds[phase.name] = time.perf_counter() - start
    if missing is not None:
        missing.seen(fgraph)
        missing.restored(fgraph)


def _phases_with(including: Collection[str]) -> set[str]:
    """Return the phases of the rules and passes chosen by name."""
    return {
        rewrite.phase
        for rewrite in all_rewrites()
        if rewrite.tags & frozenset(including)
    }


def without_prefixes(phases: Sequence[Phase]) -> list[Phase]:
    """Return the phases, save those whose rules the next one applies too."""
    following = [*phases, None][1:]
    return [
        phase
        for phase, next_one in zip(phases, following, strict=True)
        if next_one is None or phase.name not in next_one.includes
    ]
