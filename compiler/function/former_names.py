"""Former names of modules and classes, for files that older versions saved.

A file's graph is a pickle, which names a class and its module. Whoever renames a module
or a class adds a row here.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpuarray.compiler.plan import Call, Plan, Step
from gpuarray.compiler.shared import Container

OPS = {
    "variables": ("basic", "transfer", "context_assignment"),
    "shape": ("shape", "lengths"),
    "elemwise": ("steps", "elemwise", "math", "special"),
    "custom": ("asop", "decorated", "fromgraph", "own"),
    "broadcast": ("broadcast", "axes"),
    "reduce": ("reduce", "argmax"),
    "slicing": ("subtensor", "requirements"),
    "control": (
        "ifelse",
        "anyaxis",
        "debugging",
        "gradient_markers",
        "guarded_updates",
    ),
    "creation": ("creation", "joining", "diagonals"),
    "index": ("advanced", "indexing", "picking"),
    "sorting": ("sorting", "scanning", "extra_ops"),
    "manipulation": ("repeating", "padding"),
    "linalg": (
        "linalg",
        "products",
        "solving",
        "nlinalg",
        "slinalg",
        "inverses",
        "norms",
    ),
    "nnet": ("nnet", "activations", "losses"),
    "fused": ("mapreduce", "multi_tensor", "row_steps", "rowwise"),
    "protocols": ("conversions", "dispatch", "operators"),
}
"""The packages of ops, with their modules that stood in `ops` itself before."""

MODULES = {
    **{f"ops.{m}": f"ops.{package}.{m}" for package in OPS for m in OPS[package]},
    "derivatives.indexrules": "derivatives.batching_indexing",
    "derivatives.maprows": "derivatives.batching_fallback",
    "derivatives.rowrules": "derivatives.batching_rules",
    "derivatives.rows": "derivatives.batching",
    "graph.absent": "graph.disconnected",
    "ops.keeping": "ops.control.guarded_updates",
    "ops.marks": "ops.control.gradient_markers",
    "ops.together": "ops.fused.multi_tensor",
}
"""The modules of the compiler by former name."""

STEPS = {
    "Fold": "ReduceComponent",
    "Launch": "LaunchStep",
    "Reduce": "ReduceStep",
    "Reports": "ReportsStep",
    "Reshape": "ReshapeStep",
}
"""The steps of plans by former name."""

ROW_STEPS = "At", "Fold", "Head", "Line", "Place", "Taken", "Total", "Within"
"""The steps of row programs, which had no module of their own."""

NAMES = {
    **{("ops.fused.rowwise", x): ("ops.fused.row_steps", x) for x in ROW_STEPS},
    ("graph.core", "_itself"): ("graph.variable", "_itself"),
    ("graph.fgraph", "Change"): ("graph.fgraph", "Replacement"),
    ("ops.elemwise.elemwise", "Step"): ("ops.elemwise.elemwise", "CompositeStep"),
    ("ops.fused.multi_tensor", "Together"): ("ops.fused.multi_tensor", "MultiTensor"),
    ("ops.nnet.nnet", "Within"): ("ops.nnet.nnet", "InBounds"),
    ("ops.fused.multi_tensor", "Total"): ("ops.fused.multi_tensor", "MappedTotal"),
    **{
        (module, former): ("plan_steps", name)
        for former, name in STEPS.items()
        for module in ("plan", "plan_steps")
    },
}
"""The classes and functions by today's module and former name."""

STEP_FUNCTIONS = {"together": "multi_tensor"}
"""The step functions by former name."""

PACKAGE = "gpuarray.compiler."


def current_name(module: str, name: str) -> tuple[str, str]:
    """Return today's module and name of a class.

    >>> current_name("gpuarray.compiler.ops.together", "Together")
    ('gpuarray.compiler.ops.fused.multi_tensor', 'MultiTensor')
    """
    if not module.startswith(PACKAGE):
        return module, name
    inner = module.removeprefix(PACKAGE)
    inner = MODULES.get(inner, inner)
    inner, name = NAMES.get((inner, name), (inner, name))
    return PACKAGE + inner, name


def with_current_names(plan: Plan) -> Plan:
    """Return the plan with today's names of its step functions."""
    return replace(plan, steps=tuple(map(_current_step, plan.steps)))


def _current_step(step: Step) -> Step:
    if isinstance(step, Call) and step.function in STEP_FUNCTIONS:
        return replace(step, function=STEP_FUNCTIONS[step.function])
    return step


class Unpickler(pickle.Unpickler):
    """Reads a pickled function; ``containers`` has its values by name."""

    def __init__(
        self, data: bytes, containers: Mapping[str, Container] | None = None
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._containers = containers or {}

    def find_class(self, module: str, name: str) -> Any:
        """Find a class by today's or a former name."""
        return super().find_class(*current_name(module, name))

    def persistent_load(self, name: Any) -> Any:
        """Return the value that the file keeps under a name."""
        return self._containers[name]
