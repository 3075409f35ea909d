"""The forms of nodes that derivatives are taken of, where the written one overflows.

A rule that keeps values finite has another expression for a node, as ``logsoftmax(x)``
for ``log(softmax(x).T)``. Derivatives of what is written divide by the softmax, which
is 0 where it underflows; those of the rule's expression are finite, of any order. Such
rules are registered here: derivatives go from the node to what the expression reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from typing import Any, NamedTuple

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.traverse import (
    ancestors,
    clone_replace,
    inputs_of,
    toposort,
)
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise

FormRule = Callable[[Apply], Any]

RULES: dict[str, list[FormRule]] = {}
"""The registered rules, by the row of the scalar table that the node applies."""

_MOST_BETWEEN = 200


class FiniteForm(NamedTuple):
    """An expression of a node's value, and the variables of the graph it reads."""

    expression: Variable
    leaves: list[Variable]


def register(row: str, rule: FormRule) -> None:
    """Take derivatives of nodes of a row by a rule: it returns an expression or None.

    The rule is for real floats.
    """
    RULES.setdefault(row, []).append(rule)


def form_of(
    node: Apply, graph: Collection[Variable], kept: Set[Variable]
) -> FiniteForm | None:
    """Return the form of a node, None if it is the written one.

    ``graph`` has the variables that the expression may read. No variable of ``kept``,
    by which there are derivatives, is left out by it.
    """
    expression = _formed(node)
    while expression is not None:
        out, leaves = node.outputs[0], inputs_of([expression], graph)
        left_out = _between(out, set(leaves))
        if left_out is None or not _are_repeated(left_out & kept, leaves):
            return None
        further = _further(expression, leaves)
        if further is None:
            return FiniteForm(expression, leaves)
        expression = further
    return None


def _formed(node: Apply) -> Variable | None:
    """Return the expression of the first rule that applies to a node."""
    out = node.outputs[0]
    rules = RULES.get(node.op.row_name) if isinstance(node.op, Elemwise) else None
    if not rules or not out.type.dtype.startswith("float"):
        return None
    return next((found for rule in rules if (found := rule(node)) is not None), None)


def _further(expression: Variable, leaves: Sequence[Variable]) -> Variable | None:
    """Return an expression with a node of its own in its form; None if all are."""
    for node in toposort([expression], leaves):
        found = _formed(node)
        if found is not None:
            kept = {leaf: leaf for leaf in leaves}
            return clone_replace(expression, kept | {node.outputs[0]: found})
    return None


def _are_repeated(variables: Set[Variable], leaves: Sequence[Variable]) -> bool:
    """Return True if variables are read by the leaves, too: a part is there twice."""
    return not variables or variables <= set(ancestors(leaves))


def _between(out: Variable, leaves: Collection[Variable]) -> set[Variable] | None:
    """Return the variables between a result and leaves; None if there are too many."""
    found: set[Variable] = set()
    for variable in ancestors([out], leaves):
        if len(found) > _MOST_BETWEEN:
            return None
        if variable is not out and variable not in leaves:
            found.add(variable)
    return found
