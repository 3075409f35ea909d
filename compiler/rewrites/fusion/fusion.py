"""Elementwise fusion: neighbouring nodes become one, and join the reduction they feed.

Two groups are merged if both run over the same elements and nothing outside stands
between them: a consumer with its producer, or two that read one array. A producer that
several members read is computed once. A producer with a single reader may be smaller
than its group (an axis of length 1) if it is cheap to recompute for each element.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import pairwise

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise.draws import is_row, row_named
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    CompositeStep,
    Elemwise,
)
from gpuarray.compiler.ops.fused.mapreduce import MapArgmax, MapReduce
from gpuarray.compiler.ops.random.positions import are_positions, reads_positions
from gpuarray.compiler.ops.reduce.argmax import Argmax
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.rows import with_scalar
from gpuarray.compiler.rewrites.fusion.partition import Partition
from gpuarray.dtypes import as_dtype
from gpuarray.scalars import Scalar

_CALL = re.compile(r"\w\(")
MOST_RESULTS = 4  # of a reduction
_MOST_STEPS = 100  # of a group that computes again what another had


def pattern(node: Apply) -> tuple[bool, ...]:
    """Return the broadcastable pattern of the node's results."""
    flags: tuple[bool, ...] = node.outputs[0].type.broadcastable
    return flags


def is_cheap(node: Apply) -> bool:
    """True if the node may be recomputed for each element of a larger array."""
    if all(pattern(node)):
        return True
    op = node.op
    assert isinstance(op, Elemwise)
    if isinstance(op.scalar, Composite):
        rows = [step.op for step in op.scalar.steps]
    else:
        rows = [op.scalar.name] if isinstance(op.scalar, Scalar) else []
    return not any(
        _CALL.search(row_named(row).expression) for row in rows if is_row(row)
    )


def _is_same_place(a: Apply, b: Apply) -> bool:
    """True if two nodes run on the same context with the same class of op."""
    kind, other_kind = a.outputs[0].type, b.outputs[0].type
    place = getattr(kind, "context_name", None) == getattr(
        other_kind, "context_name", None
    )
    return type(a.op) is type(b.op) and type(kind) is type(other_kind) and place


@graph_pass(phase="fuse")
def fuse_elementwise(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge neighbouring elementwise nodes, and reductions with their maps."""
    partition, reductions = merged(fgraph, frozenset())
    if late := recomputed(partition, log):
        partition, reductions = merged(fgraph, late)
    changed = bool(late)
    for group in partition.members:
        nodes = partition.nodes(group)
        if group in reductions:
            replace_reduction(partition, group, reductions[group], log)
            changed = True
        elif len(nodes) > 1 and partition.is_fusible(nodes[0]):
            inputs, outputs = partition.operands(group)
            results = fused(nodes, inputs, outputs).outputs
            for old, new in zip(outputs, results, strict=True):
                log.note("fuse_elementwise", old, new)
                fgraph.replace(old, new, reason="fuse_elementwise")
            changed = True
    return changed


def merged(
    fgraph: FunctionGraph, late: Collection[Apply]
) -> tuple[Partition, dict[int, Apply]]:
    """Return the groups, and those that are the maps of reductions.

    The nodes in ``late`` join their readers, not their producers.
    """
    partition = Partition(fgraph)
    keep_siblings_together(partition)
    reductions = seal_maps(partition)
    merge_producers(partition, late)
    merge_siblings(partition)
    absorb_smaller(partition)
    return partition, reductions


# ---- recomputation ----


def recomputed(partition: Partition, log: Log) -> set[Apply]:
    """Let groups recompute cheap values of others, instead of reading both from memory.

    So a network stores tanh(x) for its gradient, and not 1 - tanh(x)**2 as well.
    """
    late: set[Apply] = set()
    for group in list(partition.members):
        _, outputs = partition.operands(group)
        if len(outputs) < 2 or not partition.is_fusible(partition.nodes(group)[-1]):
            continue
        stored = set(outputs)
        for out in reversed(outputs):
            cone = cone_of(partition, out, stored)
            if cone is not None and reader_of(partition, out, len(cone)) is not None:
                stored.discard(out)
                late.update(clone_cone(partition.fgraph, out, cone, log))
    return late


def cone_of(
    partition: Partition, out: Variable, stored: Collection[Variable]
) -> list[Apply] | None:
    """Return the cheap nodes that compute a result from one other stored result.

    That one takes no more memory. None if the result needs more inputs.
    """
    owner = out.owner
    assert owner is not None
    group = partition.of(owner)
    cone: set[Apply] = set()
    source: Variable | None = None
    stack = [owner]
    while stack:
        node = stack.pop()
        if node in cone:
            continue
        if pattern(node) != pattern(owner) or not is_cheap(node):
            return None
        cone.add(node)
        for operand in node.inputs:
            is_stored = operand is not out and operand in stored
            if is_constant_of_one(operand) or (is_stored and operand is source):
                continue
            if is_stored and source is None:
                source = operand
                continue
            maker = operand.owner
            if is_stored or maker is None or not partition.has(maker):
                return None
            if partition.of(maker) != group:
                return None
            stack.append(maker)
    is_small = source is not None and itemsize(source) <= itemsize(out)
    return sorted(cone, key=partition.position.__getitem__) if is_small else None


def is_constant_of_one(variable: Variable) -> bool:
    """True if the variable is a constant of one element: text of a kernel."""
    return isinstance(variable, Constant) and variable.data.size == 1


def itemsize(variable: Variable) -> int:
    """Return the bytes of an element in memory."""
    if are_positions(variable):
        return 0
    return int(as_dtype(variable.type.dtype).itemsize)


def reader_of(partition: Partition, out: Variable, steps: int) -> int | None:
    """Return the only other group that reads a result, elementwise and with room."""
    readers: set[int] = set()
    for client, _ in partition.fgraph.clients[out]:
        if not isinstance(client, Apply) or not partition.is_fusible(client):
            return None
        if not partition.has(client) or pattern(client) != out.type.broadcastable:
            return None
        readers.add(partition.of(client))
    if len(readers) != 1:
        return None
    (reader,) = readers
    return reader if partition.steps[reader] + steps <= _MOST_STEPS else None


def clone_cone(
    fgraph: FunctionGraph, out: Variable, cone: Iterable[Apply], log: Log
) -> list[Apply]:
    """Replace a result by copies of the nodes that compute it; return the copies."""
    copies: list[Apply] = []
    value: dict[Variable, Variable] = {}
    for node in cone:
        copied = Apply(
            node.op,
            [value.get(operand, operand) for operand in node.inputs],
            [variable.type() for variable in node.outputs],
        )
        copies.append(copied)
        value.update(zip(node.outputs, copied.outputs, strict=True))
    log.note("fuse_elementwise", out, value[out])
    fgraph.replace(out, value[out], reason="fuse_elementwise")
    return copies


# ---- groups ----


def keep_siblings_together(partition: Partition) -> None:
    """Join reductions that may run in one pass, so that no group comes between them.

    They are over the same axes, of one array, or of what is computed of it.
    """
    latest: dict[tuple[Variable, tuple[int, ...]], Apply] = {}
    for node in partition.order:
        if type(node.op) is not Reduce:
            continue
        (operand,) = node.inputs
        read = [operand]
        if operand.owner is not None and partition.is_fusible(operand.owner):
            read += operand.owner.inputs
        for variable in read:
            if variable.type.broadcastable != operand.type.broadcastable:
                continue
            key = variable, node.op.axes
            if key in latest:
                join_sibling(partition, latest[key], node)
            latest[key] = node


def join_sibling(partition: Partition, first: Apply, second: Apply) -> None:
    """Join two reductions if neither needs the other and there is room."""
    a, b = partition.of(first), partition.of(second)
    count = len(partition.members[a]) + len(partition.members[b])
    is_chain = b in partition.users(a) or a in partition.users(b)
    if a != b and not is_chain and count <= MOST_RESULTS and partition.fits([a, b]):
        partition.join(a, b)


def seal_maps(partition: Partition) -> dict[int, Apply]:
    """The reductions of groups that nothing else reads; these fuse no further."""
    reductions: dict[int, Apply] = {}
    for node in partition.order:
        is_argmax = isinstance(node.op, Argmax)
        if not isinstance(node.op, Reduce) and not is_argmax:
            continue
        owner = node.inputs[0].owner
        if is_argmax and not is_drawn_for(partition, owner):
            continue
        if owner is None or not partition.is_fusible(owner) or len(owner.outputs) != 1:
            continue
        if len(partition.fgraph.clients[node.inputs[0]]) == 1:
            group = partition.of(owner)
            partition.sealed.add(group)
            reductions[absorb_exclusive(partition, group)] = node
    return reductions


def is_drawn_for(partition: Partition, owner: Apply | None) -> bool:
    """True if an argmax alone reads an elementwise node that draws, or its producers.

    Others are stored: the kernel of an argmax alone reads an array faster. Storing
    rounds values of types of two bytes, which decides between equal ones.
    """
    if owner is None or itemsize(owner.outputs[0]) < 4:
        return False
    stack = [owner]
    while stack:
        node = stack.pop()
        if not partition.is_fusible(node) or len(node.outputs) != 1:
            continue
        if len(partition.fgraph.clients[node.outputs[0]]) != 1:
            continue
        if reads_positions(node):
            return True
        stack += [v.owner for v in node.inputs if v.owner is not None]
    return False


def absorb_exclusive(partition: Partition, group: int) -> int:
    """Add to a group the producers that it alone reads; return the group's number."""
    last = partition.nodes(group)[-1]
    stack = partition.nodes(group)
    while stack:
        for variable in stack.pop().inputs:
            owner = variable.owner
            if (
                owner is None
                or not partition.is_fusible(owner)
                or partition.of(owner) == group
            ):
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
                joined = partition.join(other, group)
                assert joined is not None  # nothing else reads the other group
                group = joined
    return group


def is_read_by(partition: Partition, group: int, reader: int) -> bool:
    """True if one other group alone reads the results of a group."""
    return all(
        isinstance(client, Apply) and partition.of(client) in (group, reader)
        for out in partition.operands(group)[1]
        for client, _ in partition.fgraph.clients[out]
    )


def merge_producers(partition: Partition, late: Collection[Apply]) -> None:
    """Merge each elementwise node with its producers of the same shape.

    Those in ``late`` merge with no producer but each other.
    """
    for node in partition.order:
        if not partition.is_fusible(node) or partition.of(node) in partition.sealed:
            continue
        for variable in node.inputs:
            owner = variable.owner
            if owner is None or variable.type.broadcastable != pattern(node):
                continue
            if partition.is_fusible(owner) and (node not in late or owner in late):
                try_merge(partition, owner, node)


def merge_siblings(partition: Partition) -> None:
    """Merge groups that read one array of their own shape, or one scalar of a loop."""
    for variable, clients in list(partition.fgraph.clients.items()):
        flags = getattr(variable.type, "broadcastable", None)
        if flags is None or (all(flags) and variable not in partition.of_iteration):
            continue
        if are_positions(variable):  # not read from memory
            continue
        users = [
            client
            for client, _ in clients
            if isinstance(client, Apply)
            and partition.is_fusible(client)
            and pattern(client) == flags
        ]
        users.sort(key=lambda node: partition.position[node])
        for first, second in pairwise(users):
            try_merge(partition, first, second)


def try_merge(partition: Partition, first: Apply, second: Apply) -> None:
    """Merge the groups of two nodes unless that makes a cycle or a huge kernel."""
    a, b = partition.of(first), partition.of(second)
    if a == b or a in partition.sealed or b in partition.sealed:
        return
    if _is_same_place(first, second) and partition.fits([a, b]):
        partition.join(a, b)


def absorb_smaller(partition: Partition) -> None:
    """Add to each group the smaller, cheap producers that it alone reads."""
    for node in reversed(partition.order):
        group = partition.of(node)
        is_last = partition.members[group][-1] == partition.position[node]
        is_open = partition.is_fusible(node) and group not in partition.sealed
        if is_last and is_open and not all(pattern(node)):
            absorb_exclusive(partition, group)


def replace_reduction(partition: Partition, group: int, node: Apply, log: Log) -> None:
    """Replace a reduction and its map by one node."""
    nodes = partition.nodes(group)
    inputs, outputs = partition.operands(group)
    map_node = fused(nodes, inputs, outputs) if len(nodes) > 1 else nodes[0]
    assert isinstance(map_node.op, Elemwise)
    kind = MapArgmax if isinstance(node.op, Argmax) else MapReduce
    op = kind(map_node.op, node.op)
    reduced = Apply(op, map_node.inputs, [out.type() for out in node.outputs])
    for old, new in zip(node.outputs, reduced.outputs, strict=True):
        log.note("fuse_elementwise", old, new)
        partition.fgraph.replace(old, new, reason="fuse_elementwise")


def fused(nodes: list[Apply], inputs: list[Variable], outputs: list[Variable]) -> Apply:
    """Return one node that computes what several do, of the class of the last."""
    op = nodes[-1].op
    assert isinstance(op, Elemwise)
    scalar = compose(nodes, inputs, outputs)
    return Apply(with_scalar(op, scalar), inputs, [out.type() for out in outputs])


def compose(
    nodes: list[Apply], inputs: list[Variable], outputs: list[Variable]
) -> Composite:
    """Return the rows of several nodes as one scalar operation."""
    value = {variable: i for i, variable in enumerate(inputs)}
    steps: list[CompositeStep] = []
    for node in nodes:
        op, operands = node.op, tuple(value[operand] for operand in node.inputs)
        assert isinstance(op, Elemwise)
        if isinstance(op.scalar, Composite):
            base = len(inputs) + len(steps)
            steps.extend(_moved(op.scalar, operands, base))
            results = [
                _moved_value(op.scalar, operands, base, v) for v in op.scalar.outputs
            ]
        else:
            name = "cast" if isinstance(op.scalar, Cast) else op.scalar.name
            steps.append(CompositeStep(name, operands, node.outputs[0].type.dtype))
            results = [len(inputs) + len(steps) - 1]
        value.update(zip(node.outputs, results, strict=True))
    dtypes = tuple(variable.type.dtype for variable in inputs)
    return Composite(dtypes, tuple(steps), tuple(value[out] for out in outputs))


def _moved(
    scalar: Composite, operands: tuple[int, ...], base: int
) -> list[CompositeStep]:
    """Return the steps of a composite within a larger one with `base` values before."""
    return [
        CompositeStep(
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
