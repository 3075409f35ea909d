"""Joined convolutions: those of one image by filters of one shape become one.

Their results are slices of its channels. Where the same elementwise operation reads
each of them, with operands by channel such as biases, it is computed before slicing, so
that it can be the epilogue of the convolution.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable, constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.nnet.conv import AbstractConv
from gpuarray.compiler.ops.shape.lengths import settled
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.slicing.subtensor import FULL, Subtensor, form_of
from gpuarray.compiler.ops.variables.context_assignment import places_of
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.patterns import same

MOST_WEIGHTS = 32768
"""Elements of filters that are joined: each call copies them.

On two cores 64, 96 and 16 filters of 1x1 over 8x192x28x28 take 4.7 ms apart and 2.5
joined, four times 8 of 3x3 over 8x32x32x32 4.0 and 2.9, four times 32 the same. Twice
128 of 3x3 over 1x128x7x7, 147,456 elements each, take 0.75 ms apart and 1.15 joined.
"""
CHANNELS = 1  # the axis of channels


class Candidate(NamedTuple):
    """A convolution by filters of known lengths."""

    node: Apply
    op: AbstractConv
    shape: tuple[int, ...]


@graph_pass(phase="fuse")
def join_convolutions(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge convolutions of one image that differ in their filters' values only."""
    changed = False
    for group in groups(fgraph):
        independent = without_dependent(fgraph, group)
        if len(independent) > 1:
            replace_group(fgraph, independent, log)
            changed = True
    return changed


def groups(fgraph: FunctionGraph) -> list[list[Candidate]]:
    """Return convolutions that may be one, by image, geometry, context and guard."""
    order = fgraph.toposort()
    if sum(isinstance(node.op, AbstractConv) for node in order) < 2:
        return []
    guards, places = fgraph.guards(), places_of(fgraph.inputs, order)
    found: dict[Any, list[Candidate]] = {}
    for node in order:
        op = node.op
        if not isinstance(op, AbstractConv) or is_output(fgraph, node):
            continue
        shape = lengths_of_filters(op, node, fgraph.owns_inputs)
        if shape is None:
            continue
        image, filters = node.inputs
        place = places.get(node.outputs[0])
        if places.get(filters, place) != place:
            continue
        guard = guards.get(node, ALWAYS)
        key = image, op.of_shapes(None, None), shape[1:], place, guard
        found.setdefault(key, []).append(Candidate(node, op, shape))
    return [group for group in found.values() if len(group) > 1]


def lengths_of_filters(
    op: AbstractConv, node: Apply, is_body: bool
) -> tuple[int, ...] | None:
    """Return the shape of filters that may be joined; None for others.

    Declared lengths are checked before a loop: its body does not see that.
    """
    filters = node.inputs[1]
    if op.num_groups > 1 or op.unshared or node.outputs[0].type.broadcastable[CHANNELS]:
        return None
    declared = op.kshp if is_body and op.kshp else (None,) * filters.type.ndim
    lengths = [settled(shape_i(filters, i)) for i in range(filters.type.ndim)]
    known = [
        int(length.data) if isinstance(length, Constant) else other
        for length, other in zip(lengths, declared, strict=True)
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
    op = group[0].op.of_shapes(None, shape)
    whole = op.make_node(image, joined([node.inputs[1] for node in nodes], 0))
    readers = alike_readers(fgraph, nodes)
    operands = joined_operands(readers, nodes, whole.outputs[0])
    if operands:
        nodes = readers
        whole = nodes[0].op.make_node(*operands)
    for index, result in enumerate(whole.outputs):
        parts = slices(result, counts)
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


def slices(x: Variable, counts: Sequence[int]) -> Iterator[Variable]:
    """Yield the parts of so many channels."""
    start = 0
    for count in counts:
        ends = (constant(n, "int64") for n in (start, start + count))
        form, integers = form_of([FULL] * CHANNELS + [(*ends, None)])
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
