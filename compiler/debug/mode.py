"""Modes: the rewrites of a function, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from gpuarray._core.context import Context
from gpuarray.array import Array
from gpuarray.compiler.debug.checks import DebugExecutable, Source
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.rewrites import PHASES, Selection
from gpuarray.compiler.schedule import Lowered

_ALL = tuple(phase.name for phase in PHASES)

OPTIMIZERS: dict[str | None, tuple[str, ...] | None] = {
    None: (),
    "None": (),
    "merge": (),
    "fast_compile": ("canonicalize",),
    "o1": ("canonicalize",),
    "o2": ("canonicalize", "fuse"),
    "stabilize": ("canonicalize", "simplify", "stabilize"),
    "o3": tuple(name for name in _ALL if name != "inplace"),
    "fast_run": None,
    "fast_run_stable": None,
    "o4": None,
    "default": None,
}
"""The phases of Theano's names of optimizers; None: those of the settings."""

LINKERS = (None, "cvm", "vm", "c", "c|py", "py", "cvm_nogc", "vm_nogc", "c|py_nogc")


class Runner(Protocol):
    """The interface of runners of plans."""

    plan: Any
    context: Context

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Return the results for the inputs."""

    def info(self) -> dict[str, int]:
        """Return counts of the latest run."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The choice of rewrites and executor of a function.

    ``optimizer`` is a name of `OPTIMIZERS`; ``tags_in`` and ``tags_out`` are the names
    of rewrites that are added or left out. ``linker`` may be any of Theano's: plans
    have one executor.
    """

    linker: str | None = None
    optimizer: str | None = "default"
    tags_in: frozenset[str] = field(default=frozenset(), kw_only=True)
    tags_out: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise GraphValueError(
                f"Mode: optimizer={self.optimizer!r} is not known; there are "
                f"{', '.join(map(str, OPTIMIZERS))}"
            )
        if self.linker not in LINKERS:
            raise GraphValueError(
                f"Mode: linker={self.linker!r} is not known; there are "
                f"{', '.join(map(str, LINKERS))}"
            )
        _ = self.selection  # raises for unknown names

    @property
    def selection(self) -> Selection:
        """The rewrites that are done."""
        return Selection(OPTIMIZERS[self.optimizer], self.tags_in, self.tags_out)

    @property
    def needs_source(self) -> bool:
        """True if `load` needs the graph before rewriting."""
        return False

    def including(self, *tags: str) -> Self:
        """Return the mode with further rewrites: of single names, phases, or files."""
        return replace(self, tags_in=self.tags_in | set(tags))

    def excluding(self, *tags: str) -> Self:
        """Return the mode without some rewrites."""
        return replace(self, tags_out=self.tags_out | set(tags))

    def requiring(self, *tags: str) -> Self:
        """The same as `including`."""
        return self.including(*tags)

    def load(
        self, lowered: Callable[[], Lowered], source: Source | None, context: Context
    ) -> Runner | None:
        """Return the runner of a function in this mode; None for the plan itself.

        ``lowered`` returns its plan with the nodes that it was lowered from; ``source``
        is the graph before rewriting, for modes that need it.
        """
        return None


@dataclass(frozen=True, slots=True)
class DebugMode(Mode):
    """Every rewrite and every step compared with NumPy; a hundred times slower.

    The first difference raises: BadOptimization names the rewrite, BadThunkOutput the
    node; BadDestroyMap, BadViewMap and InvalidValueError an op that breaks a promise.
    """

    @property
    def needs_source(self) -> bool:
        """True."""
        return True

    def load(
        self, lowered: Callable[[], Lowered], source: Source | None, context: Context
    ) -> Runner:
        """Return a runner with all checks. Raises ValueError without the source."""
        if source is None:
            raise GraphValueError(
                "DebugMode: this function comes from a pickle, which does not hold the "
                "graph before rewriting; compile it again"
            )
        return DebugExecutable(source, lowered(), context)
