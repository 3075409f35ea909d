"""A plan with fewer results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuarray.compiler.plan import Plan, ReportsStep


def pruned(plan: Plan, chosen: Sequence[int]) -> Plan:
    """The plan with the outputs of these indices only, and the steps that they need.

    It takes the same inputs. What runs before a count of reports may add to it, and
    stays where that is needed.
    """
    outputs = tuple(plan.outputs[i] for i in chosen)
    needed = set(outputs)
    steps = []
    counts = False
    for step in reversed(plan.steps):
        if counts or not needed.isdisjoint(step.outs):
            counts |= isinstance(step, ReportsStep)
            steps.append(step)
            needed.update(step.reads)
    constants = tuple(constant for constant in plan.constants if constant[0] in needed)
    return replace(
        plan, outputs=outputs, steps=tuple(reversed(steps)), constants=constants
    )
