"""Code motion out of loops: operations done for all iterations at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuarray.compiler.derivatives.batching import over_rows
from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.graph.core import Apply, Variable, constant
from gpuarray.compiler.graph.traverse import (
    ancestors,
    clone_replace,
    inputs_of,
    toposort,
)
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.creation.creation import alloc
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.scan.scan import Scan, rows_of
from gpuarray.compiler.ops.shape.shape import DimShuffle, dimshuffle, reshape, shape_i
from gpuarray.compiler.ops.slicing.subtensor import Subtensor, numbers_of
from gpuarray.compiler.rewrites.engine.rows import row_of_op
from gpuarray.compiler.rewrites.loops.parts import (
    Parts,
    Results,
    State,
    loop_pass,
)

Rows = Mapping[Variable, Variable]


def batched(
    variables: Sequence[Variable], parts: Parts, rows: Rows
) -> list[Variable] | None:
    """Return the values of the body's variables in all iterations, stacked in rows.

    ``rows`` has the stacked values of the variables that they read. None where an
    operation has no batched form and would still run iteration by iteration.
    """
    edge = {variable: variable for variable in rows}
    plain = clone_replace(list(variables), dict(parts.constants) | edge)
    if not rows:
        return None
    stacked = over_rows(plain, rows)
    inputs = {*rows.values(), *(outer for _, outer in parts.constants)}
    nodes = toposort(stacked, blockers=inputs)
    if any(map(runs_by_row, nodes)):
        return None
    return [
        patternbroadcast(new, rows_of(old.type).broadcastable)
        for new, old in zip(stacked, plain, strict=True)
    ]


def runs_by_row(node: Apply) -> bool:
    """True for an op without a batched form, also in the body of a loop."""
    if isinstance(node.op, Scan):
        return any(map(runs_by_row, node.op.body.nodes))
    return isinstance(node.op, MapRows)


# ---- before ----


@loop_pass
def multiply_before_the_loop(parts: Parts, used: list[bool]) -> Results:
    """Hoist products of a sequence's rows with a loop invariant: one matrix product."""
    if parts.op.is_of_segments:
        return None
    rows = dict(parts.sequences)
    products = _early_products(parts)
    stacked = batched(products, parts, rows) if products else None
    if stacked is None:
        return None
    replacements = {product: product.type() for product in products}
    for product, sequence in zip(products, stacked, strict=True):
        parts.sequences.append((replacements[product], sequence))
    parts.replace(replacements)
    return parts.node().outputs


def _early_products(parts: Parts) -> list[Variable]:
    """Return the products in a body that depend on sequences and on no state."""
    rows = {inner for inner, _ in parts.sequences}
    fixed = {inner for inner, _ in parts.constants}
    states = {state.inner for state in parts.states}
    late = set(states)
    early = set(rows)
    products = []
    for node in toposort(parts.outputs(), blockers={*rows, *fixed, *states}):
        if not late.isdisjoint(node.inputs):
            late.update(node.outputs)
        elif not early.isdisjoint(node.inputs):
            early.update(node.outputs)
            if isinstance(node.op, Dot) and _is_of_one_side(node, early):
                products.append(node.outputs[0])
    return products


def _is_of_one_side(node: Apply, early: set[Variable]) -> bool:
    """True for a product of which exactly one operand depends on sequences."""
    a, b = (x in early for x in node.inputs)
    return a != b


# ---- after ----


@loop_pass
def compute_after_the_loop(parts: Parts, used: list[bool]) -> Results:
    """Compute results that no iteration reads after the loop, from traces, at once."""
    if parts.op.is_of_segments:
        return None
    count = len(parts.states)
    late = _late_results(parts, used[count:])
    if not late:
        return None
    results = parts.results
    inside = [i for i in range(len(results)) if i not in late]
    nexts = {state.next for state in parts.states if state.next.owner is not None}
    inner = {i for i, _ in (*parts.sequences, *parts.constants)}
    read = inputs_of([results[i] for i in late], {*nexts, *inner})
    traced = [v for v in dict.fromkeys(read) if v in nexts]
    remaining = [results[i] for i in inside]
    remaining += [v for v in traced if not any(v is result for result in remaining)]
    parts.results = remaining
    outputs = parts.node().outputs if parts.states or remaining else []
    traces = dict(zip(remaining, outputs[count:], strict=False))
    rows = {**dict(parts.sequences), **{v: traces[v] for v in traced}}
    moved = batched([results[i] for i in late], parts, rows)
    if moved is None:
        return None
    outside = dict(zip(late, moved, strict=True))
    return [
        *outputs[:count],
        *(
            outside[i] if i in outside else outputs[count + inside.index(i)]
            for i in range(len(results))
        ),
    ]


def _late_results(parts: Parts, used: Sequence[bool]) -> list[int]:
    """Return the indices of results that can be computed from traces and sequences.

    They are read, no next state depends on them, and they depend on no state before
    its iteration.
    """
    nexts = [state.next for state in parts.states]
    states = {state.inner for state in parts.states}
    inner = {i for i, _ in (*parts.sequences, *parts.constants)} | states
    core = {v for v in ancestors(nexts, inner) if v.owner is not None}
    edge = {v for v in nexts if v.owner is not None} | inner
    late = []
    for i, result in enumerate(parts.results):
        if used[i] and result not in core:
            read = set(inputs_of([result], edge))
            if states.isdisjoint(read) and not read.isdisjoint(edge):
                late.append(i)
    return late


@loop_pass
def reverse_after_the_loop(parts: Parts, used: list[bool]) -> Results:
    """Reverse the rows of a result after the loop: a view of its trace.

    So a loop in an iteration writes its trace where the result is stored.
    """
    nexts = {state.next for state in parts.states}
    straight = [None if x in nexts else _not_reversed(x) for x in parts.results]
    if all(x is None for x in straight):
        return None
    results = zip(parts.results, straight, strict=True)
    parts.results = [result if x is None else x for result, x in results]
    outputs = parts.node().outputs
    count = len(parts.states)
    every, back = slice(None), slice(None, None, -1)
    return [
        *outputs[:count],
        *(
            trace if x is None else index(trace, (every, back))
            for trace, x in zip(outputs[count:], straight, strict=False)
        ),
    ]


def _not_reversed(result: Variable) -> Variable | None:
    """Return the computed array of which a result has the rows in reverse."""
    node = result.owner
    if node is None or not isinstance(node.op, Subtensor):
        return None
    x, parts = node.inputs[0], node.op.parts(node.inputs[1:])
    is_slice = len(parts) == 1 and isinstance(parts[0], tuple)
    is_reversed = is_slice and numbers_of(parts[0]) == (None, None, -1)
    return x if is_reversed and x.owner is not None else None


# ---- sums over iterations ----


@dataclass(frozen=True)
class ProductTerm:
    """A term ``dot(a.T, b)``, or the outer product of vectors."""

    factors: tuple[Variable, Variable]

    def total(self, rows: Rows) -> Variable:
        """Return the sum of all iterations' products: one product."""
        a, b = self.factors
        return product_of_rows(rows[a], rows[b])


@dataclass(frozen=True)
class SumTerm:
    """A term that is the sum of an array over axes, with axes of length 1 put in."""

    factors: tuple[Variable]
    reduce: Reduce
    order: tuple[int | str, ...]

    def total(self, rows: Rows) -> Variable:
        """Return the sum of all iterations' sums: one reduction."""
        axes = tuple(axis + 1 for axis in self.reduce.axes)
        op = self.reduce
        stacked = Reduce(op.monoid, (0, *axes), op.dtype, op.acc_dtype)
        out = stacked(rows[self.factors[0]])
        result: Variable = dimshuffle(out, *self.order)
        return result

    def reduced(self, array: Variable) -> Variable:
        """Return the sum of an array over the axes, as the term has it."""
        result: Variable = dimshuffle(self.reduce(array), *self.order)
        return result


Term = ProductTerm | SumTerm


@loop_pass
def sum_products_after_the_loop(parts: Parts, used: list[bool]) -> Results:
    """Replace a state that sums outer products by one matrix product after the loop.

    So a state that sums an array over axes, if a trace of the array is read anyway.
    """
    if parts.op.is_of_segments:
        return None
    terms = {
        k: term
        for k, state in enumerate(parts.states)
        if used[k] and (term := _summed(parts, state)) is not None
    }
    traced = [
        x for t in terms.values() if isinstance(t, ProductTerm) for x in t.factors
    ]
    is_read = used[len(parts.states) :]
    traced += [x for x, flag in zip(parts.results, is_read, strict=True) if flag]
    sums = {
        k: term
        for k, term in terms.items()
        if isinstance(term, ProductTerm) or any(term.factors[0] is x for x in traced)
    }
    return _sums_after(parts, sums) if sums else None


def _sums_after(parts: Parts, sums: Mapping[int, Term]) -> list[Variable | None]:
    """Return the loop's outputs, with some states as sums of its traces' rows."""
    states = parts.states
    n_results = len(parts.results)
    rows = dict(parts.sequences)
    missing = [x for term in sums.values() for x in term.factors if x not in rows]
    parts.states = [state for k, state in enumerate(states) if k not in sums]
    parts.results = [*parts.results, *dict.fromkeys(missing)]
    outputs = parts.node().outputs
    first = len(parts.states)
    traces = outputs[first + n_results :]
    rows |= dict(zip(parts.results[n_results:], traces, strict=True))
    totals = {k: states[k].start + term.total(rows) for k, term in sums.items()}
    remaining = iter(outputs[:first])
    finals = [totals[k] if k in sums else next(remaining) for k in range(len(states))]
    return [*finals, *outputs[first : first + n_results]]


@loop_pass
def reduce_sums_after_the_loop(parts: Parts, used: list[bool]) -> Results:
    """Sum arrays in an elementwise loop, and their elements after it.

    A state that sums reductions of arrays becomes one that sums the arrays. So the
    gradient of an invariant with fewer axes is one kernel without reductions.
    """
    sums = {
        k: term
        for k, state in enumerate(parts.states)
        if used[k] and isinstance(term := _summed(parts, state), SumTerm)
    }
    arrays = {k: _array_state(parts, term) for k, term in sums.items()}
    kept = [s.next for k, s in enumerate(parts.states) if k not in sums]
    kept += [a.next for a in arrays.values() if a is not None]
    nodes = toposort([*kept, *parts.results])
    is_elementwise = all(isinstance(n.op, Elemwise | DimShuffle) for n in nodes)
    if not sums or None in arrays.values() or not is_elementwise:
        return None
    states = parts.states
    parts.states = [arrays.get(k) or state for k, state in enumerate(states)]
    outputs = parts.node().outputs
    totals = {k: states[k].start + term.reduced(outputs[k]) for k, term in sums.items()}
    return [totals.get(k, output) for k, output in enumerate(outputs)]


def _array_state(parts: Parts, term: SumTerm) -> State | None:
    """Return a state that sums the arrays of a term; None if it finds no start."""
    (array,) = term.factors
    dtype = term.reduce(array).type.dtype
    start = _zeros_like(parts, array, dtype)
    if start is None:
        return None
    inner = array.type.clone(dtype=dtype)()
    start = patternbroadcast(start, inner.type.broadcastable)
    return State(inner, start, inner + math.cast(array, dtype))


def _zeros_like(parts: Parts, array: Variable, dtype: str) -> Variable | None:
    """Return zeros of the lengths of a value of the body; None if no input has them."""
    others = [*((s.inner, s.start) for s in parts.states), *parts.constants]
    inputs = {inner for inner, _ in (*others, *parts.sequences)}
    flags = array.type.broadcastable
    alike = {array}
    for node in reversed(toposort([array], blockers=inputs)):
        if node.outputs[0] in alike and isinstance(node.op, Elemwise):
            alike.update(x for x in node.inputs if x.type.broadcastable == flags)
    for inner, outer in others:
        if inner in alike:
            return math.zeros_like(outer, dtype)
    for inner, outer in parts.sequences:
        if inner in alike:
            lengths = [shape_i(outer, axis + 1) for axis in range(inner.type.ndim)]
            return alloc(constant(0, dtype), *lengths)
    return None


def product_of_rows(a: Variable, b: Variable) -> Variable:
    """Return the sum over rows of ``outer(a, b)``, or of ``a.T . b`` for matrices."""
    flat = [
        x
        if x.type.ndim == 2
        else reshape(x, [shape_i(x, 0) * shape_i(x, 1), shape_i(x, 2)], ndim=2)
        for x in (a, b)
    ]
    result: Variable = Dot()(dimshuffle(flat[0], 1, 0), flat[1])
    return result


def _summed(parts: Parts, state: State) -> Term | None:
    """Return the term that a state adds in each iteration; None for other states."""
    node = state.next.owner
    if node is None or row_of_op(node.op) != "add" or len(node.inputs) != 2:
        return None
    if state.inner not in node.inputs or any(r is state.next for r in parts.results):
        return None
    others = [s.next for s in parts.states if s is not state]
    if any(v is state.next for v in others):
        return None
    added = node.inputs[1 - node.inputs.index(state.inner)]
    if state.inner in inputs_of([added, *others, *parts.results], [state.inner]):
        return None
    if added.type.dtype != state.inner.type.dtype:
        return None
    factors = _factors(added)
    term = _sum(added) if factors is None else ProductTerm(factors)
    rows = {inner for inner, _ in parts.sequences}
    is_traced = term is not None and all(
        x in rows or x.owner is not None for x in term.factors
    )
    return term if is_traced else None


def _sum(added: Variable) -> SumTerm | None:
    """Return the sum that a variable is, with axes of length 1 put in; None else."""
    node = added.owner
    order: tuple[int | str, ...] = (*range(added.type.ndim),)
    if node is not None and isinstance(node.op, DimShuffle) and not node.op.dropped:
        order = tuple(node.op.new_order)
        node = node.inputs[0].owner
    if node is None or not isinstance(node.op, Reduce) or node.op.monoid != "add":
        return None
    return SumTerm((node.inputs[0],), node.op, order)


def _factors(term: Variable) -> tuple[Variable, Variable] | None:
    """Return ``a`` and ``b`` of ``dot(a.T, b)`` or of an outer product; None else."""
    node = term.owner
    if node is None:
        return None
    if isinstance(node.op, Dot) and all(x.type.ndim == 2 for x in node.inputs):
        a, b = node.inputs
        left, right = _dimshuffled(a, (1, 0)), b
        if left is not None:
            return left, right
        column, row = _dimshuffled(a, (0, "x")), _dimshuffled(b, ("x", 0))
        return (column, row) if column is not None and row is not None else None
    if row_of_op(node.op) == "mul" and len(node.inputs) == 2:
        for a, b in (node.inputs, node.inputs[::-1]):
            column, row = _dimshuffled(a, (0, "x")), _dimshuffled(b, ("x", 0))
            if column is not None and row is not None:
                return column, row
    return None


def _dimshuffled(x: Variable, order: tuple[int | str, ...]) -> Variable | None:
    """Return the operand if ``x`` is its dimshuffle to ``order``; None else."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle):
        return None
    (inner,) = node.inputs
    return inner if tuple(node.op.new_order) == order else None
