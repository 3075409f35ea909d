"""Sums and products over iterations, after the loop in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.traverse import inputs_of, toposort
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.reduce.reduce import prod, sum as total_of
from gpuarray.compiler.ops.shape.shape import DimShuffle, shape_padleft
from gpuarray.compiler.ops.sorting.scanning import cumprod, cumsum
from gpuarray.compiler.rewrites.engine.rows import row_of_op
from gpuarray.compiler.rewrites.loops.parts import Parts, Results, State, loop_pass
from gpuarray.compiler.rewrites.loops.pushing import batched

TOTALS = {"add": total_of, "mul": prod}
RUNNING = {"add": cumsum, "mul": cumprod}


@loop_pass
def accumulate_after_the_loop(parts: Parts, used: list[bool]) -> Results:
    """Compute states that sum or multiply terms of sequences by a reduction or scan.

    A state of which only the final value is read is a sum (product) over the rows. A
    trace is a cumulative sum, if a state has no axis: along rows of an array that is
    slower than the loop.
    """
    if parts.op.is_of_segments:
        return None
    count = len(parts.states)
    for k, state in enumerate(parts.states):
        places = [i for i, r in enumerate(parts.results) if r is state.next]
        is_traced = any(used[count + i] for i in places)
        if is_traced and state.inner.type.ndim:
            continue
        rows = _accumulated(parts, state)
        if rows is not None:
            return _outside(parts, k, places, is_traced, *rows)
    return None


def _outside(
    parts: Parts,
    k: int,
    places: Sequence[int],
    is_traced: bool,
    row: str,
    rows: Variable,
) -> list[Variable | None]:
    """Return the loop's outputs, with state ``k`` accumulated over ``rows``."""
    state = parts.states[k]
    combine = math.FUNCTIONS[row]
    trace: Variable | None = None
    if is_traced:
        trace = combine(state.start, RUNNING[row](rows, 0))
        final = index(join(0, shape_padleft(state.start), trace), -1)
    else:
        final = combine(state.start, TOTALS[row](rows, 0, rows.type.dtype))
    n_results = len(parts.results)
    remaining = [i for i in range(n_results) if i not in places]
    count = len(parts.states)
    parts.states = [other for other in parts.states if other is not state]
    parts.results = [parts.results[i] for i in remaining]
    outputs = parts.node().outputs if parts.outputs() else []
    finals = [*outputs[:k], final, *outputs[k : count - 1]]
    traces = dict(zip(remaining, outputs[count - 1 :], strict=True))
    return [*finals, *(traces.get(i, trace) for i in range(n_results))]


def _accumulated(parts: Parts, state: State) -> tuple[str, Variable] | None:
    """Return the row of a state that accumulates, and its terms in all iterations.

    None for a state that an iteration reads otherwise, or whose terms are no
    elementwise expression of the sequences.
    """
    node = state.next.owner
    row = None if node is None else row_of_op(node.op)
    dtype = state.inner.type.dtype
    if row not in TOTALS or dtype == "bool" or state.next.type.dtype != dtype:
        return None
    terms = _terms(state.next, row, state.inner)
    if terms is None:
        return None
    others = [s.next for s in parts.states if s is not state]
    results = [r for r in parts.results if r is not state.next]
    edge = [state.inner, state.next]
    read = set(inputs_of([*terms, *others, *results], edge))
    if not read.isdisjoint(edge):
        return None
    sequences = {inner for inner, _ in parts.sequences}
    states = {s.inner for s in parts.states}
    behind = set(inputs_of(terms))
    if not behind.isdisjoint(states) or behind.isdisjoint(sequences):
        return None
    is_elementwise = all(
        isinstance(node.op, Elemwise | DimShuffle) for node in toposort(terms)
    )
    if not is_elementwise:
        return None
    combine = math.FUNCTIONS[row]
    term = math.cast(terms[0], dtype)
    for other in terms[1:]:
        term = combine(term, math.cast(other, dtype))
    stacked = batched([term], parts, dict(parts.sequences))
    return None if stacked is None else (row, stacked[0])


def _terms(x: Variable, row: str, state: Variable) -> list[Variable] | None:
    """Return what a sum or product has beside the state; None if that is not in it."""
    terms: list[Variable] = []
    while x is not state:
        node = x.owner
        if node is None or row_of_op(node.op) != row or len(node.inputs) != 2:
            return None
        a, b = node.inputs
        if state in inputs_of([a], [state]):
            a, b = b, a
        terms.append(a)
        x = b
    return terms
