"""Affine recurrences: loops that the library can run in chunks, side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Constant, Variable, constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import ancestors, toposort
from gpuarray.compiler.ops.broadcast.broadcast import broadcast_to, patternbroadcast
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.rows import row_of_op
from gpuarray.compiler.rewrites.loops.parts import (
    Parts,
    State,
    loops_of,
    parts_of,
    replace_outputs,
)
from gpuarray.dtypes import kind_of

SHORTEST = 512
"""Loops of fewer iterations are never in chunks (c/loop/loop_chunks.c)."""


class NotAffineError(Exception):
    """A next state is no affine expression of the state."""


@graph_pass(phase="fuse")
def add_factors_of_states(fgraph: FunctionGraph, log: Log) -> bool:
    """Give each affine state of a loop a factor, if other states are sums only.

    An affine state becomes ``a * s + b``, where ``a`` and ``b`` are elementwise
    expressions of sequences and constants. What a loop makes of it over many iterations
    is affine, too, and the library runs chunks of iterations side by side where that is
    faster.
    """
    changed = False
    for loop in loops_of(fgraph):
        parts = parts_of(loop)
        factors = _factors(parts)
        if factors:
            results = _with_factors(parts, factors)
            replace_outputs(fgraph, loop, results, "add_factors_of_states", log)
            changed = True
    return changed


def _factors(parts: Parts) -> dict[int, State]:
    """Return the factors by the state's index; none if a state is of another kind."""
    op, iterations = parts.op, parts.iterations
    is_short = isinstance(iterations, Constant) and int(iterations.data) < SHORTEST
    has_reductions = any(isinstance(node.op, Reduce) for node in op.body.nodes)
    if is_short or op.stopped is not None or has_reductions:
        return {}
    if not (op.body.is_one_kernel and _have_one_shape(parts)):
        return {}
    factors = {}
    for k, state in enumerate(parts.states):
        if is_sum(parts, state):
            continue
        try:
            factors[k] = _factor(parts, state)
        except NotAffineError:
            return {}
    return factors


def _have_one_shape(parts: Parts) -> bool:
    """True if states have one shape, as far as elementwise operations require it.

    Others are no kernel: the recorded loop would compute factors for nothing.
    """
    kinds = {state.inner.type.broadcastable for state in parts.states}
    if len(kinds) != 1:
        return False
    if len(parts.states) == 1 or all(all(flags) for flags in kinds):
        return True
    nodes = [
        node for node in toposort(parts.outputs()) if isinstance(node.op, Elemwise)
    ]
    joined = [
        {v for v in (*n.inputs, *n.outputs) if _is_alike(v, parts)} for n in nodes
    ]
    reached, size = {parts.states[0].inner}, 0
    while size < len(reached):
        size = len(reached)
        for variables in joined:
            if not reached.isdisjoint(variables):
                reached |= variables
    return all(state.inner in reached for state in parts.states)


def _is_alike(x: Variable, parts: Parts) -> bool:
    """True if a value of the body has a state's axes."""
    kind: Any = x.type
    return bool(kind.broadcastable == parts.states[0].inner.type.broadcastable)


def is_sum(parts: Parts, state: State) -> bool:
    """True if iterations only add to a state, and nothing else reads it or its next."""
    others = [other.next for other in parts.states if other is not state]
    edge = {state.inner, state.next}
    if not edge.isdisjoint(ancestors([*others, *parts.results], edge)):
        return False
    try:
        part = linear_part(state.next, state.inner, state.inner, ())
        return part is state.inner
    except NotAffineError:
        return False


def _factor(parts: Parts, state: State) -> State:
    """Return the factor of a state, which begins as ones."""
    kind = state.inner.type
    inner = kind(f"factor of {state.inner.name or 'a state'}")
    others = [other.inner for other in parts.states if other is not state]
    after = linear_part(state.next, state.inner, inner, others)
    if after is None:
        raise NotAffineError
    lengths = [shape_i(state.start, axis) for axis in range(kind.ndim)]
    one: Variable = constant(np.ones((), kind.numpy_dtype), kind.dtype)
    ones = broadcast_to(one, lengths) if lengths else one
    return State(inner, patternbroadcast(ones, kind.broadcastable), after)


def _with_factors(parts: Parts, factors: Mapping[int, State]) -> list[Variable | None]:
    """Return the outputs of the loop with factors: affine states, sums, factors."""
    count = len(parts.states)
    order = sorted(range(count), key=lambda k: k not in factors)
    states = [*(parts.states[k] for k in order), *factors.values()]
    pairs = [
        *parts.sequences,
        *((state.inner, state.start) for state in states),
        *parts.constants,
    ]
    nexts = [state.next for state in states]
    body = Body([inner for inner, _ in pairs], [*nexts, *parts.results])
    loop = Scan(
        body,
        len(parts.sequences),
        len(states),
        name=parts.op.name,
        is_of_segments=parts.op.is_of_segments,
        n_affine=len(factors),
    )
    outputs = loop.make_node(parts.iterations, *(outer for _, outer in pairs)).outputs
    finals = dict(zip(order, outputs, strict=False))
    return [*(finals[k] for k in range(count)), *outputs[len(states) :]]


def linear_part(
    x: Variable, state: Variable, factor: Variable, others: Collection[Variable]
) -> Variable | None:
    """Return what is linear in a state of an expression, of the factor in its place.

    None if it does not depend on the state. Raises NotAffineError if it is no affine
    expression of the state, or depends on others.
    """
    parts: dict[Variable, Variable] = {state: factor}
    for node in toposort([x], blockers={state, *others}):
        if not set(others).isdisjoint(node.inputs):
            raise NotAffineError
        operands = [parts.get(operand) for operand in node.inputs]
        if all(part is None for part in operands):
            continue
        rule = RULES.get(row_of_op(node.op) or "")
        result = node.outputs[0]
        if rule is None or not _keeps_values(result, state):
            raise NotAffineError
        parts[result] = rule(node, operands)
    if x in others:
        raise NotAffineError
    return parts.get(x)


def _keeps_values(x: Variable, state: Variable) -> bool:
    """True if a value has the state's axes, and a type that loses none of its bits."""
    kind, own = x.type, state.type
    kinds = [kind_of(k.numpy_dtype) for k in (kind, own)]
    if kind.broadcastable != own.broadcastable:
        return False
    if all(k in "iu" for k in kinds):
        return bool(kind.numpy_dtype.itemsize >= own.numpy_dtype.itemsize)
    return kinds[0] == kinds[1] and kinds[0] in "fc"


LinearParts = Sequence[Variable | None]
Rule = Callable[[Apply, LinearParts], Variable]


def _sum(node: Apply, parts: LinearParts) -> Variable:
    terms = [part for part in parts if part is not None]
    total = terms[0]
    for term in terms[1:]:
        total = math.FUNCTIONS["add"](total, term)
    return total


def _difference(node: Apply, parts: LinearParts) -> Variable:
    a, b = parts
    if b is None:
        assert a is not None
        return a
    result: Variable = math.FUNCTIONS["neg"](b) if a is None else a - b
    return result


def _applied(node: Apply, parts: LinearParts) -> Variable:
    """The op on the linear part of its only operand with one."""
    if sum(part is not None for part in parts) != 1:
        raise NotAffineError
    pairs = zip(node.inputs, parts, strict=True)
    result: Variable = node.op(*(x if part is None else part for x, part in pairs))
    return result


def _quotient(node: Apply, parts: LinearParts) -> Variable:
    if parts[1] is not None:
        raise NotAffineError
    return _applied(node, parts)


def _choice(node: Apply, parts: LinearParts) -> Variable:
    condition, *_ = node.inputs
    if parts[0] is not None:
        raise NotAffineError
    sides = [
        math.zeros_like(other) if part is None else part
        for part, other in ((parts[1], parts[2]), (parts[2], parts[1]))
    ]
    return math.FUNCTIONS["where"](condition, *sides)


RULES: dict[str, Rule] = {
    "add": _sum,
    "sub": _difference,
    "neg": _applied,
    "mul": _applied,
    "true_div": _quotient,
    "cast": _applied,
    "where": _choice,
}
"""By the row of the scalar table: the linear part of a result, of those of operands."""
