"""Softmax and its costs: first made stable, then expanded into rows and reductions.

A classifier's cost reads one element of each row; its gradient is the softmax less one
at that index. Both follow from rules with one idea each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gpuarray.compiler.graph.core import Apply, Op, Variable, constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.creation.creation import ARange, counted
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.index.advanced import (
    ARRAY,
    AdvancedIncSubtensor,
    AdvancedSubtensor,
)
from gpuarray.compiler.ops.nnet.ctc import ConnectionistTemporalClassification
from gpuarray.compiler.ops.nnet.nnet import (
    FirstOf,
    FirstRows,
    InBounds,
    LogSoftmax,
    Pick,
    Softmax,
    Spread,
    opened_logsoftmax,
    opened_softmax,
    pick,
    spread,
)
from gpuarray.compiler.ops.nnet.pooling import Pool
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.lengths import settled
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle,
    dimshuffle,
    shape_i,
)
from gpuarray.compiler.rewrites.arithmetic.exponentials import (
    PARTS,
    exponent_of_share,
    known_log,
    whole_of,
)
from gpuarray.compiler.rewrites.arithmetic.products import (
    factors_of,
    product_of,
    rebuild,
)
from gpuarray.compiler.rewrites.arrays.changes import is_zeros
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass, rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    call,
    cast,
    is_constant,
    is_float,
    match,
    number,
    same,
)
from gpuarray.scalars import Scalar


@rewrite(phase="stabilize", ops=["log"], forms=["log"])
def log_of_softmax(node: Apply) -> Variable | None:
    """Use logsoftmax, which is finite where the softmax underflows.

    log(softmax(X)) -> logsoftmax(X)
    log(softmax(X, 0)) -> logsoftmax(X, 0)
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, Softmax):
        return None
    result: Variable = LogSoftmax(owner.op.axis)(*owner.inputs)
    return result


@rewrite(phase="stabilize", ops=["log"], forms=["log"])
def log_of_part(node: Apply) -> Variable | None:
    """Take the logarithm before elements, or before axes move, where that is stable.

    log(softmax(X).T) -> log(softmax(X)).T
    log(pick(softmax(X), k)) -> pick(log(softmax(X)), k)
    log(sigmoid(X)[0]) -> log(sigmoid(X))[0]
    log(X.T) -> log(X.T)
    """
    owner = node.inputs[0].owner
    if owner is None or not isinstance(owner.op, PARTS):
        return None
    x, *index = owner.inputs
    if not _has_stable_log(whole_of(x)):
        return None
    return owner.op.make_node(call("log", x), *index).out


def _has_stable_log(x: Variable) -> bool:
    """True if rules of logarithms apply to it that keep what would underflow."""
    if x.owner is None or not is_float(x):
        return False
    if isinstance(x.owner.op, Softmax) or argument(x, "sigmoid") is not None:
        return True
    return exponent_of_share(x) is not None or known_log(x) is not None


@rewrite(phase="stabilize", ops=["where_nonzero"], kinds="f")
def cancel_picked_elements(node: Apply) -> Variable | None:
    """Cancel a softmax and the elements of it that divide what is spread over its rows.

    The gradient of the logarithm of these elements is such a product. Where the
    quotient is zero its numerator is: no element of a softmax is greater than one.

    times(spread_first(softmax(X), k, u / picked(softmax(X), k)), softmax(X)) -> spread_first(softmax(X), k, u)
    times(spread_first(X, k, u / picked(X, k)), X) -> times(spread_first(X, k, u / picked(X, k)), X)
    """  # noqa: E501
    spread_out, inner = node.inputs
    factors, owner = match(inner, "mul"), spread_out.owner
    if factors is None or factors[0] is not spread_out or owner is None:
        return None
    x, rows = factors[1], owner.inputs[0].owner
    is_softmax = x.owner is not None and isinstance(x.owner.op, Softmax)
    if rows is None or not is_softmax or not isinstance(owner.op, Spread):
        return None
    if not isinstance(rows.op, FirstRows):
        return None
    values, *lengths = rows.inputs
    _, places, n = owner.inputs
    picked = FirstOf()(pick(x, places), lengths[0])
    product = product_of(values)
    for part in factors_of(product or []):
        divisor = None if part.is_above else part.variable
        if product is None or divisor is None or not same(divisor, picked):
            continue
        part.variable = None
        kept = FirstRows()(rebuild(product, values), *lengths)
        result = spread(kept, places, n)
        return result if result.type == node.outputs[0].type else None
    return None


@rewrite(phase="simplify", ops=[Reduce])
def sum_of_spread(node: Apply) -> Variable | None:
    """Sum spread values without the zeros around them.

    sum(spread(u, k, 4), 1) -> u
    sum(spread(u, k, 4)) -> sum(u)
    sum(spread(u, k, 4), 0) -> sum(spread(u, k, 4), 0)
    """
    op, out = node.op, node.outputs[0]
    owner = node.inputs[0].owner
    assert isinstance(op, Reduce)
    if op.monoid != "add" or owner is None or not isinstance(owner.op, Spread):
        return None
    values = owner.inputs[0]
    last = values.type.ndim
    if last not in op.axes or values.type.dtype != out.type.dtype:
        return None
    rest = [axis for axis in op.axes if axis != last]
    result: Variable = values
    if rest:
        result = Reduce("add", rest, op.dtype, op.acc_dtype)(values)
    return result if result.type == out.type else None


@rewrite(phase="specialize", ops=[Pick])
def pick_before_computing(node: Apply) -> Variable | None:
    """Pick elements before computing with them.

    pick(log(X), k) -> log(pick(X, k))
    pick(X - col(u), k) -> pick(X, k) - u
    pick(X - Y, k) -> pick(X - Y, k)
    """
    x, labels = node.inputs
    owner = x.owner
    if owner is None or not isinstance(owner.op, Elemwise) or len(owner.outputs) > 1:
        return None
    last = x.type.ndim - 1
    flags = [operand.type.broadcastable for operand in owner.inputs]
    whole = [i for i, flag in enumerate(flags) if not flag[last]]
    rows = x.type.broadcastable[:last]
    if len(whole) != 1 or flags[whole[0]][:last] != rows:
        return None
    picked = [
        pick(operand, labels) if index in whole else _without_last(operand)
        for index, operand in enumerate(owner.inputs)
    ]
    result: Variable = Elemwise(owner.op.scalar)(*picked)
    return result


def _without_last(x: Variable) -> Variable:
    """Return a variable without its last axis, which broadcasts."""
    return _without(x, x.type.ndim - 1)


def _without(x: Variable, axis: int) -> Variable:
    """Return a variable without an axis that broadcasts."""
    owner = x.owner
    if owner is not None and isinstance(owner.op, DimShuffle):
        order = owner.op.new_order
        if order[axis] == "x":
            return dimshuffle(owner.inputs[0], *order[:axis], *order[axis + 1 :])
    return dimshuffle(x, *(other for other in range(x.type.ndim) if other != axis))


@rewrite(phase="canonicalize", ops=[AdvancedSubtensor])
def pick_elements_of_rows(node: Apply) -> Variable | None:
    """Pick one element from each row, for as many rows as there are indices.

    X[counted(shape_i(k, 0)), k] -> picked(X, k)
    X[counted(3), k[:3]] -> X[counted(3), k[:3]]
    """
    if not _is_of_each_row(node):
        return None
    x, _, labels = node.inputs
    count = shape_i(labels, 0)
    places: Variable = FirstRows()(labels, count, shape_i(x, 0))
    result: Variable = FirstOf()(pick(x, places), count)
    return result if result.type == node.outputs[0].type else None


@rewrite(phase="canonicalize", ops=[AdvancedIncSubtensor])
def spread_elements_of_rows(node: Apply) -> Variable | None:
    """Spread one element over each row of zeros.

    inc_subtensor(zeros_like(X)[counted(shape_i(k, 0)), k], u) -> spread_first(zeros_like(X), k, u)
    inc_subtensor(X[counted(shape_i(k, 0)), k], u) -> inc_subtensor(X[counted(shape_i(k, 0)), k], u)
    """  # noqa: E501
    if not _is_of_each_row(node):
        return None
    x, values, _, labels = node.inputs
    if not is_zeros(x) or values.type.ndim > 1:
        return None
    count, total = shape_i(labels, 0), shape_i(x, 0)
    places = FirstRows()(labels, count, total)
    elements = cast(
        values if values.type.ndim else dimshuffle(values, "x"), x.type.dtype
    )
    rows = FirstRows()(elements, count, total)
    result = spread(rows, places, shape_i(x, 1))
    return result if result.type == node.outputs[0].type else None


@rewrite(phase="canonicalize", ops=[FirstRows])
def choose_first_rows(node: Apply) -> Variable | None:
    """Choose a number that is the same for the first rows by a mask.

    first(broadcast_to(a, (4,)), 4, 9) -> where(are_first(4, 9), first_axis(a), 0.0)
    first(x, shape_i(x, 0), shape_i(x, 0)) -> first(x, shape_i(x, 0), shape_i(x, 0))
    """
    x, count, total = node.inputs
    owner = x.owner
    if owner is not None and isinstance(owner.op, BroadcastTo):
        is_all = same(settled(shape_i(x, 0)), settled(count))
        repeated = owner.inputs[0]
        x = repeated if is_all and repeated.type.ndim <= 1 else x
    is_told = x.type.dtype == "bool" and is_constant(x, 1)
    if is_told or not all(x.type.broadcastable):
        return None
    value = x if x.type.ndim else dimshuffle(x, "x")
    here = FirstRows()(constant(np.ones(1, "bool")), count, total)
    result = call("where", here, value, number(0, value))
    return result if result.type == node.outputs[0].type else None


def _is_of_each_row(node: Apply) -> bool:
    """True if a matrix's index is a range over a vector's length, and the vector."""
    length = _first_rows(node)
    if length is None:
        return False
    pair = match(length, "maximum")
    if pair is not None and is_constant(pair[1], 0):
        length = pair[0]  # the end of a range that may be empty
    return same(settled(length), settled(shape_i(node.inputs[-1], 0)))


def _first_rows(node: Apply) -> Variable | None:
    """Return ``n``, where an index of a matrix is the range of n and a vector."""
    op, rows, labels = node.op, *node.inputs[-2:]
    assert isinstance(op, AdvancedSubtensor | AdvancedIncSubtensor)
    if tuple(op.idx_list) != (ARRAY, ARRAY):
        return None
    counts = rows.owner is not None and isinstance(rows.owner.op, ARange)
    is_vector = labels.type.broadcastable == rows.type.broadcastable == (False,)
    if not counts or not is_vector or node.inputs[0].type.ndim != 2:
        return None
    assert rows.owner is not None
    length: Variable = rows.owner.inputs[0]
    return length


@rewrite(phase="specialize", ops=[AdvancedSubtensor])
def index_rows_before_computing(node: Apply) -> Variable | None:
    """Index elements of the first rows before computing with them.

    log(X)[counted(3), k[:3]] -> log(X[counted(3), k[:3]])
    (X - col(u))[counted(3), k[:3]] -> X[counted(3), k[:3]] - col(u)[counted(3), second(k[:3], 0)]
    (X + row(u))[counted(3), k[:3]] -> X[counted(3), k[:3]] + row(u)[second(counted(3), 0), k[:3]]
    """  # noqa: E501
    x, index = node.inputs[0], node.inputs[-2:]
    owner = x.owner
    if _first_rows(node) is None or owner is None or not isinstance(owner.op, Elemwise):
        return None
    flags = [operand.type.broadcastable for operand in owner.inputs]
    if flags.count((False, False)) != 1 or len(owner.outputs) > 1:
        return None
    picked = [_taken(node.op, operand, index) for operand in owner.inputs]
    result: Variable = Elemwise(owner.op.scalar)(*picked)
    return result


def _taken(op: Op, x: Variable, index: Sequence[Variable]) -> Variable:
    """Return elements of a matrix that may broadcast: along such an axis the first.

    An index of one element stands beside a longer one, so both are always needed.
    """
    flags = x.type.broadcastable
    if all(flags):
        return dimshuffle(_without(x, 0), 0)
    places = [
        call("second", part, number(0, part)) if flag else part
        for part, flag in zip(index, flags, strict=True)
    ]
    elements: Variable = op(x, *places)
    return elements


@rewrite(phase="specialize", ops=[Softmax, LogSoftmax])
def open_softmax(node: Apply) -> Variable | None:
    """Expand softmax, so that its rows and reductions fuse with their neighbours.

    softmax(X) -> opened_softmax(X, 1)
    logsoftmax(X, 0) -> opened_logsoftmax(X, 0)
    """
    (x,) = node.inputs
    op = node.op
    is_plain = isinstance(op, Softmax)
    opened = opened_softmax if is_plain else opened_logsoftmax
    assert isinstance(op, (Softmax, LogSoftmax))
    if x.type.dtype in ("float16", "bfloat16"):
        return cast(opened(cast(x, "float32"), op.axis), x.type.dtype)
    result = opened(x, op.axis)
    return result if result.type == node.outputs[0].type else None


@rewrite(phase="specialize", ops=[Spread])
def open_spread(node: Apply) -> Variable | None:
    """Expand rows of zeros with one element into a comparison of indices.

    spread(u, k, 4) -> where(at(k, 4), col(u), 0.0)
    """
    values, labels, length = node.inputs
    last = values.type.ndim
    counts = dimshuffle(counted(length), *("x",) * last, 0)
    places = dimshuffle(InBounds()(labels, length), *range(last), "x")
    here = call("eq", counts, places)
    spread_out = dimshuffle(values, *range(last), "x")
    result = call("where", here, spread_out, number(0, spread_out))
    return result if result.type == node.outputs[0].type else None


# ---- pooling ----


@rewrite(phase="specialize", ops=[Pool], kinds="f")
def pool_before_computing(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Take maxima of windows before computing what increases with their elements.

    There are fewer of them. Nothing else may read the elements, so it is for inference;
    the maxima are the same to rounding, but for infinite elements and numbers that add
    to nan.

    max_pool(tanh(Q)) -> tanh(max_pool(Q))
    max_pool(Q + a) -> max_pool(Q) + a
    max_pool(maximum(0, Q - a)) -> maximum(0, max_pool(Q) - a)
    max_pool(Q - R) -> max_pool(Q - R)
    max_pool(a - Q) -> max_pool(a - Q)
    max_pool(-Q) -> max_pool(-Q)
    """
    op, (x, *numbers) = node.op, node.inputs
    assert isinstance(op, Pool)
    owner = x.owner
    if op.mode != "max" or owner is None or len(fgraph.clients[x]) > 1:
        return None
    row = owner.op.scalar if isinstance(owner.op, Elemwise) else None
    if not isinstance(row, Scalar):
        return None
    whole = [v for v in owner.inputs if not is_same_in_windows(v, op.ndim)]
    place = owner.inputs.index(whole[0]) if len(whole) == 1 else -1
    if place not in row.increases_in:
        return None
    elements = owner.inputs[place]
    if not is_float(elements) or elements.type.broadcastable != x.type.broadcastable:
        return None
    operands = list(owner.inputs)
    operands[place] = op(elements, *numbers)
    result: Variable = owner.op(*operands)
    return result if result.type == node.outputs[0].type else None


def is_same_in_windows(x: Variable, ndim: int) -> bool:
    """True for an operand that broadcasts along the last axes, which are pooled."""
    return all(x.type.broadcastable[-ndim:])


# ---- sequences ----


@graph_pass(phase="fuse")
def drop_unread_gradients(fgraph: FunctionGraph, log: Log) -> bool:
    """Compute no gradients of CTC's costs where nothing reads them."""
    changed = False
    for node in fgraph.toposort():
        op = node.op
        if not isinstance(op, ConnectionistTemporalClassification):
            continue
        if op.compute_grad and not fgraph.clients[node.outputs[1]]:
            costs = ConnectionistTemporalClassification(False)(*node.inputs)
            log.note("drop_unread_gradients", node.outputs[0], costs)
            fgraph.replace(node.outputs[0], costs, reason="drop_unread_gradients")
            changed = True
    return changed
