"""Multi-tensor launches: small elementwise operations of several shapes at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.opening import current_context
from gpuarray._creation.filled import empty
from gpuarray._kernels.apply import call_elemwise, fail, new_elemwise
from gpuarray._kernels.codegen import convert, literal, self_contained
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.monoids import Accumulator, make_reduction
from gpuarray._native import check, ffi, lib
from gpuarray._products import matmul
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.argmax import taken
from gpuarray.compiler.gpukernels.bodies import unfolds
from gpuarray.compiler.gpukernels.calls import Needs, needs_of, step_function
from gpuarray.compiler.gpukernels.multi_tensor.inputs import Sources, numbers_of
from gpuarray.compiler.gpukernels.multi_tensor.text import (
    PER_BLOCK,
    PER_BLOCK_CPU,
    Forms,
    element_sources,
    named_text,
    threads_for,
)
from gpuarray.compiler.gpukernels.multi_tensor.totals import STRIP
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.gpukernels.source import calls_function, statements
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.ops.fused.multi_tensor import MappedTotal, MultiTensor, Part
from gpuarray.compiler.ops.reduce.reduce import NAMES
from gpuarray.dtypes import OF_TYPECODE, dtype_to_typecode
from gpuarray.scalars import SCALARS

LARGE = 1 << 20
"""Elements from which a part has a launch of its own, whose loads are wider."""
LARGE_CPU = 1 << 14
"""The same on processors, whose compilers vectorize only elementwise kernels."""
CALLING_CPU = 1 << 11
"""The same of parts that call functions, which vectorized take a tenth of the time.

Three parts of 2,048 hyperbolic tangents take Intel's runtime 45 us in one launch, 15 in
three, PoCL, which vectorizes no call, 97 and 106.
"""
MOST_FOLDED = 1 << 18
"""Elements beyond which a total is left to the library, which also splits rows."""
MOST_FOLDED_CPU = 1 << 16
"""The same on processors, where the strips of long rows are far apart."""
STEPS = 8
"""Most rows that an item of a GPU folds: it waits for each."""
MOST_STEPS = 16
"""The same where a block has one column, and would be a launch of its own."""
SECTOR = 8
"""Fewest columns that a block of a GPU reads, unless there are too many rows."""
NARROW = 2
"""Fewest columns that it reads even then, for a matrix-vector product."""
MOST_MULTIPLIED = 1 << 24
"""Elements of a matrix beyond which a product is left to the BLAS."""
MOST_ROWS = 64
"""Most rows of a matrix that an item of a GPU folds; half of it below `SECTOR` columns.

It waits for some of them at once.
"""
_INT64 = dtype_to_typecode("int64")


@lowers(MultiTensor)
def lower_multi_tensor(op: MultiTensor, node: Apply, k: Lowerer) -> None:
    """Lower to one step; constants of one element are text of its kernel."""
    ins: list[int] = []
    places: dict[int, int] = {}
    sources: list[str] = []
    texts: list[str] = []
    for index, variable in enumerate(node.inputs):
        if isinstance(variable, Constant) and all(variable.type.broadcastable):
            value = np.asarray(variable.data).reshape(())[()]
            sources.append(literal(value, np.dtype(variable.type.dtype)))
            texts.append(str(value))
            continue
        places[index] = len(ins)
        texts.append(f"${len(ins)}")
        sources.append("int" if k.is_int(variable) else "array")
        ins.append(k.number(variable))
    outs = k.outputs(node)
    arrays = {i: at for i, at in places.items() if sources[i] == "array"}
    over = k.overwritten(op.inplace_pattern, node, arrays)
    shares = tuple(tuple(sources[ins]) for _, ins, _ in op.shares())
    k.add(
        plan.Call(
            label=label(op),
            origin=k.origin(node),
            outs=outs,
            ins=tuple(ins),
            function="multi_tensor",
            options=(("parts", op.parts), ("sources", shares), ("over", over)),
            groups=(-1,) * len(ins),
            inplace=over,
            recorded=True,
            text=tuple(listing(op, texts)),
        )
    )


@unfolds(MultiTensor)
def unfold(op: MultiTensor, inputs: Sequence[Variable]) -> list[Variable]:
    """Return each part by itself."""
    return op.unfold(inputs)


def listing(op: MultiTensor, texts: Sequence[str]) -> Iterator[str]:
    """Yield lines that say what each part computes of the node's inputs."""
    for part, ins, outs in op.shares():
        named, results = part.statements(texts[ins])
        yield from named
        for number, result in enumerate(results, outs.start):
            yield f"@{number} = {result}"


def label(op: MultiTensor) -> str:
    """Return the names of a kernel's rows, each once, in order of computation."""
    names: list[str] = []
    for part in op.parts:
        if part.total is not None:
            names += [step.op for step in part.total.map.steps]
            names.append(NAMES[part.total.monoid].lower())
        names += [step.op for step in part.scalar.steps]
    return f"{len(op.parts)} of {'+'.join(dict.fromkeys(names)) or 'copy'}"


@step_function("multi_tensor")
def multi_tensor(
    *values: Any,
    parts: tuple[Part, ...],
    sources: tuple[Sources, ...],
    over: tuple[int, ...],
) -> tuple[Array, ...]:
    """Return the results of all parts; ``over`` has the values that they overwrite."""
    context = current_context()
    assert context is not None
    forms = tuple(zip(parts, sources, strict=True))
    kernel, threads = kernel_of(forms, context), threads_for(forms, context)
    rest, targets = iter(values), iter(over)
    results: list[Array] = []
    jobs: list[Job] = []
    for part, source in forms:
        inputs = [next(rest) if s in ("array", "int") else None for s in source]
        shape = shape_of(part, inputs)
        outs = [
            values[target]
            if (target := next(targets)) >= 0
            else empty(shape, dtype, context=context)
            for dtype in part.scalar.output_dtypes
        ]
        results += outs
        jobs.append(job_of(part, source, inputs, outs, threads, context))
    launch_all(kernel, jobs, threads)
    return tuple(results)


@needs_of("multi_tensor")
def tell_needs(
    needs: Needs,
    *values: Any,
    parts: tuple[Part, ...],
    sources: tuple[Sources, ...],
    over: tuple[int, ...],
) -> None:
    """Declare the kernel of all parts; those of large parts are made on demand.

    The library's kernels of totals are declared, too: these soon have many elements.
    """
    forms = tuple(zip(parts, sources, strict=True))
    needs.kernel(*source_of(forms, needs.context)[:2])
    rest = iter(values)
    for part, source in forms:
        inputs = [next(rest) if s in ("array", "int") else None for s in source]
        if part.total is not None and not part.total.is_product:
            kernel = total_kernel(
                part.total, tuple(part.split(source)[0]), needs.context
            )
            folded = whole_arrays(part.total, part.split(inputs)[0])
            ndim = max(array.ndim for array in folded)
            needs.reduction(kernel, ndim, range(part.total.axes))


@dataclass(frozen=True, slots=True)
class Job:
    """A part's share of the launch.

    It has ``size`` elements, none after a launch of its own, and ``per`` in a block.
    ``rows`` are folded into totals; -1 where ``totals`` are known.
    """

    size: int
    per: int
    folded: Sequence[Any]
    rows: int
    totals: Array | None
    rest: Sequence[Any]
    outs: Sequence[Array]

    def arguments(self) -> Iterator[Any]:
        """Yield the kernel's arguments, but for the blocks."""
        for array in (*self.outs, *self.folded):
            yield from arguments_of(array)
        if self.totals is not None:
            yield from (self.rows, self.per)
            yield from arguments_of(self.totals)
        for operand in self.rest:
            yield from arguments_of(operand)
        yield self.size

    def blocks(self) -> int:
        """Return the number of blocks."""
        return -(-self.size // self.per)


def arguments_of(value: Any) -> Iterator[Any]:
    """Yield the kernel's arguments for an array or an integer; none for a constant."""
    if value is not None:
        yield value
    if isinstance(value, Array):
        yield value.offset


def job_of(
    part: Part,
    source: Sources,
    inputs: Sequence[Any],
    outs: Sequence[Array],
    threads: int,
    context: Context,
) -> Job:
    """Return a part's share of the launch, after its launches of its own."""
    folded, rest = part.split(inputs)
    wholes = [*whole_arrays(part, inputs), *outs]
    size, per, rows = outs[0].size, per_block(part, threads, context), -1
    large = large_for(part, size, context)
    is_small = all(x.flags.c_contiguous for x in wholes) and size < large
    totals: Array | None = None
    if part.total is not None:
        arrays = whole_arrays(part.total, folded)
        count = math.prod(arrays[0].shape[: part.total.axes])
        read = [x for x in folded if isinstance(x, Array)]
        is_plain = is_small and all(x.flags.c_contiguous for x in read)
        find = product_columns if part.total.is_product else columns_of
        if is_plain and (columns := find(count, size, threads, context)) > 0:
            per, rows, totals = columns, count, unread(part.total, outs[0], context)
        else:
            texts = tuple(part.split(source)[0])
            totals = computed(part.total, texts, folded, context)
    if not is_small:
        operands = rest if totals is None else [totals, *rest]
        launch_one(part, element_sources(part, source), operands, outs, context)
    return Job(size if is_small else 0, per, folded, rows, totals, rest, outs)


def large_for(part: Part, size: int, context: Context) -> int:
    """Return the number of elements from which a part of ``size`` is launched alone."""
    if not context.is_cpu:
        return LARGE
    steps = part.scalar.steps if CALLING_CPU <= size < LARGE_CPU else ()
    calls = any(calls_function(step.op) for step in steps)
    return CALLING_CPU if calls else LARGE_CPU


def unread(total: MappedTotal, result: Array, context: Context) -> Array:
    """A placeholder for totals that the kernel computes: an array of the dtype."""
    if str(result.dtype) == total.dtype:
        return result
    return empty((1,), total.dtype, context=context)


def per_block(part: Part, threads: int, context: Context) -> int:
    """Return the number of elements of a block that computes no totals."""
    if context.is_cpu:
        return PER_BLOCK_CPU
    return PER_BLOCK if part.total is None else threads


def product_columns(rows: int, columns: int, threads: int, context: Context) -> int:
    """Return the matrix columns that a block multiplies; 0 to leave it to the BLAS."""
    if context.is_cpu or rows * columns > MOST_MULTIPLIED:
        return 0

    def is_better_narrow(lanes: int) -> bool:
        is_long, blocks = rows * lanes > STEPS * threads, columns / lanes
        if lanes > SECTOR:
            return is_long or blocks < context.processors
        return is_long and blocks < context.processors / 2

    lanes = min(threads, 1 << max(0, columns - 1).bit_length())
    while lanes > NARROW and is_better_narrow(lanes):
        lanes //= 2
    most = MOST_ROWS if lanes >= SECTOR else MOST_ROWS // 2
    return lanes if rows * lanes <= most * threads else 0


def columns_of(rows: int, columns: int, threads: int, context: Context) -> int:
    """Return the columns that a block folds; 0 to leave it to the library."""
    if rows * columns > (MOST_FOLDED_CPU if context.is_cpu else MOST_FOLDED):
        return 0
    if context.is_cpu:
        width = max(1, min(columns, STRIP))
        return width * max(1, PER_BLOCK_CPU // max(1, rows * width))
    lanes = min(threads, 1 << max(0, columns - 1).bit_length())
    while lanes > 1 and (
        rows * lanes > STEPS * threads
        or (lanes > SECTOR and columns < lanes * context.processors)
    ):
        lanes //= 2
    return lanes if rows * lanes <= MOST_STEPS * threads else 0


def whole_arrays(part: Part | MappedTotal, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of a part's elements, or of its total, that have all axes."""
    if isinstance(part, Part) and part.total is not None:
        (_, inputs), is_one = part.split(inputs), part.is_one[1:]
    else:
        is_one = part.is_part if isinstance(part, MappedTotal) else part.is_one
    return [
        value
        for value, is_number in zip(inputs, is_one, strict=True)
        if not is_number and isinstance(value, Array | plan.ArrayValue)
    ]


def shape_of(part: Part, inputs: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of a part's elements. Raises ValueError where inputs differ."""
    shapes = {array.shape for array in whole_arrays(part, inputs)}
    if part.total is not None:
        folded, _ = part.split(inputs)
        axes = part.total.axes
        wholes = {array.shape for array in whole_arrays(part.total, folded)}
        shapes = shapes | {shape[axes:] for shape in wholes}
        if len(wholes) > 1:
            shapes = wholes
        shapes = shapes | wrong_rows(part.total, folded)
    if len(shapes) > 1:
        texts = " and ".join(sorted(map(str, shapes)))
        raise GraphValueError(f"MultiTensor: Input dimension mis-match: shapes {texts}")
    (shape,) = shapes
    return tuple(shape)


def wrong_rows(total: MappedTotal, inputs: Sequence[Any]) -> set[tuple[int, ...]]:
    """Return the shapes of row inputs without one element for each folded row."""
    if not total.is_product:
        return set()
    ((count, _),) = {array.shape for array in whole_arrays(total, inputs)}
    pairs = zip(inputs, total.is_row, strict=True)
    return {value.shape for value, is_row in pairs if is_row} - {(count, 1)}


def total_kernel(total: MappedTotal, sources: Sources, context: Context) -> Any:
    """Return the library's reduction that computes a total."""
    key = "total", total, sources
    kernel = context._kernels.get(key)
    if kernel is None:
        named = [operand for _, operand in numbers_of(total.map.inputs, sources)]
        (mapped,) = total.map.output_dtypes
        code = statements(total.map, named, mapped)
        ((text, dtype),) = code.results
        accumulator = np.dtype(total.acc_dtype)
        text = convert(text, np.dtype(dtype), accumulator)
        listed = read(total.map.inputs, sources)
        kernel = context._kernels[key] = make_reduction(
            context,
            "multi_tensor",
            [(name, OF_TYPECODE[typecode]) for name, typecode, _ in listed],
            [Accumulator(SCALARS[total.monoid], text, accumulator)],
            np.dtype(total.dtype),
            begins=True,
            prologue=code.text,
            support=self_contained(code.support),
            integers=[name for name, _, flags in listed if flags == lib.GE_SCALAR],
        ).handle
    return kernel


def computed(
    total: MappedTotal, sources: Sources, inputs: Sequence[Any], context: Context
) -> Array:
    """Return totals computed by the library's reduction, or by the BLAS."""
    if total.is_product:
        matrix, column = inputs
        product: Array = matmul.matmul(column.reshape(column.shape[0]), matrix)
        return product
    kernel = total_kernel(total, sources, context)
    handle = ffi.new("GpuArray *")
    handles = [as_given(x) for x in inputs if x is not None]
    values = ffi.new("void *[]", handles)  # holds no references
    axes = (1 << total.axes) - 1
    check(lib.GpuReduction_apply(kernel, handle, values, axes, 0))
    return taken(handle, context)


def read(dtypes: Sequence[str], sources: Sources) -> list[tuple[str, int, int]]:
    """Return the arguments of a kernel that reads arrays and integers."""
    return [
        (f"i{index}", _INT64, lib.GE_SCALAR)
        if source == "int"
        else (f"i{index}", dtype_to_typecode(dtype), lib.GE_READ)
        for index, (source, dtype) in enumerate(zip(sources, dtypes, strict=True))
        if source in ("int", "array")
    ]


def as_given(value: Any) -> Any:
    """Return an array or an integer as the library takes it."""
    return value.struct if isinstance(value, Array) else ffi.new("long long *", value)


def launch_one(
    part: Part,
    sources: Sources,
    inputs: Sequence[Any],
    outs: Sequence[Array],
    context: Context,
) -> None:
    """Launch a part by itself; it may have any layout."""
    key = "alone", part, sources
    kernel = context._kernels.get(key)
    if kernel is None:
        named = [operand for _, operand in numbers_of(part.scalar.inputs, sources)]
        code = statements(part.scalar, named, part.scalar.output_dtypes[0])
        lines = [code.text]
        arguments = []
        for number, (text, dtype) in enumerate(code.results):
            lines.append(f"o{number} = {text};")
            arguments.append((f"o{number}", dtype_to_typecode(dtype), lib.GE_WRITE))
        arguments += read(part.scalar.inputs, sources)
        kernel = context._kernels[key] = new_elemwise(
            context, code.support, "\n".join(lines), arguments, "multi_tensor"
        )
    operands = [*outs, *(x for x in inputs if x is not None)]
    status = call_elemwise(kernel, [as_given(x) for x in operands])
    if status:
        fail(status, "multi_tensor", context, operands)


def source_of(forms: Forms, context: Context) -> tuple[str, str, list[Any]]:
    """Return the kernel's text, its name, and the types of its arguments."""
    return named_text(forms, threads_for(forms, context), context.is_cpu)


def kernel_of(forms: Forms, context: Context) -> GpuKernel:
    """Return the kernel, compiled at the first request."""
    key = "multi_tensor", forms
    kernel: GpuKernel | None = context._kernels.get(key)
    if kernel is None:
        kernel = GpuKernel(*source_of(forms, context), context)
        context._kernels[key] = kernel
    return kernel


def launch_all(kernel: GpuKernel, jobs: Sequence[Job], threads: int) -> None:
    """Launch all parts at once; each has blocks of its own, by its size.

    A part of size 0 has none, so that one kernel serves whichever parts are large.
    """
    arguments: list[Any] = []
    blocks = 0
    for job in jobs:
        blocks += job.blocks()
        arguments += [*job.arguments(), blocks]
    if blocks > 0:
        kernel(*arguments, blocks=blocks, threads=threads)
