"""All rules and passes, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

from gpuarray.compiler.rewrites import nnet
from gpuarray.compiler.rewrites.arithmetic import (
    algebra,
    canonical,
    hyperbolic,
    identities,
    stability,
)
from gpuarray.compiler.rewrites.arrays import (
    changes,
    filling,
    joining,
    shapes,
    subtensor,
)
from gpuarray.compiler.rewrites.control import branches, debugging, gradient_markers
from gpuarray.compiler.rewrites.convolutions import join_convolutions, join_gradients
from gpuarray.compiler.rewrites.engine.engine import GraphPass, Rule
from gpuarray.compiler.rewrites.fusion.fusion import fuse_elementwise
from gpuarray.compiler.rewrites.fusion.rereading import read_instead_of_storing
from gpuarray.compiler.rewrites.fusion.rowwise import fuse_rows
from gpuarray.compiler.rewrites.fusion.siblings import (
    fuse_extrema,
    fuse_sibling_reductions,
)
from gpuarray.compiler.rewrites.fusion.together import fuse_results
from gpuarray.compiler.rewrites.fusion.transposes import move_axes_before_computing
from gpuarray.compiler.rewrites.linalg import blas, linalg
from gpuarray.compiler.rewrites.loops.accumulating import accumulate_after_the_loop
from gpuarray.compiler.rewrites.loops.affine import add_factors_of_states
from gpuarray.compiler.rewrites.loops.merging import (
    merge_loops,
    merge_loops_of_same_states,
)
from gpuarray.compiler.rewrites.loops.pushing import (
    compute_after_the_loop,
    multiply_before_the_loop,
    reduce_sums_after_the_loop,
    reverse_after_the_loop,
    sum_products_after_the_loop,
)
from gpuarray.compiler.rewrites.loops.tidying import (
    take_final_states,
    tidy_loops,
    unroll_single_iterations,
)
from gpuarray.compiler.rewrites.memory.guarded_updates import keep_values
from gpuarray.compiler.rewrites.memory.inplace import overwrite_dying_inputs
from gpuarray.compiler.rewrites.memory.positions import imply_positions
from gpuarray.compiler.rewrites.sparse import merge_values_of_same_places


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase and the earlier ones whose rules run in it, too.

    An exact phase changes no value, up to the rounding of a product or a power.
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

RULE_MODULES = (
    identities,
    algebra,
    blas,
    branches,
    canonical,
    subtensor,
    changes,
    debugging,
    joining,
    filling,
    linalg,
    gradient_markers,
    nnet,
    shapes,
    hyperbolic,
    stability,
)
"""The modules of rules: if two rules apply, the one from the earlier module fires.

Within a module the order is that of its text.
"""

PASSES: tuple[GraphPass, ...] = (
    merge_values_of_same_places,
    merge_loops_of_same_states,
    take_final_states,
    unroll_single_iterations,
    tidy_loops,
    multiply_before_the_loop,
    sum_products_after_the_loop,
    reduce_sums_after_the_loop,
    compute_after_the_loop,
    reverse_after_the_loop,
    accumulate_after_the_loop,
    merge_loops,
    join_gradients,
    add_factors_of_states,
    nnet.drop_unread_gradients,
    move_axes_before_computing,
    fuse_rows,
    fuse_elementwise,
    join_convolutions,
    fuse_extrema,
    fuse_sibling_reductions,
    read_instead_of_storing,
    fuse_results,
    imply_positions,
    keep_values,
    overwrite_dying_inputs,
)
"""The passes over a whole graph; each runs when no rule of its phase fires."""


def rules_by_phase(modules: Iterable[ModuleType]) -> dict[str, list[Rule]]:
    """Return the rules of the modules by phase, in order."""
    rules: dict[str, list[Rule]] = {phase.name: [] for phase in PHASES}
    for module in modules:
        for value in vars(module).values():
            # A rule that a module imports belongs to the module that writes it.
            if isinstance(value, Rule) and value.module == module.__name__:
                rules[value.phase].append(value)
    return rules


RULES = rules_by_phase(RULE_MODULES)


def rules_of(phase: Phase) -> list[Rule]:
    """Return the rules at work in a phase, those of the phases it includes first."""
    return [rule for name in (*phase.includes, phase.name) for rule in RULES[name]]


def passes_of(phase: Phase) -> list[GraphPass]:
    """Return the passes of a phase, in order."""
    return [graph_pass for graph_pass in PASSES if graph_pass.phase == phase.name]


def all_rules() -> list[Rule]:
    """Return every rule, by phase."""
    return [rule for rules in RULES.values() for rule in rules]


def all_rewrites() -> list[Rule | GraphPass]:
    """Return every rule and every pass."""
    return [*all_rules(), *PASSES]


def all_tags() -> frozenset[str]:
    """Return every name that rules and passes are chosen by."""
    return frozenset().union(*(rewrite.tags for rewrite in all_rewrites()))
