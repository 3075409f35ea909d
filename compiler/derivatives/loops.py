"""Gradients through loops: a loop from the last turn to the first.

It reads what the turns were given, in reverse: rows of the sequences, and the states
before each turn, which the traces of the loop have. Its states are the gradients of the
states and, for the constants of the loop, the sums of what flows to them in each turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.derivatives.choices import chosen, holds_zeros
from gpuarray.compiler.derivatives.node import M, carries, fitted, total
from gpuarray.compiler.derivatives.reverse import flow
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.traverse import clone_replace, inputs_of
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.index.indexing import index, set_subtensor
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import ALL, Scan, rows_of
from gpuarray.compiler.ops.shape.shape import shape_padleft
from gpuarray.compiler.ops.slicing.subtensor import IncSubtensor

Gradients = Sequence[Variable | None]


def through_turns(
    op: Scan,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    gradients: Gradients,
) -> list[Variable | None]:
    """The gradient of each input of a loop; None where nothing flows."""
    return Backwards(op, inputs, outputs, gradients).results()


M.through_turns = through_turns


@dataclass(frozen=True)
class Turn:
    """One turn backwards, on variables of its own.

    ``inputs`` stand for those of the loop's body, ``states`` for the gradients of the
    states that anything flows to, ``traces`` for those of results, by their places, and
    ``afters`` for results that are states after the turn. ``terms`` are what flows to
    the inputs.
    """

    inputs: Sequence[Variable]
    states: dict[int, Variable]
    traces: dict[int, Variable]
    afters: dict[int, Variable]
    terms: Gradients


class Backwards:
    """The loop backwards of one loop and what flows to its outputs.

    It has state because the states before the turns are found where they are wanted.
    """

    def __init__(
        self,
        op: Scan,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        gradients: Gradients,
    ) -> None:
        self.op = op
        self.given = inputs[1:]
        self.outputs = outputs
        k, q = op.n_states, op.n_traces
        self.finals, self.traces = _moved(op, gradients[:k], gradients[k : k + q])
        self.turns = outputs[-1] if op.until else inputs[0]
        limit = op.truncate_gradient
        self.is_cut = limit != ALL
        self.steps = (
            math.FUNCTIONS["minimum"](self.turns, limit) if self.is_cut else self.turns
        )
        self.befores: dict[int, Variable] = {}

    def results(self) -> list[Variable | None]:
        """What flows to each input of the loop."""
        op, first = self.op, self.op.n_sequences
        with config.use(compute_test_value="off"):  # a body's variables have none
            turn = self._turn()
            terms = {i: term for i, term in enumerate(turn.terms) if term is not None}
            if not terms:
                return [None] * (1 + len(self.given))
            constants = {
                i: op.body.inputs[i].type(f"d{i}")
                for i in terms
                if i >= first + op.n_states
            }
            rows = [i for i in terms if i < first]
            kept = [self._state_out(turn, k) for k in turn.states]
            kept += [total(v, terms[i], v) for i, v in constants.items()]
            out = [fitted(terms[i], turn.inputs[i]) for i in rows]
            out += kept[: len(turn.states)]
        made = self._run(turn, constants, kept, out)
        n_states = len(turn.states)
        found: list[Variable | None] = [None] * len(self.given)
        for k, result in zip(turn.states, made, strict=False):
            found[first + k] = self._of_start(result)
        for i, result in zip(constants, made[n_states:], strict=False):
            found[i] = result
        for i, result in zip(rows, made[n_states + len(constants) :], strict=False):
            found[i] = self._of_rows(i, result)
        return [None, *found]

    def _turn(self) -> Turn:
        """The body's gradient."""
        op, body = self.op, self.op.body
        inputs = [each.type(each.name) for each in body.inputs]
        traces = {
            q: body.outputs[op.n_states + q].type(f"g{q}")
            for q, g in enumerate(self.traces)
            if g is not None
        }
        states = {
            k: body.inputs[op.n_sequences + k].type(f"d{k}") for k in self._active()
        }
        with_zeros = any(g is not None and holds_zeros(g) for g in self.traces)
        made = body.on(inputs)
        seeds: dict[Variable, Variable] = {}
        flowing = {**states, **{op.n_states + q: v for q, v in traces.items()}}
        for place, variable in flowing.items():
            g = fitted(chosen(variable) if with_zeros else variable, made[place])
            seeds[made[place]] = total(seeds.get(made[place]), g, made[place])
        found = flow(seeds, inputs, inputs)
        afters = {
            q: made[op.n_states + q].type(f"after{q}")
            for q in range(op.n_traces)
            if any(made[op.n_states + q] is each for each in made[: op.n_states])
            and made[op.n_states + q].owner is not None
        }
        known = {made[op.n_states + q]: row for q, row in afters.items()}
        terms = clone_replace(list(found.values()), known)
        told = dict(zip(found, terms, strict=True))
        return Turn(inputs, states, traces, afters, [told.get(x) for x in inputs])

    def _active(self) -> list[int]:
        """The states that anything flows to, in some turn."""
        op, body = self.op, self.op.body
        active = {k for k, g in enumerate(self.finals) if g is not None}
        reading = [op.n_states + q for q, g in enumerate(self.traces) if g is not None]
        count = -1
        while count != len(active):
            count = len(active)
            reached = [body.behind[out] for out in (*reading, *active)]
            active |= {
                k
                for k in range(op.n_states)
                if any(op.n_sequences + k in each for each in reached)
                and carries(body.inputs[op.n_sequences + k])
            }
        return sorted(active)

    def _state_out(self, turn: Turn, k: int) -> Variable:
        """The gradient of a state before the turn."""
        place = self.op.n_sequences + k
        term = turn.terms[place]
        if term is None:
            return math.zeros_like(turn.inputs[place])
        return fitted(term, turn.inputs[place])

    def _run(
        self,
        turn: Turn,
        constants: dict[int, Variable],
        kept: Sequence[Variable],
        out: Sequence[Variable],
    ) -> list[Variable]:
        """The results of the loop backwards: its states, then its traces."""
        op, first = self.op, self.op.n_sequences
        last = first + op.n_states
        read = set(inputs_of([*kept, *out]))
        rows = [i for i, v in enumerate(turn.inputs[:last]) if v in read]
        same = [i for i in range(last, len(turn.inputs)) if turn.inputs[i] in read]
        traces = [q for q, v in turn.traces.items() if v in read]
        afters = [q for q, v in turn.afters.items() if v in read]
        sequences = [self._rows(i) for i in rows]
        sequences += [_known(self.traces[q]) for q in traces]
        sequences += [self.outputs[op.n_states + q] for q in afters]
        sequences = [self._backwards(each) for each in sequences]
        starts = [self._start(k) for k in turn.states]
        starts += [
            math.zeros_like(self.given[i], v.dtype) for i, v in constants.items()
        ]
        body = Body(
            [
                *(turn.inputs[i] for i in rows),
                *(turn.traces[q] for q in traces),
                *(turn.afters[q] for q in afters),
                *turn.states.values(),
                *constants.values(),
                *(turn.inputs[i] for i in same),
            ],
            [*kept, *out],
        )
        name = f"grad_of_{op.name or 'scan_fn'}"
        loop = Scan(body, len(sequences), len(starts), name=name)
        states = loop.states(body.inputs)
        starts = [
            patternbroadcast(x, v.broadcastable)
            for x, v in zip(starts, states, strict=True)
        ]
        made = loop(self.steps, *sequences, *starts, *(self.given[i] for i in same))
        return list(made) if isinstance(made, list) else [made]

    def _start(self, k: int) -> Variable:
        """The gradient of a state after the last turn."""
        final = self.finals[k]
        return math.zeros_like(self.outputs[k]) if final is None else final

    def _backwards(self, rows: Variable) -> Variable:
        """The rows of the last turns, the last one first."""
        flipped = index(rows, slice(None, None, -1))
        return index(flipped, slice(None, self.steps)) if self.is_cut else flipped

    def _rows(self, i: int) -> Variable:
        """What the turns were given of a sequence, or of a state, in rows."""
        if i >= self.op.n_sequences:
            return self._before(i - self.op.n_sequences)
        rows = self.given[i]
        return index(rows, slice(None, self.turns)) if self.op.until else rows

    def _before(self, k: int) -> Variable:
        """The state before each turn, in rows."""
        if k not in self.befores:
            op = self.op
            place = op.n_sequences + k
            flags = rows_of(op.body.inputs[place].type).broadcastable
            start = shape_padleft(self.given[place])
            after = patternbroadcast(self._after(k), flags)
            whole = patternbroadcast(join(0, start, after), flags)
            self.befores[k] = index(whole, slice(None, self.turns))
        return self.befores[k]

    def _after(self, k: int) -> Variable:
        """The state after each turn, in rows."""
        op, body = self.op, self.op.body
        output = body.outputs[k]
        for q in range(op.n_traces):
            if body.outputs[op.n_states + q] is output:
                return self.outputs[op.n_states + q]
        other = _handed_on(op, k)
        if other is not None:
            return self._before(other)
        return self._traced(k)

    def _traced(self, k: int) -> Variable:
        """The trace of a state that the loop does not keep: it runs once more."""
        op, body = self.op, self.op.body
        split = op.n_states + op.n_traces
        outputs = [*body.outputs[:split], body.outputs[k], *body.outputs[split:]]
        loop = op.like(Body(body.inputs, outputs), op.n_sequences, op.n_states)
        assert self.outputs[0].owner is not None
        turns = self.outputs[0].owner.inputs[0]
        made = loop(turns, *self.given)
        result: Variable = made[split]
        return result

    def _of_start(self, result: Variable) -> Variable:
        """The gradient of what a state begins with: nothing beyond the last turns."""
        if not self.is_cut:
            return result
        is_reached = math.FUNCTIONS["ge"](self.steps, self.turns)
        return math.FUNCTIONS["where"](is_reached, result, math.zeros_like(result))

    def _of_rows(self, i: int, result: Variable) -> Variable:
        """The gradient of a sequence: zeros for the rows that were not reached."""
        rows = index(result, slice(None, None, -1))
        if not self.is_cut and not self.op.until:
            return rows
        zeros = math.zeros_like(self.given[i], rows.type.dtype)
        part = slice(self.turns - self.steps, self.turns)
        return set_subtensor(index(zeros, part), rows)


def _moved(
    op: Scan, finals: Gradients, traces: Gradients
) -> tuple[list[Variable | None], list[Variable | None]]:
    """What flows to the last row of a state's trace flows to the state at the end."""
    states = list(finals)
    rest: list[Variable | None] = []
    outputs = op.body.outputs
    for q, g in enumerate(traces):
        result = outputs[op.n_states + q]
        same = [k for k in range(op.n_states) if outputs[k] is result]
        if g is None or not same:
            rest.append(g)
            continue
        kept: Variable | None = None
        for term in _terms(g):
            last = _in_last_row(term)
            if last is None:
                kept = total(kept, term, term)
            else:
                states[same[0]] = total(states[same[0]], last, last)
        rest.append(kept)
    return states, rest


def _terms(g: Variable) -> list[Variable]:
    """What a sum is made of."""
    owner = g.owner
    if owner is None or not _is_row(owner, "add"):
        return [g]
    if any(each.type != g.type for each in owner.inputs):
        return [g]
    return [term for each in owner.inputs for term in _terms(each)]


def _in_last_row(g: Variable) -> Variable | None:
    """What is in the last row of an array that is zero elsewhere; else None."""
    owner = g.owner
    if owner is None or not isinstance(owner.op, IncSubtensor):
        return None
    x, y, *places = owner.inputs
    is_last = (
        len(owner.op.idx_list) == len(places) == 1
        and isinstance(owner.op.idx_list[0], str)
        and isinstance(places[0], Constant)
        and int(places[0].data) == -1
    )
    if not is_last or not _is_zeros(x) or y.type.ndim != g.type.ndim - 1:
        return None
    return y


def _is_zeros(x: Variable) -> bool:
    """True for what ``zeros_like`` makes."""
    owner = x.owner
    if owner is None or not _is_row(owner, "second"):
        return False
    value = _constant_behind(owner.inputs[-1])
    return value is not None and not value.data.any()


def _is_row(node: Apply, name: str) -> bool:
    """True for an elementwise node of one row of the table."""
    return isinstance(node.op, Elemwise) and node.op.row_name == name


def _constant_behind(x: Variable) -> Constant | None:
    """The constant that a variable is, but for axes; None where it is none."""
    while x.owner is not None and len(x.owner.inputs) == 1:
        x = x.owner.inputs[0]
    return x if isinstance(x, Constant) else None


def _handed_on(op: Scan, k: int) -> int | None:
    """The state that another is handed on from; None where none is, or in a circle."""
    seen = {k}
    first: int | None = None
    while True:
        output = op.body.outputs[k]
        states = op.states(op.body.inputs)
        if output not in states:
            return first
        k = states.index(output)
        first = k if first is None else first
        if k in seen:
            return None
        seen.add(k)


def _known(variable: Any) -> Any:
    assert variable is not None
    return variable
