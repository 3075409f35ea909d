"""Reductions, alone or of an elementwise expression that is never stored."""

from __future__ import annotations

import numpy as np
from gpuarray.codegen import convert, identity_text, scalar_expression
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.elemwise import Inputs
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.gpukernels.source import Statements, statements
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.mapreduce import MapReduce
from gpuarray.compiler.ops.reduce import NAMES, Reduce
from gpuarray.reduction import needs_elements
from gpuarray.scalars import SCALARS


@lowers(Reduce)
def reduce(op: Reduce, node: Apply, k: Lowerer) -> None:
    """A reduction of one array."""
    inputs = Inputs(node.inputs, ndim(op, node), k)
    add_reduction(op, node, inputs, Statements("", (inputs.operands[0],), ""), k)


@lowers(MapReduce)
def map_reduce(op: MapReduce, node: Apply, k: Lowerer) -> None:
    """A reduction of an expression of several arrays."""
    inputs = Inputs(node.inputs, ndim(op.reduce, node), k)
    dtypes = [dtype for _, dtype in inputs.operands]
    (mapped,) = op.map.output_dtypes(dtypes)
    code = statements(op.composite, inputs.operands, mapped)
    add_reduction(op.reduce, node, inputs, code, k)


def ndim(op: Reduce, node: Apply) -> int:
    """The number of axes before the reduction."""
    return len(op.axes) + int(node.outputs[0].type.ndim)


def add_reduction(
    op: Reduce, node: Apply, inputs: Inputs, code: Statements, k: Lowerer
) -> None:
    """The step of a reduction of the only result of ``code``."""
    accumulator = np.dtype(op.acc_dtype or node.outputs[0].type.dtype)
    row = SCALARS[op.monoid]
    combine = scalar_expression(row, [("a", accumulator), ("b", accumulator)])
    ((text, dtype),) = code.results
    supports = dict.fromkeys(s for s in (code.support, combine.support) if s)
    label = NAMES[op.monoid].lower() + (" of an expression" if code.text else "")
    k.add(
        plan.Reduce(
            label=label,
            origin=k.origin(node),
            outs=k.outputs(node),
            ins=tuple(inputs.numbers),
            prologue=code.text,
            map=convert(text, np.dtype(dtype), accumulator),
            preamble="\n".join(supports),
            names=tuple(inputs.names),
            in_dtypes=tuple(inputs.dtypes),
            combine=combine.text,
            identity=identity_text(row, accumulator),
            acc_dtype=str(accumulator),
            axes=op.axes,
            needs_elements=needs_elements(row),
        )
    )
