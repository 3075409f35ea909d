"""Rowwise: elementwise steps and folds of rows that read each row once.

No user writes it: fusion makes it of what stands around reductions over the last axis,
such as a softmax, a layer norm, or a cost of each row with its gradient.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation import counted
from gpuarray.compiler.ops.elemwise import Cast, Elemwise, Step, evaluate_row, formula
from gpuarray.compiler.ops.reduce import NAMES, Reduce, keep_dims
from gpuarray.compiler.ops.shape import dimshuffle
from gpuarray.scalars import SCALARS

CELL, ROW, COLUMN, ONE = "cell", "row", "column", "one"
"""What an input has a value for: each element, each row, each place in a row, once."""
LENGTH = "length"
"""The kind of an input that says how long a row is; the host knows it."""


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
class Program:
    """What is computed of each row.

    Value ``k`` is input ``k``, and after the inputs the result of each step. ``inputs``
    has the dtype and the kind of each input, ``outputs`` the values that come out; one
    that no element of a row has a part in is a value for each row.

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
    steps: tuple[Step | Fold | Place, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        for number, step in enumerate(self.steps):
            known = len(self.inputs) + number
            if any(not 0 <= operand < known for operand in operands_of(step)):
                raise GraphValueError(
                    f"Rowwise: step {number} reads {operands_of(step)}, but only the "
                    f"{known} values before it exist"
                )

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtype of each value."""
        return (*(dtype for dtype, _ in self.inputs), *(s.dtype for s in self.steps))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Whether each value is of each element, of each row, or an input of less."""
        found = [kind for _, kind in self.inputs]
        for step in self.steps:
            if isinstance(step, Place):
                found.append(COLUMN)
                continue
            of_cells = not isinstance(step, Fold) and any(
                found[operand] in (CELL, COLUMN) for operand in step.operands
            )
            found.append(CELL if of_cells else ROW)
        return tuple(found)

    @property
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
        shape = np.broadcast_shapes(*(value.shape for value in values))
        for step in self.steps:
            if isinstance(step, Place):
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
        kinds = self.kinds
        return [
            np.array(np.broadcast_to(values[v], shape if kinds[v] == CELL else row))
            for v in self.outputs
        ]

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The outputs as a graph of single rows and reductions."""
        ndim = max(each.type.ndim for each in inputs)
        values = list(inputs)
        for step in self.steps:
            if isinstance(step, Place):
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
        return [values[output] for output in self.outputs]

    def __str__(self) -> str:
        texts = [f"i{index}" for index in range(len(self.inputs))]
        uses = [0] * (len(texts) + len(self.steps))
        for step in self.steps:
            for operand in operands_of(step):
                uses[operand] += 1
        named: list[str] = []
        for number, step in enumerate(self.steps, len(texts)):
            operands = [texts[operand] for operand in operands_of(step)]
            if isinstance(step, Place):
                text = "place"
            elif isinstance(step, Fold):
                text = f"{NAMES[step.monoid].lower()}({operands[0]})"
            else:
                text = formula(step.op, operands, step.dtype)
            if uses[number] > 1:
                named.append(f"t{len(named)} = {text}")
                text = f"t{len(named) - 1}"
            texts.append(text)
        body = ", ".join(texts[output] for output in self.outputs)
        return f"{{{'; '.join([*named, body])}}}"


def operands_of(step: Step | Fold | Place) -> tuple[int, ...]:
    """The values that a step reads."""
    if isinstance(step, Place):
        return (step.length,)
    return (step.operand,) if isinstance(step, Fold) else step.operands


class Rowwise(Op):
    """A program for each row, of inputs that all have the same number of axes.

    The last axis is the row's. A result for each row keeps that axis, of length 1.
    ``inplace_pattern`` maps an output to the input that it overwrites.
    """

    __props__ = ("program", "inplace_items")

    def __init__(
        self, program: Program, inplace_pattern: Mapping[int, int] | None = None
    ) -> None:
        self.program = program
        self.inplace_pattern = dict(inplace_pattern or {})
        self.destroy_map = {o: [i] for o, i in self.inplace_pattern.items()}

    @property
    def inplace_items(self) -> tuple[tuple[int, int], ...]:
        """The pairs of output and input that share memory, in order."""
        return tuple(sorted(self.inplace_pattern.items()))

    def may_overwrite(self, output: int, index: int) -> bool:
        """Whether an input's elements are not needed once the output's are stored."""
        kind = self.program.kinds[self.program.outputs[output]]
        return self.program.inputs[index][1] == kind

    def make_node(self, *inputs: Variable) -> Apply:
        """A node over inputs of the program's dtypes and kinds."""
        given = tuple(variable.type.dtype for variable in inputs)
        dtypes = tuple(dtype for dtype, _ in self.program.inputs)
        if given != dtypes:
            raise GraphTypeError(
                f"{self}: given {', '.join(given)}, expected {', '.join(dtypes)}"
            )
        flags = [
            variable.type.broadcastable
            for variable, (_, kind) in zip(inputs, self.program.inputs, strict=True)
            if kind != LENGTH
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
        return Apply(self, inputs, outputs)

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        kinds = [kind for _, kind in self.program.inputs]
        return [i for i, kind in enumerate(kinds) if kind == LENGTH]

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
            for shape, each in zip(input_shapes, node.inputs, strict=True)
            if each.type.ndim > 0
        ]
        lengths: list[Any] = []
        for axis in range(len(given[0][0])):
            found = [shape[axis] for shape, flags in given if not flags[axis]]
            lengths.append(found[0] if found else given[0][0][axis])
        return [
            (*lengths[:-1], 1) if out.type.broadcastable[-1] else tuple(lengths)
            for out in node.outputs
        ]

    def __str__(self) -> str:
        places = f"{list(self.inplace_items)}" if self.inplace_pattern else ""
        return f"{type(self).__name__}{self.program}{places}"
