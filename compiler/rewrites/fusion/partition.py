"""A partition of a graph's nodes into groups that can each run as one."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Collection, Iterable
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS, Guard
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import Composite, Elemwise
from gpuarray.compiler.ops.shape.shape import DimShuffle
from gpuarray.compiler.ops.variables.context_assignment import places_of

_GAP = 1 << 40
MOST_OPERANDS = 24
_MOST_STEPS = 200


class Moved(NamedTuple):
    """Groups to order before the first of two that are merged, or after the last."""

    groups: set[int]
    is_before: bool


class Partition:
    """The nodes of a graph in groups that can run as one; it changes as they merge.

    A group's number is a position of a member in ``order``. ``steps`` counts its rows,
    ``sides`` holds its inputs, and its results that are read outside. ``rank`` is a
    topological order of the groups.
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.fgraph = fgraph
        self.order = fgraph.toposort()
        self.position = {node: i for i, node in enumerate(self.order)}
        self.guards = fgraph.guards()
        self.group = list(range(len(self.order)))
        self.members: dict[int, list[int]] = {i: [i] for i in self.group}
        self.rank = {i: (i + 1) * _GAP for i in self.group}
        self.ranks = list(self.rank.values())
        self.sealed: set[int] = set()
        self.read = {i: self._reads(node) for i, node in enumerate(self.order)}
        self.used: dict[int, set[int]] = {i: set() for i in self.group}
        for i, read in self.read.items():
            for other in read:
                self.used[other].add(i)
        self.users_of = {i: frozenset(used) for i, used in self.used.items()}
        self.steps = {i: _cost(node) for i, node in enumerate(self.order)}
        self.sides = {i: _sides(node) for i, node in enumerate(self.order)}
        place_of_value = places_of(fgraph.inputs, self.order)
        self.place_of = [
            frozenset(
                place_of_value[out] for out in node.outputs if out in place_of_value
            )
            for node in self.order
        ]
        self.places = dict(enumerate(self.place_of))

    def _reads(self, node: Apply) -> set[int]:
        """Return the positions of a node's producers, and of its conditions."""
        read = node.inputs
        if node in self.guards:
            read = [*read, *(condition for condition, _ in self.guards[node])]
        return {self.position[v.owner] for v in read if v.owner is not None}

    @cached_property
    def of_iteration(self) -> set[Variable]:
        """Values that differ by iteration, computed elementwise, not for the host."""
        computed = set(self.fgraph.moving_inputs)
        needed: set[Variable] = set()
        for node in reversed(self.order):
            needed.update(node.inputs[i] for i in node.op.host_inputs(node))
            if not needed.isdisjoint(node.outputs):
                needed.update(node.inputs)
        for node in self.order:
            is_elementwise = isinstance(node.op, Elemwise | DimShuffle)
            if is_elementwise and not computed.isdisjoint(node.inputs):
                computed.update(node.outputs)
        return computed - needed

    def is_fusible(self, node: Apply | None) -> bool:
        """True if a node may be in a group with others: see the function `is_fusible`.

        In the body of a loop also scalar integers that differ by iteration.
        """
        if is_fusible(node):
            return True
        if node is None or not isinstance(node.op, Elemwise) or node.op.destroy_map:
            return False
        return self.of_iteration.issuperset(node.outputs)

    def of(self, node: Apply) -> int:
        """Return the group of a node."""
        return self.group[self.position[node]]

    def has(self, node: Apply) -> bool:
        """True if a group has the node: later nodes are in none."""
        return node in self.position

    def nodes(self, group: int) -> list[Apply]:
        """Return the members in topological order."""
        return [self.order[i] for i in self.members[group]]

    def needs(self, group: int) -> set[int]:
        """Return the other groups that a group reads."""
        return {self.group[i] for i in self.read[group]} - {group}

    def users(self, group: int) -> set[int]:
        """Return the other groups that read a group."""
        return {self.group[i] for i in self.used[group]} - {group}

    def between(self, first: int, last: int) -> Moved | None:
        """Return the groups to reorder when two are joined; None if they cannot join.

        Two contexts keep them apart, and so does a third group that needs `first` and
        that `last` needs. The search alternates between both ends, and stops as soon as
        one is exhausted.
        """
        if len(self.places[first] | self.places[last]) > 1:
            return None
        low, high = self.rank[first], self.rank[last]
        needed = {group for group in self.needs(last) if self.rank[group] > low}
        users = {group for group in self.users(first) if self.rank[group] < high}
        if not needed.isdisjoint(users):
            return None
        back, forth = deque(needed), deque(users)
        while back and forth:
            new = self.needs(back.popleft())
            if first in new or not new.isdisjoint(users):
                return None
            new = {group for group in new - needed if self.rank[group] > low}
            needed |= new
            back.extend(new)
            new = self.users(forth.popleft())
            if last in new or not new.isdisjoint(needed):
                return None
            new = {group for group in new - users if self.rank[group] < high}
            users |= new
            forth.extend(new)
        return Moved(users, False) if back else Moved(needed, True)

    def put_beside(self, group: int, moved: Moved) -> None:
        """Order groups right before or after one, keeping their order."""
        place = bisect_left(self.ranks, self.rank[group])
        neighbour = place - 1 if moved.is_before else place + 1
        if 0 <= neighbour < len(self.ranks):
            other = self.ranks[neighbour]
        else:
            other = 0 if moved.is_before else self.rank[group] + _GAP
        start = min(other, self.rank[group])
        step = abs(self.rank[group] - other) // (len(moved.groups) + 1)
        if step == 0:
            self._spread_ranks()
            self.put_beside(group, moved)
            return
        ordered = sorted(moved.groups, key=self.rank.__getitem__)
        for number, mover in enumerate(ordered, 1):
            del self.ranks[bisect_left(self.ranks, self.rank[mover])]
            self.rank[mover] = start + number * step
            insort(self.ranks, self.rank[mover])

    def _spread_ranks(self) -> None:
        """Renumber the ranks of all groups, to make room between them."""
        ordered = sorted(self.rank, key=self.rank.__getitem__)
        for number, group in enumerate(ordered, 1):
            self.rank[group] = number * _GAP
        self.ranks = sorted(self.rank.values())

    def join(self, a: int, b: int) -> int | None:
        """Join two groups and return the group's number; None if that makes a cycle."""
        first, last = sorted((a, b), key=self.rank.__getitem__)
        between = self.between(first, last)
        return None if between is None else self.merge(first, last, between)

    def merge(self, first: int, last: int, moved: Moved) -> int:
        """Merge two groups and return the number; ``moved`` is as from `between`."""
        staying, gone = (first, last) if moved.is_before else (last, first)
        self.put_beside(staying, moved)
        del self.ranks[bisect_left(self.ranks, self.rank[gone])]
        self.rank[gone] = self.rank[staying]
        a, b = first, last
        if len(self.members[a]) < len(self.members[b]):
            a, b = b, a
        del self.rank[b]
        if b in self.sealed:
            self.sealed.add(a)
        for i in self.members[b]:
            self.group[i] = a
        self.members[a] = sorted(self.members[a] + self.members.pop(b))
        self.read[a] |= self.read.pop(b)
        self.used[a] |= self.used.pop(b)
        self.steps[a] += self.steps.pop(b)
        self.places[a] = self.places[a] | self.places[b]
        own_sides, other_sides = self.sides[a], self.sides.pop(b)
        shared = [v for v in other_sides if v in own_sides]
        own_sides.update(other_sides)
        for variable in shared:
            if variable.owner is not None and self.is_within(variable, a):
                del own_sides[variable]
        return a

    def dissolve(self, group: int) -> None:
        """Make each member a group of its own again, at the group's rank."""
        members = self.members[group]
        place = bisect_left(self.ranks, self.rank[group])
        start, is_last = self.rank[group], place + 1 == len(self.ranks)
        end = start + _GAP if is_last else self.ranks[place + 1]
        step = (end - start) // len(members)
        if step == 0:
            self._spread_ranks()
            self.dissolve(group)
            return
        del self.ranks[place], self.rank[group], self.members[group]
        for number, i in enumerate(members):
            node = self.order[i]
            self.group[i], self.members[i] = i, [i]
            self.rank[i] = start + number * step
            insort(self.ranks, self.rank[i])
            self.read[i], self.used[i] = self._reads(node), set(self.users_of[i])
            self.steps[i], self.sides[i] = _cost(node), _sides(node)
            self.places[i] = self.place_of[i]

    def is_within(self, variable: Variable, group: int) -> bool:
        """True if the group computes the variable, and nothing else reads it."""
        assert variable.owner is not None
        return self.of(variable.owner) == group and all(
            isinstance(client, Apply) and self.of(client) == group
            for client, _ in self.fgraph.clients[variable]
        )

    def operands(self, group: int) -> tuple[list[Variable], list[Variable]]:
        """Return the inputs of a group, and its results that are read outside."""
        inside = set(self.nodes(group))
        inputs: dict[Variable, None] = {}
        outputs: dict[Variable, None] = {}
        for node in self.nodes(group):
            inputs.update((v, None) for v in node.inputs if v.owner not in inside)
            for out in node.outputs:
                if any(client not in inside for client, _ in self.fgraph.clients[out]):
                    outputs[out] = None
        return list(inputs), list(outputs)

    def guard(self, group: int) -> Guard:
        """Return the conditions under which a group is needed."""
        return self.guards.get(self.order[self.members[group][0]], ALWAYS)

    def fits(self, groups: Collection[int]) -> bool:
        """True if groups are in one branch, on one context, and fit in a kernel."""
        if self.guards and len({self.guard(group) for group in groups}) > 1:
            return False
        if len(frozenset[str | None]().union(*(self.places[g] for g in groups))) > 1:
            return False
        steps = sum(self.steps[group] for group in groups)
        if steps > _MOST_STEPS:
            return False
        sides = [self.sides[group] for group in groups]
        if sum(map(len, sides)) <= MOST_OPERANDS:
            return True
        variables = {v for side in sides for v in side if not isinstance(v, Constant)}
        return len(variables) <= MOST_OPERANDS


class Around:
    """The nodes after and before a growing group, searched as far as needed.

    One search from the group answers for each candidate what `Partition.between` would
    search for again.
    """

    def __init__(self, partition: Partition, group: int) -> None:
        self.partition = partition
        self.after: set[int] = set()
        self.before: set[int] = set()
        self._ahead: list[tuple[int, int]] = []
        self._behind: list[tuple[int, int]] = []
        self._add(partition.users(group), partition.needs(group))

    def join(self, group: int, other: int) -> int | None:
        """Join another group, as `Partition.join` does."""
        if self.keeps_apart(other):
            return None
        users = self.partition.users(other) - {group}
        needs = self.partition.needs(other) - {group}
        joined = self.partition.join(group, other)
        if joined is not None:
            self._add(users, needs)
            self.after -= {group, other}
            self.before -= {group, other}
        return joined

    def keeps_apart(self, other: int) -> bool:
        """True if a third group is known to stand between the group and another."""
        rank = self.partition.rank[other]
        while self._ahead and self._ahead[0][0] < rank:
            _, third = heappop(self._ahead)
            if third in self.after:
                self._add(self.partition.users(third), ())
        while self._behind and -self._behind[0][0] > rank:
            _, third = heappop(self._behind)
            if third in self.before:
                self._add((), self.partition.needs(third))
        return not (
            self.partition.needs(other).isdisjoint(self.after)
            and self.partition.users(other).isdisjoint(self.before)
        )

    def _add(self, users: Iterable[int], needs: Iterable[int]) -> None:
        rank = self.partition.rank
        for user in users:
            if user not in self.after:
                self.after.add(user)
                heappush(self._ahead, (rank[user], user))
        for need in needs:
            if need not in self.before:
                self.before.add(need)
                heappush(self._behind, (-rank[need], need))


def _sides(node: Apply) -> dict[Variable, None]:
    """Return the variables that a node reads and computes."""
    return dict.fromkeys((*node.inputs, *node.outputs))


def _cost(node: Apply) -> int:
    """Return the number of steps of an elementwise node."""
    scalar = node.op.scalar if isinstance(node.op, Elemwise) else None
    return len(scalar.steps) if isinstance(scalar, Composite) else 1


def is_fusible(node: Apply | None) -> bool:
    """True if the node is elementwise, not in place, and not about lengths.

    Scalar integers on the host, which shapes are computed from, stay single.
    """
    if node is None or not isinstance(node.op, Elemwise) or node.op.destroy_map:
        return False
    kind = node.outputs[0].type
    on_host = isinstance(kind, TensorType) and kind.ndim == 0
    return not (on_host and kind.dtype[0] in "iu")
