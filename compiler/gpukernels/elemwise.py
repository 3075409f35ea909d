"""Elementwise operations: one kernel a node, however many rows were fused into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from gpuarray._kernels.codegen import convert, literal, self_contained
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.drawing import lower_stored_draw
from gpuarray.compiler.gpukernels.registry import Lowerer, array_value, lowers
from gpuarray.compiler.gpukernels.source import Operand, statements
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Composite, Elemwise, formula
from gpuarray.compiler.ops.random.positions import is_implied
from gpuarray.dtypes import dtype_to_typecode
from gpuarray.scalars import Scalar

INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
"""The dtypes that the executor computes with on the host."""


def is_integer_arithmetic(op: Op) -> bool:
    """True if the executor can compute the op on host integers."""
    if not isinstance(op, Elemwise):
        return False
    if isinstance(op.scalar, Composite):
        return all(
            step.dtype in INTEGERS and (step.op == "cast" or step.op in INTEGER_ROWS)
            for step in op.scalar.steps
        )
    if isinstance(op.scalar, Cast):
        return op.scalar.dtype in INTEGERS
    return op.scalar.name in INTEGER_ROWS


def integer_steps(op: Elemwise, node: Apply, k: Lowerer) -> None:
    """Compute the node on host integers: a step of the executor for each row."""
    numbers = [k.integer(v) for v in node.inputs]
    if isinstance(op.scalar, Composite):
        for step in op.scalar.steps:
            operands = [numbers[i] for i in step.operands]
            numbers.append(integer_row(step.op, operands, step.dtype, k))
        results = [numbers[i] for i in op.scalar.outputs]
    else:
        name = op.scalar.name if isinstance(op.scalar, Scalar) else "cast"
        results = [integer_row(name, numbers, node.outputs[0].type.dtype, k)]
    for variable, number in zip(node.outputs, results, strict=True):
        k.bind(variable, number)


def integer_row(name: str, operands: Sequence[int], dtype: str, k: Lowerer) -> int:
    """Compute a row, or ``"cast"``, of host integers; the result has ``dtype``."""
    number = operands[0] if name == "cast" else INTEGER_ROWS[name](k, *operands)
    if dtype == "int64" or (name != "cast" and dtype == "bool"):
        return number
    return integer_step(k, "cast", number, k.host_int(dtype_to_typecode(dtype)))


def integer_step(k: Lowerer, name: str, a: int, b: int) -> int:
    """Add a step of the executor on two host integers; return its result."""
    number = k.new_value(plan.IntValue())
    k.add(plan.IntOp(name, k.line, (number,), (a, b)))
    return number


def _step(name: str, k: Lowerer, a: int, b: int) -> int:
    return integer_step(k, name, a, b)


def _minus(k: Lowerer, a: int) -> int:
    return integer_step(k, "sub", k.host_int(0), a)


def _not(k: Lowerer, a: int) -> int:
    return integer_step(k, "eq", a, k.host_int(0))


def _is_true(k: Lowerer, a: int) -> int:
    return _not(k, _not(k, a))


def _choice(k: Lowerer, condition: int, a: int, b: int) -> int:
    """Return ``b + (condition != 0) * (a - b)``."""
    difference = integer_step(k, "sub", a, b)
    term = integer_step(k, "mul", _is_true(k, condition), difference)
    return integer_step(k, "add", b, term)


def _sign(k: Lowerer, a: int) -> int:
    zero = k.host_int(0)
    above = integer_step(k, "lt", zero, a)
    return integer_step(k, "sub", above, integer_step(k, "lt", a, zero))


INTEGER_ROWS: dict[str, Callable[..., int]] = {
    **{name: partial(_step, name) for name in plan.INT_OPS if name != "cast"},
    "gt": lambda k, a, b: integer_step(k, "lt", b, a),
    "ge": lambda k, a, b: integer_step(k, "le", b, a),
    "ne": lambda k, a, b: _not(k, integer_step(k, "eq", a, b)),
    "neg": _minus,
    "abs": lambda k, a: integer_step(k, "maximum", a, _minus(k, a)),
    "sign": _sign,
    "square": lambda k, a: integer_step(k, "mul", a, a),
    "logical_not": _not,
    "logical_and": lambda k, a, b: integer_step(
        k, "mul", _is_true(k, a), _is_true(k, b)
    ),
    "logical_or": lambda k, a, b: integer_step(
        k, "maximum", _is_true(k, a), _is_true(k, b)
    ),
    "where": _choice,
}
"""The rows that the executor computes on host integers, as shapes need them."""


class Inputs:
    """The inputs of an elementwise or reduction kernel over ``ndim`` axes.

    ``operands`` is each input's C text and dtype. Arrays and host integers are
    arguments, described by ``names``, ``dtypes`` and ``numbers``; constants of one
    element are text. ``position`` maps the index of an array to its argument's;
    ``texts`` is what the plan's listing calls each input.
    """

    def __init__(self, variables: Iterable[Variable], ndim: int, k: Lowerer) -> None:
        self.operands: list[Operand] = []
        self.texts: list[str] = []
        self.names: list[str] = []
        self.dtypes: list[str] = []
        self.numbers: list[int] = []
        self.position: dict[int, int] = {}
        for variable in variables:
            self._add(variable, k)
        has_shape = self.position or plan.INDEX in self.dtypes
        if ndim > 0 and not has_shape:  # an array gives the shape
            ones = plan.ArrayValue("int8", (True,) * ndim)
            self.argument(k.constant(np.zeros((1,) * ndim, "int8"), ones), "int8")

    def _add(self, variable: Variable, k: Lowerer) -> None:
        dtype, shown_text = variable.type.dtype, f"${len(self.numbers)}"
        if isinstance(variable, Constant) and variable.data.size == 1:
            value = np.asarray(variable.data).reshape(())[()]
            text, shown_text = literal(value, np.dtype(dtype)), str(value)
        elif k.is_int(variable):  # an argument of 64 bits
            name = self.argument(k.number(variable), "int64")
            text = convert(name, np.dtype("int64"), np.dtype(dtype))
        elif is_implied(variable):
            text = self.argument(k.number(variable), plan.INDEX)
        else:
            self.position[len(self.operands)] = len(self.numbers)
            text = self.argument(k.number(variable), dtype)
        self.operands.append((text, dtype))
        self.texts.append(shown_text)

    def argument(self, number: int, dtype: str) -> str:
        """Return the name of a new argument, the value ``number``."""
        name = f"i{len(self.numbers)}"
        self.names.append(name)
        self.dtypes.append(dtype)
        self.numbers.append(number)
        return name


def label(op: Elemwise) -> str:
    """Return the names of a kernel's rows, each once, in order of computation.

    >>> from gpuarray.scalars import SCALARS
    >>> label(Elemwise(SCALARS["exp"]))
    'exp'
    """
    if isinstance(op.scalar, Composite):
        return "+".join(dict.fromkeys(step.op for step in op.scalar.steps)) or "copy"
    return op.scalar.name if isinstance(op.scalar, Scalar) else "cast"


@lowers(Elemwise)
def elemwise(op: Elemwise, node: Apply, k: Lowerer) -> None:
    """Lower to one launch, or to integer arithmetic where the node is on the host."""
    if k.on_host(node):
        integer_steps(op, node, k)
        return
    if lower_stored_draw(op, node, k):
        return
    inputs = Inputs(node.inputs, node.outputs[0].type.ndim, k)
    code = statements(op.scalar, inputs.operands, node.outputs[0].type.dtype)
    lines = [code.text]
    out_names = tuple(f"o{i}" for i in range(len(node.outputs)))
    for name, variable, (text, dtype) in zip(
        out_names, node.outputs, code.results, strict=True
    ):
        target = np.dtype(array_value(variable).dtype)
        lines.append(f"{name} = {convert(text, np.dtype(dtype), target)};")
    inplace = k.overwritten(op.inplace_pattern, node, inputs.position)
    outs = k.outputs(node)
    k.add(
        plan.LaunchStep(
            label=label(op),
            origin=k.origin(node),
            outs=outs,
            ins=tuple(inputs.numbers),
            expr="\n".join(lines),
            preamble=self_contained(code.support),
            names=tuple(inputs.names),
            in_dtypes=tuple(inputs.dtypes),
            out_names=out_names,
            inplace=inplace,
            text=tuple(listing(op, inputs.texts)),
        )
    )


def listing(op: Elemwise, texts: Sequence[str]) -> Iterator[str]:
    """Yield lines of the listing that say what is computed, if the label does not.

    The label of one row is enough, save for constants.
    """
    scalar, has_constants = op.scalar, any(not text.startswith("$") for text in texts)
    if isinstance(scalar, Composite) and (len(scalar.steps) > 1 or has_constants):
        named, results = scalar.statements(texts)
        yield from named
        for number, result in enumerate(results):
            yield f"@{number} = {result}"
    elif isinstance(scalar, Scalar) and has_constants:
        yield f"@0 = {formula(scalar.name, texts)}"
