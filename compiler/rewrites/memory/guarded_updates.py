"""Shared variables keep their values where the device finds an index out of bounds.

It is told of when somebody waits, and by then the updates of the call are stored. So in
a graph with nodes that may report, what gives a shared variable its next value chooses
between that and the value before, by the count of what was reported: functions with
such nodes make no update from the wrong index on until somebody was told of it. Which
results do so, and for which variable, is in ``fgraph.kept``; where one does not, the
call waits before it stores any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.slicing.subtensor import Change, Slice
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.patterns import call, number
from gpuarray.compiler.rewrites.engine.rows import with_scalar
from gpuarray.compiler.rewrites.fusion.fusion import compose
from gpuarray.compiler.rewrites.fusion.together import opened

RULE = "keep_values"


@graph_pass(phase="inplace")
def keep_values(fgraph: FunctionGraph, log: Log) -> bool:
    """Make updates that are void where an index was wrong."""
    given = getattr(fgraph, "destroyable", None)
    is_done = any(isinstance(node.op, Reports) for node in fgraph.apply_nodes)
    if is_done or fgraph.several_contexts or not isinstance(given, Mapping):
        return False
    if not given or not fgraph.may_report():
        return False
    keeper = Keeper(fgraph, log)
    for variable, index in given.items():
        keeper.keep(variable, "output", index)
    return keeper.is_changed


def is_unkept(fgraph: FunctionGraph, updates: Mapping[int, Variable]) -> bool:
    """True if an update may be stored although an index was wrong.

    ``updates`` maps outputs to what they are the next values of.
    """
    return fgraph.may_report() and any(
        fgraph.outputs[index] is not variable
        and fgraph.kept.get(fgraph.outputs[index]) is not variable
        for index, variable in updates.items()
    )


class Keeper:
    """Lets results keep the values that they replace, all by one count.

    It has state because the graph changes under it.
    """

    def __init__(self, fgraph: FunctionGraph, log: Log) -> None:
        self.fgraph = fgraph
        self.log = log
        self.is_changed = False
        self.count: Variable = Reports()()

    def keep(self, old: Variable, client: Apply | str, index: int) -> bool:
        """Let what a client reads be ``old`` where something was reported."""
        read = self.fgraph.outputs if isinstance(client, str) else client.inputs
        value = read[index]
        if value is old or self.fgraph.kept.get(value) is old:
            return True
        if type(value.type) is not TensorType:
            return False
        node = value.owner
        found = None
        is_others = value in self.fgraph.kept  # it stays for what else it is a value of
        if node is not None and not is_others and not self.is_reported_after(node):
            if isinstance(node.op, IfElse):
                return self.keep_sides(old, value)
            found = self.kept_by_its_node(old, value)
        if found is None and has_shape(value, old):
            condition = self.padded(value.type.ndim)
            found = call("where", condition, old, value)
        if found is None or found.type != value.type:
            return False
        self.put(value, found, old, client, index)
        return True

    def put(
        self,
        value: Variable,
        found: Variable,
        old: Variable,
        client: Apply | str,
        index: int,
    ) -> None:
        """Let the client read what was found, which keeps ``old``, for a value."""
        self.is_changed = True
        self.log.note(RULE, value, found)
        reads_value = found.owner is not None and value in found.owner.inputs
        if reads_value:
            self.fgraph.redirect(client, index, found, RULE)
        else:
            replace_node(self.fgraph, value, found)
        self.fgraph.kept[found] = old

    def is_reported_after(self, node: Apply) -> bool:
        """True if what may report waits for the node: it needs a result, or runs under
        a condition that does. Then the node runs too early to read the count.
        """
        stack, seen = list(node.outputs), set(node.outputs)
        while stack:
            for client, _ in self.fgraph.clients[stack.pop()]:
                if isinstance(client, str):
                    continue
                if client.op.reports:
                    return True
                stack += [out for out in client.outputs if out not in seen]
                seen.update(client.outputs)
        return any(
            each.op.reports and any(condition in seen for condition, _ in guard)
            for each, guard in self.fgraph.guards().items()
        )

    def padded(self, ndim: int) -> Variable:
        """The count, with axes that broadcast."""
        return dimshuffle(self.count, *["x"] * ndim) if ndim else self.count

    def keep_sides(self, old: Variable, value: Variable) -> bool:
        """Keep the sides of choices between two values."""
        node = value.owner
        assert node is not None and isinstance(node.op, IfElse)
        places = node.op.places(value.index or 0)
        if all([self.keep(old, node, place) for place in places]):
            self.fgraph.kept[value] = old
            return True
        return False

    def kept_by_its_node(self, old: Variable, value: Variable) -> Variable | None:
        """The result of a node like the value's that keeps the old value by itself."""
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
        """The result of an elementwise node that reads the old value."""
        node = value.owner
        assert node is not None and isinstance(node.op, Elemwise)
        if old.type != value.type:
            return None
        scalar = compose([node], list(node.inputs), node.outputs)
        place, output = node.inputs.index(old), node.outputs.index(value)
        op = with_scalar(node.op, choosing(scalar, output, place))
        inputs = [*node.inputs, self.padded(value.type.ndim)]
        made = Apply(op, inputs, [out.type() for out in node.outputs])
        return made.outputs[output]

    def kept_by_part(self, old: Variable, value: Variable) -> Variable | None:
        """The result of one of several operations that run together."""
        node, output = value.owner, value.index or 0
        assert node is not None and isinstance(node.op, MultiTensor)
        parts: list[Part] = []
        inputs: list[Variable] = []
        is_kept = False
        for part, ins, outs in node.op.shares():
            given = list(node.inputs[ins])
            if outs.start <= output < outs.stop:
                own = [
                    i for i, each in enumerate(given) if each is old and part.is_own(i)
                ]
                if not own or old.type != value.type:
                    return None
                shift = len(given) - part.scalar.arity  # of a total's inputs
                at = own[0] - shift
                scalar = choosing(part.scalar, output - outs.start, at)
                part = Part(scalar, (*part.is_one, True), part.total)
                given.append(self.count)
                is_kept = True
            parts.append(part)
            inputs += given
        assert is_kept
        made = MultiTensor(parts).make_node(*inputs)
        return made.outputs[output]

    def kept_change(self, node: Apply) -> Variable | None:
        """An array that is changed by nothing, or set to what it has already."""
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
        chosen = call("where", self.count, neutral, values)
        made: Variable = op.make_node(old, chosen, *index).outputs[0]
        return made

    def checked(self, node: Apply) -> Iterator[Variable]:
        """The index of a change, of places that were looked at before it is made."""
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
    """The scalar operation with one more input: where it is not 0 an output is ``old``.

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
    outputs = [moved(each) for each in scalar.outputs]
    dtype = scalar.output_dtypes[output]
    steps.append(CompositeStep("where", (count, old, outputs[output]), dtype))
    outputs[output] = count + len(steps)
    return Composite((*scalar.inputs, "uint32"), tuple(steps), tuple(outputs))


def unchanging(values: Variable) -> complex:
    """Return the number that leaves any as it is when added, a negative zero too."""
    if np.dtype(values.type.dtype).kind == "c":
        return complex(-0.0, -0.0)
    return -0.0 if is_float(values) else 0


def has_shape(value: Variable, old: Variable) -> bool:
    """True if a value has the shape of another, as far as the graph tells."""
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
    if isinstance(node.op, Blas | Change):
        return has_shape(node.inputs[0], old)
    if isinstance(node.op, IfElse):
        places = node.op.places(value.index or 0)
        return all(has_shape(node.inputs[place], old) for place in places)
    return False


def replace_node(fgraph: FunctionGraph, value: Variable, found: Variable) -> None:
    """Put the node of a result, with all its results, in the place of a value's."""
    before, after = value.owner, found.owner
    assert before is not None and after is not None
    if len(before.outputs) != len(after.outputs):
        fgraph.replace(value, found, reason=RULE)
        return
    for old, new in zip(before.outputs, after.outputs, strict=True):
        fgraph.replace(old, new, reason=RULE)
