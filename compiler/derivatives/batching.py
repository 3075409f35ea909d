"""Batching: a graph for many rows at once, each op by a rule or by a run per row.

`over_rows` applies a graph of a variable to every row of an array at once: an
elementwise op needs only a new axis, a product of a matrix and a vector becomes one of
matrices. An op without a rule is wrapped in `MapRows`.
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
from gpuarray.compiler.ops.sparse.matrix import opened


@dataclass(frozen=True, slots=True)
class BatchedOperand:
    """An input of a node: ``value`` is the variable, or, ``by_row``, all rows of it."""

    value: Variable
    by_row: bool

    def rows(self, ndim: int) -> Variable:
        """Return it with new axes after the rows' until each row has ``ndim`` axes.

        An operand shared by all rows gets them on its left, as broadcasting does.
        """
        if not self.by_row:
            return self.value
        rest = range(1, self.value.type.ndim)
        new = ("x",) * (ndim - len(rest))
        return dimshuffle(self.value, 0, *new, *rest)


Rule = Callable[[Any, Apply, "Sequence[BatchedOperand]"], Any]
"""Returns the outputs of a node for all rows: a variable or a list of them.

None if it does not fit. A result shared by all rows is wrapped in a `BatchedOperand`.
"""

RULES: dict[type[Op], Rule] = {}


def rule(*ops: type[Op]) -> Callable[[Rule], Rule]:
    """Register the batching rule of these classes of ops."""

    def register(function: Rule) -> Rule:
        for op in ops:
            RULES[op] = function
        return function

    return register


def over_rows(
    outputs: Sequence[Variable], rows: Mapping[Variable, Variable]
) -> list[Variable]:
    """Return ``outputs`` for each row of the arrays in place of variables.

    ``rows`` maps a variable to an array with one more axis, the first, along which its
    values are; so are the results'. A result that depends on none of the variables is
    repeated.
    """
    known = {old: BatchedOperand(new, True) for old, new in rows.items()}
    if all(old.owner is None for old in rows):  # matrices have no rows of matrices
        outputs = opened(outputs)
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
        known[variable].value
        if variable in known and known[variable].by_row
        else repeated(known[variable].value if variable in known else variable, length)
        for variable in outputs
    ]


def _results(node: Apply, operands: Sequence[BatchedOperand]) -> list[BatchedOperand]:
    """Return the outputs of a node over rows."""
    if not any(operand.by_row for operand in operands):  # such as lengths of rows
        same = node.clone_with([operand.value for operand in operands])
        return [BatchedOperand(output, False) for output in same.outputs]
    batch = next((RULES[kind] for kind in type(node.op).__mro__ if kind in RULES), None)
    result = None if batch is None else batch(node.op, node, operands)
    if result is None:
        op = MapRows(node.op, tuple(operand.by_row for operand in operands))
        result = op(*(operand.value for operand in operands))
    several = list(result) if isinstance(result, (list, tuple)) else [result]
    return [
        item if isinstance(item, BatchedOperand) else BatchedOperand(item, True)
        for item in several
    ]


def repeated(x: Variable, length: Variable) -> Variable:
    """Return ``x`` repeated ``length`` times along a new first axis."""
    lengths = [length, *(shape_i(x, axis) for axis in range(x.type.ndim))]
    return broadcast_to(x, lengths, ndim=x.type.ndim + 1)


M.over_rows = over_rows
