"""Views, shapes, and the transfers at a graph's inputs and outputs."""

from __future__ import annotations

import numpy as np
from gpuarray._kernels.codegen import convert, self_contained
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.elemwise import Inputs
from gpuarray.compiler.gpukernels.registry import Lowerer, array_value, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo, Rebroadcast
from gpuarray.compiler.ops.shape.shape import DimShuffle, Reshape, Shape, Shape_i
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.ops.variables.transfer import GpuFromHost, HostFromGpu


@lowers(DimShuffle)
def dimshuffle(op: DimShuffle, node: Apply, k: Lowerer) -> None:
    """Lower to a view with the axes in another order."""
    ins = k.inputs(node.inputs)
    pattern = tuple(-1 if axis == "x" else int(axis) for axis in op.new_order)
    k.add(plan.View("dimshuffle", k.origin(node), k.outputs(node), ins, pattern))


@lowers(Reshape)
def reshape(op: Reshape, node: Apply, k: Lowerer) -> None:
    """Lower to a reshape."""
    array, vector = node.inputs
    ins = (k.number(array), *k.integers(vector, op.ndim))
    k.add(plan.ReshapeStep("reshape", k.origin(node), k.outputs(node), ins))


@lowers(BroadcastTo)
def broadcast_to(op: BroadcastTo, node: Apply, k: Lowerer) -> None:
    """Lower to a view repeated along axes of length 1 and new axes on the left."""
    array, vector = node.inputs
    ins = (k.number(array), *k.integers(vector, op.ndim))
    k.add(plan.Broadcast("broadcast_to", k.origin(node), k.outputs(node), ins))


@lowers(Rebroadcast)
def rebroadcast(op: Rebroadcast, node: Apply, k: Lowerer) -> None:
    """Lower to a reshape, which fails where an axis should have length 1."""
    (array,) = node.inputs
    lengths = [
        k.host_int(1) if is_one else k.dim(array, axis)
        for axis, is_one in enumerate(op.broadcastable)
    ]
    ins = (k.number(array), *lengths)
    k.add(plan.ReshapeStep("rebroadcast", k.origin(node), k.outputs(node), ins))


@lowers(Shape_i)
def shape_i(op: Shape_i, node: Apply, k: Lowerer) -> None:
    """Lower to the length of an axis."""
    k.bind(node.outputs[0], k.dim(node.inputs[0], op.i))


@lowers(Shape)
def shape(op: Shape, node: Apply, k: Lowerer) -> None:
    """Lower to nothing: readers of the vector read its lengths."""


@lowers(MakeVector)
def make_vector(op: MakeVector, node: Apply, k: Lowerer) -> None:
    """Lower to a vector of scalars; readers of host integers read the parts."""
    if k.on_host(node):
        return
    inputs = Inputs(node.inputs, 0, k)
    for i, number in enumerate(inputs.numbers):
        if not k.is_int_value(number):
            inputs.numbers[i] = as_vector(number, inputs.dtypes[i], node, k)
    write_vector(node, inputs, k)


def as_vector(number: int, dtype: str, node: Apply, k: Lowerer) -> int:
    """Return a view of a scalar as a vector of length 1."""
    view = k.new_value(plan.ArrayValue(dtype, (True,)))
    k.add(plan.View("dimshuffle", k.origin(node), (view,), (number,), (-1,)))
    return view


@lowers(HostFromGpu)
def host_from_gpu(op: HostFromGpu, node: Apply, k: Lowerer) -> None:
    """Bind an output to the array, read after the run; integers are read on demand."""
    if node.outputs[0] in k.results:
        k.bind(node.outputs[0], k.number(node.inputs[0]))


@lowers(GpuFromHost)
def gpu_from_host(op: GpuFromHost, node: Apply, k: Lowerer) -> None:
    """Lower an input to its array, and lengths to a launch that writes them."""
    (variable,) = node.inputs
    if k.has(variable) and not k.is_int(variable):
        k.bind(node.outputs[0], k.number(variable))
        return
    is_vector = variable.type.ndim == 1 and not k.has(variable)  # else one integer
    numbers = k.integers(variable) if is_vector else (k.integer(variable),)
    inputs = Inputs([], 0, k)
    for number in numbers:
        inputs.operands.append((inputs.argument(number, "int64"), "int64"))
    write_vector(node, inputs, k)


def write_vector(node: Apply, inputs: Inputs, k: Lowerer) -> None:
    """Add a launch that writes scalars to the elements of the result, in order.

    A result with axes is written by position: the kernel reads 0, 1, 2, ... and selects
    the scalar of that position. Only one scalar can have more than one axis.
    """
    value = array_value(node.outputs[0])
    target = np.dtype(value.dtype)
    texts = [convert(text, np.dtype(of), target) for text, of in inputs.operands]
    expr = texts.pop() if texts else "0"
    if value.ndim > 0:
        shape = (len(inputs.operands), *(1,) * (value.ndim - 1))
        places = np.arange(shape[0], dtype="int64").reshape(shape)
        number = k.constant(places, plan.ArrayValue("int64", value.broadcastable))
        place = inputs.argument(number, "int64")
        picks = (f"{place} == {i} ? {text} : " for i, text in enumerate(texts))
        expr = f"{''.join(picks)}{expr}"
    outs = k.outputs(node)
    k.add(
        plan.LaunchStep(
            label="vector" if value.ndim else "scalar",
            origin=k.origin(node),
            outs=outs,
            ins=tuple(inputs.numbers),
            expr=f"o0 = {expr};",
            preamble=self_contained(""),
            names=tuple(inputs.names),
            in_dtypes=tuple(inputs.dtypes),
            out_names=("o0",),
            inplace=(-1,),
        )
    )
