"""Softmax, picking and spreading where no rewrite has opened them up."""

from __future__ import annotations

from typing import Any

from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.creation import counted
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.nnet import (
    FirstOf,
    FirstRows,
    LogSoftmax,
    Pick,
    Softmax,
    Spread,
    Within,
    check_first_rows,
)
from gpuarray.creation import zeros
from gpuarray.elementwise import FUNCTIONS
from gpuarray.fancy import take_at
from gpuarray.picking import where
from gpuarray.shaping import broadcast_to


def _parts(x: Array, axis: int) -> tuple[Any, Any, Any]:
    """``x`` less its largest, the exponentials of that, and their sum."""
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = FUNCTIONS["exp"](shifted)
    return shifted, powers, powers.sum(axis=axis, keepdims=True)


@step_function("softmax")
def softmax(x: Array, *, axis: int) -> Any:
    """Exponentials divided by their sum."""
    _, powers, total = _parts(x, axis)
    return powers / total


@step_function("logsoftmax")
def logsoftmax(x: Array, *, axis: int) -> Any:
    """The logarithm of ``softmax``."""
    shifted, _, total = _parts(x, axis)
    return shifted - FUNCTIONS["log"](total)


@lowers(Softmax)
def lower_softmax(op: Softmax, node: Apply, k: Lowerer) -> None:
    """Two reductions and two elementwise launches."""
    k.call(node, "softmax", node.inputs, {"axis": op.axis})


@lowers(LogSoftmax)
def lower_logsoftmax(op: LogSoftmax, node: Apply, k: Lowerer) -> None:
    """Two reductions and three elementwise launches."""
    k.call(node, "logsoftmax", node.inputs, {"axis": op.axis})


@step_function("pick")
def pick(x: Array, y: Array) -> Any:
    """Of each row the element whose place is in ``y``."""
    if x.shape[:-1] != y.shape:
        raise GraphValueError(
            f"Pick: rows of shape {x.shape} and places of shape {y.shape}"
        )
    counts = []
    for axis, length in enumerate(y.shape):
        shape = [1] * y.ndim
        shape[axis] = length
        counts.append(counted(length, "int64").reshape(*shape))
    return take_at(x, [*counts, y], 0)


@step_function("within")
def within(y: Array, n: int) -> Any:
    """Places counted from the left."""
    return take_at(counted(n, "int64"), [y], 0)


@lowers(Within)
def lower_within(op: Within, node: Apply, k: Lowerer) -> None:
    """A launch, and a short one.

    Places that are not in the row are reported by the next wait for the context.
    """
    k.call(node, "within", node.inputs, label=op.called)


@step_function("first_rows")
def first_rows(x: Array, n: int, total: int) -> Any:
    """The vector, repeated or with zeros behind it where it has not the length."""
    check_first_rows(n, total)
    if n == total:
        return x if x.shape[0] == total else broadcast_to(x, (total,))
    result = zeros(total, x.dtype, context=x.context)
    result[:n] = x
    return result


@lowers(FirstRows)
def lower_first_rows(op: FirstRows, node: Apply, k: Lowerer) -> None:
    """Nothing is launched where lengths agree, else two launches."""
    k.call(node, "first_rows", node.inputs)


@lowers(FirstOf)
def lower_first_of(op: FirstOf, node: Apply, k: Lowerer) -> None:
    """A view: nothing is launched."""
    x, length = node.inputs
    ins = k.number(x), k.integer(length)
    k.add(plan.Index("first", k.origin(node), k.outputs(node), ins, (("stop",),)))


@lowers(Pick)
def lower_pick(op: Pick, node: Apply, k: Lowerer) -> None:
    """A launch, and a short one for each axis of the rows.

    Places that are not in the row are reported by the next wait for the context.
    """
    k.call(node, "pick", node.inputs)


@step_function("spread")
def spread(g: Array, y: Array, n: int) -> Any:
    """Rows of zeros but for one element each."""
    if g.shape != y.shape:
        raise GraphValueError(
            f"Spread: elements of shape {g.shape} and places of shape {y.shape}"
        )
    places: Any = y.astype("int64", copy=False)[..., None]
    counts = counted(n, "int64")
    here = (counts == places) | (counts == places + n)
    return where(here, g[..., None], g.dtype.type(0))


@lowers(Spread)
def lower_spread(op: Spread, node: Apply, k: Lowerer) -> None:
    """Elementwise launches."""
    k.call(node, "spread", node.inputs)
