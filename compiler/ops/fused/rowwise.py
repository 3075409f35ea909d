"""Rowwise: elementwise steps and folds of rows that read each row once.

No user writes it: fusion makes it of reductions over the last axis and their
neighbours, such as a softmax, a layer norm, or a cost of each row with its gradient.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import listing
from gpuarray.compiler.ops.elemwise.steps import check_operands
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    NUMBER,
    ROW,
    TABLE,
    AnyStep,
    Fold,
    Line,
    Total,
)
from gpuarray.compiler.ops.nnet.nnet import FirstRows, check_first_rows
from gpuarray.compiler.ops.reduce.reduce import NAMES, keep_dims
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i


@dataclass(frozen=True)
class Program:
    """The program that computes each row's results.

    Value ``k`` is input ``k``, and after the inputs the result of each step. ``inputs``
    has the dtype and the kind of each input, ``outputs`` the values that are results;
    one that depends on no element is a row value. ``totals`` are results after them,
    each with a value for each column.

    >>> steps = (
    ...     Fold("maximum", 0, "float32", "float32"),
    ...     CompositeStep("sub", (0, 1), "float32"),
    ... )
    >>> program = Program((("float32", CELL),), steps, (2,))
    >>> program.kinds, program.levels
    (('cell', 'row', 'cell'), (0, 1, 1))
    >>> print(program)
    {(i0 - max(i0))}
    """

    inputs: tuple[tuple[str, str], ...]
    steps: tuple[AnyStep, ...]
    outputs: tuple[int, ...]
    totals: tuple[Total, ...] = ()

    @property
    def reports(self) -> bool:
        """True if it may report an index out of bounds."""
        return any(step.is_index for step in self.steps)

    def __post_init__(self) -> None:
        check_operands("Rowwise", self.steps, len(self.inputs))

    def __reduce__(self) -> tuple[Any, ...]:  # without what is found once
        return Program, self.parts

    @property
    def parts(self) -> tuple[Any, ...]:
        """The key by which programs are compared."""
        return self.inputs, self.steps, self.outputs, self.totals

    @cached_property
    def _hash(self) -> int:
        return hash(self.parts)

    def __hash__(self) -> int:  # a key of kernels wherever a plan is bound
        return self._hash

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """The element values that are results, or are folded over all rows."""
        cells = (value for value in self.outputs if self.kinds[value] == CELL)
        return (*cells, *(total.operand for total in self.totals))

    def storing(self) -> Program:
        """Return the program that stores the operands of totals, save inputs."""
        operands = (t.operand for t in self.totals if t.operand >= len(self.inputs))
        outputs = tuple(dict.fromkeys((*self.outputs, *operands)))
        return Program(self.inputs, self.steps, outputs)

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        """The dtype of each value."""
        return (*(dtype for dtype, _ in self.inputs), *(s.dtype for s in self.steps))

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each value: of each element, each row, or an input's of less."""
        alike = {FEW: ROW, NUMBER: CELL}
        kinds = [alike.get(kind, kind) for _, kind in self.inputs]
        for step in self.steps:
            of_cells = any(kinds[v] in (CELL, COLUMN) for v in step.operands)
            kinds.append(step.kind or (CELL if of_cells else ROW))
        return tuple(kinds)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The number of walks along a row before each value is known."""
        levels = [0] * len(self.inputs)
        for step in self.steps:
            level = max((levels[operand] for operand in step.operands), default=0)
            levels.append(level + step.is_fold)
        return tuple(levels)

    @cached_property
    def folds(self) -> dict[int, Fold]:
        """The folds, by their values."""
        steps = enumerate(self.steps, len(self.inputs))
        return {value: step for value, step in steps if isinstance(step, Fold)}

    def evaluate(self, arrays: Iterable[Any]) -> list[Any]:
        """Return the outputs with NumPy, each with all axes."""
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
            values.append(step.value(values, shape))
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

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the outputs as a graph of single rows and reductions."""
        ndim = max(variable.type.ndim for variable in inputs)
        values = list(inputs)
        cells = [
            variable
            for variable, (_, kind) in zip(inputs, self.inputs, strict=True)
            if kind == CELL
        ]
        cell = cells[0] if cells else self.taken_first(inputs)
        for index, (_, kind) in enumerate(self.inputs):
            if kind == FEW:
                values[index] = first_rows(inputs[index], cell)
        for step in self.steps:
            values.append(step.graph(values, cell))
        outputs = [values[output] for output in self.outputs]
        for total in self.totals:
            folded = total.reduce(ndim - 1)(values[total.operand])
            outputs.append(keep_dims(folded, range(ndim - 1), ndim))
        return outputs

    def taken_first(self, inputs: Sequence[Variable]) -> Variable:
        """The rows gathered by an input, if a program reads no other elements."""
        lines = (step for step in self.steps if isinstance(step, Line))
        line = next(step for step in lines if step.operand < len(inputs))
        rows: Variable = inputs[line.table][dimshuffle(inputs[line.operand], 0)]
        return rows

    def statements(self, input_texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the listing for texts of the inputs: ``t0 = ...``, and the results."""
        folded = (total.operand for total in self.totals)
        named, texts = listing(self.steps, input_texts, folded)
        results = [texts[output] for output in self.outputs]
        results += [
            f"{NAMES[total.monoid].lower()} of columns({texts[total.operand]})"
            for total in self.totals
        ]
        return named, results

    def __str__(self) -> str:
        named, results = self.statements([f"i{i}" for i in range(len(self.inputs))])
        return f"{{{'; '.join([*named, ', '.join(results)])}}}"


def with_all_rows(few: Any, shape: Sequence[int]) -> Any:
    """Return an array of the first rows, padded with zeros for the others."""
    check_first_rows(few.shape[0], shape[0])
    padded = np.zeros((shape[0], 1), few.dtype)
    padded[: few.shape[0]] = few
    return padded


def first_rows(few: Variable, cell: Variable) -> Variable:
    """Return the graph of `with_all_rows`."""
    column = dimshuffle(few, 0)
    padded = FirstRows()(column, shape_i(column, 0), shape_i(cell, 0))
    return dimshuffle(padded, 0, "x")


class Rowwise(Op):
    """A program for each row, of inputs that all have the same number of axes.

    The last axis is the row's. A result for each row keeps that axis, of length 1, and
    a total keeps the others. ``inplace_pattern`` maps an output to the input that it
    overwrites.
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
        """True if an input is not read after the output is stored."""
        program = self.program
        if output >= len(program.outputs):
            return False
        kind = program.kinds[program.outputs[output]]
        is_folded = any(total.operand == index for total in program.totals)
        return program.inputs[index][1] == kind and not is_folded

    def make_node(self, *inputs: Variable) -> Apply:
        """A node over inputs of the program's dtypes and kinds."""
        types = tuple(variable.type.dtype for variable in inputs)
        dtypes = tuple(dtype for dtype, _ in self.program.inputs)
        if types != dtypes:
            raise GraphTypeError(
                f"{self}: given {', '.join(types)}, expected {', '.join(dtypes)}"
            )
        flags = [
            (True, False) if kind == TABLE else variable.type.broadcastable
            for variable, (_, kind) in zip(inputs, self.program.inputs, strict=True)
            if kind not in (LENGTH, COUNT)
        ]
        pattern = tuple(all(axis_flags) for axis_flags in zip(*flags, strict=True))
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
        """Return the steps as nodes of their own."""
        return self.program.unfold(inputs)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return on each axis the length of the first input that has it."""
        full_inputs = [
            (shape, variable.type.broadcastable)
            if kind != TABLE
            else ((1, shape[-1]), (True, False))
            for shape, variable, (_, kind) in zip(
                input_shapes, node.inputs, self.program.inputs, strict=True
            )
            if variable.type.ndim > 0 and kind != FEW
        ]
        lengths: list[Any] = []
        for axis in range(len(full_inputs[0][0])):
            candidates = [
                shape[axis] for shape, flags in full_inputs if not flags[axis]
            ]
            lengths.append(candidates[0] if candidates else full_inputs[0][0][axis])
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
