"""A graph for many rows at once: each op by a rule, or by one run for each row.

`over_rows` takes what a graph computes of a variable and says it for every row of an
array, so that the rows go through together: an elementwise op needs nothing but a new
axis, a product of a matrix and a vector becomes one of matrices. An op that no rule
knows is wrapped in `MapRows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.derivatives.node import M
from gpuarray.compiler.graph.core import Apply, Op, Variable, traced_as
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.broadcast.broadcast import broadcast_to
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i


@dataclass(frozen=True, slots=True)
class BatchedOperand:
    """An input of a node: ``value`` is the variable, or, ``by_row``, all rows of it."""

    value: Variable
    by_row: bool

    def rows(self, ndim: int) -> Variable:
        """With new axes behind that of the rows until each row has ``ndim`` axes.

        What is the same for all rows gets them on its left, as broadcasting does.
        """
        if not self.by_row:
            return self.value
        rest = range(1, self.value.type.ndim)
        new = ("x",) * (ndim - len(rest))
        return dimshuffle(self.value, 0, *new, *rest)


Rule = Callable[[Any, Apply, "Sequence[BatchedOperand]"], Any]
"""The outputs of a node for all rows: a variable or a list of them.

None says that the rule does not fit. A result that is the same for all rows is wrapped
in an `BatchedOperand` that says so.
"""

RULES: dict[type[Op], Rule] = {}


def rule(*ops: type[Op]) -> Callable[[Rule], Rule]:
    """Register how ops of these classes go over rows."""

    def register(function: Rule) -> Rule:
        for op in ops:
            RULES[op] = function
        return function

    return register


def over_rows(
    outputs: Sequence[Variable], rows: Mapping[Variable, Variable]
) -> list[Variable]:
    """``outputs`` for each row of the arrays that stand for variables.

    ``rows`` maps a variable to an array of one more axis, the first, along which its
    values lie; so do those of the results. A result that does not depend on any of the
    variables is repeated.
    """
    known = {old: BatchedOperand(new, True) for old, new in rows.items()}
    for node in toposort(outputs, blockers=rows):
        if not any(variable in known for variable in node.inputs):
            continue
        operands = [
            known.get(variable, BatchedOperand(variable, False))
            for variable in node.inputs
        ]
        with traced_as(node.trace):
            results = _results(node, operands)
        for output, result in zip(node.outputs, results, strict=True):
            known.setdefault(output, result)
    length = shape_i(next(iter(rows.values())), 0)
    return [
        known[each].value
        if each in known and known[each].by_row
        else repeated(known[each].value if each in known else each, length)
        for each in outputs
    ]


def _results(node: Apply, operands: Sequence[BatchedOperand]) -> list[BatchedOperand]:
    """The outputs of a node over rows."""
    if not any(operand.by_row for operand in operands):  # of lengths of rows, say
        same = node.clone_with([operand.value for operand in operands])
        return [BatchedOperand(output, False) for output in same.outputs]
    found = next((RULES[each] for each in type(node.op).__mro__ if each in RULES), None)
    result = None if found is None else found(node.op, node, operands)
    if result is None:
        op = MapRows(node.op, tuple(operand.by_row for operand in operands))
        result = op(*(operand.value for operand in operands))
    several = list(result) if isinstance(result, (list, tuple)) else [result]
    return [
        each if isinstance(each, BatchedOperand) else BatchedOperand(each, True)
        for each in several
    ]


def repeated(x: Variable, length: Variable) -> Variable:
    """``x``, ``length`` times along a new first axis."""
    lengths = [length, *(shape_i(x, axis) for axis in range(x.type.ndim))]
    return broadcast_to(x, lengths, ndim=x.type.ndim + 1)


M.over_rows = over_rows
