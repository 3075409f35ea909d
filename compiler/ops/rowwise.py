"""Rowwise: elementwise steps and folds of rows that read each row once.

No user writes it: fusion makes it of what stands around reductions over the last axis,
such as a softmax, a layer norm, or a cost of each row with its gradient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation import counted
from gpuarray.compiler.ops.elemwise import (
    Cast,
    CompositeStep,
    Elemwise,
    evaluate_row,
    formula,
)
from gpuarray.compiler.ops.nnet import FirstRows, InBounds, check_first_rows, pick
from gpuarray.compiler.ops.reduce import NAMES, Reduce, keep_dims
from gpuarray.compiler.ops.shape import dimshuffle, shape_i
from gpuarray.scalars import SCALARS

CELL, ROW, COLUMN, ONE = "cell", "row", "column", "one"
"""What an input has a value for: each element, each row, each place in a row, once."""
TABLE = "table"
"""The kind of a matrix of which rows are taken, each as long as a row."""
FEW = "few"
"""The kind of an input for each of the first rows; it is zero for the others."""
LENGTH, COUNT = "length", "count"
"""Kinds of inputs that the host knows: how long a row is, how many rows are meant."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The fold of an earlier value over each row by row ``monoid`` of the table.

    ``of_none`` is as in `Reduce`.
    """

    monoid: str
    operand: int
    dtype: str
    acc_dtype: str
    of_none: bool = False

    def reduce(self, axis: int) -> Reduce:
        """The fold as a reduction of an axis."""
        return Reduce(self.monoid, (axis,), self.dtype, self.acc_dtype, self.of_none)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of each element in its row; ``length`` is the value with its length."""

    length: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Within:
    """A place in each row, counted from the left: that of an earlier value.

    Negative ones count from the end. What is in no row is told as an index.
    """

    operand: int
    dtype: str = "int64"


@dataclass(frozen=True, slots=True)
class At:
    """What an earlier value is in each row at a place, which is a `Within`."""

    operand: int
    place: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Head:
    """Whether each row is one of the first; value ``count`` says how many those are."""

    count: int
    dtype: str = "bool"


@dataclass(frozen=True, slots=True)
class Line:
    """The place of a row in a table, counted from its first: that of an earlier value.

    Negative ones count from the end. What the table has not is told as an index.
    """

    operand: int
    table: int
    dtype: str = "int64"


@dataclass(frozen=True, slots=True)
class Taken:
    """The elements of a row that is taken from a table, at a place that is a `Line`."""

    table: int
    place: int
    dtype: str


Made = CompositeStep | Fold | Place | Within | At | Head | Line | Taken


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


@dataclass(frozen=True)
class Program:
    """What is computed of each row.

    Value ``k`` is input ``k``, and after the inputs the result of each step. ``inputs``
    has the dtype and the kind of each input, ``outputs`` the values that come out; one
    that no element of a row has a part in is a value for each row. ``totals`` come out
    after them, each with a value for each place in a row.

    >>> steps = (
    ...     Fold("maximum", 0, "float32", "float32"),
    ...     Step("sub", (0, 1), "float32"),
    ... )
    >>> program = Program((("float32", CELL),), steps, (2,))
    >>> program.kinds, program.levels
    (('cell', 'row', 'cell'), (0, 1, 1))
    >>> print(program)
    {(i0 - max(i0))}
    """

    inputs: tuple[tuple[str, str], ...]
    steps: tuple[Made, ...]
    outputs: tuple[int, ...]
    totals: tuple[Total, ...] = ()

    @property
    def reports(self) -> bool:
        """Whether it may find a place that is in no row."""
        return any(isinstance(step, Within | Line) for step in self.steps)

    def __post_init__(self) -> None:
        for number, step in enumerate(self.steps):
            known = len(self.inputs) + number
            if any(not 0 <= operand < known for operand in operands_of(step)):
                raise GraphValueError(
                    f"Rowwise: step {number} reads {operands_of(step)}, but only the "
                    f"{known} values before it exist"
                )

    def __reduce__(self) -> tuple[Any, ...]:  # without what is found once
        return Program, self.parts

    @property
    def parts(self) -> tuple[Any, ...]:
        """What two programs are equal by."""
        return self.inputs, self.steps, self.outputs, self.totals

    @cached_property
    def _hash(self) -> int:
        return hash(self.parts)

    def __hash__(self) -> int:  # a key of kernels wherever a plan is bound
        return self._hash

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """The values of elements that come out, or are folded over all rows."""
        cells = (value for value in self.outputs if self.kinds[value] == CELL)
        return (*cells, *(total.operand for total in self.totals))

    def storing(self) -> Program:
        """The program that stores what is folded over all rows, save its inputs."""
        made = (t.operand for t in self.totals if t.operand >= len(self.inputs))
        outputs = tuple(dict.fromkeys((*self.outputs, *made)))
        return Program(self.inputs, self.steps, outputs)

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """The dtype of each value."""
        return (*(dtype for dtype, _ in self.inputs), *(s.dtype for s in self.steps))

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Whether each value is of each element, of each row, or an input of less."""
        found = [ROW if kind == FEW else kind for _, kind in self.inputs]
        for step in self.steps:
            if isinstance(step, Place | Taken):
                found.append(COLUMN if isinstance(step, Place) else CELL)
                continue
            of_cells = isinstance(step, CompositeStep) and any(
                found[operand] in (CELL, COLUMN) for operand in step.operands
            )
            found.append(CELL if of_cells else ROW)
        return tuple(found)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """How many times a row is walked before each value is known."""
        found = [0] * len(self.inputs)
        for step in self.steps:
            level = max((found[operand] for operand in operands_of(step)), default=0)
            found.append(level + isinstance(step, Fold))
        return tuple(found)

    def evaluate(self, arrays: Iterable[Any]) -> list[Any]:
        """The outputs with NumPy, each with all axes."""
        values = [np.asarray(array) for array in arrays]
        kinds = [kind for _, kind in self.inputs]
        shapes = [
            v.shape if kind != TABLE else (1, v.shape[-1])
            for v, kind in zip(values, kinds, strict=True)
            if kind != FEW
        ]
        shape = np.broadcast_shapes(*shapes)
        for index, kind in enumerate(kinds):
            if kind == FEW:
                values[index] = with_all_rows(values[index], shape)
        for step in self.steps:
            if isinstance(step, Within | At | Head):
                values.append(self.picked(step, values, shape))
            elif isinstance(step, Line):
                count = values[step.table].shape[0]
                values.append(InBounds().reference(values[step.operand], count))
            elif isinstance(step, Taken):
                places = np.broadcast_to(values[step.place], (*shape[:-1], 1))
                values.append(values[step.table][places[:, 0]])
            elif isinstance(step, Place):
                count = np.arange(int(values[step.length])).astype(step.dtype)
                values.append(count.reshape((1,) * (len(shape) - 1) + (-1,)))
            elif isinstance(step, Fold):
                whole = np.broadcast_to(values[step.operand], shape)
                reduced = step.reduce(len(shape) - 1).reference(whole)
                values.append(np.asarray(reduced)[..., None])
            else:
                operands = [values[operand] for operand in step.operands]
                values.append(evaluate_row(step.op, operands, step.dtype))
        row = (*shape[:-1], 1)
        of = self.kinds
        outputs = [
            np.array(np.broadcast_to(values[v], shape if of[v] == CELL else row))
            for v in self.outputs
        ]
        axes = len(shape) - 1
        for total in self.totals:
            whole = np.broadcast_to(values[total.operand], shape)
            folded = total.reduce(axes).reference(whole)
            outputs.append(np.asarray(folded).reshape(*(1,) * axes, -1))
        return outputs

    def picked(
        self, step: Within | At | Head, values: Sequence[Any], shape: tuple[int, ...]
    ) -> Any:
        """A step about places and rows, with NumPy."""
        if isinstance(step, Head):
            check_first_rows(int(values[step.count]), shape[0])
            return (np.arange(shape[0]) < int(values[step.count]))[:, None]
        if isinstance(step, Within):
            return InBounds().reference(values[step.operand], shape[-1])
        whole = np.broadcast_to(values[step.operand], shape)
        return np.take_along_axis(whole, values[step.place], axis=-1)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The outputs as a graph of single rows and reductions."""
        ndim = max(each.type.ndim for each in inputs)
        values = list(inputs)
        cells = [
            each
            for each, (_, kind) in zip(inputs, self.inputs, strict=True)
            if kind == CELL
        ]
        cell = cells[0] if cells else self.taken_first(inputs)
        for index, (_, kind) in enumerate(self.inputs):
            if kind == FEW:
                values[index] = first_rows(inputs[index], cell)
        for step in self.steps:
            if isinstance(step, Within | At | Head | Line | Taken):
                value = unfolded(step, values, cell)
            elif isinstance(step, Place):
                value = counted(values[step.length], step.dtype)
                value = dimshuffle(value, *("x",) * (ndim - 1), 0)
            elif isinstance(step, Fold):
                reduced = step.reduce(ndim - 1)(values[step.operand])
                value = keep_dims(reduced, (ndim - 1,), ndim)
            else:
                scalar = Cast(step.dtype) if step.op == "cast" else SCALARS[step.op]
                value = Elemwise(scalar)(*(values[i] for i in step.operands))
                if value.type.dtype != step.dtype:
                    value = Elemwise(Cast(step.dtype))(value)
            values.append(value)
        outputs = [values[output] for output in self.outputs]
        for total in self.totals:
            folded = total.reduce(ndim - 1)(values[total.operand])
            outputs.append(keep_dims(folded, range(ndim - 1), ndim))
        return outputs

    def taken_first(self, inputs: Sequence[Variable]) -> Variable:
        """Elements that are taken by an input, of a program that reads no others."""
        lines = (step for step in self.steps if isinstance(step, Line))
        line = next(each for each in lines if each.operand < len(inputs))
        made: Variable = inputs[line.table][dimshuffle(inputs[line.operand], 0)]
        return made

    def statements(self, given: Sequence[str]) -> tuple[list[str], list[str]]:
        """What is computed of texts of the inputs: ``t0 = ...``, and the results."""
        texts = list(given)
        uses = Counter(v for step in self.steps for v in operands_of(step))
        uses.update(total.operand for total in self.totals)
        named: list[str] = []
        for number, step in enumerate(self.steps, len(texts)):
            operands = [texts[operand] for operand in operands_of(step)]
            if isinstance(step, Place):
                text = "place"
            elif isinstance(step, Within | Head):
                text = f"{type(step).__name__.lower()}({operands[0]})"
            elif isinstance(step, Line):
                text = f"line({', '.join(operands)})"
            elif isinstance(step, At | Taken):
                text = f"{operands[0]}[{operands[1]}]"
            elif isinstance(step, Fold):
                text = f"{NAMES[step.monoid].lower()}({operands[0]})"
            else:
                text = formula(step.op, operands, step.dtype)
            if uses[number] > 1:
                named.append(f"t{len(named)} = {text}")
                text = f"t{len(named) - 1}"
            texts.append(text)
        results = [texts[output] for output in self.outputs]
        results += [
            f"{NAMES[total.monoid].lower()} of columns({texts[total.operand]})"
            for total in self.totals
        ]
        return named, results

    def __str__(self) -> str:
        named, results = self.statements([f"i{i}" for i in range(len(self.inputs))])
        return f"{{{'; '.join([*named, ', '.join(results)])}}}"


def operands_of(step: Made) -> tuple[int, ...]:
    """The values that a step reads."""
    if isinstance(step, Place):
        return (step.length,)
    if isinstance(step, Head):
        return (step.count,)
    if isinstance(step, At):
        return step.operand, step.place
    if isinstance(step, Line):
        return step.operand, step.table
    if isinstance(step, Taken):
        return step.table, step.place
    return step.operands if isinstance(step, CompositeStep) else (step.operand,)


def reading(step: Made, operands: Sequence[int]) -> Made:
    """The step on other values, which are in the places of its own."""
    if isinstance(step, CompositeStep):
        return replace(step, operands=tuple(operands))
    if isinstance(step, Place):
        return replace(step, length=operands[0])
    if isinstance(step, Head):
        return replace(step, count=operands[0])
    if isinstance(step, At):
        return replace(step, operand=operands[0], place=operands[1])
    if isinstance(step, Line):
        return replace(step, operand=operands[0], table=operands[1])
    if isinstance(step, Taken):
        return replace(step, table=operands[0], place=operands[1])
    return replace(step, operand=operands[0])


def with_all_rows(few: Any, shape: Sequence[int]) -> Any:
    """An array of the first rows, with zeros for the others."""
    check_first_rows(few.shape[0], shape[0])
    made = np.zeros((shape[0], 1), few.dtype)
    made[: few.shape[0]] = few
    return made


def first_rows(few: Variable, cell: Variable) -> Variable:
    """The graph of that."""
    column = dimshuffle(few, 0)
    made = FirstRows()(column, shape_i(column, 0), shape_i(cell, 0))
    return dimshuffle(made, 0, "x")


def unfolded(
    step: Within | At | Head | Line | Taken,
    values: Sequence[Variable],
    cell: Variable,
) -> Variable:
    """The graph of a step about places and rows; ``cell`` has all elements."""
    ndim = cell.type.ndim
    made: Variable
    if isinstance(step, Within):
        made = InBounds()(values[step.operand], shape_i(cell, -1))
    elif isinstance(step, Line):
        made = InBounds()(values[step.operand], shape_i(values[step.table], 0))
    elif isinstance(step, Taken):
        made = values[step.table][dimshuffle(values[step.place], 0)]
    elif isinstance(step, At):
        column = dimshuffle(values[step.place], *range(ndim - 1))
        made = keep_dims(pick(values[step.operand], column), (ndim - 1,), ndim)
    else:
        true = core.constant(np.ones(1, "bool"))
        head = FirstRows()(true, values[step.count], shape_i(cell, 0))
        made = dimshuffle(head, 0, "x")
    return made


class Rowwise(Op):
    """A program for each row, of inputs that all have the same number of axes.

    The last axis is the row's. A result for each row keeps that axis, of length 1, and
    a total keeps the others.
    ``inplace_pattern`` maps an output to the input that it overwrites.
    """

    __props__ = ("program", "inplace_items")

    def __init__(
        self, program: Program, inplace_pattern: Mapping[int, int] | None = None
    ) -> None:
        self.program = program
        self.reports = program.reports
        self.inplace_pattern = dict(inplace_pattern or {})
        self.destroy_map = {o: [i] for o, i in self.inplace_pattern.items()}

    @property
    def inplace_items(self) -> tuple[tuple[int, int], ...]:
        """The pairs of output and input that share memory, in order."""
        return tuple(sorted(self.inplace_pattern.items()))

    def may_overwrite(self, output: int, index: int) -> bool:
        """Whether an input's elements are not needed once the output's are stored."""
        program = self.program
        if output >= len(program.outputs):
            return False
        kind = program.kinds[program.outputs[output]]
        is_folded = any(total.operand == index for total in program.totals)
        return program.inputs[index][1] == kind and not is_folded

    def make_node(self, *inputs: Variable) -> Apply:
        """A node over inputs of the program's dtypes and kinds."""
        given = tuple(variable.type.dtype for variable in inputs)
        dtypes = tuple(dtype for dtype, _ in self.program.inputs)
        if given != dtypes:
            raise GraphTypeError(
                f"{self}: given {', '.join(given)}, expected {', '.join(dtypes)}"
            )
        flags = [
            (True, False) if kind == TABLE else variable.type.broadcastable
            for variable, (_, kind) in zip(inputs, self.program.inputs, strict=True)
            if kind not in (LENGTH, COUNT)
        ]
        pattern = tuple(all(each) for each in zip(*flags, strict=True))
        kinds = self.program.kinds
        outputs = [
            TensorType(
                self.program.dtypes[v],
                pattern if kinds[v] == CELL else (*pattern[:-1], True),
            )()
            for v in self.program.outputs
        ]
        column = (*(True for _ in pattern[:-1]), pattern[-1])
        outputs += [TensorType(t.dtype, column)() for t in self.program.totals]
        return Apply(self, inputs, outputs)

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths, and the counts of rows."""
        kinds = [kind for _, kind in self.program.inputs]
        return [i for i, kind in enumerate(kinds) if kind in (LENGTH, COUNT)]

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The outputs with NumPy."""
        results = self.program.evaluate(arrays)
        for output, index in self.inplace_pattern.items():
            arrays[index][...] = results[output]
            results[output] = arrays[index]
        return results

    def reference(self, *arrays: Any) -> Any:
        """The result with NumPy, a tuple where there are several."""
        results = self.program.evaluate(arrays)
        return results[0] if len(results) == 1 else tuple(results)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The steps as nodes of their own."""
        return self.program.unfold(inputs)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """For each axis the length of the first input that has it."""
        given = [
            (shape, each.type.broadcastable)
            if kind != TABLE
            else ((1, shape[-1]), (True, False))
            for shape, each, (_, kind) in zip(
                input_shapes, node.inputs, self.program.inputs, strict=True
            )
            if each.type.ndim > 0 and kind != FEW
        ]
        lengths: list[Any] = []
        for axis in range(len(given[0][0])):
            found = [shape[axis] for shape, flags in given if not flags[axis]]
            lengths.append(found[0] if found else given[0][0][axis])
        whole = len(self.program.outputs)
        shapes = [
            (*lengths[:-1], 1) if out.type.broadcastable[-1] else tuple(lengths)
            for out in node.outputs[:whole]
        ]
        column = (*(1 for _ in lengths[:-1]), lengths[-1])
        return shapes + [column] * len(self.program.totals)

    def __str__(self) -> str:
        places = f"{list(self.inplace_items)}" if self.inplace_pattern else ""
        return f"{type(self).__name__}{self.program}{places}"
