"""Traversals of a graph: order, ancestors, leaves, copies. None of them recurses."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from typing import Any, overload

import numpy as np
from gpuarray.compiler.errors import InconsistencyError
from gpuarray.compiler.graph.core import Apply, Constant, Variable

Known = Set[Variable] | Mapping[Variable, Any]


def _as_container(variables: Iterable[Variable]) -> Known:
    """Return the variables in a container with a fast membership test."""
    return variables if isinstance(variables, (Set, Mapping)) else set(variables)


def ancestors(
    outputs: Iterable[Variable], blockers: Iterable[Variable] = ()
) -> Iterator[Variable]:
    """Return ``outputs`` and each variable they need, once; not past ``blockers``."""
    return ancestors_until(outputs, _as_container(blockers).__contains__)


def ancestors_until(
    outputs: Iterable[Variable], is_last: Callable[[Variable], bool]
) -> Iterator[Variable]:
    """Return what `ancestors` does, not past variables that ``is_last`` is true of."""
    visited: set[Variable] = set()
    stack = list(outputs)[::-1]
    while stack:
        variable = stack.pop()
        if variable in visited:
            continue
        visited.add(variable)
        yield variable
        if variable.owner is not None and not is_last(variable):
            stack.extend(reversed(variable.owner.inputs))


def inputs_of(
    outputs: Iterable[Variable], blockers: Iterable[Variable] = ()
) -> list[Variable]:
    """Return the leaves that ``outputs`` need, in the order of traversal."""
    blocked = _as_container(blockers)
    return [
        variable
        for variable in ancestors(outputs, blocked)
        if variable.owner is None or variable in blocked
    ]


def toposort(
    outputs: Iterable[Variable],
    blockers: Iterable[Variable] = (),
    also_after: Mapping[Apply, Sequence[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes that compute ``outputs``, each after those that it needs.

    The order is a function of the graph only. ``also_after`` adds nodes that must come
    before a node. Raises InconsistencyError for a cycle.
    """
    blocked = _as_container(blockers)
    extra = also_after or {}
    is_ordered: dict[Apply, bool] = {}
    order: list[Apply] = []
    is_done = is_ordered.get
    for output in outputs:
        if output.owner is None or is_done(output.owner) or output in blocked:
            continue
        stack = [output.owner]
        while stack:
            node = stack[-1]
            is_met = is_done(node)
            if is_met is not None:
                stack.pop()
                if not is_met:
                    is_ordered[node] = True
                    order.append(node)
                continue
            is_ordered[node] = False
            waiting = [
                owner
                for variable in node.inputs
                if (owner := variable.owner) is not None
                and not is_done(owner)
                and variable not in blocked
            ]
            if extra and node in extra:
                waiting += [before for before in extra[node] if not is_done(before)]
            if not is_ordered.keys().isdisjoint(waiting):
                open_one = next(other for other in waiting if other in is_ordered)
                raise InconsistencyError(
                    f"toposort: {open_one.op} needs its own result, by way of "
                    f"{node.op}; the graph has a cycle"
                )
            waiting.reverse()
            stack += waiting
    return order


@overload
def clone_replace(
    outputs: Variable, replacements: Mapping[Variable, Variable]
) -> Variable: ...
@overload
def clone_replace(
    outputs: Sequence[Variable], replacements: Mapping[Variable, Variable]
) -> list[Variable]: ...
def clone_replace(outputs: Any, replacements: Mapping[Variable, Variable]) -> Any:
    """Return ``outputs`` with variables replaced; nodes that need no change are shared.

    Variables within a replacement are not replaced.
    """
    single = isinstance(outputs, Variable)
    results = [outputs] if single else list(outputs)
    memo: dict[Variable, Variable] = dict(replacements)
    for node in toposort(results, blockers=replacements):
        inputs = [memo.get(variable, variable) for variable in node.inputs]
        if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
            continue
        copy = node.clone_with(inputs)
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            memo.setdefault(old, new)
    changed = [memo.get(variable, variable) for variable in results]
    return changed[0] if single else changed


def replace_nodes(
    outputs: Sequence[Variable],
    order: Iterable[Apply],
    results_of: Callable[[Apply, list[Variable]], Sequence[Variable] | None],
) -> list[Variable]:
    """Return ``outputs`` with nodes replaced by their results from ``results_of``.

    It is given each node of the topological ``order`` with its new inputs; None keeps
    the node. Nodes that need no change are shared.
    """
    known: dict[Variable, Variable] = {}
    for node in order:
        inputs = [known.get(variable, variable) for variable in node.inputs]
        results = results_of(node, inputs)
        if results is None:
            if inputs == node.inputs:
                continue
            results = node.clone_with(inputs).outputs
        known.update(zip(node.outputs, results, strict=True))
    return [known.get(output, output) for output in outputs]


def clone(
    outputs: Sequence[Variable], memo: dict[Variable, Variable] | None = None
) -> list[Variable]:
    """Return ``outputs`` on new nodes, with their leaves; ``memo`` maps old to new."""
    known = {} if memo is None else memo
    for node in toposort(outputs, blockers=known):
        copy = node.clone_with([known.get(operand, operand) for operand in node.inputs])
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            known.setdefault(old, new)
    return [known.get(variable, variable) for variable in outputs]


def evaluated(
    outputs: Sequence[Variable],
    known: Mapping[Variable, Any],
    order: Iterable[Apply] | None = None,
) -> list[Any]:
    """Return the values of ``outputs`` for values of ``known``, computed with NumPy.

    ``order`` is the topological order, where it is known. A node that overwrites its
    inputs gets copies of them.
    """
    values = dict(known)

    def value_of(variable: Variable) -> Any:
        return variable.data if isinstance(variable, Constant) else values[variable]

    for node in toposort(outputs, blockers=known) if order is None else order:
        arrays = [value_of(operand) for operand in node.inputs]
        for overwritten in node.op.destroy_map.values():
            for i in overwritten:
                arrays[i] = np.array(arrays[i])
        results = node.op.evaluate(node, arrays)
        for output, result in zip(node.outputs, results, strict=True):
            values.setdefault(output, result)
    return [value_of(output) for output in outputs]


def same_graph(
    a: Variable, b: Variable, given: Mapping[Variable, Variable] | None = None
) -> bool:
    """Return True if ``a`` and ``b`` are the same operations on the same leaves.

    ``given`` maps leaves of ``a`` to those of ``b``.
    """
    pairs = dict(given or {})
    stack = [(a, b)]
    while stack:
        left, right = stack.pop()
        if pairs.get(left, left) is right:
            continue
        if isinstance(left, Constant):
            if not left.equals(right):
                return False
            continue
        node, other_node = left.owner, right.owner
        if node is None or other_node is None or node.op != other_node.op:
            return False
        if left.index != right.index or len(node.inputs) != len(other_node.inputs):
            return False
        pairs[left] = right
        stack.extend(zip(node.inputs, other_node.inputs, strict=True))
    return True
