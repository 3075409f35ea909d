"""Cheap values are computed again by their readers, where those read no more for it.

``x - m`` that sums and a later step read is not stored: both read ``x``. What the
readers had to read anyway they read once, so memory is read as often as before, and
written less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import Guard
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    CompositeStep,
    Elemwise,
)
from gpuarray.compiler.ops.fused.mapreduce import MapReduce, MapReduces
from gpuarray.compiler.ops.random.positions import are_positions, reads_positions
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.rows import with_scalar
from gpuarray.compiler.rewrites.fusion.fusion import (
    compose,
    is_cheap,
    itemsize,
)
from gpuarray.compiler.rewrites.fusion.partition import MOST_OPERANDS, is_fusible

_MOST_STEPS = 60  # of a reader


@graph_pass(phase="fuse")
def read_instead_of_storing(fgraph: FunctionGraph, log: Log) -> bool:
    """Let readers compute a cheap value again from what it was computed of."""
    changed = False
    guards = fgraph.guards()
    while any([moved(fgraph, node, guards, log) for node in fgraph.toposort()]):
        changed = True  # a reader that reads more arrays now may spare another one
    return changed


def moved(
    fgraph: FunctionGraph, node: Apply, guards: Mapping[Apply, Guard], log: Log
) -> bool:
    """Move those results of a node to their readers for which it is worthwhile."""
    if node not in fgraph.apply_nodes or not is_fusible(node):
        return False  # a reader that was replaced, or no elementwise node
    left: list[Variable] = []
    count = 0
    for index, out in enumerate(node.outputs):
        maker = only(node, index)
        if is_worthwhile(fgraph, out, maker, guards):
            move_to_readers(fgraph, out, maker, log)
            count += 1
        elif fgraph.clients[out]:
            left.append(out)
    if left and count:
        replace(fgraph, left, pruned([node], node.inputs, left), log)
    return count > 0


def only(node: Apply, index: int) -> Apply:
    """Return a node that computes one result of an elementwise node."""
    if len(node.outputs) == 1:
        return node
    return pruned([node], node.inputs, [node.outputs[index]])


def pruned(
    nodes: Sequence[Apply],
    inputs: Sequence[Variable],
    outputs: Sequence[Variable] | None = None,
) -> Apply:
    """Return one node for several, without the steps that no result needs.

    The results are those of the last node, if not others.
    """
    outputs = nodes[-1].outputs if outputs is None else outputs
    scalar, read = needed(compose([*nodes], [*inputs], [*outputs]), inputs)
    op = nodes[-1].op
    assert isinstance(op, Elemwise)
    return Apply(with_scalar(op, scalar), read, [out.type() for out in outputs])


def needed(
    scalar: Composite, inputs: Sequence[Variable]
) -> tuple[Composite, list[Variable]]:
    """Return a composite without unused steps and inputs, and the inputs left."""
    count = len(scalar.inputs)
    used = set(scalar.outputs)
    for value in reversed(range(count, count + len(scalar.steps))):
        if value in used:
            used.update(scalar.steps[value - count].operands)
    number = {value: i for i, value in enumerate(sorted(used))}
    steps = [
        CompositeStep(step.op, tuple(number[v] for v in step.operands), step.dtype)
        for value, step in enumerate(scalar.steps, count)
        if value in used
    ]
    read = [i for i in range(count) if i in used]
    dtypes = tuple(scalar.inputs[i] for i in read)
    outputs = tuple(number[value] for value in scalar.outputs)
    return Composite(dtypes, tuple(steps), outputs), [inputs[i] for i in read]


def is_worthwhile(
    fgraph: FunctionGraph, out: Variable, maker: Apply, guards: Mapping[Apply, Guard]
) -> bool:
    """True if each reader may compute a value, and reads no more bytes for it."""
    if not (is_cheap(maker) or is_drawn(maker)):
        return False
    if all(out.type.broadcastable) and not is_cast(maker):
        return False
    assert out.owner is not None
    guard = guards.get(out.owner)
    readers = dict.fromkeys(client for client, _ in fgraph.clients[out])
    return bool(readers) and all(
        isinstance(reader, Apply)
        and guards.get(reader) == guard
        and gains(out, maker, reader)
        for reader in readers
    )


def is_drawn(node: Apply) -> bool:
    """True if a node computes random numbers, and reads nothing but numbers for them.

    A dropout's mask is drawn again in its gradient, so that none is stored.
    """
    return reads_positions(node) and all(
        are_positions(v) or all(v.type.broadcastable) for v in node.inputs
    )


def is_cast(node: Apply) -> bool:
    """True if a node converts an array, and does nothing else."""
    assert isinstance(node.op, Elemwise)
    return isinstance(node.op.scalar, Cast)


def gains(out: Variable, maker: Apply, reader: Apply) -> bool:
    """True if a reader may read the inputs of ``maker`` instead of its result."""
    if not is_reader(reader):
        return False
    pattern = pattern_of(maker)
    if pattern_of(reader) != pattern and not all(pattern):
        return False
    before = dict.fromkeys(reader.inputs)
    after = dict.fromkeys([*(v for v in before if v is not out), *maker.inputs])
    if any(is_view(v, pattern) and v not in before for v in maker.inputs):
        return False
    steps = steps_of(maker) + steps_of(reader)
    return (
        steps <= _MOST_STEPS
        and len(after) + len(reader.outputs) <= MOST_OPERANDS
        and (all(pattern) or size(after, pattern) <= size(before, pattern))
    )


def is_reader(node: Apply) -> bool:
    """True if a node is elementwise, or a reduction of what is."""
    return is_fusible(node) or type(node.op) in (Reduce, MapReduce, MapReduces)


def pattern_of(node: Apply) -> tuple[bool, ...]:
    """Return the broadcastable pattern of the elements that a node runs over."""
    flags = zip(*(v.type.broadcastable for v in node.inputs), strict=True)
    return tuple(map(all, flags))


def is_view(variable: Variable, pattern: tuple[bool, ...]) -> bool:
    """True if a whole array may be a view, whose elements are apart in memory."""
    owner = variable.owner
    is_whole = variable.type.broadcastable == pattern and not all(pattern)
    return owner is not None and bool(owner.op.view_map) and is_whole


def size(variables: Iterable[Variable], pattern: tuple[bool, ...]) -> int:
    """Return the bytes that the arrays of a pattern take for an element."""
    return sum(
        itemsize(v)
        for v in variables
        if v.type.broadcastable == pattern and not isinstance(v, Constant)
    )


def steps_of(node: Apply) -> int:
    """Return the number of scalar operations of a node."""
    op = node.op.map if isinstance(node.op, (MapReduce, MapReduces)) else node.op
    scalar = getattr(op, "scalar", None)
    return len(scalar.steps) if isinstance(scalar, Composite) else 1


def move_to_readers(
    fgraph: FunctionGraph, out: Variable, maker: Apply, log: Log
) -> None:
    """Replace each reader of a value by one that computes it."""
    readers = dict.fromkeys(client for client, _ in fgraph.clients[out])
    for reader in readers:
        assert isinstance(reader, Apply)
        replace(fgraph, reader.outputs, with_maker(reader, out, maker), log)


def with_maker(reader: Apply, out: Variable, maker: Apply) -> Apply:
    """Return the reader with the maker of one of its inputs inside."""
    (made,) = maker.outputs
    read = [made if variable is out else variable for variable in reader.inputs]
    inputs = dict.fromkeys([*(v for v in read if v is not made), *maker.inputs])
    op = reader.op
    if isinstance(op, Elemwise):
        return pruned([maker, reader.clone_with(read)], [*inputs])
    if isinstance(op, Reduce):
        mapped = maker
    else:
        assert isinstance(op, (MapReduce, MapReduces))
        mapped = pruned([maker, op.map.make_node(*read)], [*inputs])
    assert isinstance(mapped.op, Elemwise)
    if isinstance(op, MapReduces):
        whole: Op = MapReduces(mapped.op, op.reduces)
    else:
        whole = MapReduce(mapped.op, op if isinstance(op, Reduce) else op.reduce)
    return Apply(whole, mapped.inputs, [each.type() for each in reader.outputs])


def replace(
    fgraph: FunctionGraph, old: Sequence[Variable], new: Apply, log: Log
) -> None:
    """Replace results by those of another node."""
    for before, after in zip(old, new.outputs, strict=True):
        log.note("read_instead_of_storing", before, after)
        fgraph.replace(before, after, reason="read_instead_of_storing")
