"""Elementwise operations: one kernel for each node, however many rows were fused into it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gpuarray.codegen import convert, literal
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.registry import Lowerer, array_value, lowers
from gpuarray.compiler.gpukernels.source import Operand, statements
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.ops.elemwise import Composite, Elemwise
from gpuarray.scalars import Scalar

INT_OPS: tuple[plan.IntOpName, ...] = (
    "add", "sub", "mul", "floor_divide", "maximum", "minimum",
)  # fmt: skip
"""The rows that the executor computes on host integers: what shapes are made with."""


def is_integer_arithmetic(op: Op) -> bool:
    """Whether the executor can compute the op on host integers."""
    if not isinstance(op, Elemwise):
        return False
    if isinstance(op.scalar, Composite):
        steps = op.scalar.steps
        return all(s.op in (*INT_OPS, "cast") and s.dtype == "int64" for s in steps)
    if isinstance(op.scalar, Scalar):
        return op.scalar.name in INT_OPS
    return op.scalar.dtype == "int64"


def integer_steps(node: Apply, k: Lowerer) -> None:
    """The node on host integers: a step of the executor for each row."""
    scalar = node.op.scalar
    numbers = [k.integer(v) for v in node.inputs]
    if not isinstance(scalar, Composite):
        is_row = isinstance(scalar, Scalar)
        number = integer_step(scalar.name, numbers, k) if is_row else numbers[0]
        k.bind(node.outputs[0], number)
        return
    for step in scalar.steps:
        operands = [numbers[i] for i in step.operands]
        is_cast = step.op == "cast"
        numbers.append(operands[0] if is_cast else integer_step(step.op, operands, k))
    for variable, index in zip(node.outputs, scalar.outputs, strict=True):
        k.bind(variable, numbers[index])


def integer_step(name: plan.IntOpName, operands: Sequence[int], k: Lowerer) -> int:
    """One operation of two host integers."""
    number = k.new_value(plan.IntValue())
    k.add(plan.IntOp(name, "", (number,), tuple(operands), name))
    return number


class Inputs:
    """The inputs of a fused kernel: arrays and host integers are arguments, constants are text."""

    def __init__(self, variables: Sequence[Variable], k: Lowerer) -> None:
        self.operands: list[Operand] = []
        self.names: list[str] = []
        self.dtypes: list[str] = []
        self.numbers: list[int] = []
        self.position: dict[int, int] = {}
        for index, variable in enumerate(variables):
            self._add(index, variable, k)

    def _add(self, index: int, variable: Variable, k: Lowerer) -> None:
        dtype = str(variable.type.dtype)
        if isinstance(variable, Constant) and variable.data.size == 1:
            text = literal(np.asarray(variable.data).reshape(())[()], np.dtype(dtype))
            self.operands.append((text, dtype))
            return
        name = f"i{index}"
        self.position[index] = len(self.numbers)
        self.names.append(name)
        self.numbers.append(k.number(variable))
        if k.is_int(variable):  # handed to the kernel as 64 bits
            self.dtypes.append("int64")
            to = convert(name, np.dtype("int64"), np.dtype(dtype))
            self.operands.append((to, dtype))
        else:
            self.dtypes.append(dtype)
            self.operands.append((name, dtype))


def label(op: Elemwise) -> str:
    """The rows of a kernel, each once, in the order they are first computed.

    >>> from gpuarray.scalars import SCALARS
    >>> label(Elemwise(SCALARS["exp"]))
    'exp'
    """
    if isinstance(op.scalar, Composite):
        return "+".join(dict.fromkeys(step.op for step in op.scalar.steps)) or "copy"
    return op.scalar.name if isinstance(op.scalar, Scalar) else "cast"


@lowers(Elemwise)
def elemwise(node: Apply, k: Lowerer) -> None:
    """One launch, or arithmetic of host integers where the node is on the host."""
    if k.on_host(node):
        integer_steps(node, k)
        return
    inputs = Inputs(node.inputs, k)
    code = statements(node.op.scalar, inputs.operands, str(node.outputs[0].type.dtype))
    lines = [code.text]
    out_names = tuple(f"o{i}" for i in range(len(node.outputs)))
    for name, variable, (text, dtype) in zip(
        out_names, node.outputs, code.results, strict=True
    ):
        target = np.dtype(array_value(variable).dtype)
        lines.append(f"{name} = {convert(text, np.dtype(dtype), target)};")
    inplace = tuple(
        inputs.position.get(node.op.inplace_pattern.get(i, -1), -1)
        for i in range(len(node.outputs))
    )
    outs = k.outputs(node)
    k.add(
        plan.Launch(
            label=label(node.op),
            origin=k.origin(node),
            outs=outs,
            ins=tuple(inputs.numbers),
            expr="\n".join(lines),
            preamble=code.support,
            names=tuple(inputs.names),
            in_dtypes=tuple(inputs.dtypes),
            out_names=out_names,
            inplace=inplace,
        )
    )
