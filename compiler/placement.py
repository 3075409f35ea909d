"""Places a graph on a context: one generic walk over the registry of device ops.

Every op with a lowering gets its device twin (``Elemwise`` becomes ``GpuElemwise``).
Values are transferred where the other side needs them, so never to and fro. Lengths of
axes, and the integers computed from them, stay on the host: they depend on shapes, not
on data.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpuarray.compiler.errors import GraphValueError, NotOfferedError, made_at
from gpuarray.compiler.gpukernels import INTEGERS, is_integer_arithmetic, lowering_of
from gpuarray.compiler.graph.core import (
    Apply,
    Constant,
    Op,
    Variable,
    is_device_node,
)
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.scan.named_contexts import within
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.shape.shape import DimShuffle, Shape, Shape_i
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.ops.variables.context_assignment import Places, places_of
from gpuarray.compiler.ops.variables.transfer import (
    GpuFromHost,
    GpuToGpu,
    HostFromGpu,
    Transfer,
)


class DeviceOp:
    """The mixin of an op's device twin: it adds the name of the context it runs on."""

    context_name: str | None

    def brought(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays unchanged: the host op computes with NumPy."""
        return list(arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the host op and the context's name."""
        return device_op, (host_op(self), self.context_name)


def host_op(twin: Any) -> Op:
    """Return the host op of a device twin."""
    _, host = type(twin).__bases__
    op: Op = object.__new__(host)
    vars(op).update({k: v for k, v in vars(twin).items() if k != "context_name"})
    return op


def source_at(placed: Variable, place: str | None) -> Variable | None:
    """Return a variable as it is on a context already: itself, or what it is a copy of.

    None if it is on others alone.
    """
    while placed.type.context_name != place:
        owner = placed.owner
        if owner is None or not isinstance(owner.op, GpuToGpu):
            return None
        (placed,) = owner.inputs
    return placed


_TWINS: dict[type[Op], type[Op]] = {}


def device_op(op: Op, context_name: str | None) -> Op:
    """The device twin of a host op: same properties, class name after ``Gpu``."""
    host = type(op)
    if host not in _TWINS:
        props = (*getattr(host, "__props__", ()), "context_name")
        body = {"__props__": props, "__doc__": host.__doc__, "__module__": __name__}
        _TWINS[host] = type(f"Gpu{host.__name__}", (DeviceOp, host), body)
    twin = copy.copy(op)
    object.__setattr__(twin, "__class__", _TWINS[host])
    object.__setattr__(twin, "context_name", context_name)
    return twin


class Placer:
    """Translates a host graph, node by node in order.

    ``on_device`` and ``on_host`` map the host graph's variables to the placed ones. The
    host must know the values of ``needed``; ``read`` has its copies of those that the
    device computes. ``names`` maps a program's names of contexts to one for each,
    ``places`` has the variables on another context than ``context_name``.
    """

    def __init__(
        self,
        context_name: str | None,
        resident: Collection[Variable],
        needed: Collection[Variable],
        names: Mapping[str | None, str | None],
        places: Places,
    ) -> None:
        self.context_name = context_name
        self.names = names
        self.places = places
        self.copies: dict[tuple[Variable, str | None], Variable] = {}
        self.resident = frozenset(resident)
        self.needed = frozenset(needed)
        self.on_device: dict[Variable, Variable] = {}
        self.on_host: dict[Variable, Variable] = {}
        self.read: dict[Variable, Variable] = {}

    def place_of(self, variable: Variable) -> str | None:
        """Return the name of a variable's context."""
        name = self.places.get(variable, self.context_name)
        return self.names.get(name, self.context_name)

    def place_of_node(self, node: Apply) -> str | None:
        """Return the name of the context that a node runs on."""
        return self.place_of(node.outputs[0])

    def gpu_type(self, kind: ArrayType, place: str | None) -> GpuArrayType:
        """Return the type's twin on a context."""
        return GpuArrayType(kind.dtype, kind.broadcastable, place)

    def add_input(self, variable: Variable) -> Variable:
        """Return the placed graph's input for an input of the host graph."""
        if isinstance(variable.type, GpuArrayType) or variable in self.resident:
            kind = self.gpu_type(variable.type, self.place_of(variable))
            placed = self.on_device[variable] = kind(variable.name)
        else:
            placed = self.on_host[variable] = variable.type(variable.name)
            placed.tag.is_host_int = self.is_host_int(variable)
        placed.tag.trace = variable.tag.trace
        return placed

    def device(self, variable: Variable) -> Variable:
        """Return the variable on its device, transferred if needed."""
        return self.device_at(variable, self.place_of(variable))

    def device_at(self, variable: Variable, place: str | None) -> Variable:
        """Return the variable on a context, transferred if needed."""
        if variable not in self.on_device and not isinstance(variable, Constant):
            self.on_device[variable] = self.brought(variable, place)
        there = self.on_device.get(variable)
        source = None if there is None else source_at(there, place)
        if source is not None:
            return source
        key = variable, place
        if key not in self.copies:
            self.copies[key] = self.copied(variable, there, place)
        return self.copies[key]

    def copied(
        self, variable: Variable, there: Variable | None, place: str | None
    ) -> Variable:
        """Return a constant on a context, or the copy of another context's variable."""
        kind = self.gpu_type(variable.type, place)
        if there is None:
            assert isinstance(variable, Constant)
            return Constant(kind, variable.data, variable.name)
        return self.apply(GpuToGpu(place), [there], [kind], variable)[0]

    def brought(self, variable: Variable, place: str | None) -> Variable:
        """Return a variable of the host transferred to a context."""
        kind = self.gpu_type(variable.type, place)
        transfer = GpuFromHost(place)
        return self.apply(transfer, [self.on_host[variable]], [kind], variable)[0]

    def host(self, variable: Variable) -> Variable:
        """Return the variable on the host: a constant, there already, or read."""
        if isinstance(variable, Constant):
            return variable
        is_computed = variable.owner is not None or self.is_host_int(variable)
        if variable in self.on_host and is_computed:
            return self.on_host[variable]
        if variable not in self.read:
            placed = self.device(variable)
            (self.read[variable],) = self.apply(
                HostFromGpu(), [placed], [variable.type], variable
            )
        return self.read[variable]

    def output(self, variable: Variable) -> Variable:
        """Return the variable as an output on the host; a host input is one as is."""
        is_input = variable.owner is None and variable in self.on_host
        if is_input and not self.is_host_int(variable):
            return self.on_host[variable]
        placed = self.device(variable)
        return self.apply(HostFromGpu(), [placed], [variable.type], variable)[0]

    def apply(
        self, op: Op, inputs: list[Variable], types: list[ArrayType], like: Variable
    ) -> list[Variable]:
        """Return the results of a new node that carries the user's line of ``like``."""
        node = Apply(op, inputs, [kind() for kind in types])
        for output in node.outputs:
            output.tag.trace = like.tag.trace
        return node.outputs

    def is_host_int(self, variable: Variable) -> bool:
        """Return True for a single integer that the host knows before the run."""
        kind = variable.type
        if not all(kind.broadcastable) or kind.dtype not in INTEGERS:
            return False
        if isinstance(variable, Constant):
            return True
        if variable not in self.on_host:
            return False
        if variable.owner is None:
            return variable in self.needed
        return not isinstance(variable.owner.op, MakeVector | Shape)  # vectors

    def is_host_side(self, node: Apply) -> bool:
        """Return True if the host computes the node, with shapes only."""
        if isinstance(node.op, Shape_i | Shape):
            return True
        if not all(self.is_host_int(v) for v in node.inputs):
            return False
        return is_host_arithmetic(node)

    def place(self, node: Apply) -> None:
        """Translate one node."""
        if isinstance(node.op, Transfer):
            (source,), (result,) = node.inputs, node.outputs
            self.on_device[result] = self.device_at(source, self.place_of(result))
        elif self.is_host_side(node):
            self.place_on_host(node)
        else:
            self.place_on_device(node)

    def place_on_host(self, node: Apply) -> None:
        """Translate a node whose results are host integers."""
        like = node.outputs[0]
        if isinstance(node.op, DimShuffle):  # an integer has no axes
            self.on_host[like] = self.host(node.inputs[0])
            return
        reads_shape = isinstance(node.op, Shape_i | Shape)
        find = self.device if reads_shape else self.host
        inputs = [find(v) for v in node.inputs]
        results = self.apply(node.op, inputs, [v.type for v in node.outputs], like)
        self.on_host.update(zip(node.outputs, results, strict=True))

    def place_on_device(self, node: Apply) -> None:
        """Translate a node to its device twin."""
        if lowering_of(node.op) is None:
            mend = "give the op a reference, or a device version with gpukernels.lowers"
            if hasattr(node.op, "c_code"):
                mend = "derive it from gpuarray.compiler.cops.COp: that is compiled"
            raise NotOfferedError(
                made_at(f"function: nothing computes {node.op}; {mend}", node.trace)
            )
        place = self.place_of_node(node)
        is_own = is_device_node(node)
        if is_own:
            self.check_one_context(node)
        inputs = [
            self.operand(node, i, self.place_of_operand(node, i, place))
            for i in range(len(node.inputs))
        ]
        types: list[ArrayType] = [self.gpu_type(v.type, place) for v in node.outputs]
        op = node.op if is_own else device_op(node.op, place)
        if isinstance(op, Scan):
            op.placed_body = self.placed_body(node, place, inputs[1:])
        results = self.apply(op, inputs, types, node.outputs[0])
        if is_own:
            own_types = tuple(v.type for v in (*node.inputs, *node.outputs))
            results[0].tag.own_types = own_types
        for result, output in zip(results, node.outputs, strict=True):
            result.name = output.name
        self.on_device.update(zip(node.outputs, results, strict=True))

    def place_of_operand(
        self, node: Apply, index: int, place: str | None
    ) -> str | None:
        """Return the context on which a node on ``place`` reads an input.

        A loop of several contexts leaves the constants where they are.
        """
        op = node.op
        if not isinstance(op, Scan) or index <= op.n_sequences + op.n_states:
            return place
        is_left = self.leaves(node, place)
        return self.place_of(node.inputs[index]) if is_left else place

    def leaves(self, loop: Apply, place: str | None) -> bool:
        """Return True if a loop names contexts, and it or a constant is on others.

        A body that names none is on the loop's context.
        """
        op = loop.op
        assert isinstance(op, Scan)
        named = list(within(op))
        constants = op.constants(loop.inputs[1:])
        named += [self.places[x] for x in constants if named and x in self.places]
        return any(self.names.get(x, self.context_name) != place for x in named)

    def placed_body(
        self, loop: Apply, place_name: str | None, operands: Sequence[Variable]
    ) -> FunctionGraph:
        """Return the body of a loop on the context, but for integers of shapes.

        ``operands`` are the loop's, in the order of the body's inputs.
        """
        op = loop.op
        assert isinstance(op, Scan)
        body = op.body.cloned()
        first = op.n_sequences + op.n_states
        on_host = {body.inputs[i] for i in op.body.on_host if i >= first}
        arrays = [variable for variable in body.inputs if variable not in on_host]
        graph = FunctionGraph(body.inputs, body.outputs)
        outputs = range(len(body.outputs))
        if not self.leaves(loop, place_name):
            return place(graph, place_name, arrays, outputs, integers=on_host)
        homes = {
            variable: getattr(operand.type, "context_name", place_name)
            for variable, operand in zip(body.inputs, operands, strict=True)
        }
        return place(
            graph,
            place_name,
            arrays,
            outputs,
            self.names,
            integers=on_host,
            homes=homes,
        )

    def check_one_context(self, node: Apply) -> None:
        """Raise ValueError for an op whose arrays live on several contexts."""
        kinds = (variable.type for variable in (*node.inputs, *node.outputs))
        names = [kind.context_name for kind in kinds if isinstance(kind, GpuArrayType)]
        several = {self.names.get(name, self.context_name): name for name in names}
        if len(several) > 1:
            listed = " and ".join(map(repr, several.values()))
            raise GraphValueError(
                made_at(
                    f"{node.op}: its arrays live on the contexts {listed}, a node runs "
                    "on one; in make_node, let ctx = infer_context_name(*inputs) and "
                    "give it as_gpuarray_variable(x, ctx)",
                    node.trace,
                )
            )

    def operand(self, node: Apply, index: int, place: str | None) -> Variable:
        """Return an input of a device node; shapes and lengths are host integers."""
        variable = node.inputs[index]
        if index in node.op.host_inputs(node):
            return self.host(variable)
        takes_integers = isinstance(
            node.op, Elemwise | MakeVector | Rowwise | MultiTensor
        )
        is_there = variable in self.on_host and self.is_host_int(variable)
        return (
            self.on_host[variable]
            if takes_integers and is_there
            else self.device_at(variable, place)
        )


def is_host_arithmetic(node: Apply) -> bool:
    """Return True if the host can compute the node from known inputs."""
    if isinstance(node.op, MakeVector | DimShuffle):
        return all(v.type.dtype in INTEGERS for v in node.inputs)
    return is_integer_arithmetic(node.op) and all(
        v.type.dtype in INTEGERS for v in (*node.inputs, *node.outputs)
    )


def needed_on_host(fgraph: FunctionGraph) -> set[Variable]:
    """Return the variables that shapes depend on, and their ancestors."""
    nodes = fgraph.toposort()
    needed = {node.inputs[i] for node in nodes for i in node.op.host_inputs(node)}
    for node in reversed(nodes):
        if is_host_arithmetic(node) and not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
    return needed


def place(
    fgraph: FunctionGraph,
    context_name: str | None,
    resident: Collection[Variable],
    stay: Collection[int],
    names: Mapping[str | None, str | None] | None = None,
    become: Mapping[int, Variable] | None = None,
    integers: Collection[Variable] = (),
    homes: Mapping[Variable, str | None] | None = None,
) -> FunctionGraph:
    """Return a new graph on the context.

    ``resident`` are host-typed inputs whose values live on the context (shared
    variables); ``stay`` are the indices of outputs that are to stay there although they
    are of a host type (updates). ``names`` maps the program's names of contexts, if
    they mean several, to one name for each, and ``become`` outputs to the inputs that
    they are the next values of. ``integers`` are inputs that the host knows even where
    no shape depends on them. The body of a loop has the ``homes`` of its inputs; its
    outputs are on the loop's context, whichever one computed them.
    """
    places: Places = {}
    if names is not None:
        places = places_of(fgraph.inputs, fgraph.toposort(), homes or {})
    needed = needed_on_host(fgraph) | set(integers)
    placer = Placer(context_name, resident, needed, names or {}, places)
    inputs = [placer.add_input(v) for v in fgraph.inputs]
    for node in fgraph.toposort():
        placer.place(node)
    becomes = become or {}
    outputs = [
        placer.device_at(
            v,
            context_name if homes else placer.place_of(becomes.get(i, v)),
        )
        if isinstance(v.type, GpuArrayType) or i in stay
        else placer.output(v)
        for i, v in enumerate(fgraph.outputs)
    ]
    return FunctionGraph(inputs, outputs)
