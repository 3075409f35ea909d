"""Operations in place: an output takes over the memory of an input that dies there.

Only intermediate results and the inputs in ``fgraph.destroyable`` (shared variables
that get a new value) are overwritten. All other readers of the memory, also through a
view, run before: `orderings` has that order.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping

from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS, Guard, excludes
from gpuarray.compiler.ops.control.ifelse import IfElse
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.linalg.linalg import Blas
from gpuarray.compiler.ops.shape.shape import DimShuffle, Reshape
from gpuarray.compiler.ops.slicing.subtensor import Change, Subtensor
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.rows import with_scalar


def orderings(fgraph: FunctionGraph) -> dict[Apply, list[Apply]]:
    """Return for each node that overwrites memory the nodes that must run before it."""
    return fgraph.orderings()


class Memory:
    """The aliasing of a graph's variables, with readers and overwriters of memory.

    It has state because each overwriting adds an order that the next one must respect.
    ``rank`` is a topological order, so that only nodes between two ranks are searched.
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.fgraph = fgraph
        new_value = fgraph.destroyable
        self.new_value = dict(new_value) if isinstance(new_value, Mapping) else {}
        self.destroyable: set[Variable] = set(new_value)
        self.kept = set(fgraph.outputs)
        self.destroyed: dict[Variable, list[Guard]] = {}
        self.after: dict[Apply, set[Apply]] = {}
        self.before: dict[Apply, set[Apply]] = {}
        self.rank = {node: place for place, node in enumerate(fgraph.toposort())}
        self.guards = fgraph.guards()
        self.fails_late = any(node.op.fails_late for node in fgraph.toposort())
        self.reports = fgraph.may_report()
        for node, readers in orderings(fgraph).items():
            for indices in node.op.destroy_map.values():
                for index in indices:
                    self.note_destroyed(node, index)
            for reader in readers:
                self.note_order(reader, node)

    def may_destroy(self, node: Apply, index: int, out: Variable) -> bool:
        """True if `out` may take over an input's memory, after all other reads."""
        operand = node.inputs[index]
        root = self.fgraph.view_root(operand)
        guard = self.guards.get(node, ALWAYS)
        if not all(excludes(guard, other) for other in self.destroyed.get(root, ())):
            return False
        if not is_plain_view(operand):
            return False
        if root.owner is None and not self.may_take_input(node, root, out):
            return False
        views = self.fgraph.views_of(root, guard)
        if any(view in self.kept for view in views):
            return False
        others = {v for i, v in enumerate(node.inputs) if i != index}
        if not isinstance(node.op, Elemwise) and operand in others:
            return False
        if any(view in others for view in views if view is not operand):
            return False
        return not self.reaches(node, set(self.readers(root, node, guard)))

    def note_destroyed(self, node: Apply, index: int) -> None:
        """Record the conditions under which an input's memory is overwritten."""
        root = self.fgraph.view_root(node.inputs[index])
        self.destroyed.setdefault(root, []).append(self.guards.get(node, ALWAYS))

    def may_take_input(self, node: Apply, root: Variable, out: Variable) -> bool:
        """True if an input of the graph may be overwritten by its new value.

        Or by a result that the new value is a view of, as of a number computed with
        axes. Where a run may fail in its middle the old values must survive; after an
        index error, too, unless the result guards them. A loop has a copy of its own,
        made for ops that else copy what they change in each iteration.
        """
        if root not in self.destroyable:
            return False
        is_void = self.reports and self.fgraph.kept.get(out) is not root
        if self.fgraph.owns_inputs:
            if not isinstance(node.op, Blas | Change):
                return False
        elif self.fails_late or is_void:
            return False
        index = self.new_value.get(root)
        results = self.kept if index is None else {self.fgraph.outputs[index]}
        return any(becomes(out, result) for result in results)

    def readers(self, root: Variable, but: Apply, guard: Guard) -> Iterator[Apply]:
        """Yield the other nodes that read the memory where a node runs."""
        for client in self.fgraph.readers(root, guard):
            is_apart = excludes(self.guards.get(client, ALWAYS), guard)
            if client is not but and not is_apart:
                yield client

    def reaches(self, node: Apply, targets: set[Apply]) -> bool:
        """True if some target must run after the node.

        The search alternates between both ends, and stops as soon as one is exhausted.
        """
        if not targets:
            return False
        last = max(self.rank[target] for target in targets)
        first = self.rank[node]
        forth, behind = [node], {node}
        back, ahead = list(targets), set(targets)
        while forth and back:
            for other in self.later(forth.pop()):
                if other in ahead:
                    return True
                if other not in behind and self.rank[other] < last:
                    behind.add(other)
                    forth.append(other)
            for other in self.earlier(back.pop()):
                if other in behind:
                    return True
                if other not in ahead and self.rank[other] > first:
                    ahead.add(other)
                    back.append(other)
        return False

    def closure(
        self, node: Apply, beside: Callable[[Apply], set[Apply]], ranks: range
    ) -> set[Apply]:
        """Return the nodes reachable from a node, without it, within some ranks."""
        stack, reachable = [node], set[Apply]()
        while stack:
            for other in beside(stack.pop()):
                if other not in reachable and self.rank[other] in ranks:
                    reachable.add(other)
                    stack.append(other)
        return reachable

    def later(self, node: Apply) -> set[Apply]:
        """Return the nodes that must run after a node: readers and overwriters."""
        users = {
            client
            for out in node.outputs
            for client, _ in self.fgraph.clients[out]
            if isinstance(client, Apply)
        }
        return users | self.after.get(node, set())

    def earlier(self, node: Apply) -> set[Apply]:
        """Return the nodes that must run before a node."""
        makers = {
            variable.owner for variable in node.inputs if variable.owner is not None
        }
        return makers | self.before.get(node, set())

    def note_order(self, first: Apply, last: Apply) -> None:
        """Order a node after another, and update the ranks between them."""
        self.after.setdefault(first, set()).add(last)
        self.before.setdefault(last, set()).add(first)
        low, high = self.rank[last], self.rank[first]
        if high < low:
            return
        sides = (
            {first} | self.closure(first, self.earlier, range(low, high)),
            {last} | self.closure(last, self.later, range(low, high)),
        )
        nodes = [node for s in sides for node in sorted(s, key=self.rank.__getitem__)]
        ranks = sorted(self.rank[node] for node in nodes)
        self.rank.update(zip(nodes, ranks, strict=True))

    def replaced(self, old: Apply, new: Apply) -> None:
        """Record that the old node became one that overwrites inputs."""
        self.kept = set(self.fgraph.outputs)
        self.rank[new] = self.rank.pop(old)
        for there, back in ((self.after, self.before), (self.before, self.after)):
            others = there.pop(old, set())
            for other in others:
                back[other].remove(old)
                back[other].add(new)
            there[new] = others
        guard = self.guards.pop(old, ALWAYS)
        self.guards[new] = guard
        for index in [i for indices in new.op.destroy_map.values() for i in indices]:
            root = self.fgraph.view_root(new.inputs[index])
            self.note_destroyed(new, index)
            for reader in self.readers(root, new, guard):
                self.note_order(reader, new)


def becomes(variable: Variable, result: Variable) -> bool:
    """True if a result is a variable, or may be: a plain view of it, or one of two."""
    stack = [result]
    while stack:
        current = stack.pop()
        if current is variable:
            return True
        if current.owner is not None and isinstance(
            current.owner.op, DimShuffle | Reshape | Subtensor | IfElse
        ):
            viewed = current.owner.op.view_map.get(current.index or 0, ())
            stack.extend(current.owner.inputs[index] for index in viewed)
    return False


def is_plain_view(variable: Variable) -> bool:
    """True if each element of a view has memory of its own: nothing is repeated."""
    while variable.owner is not None and variable.owner.op.view_map.get(
        variable.index or 0
    ):
        if not isinstance(variable.owner.op, DimShuffle | Reshape | Subtensor):
            return False
        variable = variable.owner.inputs[0]
    return True


@graph_pass(phase="inplace")
def overwrite_dying_inputs(fgraph: FunctionGraph, log: Log) -> bool:
    """Make nodes overwrite dying inputs; those that compute outputs choose first."""
    memory = Memory(fgraph)
    changed = False
    results = {out.owner for out in fgraph.outputs}
    order = fgraph.toposort()
    for node in sorted(order, key=lambda node: node not in results):
        replaced = overwriting(memory, node)
        if replaced is None:
            continue
        changed = True
        for old, new in zip(node.outputs, replaced.outputs, strict=True):
            log.note("overwrite_dying_inputs", old, new)
            fgraph.replace(old, new, reason="overwrite_dying_inputs")
        memory.replaced(node, replaced)
    return changed


def overwriting(memory: Memory, node: Apply) -> Apply | None:
    """Return the node in place of dying inputs; None if none may be overwritten."""
    op: Op
    if node.op.destroy_map:
        return None
    if isinstance(node.op, Elemwise):
        pattern = elementwise_pattern(memory, node)
        op = with_scalar(node.op, node.op.scalar, pattern)
        if not pattern:
            return None
    elif isinstance(node.op, Rowwise | MultiTensor):
        pattern = elementwise_pattern(memory, node, node.op.may_overwrite)
        op = copy.copy(node.op)
        op.inplace_pattern = pattern
        op.destroy_map = {out: [index] for out, index in pattern.items()}
        if not pattern:
            return None
    elif isinstance(node.op, Blas | Change):
        if not memory.may_destroy(node, 0, node.outputs[0]):
            return None
        op = copy.copy(node.op)
        op.inplace = True
        op.destroy_map = {0: [0]}
    else:
        return None
    return Apply(op, node.inputs, [out.type() for out in node.outputs])


def elementwise_pattern(
    memory: Memory,
    node: Apply,
    may_overwrite: Callable[[int, int], bool] = lambda output, index: True,
) -> dict[int, int]:
    """Return the input that each output overwrites: of its type, each used once."""
    pattern: dict[int, int] = {}
    overwritten: set[Variable] = set()
    for output, out in enumerate(node.outputs):
        fitting = [
            index
            for index, operand in enumerate(node.inputs)
            if operand.type == out.type
            and may_overwrite(output, index)
            and memory.fgraph.view_root(operand) not in overwritten
        ]
        fitting.sort(key=lambda index: node.inputs[index] not in memory.destroyable)
        for index in fitting:
            if memory.may_destroy(node, index, out):
                pattern[output] = index
                overwritten.add(memory.fgraph.view_root(node.inputs[index]))
                break
    return pattern
