"""Joins and splits that undo each other or have one part, sorts and diagonals."""

from __future__ import annotations

from functools import reduce as fold

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import ancestors
from gpuarray.compiler.ops.creation.creation import ARange
from gpuarray.compiler.ops.creation.diagonals import AllocDiag, ExtractDiag
from gpuarray.compiler.ops.creation.joining import Join, Split, join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle, elements, shape_i
from gpuarray.compiler.ops.slicing.subtensor import FULL, Subtensor, form_of
from gpuarray.compiler.ops.sorting.scanning import CumOp
from gpuarray.compiler.ops.sorting.sorting import ArgSort, Sort
from gpuarray.compiler.ops.variables.basic import MakeVector, is_constant
from gpuarray.compiler.rewrites.arithmetic.canonical import fold_constants
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import call, cast, same

FOLDED = [ARange, AllocDiag, ArgSort, CumOp, ExtractDiag, Join, Sort]


@rewrite(phase="canonicalize", ops=FOLDED)
def fold_made_arrays(node: Apply) -> list[Variable] | None:
    """Fold arrays made of constants, if they are small.

    arange(3) -> constant([0, 1, 2])
    sort(constant([2.0, 1.0])) -> constant([1.0, 2.0])
    join(0, constant([2.0]), constant([1.0, 3.0])) -> constant([2.0, 1.0, 3.0])
    """
    return fold_constants.transform(node)  # type: ignore[return-value]


def typed(result: Variable, node: Apply) -> Variable | None:
    """Return a rule's result, if it has the type of the node's output."""
    return result if result.type == node.outputs[0].type else None


def joined(node: Apply, parts: list[Variable]) -> Variable | None:
    """Return a join of other parts, if it has the type of the join."""
    assert isinstance(node.op, Join)
    return typed(join(node.op.axis, *parts), node)


# ---- joins ----


@rewrite(phase="canonicalize", ops=[Join])
def join_one(node: Apply) -> Variable | None:
    """Drop a join of one array.

    Join(0)(X) -> X
    """
    return node.inputs[0] if len(node.inputs) == 1 else None


@rewrite(phase="canonicalize", ops=[Join])
def drop_parts_without_elements(node: Apply) -> Variable | None:
    """Drop parts without elements.

    join(0, x, constant([])) -> x
    join(0, constant([]), x, y) -> join(0, x, y)
    """
    assert isinstance(node.op, Join)
    nonempty = [
        part for part in node.inputs if not is_constant(shape_i(part, node.op.axis), 0)
    ]
    return joined(node, nonempty) if nonempty else None


@rewrite(phase="canonicalize", ops=[Join])
def merge_joins(node: Apply) -> Variable | None:
    """Merge nested joins along the same axis.

    join(0, x, join(0, y, z)) -> join(0, x, y, z)
    join(0, join(1, X, Y), join(1, Y, A)) -> join(0, join(1, X, Y), join(1, Y, A))
    """
    parts: list[Variable] = []
    for part in node.inputs:
        owner = part.owner
        parts += [part] if owner is None or owner.op != node.op else owner.inputs
    return joined(node, parts)


@rewrite(phase="canonicalize", ops=[Join])
def merge_made_vectors(node: Apply) -> Variable | None:
    """Merge vectors made of integers, so that shapes stay lengths.

    Join(0)(shape(X), make_vector(2)) -> make_vector(shape_i(X, 0), shape_i(X, 1), 2)
    join(0, x, shape(X)) -> join(0, x, shape(X))
    """
    scalars: list[Variable] = []
    for part in node.inputs:
        known = elements(part)
        if known is None or part.type.dtype[0] not in "iu":
            return None
        scalars += known
    if all(isinstance(part, Constant) for part in node.inputs):
        return None
    vector: Variable = MakeVector(node.outputs[0].type.dtype)(*scalars)
    return typed(vector, node)


@rewrite(phase="canonicalize", ops=[Join])
def join_what_was_split(node: Apply) -> Variable | None:
    """Replace the join of all parts of a split by the whole.

    join(0, *split(x, [1, x.shape[0] - 1], 2)) -> x
    join(0, *split(x, [1, x.shape[0] - 1], 2)[::-1]) -> join(0, *split(x, [1, x.shape[0] - 1], 2)[::-1])
    """  # noqa: E501
    assert isinstance(node.op, Join)
    source = node.inputs[0].owner
    if source is None or not isinstance(source.op, Split):
        return None
    if source.op.axis != node.op.axis or node.inputs != source.outputs:
        return None
    return typed(source.inputs[0], node)


@rewrite(phase="specialize", ops=[Reduce])
def reduce_stacked_parts(node: Apply) -> Variable | None:
    """Reduce stacked arrays element by element.

    sum(join(0, row(x), row(y)), 0) -> dimshuffle(row(x), 1) + dimshuffle(row(y), 1)
    max(join(1, X, Y), 1) -> max(join(1, X, Y), 1)
    """
    op, (x,) = node.op, node.inputs
    owner = x.owner
    assert isinstance(op, Reduce)
    if owner is None or not isinstance(owner.op, Join) or op.axes != (owner.op.axis,):
        return None
    axis = owner.op.axis
    if not all(part.type.broadcastable[axis] for part in owner.inputs):
        return None
    remaining = [i for i in range(x.type.ndim) if i != axis]
    out = node.outputs[0].type
    dtype = out.dtype if op.acc_dtype is None else op.acc_dtype
    parts = [
        cast(DimShuffle(part.type.broadcastable, remaining)(part), dtype)
        for part in owner.inputs
    ]
    folded = fold(lambda left, right: call(op.monoid, left, right), parts)
    return typed(cast(folded, out.dtype), node)


@rewrite(phase="blas", ops=[Join])
def take_from_a_longer_join(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Take a view of a longer join that has the same parts side by side.

    join(0, x, y) * sum(join(0, u, x, y)) -> join(0, u, x, y)[u.shape[0]:u.shape[0] + x.shape[0] + y.shape[0]] * sum(join(0, u, x, y))
    join(0, x, y) * sum(join(0, x, u, y)) -> join(0, x, y) * sum(join(0, x, u, y))
    """  # noqa: E501
    assert isinstance(node.op, Join)
    parts, count = node.inputs, len(node.inputs)
    for longer, _ in fgraph.clients[parts[0]]:
        if not isinstance(longer, Apply) or longer.op != node.op:
            continue
        places = range(len(longer.inputs) - count + 1)
        same = [k for k in places if longer.inputs[k : k + count] == parts]
        if longer is node or not same or node.outputs[0] in ancestors(longer.inputs):
            continue
        axis, first = node.op.axis, same[0]
        lengths = [shape_i(part, axis) for part in longer.inputs]
        start = fold(math.add, lengths[:first]) if first > 0 else None
        stop = fold(math.add, lengths[: first + count])
        form, integers = form_of([FULL] * axis + [(start, stop, None)])
        return typed(Subtensor(form)(longer.outputs[0], *integers), node)
    return None


# ---- splits ----


@rewrite(phase="canonicalize", ops=[Split])
def split_in_one(node: Apply) -> list[Variable] | None:
    """Replace a split's only part by the whole.

    split(x, [x.shape[0]], 1)[0] -> x
    """
    x = node.inputs[0]
    if len(node.outputs) > 1 or x.type != node.outputs[0].type:
        return None
    return [x]


@rewrite(phase="canonicalize", ops=[Split])
def split_what_was_joined(node: Apply) -> list[Variable] | None:
    """Replace a split of joined arrays by these arrays.

    split(join(0, x, y), [x.shape[0], y.shape[0]], 2)[1] -> y
    split(join(0, x, y), [y.shape[0], x.shape[0]], 2)[1] -> split(join(0, x, y), [y.shape[0], x.shape[0]], 2)[1]
    """  # noqa: E501
    assert isinstance(node.op, Split)
    owner, sizes = node.inputs[0].owner, elements(node.inputs[1])
    if owner is None or not isinstance(owner.op, Join) or sizes is None:
        return None
    axis = node.op.axis
    if owner.op.axis != axis or len(owner.inputs) != len(node.outputs):
        return None
    for part, size, out in zip(owner.inputs, sizes, node.outputs, strict=True):
        if part.type != out.type or not same(shape_i(part, axis), size):
            return None
    return list(owner.inputs)


# ---- sorts and diagonals ----


@rewrite(phase="canonicalize", ops=[Sort])
def sort_once(node: Apply) -> Variable | None:
    """Drop sorting of a sorted array.

    sort(sort(X)) -> sort(X)
    sort(sort(X), 0) -> sort(sort(X), 0)
    """
    (x,) = node.inputs
    is_sorted = type(node.op) is Sort and x.owner is not None and x.owner.op == node.op
    return x if is_sorted else None


@rewrite(phase="canonicalize", ops=[ExtractDiag])
def take_diagonal_that_was_put(node: Apply) -> Variable | None:
    """Replace the diagonal of a diagonal matrix by the vector it was made of.

    diagonal(diag(x)) -> x
    diagonal(diag(x), 1) -> diagonal(diag(x), 1)
    """
    op, (x,) = node.op, node.inputs
    owner = x.owner
    assert isinstance(op, ExtractDiag)
    if owner is None or not isinstance(owner.op, AllocDiag):
        return None
    is_same = owner.op.properties == op.properties
    return typed(owner.inputs[0], node) if is_same else None
