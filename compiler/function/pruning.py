"""A plan with fewer results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuarray.compiler.plan import Plan, ReportsStep


def pruned(plan: Plan, chosen: Sequence[int]) -> Plan:
    """Return the plan of some outputs: its steps are those that they need.

    It takes the same inputs. A step before a needed count of index errors stays, for it
    may add to the count.
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
