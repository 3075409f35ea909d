"""The memory of a graph's results: by node, and the peak."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuarray.compiler.config import config
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.variables.transfer import Transfer
from gpuarray.dtypes import as_dtype


@dataclass(frozen=True)
class NodeMemory:
    """A node's results: the bytes of each, and ``c``, ``i`` or ``v`` for each.

    ``c`` is created, ``i`` in place of an input, ``v`` a view of one, as the op
    declares.
    """

    node: Apply
    sizes: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    flags: tuple[str, ...]


@dataclass
class MemoryProfile:
    """The results of a function's nodes on the device, in the order of execution.

    ``without_any`` counts every result as if nothing were freed, viewed or overwritten;
    ``without_gc`` only created ones; ``peak`` the most at once if results are freed
    after their last readers, and ``least`` the same in an order searched to need less,
    -1 without a search. All are bytes.
    """

    nodes: list[NodeMemory] = field(default_factory=list)
    without_any: int = 0
    saved_by_view: int = 0
    saved_by_inplace: int = 0
    peak: int = 0
    least: int = -1
    on_host: int = 0

    @property
    def without_gc(self) -> int:
        """The bytes that are created."""
        return self.without_any - self.saved_by_view - self.saved_by_inplace

    @property
    def saved_by_gc(self) -> int:
        """The bytes that freeing saves of the peak."""
        return self.without_gc - self.peak


def flag_of(node: Apply, index: int) -> str:
    """Return an output's flag: created (c), in place of an input (i), or a view (v)."""
    if isinstance(node.op, Transfer):
        return "c"  # other memory, whatever the op declares
    if node.op.destroy_map.get(index):
        return "i"
    return "v" if node.op.view_map.get(index) else "c"


def memory_profile(
    fgraph: FunctionGraph, shapes: Mapping[Variable, tuple[int, ...]]
) -> MemoryProfile:
    """Return the memory that a placed graph needs for variables of these shapes."""
    profile = MemoryProfile()
    order = fgraph.toposort()
    for node in order:
        known = node.outputs
        if not all(output in shapes for output in known):
            continue  # integers of the host
        flags = tuple(flag_of(node, output.index or 0) for output in known)
        sizes = tuple(size_of(output, shapes[output]) for output in known)
        profile.nodes.append(
            NodeMemory(node, sizes, tuple(shapes[output] for output in known), flags)
        )
        for variable, flag, size in zip(known, flags, sizes, strict=True):
            if not isinstance(variable.type, GpuArrayType):
                profile.on_host += size
                continue
            profile.without_any += size
            profile.saved_by_view += size if flag == "v" else 0
            profile.saved_by_inplace += size if flag == "i" else 0
    profile.peak = max(_live(fgraph, order, profile), default=0)
    if config.profiling.min_peak_memory:
        better = _frugal(fgraph, order, profile)
        profile.least = min(
            profile.peak, max(_live(fgraph, better, profile), default=0)
        )
    return profile


def size_of(variable: Variable, shape: tuple[int, ...]) -> int:
    """Return the bytes of an array of the variable's dtype."""
    return math.prod(shape) * int(as_dtype(variable.type.dtype).itemsize)


def _root(variable: Variable) -> Variable:
    """Return the variable that created the memory of another."""
    while variable.owner is not None:
        index = variable.index or 0
        op = variable.owner.op
        shared = op.destroy_map.get(index) or op.view_map.get(index)
        if isinstance(op, Transfer) or not shared:
            break
        variable = variable.owner.inputs[shared[0]]
    return variable


def _sizes(profile: MemoryProfile) -> dict[Variable, int]:
    """Return the bytes of each result on the device."""
    return {
        output: size
        for node in profile.nodes
        for output, size in zip(node.node.outputs, node.sizes, strict=True)
        if isinstance(output.type, GpuArrayType)
    }


def _frugal(
    fgraph: FunctionGraph, order: list[Apply], profile: MemoryProfile
) -> list[Apply]:
    """The nodes in another order: greedily the one that leaves least memory in use."""
    size = _sizes(profile)
    readers: dict[Variable, set[Apply]] = {}
    before = fgraph.orderings()
    waits: dict[Apply, set[Apply]] = {}
    for node in order:
        owners = (operand.owner for operand in node.inputs if operand.owner is not None)
        waits[node] = {*owners, *before.get(node, ())}
        for variable in (*node.inputs, *node.outputs):
            readers.setdefault(_root(variable), set()).add(node)
    outputs = {_root(output) for output in fgraph.outputs}

    def growth(node: Apply) -> int:
        created = sum(size.get(v, 0) for v in node.outputs if _root(v) is v)
        read = {_root(v) for v in (*node.inputs, *node.outputs)} - outputs
        return created - sum(size.get(v, 0) for v in read if readers[v] == {node})

    result: list[Apply] = []
    left = dict.fromkeys(order)
    while left:
        ready = [node for node in left if not waits[node]]
        node = min(ready, key=growth)
        del left[node]
        result.append(node)
        for variable in (*node.inputs, *node.outputs):
            readers[_root(variable)].discard(node)
        for other in left:
            waits[other].discard(node)
    return result


def _live(
    fgraph: FunctionGraph, order: list[Apply], profile: MemoryProfile
) -> Iterator[int]:
    """Return the bytes in use after each node, unneeded results being freed."""
    size = _sizes(profile)
    last: dict[Variable, int] = {}
    for place, node in enumerate(order):
        for variable in (*node.inputs, *node.outputs):
            last[_root(variable)] = place
    for output in fgraph.outputs:
        last[_root(output)] = len(order)
    dying: dict[int, list[Variable]] = {}
    for variable, place in last.items():
        dying.setdefault(place, []).append(variable)
    now = 0
    for place, node in enumerate(order):
        now += sum(size.get(v, 0) for v in node.outputs if _root(v) is v)
        yield now
        now -= sum(size.get(v, 0) for v in dying.get(place, ()))
