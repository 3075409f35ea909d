"""A matrix-vector product in a row program: recognition, and the rest of the program.

A row kernel computes the readers of the product in the same launch, and reads the
matrix as fast; for large matrices with long rows the BLAS is a little faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, ROW, AnyStep, Fold
from gpuarray.compiler.ops.fused.rowwise import Program

AHEAD = 4
"""Elements of a row that an item prefetches before it folds them."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix times a vector, and the ``rest`` of a program, which reads its results.

    They are the last input of the rest.
    """

    matrix: int
    vector: int
    rest: Program

    @property
    def operands(self) -> tuple[int, int]:
        """The inputs that are multiplied."""
        return self.matrix, self.vector

    def without(self, sources: tuple[str, ...], over: Sequence[int]) -> dict[str, Any]:
        """Return the options of the rest."""
        indices = [i for i, source in enumerate(sources) if source in ("int", "array")]
        remaining = [
            at for at, index in enumerate(indices) if index not in self.operands
        ]
        left = [s for i, s in enumerate(sources) if i not in self.operands]
        return {
            "program": self.rest,
            "sources": (*left, "array"),
            "over": tuple(remaining.index(at) if at >= 0 else -1 for at in over),
        }


@lru_cache(maxsize=256)
def product_of(program: Program) -> Product | None:
    """Return the product that is all a program does with elements; None without one.

    >>> steps = (
    ...     CompositeStep("mul", (0, 1), "float32"),
    ...     Fold("add", 2, "float32", "float32"),
    ...     CompositeStep("tanh", (3,), "float32"),
    ... )
    >>> inputs = ("float32", CELL), ("float32", COLUMN)
    >>> print(product_of(Program(inputs, steps, (4,))).rest)
    {tanh(i0)}
    """
    count = len(program.inputs)
    cells = [v for v, kind in enumerate(program.kinds) if kind in (CELL, COLUMN)]
    if program.totals or len(cells) != 3 or not cells[1] < count <= cells[2]:
        return None
    a, b, multiplied = cells
    step = program.steps[multiplied - count]
    readers = [
        (value, reader)
        for value, reader in enumerate(program.steps, count)
        if reader is not step and not set(cells).isdisjoint(reader.operands)
    ]
    is_product = (
        isinstance(step, CompositeStep)
        and step.op == "mul"
        and {program.kinds[v] for v in step.operands} == {CELL, COLUMN}
        and len(readers) == 1
        and isinstance(readers[0][1], Fold)
        and readers[0][1].monoid == "add"
        and set(cells).isdisjoint(program.outputs)
    )
    if not is_product:
        return None
    matrix, vector = (a, b) if program.kinds[a] == CELL else (b, a)
    return Product(matrix, vector, rest_of(program, cells, readers[0][0]))


def rest_of(program: Program, cells: Sequence[int], result: int) -> Program:
    """Return the program without elements; its last input is each row's ``result``."""
    count = len(program.inputs)
    remaining = [value for value in range(count) if value not in cells]
    value = {old: new for new, old in enumerate((*remaining, result))}
    steps: list[AnyStep] = []
    for old, step in enumerate(program.steps, count):
        if old not in cells and old != result:
            value[old] = len(remaining) + 1 + len(steps)
            steps.append(step.reading([value[v] for v in step.operands]))
    return Program(
        (*(program.inputs[v] for v in remaining), (program.dtypes[result], ROW)),
        tuple(steps),
        tuple(value[output] for output in program.outputs),
    )
