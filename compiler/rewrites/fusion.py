"""Neighbouring elementwise nodes become one; a reduction takes in what it alone reads.

Two groups become one where both run over the same elements and nothing outside stands
between them: a consumer with its producer, or two that read one array. A producer that
several members read is computed once. What one group alone reads may be smaller than
the group (an axis of length 1) if it costs little to compute it for each element again.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import pairwise

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import Cast, Composite, Elemwise, Step
from gpuarray.compiler.ops.mapreduce import MapReduce
from gpuarray.compiler.ops.reduce import Reduce
from gpuarray.compiler.rewrites.engine import Log, graph_pass
from gpuarray.compiler.rewrites.rows import with_scalar
from gpuarray.scalars import SCALARS, Scalar

_GAP = 1 << 40
_MOST_OPERANDS = 24
_MOST_STEPS = 200
_CALL = re.compile(r"\w\(")


class Partition:
    """The nodes of a graph in groups that can run as one; it changes as they merge.

    A group is called by one of its members' places in ``order``. ``steps`` counts its
    rows, ``sides`` holds what it reads from outside and what of it is read outside.
    ``rank`` orders the groups: each stands after those that it needs.
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.fgraph = fgraph
        self.order = fgraph.toposort()
        self.position = {node: i for i, node in enumerate(self.order)}
        self.group = list(range(len(self.order)))
        self.members: dict[int, list[int]] = {i: [i] for i in self.group}
        self.rank = {i: (i + 1) * _GAP for i in self.group}
        self.ranks = list(self.rank.values())
        self.sealed: set[int] = set()
        self.read: dict[int, set[int]] = {
            i: {self.position[v.owner] for v in node.inputs if v.owner is not None}
            for i, node in enumerate(self.order)
        }
        self.steps = {i: _cost(node) for i, node in enumerate(self.order)}
        self.sides: dict[int, dict[Variable, None]] = {
            i: dict.fromkeys((*node.inputs, *node.outputs))
            for i, node in enumerate(self.order)
        }

    def of(self, node: Apply) -> int:
        """The group of a node."""
        return self.group[self.position[node]]

    def nodes(self, group: int) -> list[Apply]:
        """The members, each after those that it needs."""
        return [self.order[i] for i in self.members[group]]

    def needs(self, group: int) -> set[int]:
        """The other groups that a group reads."""
        return {self.group[i] for i in self.read[group]} - {group}

    def between(self, first: int, last: int) -> set[int] | None:
        """What `last` needs and is ordered after `first`; None if that needs `first`.

        Then a third group stands between the two, and they cannot be one.
        """
        floor = self.rank[first]
        stack = [group for group in self.needs(last) if self.rank[group] > floor]
        seen = set(stack)
        while stack:
            needed = self.needs(stack.pop())
            if first in needed:
                return None
            new = {each for each in needed - seen if self.rank[each] > floor}
            seen |= new
            stack.extend(new)
        return seen

    def put_before(self, first: int, groups: Iterable[int]) -> None:
        """Order groups before `first`, which do not need it, as they are ordered."""
        moved = sorted(groups, key=self.rank.__getitem__)
        place = bisect_left(self.ranks, self.rank[first])
        low = self.ranks[place - 1] if place else 0
        step = (self.rank[first] - low) // (len(moved) + 1)
        if step == 0:
            for number, group in enumerate(
                sorted(self.rank, key=self.rank.__getitem__), 1
            ):
                self.rank[group] = number * _GAP
            self.ranks = sorted(self.rank.values())
            self.put_before(first, moved)
            return
        for group in moved:
            del self.ranks[bisect_left(self.ranks, self.rank[group])]
            low += step
            self.rank[group] = low
            insort(self.ranks, low)

    def merge(self, first: int, last: int, between: Iterable[int]) -> int:
        """One group of both, in the place of the first; its number."""
        self.put_before(first, between)
        del self.ranks[bisect_left(self.ranks, self.rank[last])]
        self.rank[last] = self.rank[first]
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
        self.steps[a] += self.steps.pop(b)
        mine, others = self.sides[a], self.sides.pop(b)
        shared = [v for v in others if v in mine]
        mine.update(others)
        for variable in shared:
            if variable.owner is not None and self.is_within(variable, a):
                del mine[variable]
        return a

    def is_within(self, variable: Variable, group: int) -> bool:
        """Whether the group computes the variable, and nothing else reads it."""
        assert variable.owner is not None
        return self.of(variable.owner) == group and all(
            isinstance(client, Apply) and self.of(client) == group
            for client, _ in self.fgraph.clients[variable]
        )

    def operands(self, group: int) -> tuple[list[Variable], list[Variable]]:
        """What a group reads from outside, and what of it is read outside."""
        inside = set(self.nodes(group))
        inputs: dict[Variable, None] = {}
        outputs: dict[Variable, None] = {}
        for node in self.nodes(group):
            inputs.update((v, None) for v in node.inputs if v.owner not in inside)
            for out in node.outputs:
                if any(client not in inside for client, _ in self.fgraph.clients[out]):
                    outputs[out] = None
        return list(inputs), list(outputs)

    def fits(self, groups: Iterable[int]) -> bool:
        """Whether groups together stay within what one kernel takes."""
        steps = sum(self.steps[group] for group in groups)
        if steps > _MOST_STEPS:
            return False
        variables = {
            v
            for group in groups
            for v in self.sides[group]
            if not isinstance(v, Constant)
        }
        return len(variables) <= _MOST_OPERANDS


def _cost(node: Apply) -> int:
    """The number of steps of an elementwise node."""
    scalar = node.op.scalar if isinstance(node.op, Elemwise) else None
    return len(scalar.steps) if isinstance(scalar, Composite) else 1


def is_fusible(node: Apply | None) -> bool:
    """Whether the node is elementwise, in no input's place, and not about lengths.

    Integers without axes on the host are what shapes are made of; they stay single.
    """
    if node is None or not isinstance(node.op, Elemwise) or node.op.destroy_map:
        return False
    kind = node.outputs[0].type
    on_host = isinstance(kind, TensorType) and kind.ndim == 0
    return not (on_host and kind.dtype[0] in "iu")


def pattern(node: Apply) -> tuple[bool, ...]:
    """Which axes of the node's results have length 1."""
    found: tuple[bool, ...] = node.outputs[0].type.broadcastable
    return found


def is_cheap(node: Apply) -> bool:
    """Whether the node may be computed again for each element of a larger array."""
    if all(pattern(node)):
        return True
    op = node.op
    assert isinstance(op, Elemwise)
    if isinstance(op.scalar, Composite):
        rows = [step.op for step in op.scalar.steps]
    else:
        rows = [op.scalar.name] if isinstance(op.scalar, Scalar) else []
    return not any(
        _CALL.search(SCALARS[row].expression) for row in rows if row in SCALARS
    )


def _is_same_place(a: Apply, b: Apply) -> bool:
    """Whether two nodes run on the same context with the same class of op."""
    one, other = a.outputs[0].type, b.outputs[0].type
    place = getattr(one, "context_name", None) == getattr(other, "context_name", None)
    return type(a.op) is type(b.op) and type(one) is type(other) and place


@graph_pass(phase="fuse")
def fuse_elementwise(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge neighbouring elementwise nodes, and what one reduction reads into it."""
    partition = Partition(fgraph)
    reductions = seal_maps(partition)
    merge_producers(partition)
    merge_siblings(partition)
    absorb_smaller(partition)
    changed = False
    for group in sorted(partition.members, key=lambda g: partition.members[g][-1]):
        nodes = partition.nodes(group)
        if group in reductions:
            replace_reduction(partition, group, reductions[group], log)
            changed = True
        elif len(nodes) > 1:
            inputs, outputs = partition.operands(group)
            results = fused(nodes, inputs, outputs).outputs
            for old, new in zip(outputs, results, strict=True):
                log.note("fuse_elementwise", old, new)
                fgraph.replace(old, new, reason="fuse_elementwise")
            changed = True
    return changed


def seal_maps(partition: Partition) -> dict[int, Apply]:
    """The reductions of groups that nothing else reads; those fuse with no other."""
    found: dict[int, Apply] = {}
    for node in partition.order:
        if not isinstance(node.op, Reduce):
            continue
        owner = node.inputs[0].owner
        if owner is None or not is_fusible(owner) or len(owner.outputs) != 1:
            continue
        if len(partition.fgraph.clients[node.inputs[0]]) == 1:
            group = partition.of(owner)
            partition.sealed.add(group)
            found[absorb_exclusive(partition, group)] = node
    return found


def absorb_exclusive(partition: Partition, group: int) -> int:
    """Take into a group the producers that it alone reads; the group's number."""
    last = partition.nodes(group)[-1]
    stack = partition.nodes(group)
    while stack:
        for variable in stack.pop().inputs:
            owner = variable.owner
            if owner is None or not is_fusible(owner) or partition.of(owner) == group:
                continue
            other = partition.of(owner)
            is_wanted = is_read_by(partition, other, group) and all(
                pattern(node) == pattern(last) or is_cheap(node)
                for node in partition.nodes(other)
            )
            if (
                is_wanted
                and _is_same_place(owner, last)
                and partition.fits([group, other])
            ):
                stack.extend(partition.nodes(other))
                between = partition.between(other, group)
                assert between is not None  # nothing else reads what is taken in
                group = partition.merge(other, group, between)
    return group


def is_read_by(partition: Partition, group: int, reader: int) -> bool:
    """Whether one other group alone reads the results of a group."""
    return all(
        isinstance(client, Apply) and partition.of(client) in (group, reader)
        for out in partition.operands(group)[1]
        for client, _ in partition.fgraph.clients[out]
    )


def merge_producers(partition: Partition) -> None:
    """Merge each elementwise node with its producers of the same shape."""
    for node in partition.order:
        if not is_fusible(node) or partition.of(node) in partition.sealed:
            continue
        for variable in node.inputs:
            if is_fusible(variable.owner) and variable.type.broadcastable == pattern(
                node
            ):
                assert variable.owner is not None
                try_merge(partition, variable.owner, node)


def merge_siblings(partition: Partition) -> None:
    """Merge groups that read one array of their own shape."""
    for variable, clients in list(partition.fgraph.clients.items()):
        flags = getattr(variable.type, "broadcastable", None)
        if flags is None or all(flags):
            continue
        users = [
            client
            for client, _ in clients
            if isinstance(client, Apply)
            and is_fusible(client)
            and pattern(client) == flags
        ]
        users.sort(key=lambda node: partition.position[node])
        for first, second in pairwise(users):
            try_merge(partition, first, second)


def try_merge(partition: Partition, first: Apply, second: Apply) -> bool:
    """Merge the groups of two nodes unless that makes a circle or a huge kernel."""
    a, b = partition.of(first), partition.of(second)
    if a == b or a in partition.sealed or b in partition.sealed:
        return False
    if not _is_same_place(first, second) or not partition.fits([a, b]):
        return False
    if partition.rank[a] > partition.rank[b]:
        a, b = b, a
    between = partition.between(a, b)
    if between is None:
        return False
    partition.merge(a, b, between)
    return True


def absorb_smaller(partition: Partition) -> None:
    """Take into each group what it alone reads, smaller than it but cheap."""
    for node in reversed(partition.order):
        group = partition.of(node)
        is_last = partition.members[group][-1] == partition.position[node]
        is_open = is_fusible(node) and group not in partition.sealed
        if is_last and is_open and not all(pattern(node)):
            absorb_exclusive(partition, group)


def replace_reduction(partition: Partition, group: int, node: Apply, log: Log) -> None:
    """Put the reduction of a map in place of the reduction and of the map."""
    nodes = partition.nodes(group)
    inputs, outputs = partition.operands(group)
    map_node = fused(nodes, inputs, outputs) if len(nodes) > 1 else nodes[0]
    assert isinstance(map_node.op, Elemwise) and isinstance(node.op, Reduce)
    op = MapReduce(map_node.op, node.op)
    made = Apply(op, map_node.inputs, [out.type() for out in node.outputs])
    for old, new in zip(node.outputs, made.outputs, strict=True):
        log.note("fuse_elementwise", old, new)
        partition.fgraph.replace(old, new, reason="fuse_elementwise")


def fused(nodes: list[Apply], inputs: list[Variable], outputs: list[Variable]) -> Apply:
    """One node that computes what several do, of the class of the last."""
    op = nodes[-1].op
    assert isinstance(op, Elemwise)
    scalar = compose(nodes, inputs, outputs)
    return Apply(with_scalar(op, scalar), inputs, [out.type() for out in outputs])


def compose(
    nodes: list[Apply], inputs: list[Variable], outputs: list[Variable]
) -> Composite:
    """The rows of several nodes as one scalar operation."""
    value = {variable: i for i, variable in enumerate(inputs)}
    steps: list[Step] = []
    for node in nodes:
        op, operands = node.op, tuple(value[given] for given in node.inputs)
        assert isinstance(op, Elemwise)
        if isinstance(op.scalar, Composite):
            base = len(inputs) + len(steps)
            steps.extend(_moved(op.scalar, operands, base))
            results = [
                _moved_value(op.scalar, operands, base, v) for v in op.scalar.outputs
            ]
        else:
            name = "cast" if isinstance(op.scalar, Cast) else op.scalar.name
            steps.append(Step(name, operands, node.outputs[0].type.dtype))
            results = [len(inputs) + len(steps) - 1]
        value.update(zip(node.outputs, results, strict=True))
    dtypes = tuple(variable.type.dtype for variable in inputs)
    return Composite(dtypes, tuple(steps), tuple(value[out] for out in outputs))


def _moved(scalar: Composite, operands: tuple[int, ...], base: int) -> list[Step]:
    """The steps of a composite within a larger one that has `base` values before."""
    return [
        Step(
            step.op,
            tuple(_moved_value(scalar, operands, base, v) for v in step.operands),
            step.dtype,
        )
        for step in scalar.steps
    ]


def _moved_value(
    scalar: Composite, operands: tuple[int, ...], base: int, value: int
) -> int:
    count = len(scalar.inputs)
    return operands[value] if value < count else base + value - count
