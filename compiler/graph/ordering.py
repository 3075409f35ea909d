"""The order of a graph's nodes where ranks have to run some of them alike.

Collectives run in the order in which the program has made them, as far as they do not
need one another: what ranks simplify in their own way does not change it. A collective
comes as early as what it needs allows, and what needs its result as late as other work
is left, which then runs beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from gpuarray.compiler.graph.core import Apply

_places = count()


def next_place() -> int:
    """Return the next place in the order of the program."""
    return next(_places)


def arranged(
    order: Sequence[Apply], before: Mapping[Apply, Sequence[Apply]]
) -> list[Apply]:
    """Return nodes, given in an order in which they can run, in the one to run them.

    ``before`` has for a node others that it comes after, besides those it reads.
    """
    numbers = {
        node: place for node in order if (place := node.op.program_order) is not None
    }
    if not numbers:
        return list(order)
    collectives = sorted(numbers, key=lambda node: numbers[node])
    all_nodes = set(order)
    needs = {
        node: [one for one in _needs(node, before) if one in all_nodes]
        for node in order
    }
    levels = _levels(order, needs, numbers)
    made: dict[Apply, None] = {}
    for i, node in enumerate(collectives):
        _make(node, needs, made)
        following = collectives[i + 1 : i + 2]
        if not following or levels[following[0]] > levels[node]:
            beside = [
                one
                for one in order
                if levels[one] <= levels[node] and one not in numbers
            ]
            _make_beside(beside, needs, made)
    for node in order:
        _make(node, needs, made)
    return list(made)


def _needs(node: Apply, before: Mapping[Apply, Sequence[Apply]]) -> list[Apply]:
    read = [source.owner for source in node.inputs if source.owner is not None]
    return [*read, *before.get(node, ())]


def _levels(
    order: Sequence[Apply],
    needs: Mapping[Apply, Sequence[Apply]],
    numbers: Mapping[Apply, int],
) -> dict[Apply, int]:
    """Return how many collectives, one behind the other, each node needs."""
    levels: dict[Apply, int] = {}
    for node in order:
        levels[node] = max(
            (levels[one] + (one in numbers) for one in needs[node]), default=0
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
    beside: Sequence[Apply],
    needs: Mapping[Apply, Sequence[Apply]],
    made: dict[Apply, None],
) -> None:
    """Add those of some nodes that need nothing which is still to be made."""
    for node in beside:
        if node not in made and all(one in made for one in needs[node]):
            made[node] = None
