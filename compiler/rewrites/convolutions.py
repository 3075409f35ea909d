"""Joined convolutions: those of one image by filters of one shape become one.

Their results are slices of its channels. Where the same elementwise operation reads
each of them, with operands by channel such as biases, it is computed before slicing, so
that it can be the epilogue of the convolution. So do their gradients: those by the
filters are slices of one by all filters, and a sum of gradients by the image is one by
all channels of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable, constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
    BaseAbstractConv,
)
from gpuarray.compiler.ops.shape.lengths import settled
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.slicing.subtensor import FULL, Subtensor, form_of
from gpuarray.compiler.ops.variables.context_assignment import places_of
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.patterns import same
from gpuarray.scalars import Scalar

MOST_WEIGHTS = 32768
"""Elements of filters that are joined: each call copies them.

On two cores 64, 96 and 16 filters of 1x1 over 8x192x28x28 take 4.7 ms apart and 2.5
joined, four times 8 of 3x3 over 8x32x32x32 4.0 and 2.9, four times 32 the same. Twice
128 of 3x3 over 1x128x7x7, 147,456 elements each, take 0.75 ms apart and 1.15 joined.
The gradients of the first by the filters take 2.4 ms and 2.0, by the image 2.9 and 1.8,
with the copies of what comes from above.
"""
FILTERS, CHANNELS = 0, 1  # axes of filters and of their results


class Candidate(NamedTuple):
    """A convolution, or a gradient of it, by filters of known lengths."""

    node: Apply
    op: BaseAbstractConv
    shape: tuple[int, ...]


@graph_pass(phase="fuse")
def join_convolutions(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge convolutions of one image that differ in their filters' values only."""
    return join_all(fgraph, log, AbstractConv, replace_group)


@graph_pass(phase="blas")
def join_gradients(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge gradients of such convolutions, while sums are nodes of their own."""
    changed = join_all(fgraph, log, AbstractConv_gradWeights, replace_by_filters)
    return join_all(fgraph, log, AbstractConv_gradInputs, replace_by_image) or changed


def join_all(
    fgraph: FunctionGraph,
    log: Log,
    kind: type[BaseAbstractConv],
    replace: Callable[[FunctionGraph, list[Candidate], Log], None],
) -> bool:
    """Replace each group of a kind, less what needs another member of it."""
    changed = False
    for group in groups(fgraph, kind):
        independent = without_dependent(fgraph, group)
        if len(independent) > 1:
            replace(fgraph, independent, log)
            changed = True
    return changed


def groups(
    fgraph: FunctionGraph, kind: type[BaseAbstractConv]
) -> list[list[Candidate]]:
    """Return those of a kind that may be one, by geometry, context and guard.

    They have one image, or are gradients by it of which one node is the sum.
    """
    order = fgraph.toposort()
    if sum(isinstance(node.op, kind) for node in order) < 2:
        return []
    guards, places = fgraph.guards(), places_of(fgraph.inputs, order)
    found: dict[Any, list[Candidate]] = {}
    for node in order:
        op = node.op
        if not isinstance(op, kind) or is_output(fgraph, node):
            continue
        shape = lengths_of_filters(op, node, fgraph.owns_inputs)
        whole: Variable | None = node.inputs[0]
        if kind is AbstractConv_gradInputs:
            whole = sum_of(fgraph, node.outputs[0])
        if shape is None or whole is None:
            continue
        place = places.get(node.outputs[0])
        if any(places.get(operand, place) != place for operand in node.inputs[:2]):
            continue
        guard = guards.get(node, ALWAYS)
        lengths = tuple(map(key_of_length, node.inputs[2:]))
        key = whole, op.of_filters(None), shape[1:], lengths, place, guard
        found.setdefault(key, []).append(Candidate(node, op, shape))
    return [group for group in found.values() if len(group) > 1]


def known_length(length: Variable) -> Any:
    """Return the number of a length, itself where it is not known."""
    found = settled(length)
    return int(found.data) if isinstance(found, Constant) else found


def key_of_length(length: Variable) -> Any:
    """Return what equal lengths have in common."""
    found = known_length(length)
    node = found.owner if isinstance(found, Variable) else None
    return (node.op, *node.inputs) if node is not None else found


def sum_of(fgraph: FunctionGraph, x: Variable) -> Variable | None:
    """Return the largest sum of arrays like ``x`` that alone reads it, if any."""
    total, reader = None, adder_of(fgraph, x)
    while reader is not None:
        total = reader.outputs[0]
        reader = adder_of(fgraph, total)
    return total


def adder_of(fgraph: FunctionGraph, x: Variable) -> Apply | None:
    """Return the node that alone reads an array, if it adds arrays like it."""
    clients = fgraph.clients[x]
    if len(clients) != 1:
        return None
    ((reader, _),) = clients
    if not isinstance(reader, Apply) or reader.outputs[0].type != x.type:
        return None
    return reader if is_sum(reader) else None


def is_sum(node: Apply | None) -> bool:
    """True for a node that adds, and overwrites nothing."""
    if node is None or not isinstance(node.op, Elemwise):
        return False
    scalar = node.op.scalar
    is_added = isinstance(scalar, Scalar) and scalar.name == "add"
    return is_added and not node.op.destroy_map


def terms_of(fgraph: FunctionGraph, total: Variable) -> list[Variable]:
    """Return what a sum adds, also by sums that nothing else reads."""
    found: list[Variable] = []
    for operand in total.owner.inputs if total.owner else ():
        is_inner = is_sum(operand.owner) and len(fgraph.clients[operand]) == 1
        found += terms_of(fgraph, operand) if is_inner else [operand]
    return found


def lengths_of_filters(
    op: BaseAbstractConv, node: Apply, is_body: bool
) -> tuple[int, ...] | None:
    """Return the shape of filters that may be joined; None for others.

    Declared lengths are checked before a loop: its body does not see that. What a
    gradient by filters is declared to be decides only whether it is worth it.
    """
    first, second = node.inputs[:2]
    by_filters = isinstance(op, AbstractConv_gradWeights)
    filters = second if isinstance(op, AbstractConv) else first
    result = node.outputs[0] if isinstance(op, AbstractConv) else second
    if op.num_groups > 1 or op.unshared or result.type.broadcastable[CHANNELS]:
        return None
    ndim = filters.type.ndim
    declared = op.kshp if (is_body or by_filters) and op.kshp else (None,) * ndim
    variables = [] if by_filters else [shape_i(filters, i) for i in range(ndim)]
    lengths = [settled(length) for length in variables]
    known = [
        int(length.data) if isinstance(length, Constant) else other
        for length, other in zip(lengths or declared, declared, strict=True)
    ]
    if None in known:
        return None
    shape = tuple(known)
    return shape if 0 < prod(shape) <= MOST_WEIGHTS else None


def is_output(fgraph: FunctionGraph, node: Apply) -> bool:
    """True if a result is the function's: the caller would get a part of an array."""
    return any(
        isinstance(client, str)
        for result in node.outputs
        for client, _ in fgraph.clients[result]
    )


def without_dependent(
    fgraph: FunctionGraph, group: Sequence[Candidate]
) -> list[Candidate]:
    """Return the members that do not need another one."""
    before = fgraph.orderings()
    kept: list[Candidate] = []
    for member in group:
        others = {other.node for other in kept}
        if others.isdisjoint(needed(member.node, before)):
            kept.append(member)
    return kept


def needed(node: Apply, before: Mapping[Apply, Collection[Apply]]) -> set[Apply]:
    """Return the nodes that run before a node in any order; ``before``: `orderings`."""
    found: set[Apply] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        owners = (variable.owner for variable in current.inputs)
        for other in (*owners, *before.get(current, ())):
            if other is not None and other not in found:
                found.add(other)
                stack.append(other)
    return found


# ---- the joined convolution ----


def replace_group(fgraph: FunctionGraph, group: list[Candidate], log: Log) -> None:
    """Replace convolutions by slices of one, and what reads them alike by one, too."""
    nodes = [member.node for member in group]
    counts = [member.shape[0] for member in group]
    shape = (sum(counts), *group[0].shape[1:])
    image = nodes[0].inputs[0]
    op = group[0].op.of_filters(shape)
    whole = op.make_node(image, joined([node.inputs[1] for node in nodes], 0))
    readers = alike_readers(fgraph, nodes)
    operands = joined_operands(readers, nodes, whole.outputs[0])
    if operands:
        nodes = readers
        whole = nodes[0].op.make_node(*operands)
    for index, result in enumerate(whole.outputs):
        parts = slices(result, counts, CHANNELS)
        for node, part in zip(nodes, parts, strict=True):
            old = node.outputs[index]
            log.note("join_convolutions", old, part)
            fgraph.replace(old, part, reason="join_convolutions")


def joined(parts: list[Variable], axis: int) -> Variable:
    """Return arrays joined along an axis, as a constant if all are constants."""
    known = [part.data for part in parts if isinstance(part, Constant)]
    if len(known) == len(parts):
        return constant(np.concatenate(known, axis))
    return join(axis, *parts)


def slices(x: Variable, counts: Sequence[Any], axis: int) -> Iterator[Variable]:
    """Yield the parts of so many elements of an axis."""
    start: Any = 0
    for count in counts:
        ends = [
            constant(n, "int64") if isinstance(n, int) else n
            for n in (start, start + count)
        ]
        form, integers = form_of([FULL] * axis + [(*ends, None)])
        yield Subtensor(form)(x, *integers)
        start += count


# ---- what reads the results ----


def alike_readers(fgraph: FunctionGraph, nodes: Sequence[Apply]) -> list[Apply]:
    """Return an elementwise node for each result, its only reader, if they are alike.

    None of them needs another one, nor is a result of the function.
    """
    readers: list[Apply] = []
    for node in nodes:
        clients = [client for client, _ in fgraph.clients[node.outputs[0]]]
        if len(clients) != 1 or not may_move(fgraph, clients[0]):
            return []
        readers += [client for client in clients if isinstance(client, Apply)]
    before = fgraph.orderings()
    if len({reader.op for reader in readers}) > 1:
        return []
    runs_first = (needed(reader, before) for reader in readers)
    return readers if all(map(set(readers).isdisjoint, runs_first)) else []


def may_move(fgraph: FunctionGraph, reader: Apply | str) -> bool:
    """True for an elementwise node of which the function returns nothing."""
    return (
        isinstance(reader, Apply)
        and isinstance(reader.op, Elemwise)
        and not reader.op.destroy_map
        and not is_output(fgraph, reader)
    )


def joined_operands(
    readers: Sequence[Apply], nodes: Sequence[Apply], whole: Variable
) -> list[Variable]:
    """Return the operands of one reader for all, ``whole`` for the results; or none."""
    operands: list[Variable] = []
    for variables in zip(*(reader.inputs for reader in readers), strict=True):
        results = [
            v is node.outputs[0] for v, node in zip(variables, nodes, strict=True)
        ]
        operand = whole if all(results) else None
        if not any(results):
            operand = operand_for_all(variables, whole)
        if operand is None:
            return []
        operands.append(operand)
    return operands


def operand_for_all(variables: Sequence[Variable], whole: Variable) -> Variable | None:
    """Return an operand that all readers have, or those by channel joined."""
    first = variables[0]
    flags = first.type.broadcastable
    if any(v.type != first.type for v in variables) or len(flags) != whole.type.ndim:
        return None
    if flags[CHANNELS]:
        return first if all(same(first, v) for v in variables) else None
    is_by_channel = all(flag for i, flag in enumerate(flags) if i != CHANNELS)
    return joined(list(variables), CHANNELS) if is_by_channel else None


# ---- joined gradients ----


def replace_by_filters(fgraph: FunctionGraph, group: list[Candidate], log: Log) -> None:
    """Replace gradients by filters by slices of one by all."""
    nodes = [member.node for member in group]
    image, _, *lengths = nodes[0].inputs
    grads = [node.inputs[1] for node in nodes]
    counts = [known_length(shape_i(grad, CHANNELS)) for grad in grads]
    op = group[0].op.of_filters((None, *group[0].shape[1:]))
    (whole,) = op.make_node(image, joined(grads, CHANNELS), *lengths).outputs
    for node, part in zip(nodes, slices(whole, counts, FILTERS), strict=True):
        log.note("join_gradients", node.outputs[0], part)
        fgraph.replace(node.outputs[0], part, reason="join_gradients")


def replace_by_image(fgraph: FunctionGraph, group: list[Candidate], log: Log) -> None:
    """Replace gradients by the image that are added by one."""
    nodes = [member.node for member in group]
    counts = [member.shape[0] for member in group]
    total = sum_of(fgraph, nodes[0].outputs[0])
    assert total is not None
    op = group[0].op.of_filters((sum(counts), *group[0].shape[1:]))
    filters = joined([node.inputs[0] for node in nodes], FILTERS)
    grads = joined([node.inputs[1] for node in nodes], CHANNELS)
    (whole,) = op.make_node(filters, grads, *nodes[0].inputs[2:]).outputs
    parts = {node.outputs[0] for node in nodes}
    rest = [term for term in terms_of(fgraph, total) if term not in parts]
    found = sum(rest, start=whole)
    log.note("join_gradients", total, found)
    fgraph.replace(total, found, reason="join_gradients")
