"""The steps of row programs, and what they have values for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.elemwise.steps import ProgramStep
from gpuarray.compiler.ops.nnet import nnet
from gpuarray.compiler.ops.nnet.nnet import FirstRows, check_first_rows, pick
from gpuarray.compiler.ops.reduce.reduce import NAMES, Reduce, keep_dims
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.scalars import SCALARS

CELL, ROW, COLUMN, ONE = "cell", "row", "column", "one"
"""What an input has a value for: each element, each row, each place in a row, once."""
TABLE = "table"
"""The kind of a matrix of which rows are taken, each as long as a row."""
FEW = "few"
"""The kind of an input for each of the first rows; it is zero for the others."""
LENGTH, COUNT = "length", "count"
"""Kinds of inputs that the host knows: how long a row is, how many rows are meant."""


Length = Callable[[Any, int], Any]


class RowStep(ProgramStep):
    """A step that only row programs have: ``reads`` names its fields of operands."""

    __slots__ = ()

    kind = ROW
    reads: ClassVar[tuple[str, ...]] = ("operand",)
    label: ClassVar[str] = ""
    """What the step is called in a profile; "" where it is not named."""

    @property
    def operands(self) -> tuple[int, ...]:
        """The values that it reads."""
        return tuple(getattr(self, name) for name in self.reads)

    def reading(self, operands: Sequence[int]) -> Self:
        """The step on other values, which are in the places of its own."""
        changes = dict(zip(self.reads, operands, strict=True))
        return replace(self, **changes)  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class Fold(RowStep):
    """The fold of an earlier value over each row by row ``monoid`` of the table.

    ``of_none`` is as in `Reduce`.
    """

    monoid: str
    operand: int
    dtype: str
    acc_dtype: str
    of_none: bool = False

    is_fold = True

    @property
    def label(self) -> str:  # type: ignore[override]
        """The name of the monoid's row."""
        return SCALARS[self.monoid].name

    def reduce(self, axis: int) -> Reduce:
        """The fold as a reduction of an axis."""
        return Reduce(self.monoid, (axis,), self.dtype, self.acc_dtype, self.of_none)

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """The fold with NumPy."""
        whole = np.broadcast_to(values[self.operand], shape)
        return np.asarray(self.reduce(len(shape) - 1).reference(whole))[..., None]

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """The fold as a reduction that keeps its axis."""
        ndim = cell.type.ndim
        made = self.reduce(ndim - 1)(values[self.operand])
        return keep_dims(made, (ndim - 1,), ndim)

    def text(self, operands: Sequence[str]) -> str:
        """How it reads: ``max(a)``."""
        return f"{NAMES[self.monoid].lower()}({operands[0]})"


@dataclass(frozen=True, slots=True)
class Place(RowStep):
    """The place of each element in its row; ``length`` is the value with its length."""

    length: int
    dtype: str

    kind = COLUMN
    reads = ("length",)

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """The places with NumPy."""
        places = np.arange(int(values[self.length])).astype(self.dtype)
        return places.reshape((1,) * (len(shape) - 1) + (-1,))

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """The places as a range along the last axis."""
        places = counted(values[self.length], self.dtype)
        return dimshuffle(places, *("x",) * (cell.type.ndim - 1), 0)

    def text(self, operands: Sequence[str]) -> str:
        """How it reads."""
        return "place"


class CheckedIndex(RowStep):
    """A place that an earlier value says; negative ones count from the end.

    What lies beyond ``limit`` is told as an index.
    """

    __slots__ = ()

    is_index = True
    operand: int

    def limit(self, values: Sequence[Any], cell: Any, length: Length) -> Any:
        """How many places there are, by ``length`` of an array's axis."""
        raise NotImplementedError

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """The places with NumPy. Raises IndexError for what is none."""
        cell = np.broadcast_to(0, shape)
        limit = self.limit(values, cell, lambda array, axis: array.shape[axis])
        return nnet.InBounds().reference(values[self.operand], limit)

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """The places as a node."""
        limit = self.limit(values, cell, shape_i)
        made: Variable = nnet.InBounds()(values[self.operand], limit)
        return made


@dataclass(frozen=True, slots=True)
class Within(CheckedIndex):
    """A place in each row, counted from the left."""

    operand: int
    dtype: str = "int64"

    label = "pick"

    def limit(self, values: Sequence[Any], cell: Any, length: Length) -> Any:
        """The length of a row."""
        return length(cell, -1)

    def text(self, operands: Sequence[str]) -> str:
        """How it reads."""
        return f"within({operands[0]})"


@dataclass(frozen=True, slots=True)
class At(RowStep):
    """What an earlier value is in each row at a place, which is a `Within`."""

    operand: int
    place: int
    dtype: str

    reads = ("operand", "place")
    label = "pick"

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """The elements with NumPy."""
        whole = np.broadcast_to(values[self.operand], shape)
        return np.take_along_axis(whole, values[self.place], axis=-1)

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """The elements as a node."""
        ndim = cell.type.ndim
        column = dimshuffle(values[self.place], *range(ndim - 1))
        return keep_dims(pick(values[self.operand], column), (ndim - 1,), ndim)

    def text(self, operands: Sequence[str]) -> str:
        """How it reads."""
        return f"{operands[0]}[{operands[1]}]"


@dataclass(frozen=True, slots=True)
class Head(RowStep):
    """Whether each row is one of the first; value ``count`` says how many those are."""

    count: int
    dtype: str = "bool"

    reads = ("count",)

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """The answers with NumPy. Raises IndexError where there are fewer rows."""
        count = int(values[self.count])
        check_first_rows(count, shape[0])
        return (np.arange(shape[0]) < count)[:, None]

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """The answers as a node."""
        true = core.constant(np.ones(1, "bool"))
        return dimshuffle(
            FirstRows()(true, values[self.count], shape_i(cell, 0)), 0, "x"
        )

    def text(self, operands: Sequence[str]) -> str:
        """How it reads."""
        return f"head({operands[0]})"


@dataclass(frozen=True, slots=True)
class Line(CheckedIndex):
    """The place of a row in a table, counted from its first."""

    operand: int
    table: int
    dtype: str = "int64"

    reads = ("operand", "table")
    label = "take"

    def limit(self, values: Sequence[Any], cell: Any, length: Length) -> Any:
        """How many rows the table has."""
        return length(values[self.table], 0)

    def text(self, operands: Sequence[str]) -> str:
        """How it reads."""
        return f"line({', '.join(operands)})"


@dataclass(frozen=True, slots=True)
class Taken(RowStep):
    """The elements of a row that is taken from a table, at a place that is a `Line`."""

    table: int
    place: int
    dtype: str

    kind = CELL
    reads = ("table", "place")
    is_element = True
    label = "take"

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """The rows with NumPy."""
        places = np.broadcast_to(values[self.place], (*shape[:-1], 1))
        return values[self.table][places[:, 0]]

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """The rows as a node."""
        made: Variable = values[self.table][dimshuffle(values[self.place], 0)]
        return made

    def text(self, operands: Sequence[str]) -> str:
        """How it reads."""
        return f"{operands[0]}[{operands[1]}]"


AnyStep = CompositeStep | Fold | Place | Within | At | Head | Line | Taken


@dataclass(frozen=True, slots=True)
class Total:
    """What becomes of an earlier value of elements, folded over all rows.

    It is a result only: no step reads it.
    """

    monoid: str
    operand: int
    dtype: str
    acc_dtype: str

    def reduce(self, axes: int) -> Reduce:
        """The total as a reduction of the first axes."""
        return Reduce(self.monoid, tuple(range(axes)), self.dtype, self.acc_dtype)
