"""The order of the steps of a plan on several contexts.

The steps that a copy to another context depends on run first, then the copy begins, and
the rest of its context overlaps with it. So a plan has few parts of one context each,
and each waits only for copies that it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from enum import IntEnum

from gpuarray.compiler import plan as p
from gpuarray.compiler.plan_stages import is_called, taken_over, viewed

INTEGERS = p.HostInt | p.DeviceInt | p.Dim | p.IntOp


class Section(IntEnum):
    """The parts of a level, in the order in which they run."""

    INTEGERS = 0
    """Integers known to the host."""
    URGENT = 1
    """Steps that the level's copies depend on."""
    TRANSFERS = 2
    LATER = 3
    """Steps that no copy of the level depends on."""
    PAUSES = 4
    """Steps in which the host takes part, which wait."""


def ordered(plan: p.Plan) -> list[int]:
    """Return the indices of a plan's steps in an order with few parts.

    A level follows the copies between contexts, and the pauses, of the level before.
    """
    waits = [made | kept for made, kept in dependencies(plan)]
    levels, anywhere, places = _levels(plan, waits)
    urgent = _urgent(plan, waits, levels, anywhere)
    ranks = {place: rank for rank, place in enumerate(dict.fromkeys(places))}

    def key(number: int) -> tuple[int, int, int, int]:
        step = plan.steps[number]
        section, rank = Section.LATER, ranks[places[number]]
        if number in anywhere:
            section, rank = Section.INTEGERS, 0
        elif isinstance(step, p.TransferStep):
            section, rank = Section.TRANSFERS, 0
        elif step.pauses:
            section, rank = Section.PAUSES, 0
        elif number in urgent:
            section = Section.URGENT
        return levels[number], section, rank, number

    return sorted(range(len(plan.steps)), key=key)


def relaxed(plan: p.Plan) -> p.Plan:
    """Return the plan without takeovers of memory for which copies would wait.

    A launch that a copy needs gets memory of its own, if it would overwrite what steps
    that the copy does not need still read.
    """
    pairs = dependencies(plan)
    made = [each for each, _ in pairs]
    levels, anywhere, _ = _levels(plan, [a | b for a, b in pairs])
    urgent = _urgent(plan, made, levels, anywhere)
    memory = _Memory(plan)
    steps = list(plan.steps)
    for number in urgent:
        step = steps[number]
        late = [
            d
            for d in pairs[number][1] - urgent - anywhere
            if levels[d] == levels[number] and not _is_last(plan.steps[d])
        ]
        if late and isinstance(step, p.LaunchStep) and not memory.is_given(step):
            steps[number] = replace(step, inplace=(-1,) * len(step.outs))
    return replace(plan, steps=tuple(steps))


def _is_last(step: p.Step) -> bool:
    """Return True if what needs the step is of a later level."""
    return isinstance(step, p.TransferStep) or step.pauses


def _levels(
    plan: p.Plan, waits: list[set[int]]
) -> tuple[list[int], set[int], list[str | None]]:
    """Return the steps' levels, those that the host does at once, and the contexts.

    An integer that another context reads is known to it in the next level.
    """
    of_values = plan.places()
    levels: list[int] = []
    anywhere: set[int] = set()
    places: list[str | None] = []
    for number, step in enumerate(plan.steps):
        place = of_values[step.ins[0]] if _follows_input(step) else step.place
        is_integer = isinstance(step, INTEGERS)
        level = max(
            (levels[d] + _is_last(plan.steps[d]) for d in waits[number]), default=0
        )
        near = [
            d
            for d in waits[number] - anywhere
            if levels[d] == level and not _is_last(plan.steps[d])
        ]
        if is_integer and not near:
            anywhere.add(number)
        elif isinstance(step, p.IntOp):
            place = places[near[0]]
        if any(places[d] != place for d in near):
            level += 1
        levels.append(level)
        places.append(place)
    return levels, anywhere, places


def _follows_input(step: p.Step) -> bool:
    """Return True if the step is done where its input is."""
    return isinstance(step, p.Dim | p.Read | p.TransferStep)


def _urgent(
    plan: p.Plan, waits: list[set[int]], levels: list[int], anywhere: set[int]
) -> set[int]:
    """Return the steps that a copy of their own level needs."""
    urgent: set[int] = set()
    for number in reversed(range(len(plan.steps))):
        if number in urgent or isinstance(plan.steps[number], p.TransferStep):
            urgent |= {
                d
                for d in waits[number] - anywhere
                if levels[d] == levels[number] and not _is_last(plan.steps[d])
            }
    return urgent


def beside_readers(plan: p.Plan, names: Collection[str]) -> list[int] | None:
    """Return an order in which routines of these names wait for what alone reads them.

    That may then be computed with them: all else that it reads is there. None where no
    step moves.
    """
    moves = _moves(plan, names)
    if not moves:
        return None
    waits = [made | kept for made, kept in dependencies(plan)]
    before: dict[int, list[int]] = {}
    for number, reader in moves.items():
        if not any(number in waits[k] for k in range(number + 1, reader)):
            before.setdefault(reader, []).append(number)
    moved = {number for numbers in before.values() for number in numbers}
    order: list[int] = []
    for number in range(len(plan.steps)):
        order += before.get(number, [])
        if number not in moved:
            order.append(number)
    return order if moved else None


def _moves(plan: p.Plan, names: Collection[str]) -> dict[int, int]:
    """Return such routines, with the launches that read what comes after them, too."""
    maker: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for number, step in enumerate(plan.steps):
        maker |= dict.fromkeys(step.outs, number)
        for value in set(step.reads):
            readers.setdefault(value, []).append(number)
    moves: dict[int, int] = {}
    for number, step in enumerate(plan.steps):
        if not isinstance(step, p.Routine) or step.name not in names:
            continue
        (result,) = step.outs
        users = readers.get(result, [])
        if len(users) != 1 or result in plan.outputs:
            continue
        others = (maker.get(value, -1) for value in plan.steps[users[0]].ins)
        is_launch = isinstance(plan.steps[users[0]], p.LaunchStep)
        if is_launch and max(others) > number:
            moves[number] = users[0]
    return moves


def dependencies(plan: p.Plan) -> list[tuple[set[int], set[int]]]:
    """Return for each step the earlier ones that must run before it, of two kinds.

    The first make what it reads; the count of index errors follows all that may report
    one, and calls of Python and of other ranks keep their order. The others read or
    write memory that it overwrites, or overwrite memory that it reads.
    """
    maker: dict[int, int] = {}
    memory = _Memory(plan)
    waits: list[tuple[set[int], set[int]]] = []
    called = -1
    for number, step in enumerate(plan.steps):
        needs = {maker[value] for value in step.reads if value in maker}
        if isinstance(step, p.ReportsStep):
            needs |= {
                other
                for other in range(number)
                if plan.steps[other].place == step.place
            }
        if is_called(step) or _meets_ranks(step):
            needs |= {called} - {-1}
            called = number
        maker |= dict.fromkeys(step.outs, number)
        waits.append((needs, memory.before(number, step)))
    return waits


def _meets_ranks(step: p.Step) -> bool:
    return isinstance(step, p.Call) and step.function == "collective"


class _Memory:
    """Memory dependencies of steps: reads and writes of the steps so far."""

    def __init__(self, plan: p.Plan) -> None:
        self._plan = plan
        self._parents: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._used: dict[int, set[int]] = {}
        for step in plan.steps:
            for value in _shared(step, plan):
                for out in step.outs:
                    self._parents[self._root(out)] = self._root(value)

    def _root(self, value: int) -> int:
        while value in self._parents and self._parents[value] != value:
            value = self._parents[value]
        return value

    def is_given(self, step: p.Step) -> bool:
        """Return True if the step overwrites an input of the plan."""
        given = {self._root(value) for value in range(self._plan.n_inputs)}
        return any(self._root(value) in given for value in taken_over(step))

    def before(self, number: int, step: p.Step) -> set[int]:
        """Return the earlier steps that the memory of a step depends on."""
        if isinstance(step, INTEGERS):
            return set()
        arrays = _arrays(self._plan, (*step.ins, *step.outs))
        roots = {self._root(value) for value in arrays}
        needs = {self._written[root] for root in roots if root in self._written}
        for root in {self._root(value) for value in taken_over(step)}:
            needs |= self._used.pop(root, set())
            self._written[root] = number
        for root in roots:
            self._used.setdefault(root, set()).add(number)
        return needs - {number}


def _arrays(plan: p.Plan, numbers: tuple[int, ...]) -> Iterator[int]:
    return (n for n in numbers if isinstance(plan.values[n], p.ArrayValue))


def _shared(step: p.Step, plan: p.Plan) -> list[int]:
    """Return the inputs whose memory the results of a step may have."""
    if isinstance(step, p.Call):
        return list(_arrays(plan, step.ins))
    if isinstance(step, p.Choose):
        return list(step.ins[1:])
    source = viewed(step)
    return taken_over(step) + ([] if source is None else [source])
