"""The lowering of loops: a step whose body is a plan of its own.

A loop is recorded unless its body reads a number or is of several contexts: the library
then starts the iterations one by one. Python does where the body calls a function of
Python.
"""

from __future__ import annotations

from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.plan_stages import is_called

ROW, CARRIED, STOPPED, SAME = "r", "c", "u", "s"
AFFINE, SUM, FACTOR = "a", "+", "f"


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
    states = [CARRIED] * op.n_states
    if op.n_affine:
        n_sums = op.n_states - 2 * op.n_affine
        states = list(AFFINE * op.n_affine + SUM * n_sums + FACTOR * op.n_affine)
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
            recorded=not any(map(is_called, plan.steps)),
        )
    )
