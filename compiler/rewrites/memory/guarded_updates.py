"""Guarded updates: shared variables keep their values after an index error.

The device reports an index error, which is raised at a later wait, when the updates of
the call are stored already. So in a graph with nodes that may report, the next value of
a shared variable is chosen by the count of reports: functions with such nodes update
nothing from the wrong index on until the error was raised. ``fgraph.kept`` maps such
results to their variables; if one is not guarded, the call waits before it stores any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable, is_float
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.control.guarded_updates import Reports
from gpuarray.compiler.ops.control.ifelse import IfElse
from gpuarray.compiler.ops.elemwise.elemwise import Composite, CompositeStep, Elemwise
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor, Part
from gpuarray.compiler.ops.index.advanced import ARRAY, AdvancedChange
from gpuarray.compiler.ops.linalg.linalg import Blas
from gpuarray.compiler.ops.nnet.nnet import InBounds
from gpuarray.compiler.ops.shape.shape import DimShuffle, dimshuffle, shape_i
from gpuarray.compiler.ops.slicing.subtensor import Change, Slice
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.patterns import call, number
from gpuarray.compiler.rewrites.engine.rows import with_scalar
from gpuarray.compiler.rewrites.fusion.fusion import compose
from gpuarray.compiler.rewrites.fusion.together import opened

RULE = "keep_values"


@graph_pass(phase="inplace")
def keep_values(fgraph: FunctionGraph, log: Log) -> bool:
    """Make updates that are void after an index error."""
    updates = fgraph.destroyable
    is_done = any(isinstance(node.op, Reports) for node in fgraph.apply_nodes)
    if is_done or fgraph.several_contexts or fgraph.owns_inputs:
        return False
    if not isinstance(updates, Mapping) or not updates or not fgraph.may_report():
        return False
    keeper = Keeper(fgraph, log)
    for variable, index in updates.items():
        keeper.keep(variable, "output", index)
    return keeper.is_changed


def is_unkept(fgraph: FunctionGraph, updates: Mapping[int, Variable]) -> bool:
    """True if an update may be stored after an index error.

    ``updates`` maps outputs to the variables that they update.
    """
    return fgraph.may_report() and any(
        fgraph.outputs[index] is not variable
        and fgraph.kept.get(fgraph.outputs[index]) is not variable
        for index, variable in updates.items()
    )


class Keeper:
    """Guards results by one count, so that they keep the values that they replace.

    It has state because the graph changes under it.
    """

    def __init__(self, fgraph: FunctionGraph, log: Log) -> None:
        self.fgraph = fgraph
        self.log = log
        self.is_changed = False
        self.count: Variable = Reports()()

    def keep(self, old: Variable, client: Apply | str, index: int) -> bool:
        """Make a client read ``old`` after an index error."""
        read = self.fgraph.outputs if isinstance(client, str) else client.inputs
        value = read[index]
        if value is old or self.fgraph.kept.get(value) is old:
            return True
        if type(value.type) is not TensorType:
            return False
        node = value.owner
        guarded = None
        is_others = value in self.fgraph.kept  # it guards another variable
        if node is not None and not is_others and not self.is_reported_after(node):
            if isinstance(node.op, IfElse):
                return self.keep_sides(old, value)
            guarded = self.kept_by_its_node(old, value)
        if guarded is None and has_shape(value, old):
            condition = self.padded(value.type.ndim)
            guarded = call("where", condition, old, value)
        if guarded is None or guarded.type != value.type:
            return False
        self.put(value, guarded, old, client, index)
        return True

    def put(
        self,
        value: Variable,
        guarded: Variable,
        old: Variable,
        client: Apply | str,
        index: int,
    ) -> None:
        """Make the client read the guarded result, which keeps ``old``."""
        self.is_changed = True
        self.log.note(RULE, value, guarded)
        reads_value = guarded.owner is not None and value in guarded.owner.inputs
        if reads_value:
            self.fgraph.redirect(client, index, guarded, RULE)
        else:
            replace_node(self.fgraph, value, guarded)
        self.fgraph.kept[guarded] = old

    def is_reported_after(self, node: Apply) -> bool:
        """True if a node that may report needs this one: it runs before the count."""
        stack, reachable = list(node.outputs), set(node.outputs)
        while stack:
            for client, _ in self.fgraph.clients[stack.pop()]:
                if isinstance(client, str):
                    continue
                if client.op.reports:
                    return True
                stack += [out for out in client.outputs if out not in reachable]
                reachable.update(client.outputs)
        return any(
            other.op.reports and any(condition in reachable for condition, _ in guard)
            for other, guard in self.fgraph.guards().items()
        )

    def padded(self, ndim: int) -> Variable:
        """Return the count, with axes that broadcast."""
        return dimshuffle(self.count, *["x"] * ndim) if ndim else self.count

    def keep_sides(self, old: Variable, value: Variable) -> bool:
        """Guard both sides of a conditional."""
        node = value.owner
        assert node is not None and isinstance(node.op, IfElse)
        places = node.op.places(value.index or 0)
        if all([self.keep(old, node, place) for place in places]):
            self.fgraph.kept[value] = old
            return True
        return False

    def kept_by_its_node(self, old: Variable, value: Variable) -> Variable | None:
        """The result of a node like the value's that keeps the old value itself."""
        node = value.owner
        if node is None or node.op.destroy_map:
            return None
        if isinstance(node.op, Blas) and node.inputs[0] is old:
            return self.kept_by_rows(old, opened(node).outputs[0])
        if isinstance(node.op, Change) and node.inputs[0] is old:
            return self.kept_change(node)
        if type(node.op) is MultiTensor:
            return self.kept_by_part(old, value)
        if type(node.op) is Elemwise and old in node.inputs:
            return self.kept_by_rows(old, value)
        return None

    def kept_by_rows(self, old: Variable, value: Variable) -> Variable | None:
        """Return the result of an elementwise node that reads the old value."""
        node = value.owner
        assert node is not None and isinstance(node.op, Elemwise)
        if old.type != value.type:
            return None
        scalar = compose([node], list(node.inputs), node.outputs)
        place, output = node.inputs.index(old), node.outputs.index(value)
        op = with_scalar(node.op, choosing(scalar, output, place))
        inputs = [*node.inputs, self.padded(value.type.ndim)]
        guarded = Apply(op, inputs, [out.type() for out in node.outputs])
        return guarded.outputs[output]

    def kept_by_part(self, old: Variable, value: Variable) -> Variable | None:
        """Return the guarded result of a part of a MultiTensor."""
        node, output = value.owner, value.index or 0
        assert node is not None and isinstance(node.op, MultiTensor)
        parts: list[Part] = []
        inputs: list[Variable] = []
        is_kept = False
        for part, ins, outs in node.op.shares():
            operands = list(node.inputs[ins])
            if outs.start <= output < outs.stop:
                own = [
                    i
                    for i, operand in enumerate(operands)
                    if operand is old and part.is_own(i)
                ]
                if not own or old.type != value.type:
                    return None
                shift = len(operands) - part.scalar.arity  # of a total's inputs
                at = own[0] - shift
                scalar = choosing(part.scalar, output - outs.start, at)
                part = Part(scalar, (*part.is_one, True), part.total)
                operands.append(self.count)
                is_kept = True
            parts.append(part)
            inputs += operands
        assert is_kept
        guarded = MultiTensor(parts).make_node(*inputs)
        return guarded.outputs[output]

    def kept_change(self, node: Apply) -> Variable | None:
        """Return a change that adds nothing, or sets elements to their old values."""
        op = node.op
        assert isinstance(op, Change)
        old, values, *index = node.inputs
        if isinstance(op, AdvancedChange):
            index = list(self.checked(node))
        neutral = (
            op.getter()(old, *index)
            if op.set_instead_of_inc
            else number(unchanging(values), values)
        )
        guarded = call("where", self.count, neutral, values)
        changed: Variable = op.make_node(old, guarded, *index).outputs[0]
        return changed

    def checked(self, node: Apply) -> Iterator[Variable]:
        """Yield the index of a change, with indices checked before the change."""
        op, (old, _, *index) = node.op, node.inputs
        assert isinstance(op, AdvancedChange)
        guards = self.fgraph.guards()
        is_known = any(
            client.op == op.getter()
            and client.inputs[1:] == index
            and guards.get(client, ALWAYS) <= guards.get(node, ALWAYS)
            for client, place in self.fgraph.clients[old]
            if isinstance(client, Apply) and place == 0
        )
        rest = iter(index)
        for axis, entry in enumerate(op.idx_list):
            if isinstance(entry, Slice):
                yield from (next(rest) for part in entry if part is not None)
            elif entry == ARRAY and not is_known:
                part = next(rest)
                is_constant = isinstance(part, Constant)
                places = InBounds(op.operation)
                yield part if is_constant else places(part, shape_i(old, axis))
            else:
                yield next(rest)


def choosing(scalar: Composite, output: int, old: int) -> Composite:
    """Return the operation with one more input: where it is not 0 an output is ``old``.

    >>> twice = Composite(("float32",), (Step("add", (0, 0), "float32"),), (1,))
    >>> print(choosing(twice, 0, 0))
    Composite{where(i1, i0, (i0 + i0))}
    """
    count = scalar.arity

    def moved(value: int) -> int:
        return value if value < count else value + 1

    steps = [
        CompositeStep(step.op, tuple(map(moved, step.operands)), step.dtype)
        for step in scalar.steps
    ]
    outputs = [moved(result) for result in scalar.outputs]
    dtype = scalar.output_dtypes[output]
    steps.append(CompositeStep("where", (count, old, outputs[output]), dtype))
    outputs[output] = count + len(steps)
    return Composite((*scalar.inputs, "uint32"), tuple(steps), tuple(outputs))


def unchanging(values: Variable) -> complex:
    """Return the number that leaves any as it is when added, also a negative zero."""
    if np.dtype(values.type.dtype).kind == "c":
        return complex(-0.0, -0.0)
    return -0.0 if is_float(values) else 0


def has_shape(value: Variable, old: Variable) -> bool:
    """True if the graph shows that two values have one shape."""
    if value is old:
        return True
    if value.type.broadcastable != old.type.broadcastable:
        return False
    if all(value.type.broadcastable):
        return True
    node = value.owner
    if node is None:
        return False
    if isinstance(node.op, Elemwise):  # lengths that differ are an error
        return any(has_shape(variable, old) for variable in node.inputs)
    if isinstance(node.op, DimShuffle):
        return has_axes(value, range(value.type.ndim), old)
    if isinstance(node.op, Blas | Change):
        return has_shape(node.inputs[0], old)
    if isinstance(node.op, IfElse):
        places = node.op.places(value.index or 0)
        return all(has_shape(node.inputs[place], old) for place in places)
    return False


def has_axes(value: Variable, axes: Sequence[int | str], old: Variable) -> bool:
    """True if the graph shows that these axes of a value have the lengths of ``old``.

    So the average of a channel has that of the vector it was given as, with axes for
    batch, rows and columns in between.
    """
    if value is old:
        return tuple(axes) == tuple(range(old.type.ndim))
    node = value.owner
    if node is not None and isinstance(node.op, Elemwise):
        return any(has_axes(variable, axes, old) for variable in node.inputs)
    if node is None or not isinstance(node.op, DimShuffle):
        return False
    inner = [node.op.new_order[axis] for axis in axes if isinstance(axis, int)]
    return len(inner) == len(axes) and has_axes(node.inputs[0], inner, old)


def replace_node(fgraph: FunctionGraph, value: Variable, other: Variable) -> None:
    """Replace the node of a value, with all its results, by another one's."""
    before, after = value.owner, other.owner
    assert before is not None and after is not None
    if len(before.outputs) != len(after.outputs):
        fgraph.replace(value, other, reason=RULE)
        return
    for old, new in zip(before.outputs, after.outputs, strict=True):
        fgraph.replace(old, new, reason=RULE)
