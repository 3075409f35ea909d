"""Multi-tensor fusion: elementwise results of a function in one launch.

A sum over the first axes with a single reader, such as the gradient of a bias, is
computed there, too. So is the product of a transposed matrix and a vector, the gradient
of weights: a sum of the matrix's rows, each times a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuarray._ufunc.reduction import needs_elements
from gpuarray.compiler.graph.core import Apply, Constant, Variable, is_float
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import Composite, CompositeStep, Elemwise
from gpuarray.compiler.ops.fused.mapreduce import MapReduce
from gpuarray.compiler.ops.fused.multi_tensor import MappedTotal, MultiTensor, Part
from gpuarray.compiler.ops.linalg.linalg import Blas, Dot, Gemv, MatrixProduct
from gpuarray.compiler.ops.random.positions import reads_positions
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle, dimshuffle, swapaxes
from gpuarray.compiler.ops.variables.context_assignment import Places, places_of
from gpuarray.compiler.ops.variables.transfer import Transfer
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.patterns import call, number
from gpuarray.compiler.rewrites.fusion.fusion import compose, fused
from gpuarray.compiler.rewrites.fusion.partition import is_fusible
from gpuarray.scalars import SCALARS

_MOST_PARTS = 16
_MOST_ARGUMENTS = 250
_MOST_STEPS = 32


@graph_pass(phase="fuse")
def fuse_results(fgraph: FunctionGraph, log: Log) -> bool:
    """Compute results of the function that nothing else reads in one launch."""
    groups = list(bunches(fgraph))
    for nodes in groups:
        replace_nodes(
            fgraph, [without_product(fgraph, node, log) for node in nodes], log
        )
    return bool(groups)


def bunches(fgraph: FunctionGraph) -> Iterator[list[Apply]]:
    """Yield nodes that can run together: nothing reads them, so none needs another."""
    places = places_of(fgraph.inputs, fgraph.toposort())
    for place in dict.fromkeys([None, *places.values()]):
        yield from bunches_at(fgraph, place, places)


def bunches_at(
    fgraph: FunctionGraph, place: str | None, places: Places
) -> Iterator[list[Apply]]:
    """Yield the bunches of one context; None is the default one."""
    guards = fgraph.guards()
    # An update that may be void reads the old value and a count as well.
    per_result = 3 if fgraph.may_report() else 1
    bunch: list[Apply] = []
    size = 0
    for node in fgraph.toposort():
        if places.get(node.outputs[0]) != place:
            continue
        if guards.get(node, ALWAYS) or not may_join(fgraph, node):
            continue
        arguments = 2 * (len(given(fgraph, node)) + per_result * len(node.outputs)) + 6
        if len(bunch) == _MOST_PARTS or size + arguments > _MOST_ARGUMENTS:
            if len(bunch) > 1:
                yield bunch
            bunch, size = [], 0
        bunch.append(node)
        size += arguments
    if len(bunch) > 1:
        yield bunch


def may_join(fgraph: FunctionGraph, node: Apply) -> bool:
    """True if the node is a result that can be computed together with others."""
    if not is_read_by_caller(fgraph, node):
        return False
    return is_result(node) or is_total(node) or is_update(node)


def given(fgraph: FunctionGraph, node: Apply) -> list[Variable]:
    """Return the most arguments that a part can have: its inputs but constants."""
    total = total_of(fgraph, node)
    read = [*node.inputs]
    for owner in number_owners(node):  # they may be computed in the kernel, too
        read += owner.inputs
    if total is not None and total.owner is not None:
        read += total.owner.inputs
    return [variable for variable in read if not isinstance(variable, Constant)]


def is_result(node: Apply) -> bool:
    """True if the node is elementwise, and no input but numbers is broadcast."""
    if not is_plain(node):
        return False
    pattern = node.outputs[0].type.broadcastable
    wholes = [v for v in node.inputs if is_whole(v, pattern)]
    if all(pattern):  # integers may be on the host, and have no shape
        wholes = [v for v in wholes if is_float(v)]
    return bool(wholes) and all(
        all(v.type.broadcastable) or v in wholes for v in node.inputs
    )


def is_read_by_caller(fgraph: FunctionGraph, node: Apply) -> bool:
    """True if nothing in the graph reads the node, but for transfers of results."""
    return all(
        client == "output"
        if isinstance(client, str)
        else isinstance(client.op, Transfer) and is_read_by_caller(fgraph, client)
        for out in node.outputs
        for client, _ in fgraph.clients[out]
    )


def is_update(node: Apply) -> bool:
    """True if the node adds such a product to an array."""
    op = node.op
    if not isinstance(op, Gemv) or not op.transpose or op.inplace or op.beta == 0:
        return False
    y, matrix, vector = node.inputs
    return not isinstance(y, Constant) and suits(matrix, vector)


def without_product(fgraph: FunctionGraph, node: Apply, log: Log) -> Apply:
    """Return the node; one that adds a product is replaced by product and sum."""
    if not isinstance(node.op, Gemv):
        return node
    replaced = opened(node)
    log.note("fuse_results", node.outputs[0], replaced.outputs[0])
    fgraph.replace(node.outputs[0], replaced.outputs[0], reason="fuse_results")
    return replaced


def opened(node: Apply) -> Apply:
    """Return a product that is added to an array as an elementwise node reading it."""
    op, (y, a, b) = node.op, node.inputs
    assert isinstance(op, Blas)
    if isinstance(op, MatrixProduct):
        left = swapaxes(a, -2, -1) if op.transpose_a else a
        right = swapaxes(b, -2, -1) if op.transpose_b else b
        product = op.product(left, right)
    else:
        assert isinstance(op, Gemv)
        product = Dot()(swapaxes(a, 0, 1) if op.transpose else a, b)
    alpha, beta = (number(factor, y) for factor in (op.alpha, op.beta))
    terms = [call("mul", beta, y), call("mul", alpha, product)]
    total = call("add", *terms)
    nodes = [term.owner for term in (*terms, total) if term.owner is not None]
    return fused(nodes, [product, y, alpha, beta], [total])


def multiplied(node: Apply) -> tuple[Variable, Variable] | None:
    """Return the matrix and the vector of a product that sums scaled rows.

    That is ``dot(X.T, v)``, and ``dot(v, X)``.
    """
    if not isinstance(node.op, Dot):
        return None
    left, right = node.inputs
    if left.type.ndim == 1:
        matrix, vector = (right if turned(right) is None else None), left
    else:
        matrix, vector = turned(left), right
    if matrix is None or not suits(matrix, vector):
        return None
    return matrix, vector


def turned(matrix: Variable) -> Variable | None:
    """Return the matrix whose transpose this one is, else None."""
    owner = matrix.owner
    if owner is None or not isinstance(owner.op, DimShuffle):
        return None
    return owner.inputs[0] if owner.op.is_transpose else None


def suits(matrix: Variable, vector: Variable) -> bool:
    """True if a matrix and a vector can be multiplied as a total."""
    return (
        type(matrix.type) is type(vector.type) is TensorType
        and not isinstance(matrix, Constant)
        and not isinstance(vector, Constant)
        and matrix.type.dtype == vector.type.dtype
        and matrix.type.dtype in ("float32", "float64")
        and matrix.type.broadcastable == (False, False)
        and vector.type.broadcastable == (False,)
    )


def is_total(node: Apply) -> bool:
    """True if the node folds the first axes of arrays of one shape, or sums products.

    Scalar integers may be on the host, and axes of length 1 alone give no shape.
    """
    if multiplied(node) is not None:
        return True
    is_ours = type(node.op) is Reduce or type(node.op) is MapReduce
    if not is_ours or type(node.outputs[0].type) is not TensorType:
        return False
    reduce = node.op.reduce if isinstance(node.op, MapReduce) else node.op
    assert isinstance(reduce, Reduce)
    flags = zip(*(v.type.broadcastable for v in node.inputs), strict=True)
    pattern = tuple(map(all, flags))
    wholes = [v for v in node.inputs if is_whole(v, pattern)]
    needs = needs_elements(SCALARS[reduce.monoid]) and not reduce.of_none
    return (
        reduce.axes == tuple(range(max(1, len(reduce.axes))))
        and not needs
        and (node.outputs[0].type.ndim > 0 or is_float(node.outputs[0]))
        and bool(wholes)
        and not all(pattern)
        and all(all(v.type.broadcastable) or v in wholes for v in node.inputs)
    )


def total_of(fgraph: FunctionGraph, node: Apply) -> Variable | None:
    """The sum that the node alone reads, with as many elements as its results."""
    pattern = node.outputs[0].type.broadcastable
    for variable in node.inputs:
        if (
            variable.owner is not None
            and is_whole(variable, pattern)
            and is_total(variable.owner)
            and all(client is node for client, _ in fgraph.clients[variable])
        ):
            return variable
    return None


def is_whole(variable: Variable, pattern: tuple[bool, ...]) -> bool:
    """True if a variable has as many elements as results of the pattern."""
    is_constant = isinstance(variable, Constant)
    return not is_constant and variable.type.broadcastable == pattern


def is_plain(node: Apply) -> bool:
    """True if the node is elementwise, of host types, and not about lengths."""
    is_placed = reads_positions(node)
    return type(node.op) is Elemwise and is_fusible(node) and not is_placed


def replace_nodes(fgraph: FunctionGraph, nodes: Sequence[Apply], log: Log) -> None:
    """Replace several nodes by one."""
    inputs: list[Variable] = []
    parts: list[Part] = []
    for node in nodes:
        part, read = part_of(fgraph, node, nodes)
        parts.append(part)
        inputs += read
    merged = MultiTensor(parts).make_node(*inputs)
    old = [out for node in nodes for out in node.outputs]
    for before, after in zip(old, merged.outputs, strict=True):
        log.note("fuse_results", before, after)
        fgraph.replace(before, after, reason="fuse_results")


def part_of(
    fgraph: FunctionGraph, node: Apply, nodes: Sequence[Apply]
) -> tuple[Part, list[Variable]]:
    """Return a node's part of the launch, and the part's inputs."""
    if is_total(node):
        (out,) = node.outputs
        return Part(compose([], [out], [out]), (False,), fold(node)), folded(node)
    members = [*numbers_for(fgraph, node, nodes), node]
    inside = set(members)
    total = total_of(fgraph, node)
    read = dict.fromkeys([] if total is None else [total])
    for member in members:
        read.update(dict.fromkeys(v for v in member.inputs if v.owner not in inside))
    pattern = node.outputs[0].type.broadcastable
    is_one = tuple(not is_whole(v, pattern) for v in read)
    scalar = compose(members, [*read], node.outputs)
    if total is None or total.owner is None:
        return Part(scalar, is_one), [*read]
    inputs = [*folded(total.owner), *(v for v in read if v is not total)]
    return Part(scalar, is_one, fold(total.owner)), inputs


def folded(node: Apply) -> list[Variable]:
    """Return the inputs of a total."""
    factors = multiplied(node)
    if factors is None:
        return node.inputs
    matrix, vector = factors
    return [matrix, dimshuffle(vector, 0, "x")]


def fold(node: Apply) -> MappedTotal:
    """Return the reduction, or the product, as a part's total."""
    if isinstance(node.op, Dot):
        dtype = node.outputs[0].type.dtype
        mapped = Composite((dtype, dtype), (CompositeStep("mul", (0, 1), dtype),), (2,))
        never = False, False
        return MappedTotal(mapped, never, "add", 1, dtype, dtype, is_row=(False, True))
    if isinstance(node.op, MapReduce):
        reduce, inner = node.op.reduce, node.op.map.make_node(*node.inputs)
        mapped = compose([inner], node.inputs, inner.outputs)
    else:
        assert isinstance(node.op, Reduce)
        reduce, mapped = node.op, compose([], node.inputs, node.inputs)
    dtype = node.outputs[0].type.dtype
    return MappedTotal(
        mapped,
        tuple(all(v.type.broadcastable) for v in node.inputs),
        reduce.monoid,
        len(reduce.axes),
        dtype,
        reduce.acc_dtype or dtype,
    )


def numbers_for(
    fgraph: FunctionGraph, node: Apply, nodes: Sequence[Apply]
) -> list[Apply]:
    """Return producers of numbers with these readers alone; each recomputes them."""
    return [
        owner
        for owner in number_owners(node)
        if all(
            client in nodes
            for out in owner.outputs
            for client, _ in fgraph.clients[out]
        )
    ]


def number_owners(node: Apply) -> list[Apply]:
    """Return the short elementwise producers of numbers that the node reads."""
    owners: list[Apply] = []
    if all(node.outputs[0].type.broadcastable):
        return owners
    for variable in node.inputs:
        owner = variable.owner
        if owner is None or owner in owners or not is_plain(owner):
            continue
        op = owner.op
        assert isinstance(op, Elemwise)
        is_short = len(getattr(op.scalar, "steps", ())) <= _MOST_STEPS
        is_number = all(all(v.type.broadcastable) for v in owner.inputs)
        if is_number and is_short and len(owner.outputs) == 1:
            owners.append(owner)
    return owners
