"""A row program by one reduction for each walk along the rows, and elementwise steps.

This serves processors, whose reductions and elementwise kernels know best how to make
vectors, and GPUs where there are too few rows to keep them busy. What is computed of
each element is computed again in each walk, save what costs more than to store it.

Which launches these are follows from the program, and is found once: `walks_of`. They
are queued on arrays, told to a plan before it runs, and written into files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
from gpuarray.compiler.gpukernels.calls import Needs
from gpuarray.compiler.gpukernels.creation import count_source, counted
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
from gpuarray.dtypes import dtype_to_typecode, work_ctype, work_dtype
from gpuarray.fancy import take_at
from gpuarray.scalars import SCALARS

_CALL = re.compile(r"\w\(")
_INT64 = dtype_to_typecode("int64")


# ---- what is launched ----


@dataclass(frozen=True, slots=True)
class Text:
    """What a launch computes: statements, then the texts of its results."""

    lines: tuple[str, ...]
    results: tuple[Operand, ...]
    support: str


@dataclass(frozen=True, slots=True)
class Map:
    """An elementwise launch: the values ``made`` of those that are ``used``.

    They become the values ``outs``. ``into`` has for each the output in whose memory it
    lies, -1 for memory of its own.
    """

    made: tuple[int, ...]
    outs: tuple[int, ...]
    into: tuple[int, ...]
    used: tuple[int, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class Walk:
    """A reduction of the last axis: ``folds``, values, of those that are ``used``."""

    folds: tuple[int, ...]
    used: tuple[int, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class Count:
    """The places of a row's elements, 0, 1, 2, ..., as a value."""

    out: int
    dtype: str


@dataclass(frozen=True, slots=True)
class First:
    """Which rows are among the first ``count``."""

    out: int
    count: int


@dataclass(frozen=True, slots=True)
class Inside:
    """The places that ``labels`` are, counted from the left."""

    out: int
    labels: int


@dataclass(frozen=True, slots=True)
class Lines:
    """The rows of ``table`` that ``places`` are."""

    out: int
    table: int
    places: int


@dataclass(frozen=True, slots=True)
class Same:
    """A value that is another one."""

    out: int
    value: int


Move = Map | Walk | Count | First | Inside | Lines | Same


@dataclass(frozen=True, slots=True)
class Walks:
    """The launches of a program, in order, and which values its outputs are.

    ``program`` reads places by folds; ``integers`` are the values that the host knows.
    """

    program: Program
    moves: tuple[Move, ...]
    outputs: tuple[int, ...]
    integers: frozenset[int]


@lru_cache(maxsize=256)
def walks_of(
    program: Program,
    sources: tuple[str, ...],
    fresh: tuple[bool, ...],
    is_whole: bool = False,
) -> Walks:
    """The launches of a program.

    ``fresh`` outputs have memory that nothing else lies in; other values may lie there
    before. All rows are among the first if ``is_whole``.
    """
    return _Planner(program, sources, fresh, is_whole).walks()


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


class _Planner:
    """Lists the launches; it has state because each walk needs what those before gave.

    ``known`` are the values that there are so far; ``spare`` the outputs that nothing
    was written to yet.
    """

    def __init__(
        self,
        program: Program,
        sources: tuple[str, ...],
        fresh: tuple[bool, ...],
        is_whole: bool,
    ) -> None:
        count = len(program.inputs)
        self.program, texts = folded(program)
        self.sources = (*sources, *texts)
        self.count = len(self.program.inputs)
        self.steps = list(enumerate(self.program.steps, self.count))
        self.fresh = fresh
        self.moves: list[Move] = []
        self.last = len(self.program.dtypes)  # of the numbers that values have
        kinds = [kind for _, kind in self.program.inputs]
        self.known = {
            value
            for value in range(count)
            if sources[value] in ("array", "int") and kinds[value] != LENGTH
        }
        self.integers = {v for v in self.known if sources[v] == "int"}
        for value, step in self.steps:
            if isinstance(step, Place):
                self.add(Count(value, step.dtype), [value])
            elif isinstance(step, Head) and is_whole:
                self.known.add(value)
                self.integers.add(value)
            elif isinstance(step, Head):
                self.add(First(value, step.count), [value])
        self.spare = [
            index
            for index, value in enumerate(self.program.outputs)
            if fresh[index] and self.program.kinds[value] == CELL
        ]

    def add(self, move: Move, made: Iterable[int]) -> None:
        """List a launch; the values made are known from here on."""
        self.moves.append(move)
        self.known.update(made)

    def walks(self) -> Walks:
        """List all of them."""
        program = self.program
        outputs = list(program.outputs)
        self.store_places(0)
        for level in range(1, max(program.levels) + 1):
            folds = [
                value
                for value, step in self.steps
                if isinstance(step, Fold) and program.levels[value] == level
            ]
            self.store_costly(folds)
            steps = [program.steps[fold - self.count] for fold in folds]
            text, used = self.text([s.operand for s in steps if isinstance(s, Fold)])
            self.add(Walk(tuple(folds), used, text), folds)
            self.store_rows(level)
            self.store_places(level)
        left = [
            index
            for index, value in enumerate(outputs)
            if not (self.fresh[index] and self.is_fold(value))
        ]
        for wants_cells in (True, False):  # rows last: elements read them
            chosen = [
                i
                for i in left
                if (program.kinds[program.outputs[i]] == CELL) == wants_cells
            ]
            if chosen:
                roots = [program.outputs[i] for i in chosen]
                for index in chosen:
                    outputs[index] = self.number()
                self.map(roots, [outputs[i] for i in chosen], chosen)
        moves, integers = tuple(self.moves), frozenset(self.integers)
        return Walks(program, moves, tuple(outputs), integers)

    def number(self) -> int:
        """The number of a value that the program has none for."""
        self.last += 1
        return self.last - 1

    def map(
        self, roots: Sequence[int], outs: Sequence[int], into: Sequence[int]
    ) -> None:
        """List an elementwise launch."""
        text, used = self.text(roots)
        self.moves.append(Map(tuple(roots), tuple(outs), tuple(into), used, text))

    def store(self, roots: Sequence[int], into: Sequence[int]) -> None:
        """Compute values that are known from here on."""
        self.map(roots, roots, into)
        self.known.update(roots)

    def is_fold(self, value: int) -> bool:
        """Whether the value is what a reduction gives."""
        at = value - self.count
        return at >= 0 and isinstance(self.program.steps[at], Fold)

    def store_costly(self, folds: Sequence[int]) -> None:
        """Compute what folds read of each element by functions, such as exp, once."""
        steps = [self.program.steps[fold - self.count] for fold in folds]
        operands = dict.fromkeys(s.operand for s in steps if isinstance(s, Fold))
        roots = [
            value
            for value in operands
            if self.program.kinds[value] == CELL and self.is_costly(value)
        ]
        if roots:
            self.store(roots, [self.place(self.program.dtypes[v]) for v in roots])

    def place(self, dtype: str) -> int:
        """Where elements are kept: where an output will be, if there is one."""
        for index, output in enumerate(self.spare):
            if self.program.dtypes[self.program.outputs[output]] == dtype:
                return self.spare.pop(index)
        return -1

    def store_places(self, level: int) -> None:
        """Places in rows that are known once `level` walks are done."""
        for value, step in self.steps:
            if self.program.levels[value] != level:
                continue
            if isinstance(step, Taken):
                self.add(Lines(value, step.table, step.place), [value])
            if not isinstance(step, Within | Line):
                continue
            labels = step.operand
            if labels not in self.known or labels in self.integers:
                labels = self.number()
                self.map([step.operand], [labels], [-1])
            is_line = isinstance(step, Line)
            move = Same(value, labels) if is_line else Inside(value, labels)
            self.add(move, [value])

    def store_rows(self, level: int) -> None:
        """Compute what elements or folds need of the values of rows."""
        program = self.program
        wanted = {
            operand
            for value, step in self.steps
            for operand in operands_of(step)
            if isinstance(step, Fold) or program.kinds[value] == CELL
        }
        roots = [
            value
            for value, step in self.steps
            if value in wanted
            and isinstance(step, Step)
            and program.kinds[value] != CELL
            and program.levels[value] == level
        ]
        if roots:
            self.store(roots, [-1] * len(roots))

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

    def text(self, roots: Sequence[int]) -> tuple[Text, tuple[int, ...]]:
        """What computes the roots, and what it reads of `known`."""
        wanted = self.needed(roots)
        operands: dict[int, Operand] = {}
        lines: list[str] = []
        supports: dict[str, None] = {}
        for value in wanted:
            dtype = self.program.dtypes[value]
            operands[value] = (f"v{value}", dtype)
            if value in self.integers:
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
        results = tuple(operands[root] for root in roots)
        support = "\n".join(filter(None, supports))
        used = tuple(value for value in wanted if value in self.known)
        return Text(tuple(lines), results, support), used


# ---- kernels ----


def map_kernel(walks: Walks, move: Map, context: Context) -> Any:
    """The ``GpuElemwise *`` of a launch, made when it is first asked for."""
    key = "row map", walks.program, walks.integers, move
    kernel = context._kernels.get(key)
    if kernel is None:
        lines, arguments = list(move.text.lines), []
        for number, (text, dtype) in enumerate(move.text.results):
            lines.append(f"o{number} = {text};")
            arguments.append((f"o{number}", dtype_to_typecode(dtype), lib.GE_WRITE))
        kernel = context._kernels[key] = new_elemwise(
            context,
            self_contained(move.text.support),
            "\n".join(lines),
            [*arguments, *arguments_of(walks, move.used)],
            "rows",
        )
    return kernel


def walk_kernel(walks: Walks, move: Walk, context: Context) -> Any:
    """The ``GpuReduction *`` of a walk, made when it is first asked for."""
    key = "row walk", walks.program, walks.integers, move
    kernel = context._kernels.get(key)
    if kernel is None:
        kernel = context._kernels[key] = new_reduction(
            context,
            folds_of(walks, move),
            move.text.lines,
            move.text.results,
            move.text.support,
            arguments_of(walks, move.used),
        )
    return kernel


def folds_of(walks: Walks, move: Walk) -> list[Fold]:
    """The folds of a walk."""
    count = len(walks.program.inputs)
    steps = [walks.program.steps[fold - count] for fold in move.folds]
    return [step for step in steps if isinstance(step, Fold)]


def arguments_of(walks: Walks, used: Iterable[int]) -> list[tuple[str, int, int]]:
    """How kernels know the values that they read."""
    dtypes = walks.program.dtypes
    return [
        (f"v{value}", _INT64, lib.GE_SCALAR)
        if value in walks.integers
        else (f"v{value}", dtype_to_typecode(dtypes[value]), lib.GE_READ)
        for value in used
    ]


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


# ---- a run ----


class Run:
    """The launches queued on arrays; it has state because each reads what others made.

    ``known`` has the arrays and integers that there are so far, by value.
    """

    def __init__(
        self,
        walks: Walks,
        values: Sequence[Any],
        outputs: Iterable[Array | None],
        shape: tuple[int, ...],
        context: Context,
    ) -> None:
        self.walks = walks
        self.outputs = list(outputs)
        self.shape = shape
        self.context = context
        self.known: dict[int, Any] = dict(enumerate(values))

    def results(self) -> list[Array]:
        """Queue all of them; the outputs."""
        for move in self.walks.moves:
            self.queue(move)
        return [self.known[value] for value in self.walks.outputs]

    def queue(self, move: Move) -> None:
        """Queue one; the next wait tells of indices that lead nowhere."""
        match move:
            case Map():
                self.map(move)
            case Walk():
                self.walk(move)
            case Count():
                lengths = (1,) * (len(self.shape) - 1) + self.shape[-1:]
                places = counted(self.shape[-1], move.dtype)
                self.known[move.out] = places.reshape(lengths)
            case First():
                rows = counted(self.shape[0], "int64")
                made = rows < self.known[move.count]
                self.known[move.out] = made.reshape(self.shape[0], 1)
            case Inside():
                places = counted(self.shape[-1], "int64")
                self.known[move.out] = take_at(places, [self.known[move.labels]], 0)
            case Lines():
                places = self.known[move.places].reshape(-1)
                made = take_at(self.known[move.table], [places], 0)
                self.known[move.out] = made
            case Same():
                self.known[move.out] = self.known[move.value]

    def map(self, move: Map) -> None:
        """Compute values into arrays."""
        made = [self.place(*each) for each in zip(move.made, move.into, strict=True)]
        arrays = [*(each.struct for each in made), *self.given(move.used)]
        status = call_elemwise(map_kernel(self.walks, move, self.context), arrays)
        if status:
            fail(status, "rows", self.context, made)
        self.known.update(zip(move.outs, made, strict=True))

    def place(self, value: int, into: int) -> Array:
        """Where a value goes: to the memory of an output, or its own."""
        found = self.outputs[into] if into >= 0 else None
        if found is None:
            program = self.walks.program
            is_cell = program.kinds[value] == CELL
            shape = self.shape if is_cell else (*self.shape[:-1], 1)
            found = empty(shape, program.dtypes[value], context=self.context)
            if into >= 0:
                self.outputs[into] = found
        return found

    def walk(self, move: Walk) -> None:
        """One walk: the folds of a level."""
        made = ffi.new("GpuArray[]", len(move.folds))
        kept = self.given(move.used)  # the array of pointers keeps none of them
        given = ffi.new("void *[]", kept)
        axes = 1 << (len(self.shape) - 1)
        kernel = walk_kernel(self.walks, move, self.context)
        check(lib.GpuReduction_apply(kernel, made, given, axes, 1))
        for number, fold in enumerate(move.folds):
            self.known[fold] = taken(made + number, self.context)

    def given(self, used: Iterable[int]) -> list[Any]:
        """The values that kernels read, as the library takes them."""
        return [
            ffi.new("long long *", self.known.get(value, 1))
            if value in self.walks.integers
            else self.known[value].struct
            for value in used
        ]


def tell_walks(
    program: Program,
    sources: tuple[str, ...],
    over: Sequence[int],
    ndim: int,
    needs: Needs,
) -> None:
    """The kernels of all launches, on arrays of so many axes.

    What takes rows of tables is made where it is first wanted.
    """
    fresh = tuple(target < 0 for target in over)
    walks = walks_of(program, sources, fresh, is_whole=True)
    kinds = walks.program.kinds
    for move in walks.moves:
        match move:
            case Map():
                kernel = map_kernel(walks, move, needs.context)
                singles = [i for i, v in enumerate(move.used) if kinds[v] == ONE]
                needs.elemwise(kernel, ndim, singles)
            case Walk():
                kernel = walk_kernel(walks, move, needs.context)
                needs.reduction(kernel, ndim, (ndim - 1,))
            case Count():
                needs.kernel(*count_source(move.dtype))
            case Inside():
                needs.kernel(*count_source("int64"))
