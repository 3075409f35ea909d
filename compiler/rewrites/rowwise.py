"""What stands around reductions over the last axis becomes one program of rows.

A group grows from each such reduction along the edges of the graph: elementwise nodes
on the elements that are reduced, on the results for each row, and other reductions of
them. It is one kernel if it reduces twice, or if elements meet what was reduced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.broadcast import BroadcastTo
from gpuarray.compiler.ops.creation import ARange
from gpuarray.compiler.ops.elemwise import Cast, Composite, Elemwise, Step
from gpuarray.compiler.ops.reduce import Reduce
from gpuarray.compiler.ops.rowwise import (
    CELL,
    COLUMN,
    LENGTH,
    ONE,
    ROW,
    Fold,
    Place,
    Program,
    Rowwise,
)
from gpuarray.compiler.ops.shape import DimShuffle, dimshuffle
from gpuarray.compiler.rewrites.engine import Log, graph_pass
from gpuarray.compiler.rewrites.partition import Partition, is_fusible

_MOST_FOLDS = 8


@dataclass(frozen=True, slots=True)
class Domain:
    """The axes of the elements: which of those before the last have length 1."""

    lead: tuple[bool, ...]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.lead) + 1

    def kind(self, variable: Variable) -> str | None:
        """What a variable has a value for; None if it does not fit."""
        flags = getattr(variable.type, "broadcastable", None)
        if flags == (*self.lead, False):
            return CELL
        if flags in ((*self.lead, True), self.lead):
            return ROW
        if flags is None or len(flags) != self.ndim or not all(flags[:-1]):
            return None
        return ONE if flags[-1] else COLUMN

    def is_fold(self, node: Apply) -> bool:
        """Whether the node reduces rows to one value each."""
        op = node.op
        return (
            isinstance(op, Reduce)
            and op.axes == (self.ndim - 1,)
            and self.kind(node.inputs[0]) == CELL
            and is_real(node)
        )

    def is_link(self, node: Apply) -> bool:
        """Whether the node gives values of rows their last axis, or takes it away.

        Or whether it repeats one value for all rows, or gives it other axes.
        """
        op, given, out = node.op, node.inputs[0], node.outputs[0]
        if self.is_one(given):
            is_repeated = isinstance(op, BroadcastTo) and self.kind(out) == ROW
            return is_repeated or self.is_one(out)
        return (
            isinstance(op, DimShuffle)
            and self.kind(given) == ROW == self.kind(out)
            and tuple(each for each in op.new_order if each != "x")
            == tuple(range(len(self.lead)))
        )

    def fits(self, node: Apply) -> bool:
        """Whether the node computes rows, or elements of them."""
        if isinstance(node.op, Reduce):
            return self.is_fold(node)
        if isinstance(node.op, DimShuffle | BroadcastTo):
            return self.is_link(node)
        if type(node.op) is not Elemwise or not is_fusible(node) or not is_real(node):
            return False
        if self.is_one(node.outputs[0]):
            return True
        kind = self.kind(node.outputs[0])
        wanted = {CELL: (CELL, ROW, COLUMN), ROW: (ROW,)}.get(kind or "", ())
        return all(self.kind(v) in wanted or self.is_one(v) for v in node.inputs)

    def is_one(self, variable: Variable) -> bool:
        """Whether a variable is one number, of no more axes than the elements."""
        flags = variable.type.broadcastable
        return all(flags) and len(flags) <= self.ndim


def is_real(node: Apply) -> bool:
    """Whether the node is of the host's types and of no complex numbers."""
    return all(
        not v.type.dtype.startswith("complex") and not isinstance(v.type, GpuArrayType)
        for v in (*node.inputs, *node.outputs)
    )


class Rows:
    """A group that grows from a reduction; ``number`` is its number in the partition.

    It has state because what may join depends on what has: elements must be those of an
    array that the group reads or computes already, for then the shapes agree.
    """

    def __init__(self, partition: Partition, seed: Apply) -> None:
        self.partition = partition
        self.fgraph = partition.fgraph
        self.domain = Domain(seed.inputs[0].type.broadcastable[:-1])
        self.number = partition.of(seed)
        self.known: set[Variable] = set()
        self.note(seed)

    def note(self, node: Apply) -> None:
        """Remember the arrays of elements, and the results for rows, of a member."""
        self.known.update(v for v in node.inputs if self.domain.kind(v) == CELL)
        self.known.update(node.outputs)

    def grow(self, seed: Apply) -> None:
        """Take in neighbours until none fits."""
        stack, waiting = [seed], list[Apply]()
        while stack:
            for node in self.neighbours(stack.pop()):
                if self.partition.of(node) == self.number or not self.may_join(node):
                    continue
                if self.join(node):
                    stack.append(node)
                else:
                    waiting.append(node)
            if not stack:  # what stood between may have joined meanwhile
                stack = [node for node in dict.fromkeys(waiting) if self.retry(node)]
                waiting = []

    def retry(self, node: Apply) -> bool:
        """Join a node that could not before."""
        return self.partition.of(node) != self.number and self.join(node)

    def neighbours(self, node: Apply) -> Iterator[Apply]:
        """Who computes what a member reads, and who reads what it reads or computes."""
        for variable in node.inputs:
            if variable.owner is not None:
                yield variable.owner
            if self.domain.kind(variable) == CELL:
                yield from self.readers(variable)
        for variable in node.outputs:
            yield from self.readers(variable)

    def readers(self, variable: Variable) -> Iterator[Apply]:
        """The nodes that read a variable."""
        for client, _ in self.fgraph.clients[variable]:
            if isinstance(client, Apply):
                yield client

    def may_join(self, node: Apply) -> bool:
        """Whether a node is of the rows of this group, in no other and not too much."""
        group = self.partition.of(node)
        if group in self.partition.sealed or not self.domain.fits(node):
            return False
        touched = [*node.inputs, *node.outputs]
        kinds = {self.domain.kind(out) for out in node.outputs}
        if kinds == {CELL} or isinstance(node.op, Reduce):
            if any(v in self.known for v in self.cells(touched)):
                return True
            # Of rows and columns alone: who reads it with known elements has its shape.
            readers = [each for out in node.outputs for each in self.readers(out)]
            return any(
                self.domain.fits(each)
                and self.known.intersection(self.cells(each.inputs))
                for each in readers
            )
        is_one = self.domain.is_one(node.outputs[0]) and self.domain.lead != ()
        if not is_one and any(v in self.known for v in node.inputs):
            return True
        return all(  # a value of each row, or of all, that nothing else reads
            isinstance(client, Apply) and self.partition.of(client) == self.number
            for out in node.outputs
            for client, _ in self.fgraph.clients[out]
        )

    def cells(self, variables: Iterable[Variable]) -> list[Variable]:
        """Those that are arrays of elements."""
        return [v for v in variables if self.domain.kind(v) == CELL]

    def join(self, node: Apply) -> bool:
        """Make the node a member, unless that makes a circle or a huge kernel."""
        partition = self.partition
        a, b = self.number, partition.of(node)
        if not partition.fits([a, b]):
            return False
        if isinstance(node.op, Reduce) and self.folds() >= _MOST_FOLDS:
            return False
        joined = partition.join(a, b)
        if joined is None:
            return False
        self.number = joined
        self.note(node)
        return True

    def folds(self) -> int:
        """How many reductions there are."""
        nodes = self.partition.nodes(self.number)
        return sum(isinstance(node.op, Reduce) for node in nodes)

    def is_worth_it(self) -> bool:
        """Whether one kernel reads less than one for each reduction would."""
        nodes = self.partition.nodes(self.number)
        inside = set(nodes)
        meets = any(
            self.domain.kind(node.outputs[0]) == CELL
            and any(
                self.domain.kind(v) == ROW and v.owner in inside for v in node.inputs
            )
            for node in nodes
        )
        has_cells = any(
            self.domain.kind(v) == CELL and arange_of(v, self.domain.ndim) is None
            for v in self.partition.operands(self.number)[0]
        )
        return has_cells and (meets or self.folds() > 1)


@graph_pass(phase="fuse")
def fuse_rows(fgraph: FunctionGraph, log: Log) -> bool:
    """Make programs of reductions over the last axis and what is around them."""
    seeds = [node for node in fgraph.toposort() if is_seed(node)]
    if not seeds:
        return False
    partition = Partition(fgraph)
    groups = []
    for seed in seeds:
        if partition.of(seed) not in partition.sealed:
            rows = Rows(partition, seed)
            rows.grow(seed)
            if rows.is_worth_it():
                partition.sealed.add(rows.number)
                groups.append(rows)
            else:
                partition.dissolve(rows.number)
    for rows in groups:
        replace_rows(rows, log)
    return bool(groups)


def is_seed(node: Apply) -> bool:
    """Whether the node reduces the last axis of an array on the host's side."""
    x = node.inputs[0] if isinstance(node.op, Reduce) else None
    if x is None or x.type.ndim == 0 or x.type.broadcastable[-1]:
        return False
    return Domain(x.type.broadcastable[:-1]).is_fold(node)


def replace_rows(rows: Rows, log: Log) -> None:
    """Put one node in the place of the group's members."""
    nodes = rows.partition.nodes(rows.number)
    _, outputs = rows.partition.operands(rows.number)
    composer = Composer(rows.domain, nodes)
    for old, new in zip(outputs, composer.results(outputs), strict=True):
        log.note("fuse_rows", old, new)
        rows.fgraph.replace(old, new, reason="fuse_rows")


class Composer:
    """Writes the program of nodes; it has state because values are numbered in order.

    ``value`` maps what the nodes read and compute to the number of its value.
    """

    def __init__(self, domain: Domain, nodes: list[Apply]) -> None:
        self.domain = domain
        self.nodes = nodes
        self.value: dict[Variable, int] = {}
        self.inputs: dict[Variable, str] = {}
        self.steps: list[Step | Fold | Place] = []
        inside = set(nodes)
        outer = dict.fromkeys(
            v for node in nodes for v in values_read(node) if v.owner not in inside
        )
        places = {v: arange_of(v, domain.ndim) for v in outer}
        for variable in outer:
            length = places[variable]
            given = self.aligned(variable) if length is None else length
            kind = LENGTH if length is not None else domain.kind(given)
            assert kind is not None
            self.inputs.setdefault(given, kind)
            self.value[variable] = list(self.inputs).index(given)
        for variable, length in places.items():
            if length is not None:
                place = Place(self.value[variable], variable.type.dtype)
                self.value[variable] = self.add(place)
        for node in nodes:
            self.add_node(node)

    def add(self, step: Step | Fold | Place) -> int:
        """The number of a new step's value."""
        self.steps.append(step)
        return len(self.inputs) + len(self.steps) - 1

    def aligned(self, variable: Variable) -> Variable:
        """A variable from outside, with all axes of the elements."""
        missing = self.domain.ndim - variable.type.ndim
        if missing == 0:
            return variable
        if isinstance(variable, Constant) and variable.data.size == 1:
            data = variable.data.reshape((1,) * self.domain.ndim)
            return Constant(variable.type.clone(broadcastable=data.shape), data)
        if self.domain.kind(variable) == ROW:
            return dimshuffle(variable, *range(variable.type.ndim), "x")
        return dimshuffle(variable, *("x",) * missing, *range(variable.type.ndim))

    def add_node(self, node: Apply) -> None:
        """The steps of a member."""
        op = node.op
        operands = tuple(self.value[v] for v in values_read(node))
        if isinstance(op, DimShuffle | BroadcastTo):
            results = list(operands)
        elif isinstance(op, Reduce):
            out = node.outputs[0].type.dtype
            fold = Fold(op.monoid, operands[0], out, op.acc_dtype or out, op.of_none)
            results = [self.add(fold)]
        else:
            assert isinstance(op, Elemwise)
            results = self.add_rows(op, node, operands)
        self.value.update(zip(node.outputs, results, strict=True))

    def add_rows(
        self, op: Elemwise, node: Apply, operands: tuple[int, ...]
    ) -> list[int]:
        """The values of an elementwise member's results."""
        if isinstance(op.scalar, Composite):
            values = list(operands)
            for step in op.scalar.steps:
                places = tuple(values[operand] for operand in step.operands)
                values.append(self.add(Step(step.op, places, step.dtype)))
            return [values[output] for output in op.scalar.outputs]
        name = "cast" if isinstance(op.scalar, Cast) else op.scalar.name
        return [self.add(Step(name, operands, node.outputs[0].type.dtype))]

    def results(self, outputs: list[Variable]) -> list[Variable]:
        """What the program gives in the places of the nodes' outputs."""
        values = tuple(dict.fromkeys(self.value[output] for output in outputs))
        dtypes = ((v.type.dtype, kind) for v, kind in self.inputs.items())
        op = Rowwise(Program(tuple(dtypes), tuple(self.steps), values))
        made = op.make_node(*self.inputs).outputs
        found = []
        for output in outputs:
            result = made[values.index(self.value[output])]
            if output.type.ndim < result.type.ndim:
                result = dimshuffle(result, *range(output.type.ndim))
            found.append(result)
        return found


def values_read(node: Apply) -> list[Variable]:
    """The inputs whose elements a node reads; a repeated one's shape is not that."""
    return node.inputs[:1] if isinstance(node.op, BroadcastTo) else node.inputs


def arange_of(variable: Variable, ndim: int) -> Variable | None:
    """How many there are, of places along the last axis; None if they are not that.

    ``ndim`` is the elements' number of axes: places of fewer may be along another.
    """
    owner = variable.owner
    if variable.type.ndim != ndim:
        return None
    if owner is not None and isinstance(owner.op, DimShuffle):
        *new, last = owner.op.new_order
        if last != 0 or any(each != "x" for each in new):
            return None
        owner = owner.inputs[0].owner
    if owner is None or not isinstance(owner.op, ARange):
        return None
    length: Variable = owner.inputs[0]
    return length
