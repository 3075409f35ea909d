"""Elementwise operations of their own shapes in one launch, where they are small."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray._native import ffi, lib
from gpuarray.apply import call_elemwise, fail, new_elemwise
from gpuarray.array import Array
from gpuarray.codegen import convert, digest, literal
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.calls import Needs, needs_of, step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.gpukernels.source import Operand, expression, statements
from gpuarray.compiler.graph.core import Apply, Constant
from gpuarray.compiler.ops.together import Part, Together
from gpuarray.context import Context, current_context
from gpuarray.creation import empty
from gpuarray.dtypes import (
    OFFSET,
    dtype_to_ctype,
    dtype_to_typecode,
    work_ctype,
    work_dtype,
)
from gpuarray.kernel import GpuKernel

LARGE = 1 << 20
"""Elements from which on a part has a launch of its own, whose loads are wider."""
THREADS = 256
PER_BLOCK = 1024
PER_BLOCK_CPU = 16384
_INT64 = dtype_to_typecode("int64")

Sources = tuple[str, ...]
"""Of a part's inputs: ``"array"``, ``"int"``, or the text of a constant."""
Forms = tuple[tuple[Part, Sources], ...]


@lowers(Together)
def lower_together(op: Together, node: Apply, k: Lowerer) -> None:
    """A step; constants are text of its kernel."""
    ins: list[int] = []
    places: dict[int, int] = {}
    sources: list[str] = []
    for index, variable in enumerate(node.inputs):
        if isinstance(variable, Constant):
            value = np.asarray(variable.data).reshape(())[()]
            sources.append(literal(value, np.dtype(variable.type.dtype)))
            continue
        places[index] = len(ins)
        sources.append("int" if k.is_int(variable) else "array")
        ins.append(k.number(variable))
    outs = k.outputs(node)
    over = tuple(
        places[op.inplace_pattern[i]] if i in op.inplace_pattern else -1
        for i in range(len(outs))
    )
    shares = tuple(tuple(sources[ins]) for _, ins, _ in op.shares())
    rows = (step.op for part in op.parts for step in part.scalar.steps)
    k.add(
        plan.Call(
            label=f"{len(op.parts)} of {'+'.join(dict.fromkeys(rows)) or 'copy'}",
            origin=k.origin(node),
            outs=outs,
            ins=tuple(ins),
            function="together",
            options=(("parts", op.parts), ("sources", shares), ("over", over)),
            groups=(-1,) * len(ins),
            inplace=over,
            recorded=True,
        )
    )


@step_function("together")
def together(
    *values: Any,
    parts: tuple[Part, ...],
    sources: tuple[Sources, ...],
    over: tuple[int, ...],
) -> tuple[Array, ...]:
    """The results of all parts; ``over`` has the values that they overwrite."""
    context = current_context()
    assert context is not None
    rest, targets = iter(values), iter(over)
    results: list[Array] = []
    listed: list[tuple[int, list[Any], list[Array]]] = []
    for part, source in zip(parts, sources, strict=True):
        given = [next(rest) if s in ("array", "int") else None for s in source]
        shape = shape_of(part, given)
        outs = [
            values[target]
            if (target := next(targets)) >= 0
            else empty(shape, dtype, context=context)
            for dtype in part.scalar.output_dtypes
        ]
        results += outs
        wholes = whole_arrays(part, given)
        is_plain = all(x.flags.c_contiguous for x in (*wholes, *outs))
        is_small = is_plain and math.prod(shape) < LARGE
        if not is_small:
            launch_one(part, source, given, outs, context)
        listed.append((math.prod(shape) if is_small else 0, given, outs))
    launch_all(tuple(zip(parts, sources, strict=True)), listed, context)
    return tuple(results)


@needs_of("together")
def tell_needs(
    needs: Needs,
    *values: Any,
    parts: tuple[Part, ...],
    sources: tuple[Sources, ...],
    over: tuple[int, ...],
) -> None:
    """The kernel of all parts; those of large parts are made where such come."""
    forms = tuple(zip(parts, sources, strict=True))
    text, name, _ = named_text(forms, needs.context.is_cpu)
    needs.kernel(text, name)


def whole_arrays(part: Part, given: Sequence[Any]) -> list[Array]:
    """The inputs of a part that are arrays of its shape."""
    return [
        value
        for value, is_one in zip(given, part.is_one, strict=True)
        if not is_one and isinstance(value, Array)
    ]


def shape_of(part: Part, given: Sequence[Any]) -> tuple[int, ...]:
    """The shape of a part's elements. Raises ValueError where inputs differ."""
    shapes = {array.shape for array in whole_arrays(part, given)}
    if len(shapes) > 1:
        texts = " and ".join(sorted(map(str, shapes)))
        raise GraphValueError(f"Together: Input dimension mis-match: shapes {texts}")
    (shape,) = shapes
    return tuple(shape)


def numbers_of(part: Part, sources: Sources) -> Iterator[tuple[str, Operand]]:
    """The inputs' kinds, and how a kernel names them."""
    for index, (source, dtype) in enumerate(
        zip(sources, part.scalar.inputs, strict=True)
    ):
        if source == "int":
            text = convert(f"i{index}", np.dtype("int64"), np.dtype(dtype))
            yield source, (text, dtype)
        else:
            yield source, (f"i{index}" if source == "array" else source, dtype)


def launch_one(
    part: Part,
    sources: Sources,
    given: Sequence[Any],
    outs: Sequence[Array],
    context: Context,
) -> None:
    """A launch for a part, of any layout."""
    key = "alone", part, sources
    kernel = context._kernels.get(key)
    if kernel is None:
        named = [operand for _, operand in numbers_of(part, sources)]
        code = statements(part.scalar, named, part.scalar.output_dtypes[0])
        lines = [code.text]
        arguments = []
        for number, (text, dtype) in enumerate(code.results):
            lines.append(f"o{number} = {text};")
            arguments.append((f"o{number}", dtype_to_typecode(dtype), lib.GE_WRITE))
        for index, (source, dtype) in enumerate(
            zip(sources, part.scalar.inputs, strict=True)
        ):
            if source == "array":
                arguments.append((f"i{index}", dtype_to_typecode(dtype), lib.GE_READ))
            elif source == "int":
                arguments.append((f"i{index}", _INT64, lib.GE_SCALAR))
        kernel = context._kernels[key] = new_elemwise(
            context, code.support, "\n".join(lines), arguments, "together"
        )
    operands = [*outs, *(x for x in given if x is not None)]
    status = call_elemwise(
        kernel,
        [
            x.struct if isinstance(x, Array) else ffi.new("long long *", x)
            for x in operands
        ],
    )
    if status:
        fail(status, "together", context, operands)


def launch_all(
    forms: Forms,
    parts: Sequence[tuple[int, list[Any], list[Array]]],
    context: Context,
) -> None:
    """One launch; each part has blocks of its own, as many as its size wants.

    A part of size 0 has none, so that one kernel serves whichever parts are large.
    """
    key = "together", forms
    kernel = context._kernels.get(key)
    if kernel is None:
        text, name, types = named_text(forms, context.is_cpu)
        kernel = context._kernels[key] = GpuKernel(text, name, types, context)
    per_block = PER_BLOCK_CPU if context.is_cpu else PER_BLOCK
    arguments: list[Any] = []
    blocks = 0
    for size, given, outs in parts:
        arguments += [x for out in outs for x in (out, out.offset)]
        for value in given:
            if isinstance(value, Array):
                arguments += [value, value.offset]
            elif value is not None:
                arguments.append(value)
        blocks += -(-size // per_block)
        arguments += [size, blocks]
    if blocks > 0:
        threads = 1 if context.is_cpu else min(THREADS, context.max_threads)
        kernel(*arguments, blocks=blocks, threads=threads)


@lru_cache(maxsize=256)
def named_text(forms: Forms, is_cpu: bool) -> tuple[str, str, list[Any]]:
    """The kernel's text, its name, and the types of its arguments."""
    name = f"together_{digest(repr(forms).encode())}"
    text, types = kernel_text(forms, name, is_cpu)
    return text, name, types


def kernel_text(forms: Forms, name: str, is_cpu: bool) -> tuple[str, list[Any]]:
    """The C text and the types of its arguments."""
    writer = Writer(PER_BLOCK_CPU if is_cpu else PER_BLOCK)
    for part, sources in forms:
        writer.add(part, sources)
    lines = [
        *writer.supports,
        f"KERNEL void {name}({', '.join(writer.parameters)}) {{",
        *(f"  {line}" for line in writer.body),
        "}",
    ]
    return "\n".join(lines), writer.types


class Writer:
    """Writes the parts of a kernel; it has state because they share its parameters.

    Of the part being written, ``before`` is computed once and ``each`` for each element
    ``p``.
    """

    def __init__(self, per_block: int) -> None:
        self.per_block = per_block
        self.parameters: list[str] = []
        self.types: list[Any] = []
        self.supports: dict[str, None] = {}
        self.body: list[str] = []
        self.number = 0
        self.before: list[str] = []
        self.each: list[str] = []

    def add(self, part: Part, sources: Sources) -> None:
        """The blocks of one more part."""
        number, per_block = self.number, self.per_block
        self.before, self.each = [], []
        self.write(part, sources)
        self.parameters += [f"ga_int n{number}", f"ga_int end{number}"]
        self.types += [np.int32, np.int32]
        begin = f"end{number - 1}" if number else "0"
        self.body += [
            f"if ((ga_int)GID_0 >= {begin} && (ga_int)GID_0 < end{number}) {{",
            *(f"  {line}" for line in self.before),
            f"  const ga_int from = ((ga_int)GID_0 - {begin}) * {per_block};",
            f"  const ga_int left = n{number} - from;",
            f"  const ga_int to = from + (left < {per_block} ? left : {per_block});",
            "#pragma unroll 4",
            "  for (ga_int p = from + (ga_int)LID_0; p < to; p += (ga_int)LDIM_0) {",
            *(f"    {line}" for line in self.each),
            "  }",
            "}",
        ]
        self.number += 1

    def write(self, part: Part, sources: Sources) -> None:
        """The statements of a part."""
        scalar = part.scalar
        for index, dtype in enumerate(scalar.output_dtypes):
            self.pointer(f"o{index}", dtype)
        values: list[Operand] = []
        for index, (source, operand) in enumerate(numbers_of(part, sources)):
            self.load(index, source, operand[1], part.is_one[index])
            values.append(operand)
        is_one = list(part.is_one)
        for at, step in enumerate(scalar.steps):
            text, support = expression(step, [values[i] for i in step.operands])
            self.supports.update({support: None} if support else {})
            is_one.append(all(is_one[i] for i in step.operands))
            line = f"const {work_ctype(np.dtype(step.dtype))} t{at} = {text};"
            (self.before if is_one[-1] else self.each).append(line)
            values.append((f"t{at}", step.dtype))
        for index, value in enumerate(scalar.outputs):
            self.each.append(f"o{index}[p] = {stored(*values[value])};")

    def pointer(self, name: str, dtype: str) -> None:
        """A parameter that is an array, as a pointer to its elements."""
        ctype = dtype_to_ctype(np.dtype(dtype))
        given = f"{name}_{self.number}"
        self.parameters += [f"GLOBAL_MEM {ctype} *{given}", f"ga_size {given}_off"]
        self.types += [Array, OFFSET]
        self.before.append(
            f"GLOBAL_MEM {ctype} *{name} = (GLOBAL_MEM {ctype} *)"
            f"((GLOBAL_MEM char *){given} + {given}_off);"
        )

    def load(self, index: int, source: str, name: str, is_one: bool) -> None:
        """The value of an input, for the element or for all of them."""
        if source == "int":
            given = f"i{index}_{self.number}"
            self.parameters.append(f"ga_long {given}")
            self.types.append(np.int64)
            self.before.append(f"const ga_long i{index} = {given};")
        elif source == "array":
            dtype = np.dtype(name)
            self.pointer(f"x{index}", name)
            text = f"x{index}[{'0' if is_one else 'p'}]"
            if work_dtype(dtype) != dtype:
                text = f"{dtype_to_ctype(dtype)}2float({text})"
            place = self.before if is_one else self.each
            place.append(f"const {work_ctype(dtype)} i{index} = {text};")


def stored(text: str, name: str) -> str:
    """A value as an array holds it."""
    dtype = np.dtype(name)
    if work_dtype(dtype) == dtype:
        return text
    return f"ga_float2{dtype_to_ctype(dtype).removeprefix('ga_')}({text})"
