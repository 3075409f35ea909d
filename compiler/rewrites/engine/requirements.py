"""Requirements of lengths, which rewriting must not lose.

The nodes of the graph as written have requirements (`Op.requirements`); those of the
rewritten graph tell which are still checked. A missing one that does not follow from
these is checked at an output (`ops.requirements`). So a rule may drop a node that would
have raised for its lengths; errors that depend on values are the rules' own care.

Two integers are taken as equal if they agree at many lengths of the leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Trace, Variable, traced_as
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.requirements import Requirement
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.lengths import Lengths, own_lengths, parts_of, told_of
from gpuarray.compiler.ops.shape.shape import DimShuffle, Shape, Shape_i, elements
from gpuarray.compiler.ops.slicing.requirements import required
from gpuarray.compiler.ops.slicing.subtensor import Subtensor, integer_of, numbers_of
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.dtypes import kind_of

POINTS = 64
"""The number of sample lengths at which integers are compared."""

Values = np.ndarray[Any, Any]


class Sourced(NamedTuple):
    """A requirement, the operation that has it, and the user's line of that."""

    wanted: Requirement
    called: str
    trace: Trace | None


class Required:
    """The requirements of a graph, and the lengths of its arrays.

    Nodes that run under a condition are left out.
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.lengths: dict[Variable, Lengths] = {}
        self.found: list[Sourced] = []
        self.seen: set[Requirement] = set()
        guarded = fgraph.guards()
        for node in fgraph.toposort():
            self._look_at(node, node not in guarded)

    def _look_at(self, node: Apply, is_needed: bool) -> None:
        op, lengths = node.op, self.lengths
        for x in node.inputs:
            if x not in lengths:
                lengths[x] = own_lengths(x) or ()
        lengths |= _told(node, lengths)
        if not is_needed or isinstance(op, Shape_i | Shape):
            return
        for requirement in op.requirements(node, [lengths[x] for x in node.inputs]):
            if requirement not in self.seen:
                self.seen.add(requirement)
                self.found.append(Sourced(requirement, str(op), node.trace))


def _told(node: Apply, lengths: Mapping[Variable, Lengths]) -> dict[Variable, Lengths]:
    """Return the lengths of a node's results; plain `shape_i` where the op fails."""
    try:
        return told_of(node, lengths)
    except Exception:  # of a program's own op; raised again where it is needed
        return {variable: own_lengths(variable) or () for variable in node.outputs}


class Missing:
    """The requirements that a graph lost by rewriting.

    Made before rewriting, it compares with the graph after the rules of computation
    (`seen`), and adds the missing ones at an output in the end (`restored`).
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.before = Required(fgraph)
        self.found: list[Sourced] = []
        self.is_seen = False

    def seen(self, fgraph: FunctionGraph) -> None:
        """Compare with the rewritten graph."""
        if self.is_seen or not self.before.found:
            return
        self.is_seen = True
        after = Required(fgraph)
        facts = [sourced.wanted for sourced in after.found]
        points = Points(self.before.lengths | after.lengths, facts)
        requirements = sorted(
            self.before.found, key=lambda sourced: not points.is_plain(sourced[0])
        )
        for requirement in requirements:  # equal lengths first: they help with the rest
            if not points.implies(requirement.wanted):
                self.found += self._kept(requirement, points, fgraph)
                points.assume(requirement.wanted)

    def _kept(
        self, lost: Sourced, points: Points, fgraph: FunctionGraph
    ) -> Iterator[Sourced]:
        """Yield the requirement by known lengths; nothing if they cost computation."""
        left, right = (points.settled(side) for side in lost.wanted[1:])
        if all(is_known(side, fgraph) for side in (left, right)):
            yield lost._replace(wanted=lost.wanted._replace(left=left, right=right))

    def restored(self, fgraph: FunctionGraph) -> None:
        """Check what is missing at an output, one in memory of its own if it can."""
        updates = fgraph.destroyable
        updated = updates.values() if isinstance(updates, Mapping) else ()
        places = range(len(fgraph.outputs))
        place = next((i for i in places if i not in updated), 0)
        while self.found:
            lost = self.found.pop()
            old = fgraph.outputs[place]
            with traced_as(lost.trace):
                new = required(old, lost.wanted, lost.called)
            for i in places:  # a result that is returned twice stays one
                if fgraph.outputs[i] is old and (i == place or i not in updated):
                    fgraph.redirect("output", i, new, "keep_requirement")
            new.tag.trace = lost.trace


def is_known(length: Variable, fgraph: FunctionGraph) -> bool:
    """True if an integer is computed from the graph's variables, and nothing else."""
    return all(_is_known_part(part, fgraph) for part in parts_of(length))


def _is_known_part(part: Variable, fgraph: FunctionGraph) -> bool:
    if isinstance(part, Constant):
        return True
    if part.type.ndim or kind_of(part.type.numpy_dtype) not in "biu":
        return False
    owner = part.owner
    if owner is None:
        return part in fgraph.clients
    if isinstance(owner.op, Shape_i):
        return owner.inputs[0] in fgraph.clients
    return isinstance(owner.op, Elemwise)


class Points:
    """The values of integers at sample lengths of the leaves.

    It has state because each assumed requirement makes integers equal. ``lengths`` are
    those of arrays, by the leaves' where that is possible.
    """

    def __init__(
        self, lengths: dict[Variable, Lengths], assumed: Iterable[Requirement]
    ) -> None:
        self.lengths = lengths
        self.by_leaves: dict[Variable, Variable] = {}
        self.assumed: list[Requirement] = []
        self.is_current = False
        self.same: dict[Any, Any] = {}  # equal plain lengths
        self.equals: dict[Any, Any] = {}  # equal values at all points
        self.places: set[tuple[Any, Any]] = set()
        self.least: dict[Any, int] = {}  # lengths that constant indices need
        self.drawn: dict[Any, Values] = {}
        self.known: dict[Variable, Values] = {}
        for requirement in assumed:
            self.assume(requirement)

    # ---- assumptions and implications ----

    def assume(self, wanted: Requirement) -> None:
        """Assume the requirement from now on."""
        if self.is_plain(wanted):
            left, right = (self.plain(side) for side in wanted[1:])
            if joined(self.same, left, right):
                self.is_current = False
            return
        self.assumed.append(wanted)
        if self.is_current:
            self._learn(wanted)

    def _update(self) -> None:
        """Recompute the implications, with the lengths that are equal by now."""
        if self.is_current:
            return
        self.is_current = True
        for table in (self.equals, self.places, self.least, self.known):
            table.clear()
        for requirement in self.assumed:
            self._learn(requirement)

    def _learn(self, requirement: Requirement) -> None:
        left, right = (self.key(side) for side in requirement[1:])
        if requirement.relation == "equal":
            joined(self.equals, left, right)
            return
        length = root(self.equals, right)
        self.places.add((left, length))
        index = self.plain(requirement.left)
        if isinstance(index, int):
            needed = max(index + 1, -index)
            self.least[length] = max(self.least.get(length, 0), needed)

    def implies(self, wanted: Requirement) -> bool:
        """True if the requirement follows from the assumptions."""
        ends = [self.plain(end) for end in wanted[1:]]
        if wanted.relation == "equal" and None not in ends:
            return bool(root(self.same, ends[0]) == root(self.same, ends[1]))
        self._update()
        left, right = (root(self.equals, self.key(end)) for end in wanted[1:])
        if wanted.relation == "equal":
            return bool(left == right)
        if (self.key(wanted.left), right) in self.places:
            return True
        if not isinstance(ends[0], int):
            return False
        length = root(self.same, ends[1])
        known = length if isinstance(length, int) else self.least.get(right, 0)
        return max(ends[0] + 1, -ends[0]) <= known

    def key(self, variable: Variable) -> bytes:
        """Return a key shared by integers that agree at all points."""
        return np.asarray(self.of(variable), "int64").tobytes()

    def is_plain(self, wanted: Requirement) -> bool:
        """True if the requirement is that two lengths of leaves are equal."""
        return wanted.relation == "equal" and all(
            self.plain(side) is not None for side in wanted[1:]
        )

    def plain(self, variable: Variable) -> Any:
        """Return the key of a leaf's length, an integer input or constant, or None."""
        settled = self.settled(variable)
        if isinstance(settled, Constant):
            return int(settled.data) if settled.type.ndim == 0 else None
        if settled.owner is None:
            return settled
        if isinstance(settled.owner.op, Shape_i):
            return settled.owner.inputs[0], settled.owner.op.i
        return None

    # ---- integers by the lengths of leaves ----

    def settled(self, variable: Variable) -> Variable:
        """Return the integer with lengths of computed arrays by those of leaves."""
        known = self.by_leaves
        if variable not in known:
            for integer in self._behind(variable, known):
                known[integer] = self._settled(integer, known)
        return known[variable]

    def _settled(
        self, variable: Variable, settled: Mapping[Variable, Variable]
    ) -> Variable:
        owner, needs = variable.owner, self._needs(variable)
        if owner is None or not needs:
            return variable
        inputs = [settled[x] for x in needs]
        if isinstance(owner.op, Shape_i):
            return inputs[0]
        if isinstance(owner.op, Shape):
            vector: Variable = MakeVector("int64")(*inputs)
            return vector
        if isinstance(owner.op, Subtensor):
            scalars, part = elements(inputs[0]), constant_part(owner)
            if scalars is not None and isinstance(part, int):
                return (
                    scalars[part] if -len(scalars) <= part < len(scalars) else variable
                )
        if inputs == owner.inputs:
            return variable
        return owner.clone_with(inputs).outputs[variable.index or 0]

    def _behind(
        self, variable: Variable, known: Collection[Variable]
    ) -> list[Variable]:
        """Return the unknown operands of an integer, each after its own."""
        order: dict[Variable, None] = {}
        stack = [variable]
        while stack:
            current = stack[-1]
            needed = () if current in order else self._needs(current)
            missing = [x for x in needed if x not in order and x not in known]
            if missing:
                stack += missing
            else:
                order[stack.pop()] = None
        return list(order)

    def _needs(self, variable: Variable) -> Sequence[Variable]:
        """Return the integers that one is computed from, if it is known how."""
        owner = variable.owner
        if owner is None:
            return ()
        if isinstance(owner.op, Shape_i):
            inferred = self._lengths(owner.inputs[0])[owner.op.i]
            return () if is_same_length(inferred, variable) else (inferred,)
        if isinstance(owner.op, Shape):
            return self._lengths(owner.inputs[0])
        if isinstance(owner.op, MADE_OF_INTEGERS) and len(owner.outputs) == 1:
            small = all(x.type.ndim <= 1 for x in (variable, *owner.inputs))
            return owner.inputs if small else ()
        return ()

    def _lengths(self, x: Variable) -> Lengths:
        if x not in self.lengths:
            self.lengths[x] = own_lengths(x) or ()
        return self.lengths[x]

    # ---- values ----

    def of(self, variable: Variable) -> Values:
        """Return the values of an integer, or of a vector of them, at all points."""
        known = self.known.get(variable)
        if known is None:
            for integer in self._behind(variable, self.known):
                self.known[integer] = self._computed(integer)
            known = self.known[variable]
        return known

    def _computed(self, variable: Variable) -> Values:
        if isinstance(variable, Constant) and variable.type.ndim <= 1:
            data = np.asarray(variable.data)
            return np.repeat(data[..., None], POINTS, axis=-1)
        owner, needs = variable.owner, self._needs(variable)
        arrays = [self.known[operand] for operand in needs]
        is_known = bool(arrays) and all(map(has_elements, needs, arrays))
        values = made_of(owner, arrays) if owner is not None and is_known else None
        return self._drawn(variable) if values is None else values

    def _drawn(self, variable: Variable) -> Values:
        """Return sample values of an unknown integer, the same for equal ones."""
        owner = variable.owner
        is_length = owner is not None and isinstance(owner.op, Shape_i)
        place = root(self.same, self.plain(variable) if is_length else variable)
        if isinstance(place, int):
            return np.full(POINTS, place)
        if place not in self.drawn:
            random = Random(len(self.drawn))
            signs = [1, 1 if isinstance(place, tuple) else -1]
            values = [
                n * random.choice(signs) for n in random.choices(NUMBERS, k=POINTS)
            ]
            self.drawn[place] = np.array(values, "int64")
        return self.drawn[place]


MADE_OF_INTEGERS = (Elemwise, MakeVector, Reduce, Subtensor, DimShuffle)

NUMBERS = (*range(0, 14), 19, 32, 33, 64, 101, 128, 640, 1000, 3001)
"""Sample lengths: each small one, and larger ones."""


def root(same: Mapping[Any, Any], key: Any) -> Any:
    """Return the representative of all keys that equal a key."""
    while key in same:
        key = same[key]
    return key


def joined(same: dict[Any, Any], left: Any, right: Any) -> bool:
    """Make two keys equal, by their constant if one is; return if they were not."""
    a, b = root(same, left), root(same, right)
    if isinstance(a, int):
        a, b = b, a
    if a == b or isinstance(a, int):
        return False
    same[a] = b
    return True


def is_same_length(said: Variable, asked: Variable) -> bool:
    """True if the length inferred for an array is just `shape_i` of it."""
    owner, other = said.owner, asked.owner
    if owner is None or other is None or not isinstance(owner.op, Shape_i):
        return False
    return owner.op == other.op and owner.inputs[0] is other.inputs[0]


def constant_part(node: Apply) -> int | tuple[int | None, ...] | None:
    """Return the only part of an index of integers, if it is known."""
    assert isinstance(node.op, Subtensor)
    parts = node.op.parts(node.inputs[1:])
    if len(parts) != 1:
        return None
    (part,) = parts
    return numbers_of(part) if isinstance(part, tuple) else integer_of(part)


def has_elements(variable: Variable, values: Values) -> bool:
    """True if values are those of all elements; False for a vector that is unknown."""
    ndim: int = variable.type.ndim
    return values.ndim == ndim + 1


def made_of(node: Apply, arrays: Sequence[Values]) -> Values | None:
    """Return a node's values at all points, the last axis; None if unknown."""
    op = node.op
    if isinstance(op, Shape_i):
        return arrays[0]
    if isinstance(op, Shape | MakeVector):
        return np.stack(arrays)
    if isinstance(op, DimShuffle):
        if op.new_order == ("x",):
            return arrays[0][None]
        return arrays[0][0] if op.new_order == () else None
    if isinstance(op, Subtensor):
        part, vector = constant_part(node), arrays[0]
        if isinstance(part, tuple):
            return vector[slice(*part)]
        fits = part is not None and -len(vector) <= part < len(vector)
        return vector[part] if fits else None
    with np.errstate(all="ignore"):
        return np.asarray(op.evaluate(node, arrays)[0])
