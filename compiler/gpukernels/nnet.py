"""Softmax, pick and spread, where no rewrite has expanded them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray._creation.filled import zeros
from gpuarray._indexing.advanced_indexing import take_at
from gpuarray._manipulation.shaping import broadcast_to
from gpuarray._manipulation.take_put import where
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.bodies import Steps, body_of, unfolds
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.creation import counted
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.creation.creation import ARange
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet.nnet import (
    FirstOf,
    FirstRows,
    InBounds,
    LogSoftmax,
    Pick,
    Softmax,
    Spread,
    check_first_rows,
)
from gpuarray.compiler.ops.reduce import reduce


def _parts(x: Array, axis: int) -> tuple[Any, Any, Any]:
    """Return ``x`` less its maximum, the exponentials of that, and their sum."""
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = FUNCTIONS["exp"](shifted)
    return shifted, powers, powers.sum(axis=axis, keepdims=True)


@step_function("softmax")
def softmax(x: Array, *, axis: int) -> Any:
    """Return the exponentials divided by their sum."""
    _, powers, total = _parts(x, axis)
    return powers / total


@step_function("logsoftmax")
def logsoftmax(x: Array, *, axis: int) -> Any:
    """Return the logarithm of ``softmax``."""
    shifted, _, total = _parts(x, axis)
    return shifted - FUNCTIONS["log"](total)


@unfolds(Softmax, LogSoftmax)
def softmax_of(op: Any, inputs: Sequence[Variable]) -> list[Variable]:
    """Return a softmax as reductions and elementwise operations."""
    (x,) = inputs
    row = math.FUNCTIONS
    shifted = row["sub"](x, reduce.max(x, axis=op.axis, keepdims=True))
    powers = row["exp"](shifted)
    total = reduce.sum(powers, axis=op.axis, keepdims=True, dtype=x.type.dtype)
    if isinstance(op, LogSoftmax):
        return [row["sub"](shifted, row["log"](total))]
    return [row["true_div"](powers, total)]


lowered_by_call(Softmax, "softmax", "axis")


lowered_by_call(LogSoftmax, "logsoftmax", "axis")


@step_function("pick")
def pick(x: Array, y: Array) -> Any:
    """Return the element of each row at the position in ``y``."""
    if x.shape[:-1] != y.shape:
        raise GraphValueError(
            f"Pick: rows of shape {x.shape} and places of shape {y.shape}; expected "
            f"{x.shape[:-1]}: a place, or a class, in each row"
        )
    counts = []
    for axis, length in enumerate(y.shape):
        shape = [1] * y.ndim
        shape[axis] = length
        counts.append(counted(length, "int64").reshape(*shape))
    return take_at(x, [*counts, y], 0)


@step_function("within")
def within(y: Array, n: int) -> Any:
    """Return positions counted from the left, bounds-checked."""
    return take_at(counted(n, "int64"), [y], 0)


@body_of("within")
def within_steps(s: Steps, y: int, n: int) -> int:
    """Add a gather from 0, 1, ..., which checks bounds."""
    places = s.routine("arange", [n], "int64", 1)
    return s.routine("take", [places, y], "int64", s.array(y).ndim, 0)


@lowers(InBounds)
def lower_within(op: InBounds, node: Apply, k: Lowerer) -> None:
    """Lower to two launches.

    Positions out of bounds raise at the next wait for the context.
    """
    k.call(node, "within", node.inputs, label=op.called)


@step_function("first_rows")
def first_rows(x: Array, n: int, total: int) -> Any:
    """Return the vector, repeated or padded with zeros to ``total`` elements."""
    check_first_rows(n, total)
    if n == total:
        return x if x.shape[0] == total else broadcast_to(x, (total,))
    result = zeros(total, x.dtype, context=x.context)
    result[:n] = x
    return result


@body_of("first_rows")
def first_rows_steps(s: Steps, x: int, n: int, total: int) -> int:
    """Add a view where all rows are meant, else zeros with the first ones set."""
    dtype = s.array(x).dtype
    s.at_most(x, n, total)
    is_all = s.arithmetic("eq", n, total)
    with s.under(is_all, True):
        same = s.broadcast(x, [total])
    with s.under(is_all, False):
        result = s.routine("zeros", [total], dtype, 1)
        s.routine("assign", [s.index(result, [("stop",)], [n]), x], dtype, 1)
    return s.choose(is_all, same, result)


lowered_by_call(FirstRows, "first_rows")


@lowers(FirstOf)
def lower_first_of(op: FirstOf, node: Apply, k: Lowerer) -> None:
    """Lower to a view: nothing is launched."""
    x, length = node.inputs
    ins = k.number(x), k.integer(length)
    k.add(plan.Index("first", k.origin(node), k.outputs(node), ins, (("stop",),)))


@body_of("pick")
def pick_steps(s: Steps, x: int, y: int) -> int:
    """Add a gather by each row's indices and the given position."""
    ndim = s.array(y).ndim
    pairs = [(s.length(x, axis), s.length(y, axis)) for axis in range(ndim)]
    conditions = [s.arithmetic("eq", *pair) for pair in pairs]
    s.require(x, conditions, "Pick: rows and places of other shapes")
    counts = []
    for axis, (length, _) in enumerate(pairs):
        lengths = [s.integer(1)] * ndim
        lengths[axis] = length
        counts.append(s.reshape(s.routine("arange", [length], "int64", 1), lengths))
    return s.routine("take", [x, *counts, y], s.array(x).dtype, ndim, 0)


lowered_by_call(Pick, "pick")


@step_function("spread")
def spread(g: Array, y: Array, n: int) -> Any:
    """Return rows of zeros with one element each."""
    if g.shape != y.shape:
        raise GraphValueError(
            f"Spread: elements of shape {g.shape} and places of shape {y.shape}"
        )
    places: Any = y.astype("int64", copy=False)[..., None]
    counts = counted(n, "int64")
    here = (counts == places) | (counts == places + n)
    return where(here, g[..., None], g.dtype.type(0))


@unfolds(Spread)
def spread_of(op: Spread, inputs: Sequence[Variable]) -> list[Variable]:
    """Return a spread as comparisons with the positions in a row."""
    g, y, n = inputs
    places = math.cast(y, "int64").dimshuffle(*range(y.type.ndim), "x")
    counts = ARange("int64")(n)
    row = math.FUNCTIONS
    here = row["logical_or"](
        row["eq"](counts, places), row["eq"](counts, row["add"](places, n))
    )
    wide = g.dimshuffle(*range(g.type.ndim), "x")
    return [row["where"](here, wide, math.zeros_like(wide))]


lowered_by_call(Spread, "spread")
