"""Puts a graph on a context: one generic walk over the registry of device ops.

Every op with a lowering gets its device twin (``Elemwise`` becomes ``GpuElemwise``).
A transfer is made where a value is needed on the other side, so a pair that undoes
itself never is. Lengths of axes, and the integers computed from them, stay on the host:
they depend on shapes, not on data.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from gpuarray.compiler.errors import NotOfferedError, made_at
from gpuarray.compiler.gpukernels import INTEGERS, is_integer_arithmetic, lowering_of
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType
from gpuarray.compiler.ops.basic import MakeVector
from gpuarray.compiler.ops.elemwise import Elemwise
from gpuarray.compiler.ops.rowwise import Rowwise
from gpuarray.compiler.ops.shape import DimShuffle, Shape, Shape_i
from gpuarray.compiler.ops.together import Together
from gpuarray.compiler.ops.transfer import GpuFromHost, HostFromGpu, Transfer


class DeviceOp:
    """What a device twin adds to its host op: the name of the context it runs on."""

    context_name: str | None

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the host op and the name."""
        return device_op, (host_op(self), self.context_name)


def host_op(twin: Any) -> Op:
    """The host op of a device twin."""
    _, host = type(twin).__bases__
    op: Op = object.__new__(host)
    vars(op).update({k: v for k, v in vars(twin).items() if k != "context_name"})
    return op


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

    It has state because each node needs to know where the results before it are:
    ``on_device`` and ``on_host`` map the host graph's variables to the placed ones.
    The host must know the values of ``needed``; ``read`` holds its copies of those that
    the device computes.
    """

    def __init__(
        self,
        context_name: str | None,
        resident: Collection[Variable],
        needed: Collection[Variable],
    ) -> None:
        self.context_name = context_name
        self.resident = frozenset(resident)
        self.needed = frozenset(needed)
        self.on_device: dict[Variable, Variable] = {}
        self.on_host: dict[Variable, Variable] = {}
        self.read: dict[Variable, Variable] = {}

    def gpu_type(self, kind: ArrayType) -> GpuArrayType:
        """The type's twin on the context."""
        return GpuArrayType(kind.dtype, kind.broadcastable, self.context_name)

    def add_input(self, variable: Variable) -> Variable:
        """The placed graph's input for an input of the host graph."""
        if isinstance(variable.type, GpuArrayType):
            placed = self.on_device[variable] = variable.type(variable.name)
        elif variable in self.resident:
            kind = self.gpu_type(variable.type)
            placed = self.on_device[variable] = kind(variable.name)
        else:
            placed = self.on_host[variable] = variable.type(variable.name)
            placed.tag.is_host_int = self.is_host_int(variable)
        placed.tag.trace = variable.tag.trace
        return placed

    def device(self, variable: Variable) -> Variable:
        """The variable on the device, brought there if it is not."""
        if variable not in self.on_device:
            self.on_device[variable] = self.brought(variable)
        return self.on_device[variable]

    def brought(self, variable: Variable) -> Variable:
        """A constant or a variable of the host on the device."""
        kind = self.gpu_type(variable.type)
        if isinstance(variable, Constant):
            return Constant(kind, variable.data, variable.name)
        transfer = GpuFromHost(self.context_name)
        return self.apply(transfer, [self.on_host[variable]], [kind], variable)[0]

    def host(self, variable: Variable) -> Variable:
        """The variable on the host: a constant, what is there, or what is read."""
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
        """The variable as an output on the host; an input of the host is one as is."""
        is_input = variable.owner is None and variable in self.on_host
        if is_input and not self.is_host_int(variable):
            return self.on_host[variable]
        placed = self.device(variable)
        return self.apply(HostFromGpu(), [placed], [variable.type], variable)[0]

    def apply(
        self, op: Op, inputs: list[Variable], types: list[ArrayType], like: Variable
    ) -> list[Variable]:
        """The results of a new node that carries the user's line of ``like``."""
        node = Apply(op, inputs, [kind() for kind in types])
        for output in node.outputs:
            output.tag.trace = like.tag.trace
        return node.outputs

    def is_host_int(self, variable: Variable) -> bool:
        """Whether the variable is one integer that the host knows before the run."""
        kind = variable.type
        if not all(kind.broadcastable) or kind.dtype not in INTEGERS:
            return False
        if isinstance(variable, Constant):
            return True
        if variable not in self.on_host:
            return False
        if variable.owner is None:
            return variable in self.needed
        return not isinstance(variable.owner.op, MakeVector | Shape)  # a list of one

    def is_host_side(self, node: Apply) -> bool:
        """Whether the node computes with shapes only, so that the host does it."""
        if isinstance(node.op, Shape_i | Shape):
            return True
        if not all(self.is_host_int(v) for v in node.inputs):
            return False
        return is_host_arithmetic(node)

    def place(self, node: Apply) -> None:
        """Translate one node."""
        if isinstance(node.op, Transfer):
            self.on_device[node.outputs[0]] = self.device(node.inputs[0])
        elif self.is_host_side(node):
            self.place_on_host(node)
        else:
            self.place_on_device(node)

    def place_on_host(self, node: Apply) -> None:
        """Translate a node whose results are host integers."""
        like = node.outputs[0]
        if isinstance(node.op, DimShuffle):  # an integer needs no axes
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
            raise NotOfferedError(
                made_at(
                    f"function: nothing computes {node.op}; give the op a reference, "
                    "or a device version with gpukernels.lowers",
                    node.trace,
                )
            )
        inputs = [self.operand(node, i) for i in range(len(node.inputs))]
        types: list[ArrayType] = [self.gpu_type(v.type) for v in node.outputs]
        twin = device_op(node.op, self.context_name)
        results = self.apply(twin, inputs, types, node.outputs[0])
        for result, output in zip(results, node.outputs, strict=True):
            result.name = output.name
        self.on_device.update(zip(node.outputs, results, strict=True))

    def operand(self, node: Apply, index: int) -> Variable:
        """An input of a device node; shapes and lengths are given as host integers."""
        variable = node.inputs[index]
        if index in node.op.host_inputs(node):
            return self.host(variable)
        takes_integers = isinstance(node.op, Elemwise | MakeVector | Rowwise | Together)
        is_there = variable in self.on_host and self.is_host_int(variable)
        return (
            self.on_host[variable]
            if takes_integers and is_there
            else self.device(variable)
        )


def is_host_arithmetic(node: Apply) -> bool:
    """Whether the host can compute the node if it knows its inputs."""
    if isinstance(node.op, MakeVector | DimShuffle):
        return all(v.type.dtype in INTEGERS for v in node.inputs)
    return is_integer_arithmetic(node.op) and all(
        v.type.dtype in INTEGERS for v in (*node.inputs, *node.outputs)
    )


def needed_on_host(fgraph: FunctionGraph) -> set[Variable]:
    """The variables whose values settle shapes, and what these are computed from."""
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
) -> FunctionGraph:
    """A new graph on the context.

    ``resident`` are host-typed inputs whose values live on the context (shared
    variables); ``stay`` are the indices of outputs that are to stay there although they
    are of a host type (updates).
    """
    placer = Placer(context_name, resident, needed_on_host(fgraph))
    inputs = [placer.add_input(v) for v in fgraph.inputs]
    for node in fgraph.toposort():
        placer.place(node)
    outputs = [
        placer.device(v)
        if isinstance(v.type, GpuArrayType) or i in stay
        else placer.output(v)
        for i, v in enumerate(fgraph.outputs)
    ]
    return FunctionGraph(inputs, outputs)
