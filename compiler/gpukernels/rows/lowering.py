"""Row programs: one launch; on processors and for a few long rows, one each walk.

A product of a matrix and a vector with what is computed of its results is one launch
where launches are much of its time; elsewhere the BLAS has the product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray import products
from gpuarray._core.context import Context, current_context
from gpuarray._kernels.codegen import literal
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.bodies import unfolds
from gpuarray.compiler.gpukernels.calls import Needs, needs_of, step_function
from gpuarray.compiler.gpukernels.folds import accumulator
from gpuarray.compiler.gpukernels.nnet import first_rows
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.launch import (
    LONG,
    Given,
    kernel_of,
    launch,
    launch_totals,
    named_text,
    taken_inputs,
    totals_form,
    without_identity,
)
from gpuarray.compiler.gpukernels.rows.looped import walks_of
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
from gpuarray.compiler.ops.nnet import check_first_rows
from gpuarray.compiler.ops.rowwise import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    ROW,
    TABLE,
    Program,
    Rowwise,
)
from gpuarray.creation import empty
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
    k.add(
        plan.Call(
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
    )


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
    given = iter(values)
    listed: list[Any] = [
        next(given) if s in ("int", "array") else None for s in sources
    ]
    shape = domain(program, listed)
    fill_rows(program, listed, shape[0])
    context = current_context()
    assert context is not None
    product = product_of(program)
    if product is not None and leaves_product(product, listed, shape, context):
        return by_blas(product, sources, over, listed, shape)
    if shape[-1] == 0:
        check_elements(program, shape)
    targets = [values[index] if index >= 0 else None for index in over]
    if program.totals:
        return with_totals(program, sources, over, targets, listed, shape, context)
    return run(program, sources, over, targets, listed, shape, context)


def run(
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
    targets: Sequence[Any],
    listed: Sequence[Any],
    shape: tuple[int, ...],
    context: Context,
) -> tuple[Array, ...]:
    """The outputs of a program without totals; ``targets`` are overwritten."""
    length, rows = shape[-1], math.prod(shape[:-1])
    has_lines = all(
        value.shape[0] > 0
        for value, (_, kind) in zip(listed, program.inputs, strict=True)
        if kind == TABLE
    )
    if rows > 0 and (prefers_walks(rows, length, context) or not has_lines):
        fresh = tuple(target is None for target in targets)
        counts = (
            x for x, (_, k) in zip(listed, program.inputs, strict=True) if k == COUNT
        )
        walks = walks_of(program, sources, fresh, all(n == rows for n in counts))
        return tuple(Run(walks, listed, targets, shape, context).results())
    outputs = new_outputs(program, targets, shape, context)
    if rows > 0:
        launch(program, sources, over, listed, outputs, rows, length, context)
    return tuple(give(outputs, targets))


def leaves_product(
    product: Product, values: Sequence[Any], shape: Sequence[int], context: Context
) -> bool:
    """Whether the BLAS is better at a program's product."""
    by_walks = prefers_walks(math.prod(shape[:-1]), shape[-1], context)
    return by_walks or not suits_rows(values[product.matrix])


def by_blas(
    product: Product,
    sources: tuple[str, ...],
    over: tuple[int, ...],
    values: Sequence[Any],
    shape: Sequence[int],
) -> tuple[Array, ...]:
    """The product by the BLAS, and the rest of its program after it."""
    matrix, vector = values[product.matrix], values[product.vector]
    made = products.matmul(matrix, vector.reshape(shape[-1]))
    others = (x for i, x in enumerate(values) if i not in product.operands)
    given = (x for x in others if x is not None)
    rest = product.without(sources, over)
    results: tuple[Array, ...] = rowwise(*given, made.reshape(-1, 1), **rest)
    return results


def new_outputs(
    program: Program,
    targets: Sequence[Any],
    shape: tuple[int, ...],
    context: Context,
) -> list[Array]:
    """Where outputs go: into targets, if those will do."""
    return [
        target
        if target is not None and target.flags.c_contiguous
        else empty(
            shape if program.kinds[value] == CELL else (*shape[:-1], 1),
            program.dtypes[value],
            context=context,
        )
        for value, target in zip(program.outputs, targets, strict=True)
    ]


def give(outputs: list[Array], targets: Sequence[Any]) -> list[Array]:
    """The outputs, copied to the targets that would not do."""
    for index, target in enumerate(targets):
        if target is not None and outputs[index] is not target:
            target[...] = outputs[index]
            outputs[index] = target
    return outputs


def with_totals(
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
    targets: Sequence[Any],
    listed: Sequence[Any],
    shape: tuple[int, ...],
    context: Context,
) -> tuple[Array, ...]:
    """The outputs, and then totals: of one kernel's blocks, or of what is stored."""
    whole = len(program.outputs)
    over, targets = over[:whole], targets[:whole]
    length, rows = shape[-1], math.prod(shape[:-1])
    is_kept = kept_block(program, length, context.max_threads) != (0, 0)
    if is_kept and not prefers_walks(rows, length, context):
        given = Given.of(program, listed, rows, length)
        form = totals_form(program, sources, over, given, targets, context)
        blocks = blocks_for(program, form, rows, length, context) if form.kept else 0
        if blocks and kernel_of(program, form, context).max_threads >= form.lanes:
            outputs = new_outputs(program, targets, shape, context)
            parts = [
                empty((blocks, length), str(accumulator(total)), context=context)
                for total in program.totals
            ]
            launch_totals(program, form, given, [*outputs, *parts], context)
            made = fold_rows(program.totals, parts, context)
            totals = [x.reshape(*(1,) * (len(shape) - 1), length) for x in made]
            return (*give(outputs, targets), *totals)
    plain = program.storing()
    more = len(plain.outputs) - whole
    over, targets = (*over, *(-1,) * more), [*targets, *(None,) * more]
    found = run(plain, sources, over, targets, listed, shape, context)
    there = {**dict(enumerate(listed)), **dict(zip(plain.outputs, found, strict=True))}
    folded = [there[total.operand] for total in program.totals]
    return (*found[:whole], *fold_rows(program.totals, folded, context))


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


def domain(program: Program, values: Sequence[Any]) -> tuple[int, ...]:
    """The shape of an element's values. Raises ValueError where inputs differ."""
    given = {  # of several of a kind the first
        kind: value.shape
        for value, (_, kind) in reversed(list(zip(values, program.inputs, strict=True)))
        if isinstance(value, Array)
    }
    if CELL in given or TABLE not in given:
        shape = list(given.get(CELL) or given[ROW])
    else:
        shape = [given[ROW][0], given[TABLE][1]]
    for value, (_, kind) in zip(values, program.inputs, strict=True):
        wanted = {
            CELL: shape,
            ROW: [*shape[:-1], 1],
            COLUMN: [*(1 for _ in shape[:-1]), shape[-1]],
            TABLE: [*value.shape[:1], shape[-1]] if kind == TABLE else None,
        }.get(kind)
        is_array = isinstance(value, Array)
        if is_array and wanted is not None and list(value.shape) != wanted:
            raise GraphValueError(
                f"Rowwise: Input dimension mis-match: an input has shape "
                f"{value.shape}, expected {tuple(wanted)}"
            )
        if kind == LENGTH and value != shape[-1]:
            raise GraphValueError(
                f"Rowwise: Input dimension mis-match: places up to {value} in rows of "
                f"{shape[-1]}"
            )
    return tuple(shape)


def fill_rows(program: Program, values: list[Any], rows: int) -> None:
    """Give what is of the first rows zeros for the others. IndexError: more rows."""
    for index, (_, kind) in enumerate(program.inputs):
        if kind == COUNT:
            check_first_rows(values[index], rows)
        if kind == FEW:
            vector = values[index].reshape(-1)
            made = first_rows(vector, vector.shape[0], rows)
            values[index] = made.reshape(rows, 1)


def check_elements(program: Program, shape: Sequence[int]) -> None:
    """Raise ValueError where a fold of no elements has no value."""
    for monoid in without_identity(program):
        raise GraphValueError(
            f"{monoid}: no elements to reduce in shape {tuple(shape)}, and the "
            "operation has no identity; reduce axes that have elements"
        )
