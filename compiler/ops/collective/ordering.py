"""The order of a graph's nodes where some are collectives.

Ranks must run collectives in one order. It is that in which the program has made them,
as far as they do not need one another: what ranks simplify in their own way does not
change it. A collective comes as early as what it needs allows, and what needs its
result as late as other work is left, which then runs beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.collective.collectives import Collective


def arranged(
    order: Sequence[Apply], before: Mapping[Apply, Sequence[Apply]]
) -> list[Apply]:
    """Return nodes, given in an order in which they can run, in the one to run them.

    ``before`` has for a node others that it comes after, besides those it reads.
    """
    collectives = [node for node in order if isinstance(node.op, Collective)]
    if not collectives:
        return list(order)
    collectives.sort(key=_number_of)
    needs = {node: _needs(node, before) for node in order}
    levels = _levels(order, needs)
    made: dict[Apply, None] = {}
    for i, node in enumerate(collectives):
        _make(node, needs, made)
        following = collectives[i + 1 : i + 2]
        if not following or levels[following[0]] > levels[node]:
            _make_beside(order, needs, levels, levels[node], made)
    for node in order:
        _make(node, needs, made)
    return list(made)


def _number_of(node: Apply) -> int:
    assert isinstance(node.op, Collective)
    return node.op.number


def _needs(node: Apply, before: Mapping[Apply, Sequence[Apply]]) -> list[Apply]:
    read = [source.owner for source in node.inputs if source.owner is not None]
    return [*read, *before.get(node, ())]


def _levels(
    order: Sequence[Apply], needs: Mapping[Apply, Sequence[Apply]]
) -> dict[Apply, int]:
    """Return how many collectives, one behind the other, each node needs."""
    levels: dict[Apply, int] = {}
    for node in order:
        levels[node] = max(
            (levels[one] + isinstance(one.op, Collective) for one in needs[node]),
            default=0,
        )
    return levels


def _make(
    wanted: Apply,
    needs: Mapping[Apply, Sequence[Apply]],
    made: dict[Apply, None],
) -> None:
    """Add a node behind what it needs."""
    stack = [wanted]
    while stack:
        node = stack[-1]
        lacking = [one for one in needs[node] if one not in made]
        if lacking:
            stack += reversed(lacking)
            continue
        stack.pop()
        made[node] = None


def _make_beside(
    order: Sequence[Apply],
    needs: Mapping[Apply, Sequence[Apply]],
    levels: Mapping[Apply, int],
    level: int,
    made: dict[Apply, None],
) -> None:
    """Add nodes that need no collective but those that are done before."""
    for node in order:
        if (
            node not in made
            and levels[node] <= level
            and not isinstance(node.op, Collective)
            and all(one in made for one in needs[node])
        ):
            made[node] = None
