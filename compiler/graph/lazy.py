"""Guards: the conditions under which nodes of a graph are needed.

An op declares inputs that it needs only if its first input is true, or only if it is
false (`Op.lazy_inputs`). A variable that is read through such inputs alone is needed
under that condition; so are the nodes behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuarray.compiler.graph.core import Apply, Op, Variable

Guard = frozenset[tuple[Variable, bool]]
"""A conjunction of conditions, each of which must be true or else false."""

ALWAYS: Guard = frozenset()


def is_lazy(op: Op) -> bool:
    """Return True if the op does not always need all inputs."""
    return type(op).lazy_inputs is not Op.lazy_inputs


def any_lazy(nodes: Iterable[Apply]) -> bool:
    """Return True if the op of any node does not always need all inputs."""
    kinds = {type(node.op) for node in nodes}
    return any(kind.lazy_inputs is not Op.lazy_inputs for kind in kinds)


def use(node: Apply, index: int, guard: Guard) -> Guard:
    """Return the conditions under which a node that has a guard needs an input."""
    side = node.op.lazy_inputs(node).get(index)
    return guard if side is None else guard | {(node.inputs[0], side)}


def excludes(a: Guard, b: Guard) -> bool:
    """Return True if one guard cannot hold where the other does."""
    return any((condition, not side) in b for condition, side in a)


def leaves_alone(node: Apply, index: int, guard: Guard) -> bool:
    """Return True if a node does not read an input wherever a guard holds."""
    side = node.op.lazy_inputs(node).get(index)
    return side is not None and (node.inputs[0], not side) in guard


def guards(order: Sequence[Apply], results: Iterable[Variable]) -> dict[Apply, Guard]:
    """The conditions under which each node of ``order`` is needed for ``results``.

    For several uses of a node it is their common conditions, so a node runs at least
    where it is needed. Nodes that are always needed are left out.
    """
    if not any_lazy(order):
        return {}
    needs: dict[Apply, Guard] = {
        result.owner: ALWAYS for result in results if result.owner is not None
    }
    for node in reversed(order):
        guard_of_node = needs.setdefault(node, ALWAYS)
        for index, variable in enumerate(node.inputs):
            if variable.owner is not None:
                needed = use(node, index, guard_of_node)
                known = needs.get(variable.owner, needed)
                needs[variable.owner] = known & needed
    return {node: guard for node, guard in needs.items() if guard}
