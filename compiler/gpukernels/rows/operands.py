"""Operands of a row program: their shape, checked, and the arrays of its outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuarray._core.context import Context
from gpuarray._creation.filled import empty
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.nnet import first_rows
from gpuarray.compiler.ops.fused.rowwise import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    ROW,
    TABLE,
    Program,
)
from gpuarray.compiler.ops.nnet.nnet import check_first_rows


@dataclass(frozen=True, slots=True)
class Operands:
    """What a program runs on, and overwrites.

    ``sources`` has for each input ``"array"``, ``"int"``, or the text of a constant,
    whose value is None. ``over`` counts the inputs that have a value: those that each
    output may overwrite, or -1; ``targets`` are their arrays, or None.
    """

    program: Program
    sources: tuple[str, ...]
    over: tuple[int, ...]
    values: Sequence[Any]
    targets: Sequence[Any]
    shape: tuple[int, ...]
    context: Context

    @classmethod
    def of(
        cls,
        program: Program,
        sources: tuple[str, ...],
        over: tuple[int, ...],
        given: Sequence[Any],
        context: Context,
    ) -> Operands:
        """Those of the inputs that have a value. Raises ValueError for their shapes."""
        rest = iter(given)
        values = [next(rest) if s in ("int", "array") else None for s in sources]
        over = over[: len(program.outputs)]
        shape = domain(program, values)
        fill_rows(program, values, shape[0])
        targets = [given[index] if index >= 0 else None for index in over]
        return cls(program, sources, over, values, targets, shape, context)

    @property
    def length(self) -> int:
        """How many elements a row has."""
        return self.shape[-1]

    @property
    def rows(self) -> int:
        """How many rows there are, along all other axes."""
        return math.prod(self.shape[:-1])

    def of_kind(self, wanted: str) -> list[Any]:
        """The values of the inputs of a kind."""
        pairs = zip(self.values, self.program.inputs, strict=True)
        return [value for value, (_, kind) in pairs if kind == wanted]

    def storing(self) -> Operands:
        """Those of the program that stores what is folded over all rows."""
        plain = self.program.storing()
        more = len(plain.outputs) - len(self.over)
        over, targets = (*self.over, *(-1,) * more), [*self.targets, *(None,) * more]
        return replace(self, program=plain, over=over, targets=targets)

    def outputs(self) -> list[Array]:
        """Arrays for the outputs: targets, where those will do."""
        program = self.program
        return [
            target
            if target is not None and target.flags.c_contiguous
            else empty(
                self.shape if program.kinds[value] == CELL else (*self.shape[:-1], 1),
                program.dtypes[value],
                context=self.context,
            )
            for value, target in zip(program.outputs, self.targets, strict=True)
        ]

    def give(self, outputs: list[Array]) -> list[Array]:
        """The outputs, copied to the targets that would not do."""
        for index, target in enumerate(self.targets):
            if target is not None and outputs[index] is not target:
                target[...] = outputs[index]
                outputs[index] = target
        return outputs


def taken_inputs(sources: tuple[str, ...], over: tuple[int, ...]) -> frozenset[int]:
    """The inputs that outputs may overwrite: ``over`` counts those with a value."""
    given = [i for i, source in enumerate(sources) if source in ("int", "array")]
    return frozenset(given[index] for index in over if index >= 0)


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
