"""Row programs: one launch; on processors and for a few long rows, one each walk.

A product of a matrix and a vector with what is computed of its results is one launch
where launches are much of its time; elsewhere the BLAS has the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.opening import current_context
from gpuarray._creation.filled import empty
from gpuarray._kernels.codegen import literal
from gpuarray._products import matmul
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.bodies import unfolds, written
from gpuarray.compiler.gpukernels.calls import Needs, needs_of, step_function
from gpuarray.compiler.gpukernels.folds import accumulator
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.launch import (
    LONG,
    Given,
    kernel_of,
    launch,
    launch_totals,
    named_text,
    totals_form,
    without_identity,
)
from gpuarray.compiler.gpukernels.rows.looped import walks_of
from gpuarray.compiler.gpukernels.rows.operands import Operands, taken_inputs
from gpuarray.compiler.gpukernels.rows.persistent import kept_block
from gpuarray.compiler.gpukernels.rows.product import (
    AHEAD,
    Product,
    product_of,
    suits_rows,
)
from gpuarray.compiler.gpukernels.rows.run import Run, tell_walks
from gpuarray.compiler.gpukernels.rows.totals import (
    blocks_for,
    bunches,
    fold_rows,
    total_kernel,
)
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.ops.fused.rowwise import COUNT, LENGTH, TABLE, Program, Rowwise
from gpuarray.scalars import SCALARS

_MANY = 2**31  # rows


@lowers(Rowwise)
def lower_rowwise(op: Rowwise, node: Apply, k: Lowerer) -> None:
    """A step; constants of one element are text of its kernel."""
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
    shown = [*named, *(f"@{i} = {each}" for i, each in enumerate(results))]
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
        text=tuple(shown),
    )
    body = None if op.program.totals else written(step, k.values)
    k.add(replace(step, body=None if body is None else plan.Body(body)))


@unfolds(Rowwise)
def unfold(op: Rowwise, inputs: Sequence[Variable]) -> list[Variable]:
    """Reductions along the rows, and elementwise operations."""
    return op.unfold(inputs)


def label(program: Program) -> str:
    """The rows of a kernel, each once, in the order they are first computed."""
    names = [step.label for step in program.steps]
    names += [SCALARS[total.monoid].name for total in program.totals]
    return "rows: " + "+".join(dict.fromkeys(filter(None, names)))


@step_function("rowwise")
def rowwise(
    *values: Any, program: Program, sources: tuple[str, ...], over: tuple[int, ...]
) -> tuple[Array, ...]:
    """The outputs of a row program; ``over`` has the values that they overwrite."""
    context = current_context()
    assert context is not None
    operands = Operands.of(program, sources, over, values, context)
    product = product_of(program)
    if product is not None and leaves_product(product, operands):
        return by_blas(product, operands)
    if operands.length == 0:
        check_elements(program, operands.shape)
    return with_totals(operands) if program.totals else run(operands)


def run(operands: Operands) -> tuple[Array, ...]:
    """The outputs of a program without totals."""
    rows = operands.rows
    has_lines = all(table.shape[0] > 0 for table in operands.of_kind(TABLE))
    by_walks = prefers_walks(rows, operands.length, operands.context) or not has_lines
    if rows > 0 and by_walks:
        fresh = tuple(target is None for target in operands.targets)
        is_whole = all(count == rows for count in operands.of_kind(COUNT))
        walks = walks_of(operands.program, operands.sources, fresh, is_whole)
        return tuple(Run(walks, operands).results())
    outputs = operands.outputs()
    if rows > 0:
        launch(operands, outputs)
    return tuple(operands.give(outputs))


def leaves_product(product: Product, operands: Operands) -> bool:
    """Whether the BLAS is better at a program's product."""
    by_walks = prefers_walks(operands.rows, operands.length, operands.context)
    return by_walks or not suits_rows(operands.values[product.matrix])


def by_blas(product: Product, operands: Operands) -> tuple[Array, ...]:
    """The product by the BLAS, and the rest of its program after it."""
    values = operands.values
    vector = values[product.vector].reshape(operands.length)
    made = matmul.matmul(values[product.matrix], vector)
    others = (x for i, x in enumerate(values) if i not in product.operands)
    given = (x for x in others if x is not None)
    rest = product.without(operands.sources, operands.over)
    results: tuple[Array, ...] = rowwise(*given, made.reshape(-1, 1), **rest)
    return results


def with_totals(operands: Operands) -> tuple[Array, ...]:
    """The outputs, and then totals: of one kernel's blocks, or of what is stored."""
    program, context = operands.program, operands.context
    length, rows = operands.length, operands.rows
    is_kept = kept_block(program, length, context.max_threads) != (0, 0)
    if is_kept and not prefers_walks(rows, length, context):
        given = Given.of(operands)
        form = totals_form(operands, given)
        blocks = blocks_for(program, form, rows, length, context) if form.kept else 0
        if blocks and kernel_of(program, form, context).max_threads >= form.lanes:
            outputs = operands.outputs()
            parts = [
                empty((blocks, length), str(accumulator(total)), context=context)
                for total in program.totals
            ]
            launch_totals(program, form, given, [*outputs, *parts], context)
            made = fold_rows(program.totals, parts, context)
            lengths = (*(1,) * (len(operands.shape) - 1), length)
            totals = [total.reshape(*lengths) for total in made]
            return (*operands.give(outputs), *totals)
    plain = operands.storing()
    found = run(plain)
    there = dict(enumerate(operands.values))
    there |= dict(zip(plain.program.outputs, found, strict=True))
    folded = [there[total.operand] for total in program.totals]
    return (
        *found[: len(program.outputs)],
        *fold_rows(program.totals, folded, context),
    )


@needs_of("rowwise")
def tell_needs(
    needs: Needs,
    *values: Any,
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
) -> None:
    """The kernel of rows whose elements are neighbours; else those of the walks.

    Totals are of what is stored: the kernel of many long rows is made where such come.
    """
    ndim = max(value.ndim for value in values if isinstance(value, plan.ArrayValue))
    product = product_of(program)
    if product is not None and needs.context.is_cpu:
        rest = product.without(sources, over)
        tell_walks(product.rest, rest["sources"], rest["over"], 2, needs)
        return
    if program.totals:
        for bunch in bunches(program.totals, needs.context):
            dtypes = tuple(program.dtypes[total.operand] for total in bunch)
            kernel = total_kernel(bunch, dtypes, needs.context)
            needs.reduction(kernel, ndim, range(ndim - 1))
        over = over[: len(program.outputs)]
        program = program.storing()
        over = (*over, *(-1,) * (len(program.outputs) - len(over)))
    if not prefers_walks(_MANY, 1, needs.context):
        ahead = 0 if product is None else AHEAD
        form = Form(sources, taken_inputs(sources, over), True, False, ahead=ahead)
        needs.kernel(*named_text(program, form))
        return
    tell_walks(program, sources, over, ndim, needs)


def prefers_walks(rows: int, length: int, context: Context) -> bool:
    """Whether other kernels are better at these rows than one for all of it.

    Those of processors make better vectors; and a few long rows keep no GPU busy.
    """
    return context.is_cpu or (length > LONG and rows < 2 * context.processors)


def check_elements(program: Program, shape: Sequence[int]) -> None:
    """Raise ValueError where a fold of no elements has no value."""
    for monoid in without_identity(program):
        raise GraphValueError(
            f"{monoid}: no elements to reduce in shape {tuple(shape)}, and the "
            "operation has no identity; reduce axes that have elements"
        )
