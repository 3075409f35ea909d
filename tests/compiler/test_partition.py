"""Groups of nodes that merge and come apart, beside what the graph itself says."""

import random

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler.graph.core import Apply, Constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.variables.context_assignment import places_of
from gpuarray.compiler.rewrites.fusion import partition as module
from gpuarray.compiler.rewrites.fusion.partition import Around, Partition
from random_drawing import quiet

MOVES = 30
STEPS = [
    lambda n, x, y: T.exp(x),
    lambda n, x, y: x + y,
    lambda n, x, y: x * y,
    lambda n, x, y: ifelse(n, T.exp(x) * y, y - x),
]


def graph(seed):
    """A drawn graph; every third one is on two contexts, with a choice."""
    draw = random.Random(seed)
    names = ["cuda0", "cuda1"] if seed % 3 == 0 else []
    inputs = [x.clone(str(i)) for i, x in enumerate([T.dmatrix()] * 4)]
    for each in inputs:
        if target := draw.choice([*names, None]):  # by name alone: nothing is opened
            each.tag.target = target
    n = T.iscalar("n")
    pool = [[each] for each in inputs]
    with quiet():
        for _ in range(24):
            lane = draw.choice(pool)  # what is computed of one input, mostly
            other = draw.choice(pool) if draw.random() < 0.2 else lane
            left, right = draw.choice(lane[-5:]), draw.choice(other[-5:])
            step = draw.choice(STEPS if names else STEPS[:3])
            lane.append(step(n, left, right))
        return FunctionGraph([n, *inputs], [lane[-1] for lane in pool])


class Reading:
    """Which groups read which, worked out from the nodes alone."""

    def __init__(self, partition):
        self.reads = {group: set() for group in partition.members}
        self.places = {group: set() for group in partition.members}
        found = places_of(partition.fgraph.inputs, partition.order)
        for node in partition.order:
            mine = partition.of(node)
            conditions = partition.guards.get(node, ALWAYS)
            read = [*node.inputs, *(condition for condition, _ in conditions)]
            makers = {v.owner for v in read} - {None}
            self.places[mine] |= {found[v] for v in node.outputs if v in found}
            self.reads[mine] |= {partition.of(each) for each in makers} - {mine}

    def behind(self, group):
        """All groups that one needs."""
        found, stack = set(), [group]
        while stack:
            new = self.reads[stack.pop()] - found
            found |= new
            stack += new
        return found

    def are_apart(self, a, b):
        """Whether two groups cannot be one: of two contexts, or for a circle."""
        return len(self.places[a] | self.places[b]) > 1 or self.is_between(a, b)

    def is_between(self, a, b):
        """Whether a third group needs one of two and is needed by the other."""
        return any(
            first in self.behind(each) and each in self.behind(last)
            for first, last in ((a, b), (b, a))
            for each in self.reads
            if each not in (a, b)
        )


def sides_of(partition, group):
    """What a group reads from outside, and what of it is not read within alone."""
    nodes = partition.nodes(group)
    read = {v for node in nodes for v in node.inputs if v.owner not in nodes}
    made = {v for node in nodes for v in node.outputs}
    clients = partition.fgraph.clients
    hidden = {
        v for v in made if clients[v] and all(user in nodes for user, _ in clients[v])
    }
    return read | (made - hidden), read, made


def check(partition):
    """All that the partition keeps, against the groups of its nodes."""
    reading = Reading(partition)
    assert partition.ranks == sorted(partition.rank.values())
    assert set(partition.rank) == set(partition.members) == set(partition.group)
    for group, members in partition.members.items():
        nodes = partition.nodes(group)
        assert members == [i for i, g in enumerate(partition.group) if g == group]
        assert [partition.position[node] for node in nodes] == members
        needs = reading.reads[group]
        assert partition.needs(group) == needs
        assert partition.users(group) == {
            other for other, read in reading.reads.items() if group in read
        }
        assert all(partition.rank[each] < partition.rank[group] for each in needs)
        assert partition.places[group] == reading.places[group]
        assert partition.steps[group] == len(nodes)
        sides, read, made = sides_of(partition, group)
        assert set(partition.sides[group]) == sides
        inputs, outputs = partition.operands(group)
        assert set(inputs) == read
        used = {
            v
            for v in made
            for user, _ in partition.fgraph.clients[v]
            if not isinstance(user, Apply) or user not in nodes
        }
        assert set(outputs) == used


def moved(partition, draw):
    """Two groups joined, by `Around` or without, or one that comes apart."""
    groups = sorted(partition.members)
    large = [g for g in groups if len(partition.members[g]) > 1]
    if large and draw.random() < 0.15:
        partition.dissolve(draw.choice(large))
        return
    if len(groups) < 2:
        return
    a, b = draw.sample(groups, 2)
    apart = Reading(partition).are_apart(a, b)
    join = Around(partition, a).join if draw.random() < 0.3 else partition.join
    joined = join(a, b)
    assert (joined is None) == apart
    if joined is not None:
        assert joined in (a, b) and joined in partition.members


@pytest.mark.parametrize("gap", [1 << 40, 32])
def test_groups_are_what_the_graph_says(gap, monkeypatch):
    monkeypatch.setattr(module, "_GAP", gap)  # a small one leaves no room: ranks spread
    for seed in range(12):
        draw = random.Random(seed)
        partition = Partition(graph(seed))
        check(partition)
        for _ in range(MOVES):
            moved(partition, draw)
            check(partition)


def test_a_group_that_grows_knows_what_keeps_others_apart():
    for seed in range(12):
        draw = random.Random(seed)
        partition = Partition(graph(seed))
        group = draw.choice(sorted(partition.members))
        around = Around(partition, group)
        for other in draw.sample(sorted(partition.members), len(partition.members)):
            if other == group or other not in partition.members:
                continue
            apart = Reading(partition).are_apart(group, other)
            joined = around.join(group, other)
            assert (joined is None) == apart
            group = group if joined is None else joined
            check(partition)


def test_what_stands_around_a_group_that_did_not_join_keeps_nothing_apart():
    x, y = T.dvectors("xy")
    x.tag.target, y.tag.target = "cuda0", "cuda1"  # by name alone: nothing is opened
    outputs = [T.exp(x), y * T.tanh(T.sqr(x))]
    partition = Partition(FunctionGraph([x, y], outputs))
    group = {node.op.scalar.name: partition.of(node) for node in partition.order}
    around = Around(partition, group["exp"])
    assert around.join(group["exp"], group["mul"]) is None  # of another context
    assert around.join(group["exp"], group["square"]) is not None
    check(partition)


def test_a_kernel_takes_so_many_operands_and_steps(monkeypatch):
    kinds, several = set(), False
    for seed in range(40):
        draw = random.Random(seed)
        partition = Partition(graph(seed))
        most = draw.randrange(2, 14)
        monkeypatch.setattr(module, "MOST_OPERANDS", most)
        groups = draw.sample(sorted(partition.members), 3)
        sides = {v for each in groups for v in partition.sides[each]}
        count = sum(not isinstance(v, Constant) for v in sides)
        guards = {partition.guard(each) for each in groups}
        places = [place for each in groups for place in partition.places[each]]
        is_one = len(guards) == 1 and len({*places}) < 2
        assert partition.fits(groups) == (count <= most and is_one)
        several |= (count <= most) and not is_one
        kinds.add((count < most) - (count > most))
        monkeypatch.setattr(module, "_MOST_STEPS", 2)
        assert not partition.fits(groups)
        monkeypatch.setattr(module, "_MOST_STEPS", 3)
        assert partition.fits(groups) == (count <= most and is_one)
    assert kinds == {-1, 0, 1} and several


def test_one_sealed_of_two_seals_both():
    partition = Partition(graph(3))
    a, b = sorted(partition.members)[:2]
    for sealed in (a, b):
        fresh = Partition(partition.fgraph)
        fresh.sealed.add(sealed)
        joined = fresh.join(a, b)
        assert joined is None or joined in fresh.sealed
