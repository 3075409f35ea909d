"""What a loop does not need: unused results and states, what is the same each turn."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import clone_replace, inputs_of, toposort
from gpuarray.compiler.ops.broadcast.broadcast import (
    BroadcastTo,
    Rebroadcast,
    patternbroadcast,
)
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.shape.shape import DimShuffle, Shape, Shape_i, shape_padleft
from gpuarray.compiler.ops.slicing.subtensor import Subtensor
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.rows import row_of_op
from gpuarray.compiler.rewrites.loops.parts import (
    Parts,
    Results,
    State,
    loop_pass,
    loops_of,
    pass_of_all_loops,
)

FREE = (DimShuffle, Rebroadcast, BroadcastTo, Shape, Shape_i)
"""Ops that cost a turn nothing: views, and lengths."""


@graph_pass(phase="specialize")
def take_final_states(fgraph: FunctionGraph, log: Log) -> bool:
    """The last row of a state's trace is the state after the last turn."""
    changed = False
    for loop in loops_of(fgraph, stopping=True):
        if not surely_runs(loop):
            continue
        for place, trace in enumerate(loop.outputs):
            final = final_of(loop, place)
            if final is None:
                continue
            for client, _ in list(fgraph.clients.get(trace, ())):
                if not isinstance(client, Apply) or not reads_last_row(client):
                    continue
                old = client.outputs[0]
                new = rest_of(client, final)
                log.note("take_final_states", old, new)
                fitting = patternbroadcast(new, old.type.broadcastable)
                fgraph.replace(old, fitting, reason="take_final_states")
                changed = True
    return changed


def surely_runs(loop: Apply) -> bool:
    """True if a loop has a turn, or a requirement says later that it must."""
    turns = loop.inputs[0]
    is_known = isinstance(turns, Constant) and int(turns.data) > 0
    return is_known or not loop.op.until  # type: ignore[attr-defined]


def final_of(loop: Apply, place: int) -> Variable | None:
    """The output that is the last row of a trace; None where there is none."""
    op = loop.op
    n_states: int = op.n_states  # type: ignore[attr-defined]
    outputs = op.body.outputs  # type: ignore[attr-defined]
    if not n_states <= place < n_states + op.n_traces:  # type: ignore[attr-defined]
        return None
    same = [k for k in range(n_states) if outputs[k] is outputs[place]]
    return loop.outputs[same[0]] if same else None


def reads_last_row(node: Apply) -> bool:
    """True for an index whose first entry is -1."""
    if not isinstance(node.op, Subtensor) or not node.op.idx_list:
        return False
    if not isinstance(node.op.idx_list[0], str):
        return False
    first = node.inputs[1]
    return isinstance(first, Constant) and int(first.data) == -1


def rest_of(node: Apply, row: Variable) -> Variable:
    """What an index takes of a row, without its first entry."""
    rest = node.op.idx_list[1:]  # type: ignore[attr-defined]
    if not rest:
        return row
    result: Variable = Subtensor(rest)(row, *node.inputs[2:])
    return result


@pass_of_all_loops
def tidy_loops(parts: Parts, used: list[bool]) -> Results:
    """Leave out what nobody reads, and do once what is the same in all turns."""
    count = len(parts.states)
    finals: list[State | Variable | None] = list(parts.states)
    _drop_still_states(parts, finals)
    _merge_inputs(parts)
    used_traces = used[count : count + len(parts.results)]
    kept = _needed(parts, used[:count], used_traces, finals)
    traces = _merge_results(parts, used_traces)
    _hoist(parts)
    _drop_unread(parts)
    if not parts.changed:
        return None
    made = parts.node().outputs if parts.outputs() else []
    first = len(parts.states)
    outs: list[Variable | None] = [
        made[_place_of(parts.states, final)] if isinstance(final, State) else final
        for final in kept
    ]
    outs += [None if at is None else made[first + at] for at in traces]
    return outs if parts.condition is None else [*outs, made[-1]]


def _drop_still_states(parts: Parts, finals: list[State | Variable | None]) -> None:
    """A state that is handed on as it is, is a constant of the loop."""
    for state in list(parts.states):
        if state.next is state.inner and state.start.type == state.inner.type:
            finals[_place_of(finals, state)] = state.start
            parts.states = [each for each in parts.states if each is not state]
            parts.constants.append((state.inner, state.start))
            parts.changed = True


def _place_of(items: Sequence[object], state: State) -> int:
    return next(i for i, each in enumerate(items) if each is state)


def _merge_inputs(parts: Parts) -> None:
    """Equal inputs become one, and constants of the graph constants of the body."""
    known: dict[Variable, Variable] = {}
    for pairs in (parts.sequences, parts.constants):
        first: dict[tuple[Variable, object], Variable] = {}
        for inner, given in list(pairs):
            if pairs is parts.constants and isinstance(given, Constant):
                if given.type != inner.type:
                    continue
                known[inner] = given
            else:
                other = first.setdefault((given, inner.type), inner)
                if other is inner:
                    continue
                known[inner] = other
            pairs.remove((inner, given))
    parts.changed = parts.changed or bool(known)
    parts.replace(known)


def _needed(
    parts: Parts,
    used_finals: list[bool],
    used_traces: list[bool],
    finals: list[State | Variable | None],
) -> list[State | Variable | None]:
    """Leave out the states that nothing needs; what is left of the outputs."""
    wanted = [
        final
        for final, is_read in zip(finals, used_finals, strict=True)
        if isinstance(final, State) and is_read
    ]
    roots = [
        r for r, is_read in zip(parts.results, used_traces, strict=True) if is_read
    ]
    roots += [] if parts.condition is None else [parts.condition]
    needed: list[State] = []
    while True:
        read = set(inputs_of([*roots, *(state.next for state in wanted)]))
        grown = [
            state
            for state in parts.states
            if state.inner in read or any(state is each for each in wanted)
        ]
        if len(grown) == len(needed):
            break
        needed = wanted = grown
    if len(needed) < len(parts.states):
        parts.states = needed
        parts.changed = True
    return [
        final
        if not isinstance(final, State) or any(final is each for each in needed)
        else None
        for final in finals
    ]


def _merge_results(parts: Parts, used: list[bool]) -> list[int | None]:
    """Leave out the results that nobody reads; the place of each that is read."""
    places: list[int | None] = []
    kept: list[Variable] = []
    for result, is_read in zip(parts.results, used, strict=True):
        if not is_read:
            places.append(None)
            continue
        at = next((i for i, each in enumerate(kept) if each is result), None)
        if at is None:
            at = len(kept)
            kept.append(result)
        places.append(at)
    parts.changed = parts.changed or len(kept) < len(parts.results)
    parts.results = kept
    return places


def _hoist(parts: Parts) -> None:
    """Compute before the loop what depends on no turn."""
    given = dict(parts.constants)
    outputs = parts.outputs()
    changing = {inner for inner, _ in parts.sequences}
    changing |= {state.inner for state in parts.states}
    order = toposort(outputs, blockers={*given, *changing})
    still: set[Variable] = set(given)
    for node in order:
        if all(each in still or isinstance(each, Constant) for each in node.inputs):
            still.update(node.outputs)
    read = [
        each for node in order if node.outputs[0] not in still for each in node.inputs
    ]
    edge = {
        each: None
        for each in (*read, *outputs)
        if each in still and each.owner is not None and not is_free(each)
    }
    known: dict[Variable, Variable] = {}
    for variable in edge:
        inner = variable.type(variable.name)
        known[variable] = inner
        parts.constants.append((inner, clone_replace(variable, given)))
    parts.changed = parts.changed or bool(known)
    parts.replace(known)


def is_free(variable: Variable) -> bool:
    """True for what a turn has at no cost: views, lengths and one value everywhere."""
    while variable.owner is not None:
        node = variable.owner
        is_fill = row_of_op(node.op) == "second"
        if isinstance(node.op, MakeVector):  # the host has its integers
            return True
        if not is_fill and not isinstance(node.op, FREE):
            return False
        variable = node.inputs[-1] if is_fill else node.inputs[0]
    return True


def _drop_unread(parts: Parts) -> None:
    """Leave out the inputs that the body does not read."""
    read = parts.read()
    for pairs in (parts.sequences, parts.constants):
        kept = [pair for pair in pairs if pair[0] in read]
        if len(kept) < len(pairs):
            pairs[:] = kept
            parts.changed = True


@loop_pass
def unroll_single_turns(parts: Parts, used: list[bool]) -> Results:
    """A loop of one turn is its body."""
    if not isinstance(parts.turns, Constant) or int(parts.turns.data) != 1:
        return None
    known = {inner: index(given, 0) for inner, given in parts.sequences}
    known |= {state.inner: state.start for state in parts.states}
    known |= dict(parts.constants)
    known = {
        old: patternbroadcast(new, old.type.broadcastable) for old, new in known.items()
    }
    made = clone_replace(parts.outputs(), known)
    count = len(parts.states)
    return [*made[:count], *(shape_padleft(each) for each in made[count:])]
