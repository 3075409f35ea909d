"""Puts a graph on a context: one generic walk over the registry of device ops.

Every op with a lowering gets its device twin (``Elemwise`` becomes ``GpuElemwise``); transfers are made
where host and device meet, and a pair that undoes itself is never made. Lengths of axes and
the integers computed from them stay on the host: shapes depend on them, not on data.
"""

from __future__ import annotations

import copy
from collections.abc import Collection

from gpuarray.compiler.errors import NotOfferedError, made_at
from gpuarray.compiler.gpukernels import is_integer_arithmetic, lowering_of
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType
from gpuarray.compiler.ops.basic import MakeVector
from gpuarray.compiler.ops.elemwise import Elemwise
from gpuarray.compiler.ops.shape import DimShuffle, Reshape, Shape, Shape_i
from gpuarray.compiler.ops.transfer import GpuFromHost, HostFromGpu


class DeviceOp:
    """What a device twin adds to its host op: the name of the context it runs on."""

    context_name: str | None


_TWINS: dict[type[Op], type[Op]] = {}


def device_op(op: Op, context_name: str | None) -> Op:
    """The device twin of a host op: same properties, class name with ``Gpu`` before it."""
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
    """Translates a host graph, node by node in order, and remembers where each result is."""

    def __init__(
        self, context_name: str | None, resident: Collection[Variable]
    ) -> None:
        self.context_name = context_name
        self.resident = frozenset(resident)
        self.on_device: dict[Variable, Variable] = {}
        self.on_host: dict[Variable, Variable] = {}

    def gpu_type(self, kind: ArrayType) -> GpuArrayType:
        """The type's twin on the context."""
        return GpuArrayType(kind.dtype, kind.broadcastable, self.context_name)

    def add_input(self, variable: Variable) -> Variable:
        """The placed graph's input for an input of the host graph."""
        is_device = isinstance(variable.type, GpuArrayType)
        if is_device or variable in self.resident:
            kind = variable.type if is_device else self.gpu_type(variable.type)
            placed = self.on_device[variable] = kind(variable.name)
        else:
            placed = self.on_host[variable] = variable.type(variable.name)
        placed.tag.trace = getattr(variable.tag, "trace", None)
        return placed

    def device(self, variable: Variable) -> Variable:
        """The variable on the device, brought there if it is not."""
        if isinstance(variable, Constant) and variable not in self.on_device:
            return variable
        if variable not in self.on_device:
            transfer = GpuFromHost(self.context_name)
            kind = self.gpu_type(variable.type)
            self.on_device[variable] = self.apply(
                transfer, [self.on_host[variable]], [kind], variable
            )[0]
        return self.on_device[variable]

    def result(self, variable: Variable) -> Variable:
        """The variable as an output of the host; what was computed comes back from the device."""
        if variable.owner is None and variable in self.on_host:
            return self.on_host[variable]
        placed = self.device(variable)
        return self.apply(HostFromGpu(), [placed], [variable.type], variable)[0]

    def apply(
        self, op: Op, inputs: list[Variable], types: list[ArrayType], like: Variable
    ) -> list[Variable]:
        """The results of a new node that carries the user's line of ``like``."""
        outputs = [kind() for kind in types]
        node = Apply(op, inputs, outputs)
        trace = getattr(like.tag, "trace", None)
        for output in node.outputs:
            output.tag.trace = trace
        return list(node.outputs)

    def is_host_int(self, variable: Variable) -> bool:
        """Whether the variable is an integer that the host knows before the run."""
        if not all(variable.type.broadcastable) or not variable.type.dtype.startswith(
            "int"
        ):
            return False
        if isinstance(variable, Constant):
            return True
        return variable in self.on_host and variable.owner is not None

    def host_side(self, node: Apply) -> bool:
        """Whether the node computes with shapes only, so that the host does it."""
        if isinstance(node.op, Shape_i | Shape):
            return True
        known = all(self.is_host_int(v) for v in node.inputs)
        if isinstance(node.op, MakeVector | DimShuffle):
            return known
        return known and is_integer_arithmetic(node.op)

    def place(self, node: Apply) -> None:
        """Translate one node."""
        if isinstance(node.op, GpuFromHost | HostFromGpu):
            self.on_device[node.outputs[0]] = self.device(node.inputs[0])
        elif self.host_side(node):
            self.place_on_host(node)
        else:
            self.place_on_device(node)

    def place_on_host(self, node: Apply) -> None:
        """Translate a node whose results are host integers."""
        reads_shape = isinstance(node.op, Shape_i | Shape)
        inputs = [
            self.device(v) if reads_shape else self.on_host.get(v, v)
            for v in node.inputs
        ]
        like = node.outputs[0]
        if isinstance(node.op, DimShuffle):  # an integer needs no axes
            self.on_host[like] = inputs[0]
            return
        types = [v.type for v in node.outputs]
        for old, new in zip(
            node.outputs, self.apply(node.op, inputs, types, like), strict=True
        ):
            self.on_host[old] = new

    def place_on_device(self, node: Apply) -> None:
        """Translate a node to its device twin."""
        if lowering_of(node.op) is None:
            trace = getattr(node.outputs[0].tag, "trace", None)
            raise NotOfferedError(
                made_at(
                    f"function: {node.op} has no device version yet; compute it with "
                    "NumPy before or after the function",
                    trace,
                )
            )
        takes_ints = isinstance(node.op, Elemwise)
        inputs = []
        for position, variable in enumerate(node.inputs):
            is_shape = isinstance(node.op, Reshape) and position == 1
            if (is_shape or (takes_ints and self.is_host_int(variable))) and (
                variable in self.on_host
            ):
                inputs.append(self.on_host[variable])
            else:
                inputs.append(self.device(variable))
        types: list[ArrayType] = [self.gpu_type(v.type) for v in node.outputs]
        twin = device_op(node.op, self.context_name)
        results = self.apply(twin, inputs, types, node.outputs[0])
        self.on_device.update(zip(node.outputs, results, strict=True))


def place(
    fgraph: FunctionGraph,
    context_name: str | None,
    resident: Collection[Variable],
    stay: Collection[int],
) -> FunctionGraph:
    """A new graph on the context.

    ``resident`` are host-typed inputs whose values live on the context (shared variables); ``stay`` are
    the indices of outputs that are to stay there although they are of a host type (updates).
    """
    placer = Placer(context_name, resident)
    inputs = [placer.add_input(v) for v in fgraph.inputs]
    for node in fgraph.toposort():
        placer.place(node)
    outputs = [
        placer.device(v)
        if isinstance(v.type, GpuArrayType) or i in stay
        else placer.result(v)
        for i, v in enumerate(fgraph.outputs)
    ]
    return FunctionGraph(inputs, outputs)
