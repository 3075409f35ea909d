"""Views, shapes, and what stands at the edges of a graph."""

from __future__ import annotations

from typing import Literal

import numpy as np
from gpuarray.compiler import plan
from gpuarray.compiler.errors import NotOfferedError, made_at
from gpuarray.compiler.gpukernels.registry import Lowerer, array_value, lowers
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.ops.basic import MakeVector
from gpuarray.compiler.ops.shape import DimShuffle, Reshape, Shape, Shape_i
from gpuarray.compiler.ops.transfer import GpuFromHost, HostFromGpu


@lowers(DimShuffle)
def dimshuffle(node: Apply, k: Lowerer) -> None:
    """Axes in another order: a view."""
    ins = k.inputs(node.inputs)
    pattern = tuple(-1 if axis == "x" else int(axis) for axis in node.op.new_order)
    outs = k.outputs(node)
    k.add(plan.View("dimshuffle", k.origin(node), outs, ins, pattern))


@lowers(Shape_i)
def shape_i(node: Apply, k: Lowerer) -> None:
    """The length of an axis."""
    k.bind(node.outputs[0], dim(node.inputs[0], node.op.i, k))


def dim(array: Variable, axis: int, k: Lowerer) -> int:
    """The host integer that is the length of an axis."""
    ins = k.inputs([array])
    number = k.new_value(plan.IntValue())
    k.add(plan.Dim("dim", "", (number,), ins, axis))
    return number


def lengths(vector: Variable, k: Lowerer) -> tuple[int, ...]:
    """The host integers that a vector of lengths is made of."""
    if isinstance(vector, Constant):
        return tuple(k.host_int(int(n)) for n in vector.data)
    owner = vector.owner
    if owner is not None and isinstance(owner.op, MakeVector):
        return tuple(k.integer(v) for v in owner.inputs)
    if owner is not None and isinstance(owner.op, Shape):
        (array,) = owner.inputs
        return tuple(dim(array, axis, k) for axis in range(array.type.ndim))
    raise NotOfferedError(
        made_at(
            f"reshape: the shape {vector} is computed on the device; give integers, or "
            "lengths of other arrays",
            getattr(vector.tag, "trace", None),
        )
    )


@lowers(Reshape)
def reshape(node: Apply, k: Lowerer) -> None:
    """The same elements in another shape."""
    array, vector = node.inputs
    ins = (*k.inputs([array]), *lengths(vector, k))
    outs = k.outputs(node)
    k.add(plan.Reshape("reshape", k.origin(node), outs, ins))


@lowers(MakeVector, Shape)
def on_host(node: Apply, k: Lowerer) -> None:
    """A vector of lengths: whoever needs it reads its parts."""


@lowers(HostFromGpu)
def host_from_gpu(node: Apply, k: Lowerer) -> None:
    """An output that is read when the plan has run."""
    k.bind(node.outputs[0], k.number(node.inputs[0]))


@lowers(GpuFromHost)
def gpu_from_host(node: Apply, k: Lowerer) -> None:
    """An input, which is on the device when the plan starts; or lengths, written by a kernel."""
    (variable,) = node.inputs
    if k.has(variable) and not k.is_int(variable):
        k.bind(node.outputs[0], k.number(variable))
    elif variable.type.ndim == 0:
        write_integers(node, (k.integer(variable),), k)
    else:
        write_integers(node, lengths(variable, k), k)


def write_integers(node: Apply, numbers: tuple[int, ...], k: Lowerer) -> None:
    """An array of host integers on the device.

    A vector is written by position: the kernel reads 0, 1, 2, ... and picks the integer of that place.
    """
    value = array_value(node.outputs[0])
    ctype: Literal["int64"] = "int64"
    names = tuple(f"i{i}" for i in range(len(numbers)))
    dtypes: tuple[str, ...] = (ctype,) * len(numbers)
    if value.ndim == 0:
        ins, expr = numbers, "o0 = i0;"
    else:
        places = k.new_value(plan.ArrayValue("int64", value.broadcastable))
        k.constants.append((places, np.arange(len(numbers), dtype="int64")))
        chain = "".join(f"p == {i} ? i{i} : " for i in range(len(numbers) - 1))
        last = f"i{len(numbers) - 1}" if numbers else "0"
        ins, expr = (*numbers, places), f"o0 = {chain}{last};"
        names, dtypes = (*names, "p"), (*dtypes, "int64")
    outs = k.outputs(node)
    k.add(
        plan.Launch(
            "lengths",
            k.origin(node),
            outs,
            ins,
            expr,
            "",
            names,
            dtypes,
            ("o0",),
            (-1,),
        )
    )
