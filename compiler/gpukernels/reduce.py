"""Reductions, alone or of an elementwise expression that is never stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray._ufunc.reduction import needs_elements
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.elemwise import Inputs
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.gpukernels.source import (
    Statements,
    extremum_fields,
    reduction_fields,
    statements,
)
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.fused.mapreduce import MapArgmax, MapReduce, MapReduces
from gpuarray.compiler.ops.reduce.argmax import Argmax
from gpuarray.compiler.ops.reduce.reduce import NAMES, Reduce
from gpuarray.scalars import SCALARS


@lowers(Reduce)
def reduce(op: Reduce, node: Apply, k: Lowerer) -> None:
    """Lower to a reduction of one array."""
    inputs = Inputs(node.inputs, ndim(op, node), k)
    code = Statements("", (inputs.operands[0],), "")
    add_reduction([op], node, inputs, code, k)


def mapped(
    op: MapReduce | MapArgmax, node: Apply, k: Lowerer
) -> tuple[Inputs, Statements]:
    """Return the arrays that an expression reads, and its statements."""
    inputs = Inputs(node.inputs, ndim(op.reduce, node), k)
    (dtype,) = op.map.output_dtypes([dtype for _, dtype in inputs.operands])
    return inputs, statements(op.composite, inputs.operands, dtype)


@lowers(MapReduce)
def map_reduce(op: MapReduce, node: Apply, k: Lowerer) -> None:
    """Lower to a reduction of an expression of several arrays."""
    inputs, code = mapped(op, node, k)
    add_reduction([op.reduce], node, inputs, code, k)


@lowers(MapReduces)
def map_reduces(op: MapReduces, node: Apply, k: Lowerer) -> None:
    """Lower to reductions of expressions of several arrays, in one pass."""
    inputs = Inputs(node.inputs, ndim(op.reduces[0], node), k)
    dtypes = op.map.output_dtypes([dtype for _, dtype in inputs.operands])
    code = statements(op.map.scalar, inputs.operands, dtypes[0])
    add_reduction(op.reduces, node, inputs, code, k)


@lowers(MapArgmax)
def map_argmax(op: MapArgmax, node: Apply, k: Lowerer) -> None:
    """Lower to an argmax of an expression of several arrays."""
    inputs, code = mapped(op, node, k)
    k.add(
        plan.ReduceStep(
            label=f"{op.reduce.name} of an expression",
            axes=op.reduce.axes,
            needs_elements=True,
            is_position=True,
            **operand_fields(node, inputs, code, k),
            **extremum_fields(op.reduce.smallest, code.results[0], code.support),
        )
    )


def ndim(op: Reduce | Argmax, node: Apply) -> int:
    """Return the number of axes before the reduction."""
    return len(op.axes) + int(node.outputs[0].type.ndim)


def operand_fields(
    node: Apply, inputs: Inputs, code: Statements, k: Lowerer
) -> dict[str, Any]:
    """Return the fields of a `ReduceStep` for what it reads and writes."""
    return {
        "origin": k.origin(node),
        "outs": k.outputs(node),
        "ins": tuple(inputs.numbers),
        "prologue": code.text,
        "names": tuple(inputs.names),
        "in_dtypes": tuple(inputs.dtypes),
    }


def add_reduction(
    ops: Sequence[Reduce], node: Apply, inputs: Inputs, code: Statements, k: Lowerer
) -> None:
    """The step of reductions, each of one result of ``code``."""
    folds = [
        (op.monoid, op.acc_dtype or out.type.dtype)
        for op, out in zip(ops, node.outputs, strict=True)
    ]
    names = "+".join(dict.fromkeys(NAMES[op.monoid].lower() for op in ops))
    k.add(
        plan.ReduceStep(
            label=names + (" of an expression" if code.text else ""),
            axes=ops[0].axes,
            needs_elements=any(
                needs_elements(SCALARS[op.monoid]) and not op.of_none for op in ops
            ),
            **operand_fields(node, inputs, code, k),
            **reduction_fields(folds, code.results, code.support),
        )
    )
