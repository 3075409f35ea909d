"""What is done to a graph between writing and placing it: phases of rules, in order.

Importing a module registers its rules. ``PHASES`` lists the phases in the order in
which they run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuarray.compiler.config import config as current
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Variable, traced_as
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.rewrites import (  # noqa: F401  (importing registers the rules)
    algebra,
    blas,
    canonical,
    fusion,
    inplace,
    shapes,
    stability,
)
from gpuarray.compiler.rewrites.engine import Log, RewriteError, run_phase
from gpuarray.compiler.rewrites.inplace import orderings

__all__ = [
    "PHASES",
    "Log",
    "Phase",
    "RewriteError",
    "optimize",
    "orderings",
    "phases_of",
]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase and the earlier ones whose rules stay at work in it.

    ``is_exact`` says that it changes no value, but for the last bits of a product or a
    power.
    """

    name: str
    includes: tuple[str, ...] = ()
    is_exact: bool = True


_CLEAN = ("canonicalize", "simplify")

PHASES = (
    Phase("canonicalize"),
    Phase("simplify", ("canonicalize",)),
    Phase("stabilize", _CLEAN, is_exact=False),
    Phase("specialize", _CLEAN),
    Phase("blas"),
    Phase("fuse"),
    Phase("inplace"),
)


def phases_of(config: Any) -> tuple[str, ...]:
    """The names of the phases that the settings ask for.

    ``rewrites="safe"`` leaves out what changes values, and ``"none"`` everything;
    ``fuse=False`` leaves out fusion.
    """
    if config.rewrites == "none":
        return ()
    is_wanted = {
        phase.name: (phase.is_exact or config.rewrites == "all")
        and (phase.name != "fuse" or config.fuse)
        for phase in PHASES
    }
    return tuple(name for name, wanted in is_wanted.items() if wanted)


def optimize(
    fgraph: FunctionGraph,
    phases: Iterable[str] | None = None,
    config: Any = None,
    *,
    destroyable: Collection[Variable] | Mapping[Variable, int] | None = None,
    keep_text: bool = False,
) -> Log:
    """Rewrite the graph in place, phase by phase; what fired is in the log.

    ``phases`` are names, by default those that ``config`` asks for; they run in the
    order of ``PHASES``. ``destroyable`` are the inputs that may be overwritten; a
    mapping also says which output is the new value of each. Raises ValueError for a
    name that is no phase.
    """
    names = set(
        phases_of(current if config is None else config) if phases is None else phases
    )
    if unknown := names - {phase.name for phase in PHASES}:
        known = [phase.name for phase in PHASES]
        raise GraphValueError(
            f"optimize: {sorted(unknown)} are no phases; there are {known}"
        )
    if destroyable is not None:
        fgraph.destroyable = destroyable  # type: ignore[attr-defined]
    log = Log(keep_text)
    with traced_as(None):
        for phase in without_prefixes(
            [phase for phase in PHASES if phase.name in names]
        ):
            run_phase(fgraph, phase.name, phase.includes, log)
    return log


def without_prefixes(phases: Sequence[Phase]) -> list[Phase]:
    """The phases without those whose rules the next one applies too."""
    following = [*phases, None][1:]
    return [
        phase
        for phase, next_one in zip(phases, following, strict=True)
        if next_one is None or phase.name not in next_one.includes
    ]
