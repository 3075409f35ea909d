"""Row programs: one launch; on processors and for a few long rows, one each walk.

A product of a matrix and a vector with what is computed of its results is one launch
where launches are much of its time; elsewhere the BLAS has the product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray import blas
from gpuarray.array import Array
from gpuarray.codegen import digest, literal
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.calls import Needs, needs_of, step_function
from gpuarray.compiler.gpukernels.forecast import Forecast
from gpuarray.compiler.gpukernels.nnet import first_rows
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.gpukernels.rowkept import Kept, kept_block
from gpuarray.compiler.gpukernels.rowproduct import (
    AHEAD,
    product_block,
    product_of,
    suits_rows,
)
from gpuarray.compiler.gpukernels.rowtext import BLOCK, NUMBERS, Form, Writer, reports
from gpuarray.compiler.gpukernels.rowwalks import Walks
from gpuarray.compiler.graph.core import Apply, Constant
from gpuarray.compiler.ops.nnet import check_first_rows
from gpuarray.compiler.ops.rowwise import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    ONE,
    ROW,
    TABLE,
    At,
    Fold,
    Line,
    Program,
    Rowwise,
    Taken,
    Within,
)
from gpuarray.context import Context, current_context
from gpuarray.creation import empty
from gpuarray.dtypes import OFFSET
from gpuarray.kernel import REPORT_TYPES, GpuKernel, index_report
from gpuarray.reduction import needs_elements
from gpuarray.scalars import SCALARS

LONG = 16384
"""Elements of a row beyond which few rows are not left to a block each."""
MANY_ITEMS = 2048
"""The work items that keep a processor of a GPU busy."""
_NARROW = 2**31 - 2**20
_MANY = 2**31  # rows


@lowers(Rowwise)
def lower_rowwise(op: Rowwise, node: Apply, k: Lowerer) -> None:
    """A step; constants of one element are text of its kernel."""
    ins: list[int] = []
    sources: list[str] = []
    for variable, (dtype, kind) in zip(node.inputs, op.program.inputs, strict=True):
        if kind in (LENGTH, COUNT):
            sources.append("int")
            ins.append(k.integer(variable))
        elif isinstance(variable, Constant) and variable.data.size == 1:
            value = np.asarray(variable.data).reshape(())[()]
            sources.append(literal(value, np.dtype(dtype)))
        else:
            sources.append("int" if k.is_int(variable) else "array")
            ins.append(k.number(variable))
    outs = k.outputs(node)
    places = [i for i, source in enumerate(sources) if source in ("int", "array")]
    arrays = {i: at for at, i in enumerate(places) if sources[i] == "array"}
    over = k.overwritten(op.inplace_pattern, node, arrays)
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
        )
    )


def label(program: Program) -> str:
    """The rows of a kernel, each once, in the order they are first computed."""
    names = [
        SCALARS[step.monoid].name
        if isinstance(step, Fold)
        else operation_of(step)
        if isinstance(step, At | Within | Line | Taken)
        else getattr(step, "op", "")
        for step in program.steps
    ]
    return "rows: " + "+".join(dict.fromkeys(filter(None, names)))


def operation_of(step: Any) -> str:
    """What a step does by an index is called."""
    return "take" if isinstance(step, Line | Taken) else "pick"


def operation(program: Program) -> str:
    """What is reported with an index that leads nowhere."""
    found = [operation_of(s) for s in program.steps if isinstance(s, Line | Within)]
    return " or ".join(dict.fromkeys(found))


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
    length, rows = shape[-1], math.prod(shape[:-1])
    context = current_context()
    assert context is not None
    by_walks = prefers_walks(rows, length, context)
    product = product_of(program)
    if product is not None and (by_walks or not suits_rows(listed[product.matrix])):
        matrix, vector = listed[product.matrix], listed[product.vector]
        made = blas.matmul(matrix, vector.reshape(length)).reshape(rows, 1)
        others = (x for i, x in enumerate(listed) if i not in product.operands)
        given = (x for x in others if x is not None)
        results: tuple[Array, ...] = rowwise(
            *given, made, **product.without(sources, over)
        )
        return results
    if length == 0:
        check_elements(program, shape)
    targets = [values[index] if index >= 0 else None for index in over]
    has_lines = all(
        value.shape[0] > 0
        for value, (_, kind) in zip(listed, program.inputs, strict=True)
        if kind == TABLE
    )
    by_walks = by_walks or not has_lines
    outputs = [
        target
        if target is not None and (by_walks or target.flags.c_contiguous)
        else empty(
            shape if program.kinds[value] == CELL else (*shape[:-1], 1),
            program.dtypes[value],
            context=context,
        )
        for value, target in zip(program.outputs, targets, strict=True)
    ]
    if rows > 0 and by_walks:
        Walks(program, sources, listed, shape, context).run(outputs, over)
    elif rows > 0:
        launch(program, sources, over, listed, outputs, rows, length, context)
    for index, target in enumerate(targets):
        if target is not None and outputs[index] is not target:
            target[...] = outputs[index]
            outputs[index] = target
    return tuple(outputs)


@needs_of("rowwise")
def tell_needs(
    needs: Needs,
    *values: Any,
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
) -> None:
    """The kernel of rows whose elements are neighbours; else those of the walks."""
    product = product_of(program)
    if product is not None and needs.context.is_cpu:
        rest = product.without(sources, over)
        Forecast(needs, product.rest, rest["sources"], 2).take_down(rest["over"])
        return
    if not prefers_walks(_MANY, 1, needs.context):
        ahead = 0 if product is None else AHEAD
        form = Form(sources, taken_inputs(sources, over), True, False, ahead=ahead)
        needs.kernel(*named_text(program, form))
        return
    ndim = max(value.ndim for value in values if isinstance(value, plan.ArrayValue))
    Forecast(needs, program, sources, ndim).take_down(over)


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
    for step in program.steps:
        if not isinstance(step, Fold) or step.of_none:
            continue
        if needs_elements(SCALARS[step.monoid]):
            raise GraphValueError(
                f"{step.monoid}: no elements to reduce in shape {tuple(shape)}, and "
                "the operation has no identity; reduce axes that have elements"
            )


def launch(
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
    values: Sequence[Any],
    outputs: Sequence[Array],
    rows: int,
    length: int,
    context: Context,
) -> None:
    """Queue the kernel on inputs as matrices."""
    kinds = program.kinds[: len(program.inputs)]
    matrices = [
        as_matrix(value, kind, rows, length) if isinstance(value, Array) else value
        for value, kind in zip(values, kinds, strict=True)
    ]
    is_unit = all(
        each.strides[-1] == each.dtype.itemsize or length == 1
        for each, kind in zip(matrices, kinds, strict=True)
        if kind in (CELL, COLUMN, TABLE)
    )
    kept = kept_block(program, length, context.max_threads)
    taken = taken_inputs(sources, over)
    ahead = 0 if product_of(program) is None else AHEAD
    form = Form(sources, taken, is_unit, length >= _NARROW, *kept, ahead)
    kernel = kernel_of(program, form, context)
    if (
        form.lanes > kernel.max_threads
    ):  # its registers are too many for so large a block
        form = replace(form, kept=0, lanes=0)
        kernel = kernel_of(program, form, context)
    find = product_block if form.ahead else block_of
    lanes, slots = (form.lanes, 1) if form.kept else find(length, rows, context)
    arguments: list[Any] = []
    for kind, value, source in zip(kinds, matrices, sources, strict=True):
        if kind == LENGTH:
            continue
        if source == "int":
            arguments.append(value)
        elif source == "array":
            strides = value.strides if kind in (CELL, TABLE) else value.strides[-1:]
            counts = value.shape[:1] if kind == TABLE else ()
            strides = () if kind == ONE else (*counts, *strides)
            arguments += [value, value.offset, *strides]
    tiles = -(-rows // slots)
    per_group = -(-tiles // (1 << 16))
    kernel(
        *(x for array in outputs for x in (array, array.offset)),
        *arguments,
        *(index_report(operation(program), context) if reports(program) else ()),
        rows,
        length,
        per_group,
        blocks=(-(-tiles // per_group), 1),
        threads=(lanes, slots),
    )


def taken_inputs(sources: tuple[str, ...], over: tuple[int, ...]) -> frozenset[int]:
    """The inputs that outputs may overwrite: ``over`` counts those with a value."""
    given = [i for i, source in enumerate(sources) if source in ("int", "array")]
    return frozenset(given[index] for index in over if index >= 0)


def as_matrix(array: Array, kind: str, rows: int, length: int) -> Array:
    """An input with its rows along one axis; a copy where they are no one axis."""
    if kind == TABLE:
        return array
    if kind == CELL:
        return array.reshape(rows, length)
    if kind == ROW:
        return array.reshape(rows)
    return array.reshape(length if kind == COLUMN else 1)


def block_of(length: int, rows: int, context: Context) -> tuple[int, int]:
    """How many items walk along a row, and how many rows a block has.

    Of enough rows an item has some elements; of few it has one, as far as that goes.
    """
    block = min(BLOCK, 1 << (context.max_threads.bit_length() - 1))
    share = 8 if rows * length > MANY_ITEMS * context.processors else 1
    wanted = length if length <= 32 else max(32, length // share)
    lanes = min(block, 1 << (max(wanted, 1) - 1).bit_length())
    return lanes, block // lanes


def kernel_of(program: Program, form: Form, context: Context) -> GpuKernel:
    """The kernel, compiled when it is first asked for."""
    key = "rowwise", program, form
    kernel: GpuKernel | None = context._kernels.get(key)
    if kernel is None:
        types = types_of(program, form)
        kernel = GpuKernel(*named_text(program, form), types, context)
        context._kernels[key] = kernel
    return kernel


@lru_cache(maxsize=256)
def named_text(program: Program, form: Form) -> tuple[str, str]:
    """The kernel's text, and its name."""
    writer = Kept if form.kept else Writer
    text = writer(program, form).text("$name")
    name = f"rowwise_{digest(text.encode())}"
    return text.replace("$name", name), name


def types_of(program: Program, form: Form) -> list[Any]:
    """The kernel's arguments, as `Writer.text` lists them."""
    pointer = [Array, OFFSET]
    found: list[Any] = pointer * len(program.outputs)
    for source, kind in zip(form.sources, program.kinds, strict=False):
        if kind == LENGTH:
            continue
        if source == "int":
            found.append(np.int64)
        elif source == "array":
            found += pointer + [np.int64] * len(NUMBERS.get(kind, ""))
    if reports(program):
        found += REPORT_TYPES
    place = np.int64 if form.is_wide else np.int32
    return [*found, np.int64, place, np.int64]
