"""The steps of row programs, and the kinds of their values."""

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
"""The kinds of values: one for each element, each row, each column, or one for all."""
TABLE = "table"
"""The kind of a matrix from which rows are gathered, each as long as a row."""
FEW = "few"
"""The kind of an input for the first rows; it is zero for the others."""
NUMBER = "number"
"""The kind of an input with the number of each element, in C order of all rows."""
LENGTH, COUNT = "length", "count"
"""The kinds of inputs known on the host: the length of a row, a number of rows."""


Length = Callable[[Any, int], Any]


class RowStep(ProgramStep):
    """A step that only row programs have: ``reads`` names its operand fields."""

    __slots__ = ()

    kind = ROW
    reads: ClassVar[tuple[str, ...]] = ("operand",)
    label: ClassVar[str] = ""
    """The step's name in a profile; "" if it has none."""

    @property
    def operands(self) -> tuple[int, ...]:
        """The numbers of the values that it reads."""
        return tuple(getattr(self, name) for name in self.reads)

    def reading(self, operands: Sequence[int]) -> Self:
        """Return the step with other operands."""
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
        """Return the fold as a reduction of an axis."""
        return Reduce(self.monoid, (axis,), self.dtype, self.acc_dtype, self.of_none)

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Return the fold with NumPy."""
        whole = np.broadcast_to(values[self.operand], shape)
        return np.asarray(self.reduce(len(shape) - 1).reference(whole))[..., None]

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """Return the fold as a reduction that keeps its axis."""
        ndim = cell.type.ndim
        reduced = self.reduce(ndim - 1)(values[self.operand])
        return keep_dims(reduced, (ndim - 1,), ndim)

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula: ``max(a)``."""
        return f"{NAMES[self.monoid].lower()}({operands[0]})"


@dataclass(frozen=True, slots=True)
class Place(RowStep):
    """The column of each element; ``length`` is the value with the row's length."""

    length: int
    dtype: str

    kind = COLUMN
    reads = ("length",)

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Return the columns with NumPy."""
        places = np.arange(int(values[self.length])).astype(self.dtype)
        return places.reshape((1,) * (len(shape) - 1) + (-1,))

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """Return the columns as a range along the last axis."""
        places = counted(values[self.length], self.dtype)
        return dimshuffle(places, *("x",) * (cell.type.ndim - 1), 0)

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula."""
        return "place"


class CheckedIndex(RowStep):
    """A bounds-checked index; negative ones count from the end.

    An index beyond ``limit`` is reported.
    """

    __slots__ = ()

    is_index = True
    operand: int

    def limit(self, values: Sequence[Any], cell: Any, length: Length) -> Any:
        """Return the number of valid indices, by ``length`` of an array's axis."""
        raise NotImplementedError

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Return the indices with NumPy. Raises IndexError."""
        cell = np.broadcast_to(0, shape)
        limit = self.limit(values, cell, lambda array, axis: array.shape[axis])
        return nnet.InBounds().reference(values[self.operand], limit)

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """Return the indices as a node."""
        limit = self.limit(values, cell, shape_i)
        indices: Variable = nnet.InBounds()(values[self.operand], limit)
        return indices


@dataclass(frozen=True, slots=True)
class Within(CheckedIndex):
    """An index into each row, counted from the left."""

    operand: int
    dtype: str = "int64"

    label = "pick"

    def limit(self, values: Sequence[Any], cell: Any, length: Length) -> Any:
        """Return the length of a row."""
        return length(cell, -1)

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula."""
        return f"within({operands[0]})"


@dataclass(frozen=True, slots=True)
class At(RowStep):
    """An earlier value's element in each row at an index, which is a `Within`."""

    operand: int
    place: int
    dtype: str

    reads = ("operand", "place")
    label = "pick"

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Return the elements with NumPy."""
        whole = np.broadcast_to(values[self.operand], shape)
        return np.take_along_axis(whole, values[self.place], axis=-1)

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """Return the elements as a node."""
        ndim = cell.type.ndim
        column = dimshuffle(values[self.place], *range(ndim - 1))
        return keep_dims(pick(values[self.operand], column), (ndim - 1,), ndim)

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula."""
        return f"{operands[0]}[{operands[1]}]"


@dataclass(frozen=True, slots=True)
class Head(RowStep):
    """A mask of the first rows; value ``count`` is their number."""

    count: int
    dtype: str = "bool"

    reads = ("count",)

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Return the mask with NumPy. Raises IndexError for too few rows."""
        count = int(values[self.count])
        check_first_rows(count, shape[0])
        return (np.arange(shape[0]) < count)[:, None]

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """Return the mask as a node."""
        true = core.constant(np.ones(1, "bool"))
        return dimshuffle(
            FirstRows()(true, values[self.count], shape_i(cell, 0)), 0, "x"
        )

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula."""
        return f"head({operands[0]})"


@dataclass(frozen=True, slots=True)
class Line(CheckedIndex):
    """An index of a row in a table."""

    operand: int
    table: int
    dtype: str = "int64"

    reads = ("operand", "table")
    label = "take"

    def limit(self, values: Sequence[Any], cell: Any, length: Length) -> Any:
        """Return the number of rows of the table."""
        return length(values[self.table], 0)

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula."""
        return f"line({', '.join(operands)})"


@dataclass(frozen=True, slots=True)
class Taken(RowStep):
    """The elements of a row gathered from a table at an index, which is a `Line`."""

    table: int
    place: int
    dtype: str

    kind = CELL
    reads = ("table", "place")
    is_element = True
    label = "take"

    def value(self, values: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Return the rows with NumPy."""
        places = np.broadcast_to(values[self.place], (*shape[:-1], 1))
        return values[self.table][places[:, 0]]

    def graph(self, values: Sequence[Variable], cell: Variable) -> Variable:
        """Return the rows as a node."""
        rows: Variable = values[self.table][dimshuffle(values[self.place], 0)]
        return rows

    def text(self, operands: Sequence[str]) -> str:
        """Return the formula."""
        return f"{operands[0]}[{operands[1]}]"


AnyStep = CompositeStep | Fold | Place | Within | At | Head | Line | Taken


@dataclass(frozen=True, slots=True)
class Total:
    """An earlier value of elements, folded over all rows.

    It is a result only: no step reads it.
    """

    monoid: str
    operand: int
    dtype: str
    acc_dtype: str

    def reduce(self, axes: int) -> Reduce:
        """Return the total as a reduction of the first axes."""
        return Reduce(self.monoid, tuple(range(axes)), self.dtype, self.acc_dtype)
