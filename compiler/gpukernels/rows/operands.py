"""The operands of a row program's body: checked value numbers, and their shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuarray._ufunc.reduction import needs_elements
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.gpukernels.nnet import first_rows_steps
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    NUMBER,
    ROW,
    TABLE,
)
from gpuarray.compiler.ops.fused.rowwise import Program
from gpuarray.scalars import SCALARS


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a program in a body, and those that it overwrites.

    ``sources`` has for each input ``"array"``, ``"int"``, or the text of a constant,
    whose number is None. ``over`` has for each output the operand that it may
    overwrite, or -1. ``shape`` has the value numbers of the elements' lengths.
    """

    program: Program
    sources: tuple[str, ...]
    over: tuple[int, ...]
    numbers: tuple[int | None, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(
        cls,
        s: Steps,
        program: Program,
        sources: tuple[str, ...],
        over: tuple[int, ...],
        values: Sequence[int],
    ) -> Operands:
        """Return the operands for these values; the body checks their lengths."""
        remaining = iter(values)
        numbers = [next(remaining) if x in ("int", "array") else None for x in sources]
        shape = domain(s, program, numbers)
        require_shape(s, program, numbers, shape)
        listed = [
            all_rows(s, number, shape[0])
            if kind == FEW and number is not None
            else number
            for number, (_, kind) in zip(numbers, program.inputs, strict=True)
        ]
        require_elements(s, program, numbers, shape)
        return cls(program, sources, over, tuple(listed), tuple(shape))

    @property
    def length(self) -> int:
        """The number of elements of a row."""
        return self.shape[-1]

    def rows(self, s: Steps) -> int:
        """Return the number of rows, along all other axes."""
        count, *more = self.shape[:-1] or (s.integer(1),)
        for length in more:
            count = s.arithmetic("mul", count, length)
        return count

    def of_kind(self, wanted: str) -> list[int]:
        """Return the operands of a kind."""
        pairs = zip(self.numbers, self.program.inputs, strict=True)
        return [n for n, (_, kind) in pairs if kind == wanted and n is not None]

    @property
    def overwritten(self) -> list[int | None]:
        """For each output the index of the input that it may overwrite."""
        indices = [i for i, x in enumerate(self.sources) if x in ("int", "array")]
        return [indices[at] if at >= 0 else None for at in self.over]

    def storing(self) -> Operands:
        """The operands of the program that stores elements folded over all rows."""
        plain, whole = self.program.storing(), len(self.program.outputs)
        over = (*self.over[:whole], *(-1,) * (len(plain.outputs) - whole))
        return replace(self, program=plain, over=over)


def domain(s: Steps, program: Program, numbers: Sequence[int | None]) -> list[int]:
    """Return the lengths of the elements."""
    kinds = [kind for _, kind in program.inputs]
    arrays = {
        kind: number
        for kind, number in reversed(list(zip(kinds, numbers, strict=True)))
        if number is not None and s.is_array(number)
    }
    if CELL not in arrays and TABLE in arrays:
        return [s.length(arrays[ROW], 0), s.length(arrays[TABLE], 1)]
    whole = arrays.get(CELL, arrays.get(ROW))
    assert whole is not None
    return [s.length(whole, axis) for axis in range(s.array(whole).ndim)]


def require_shape(
    s: Steps,
    program: Program,
    numbers: Sequence[int | None],
    shape: Sequence[int],
) -> None:
    """Check that all inputs have the lengths of the elements."""
    one = s.integer(1)
    first = next(n for n in numbers if n is not None and s.is_array(n))
    whole = [n for n, (_, k) in zip(numbers, program.inputs, strict=True) if k == CELL]
    expected: dict[str, list[int | None]] = {
        CELL: list(shape),
        NUMBER: list(shape),
        ROW: [*shape[:-1], one],
        COLUMN: [*(one for _ in shape[:-1]), shape[-1]],
        TABLE: [None, shape[-1]],
    }
    text = "Rowwise: Input dimension mis-match: "
    for index, (number, (_, kind)) in enumerate(
        zip(numbers, program.inputs, strict=True)
    ):
        if number is None:
            continue
        if kind == LENGTH:
            s.same_length(first, number, shape[-1], f"{text}places in rows up to")
        elif kind == COUNT:
            s.at_most(first, number, shape[0])
        elif s.is_array(number):
            for axis, length in enumerate(expected.get(kind, ())):
                if length is not None and number not in whole[:1]:
                    about = f"{text}input {index} has along axis {axis} the length"
                    s.same_length(first, s.length(number, axis), length, about)


def require_elements(
    s: Steps,
    program: Program,
    numbers: Sequence[int | None],
    shape: Sequence[int],
) -> None:
    """Check that folds without an identity have elements."""
    first = next(n for n in numbers if n is not None and s.is_array(n))
    for monoid in without_identity(program):
        text = (
            f"{monoid}: no elements to reduce, and the operation has no identity; "
            "reduce axes that have elements"
        )
        s.require(first, [shape[-1]], text)


def all_rows(s: Steps, few: int, rows: int) -> int:
    """Return an input of the first rows, padded with zeros for the others."""
    vector = s.reshape(few, [s.integer(-1)])
    padded = first_rows_steps(s, vector, s.length(vector, 0), rows)
    return s.view(padded, (0, -1))


def without_identity(program: Program) -> list[str]:
    """Return the monoids of folds that need elements."""
    needy = (fold for fold in program.folds.values() if not fold.of_none)
    return [x.monoid for x in needy if needs_elements(SCALARS[x.monoid])]
