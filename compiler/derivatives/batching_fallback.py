"""`MapRows`: an op applied to each row of its inputs, one run for each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.derivatives.choices import chosen, holds_zeros
from gpuarray.compiler.derivatives.node import M, carries, pulled_back
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.traverse import inputs_of
from gpuarray.compiler.graph.types import ArrayType
from gpuarray.compiler.ops.reduce.reduce import sum as add_up
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class MapRows(Op):
    """The op ``op`` applied to each row of the inputs marked in ``by_row``.

    The others are shared by the rows. The rows' results are along a new first axis. It
    is created where `over_rows` finds no rule for an op.
    """

    __props__ = ("op", "by_row")

    def __init__(self, op: Op, by_row: Sequence[bool]) -> None:
        self.op = op
        self.by_row = tuple(bool(flag) for flag in by_row)

    def make_node(self, *inputs: Any) -> Apply:
        """A node over the inputs, those with rows of one more axis than the op's."""
        variables = [as_tensor_variable(value) for value in inputs]
        if len(variables) != len(self.by_row) or not any(self.by_row):
            raise GraphTypeError(
                f"{self}: given {len(variables)} inputs, expected {len(self.by_row)}, "
                "with rows in one at least"
            )
        for variable, flag in zip(variables, self.by_row, strict=True):
            if flag and variable.type.ndim == 0:
                raise GraphTypeError(
                    f"{self}: given {variable.type}, which has no rows"
                )
        inner = self.of_row(variables)
        flag = all(
            variable.type.broadcastable[0]
            for variable, by_row in zip(variables, self.by_row, strict=True)
            if by_row
        )
        outputs = [
            output.type.clone(broadcastable=(flag, *output.type.broadcastable))()
            for output in inner.outputs
        ]
        return Apply(self, variables, outputs)

    def of_row(self, inputs: Sequence[Variable]) -> Apply:
        """Return the node of one row: a variable for each input that has rows."""
        return self.op.make_node(
            *(
                row_type(variable.type)() if flag else variable
                for variable, flag in zip(inputs, self.by_row, strict=True)
            )
        )

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the results of all rows, computed one after the other."""
        inner = self.of_row(node.inputs)
        batches = [a for a, flag in zip(arrays, self.by_row, strict=True) if flag]
        count = len(batches[0])
        if any(len(batch) != count for batch in batches):
            lengths = [len(batch) for batch in batches]
            raise GraphValueError(f"{self}: the inputs have {lengths} rows")
        if count == 0:
            return self._nothing(node, inner, arrays)
        results = [
            self.op.evaluate(
                inner,
                [
                    np.asarray(array[row]) if flag else array
                    for array, flag in zip(arrays, self.by_row, strict=True)
                ],
            )
            for row in range(count)
        ]
        for values in zip(*results, strict=True):
            shapes = sorted({np.shape(result) for result in values})
            if len(shapes) > 1:
                raise GraphValueError(
                    f"{self}: the results of the rows have shapes {shapes[0]} and "
                    f"{shapes[-1]}; only results of one shape lie along an axis"
                )
        return [np.stack(values) for values in zip(*results, strict=True)]

    def _nothing(self, node: Apply, inner: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the results of no rows, of the shapes of a row of zeros."""
        row = [
            np.zeros(array.shape[1:], array.dtype) if flag else array
            for array, flag in zip(arrays, self.by_row, strict=True)
        ]
        return [
            np.zeros((0, *np.shape(value)), output.type.dtype)
            for value, output in zip(
                self.op.evaluate(inner, row), node.outputs, strict=True
            )
        ]

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return those of the op, among the inputs that the rows share."""
        inner = self.of_row(node.inputs)
        return [i for i in self.op.host_inputs(inner) if not self.by_row[i]]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the number of rows before the op's shape of one row."""
        inner = self.of_row(node.inputs)
        rows = [
            tuple(shape)[1:] if flag else shape
            for shape, flag in zip(input_shapes, self.by_row, strict=True)
        ]
        count = input_shapes[self.by_row.index(True)][0]
        dummies = {
            variable
            for variable, flag in zip(inner.inputs, self.by_row, strict=False)
            if flag
        }
        return [
            (
                count,
                *(None if _needs(length, dummies) else length for length in lengths),
            )
            for lengths in self.op.output_shapes(inner, rows)
        ]

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradient through each row, summed for inputs that rows share."""
        inner = self.of_row(inputs)
        dummies = [
            None if g is None else output.type()
            for g, output in zip(output_gradients, inner.outputs, strict=True)
        ]
        needed = [carries(operand) for operand in inner.inputs]
        gradients = [
            chosen(d) if d is not None and g is not None and holds_zeros(g) else d
            for d, g in zip(dummies, output_gradients, strict=True)
        ]
        terms = pulled_back(inner, gradients, needed)
        rows = {
            dummy: g
            for dummy, g in zip(dummies, output_gradients, strict=True)
            if dummy is not None and g is not None
        }
        rows |= dict(zip(inner.outputs, outputs, strict=True))
        for row, variable, flag in zip(inner.inputs, inputs, self.by_row, strict=True):
            if flag:
                rows[row] = variable
        batched = iter(
            M.over_rows([gradient for gradient in terms if gradient is not None], rows)
        )
        results: list[Variable | None] = []
        for term, flag in zip(terms, self.by_row, strict=True):
            all_rows = None if term is None else next(batched)
            if all_rows is None or flag:
                results.append(all_rows)
            else:
                results.append(add_up(all_rows, axis=0, dtype=all_rows.type.dtype))
        return results

    def __str__(self) -> str:
        return f"MapRows{{{self.op}}}"


def row_type(kind: ArrayType) -> Any:
    """Return the type of one row of an array."""
    return kind.clone(broadcastable=kind.broadcastable[1:])  # type: ignore[attr-defined]


def _needs(length: Any, dummies: set[Variable]) -> bool:
    """Return True if a length depends on a single row's variable."""
    return isinstance(length, Variable) and not dummies.isdisjoint(inputs_of([length]))
