"""Row programs in plans: a step, and the body that the library binds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from gpuarray._kernels.codegen import literal
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.bodies import written
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply, Constant
from gpuarray.compiler.ops.fused.row_steps import COUNT, LENGTH
from gpuarray.compiler.ops.fused.rowwise import Program, Rowwise
from gpuarray.scalars import SCALARS


@lowers(Rowwise)
def lower_rowwise(op: Rowwise, node: Apply, k: Lowerer) -> None:
    """Lower to one step; constants of one element are text of its kernel."""
    ins: list[int] = []
    sources: list[str] = []
    texts: list[str] = []
    for variable, (dtype, kind) in zip(node.inputs, op.program.inputs, strict=True):
        if kind in (LENGTH, COUNT):
            sources.append("int")
            ins.append(k.integer(variable))
        elif isinstance(variable, Constant) and variable.data.size == 1:
            value = np.asarray(variable.data).reshape(())[()]
            sources.append(literal(value, np.dtype(dtype)))
            texts.append(str(value))
            continue
        else:
            sources.append("int" if k.is_int(variable) else "array")
            ins.append(k.number(variable))
        texts.append(f"${len(ins) - 1}")
    outs = k.outputs(node)
    places = [i for i, source in enumerate(sources) if source in ("int", "array")]
    arrays = {i: at for at, i in enumerate(places) if sources[i] == "array"}
    over = k.overwritten(op.inplace_pattern, node, arrays)
    named, results = op.program.statements(texts)
    lines = [*named, *(f"@{i} = {result}" for i, result in enumerate(results))]
    step = plan.Call(
        label=label(op.program),
        origin=k.origin(node),
        outs=outs,
        ins=tuple(ins),
        function="rowwise",
        options=(
            ("program", op.program),
            ("sources", tuple(sources)),
            ("over", over),
        ),
        groups=(-1,) * len(ins),
        inplace=over,
        recorded=True,
        text=tuple(lines),
    )
    body = written(step, k.values)
    assert body is not None  # each row program has one
    k.add(replace(step, body=plan.BodyPlan(body)))


def label(program: Program) -> str:
    """Return the names of a kernel's rows, each once, in order of computation."""
    names = [step.label for step in program.steps]
    names += [SCALARS[total.monoid].name for total in program.totals]
    return "rows: " + "+".join(dict.fromkeys(filter(None, names)))
