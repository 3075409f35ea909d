"""Former names of modules and classes, by which files that were saved before name them.

A file's graph is a pickle, which names a class by its module. A module or a class that
is renamed gets a row here, so that such files load.
"""

from __future__ import annotations

from dataclasses import replace

from gpuarray.compiler.plan import Call, Plan, Step

MODULES = {
    "derivatives.indexrules": "derivatives.batching_indexing",
    "derivatives.maprows": "derivatives.batching_fallback",
    "derivatives.rowrules": "derivatives.batching_rules",
    "derivatives.rows": "derivatives.batching",
    "graph.absent": "graph.disconnected",
    "ops.keeping": "ops.guarded_updates",
    "ops.marks": "ops.gradient_markers",
    "ops.together": "ops.multi_tensor",
}
"""Modules of the compiler, by their former names."""

CLASSES = {
    ("graph.fgraph", "Change"): "Replacement",
    ("ops.elemwise", "Step"): "CompositeStep",
    ("ops.multi_tensor", "Together"): "MultiTensor",
    ("ops.nnet", "Within"): "InBounds",
    ("plan", "Fold"): "ReduceComponent",
}
"""Classes by their module and former name."""

STEP_FUNCTIONS = {"together": "multi_tensor"}
"""Functions of a plan's steps, by their former names."""

PACKAGE = "gpuarray.compiler."


def current_name(module: str, name: str) -> tuple[str, str]:
    """Return the module and name that a class has today.

    >>> current_name("gpuarray.compiler.ops.together", "Together")
    ('gpuarray.compiler.ops.multi_tensor', 'MultiTensor')
    """
    if not module.startswith(PACKAGE):
        return module, name
    inner = module.removeprefix(PACKAGE)
    inner = MODULES.get(inner, inner)
    return PACKAGE + inner, CLASSES.get((inner, name), name)


def with_current_names(plan: Plan) -> Plan:
    """Return the plan with the names that its steps' functions have today."""
    return replace(plan, steps=tuple(map(_current_step, plan.steps)))


def _current_step(step: Step) -> Step:
    if isinstance(step, Call) and step.function in STEP_FUNCTIONS:
        return replace(step, function=STEP_FUNCTIONS[step.function])
    return step
