"""Launches of row programs' walks: queued on arrays, and told to a plan before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._creation.filled import empty
from gpuarray._indexing.advanced_indexing import take_at
from gpuarray._kernels.apply import call_elemwise, fail, new_elemwise
from gpuarray._kernels.codegen import (
    convert,
    identity_text,
    scalar_expression,
    self_contained,
)
from gpuarray._native import check, ffi, lib
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.argmax import taken
from gpuarray.compiler.gpukernels.calls import Needs
from gpuarray.compiler.gpukernels.creation import count_source, counted
from gpuarray.compiler.gpukernels.rows.looped import (
    Count,
    First,
    Inside,
    Lines,
    Map,
    Same,
    Walk,
    Walks,
    walks_of,
)
from gpuarray.compiler.gpukernels.rows.operands import Operands
from gpuarray.compiler.gpukernels.source import Operand
from gpuarray.compiler.ops.fused.rowwise import CELL, ONE, Fold, Program
from gpuarray.dtypes import dtype_to_typecode
from gpuarray.scalars import SCALARS

_INT64 = dtype_to_typecode("int64")

# ---- kernels ----


def map_kernel(walks: Walks, move: Map, context: Context) -> Any:
    """The ``GpuElemwise *`` of a launch, made when it is first asked for."""
    key = "row map", walks.program, walks.integers, move
    kernel = context._kernels.get(key)
    if kernel is None:
        arguments = [
            (f"o{number}", dtype_to_typecode(dtype), lib.GE_WRITE)
            for number, (_, dtype) in enumerate(move.text.results)
        ]
        kernel = context._kernels[key] = new_elemwise(
            context,
            self_contained(move.text.support),
            move.text.stored(),
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
            walks.folds(move),
            move.text.lines,
            move.text.results,
            move.text.support,
            arguments_of(walks, move.used),
        )
    return kernel


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

    def __init__(self, walks: Walks, operands: Operands) -> None:
        self.walks = walks
        self.outputs = list(operands.targets)
        self.shape = operands.shape
        self.context = operands.context
        self.known: dict[int, Any] = dict(enumerate(operands.values))

    def results(self) -> list[Array]:
        """Queue all of them; the outputs."""
        for move in self.walks.moves:
            move.by(self)  # the next wait tells of indices that lead nowhere
        return [self.known[value] for value in self.walks.outputs]

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

    def count(self, move: Count) -> None:
        """The places of a row's elements, one array for all rows."""
        lengths = (1,) * (len(self.shape) - 1) + self.shape[-1:]
        places = counted(self.shape[-1], move.dtype)
        self.known[move.out] = places.reshape(lengths)

    def first(self, move: First) -> None:
        """Which rows are among the first."""
        rows = counted(self.shape[0], "int64")
        made = rows < self.known[move.count]
        self.known[move.out] = made.reshape(self.shape[0], 1)

    def inside(self, move: Inside) -> None:
        """The places in rows, each checked."""
        places = counted(self.shape[-1], "int64")
        self.known[move.out] = take_at(places, [self.known[move.labels]], 0)

    def lines(self, move: Lines) -> None:
        """Rows of a table."""
        places = self.known[move.places].reshape(-1)
        self.known[move.out] = take_at(self.known[move.table], [places], 0)

    def same(self, move: Same) -> None:
        """A value that is there."""
        self.known[move.out] = self.known[move.value]

    def given(self, used: Iterable[int]) -> list[Any]:
        """The values that kernels read, as the library takes them."""
        return [
            ffi.new("long long *", self.known.get(value, 1))
            if value in self.walks.integers
            else self.known[value].struct
            for value in used
        ]


class Told:
    """The kernels of launches on arrays of ``ndim`` axes, told before these come.

    What takes rows of tables is made where it is first wanted.
    """

    def __init__(self, walks: Walks, ndim: int, needs: Needs) -> None:
        self.walks = walks
        self.ndim = ndim
        self.needs = needs

    def map(self, move: Map) -> None:
        """An elementwise kernel."""
        kinds = self.walks.program.kinds
        singles = [i for i, value in enumerate(move.used) if kinds[value] == ONE]
        kernel = map_kernel(self.walks, move, self.needs.context)
        self.needs.elemwise(kernel, self.ndim, singles)

    def walk(self, move: Walk) -> None:
        """A reduction."""
        kernel = walk_kernel(self.walks, move, self.needs.context)
        self.needs.reduction(kernel, self.ndim, (self.ndim - 1,))

    def count(self, move: Count) -> None:
        """The kernel that counts."""
        self.needs.kernel(*count_source(move.dtype))

    def inside(self, move: Inside) -> None:
        """The kernel that counts places."""
        self.needs.kernel(*count_source("int64"))

    def first(self, move: First) -> None:
        """None: all rows are among the first."""

    def lines(self, move: Lines) -> None:
        """Not yet."""

    def same(self, move: Same) -> None:
        """None."""


def tell_walks(
    program: Program,
    sources: tuple[str, ...],
    over: Sequence[int],
    ndim: int,
    needs: Needs,
) -> None:
    """The kernels of all launches, on arrays of so many axes."""
    fresh = tuple(target < 0 for target in over)
    walks = walks_of(program, sources, fresh, is_whole=True)
    told = Told(walks, ndim, needs)
    for move in walks.moves:
        move.by(told)
