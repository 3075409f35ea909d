"""Former names of modules and classes, by which files that were saved before name them.

A file's graph is a pickle, which names a class by its module. A module or a class that
is renamed gets a row here, so that such files load.
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
"""The packages of ops, and the modules in each that had none before."""

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
"""Modules of the compiler, by their former names."""

STEPS = {
    "Fold": "ReduceComponent",
    "Launch": "ElemwiseStep",
    "Reduce": "ReduceStep",
    "Reports": "ReportsStep",
    "Reshape": "ReshapeStep",
}
"""Parts of plans, by their former names."""

NAMES = {
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
"""Classes and functions by their module, as it is called today, and former name."""

STEP_FUNCTIONS = {"together": "multi_tensor"}
"""Functions of a plan's steps, by their former names."""

PACKAGE = "gpuarray.compiler."


def current_name(module: str, name: str) -> tuple[str, str]:
    """Return the module and name that a class has today.

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
    """Return the plan with the names that its steps' functions have today."""
    return replace(plan, steps=tuple(map(_current_step, plan.steps)))


def _current_step(step: Step) -> Step:
    if isinstance(step, Call) and step.function in STEP_FUNCTIONS:
        return replace(step, function=STEP_FUNCTIONS[step.function])
    return step


class Unpickler(pickle.Unpickler):
    """Reads a function, whose values it is given by name."""

    def __init__(
        self, data: bytes, containers: Mapping[str, Container] | None = None
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._containers = containers or {}

    def find_class(self, module: str, name: str) -> Any:
        """Find a class by the name it has today or had before."""
        return super().find_class(*current_name(module, name))

    def persistent_load(self, name: Any) -> Any:
        """Return the value that the file keeps under a name."""
        return self._containers[name]
