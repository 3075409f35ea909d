"""The kernels of a fused function: one for each shape of a segment's results.

A segment is the elementwise computation between two calls that take whole arrays. Each
value is rounded to its dtype as if it had been stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._functional.tracer import (
    Applied,
    Called,
    CannotRecord,
    Symbol,
    TracedArray,
    TracedNumber,
)
from gpuarray._kernels.apply import ROUNDED, fail, new_elemwise
from gpuarray._kernels.codegen import (
    Operand,
    as_stored,
    convert,
    literal,
    resolve,
    scalar_expression,
)
from gpuarray._kernels.numbers import (
    Number,
    fitting_number,
    number_of,
    number_operand,
    number_text,
)
from gpuarray._native import ARRAY, ffi, lib
from gpuarray.dtypes import (
    DOUBLES,
    as_dtype,
    dtype_to_typecode,
    work_ctype,
)
from gpuarray.scalars import Scalar

DType = np.dtype[Any]
Origin = TracedArray | TracedNumber | Applied | Called

MOST_ARGUMENTS = 32


@dataclass(slots=True)
class KernelText:
    """The text of a kernel while it is written: its arguments and values."""

    arrays: dict[Origin, tuple[str, DType]] = field(default_factory=dict)
    numbers: list[tuple[int, Number, Any]] = field(default_factory=list)
    known: dict[Origin, tuple[str, DType]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    supports: dict[str, None] = field(default_factory=dict)
    dtypes: set[DType] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel of several results, with a segment's arrays and numbers."""

    handle: Any
    arrays: tuple[Origin, ...]
    numbers: tuple[tuple[int, Number, Any], ...]
    dtypes: tuple[DType, ...]
    typecodes: tuple[int, ...]


class Segment:
    """Values that are computed element by element and stored, with no call between."""

    def __init__(self, stored: list[Applied]) -> None:
        self.stored = stored
        self.leaves = {result: tuple(_leaves(result, result)) for result in stored}
        self.every = dict.fromkeys(x for leaves in self.leaves.values() for x in leaves)
        if len(self.every) + len(stored) > MOST_ARGUMENTS:
            raise CannotRecord("fuse: more arrays than a kernel takes")
        self.kernels: dict[Any, Compiled] = {}

    def run(self, arguments: Sequence[Any], values: dict[Origin, Any]) -> None:
        """Compute the segment's values: one launch for each shape among them."""
        if not self.stored:
            return
        arrays: dict[Origin, Any] = {}
        context: Any = None
        for x in self.every:
            array = arguments[x.number] if isinstance(x, TracedArray) else values[x]
            if not isinstance(array, BaseArray):
                raise CannotRecord("fuse: a call gave no array")
            context = context or array._context
            if array._context is not context:
                raise CannotRecord("fuse: arrays of two contexts")
            arrays[x] = array
        for group in self._groups(arrays):
            self._launch(group, arrays, arguments, values, context)

    def _groups(self, arrays: dict[Origin, Any]) -> list[tuple[Applied, ...]]:
        """Return the values by shape, in order."""
        if len(self.stored) == 1:
            return [tuple(self.stored)]
        shapes = {x: array.shape for x, array in arrays.items()}
        if len(set(shapes.values())) == 1:
            return [tuple(self.stored)]
        groups: dict[tuple[int, ...], list[Applied]] = {}
        for result in self.stored:
            try:
                shape = np.broadcast_shapes(*(shapes[x] for x in self.leaves[result]))
            except ValueError:
                raise CannotRecord("fuse: shapes that do not fit") from None
            groups.setdefault(shape, []).append(result)
        return [tuple(group) for group in groups.values()]

    def _launch(
        self,
        group: tuple[Applied, ...],
        arrays: dict[Origin, Any],
        arguments: Sequence[Any],
        values: dict[Origin, Any],
        context: Context,
    ) -> None:
        codes = tuple([x._typecode for x in arrays.values()])
        key = context, codes, group
        kernel = self.kernels.get(key)
        if kernel is None:
            dtypes = {x: array._dtype for x, array in arrays.items()}
            kernel = self.kernels[key] = _compile(context, group, dtypes)
        inputs = [arrays[x]._struct for x in kernel.arrays]
        first = arrays[kernel.arrays[0]]
        if len(group) == 1 and len(inputs) <= 2 and not kernel.numbers:
            apply = lib.array_apply1 if len(inputs) == 1 else lib.array_apply2
            struct = apply(kernel.handle, *inputs)
            if not struct:
                status = lib.last_status()
                fail(status, "fuse", context, [arrays[x] for x in kernel.arrays])
            values[group[0]] = result = first._made(struct)
            result._dtype, result._typecode = kernel.dtypes[0], kernel.typecodes[0]
            return
        for number, how, row in kernel.numbers:
            value = arguments[number]
            if how.kind not in "fc" and fitting_number(row, how, value) is not value:
                raise CannotRecord("fuse: an integer that its dtype does not hold")
            inputs.append(how.pointer(value))
        structs = [ffi.new(ARRAY) for _ in group]
        outs = ffi.new("GpuArray *[]", structs)
        status = lib.GpuElemwise_apply(kernel.handle, outs, ffi.new("void *[]", inputs))
        if status:
            fail(status, "fuse", context, [arrays[x] for x in kernel.arrays])
        results = zip(group, structs, kernel.dtypes, kernel.typecodes, strict=True)
        for applied, struct, dtype, typecode in results:
            values[applied] = first.wrap(struct, context, dtype, typecode)


def operands_of(origin: Origin) -> list[Symbol]:
    """Return the symbols that a value depends on."""
    listed: tuple[Any, ...] = ()
    if isinstance(origin, Applied):
        listed = origin.operands
    elif isinstance(origin, Called):
        listed = origin.arguments
    return [x for x in listed if isinstance(x, Symbol)]


def _leaves(origin: Origin, top: Applied) -> Iterator[Origin]:
    """Return the arrays that a value depends on."""
    if isinstance(origin, Applied):
        for operand in operands_of(origin):
            yield from _leaves(operand.origin, top)
    elif not isinstance(origin, TracedNumber):
        yield origin


def _compile(
    context: Context, group: tuple[Applied, ...], dtypes: dict[Origin, DType]
) -> Compiled:
    text = KernelText()
    results = [_write(applied, text, dtypes) for applied in group]
    outs = []
    for i, (name, dtype) in enumerate(results):
        text.lines.append(f"r{i} = {name};")
        outs.append((f"r{i}", dtype_to_typecode(dtype), lib.GE_WRITE))
    if not context.has_double and not DOUBLES.isdisjoint(text.dtypes):
        raise CannotRecord("fuse: float64 on a device without it")
    arrays = [
        (name, dtype_to_typecode(dtype), lib.GE_READ)
        for name, dtype in text.arrays.values()
    ]
    numbers = [
        (f"s{i}", how.typecode, lib.GE_SCALAR)
        for i, (_, how, _) in enumerate(text.numbers)
    ]
    handle = new_elemwise(
        context,
        ROUNDED + "\n".join(text.supports),
        "\n".join(text.lines),
        [*outs, *arrays, *numbers],
        "fuse",
    )
    kinds = tuple(dtype for _, dtype in results)
    codes = tuple(dtype_to_typecode(dtype) for dtype in kinds)
    return Compiled(handle, tuple(text.arrays), tuple(text.numbers), kinds, codes)


def _write(
    origin: Origin, text: KernelText, dtypes: dict[Origin, DType]
) -> tuple[str, DType]:
    """Return the name and the dtype of a value; write its statement if needed."""
    named = text.known.get(origin)
    if named is not None:
        return named
    if not isinstance(origin, Applied):
        named = text.arrays[origin] = f"a{len(text.arrays)}", dtypes[origin]
    else:
        named = _write_row(origin, text, dtypes)
    text.known[origin] = named
    text.dtypes.add(named[1])
    return named


def _write_row(
    origin: Applied, text: KernelText, dtypes: dict[Origin, DType]
) -> tuple[str, DType]:
    row = origin.row
    if row is None:
        assert origin.stored is not None
        ((name, dtype),) = (_write(x.origin, text, dtypes) for x in origin.operands)
        return _named(text, convert(name, dtype, origin.stored), origin.stored)
    operands = [_given(x, text, dtypes) for x in origin.operands]
    loop = resolve(row, tuple(kind for _, kind in operands))
    text.dtypes.update(loop.operands)
    texts: list[tuple[str, Operand]] = []
    for i, ((named, kind), to) in enumerate(zip(operands, loop.operands, strict=True)):
        if named is None:
            texts.append((_number_text(row, i, origin.operands[i], to, text), to))
        else:
            texts.append((convert(named, kind, to), to))
    computed = scalar_expression(row, texts)
    if computed.support:
        text.supports[computed.support] = None
    stored = computed.dtype if origin.stored is None else origin.stored
    expression = computed.text
    if stored != computed.dtype:
        name, _ = _named(text, expression, computed.dtype)
        expression = convert(name, computed.dtype, stored)
    return _named(text, expression, stored)


def _given(
    x: Any, text: KernelText, dtypes: dict[Origin, DType]
) -> tuple[str | None, Operand]:
    """Return the name of an operand (none of a number) and its type."""
    if isinstance(x, Symbol) and not isinstance(x.origin, TracedNumber):
        return _write(x.origin, text, dtypes)
    kind = x.operand if isinstance(x, Symbol) else number_operand(x)
    assert kind is not None
    return None, kind


def _number_text(
    row: Scalar, position: int, x: Any, to: DType, text: KernelText
) -> str:
    """Return the text of a number: an argument of the kernel, or a constant."""
    number = number_of(row, position, to)
    if isinstance(x, Symbol):
        assert isinstance(x.origin, TracedNumber)
        text.numbers.append((x.origin.number, number, row))
        return number_text(number, f"s{len(text.numbers) - 1}")
    if number.kind not in "fc" and fitting_number(row, number, x) is not x:
        raise CannotRecord("fuse: an integer that its dtype does not hold")
    return literal(bool(x) if to == np.bool_ else x, to)


def _named(text: KernelText, expression: str, dtype: DType) -> tuple[str, DType]:
    """Add a statement that gives a value a name, rounded to its dtype."""
    expression = as_stored(expression, as_dtype(dtype))
    name = f"t{len(text.lines)}"
    text.lines.append(f"const {work_ctype(dtype)} {name} = ({expression});")
    return name, dtype
