"""Which nodes of a graph are needed only where a condition holds, or fails.

An op says of some of its inputs that it needs them only if its first input is true, or
only if it is false (`Op.lazy_inputs`). What is read through such inputs alone is needed
under that condition; so are the nodes behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuarray.compiler.graph.core import Apply, Op, Variable

Guard = frozenset[tuple[Variable, bool]]
"""Conditions, each to be true or else false, that must all hold."""

ALWAYS: Guard = frozenset()


def is_lazy(op: Op) -> bool:
    """True if the op may leave inputs alone."""
    return type(op).lazy_inputs is not Op.lazy_inputs


def any_lazy(nodes: Iterable[Apply]) -> bool:
    """True if the op of any node may leave inputs alone."""
    kinds = {type(node.op) for node in nodes}
    return any(kind.lazy_inputs is not Op.lazy_inputs for kind in kinds)


def use(node: Apply, index: int, guard: Guard) -> Guard:
    """Under which conditions a node that has a guard needs one of its inputs."""
    side = node.op.lazy_inputs(node).get(index)
    return guard if side is None else guard | {(node.inputs[0], side)}


def excludes(a: Guard, b: Guard) -> bool:
    """True if conditions cannot hold where others do."""
    return any((condition, not side) in b for condition, side in a)


def leaves_alone(node: Apply, index: int, guard: Guard) -> bool:
    """True if a node does not look at an input wherever a guard holds."""
    side = node.op.lazy_inputs(node).get(index)
    return side is not None and (node.inputs[0], not side) in guard


def guards(order: Sequence[Apply], results: Iterable[Variable]) -> dict[Apply, Guard]:
    """The conditions under which each node of ``order`` is needed for ``results``.

    Of several uses of a node what they have in common counts, so a node runs at least
    where it is needed. Nodes that are always needed are left out.
    """
    if not any_lazy(order):
        return {}
    found: dict[Apply, Guard] = {
        result.owner: ALWAYS for result in results if result.owner is not None
    }
    for node in reversed(order):
        mine = found.setdefault(node, ALWAYS)
        for index, variable in enumerate(node.inputs):
            if variable.owner is not None:
                needed = use(node, index, mine)
                known = found.get(variable.owner, needed)
                found[variable.owner] = known & needed
    return {node: guard for node, guard in found.items() if guard}
