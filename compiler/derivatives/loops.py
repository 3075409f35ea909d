"""Gradients of loops: a reverse loop, from the last iteration to the first.

Its sequences are the inputs of the forward iterations, in reverse: rows of the
sequences, and the states before each iteration, read from the traces. Its states are
the gradients of the states and, for each constant, the sum of its gradients so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.derivatives.choices import chosen, holds_zeros
from gpuarray.compiler.derivatives.loop_products import kept_products
from gpuarray.compiler.derivatives.node import (
    M,
    carries,
    conjugates,
    fitted,
    is_null,
    total,
)
from gpuarray.compiler.derivatives.reverse import flow
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.traverse import (
    ancestors,
    clone_replace,
    inputs_of,
    toposort,
)
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.index.indexing import index, set_subtensor
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import ALL, Scan, rows_of
from gpuarray.compiler.ops.shape.shape import DimShuffle, shape_padleft
from gpuarray.compiler.ops.slicing.subtensor import IncSubtensor

Gradients = Sequence[Variable | None]


def through_loop(
    op: Scan,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    gradients: Gradients,
) -> list[Variable | None]:
    """Return the gradient of each input of a loop; None for no gradient.

    As in an op's own gradient, those of complex numbers are conjugates of `grad`'s.
    """
    return conjugates(ReverseLoop(op, inputs, outputs, conjugates(gradients)).results())


M.through_loop = through_loop


@dataclass(frozen=True)
class ReverseIteration:
    """One iteration of the reverse loop, on variables of its own.

    ``inputs`` stand for the inputs of the forward body. By index, ``states`` stand for
    the gradients of the states that have one, ``traces`` for the gradients of results,
    ``afters`` for results that are states after the iteration, and ``products`` for the
    loop's products. ``terms`` are the gradients of the inputs.
    """

    inputs: Sequence[Variable]
    states: dict[int, Variable]
    traces: dict[int, Variable]
    afters: dict[int, Variable]
    products: dict[int, Variable]
    terms: Gradients


class ReverseLoop:
    """The reverse loop of a loop and the gradients of its outputs.

    A class, because the states before the iterations are computed lazily and cached.
    """

    def __init__(
        self,
        op: Scan,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        gradients: Gradients,
    ) -> None:
        self.op = op
        self.inputs = inputs[1:]
        self.outputs = outputs
        k, q = op.n_states, op.n_traces
        self.finals, self.traces = moved(op, gradients[:k], gradients[k : k + q])
        self.iterations = outputs[-1] if op.until else inputs[0]
        limit = op.truncate_gradient
        self.is_cut = limit != ALL
        self.steps = (
            math.FUNCTIONS["minimum"](self.iterations, limit)
            if self.is_cut
            else self.iterations
        )
        self.befores: dict[int, Variable] = {}
        self.products = kept_products(op)

    def results(self) -> list[Variable | None]:
        """Return the gradient of each input of the loop; None for no gradient."""
        op, first = self.op, self.op.n_sequences
        with config.use(compute_test_value="off"):  # a body's variables have none
            reverse = self._reverse_iteration()
            undefined = self._undefined(reverse.terms)
            terms = {
                i: fitted(g, reverse.inputs[i])
                for i, g in enumerate(reverse.terms)
                if g is not None and i not in undefined
            }
            if not terms:
                return [None, *(undefined.get(i) for i in range(len(self.inputs)))]
            constants = {
                i: g.type(f"d{i}") for i, g in terms.items() if i >= first + op.n_states
            }
            rows = [i for i in terms if i < first]
            states = [
                terms[first + k]
                if first + k in terms
                else math.zeros_like(reverse.inputs[first + k])
                for k in reverse.states
            ]
            states += [total(v, terms[i], v) for i, v in constants.items()]
            results = [terms[i] for i in rows]
            results += states[: len(reverse.states)]
        outputs = self._run(reverse, constants, states, results)
        n_states, n_sums = len(reverse.states), len(constants)
        gradients: list[Variable | None] = [None] * len(self.inputs)
        for k, result in zip(reverse.states, outputs, strict=False):
            gradients[first + k] = self._of_start(result)
        for i, result in zip(constants, outputs[n_states:], strict=False):
            gradients[i] = result
        for i, result in zip(rows, outputs[n_states + n_sums :], strict=False):
            gradients[i] = self._of_rows(i, result)
        for i, null in undefined.items():
            gradients[i] = null
        return [None, *gradients]

    def _undefined(self, terms: Gradients) -> dict[int, Variable]:
        """Return the gradients of inputs that are not defined, of ``NullType``.

        That of a state makes the gradients undefined of all that the state depends on.
        """
        op, body = self.op, self.op.body
        undefined = {i: g for i, g in enumerate(terms) if g is not None and is_null(g)}
        waiting = list(undefined)
        while waiting:
            i = waiting.pop()
            k = i - op.n_sequences
            behind = body.behind[k] if 0 <= k < op.n_states else ()
            new = [j for j in behind if j not in undefined and carries(body.inputs[j])]
            undefined |= dict.fromkeys(new, undefined[i])
            waiting += new
        return undefined

    def _reverse_iteration(self) -> ReverseIteration:
        """Return the gradient of the body."""
        op, body = self.op, self.op.body
        inputs = [x.type(x.name) for x in body.inputs]
        traces = {
            q: body.outputs[op.n_states + q].type(f"g{q}")
            for q, g in enumerate(self.traces)
            if g is not None
        }
        states = {
            k: body.inputs[op.n_sequences + k].type(f"d{k}") for k in self._active()
        }
        with_zeros = any(g is not None and holds_zeros(g) for g in self.traces)
        known = dict(zip(body.inputs, inputs, strict=True))
        outputs = clone_replace([*body.outputs, *self.products], known)
        products = outputs[len(body.outputs) :]
        nexts = outputs[: op.n_states]
        results = outputs[op.n_states : len(body.outputs)]
        seeds: dict[Variable, Variable] = {}
        arriving = {**states, **{op.n_states + q: v for q, v in traces.items()}}
        for i, variable in arriving.items():
            output = outputs[i]
            g = fitted(chosen(variable) if with_zeros else variable, output)
            seeds[output] = total(seeds.get(output), g, output)
        gradients = flow(seeds, inputs, inputs)
        terms = list(gradients.values())
        afters = {
            q: results[q].type(f"after{q}")
            for q in range(op.n_traces)
            if any(results[q] is state for state in nexts)
            and results[q].owner is not None
            and not is_compared(results[q], terms)
        }
        rows = {p: product.type() for p, product in enumerate(products)}
        replacements = {products[p]: row for p, row in rows.items()}
        replacements |= {results[q]: row for q, row in afters.items()}
        replaced = clone_replace(terms, replacements)
        term_of = dict(zip(gradients, replaced, strict=True))
        return ReverseIteration(
            inputs, states, traces, afters, rows, [term_of.get(x) for x in inputs]
        )

    def _active(self) -> list[int]:
        """Return the states that have a gradient in some iteration."""
        op, body = self.op, self.op.body
        active = {k for k, g in enumerate(self.finals) if g is not None}
        results = [op.n_states + q for q, g in enumerate(self.traces) if g is not None]
        count = -1
        while count != len(active):
            count = len(active)
            dependencies = [body.behind[i] for i in (*results, *active)]
            active |= {
                k
                for k in range(op.n_states)
                if any(op.n_sequences + k in inputs for inputs in dependencies)
                and carries(body.inputs[op.n_sequences + k])
            }
        return sorted(active)

    def _run(
        self,
        reverse: ReverseIteration,
        constants: dict[int, Variable],
        next_states: Sequence[Variable],
        results: Sequence[Variable],
    ) -> list[Variable]:
        """Return the outputs of the reverse loop: its final states, then its traces."""
        op, first = self.op, self.op.n_sequences
        last = first + op.n_states
        read = set(inputs_of([*next_states, *results]))
        inputs = reverse.inputs
        rows = [i for i, v in enumerate(inputs[:last]) if v in read]
        fixed = [i for i in range(last, len(inputs)) if inputs[i] in read]
        traces = [q for q, v in reverse.traces.items() if v in read]
        afters = [q for q, v in reverse.afters.items() if v in read]
        sequences = [self._rows(i) for i in rows]
        sequences += [_known(self.traces[q]) for q in traces]
        sequences += [self.outputs[op.n_states + q] for q in afters]
        products = [p for p, v in reverse.products.items() if v in read]
        sequences += self._traced([self.products[p] for p in products])
        sequences = [self._reversed(sequence) for sequence in sequences]
        starts = [self._start(k) for k in reverse.states]
        starts += [
            math.zeros_like(self.inputs[i], v.dtype) for i, v in constants.items()
        ]
        body = Body(
            [
                *(inputs[i] for i in rows),
                *(reverse.traces[q] for q in traces),
                *(reverse.afters[q] for q in afters),
                *(reverse.products[p] for p in products),
                *reverse.states.values(),
                *constants.values(),
                *(inputs[i] for i in fixed),
            ],
            [*next_states, *results],
        )
        name = f"grad_of_{op.name or 'scan_fn'}"
        loop = Scan(
            body,
            len(sequences),
            len(starts),
            name=name,
            is_of_segments=op.is_of_segments,
        )
        states = loop.states(body.inputs)
        starts = [
            patternbroadcast(x, v.broadcastable)
            for x, v in zip(starts, states, strict=True)
        ]
        operands = [*sequences, *starts, *(self.inputs[i] for i in fixed)]
        outputs = loop(self.steps, *operands)
        return list(outputs) if isinstance(outputs, list) else [outputs]

    def _start(self, k: int) -> Variable:
        """Return the gradient of a final state."""
        final = self.finals[k]
        return math.zeros_like(self.outputs[k]) if final is None else final

    def _reversed(self, rows: Variable) -> Variable:
        """Return the rows of the last ``steps`` iterations, the last one first."""
        flipped = index(rows, slice(None, None, -1))
        return index(flipped, slice(None, self.steps)) if self.is_cut else flipped

    def _rows(self, i: int) -> Variable:
        """Return the values of a sequence or state in all iterations, in rows."""
        if i >= self.op.n_sequences:
            return self._before(i - self.op.n_sequences)
        rows = self.inputs[i]
        return index(rows, slice(None, self.iterations)) if self.op.until else rows

    def _before(self, k: int) -> Variable:
        """Return the state before each iteration, in rows."""
        if k not in self.befores:
            op = self.op
            i = op.n_sequences + k
            flags = rows_of(op.body.inputs[i].type).broadcastable
            start = shape_padleft(self.inputs[i])
            after = patternbroadcast(self._after(k), flags)
            states = patternbroadcast(join(0, start, after), flags)
            self.befores[k] = index(states, slice(None, self.iterations))
        return self.befores[k]

    def _after(self, k: int) -> Variable:
        """Return the state after each iteration, in rows."""
        op, body = self.op, self.op.body
        output = body.outputs[k]
        for q in range(op.n_traces):
            if body.outputs[op.n_states + q] is output:
                return self.outputs[op.n_states + q]
        source = _shifted_from(op, k)
        if source is not None:
            return self._before(source)
        return self._traced([body.outputs[k]])[0]

    def _traced(self, values: Sequence[Variable]) -> list[Variable]:
        """Return the traces of values of the body, from a loop that has them, too.

        The rewrites make one loop of both.
        """
        if not values:
            return []
        op, body = self.op, self.op.body
        split = op.n_states + op.n_traces
        outputs = [*body.outputs[:split], *values, *body.outputs[split:]]
        loop = op.like(Body(body.inputs, outputs), op.n_sequences, op.n_states)
        assert self.outputs[0].owner is not None
        iterations = self.outputs[0].owner.inputs[0]
        traces = loop.make_node(iterations, *self.inputs).outputs
        return list(traces[split : split + len(values)])

    def _of_start(self, result: Variable) -> Variable:
        """Return the gradient of an initial state: zero if truncated before it."""
        if not self.is_cut:
            return result
        is_reached = math.FUNCTIONS["ge"](self.steps, self.iterations)
        return math.FUNCTIONS["where"](is_reached, result, math.zeros_like(result))

    def _of_rows(self, i: int, result: Variable) -> Variable:
        """Return the gradient of a sequence: zeros in rows that are not reached."""
        rows = index(result, slice(None, None, -1))
        if not self.is_cut and not self.op.until:
            return rows
        zeros = math.zeros_like(self.inputs[i], rows.type.dtype)
        part = slice(self.iterations - self.steps, self.iterations)
        return set_subtensor(index(zeros, part), rows)


def is_compared(result: Variable, gradients: Sequence[Variable]) -> bool:
    """Return True if gradients compare a result with what it is computed from.

    So does the gradient of a maximum. Computed again, operands may differ in the last
    bit from those of the forward loop, and so from what its result was compared with.
    """
    operands = {
        variable for variable in ancestors([result]) if variable.owner is not None
    }
    operands.remove(result)
    results = {result}
    for node in toposort(gradients):
        is_of_result = any(x in results for x in node.inputs)
        is_of_operands = any(x in operands for x in node.inputs)
        for output in node.outputs:
            if is_of_result and is_of_operands and not carries(output):
                return True
            if is_of_result:
                results.add(output)
            if is_of_operands and output is not result:
                operands.add(output)
    return False


def moved(
    op: Scan, finals: Gradients, traces: Gradients
) -> tuple[list[Variable | None], list[Variable | None]]:
    """Move gradients of the last row of a state's trace to the final state."""
    states = list(finals)
    remaining: list[Variable | None] = []
    outputs = op.body.outputs
    for q, g in enumerate(traces):
        result = outputs[op.n_states + q]
        same = [k for k in range(op.n_states) if outputs[k] is result]
        if g is None or not same:
            remaining.append(g)
            continue
        gradient: Variable | None = None
        for term in _terms(g):
            last = _in_last_row(term)
            if last is None:
                gradient = total(gradient, term, term)
            else:
                states[same[0]] = total(states[same[0]], last, last)
        remaining.append(gradient)
    return states, remaining


def _terms(g: Variable) -> list[Variable]:
    """Return the terms of a sum; another variable is its only term."""
    owner = g.owner
    if owner is None or not _is_row(owner, "add"):
        return [g]
    if any(x.type != g.type for x in owner.inputs):
        return [g]
    return [term for x in owner.inputs for term in _terms(x)]


def _in_last_row(g: Variable) -> Variable | None:
    """Return the last row of an array that is zero elsewhere; None for others."""
    owner = g.owner
    if owner is None or not isinstance(owner.op, IncSubtensor):
        return None
    x, y, *indices = owner.inputs
    is_last = (
        len(owner.op.idx_list) == len(indices) == 1
        and isinstance(owner.op.idx_list[0], str)
        and isinstance(indices[0], Constant)
        and int(indices[0].data) == -1
    )
    if not is_last or not _is_zeros(x) or y.type.ndim != g.type.ndim - 1:
        return None
    return y


def _is_zeros(x: Variable) -> bool:
    """True for a result of ``zeros_like``."""
    owner = x.owner
    if owner is None or not _is_row(owner, "second"):
        return False
    value = _constant_behind(owner.inputs[-1])
    return value is not None and not value.data.any()


def _is_row(node: Apply, name: str) -> bool:
    """True for an elementwise node of this row of the scalar table."""
    return isinstance(node.op, Elemwise) and node.op.row_name == name


def _constant_behind(x: Variable) -> Constant | None:
    """Return the constant that a variable is a view or a cast of; None for none."""
    while x.owner is not None and (
        isinstance(x.owner.op, DimShuffle) or _is_row(x.owner, "cast")
    ):
        x = x.owner.inputs[0]
    return x if isinstance(x, Constant) else None


def _shifted_from(op: Scan, k: int) -> int | None:
    """Return the state whose value before is state ``k`` after an iteration.

    None if state ``k`` is computed, or if states are only shifted in a circle.
    """
    visited = {k}
    first: int | None = None
    while True:
        output = op.body.outputs[k]
        states = op.states(op.body.inputs)
        if output not in states:
            return first
        k = states.index(output)
        first = k if first is None else first
        if k in visited:
            return None
        visited.add(k)


def _known(variable: Any) -> Any:
    assert variable is not None
    return variable
