"""The lowering of loops: a step whose body is a plan of its own."""

from __future__ import annotations

from gpuarray.compiler import plan as p
from gpuarray.compiler.errors import NotOfferedError, made_at
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.scan.scan import Scan

ROW, CARRIED, STOPPED, SAME = "r", "c", "u", "s"


@lowers(Scan)
def lower_scan(op: Scan, node: Apply, k: Lowerer) -> None:
    """Lower a loop to a `LoopStep` on the plan of its body."""
    name = op.name or "scan_fn"
    host = op.host_inputs(node)
    ins = [
        k.integer(variable) if i in host else k.number(variable)
        for i, variable in enumerate(node.inputs)
    ]
    outs = k.outputs(node)
    plan = k.body(op.placed_body, name)
    check_body(plan, name, node)
    states = [CARRIED] * op.n_states
    if op.stopped is not None:
        states[op.stopped] = STOPPED
    takes = ROW * op.n_sequences + "".join(states)
    k.add(
        p.LoopStep(
            label=name,
            origin=k.origin(node),
            outs=outs,
            ins=tuple(ins),
            takes=takes.ljust(len(ins) - 1, SAME),
            body=p.BodyPlan(plan),
        )
    )


def check_body(plan: p.Plan, name: str, node: Apply) -> None:
    """Raise NotImplementedError if a step of the body cannot be recorded in a loop."""
    for step in plan.steps:
        if isinstance(step, p.Read):
            reason = "the host needs a number that an iteration computes"
        elif isinstance(step, p.Call) and not step.recorded:
            reason = "Python computes it, or its shape is not known beforehand"
        elif step.place is not None:
            reason = "it runs on another context"
        else:
            continue
        where = f", made at {step.origin}," if step.origin else ""
        raise NotOfferedError(
            made_at(
                f"scan {name!r}: the step {step.label}{where} cannot be in a loop yet: "
                f"{reason}",
                node.trace,
            )
        )
