"""A row program by one reduction for each walk along the rows, and elementwise steps.

This serves processors, whose reductions and elementwise kernels know best how to make
vectors, and GPUs where there are too few rows to keep them busy. What is computed of
each element is computed again in each walk, save what costs more than to store it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._native import check, ffi, lib
from gpuarray.apply import call_elemwise, fail, new_elemwise
from gpuarray.array import Array
from gpuarray.codegen import (
    convert,
    identity_text,
    scalar_expression,
    self_contained,
)
from gpuarray.compiler.gpukernels.argmax import taken
from gpuarray.compiler.gpukernels.creation import counted
from gpuarray.compiler.gpukernels.source import Operand, expression
from gpuarray.compiler.ops.elemwise import Step
from gpuarray.compiler.ops.rowwise import (
    CELL,
    LENGTH,
    ONE,
    At,
    Fold,
    Head,
    Line,
    Made,
    Place,
    Program,
    Taken,
    Within,
    operands_of,
    reading,
)
from gpuarray.context import Context
from gpuarray.creation import empty
from gpuarray.dtypes import as_dtype, dtype_to_typecode, work_ctype, work_dtype
from gpuarray.fancy import take_at
from gpuarray.scalars import SCALARS

_CALL = re.compile(r"\w\(")
_INT64 = dtype_to_typecode("int64")


def folded(program: Program) -> tuple[Program, list[str]]:
    """The program with what is at a place of a row as a fold that meets nothing else.

    Also the texts of the constants that are more inputs of it.
    """
    dtypes = {step.dtype: None for step in program.steps if isinstance(step, At)}
    count, more = len(program.inputs), len(dtypes)
    least = {dtype: count + number for number, dtype in enumerate(dtypes)}
    steps: dict[Made, int] = {}
    value = list(range(count))

    def add(step: Made) -> int:
        return steps.setdefault(step, count + more + len(steps))

    for step in program.steps:
        if isinstance(step, At):
            here = add(Step("eq", (add(Place(0, "int64")), value[step.place]), "bool"))
            operands = here, value[step.operand], least[step.dtype]
            chosen = add(Step("where", operands, step.dtype))
            fold = Fold("maximum", chosen, step.dtype, step.dtype, of_none=True)
            value.append(add(fold))
        else:
            value.append(add(reading(step, [value[v] for v in operands_of(step)])))
    made = Program(
        (*program.inputs, *((dtype, ONE) for dtype in dtypes)),
        tuple(steps),
        tuple(value[output] for output in program.outputs),
    )
    row = SCALARS["maximum"]
    return made, [identity_text(row, work_dtype(np.dtype(each))) for each in dtypes]


class Walks:
    """A run of a program; it has state because each walk needs what those before gave.

    ``known`` has the arrays and integers that there are so far, by value; ``spare`` are
    outputs that nothing was written to yet.
    """

    def __init__(
        self,
        program: Program,
        sources: Sequence[str],
        values: Sequence[Any],
        shape: Sequence[int],
        context: Context,
    ) -> None:
        count = len(program.inputs)
        program, texts = folded(program)
        self.program = program
        self.sources = (*sources, *texts)
        self.shape = tuple(shape)
        self.context = context
        self.count = len(program.inputs)
        self.spare: list[Array] = []
        self.known: dict[int, Any] = {
            i: value
            for i, (value, (_, kind)) in enumerate(
                zip(values, program.inputs[:count], strict=True)
            )
            if value is not None and kind != LENGTH
        }
        for value, step in enumerate(program.steps, self.count):
            if isinstance(step, Place):
                self.known[value] = self.count_places(step.dtype)
            elif isinstance(step, Head):
                self.known[value] = self.head(self.known[step.count])

    def run(self, outputs: list[Any], over: Sequence[int]) -> None:
        """Compute the outputs; those that ``over`` has inputs for lie in their memory.

        An array that a reduction has made is given in the place of another one.
        """
        program = self.program
        fresh = [i for i, target in enumerate(over) if target < 0]
        self.spare = [outputs[i] for i in fresh if self.is_whole(outputs[i])]
        levels = range(1, max(program.levels) + 1)
        self.store_places(0)
        for level in levels:
            folds = [
                value
                for value, step in enumerate(program.steps, self.count)
                if isinstance(step, Fold) and program.levels[value] == level
            ]
            self.store_costly(folds)
            self.reduce(folds)
            self.store_rows(level)
            self.store_places(level)
        done = [i for i in fresh if self.is_fold(program.outputs[i])]
        for i in done:
            outputs[i] = self.known[program.outputs[i]]
        for wants_cells in (True, False):  # rows last: elements read them
            chosen = [
                i
                for i, value in enumerate(program.outputs)
                if (program.kinds[value] == CELL) == wants_cells and i not in done
            ]
            if chosen:
                roots = [program.outputs[i] for i in chosen]
                self.elementwise(roots, [outputs[i] for i in chosen])

    def is_fold(self, value: int) -> bool:
        """Whether the value is what a reduction gives."""
        at = value - self.count
        return at >= 0 and isinstance(self.program.steps[at], Fold)

    def is_whole(self, array: Any) -> bool:
        """Whether an array has a place for each element."""
        return bool(array.shape == self.shape)

    def store_costly(self, folds: Sequence[int]) -> None:
        """Compute what folds read of each element by functions, such as exp, once."""
        roots = []
        for fold in folds:
            step = self.program.steps[fold - self.count]
            assert isinstance(step, Fold)
            if self.program.kinds[step.operand] == CELL and self.is_costly(
                step.operand
            ):
                roots.append(step.operand)
        if roots := list(dict.fromkeys(roots)):
            made = [self.place(self.program.dtypes[value]) for value in roots]
            self.elementwise(roots, made)
            self.known.update(zip(roots, made, strict=True))

    def count_places(self, dtype: str) -> Any:
        """The places of a row's elements."""
        places = counted(self.shape[-1], dtype)
        return places.reshape(*(1,) * (len(self.shape) - 1), self.shape[-1])

    def head(self, count: int) -> Any:
        """Which rows are among the first: 1 if all are."""
        rows = self.shape[0]
        return 1 if count == rows else (counted(rows, "int64") < count).reshape(rows, 1)

    def within(self, labels: Any) -> Any:
        """Places counted from the left; the next wait tells of those in no row."""
        return take_at(counted(self.shape[-1], "int64"), [labels], 0)

    def taken(self, table: Any, places: Any) -> Any:
        """Rows of a table; the next wait tells of those that it has not."""
        return take_at(table, [places.reshape(-1)], 0)

    def store_places(self, level: int) -> None:
        """Places in rows that are known once `level` walks are done."""
        for value, step in enumerate(self.program.steps, self.count):
            if self.program.levels[value] != level:
                continue
            if isinstance(step, Taken):
                table, places = self.known[step.table], self.known[step.place]
                self.known[value] = self.taken(table, places)
            if not isinstance(step, Within | Line):
                continue
            labels = self.known.get(step.operand)
            if labels is None or isinstance(labels, int):
                row, dtype = (*self.shape[:-1], 1), self.program.dtypes[step.operand]
                labels = self.new_array(row, dtype)
                self.elementwise([step.operand], [labels])
            self.known[value] = (
                labels if isinstance(step, Line) else self.within(labels)
            )

    def place(self, dtype: str) -> Any:
        """Where elements are kept: where an output will be, if there is one."""
        for index, array in enumerate(self.spare):
            if array.dtype == as_dtype(dtype):
                return self.spare.pop(index)
        return self.new_array(self.shape, dtype)

    def new_array(self, shape: Sequence[int], dtype: str) -> Any:
        """Where values are kept."""
        return empty(shape, dtype, context=self.context)

    def is_costly(self, value: int) -> bool:
        """Whether functions are called for each element."""
        return any(
            isinstance(step := self.program.steps[each - self.count], Step)
            and step.op in SCALARS
            and _CALL.search(SCALARS[step.op].expression)
            for each in self.needed([value])
            if each >= self.count
            and each not in self.known
            and self.program.kinds[each] == CELL
        )

    def needed(self, roots: Iterable[int]) -> list[int]:
        """What the roots are computed of that is not known, and where that begins."""
        wanted, stack = set[int](), list(roots)
        while stack:
            value = stack.pop()
            if value not in wanted:
                wanted.add(value)
                if value >= self.count and value not in self.known:
                    stack.extend(operands_of(self.program.steps[value - self.count]))
        return sorted(wanted)

    def store_rows(self, level: int) -> None:
        """Compute what elements or folds need of the values of rows."""
        program = self.program
        wanted = {
            operand
            for value, step in enumerate(program.steps, self.count)
            for operand in operands_of(step)
            if isinstance(step, Fold) or program.kinds[value] == CELL
        }
        roots = [
            value
            for value, step in enumerate(program.steps, self.count)
            if value in wanted
            and isinstance(step, Step)
            and program.kinds[value] != CELL
            and program.levels[value] == level
        ]
        if roots:
            row = (*self.shape[:-1], 1)
            made = [self.new_array(row, program.dtypes[v]) for v in roots]
            self.elementwise(roots, made)
            self.known.update(zip(roots, made, strict=True))

    def text(
        self, roots: Iterable[int]
    ) -> tuple[list[str], list[Operand], str, list[int]]:
        """Statements, the roots' texts, device functions, what is read of `known`."""
        wanted = self.needed(roots)
        operands: dict[int, Operand] = {}
        lines: list[str] = []
        supports: dict[str, None] = {}
        for value in wanted:
            dtype = self.program.dtypes[value]
            operands[value] = (f"v{value}", dtype)
            if isinstance(self.known.get(value), int):
                text = convert(f"v{value}", np.dtype("int64"), np.dtype(dtype))
                operands[value] = (text, dtype)
            elif value not in self.known and value < self.count:
                operands[value] = (self.sources[value], dtype)
            elif value not in self.known:
                step = self.program.steps[value - self.count]
                assert isinstance(step, Step)
                made, support = expression(step, [operands[i] for i in step.operands])
                supports[support] = None
                lines.append(f"const {work_ctype(np.dtype(dtype))} v{value} = {made};")
        used = [value for value in wanted if value in self.known]
        support = "\n".join(filter(None, supports))
        return lines, [operands[root] for root in roots], support, used

    def arguments(self, used: Iterable[int]) -> list[tuple[str, int, int]]:
        """How kernels know the values that they read."""
        return [
            (f"v{value}", _INT64, lib.GE_SCALAR)
            if isinstance(self.known[value], int)
            else (
                f"v{value}",
                dtype_to_typecode(self.program.dtypes[value]),
                lib.GE_READ,
            )
            for value in used
        ]

    def given(self, used: Iterable[int]) -> list[Any]:
        """The values that kernels read, as the library takes them."""
        return [
            ffi.new("long long *", each) if isinstance(each, int) else each.struct
            for each in (self.known[value] for value in used)
        ]

    def key(self, kind: str, roots: Iterable[int]) -> tuple[Any, ...]:
        """What tells a kernel from others."""
        known = tuple((v, isinstance(self.known[v], int)) for v in sorted(self.known))
        return ("rowwalk", kind, self.program, self.sources, tuple(roots), known)

    def elementwise(self, roots: Sequence[int], outs: Sequence[Any]) -> None:
        """Compute values into arrays."""
        kernel, used = self.map_kernel(roots)
        arrays = [out.struct for out in outs] + self.given(used)
        status = call_elemwise(kernel, arrays)
        if status:
            fail(status, "rows", self.context, [*outs])

    def reduce(self, folds: Sequence[int]) -> None:
        """One walk: the folds of a level."""
        kernel, used = self.fold_kernel(folds)
        made = ffi.new("GpuArray[]", len(folds))
        kept = self.given(used)  # the array of pointers keeps none of them
        given = ffi.new("void *[]", kept)
        axes = 1 << (len(self.shape) - 1)
        check(lib.GpuReduction_apply(kernel, made, given, axes, 1))
        for number, fold in enumerate(folds):
            self.known[fold] = taken(made + number, self.context)

    def map_kernel(self, roots: Sequence[int]) -> tuple[Any, list[int]]:
        """The kernel that computes values, and which of those known it reads."""
        lines, texts, support, used = self.text(roots)
        key = self.key("map", roots)
        kernel = self.context._kernels.get(key)
        if kernel is None:
            arguments = []
            for number, (text, dtype) in enumerate(texts):
                lines.append(f"o{number} = {text};")
                arguments.append((f"o{number}", dtype_to_typecode(dtype), lib.GE_WRITE))
            kernel = self.context._kernels[key] = new_elemwise(
                self.context,
                self_contained(support),
                "\n".join(lines),
                [*arguments, *self.arguments(used)],
                "rows",
            )
        return kernel, used

    def fold_kernel(self, folds: Sequence[int]) -> tuple[Any, list[int]]:
        """The reduction of a walk, and which of the known values it reads."""
        steps = [self.program.steps[fold - self.count] for fold in folds]
        roots = [step.operand for step in steps if isinstance(step, Fold)]
        lines, texts, support, used = self.text(roots)
        key = self.key("fold", folds)
        kernel = self.context._kernels.get(key)
        if kernel is None:
            kernel = self.context._kernels[key] = new_reduction(
                self.context,
                [step for step in steps if isinstance(step, Fold)],
                lines,
                texts,
                support,
                self.arguments(used),
            )
        return kernel, used


def new_reduction(
    context: Context,
    folds: Sequence[Fold],
    lines: Sequence[str],
    texts: Sequence[Operand],
    support: str,
    arguments: Sequence[tuple[str, int, int]],
) -> Any:
    """A ``GpuReduction *`` of several folds, freed with its last reference."""
    kept: list[Any] = []

    def c_text(text: str) -> Any:
        kept.append(ffi.new("char[]", text.encode()))
        return kept[-1]

    supports: Mapping[str, None] = {support: None}
    components = ffi.new("gpureduction_component[]", len(folds))
    results = ffi.new("gpureduction_result[]", len(folds))
    for number, (fold, (text, dtype)) in enumerate(zip(folds, texts, strict=True)):
        accumulator = np.dtype(fold.acc_dtype)
        row = SCALARS[fold.monoid]
        combine = scalar_expression(row, [("a", accumulator), ("b", accumulator)])
        supports = {**supports, combine.support: None}
        each = components[number]
        each.map = c_text(convert(text, np.dtype(dtype), accumulator))
        each.combine = c_text(combine.text)
        each.identity = c_text(identity_text(row, accumulator))
        each.typecode = dtype_to_typecode(accumulator)
        results[number].typecode = dtype_to_typecode(fold.dtype)
    inputs = ffi.new("gpuelemwise_arg[]", len(arguments))
    for slot, (name, typecode, flags) in zip(inputs, arguments, strict=True):
        slot.name, slot.typecode, slot.flags = c_text(name), typecode, flags
    spec = ffi.new("gpureduction_spec *")
    spec.size = ffi.sizeof("gpureduction_spec")
    spec.preamble = c_text(self_contained("\n".join(filter(None, supports))))
    spec.prologue = c_text("\n".join(lines))
    spec.n, spec.inputs = len(arguments), inputs
    spec.n_components = spec.n_results = len(folds)
    spec.components, spec.results = components, results
    status = ffi.new("int *")
    handle = lib.GpuReduction_new(context.pointer, spec, status)
    if not handle:
        check(status[0], "rows")
    return ffi.gc(handle, lib.GpuReduction_free)
