"""Row fusion: reductions over the last axis and their neighbours become one program.

A group grows from each such reduction along the edges of the graph: elementwise nodes
on the reduced elements and on the rows' results, and other reductions of them. It is
one kernel if it reduces twice, or if elements are combined with a reduction's result.

The function's results that fold its elements over all rows join it in the end.

Gathered rows of a matrix are read in place; such groups need not reduce.

A matrix-vector product reduces rows, too. Elementwise nodes of its results join it,
where they would need a launch of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, ROW
from gpuarray.compiler.ops.index.advanced import Picks
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.nnet.nnet import FirstRows, Pick
from gpuarray.compiler.ops.random.positions import are_positions
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle
from gpuarray.compiler.ops.variables.transfer import Transfer
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.fusion.partition import Around, Partition, is_fusible
from gpuarray.compiler.rewrites.fusion.rowprogram import (
    Composer,
    Domain,
    arange_of,
    is_row_product,
    takes_rows,
    values_read,
)

_MOST_FOLDS = 8


class Rows:
    """A group that grows from a reduction; ``number`` is its number in the partition.

    It has state because members admit others: elements must be those of an array that
    the group reads or computes already, for then the shapes agree.
    """

    def __init__(self, partition: Partition, seed: Apply) -> None:
        self.partition = partition
        self.fgraph = partition.fgraph
        cells = seed.outputs[0] if isinstance(seed.op, Picks) else seed.inputs[0]
        self.domain = Domain(cells.type.broadcastable[:-1])
        self.number = partition.of(seed)
        self.around = Around(partition, self.number)
        self.is_product = isinstance(seed.op, Dot)
        self.known: set[Variable] = set()
        self.note(seed)

    def note(self, node: Apply) -> None:
        """Remember the arrays of elements, and the row results, of a member."""
        read = [v for v in values_read(node) if not are_positions(v)]
        self.known.update(self.cells(read))
        self.known.update(node.outputs)

    def grow(self, seed: Apply) -> None:
        """Add neighbours until none fits."""
        stack, waiting = [seed], dict[Apply, None]()
        while stack:
            for node in self.neighbours(stack.pop()):
                group = self.partition.of(node)
                if group == self.number:
                    continue
                if node in waiting and self.around.keeps_apart(group):
                    continue
                if not self.may_join(node):
                    continue
                if self.join(node):
                    stack.append(node)
                else:
                    waiting[node] = None
            if not stack:  # nodes between may have joined meanwhile
                stack = [node for node in waiting if self.retry(node)]
                waiting = {}

    def retry(self, node: Apply) -> bool:
        """Join a node that could not join before."""
        return self.partition.of(node) != self.number and self.join(node)

    def neighbours(self, node: Apply) -> Iterator[Apply]:
        """Yield producers of a member's inputs, and readers of its values."""
        for variable in self.values_to_follow(node):
            if variable.owner is not None:
                yield variable.owner
            if self.domain.kind(variable) == CELL:
                yield from self.readers(variable)
        for variable in node.outputs:
            yield from self.readers(variable)

    def values_to_follow(self, node: Apply) -> list[Variable]:
        """Return the inputs of a member whose producers and readers may join."""
        if isinstance(node.op, Dot):
            return []
        return [v for v in values_read(node) if not are_positions(v)]

    def readers(self, variable: Variable) -> Iterator[Apply]:
        """Yield the nodes that read a variable."""
        for client, _ in self.fgraph.clients[variable]:
            if isinstance(client, Apply):
                yield client

    def may_join(self, node: Apply) -> bool:
        """True if a node computes rows of this group, in no other group."""
        group = self.partition.of(node)
        if group in self.partition.sealed or not self.domain.fits(node):
            return False
        if self.is_product and not self.is_of_results(node):
            return False
        if self.is_given_to_rows(node) or self.is_table(node):
            return False
        touched = [*values_read(node), *node.outputs]
        kinds = {self.domain.kind(out) for out in node.outputs}
        if isinstance(node.op, Picks) and not self.is_alone(node):
            return False
        if kinds == {CELL} or isinstance(node.op, Reduce | Pick):
            if any(v in self.known for v in self.cells(touched)):
                return True
            # Made of rows and columns: a reader with known elements has its shape.
            readers = [reader for out in node.outputs for reader in self.readers(out)]
            return any(
                self.domain.fits(reader)
                and self.known.intersection(self.cells(reader.inputs))
                for reader in readers
            )
        is_one = self.domain.is_one(node.outputs[0]) and self.domain.lead != ()
        is_tied = not is_one and not isinstance(node.op, FirstRows)
        if is_tied and any(v in self.known for v in node.inputs):
            return True
        return self.is_alone(node)  # a value of each row, or of all

    def is_of_results(self, node: Apply) -> bool:
        """True if the node computes row values, or numbers, elementwise."""
        out = node.outputs[0]
        is_row = self.domain.kind(out) == ROW or self.domain.is_one(out)
        return isinstance(node.op, Elemwise) and is_row

    def is_given_to_rows(self, node: Apply) -> bool:
        """True if the group would read its own result as that of its first rows."""
        others = [client for out in node.outputs for client in self.readers(out)]
        others = [other for other in others if isinstance(other.op, FirstRows)]
        if isinstance(node.op, FirstRows) and node.inputs[0].owner is not None:
            others.append(node.inputs[0].owner)
        return any(self.partition.of(other) == self.number for other in others)

    def is_table(self, node: Apply) -> bool:
        """True if the group would gather rows of its own results."""
        readers = [
            client
            for out in node.outputs
            for client in self.readers(out)
            if isinstance(client.op, Picks) and client.inputs[0] is out
        ]
        owner = node.inputs[0].owner if isinstance(node.op, Picks) else None
        others = [*readers, *([] if owner is None else [owner])]
        return any(self.partition.of(other) == self.number for other in others)

    def cells(self, variables: Iterable[Variable]) -> list[Variable]:
        """Return those that are arrays of elements."""
        return [v for v in variables if self.domain.kind(v) == CELL]

    def join(self, node: Apply) -> bool:
        """Make the node a member, unless that makes a cycle or a huge kernel."""
        partition = self.partition
        a, b = self.number, partition.of(node)
        if not partition.fits([a, b]):
            return False
        if isinstance(node.op, Reduce) and self.folds() >= _MOST_FOLDS:
            return False
        joined = self.around.join(a, b)
        if joined is None:
            return False
        self.number = joined
        self.note(node)
        return True

    def take_totals(self) -> None:
        """Add results that fold the members' elements over all rows.

        They join if elements would be stored for them alone.
        """
        members = dict.fromkeys(self.partition.nodes(self.number))
        cells = dict.fromkeys(
            v
            for node in members
            for v in self.cells([*values_read(node), *node.outputs])
        )
        totals = dict.fromkeys(
            node
            for v in cells
            for node in self.readers(v)
            if self.domain.is_total(node)
            and self.is_result(node)
            and self.partition.of(node) not in self.partition.sealed
        )
        inside = {*members, *totals}
        spared = (
            all(client in inside for client, _ in self.fgraph.clients[node.inputs[0]])
            for node in totals
            if node.inputs[0].owner in members
        )
        for node in totals if any(spared) else ():
            groups = [self.number, self.partition.of(node)]
            if self.partition.fits(groups):
                joined = self.partition.join(*groups)
                self.number = self.number if joined is None else joined

    def is_result(self, node: Apply) -> bool:
        """True if only the function's caller reads the node, maybe by a transfer."""
        readers = [
            client for out in node.outputs for client, _ in self.fgraph.clients[out]
        ]
        return all(
            isinstance(reader.op, Transfer) and self.is_result(reader)
            for reader in readers
            if isinstance(reader, Apply)
        )

    def folds(self) -> int:
        """Return the number of reductions."""
        nodes = self.partition.nodes(self.number)
        return sum(isinstance(node.op, Reduce) for node in nodes)

    def is_worth_it(self) -> bool:
        """True if one kernel reads less than a kernel for each reduction would."""
        if self.is_product:
            return self.saves_a_launch()
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
            if not are_positions(v)
        )
        takes = [node for node in nodes if isinstance(node.op, Picks)]
        if any(not self.is_alone(node) for node in takes):
            return False
        is_rows = has_cells and (meets or self.folds() > 1)
        return is_rows or (bool(takes) and not self.suits_others())

    def saves_a_launch(self) -> bool:
        """True if readers of a product are in no other kernel anyway.

        Elementwise nodes and reductions absorb their producers.
        """
        _, outputs = self.partition.operands(self.number)
        return any(
            not isinstance(client, Apply)
            or not isinstance(client.op, Elemwise | Reduce | DimShuffle | BroadcastTo)
            for out in outputs
            if out.owner is not None and not isinstance(out.owner.op, Dot)
            for client, _ in self.fgraph.clients[out]
        )

    def is_alone(self, node: Apply) -> bool:
        """True if members alone read the node."""
        return all(
            isinstance(client, Apply) and self.partition.of(client) == self.number
            for out in node.outputs
            for client, _ in self.fgraph.clients[out]
        )

    def suits_others(self) -> bool:
        """True if a reduction or an elementwise group would absorb more than this.

        Such as the columns that it reads, if they are computed for it.
        """
        inputs, outputs = self.partition.operands(self.number)
        return any(
            all(isinstance(reader.op, Reduce) for reader in self.readers(out))
            for out in outputs
            if out not in self.fgraph.outputs
        ) or any(is_fusible(v.owner) and self.domain.kind(v) == COLUMN for v in inputs)


@graph_pass(phase="fuse")
def fuse_rows(fgraph: FunctionGraph, log: Log) -> bool:
    """Make programs of reductions over the last axis and their neighbours."""
    order = fgraph.toposort()
    seeds = [node for node in order if is_row_product(node)]
    seeds += [node for node in order if is_seed(node)]
    seeds += [node for node in order if takes_rows(node)]
    if not seeds:
        return False
    partition = Partition(fgraph)
    groups = []
    for seed in seeds:
        if partition.of(seed) not in partition.sealed:
            rows = Rows(partition, seed)
            rows.grow(seed)
            if rows.is_worth_it():
                rows.take_totals()
                partition.sealed.add(rows.number)
                groups.append(rows)
            else:
                partition.dissolve(rows.number)
    for rows in groups:
        replace_rows(rows, log)
    return bool(groups)


def is_seed(node: Apply) -> bool:
    """True if the node reduces the last axis of an array of a host type."""
    if not isinstance(node.op, Reduce):
        return False
    return Domain(node.inputs[0].type.broadcastable[:-1]).is_fold(node)


def replace_rows(rows: Rows, log: Log) -> None:
    """Replace the group's members by one node."""
    nodes = rows.partition.nodes(rows.number)
    _, outputs = rows.partition.operands(rows.number)
    composer = Composer(rows.domain, nodes)
    for old, new in zip(outputs, composer.results(outputs), strict=True):
        log.note("fuse_rows", old, new)
        rows.fgraph.replace(old, new, reason="fuse_rows")
