"""Dead results and states of loops, equal inputs, loop-invariant code, unrolling."""

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
from gpuarray.compiler.ops.random.positions import Positions
from gpuarray.compiler.ops.shape.shape import DimShuffle, Shape, Shape_i, shape_padleft
from gpuarray.compiler.ops.slicing.lengths import is_of_lengths
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

FREE = (DimShuffle, Rebroadcast, BroadcastTo, Shape, Shape_i, Positions)
"""Ops without a launch, which stay in the body: views and lengths."""


@graph_pass(phase="specialize")
def take_final_states(fgraph: FunctionGraph, log: Log) -> bool:
    """Replace the last row of a state's trace by the final state."""
    changed = False
    for loop in loops_of(fgraph, stopping=True):
        if not surely_runs(loop):
            continue
        for i, trace in enumerate(loop.outputs):
            final = final_of(loop, i)
            if final is None:
                continue
            for client, _ in list(fgraph.clients.get(trace, ())):
                if not isinstance(client, Apply) or not reads_last_row(client):
                    continue
                old = client.outputs[0]
                new = rest_of(client, final)
                log.note("take_final_states", old, new)
                result = patternbroadcast(new, old.type.broadcastable)
                fgraph.replace(old, result, reason="take_final_states")
                changed = True
    return changed


def surely_runs(loop: Apply) -> bool:
    """True if a loop has an iteration, or if reading the last row will require one."""
    iterations = loop.inputs[0]
    is_known = isinstance(iterations, Constant) and int(iterations.data) > 0
    return is_known or not loop.op.until  # type: ignore[attr-defined]


def final_of(loop: Apply, i: int) -> Variable | None:
    """Return the final state if output ``i`` is the trace of a state; None else."""
    op = loop.op
    n_states: int = op.n_states  # type: ignore[attr-defined]
    outputs = op.body.outputs  # type: ignore[attr-defined]
    if not n_states <= i < n_states + op.n_traces:  # type: ignore[attr-defined]
        return None
    same = [k for k in range(n_states) if outputs[k] is outputs[i]]
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
    """Return the row under the other entries of an index, without its first."""
    entries = node.op.idx_list[1:]  # type: ignore[attr-defined]
    if not entries:
        return row
    result: Variable = Subtensor(entries)(row, *node.inputs[2:])
    return result


@pass_of_all_loops
def tidy_loops(parts: Parts, used: list[bool]) -> Results:
    """Remove what is not read, merge equal inputs, hoist loop-invariant code."""
    count = len(parts.states)
    finals: list[State | Variable | None] = list(parts.states)
    _drop_still_states(parts, finals)
    _merge_inputs(parts)
    used_traces = used[count : count + len(parts.results)]
    finals = _needed(parts, used[:count], used_traces, finals)
    traces = _merge_results(parts, used_traces)
    _hoist(parts)
    _drop_unread(parts)
    if not parts.changed:
        return None
    outputs = parts.node().outputs if parts.outputs() else []
    first = len(parts.states)
    results: list[Variable | None] = [
        outputs[_index_of(parts.states, final)] if isinstance(final, State) else final
        for final in finals
    ]
    results += [None if i is None else outputs[first + i] for i in traces]
    return results if parts.condition is None else [*results, outputs[-1]]


def _drop_still_states(parts: Parts, finals: list[State | Variable | None]) -> None:
    """Turn states that never change into constants; final values are initial ones."""
    for state in list(parts.states):
        if state.next is state.inner and state.start.type == state.inner.type:
            finals[_index_of(finals, state)] = state.start
            parts.states = [other for other in parts.states if other is not state]
            parts.constants.append((state.inner, state.start))
            parts.changed = True


def _index_of(items: Sequence[object], state: State) -> int:
    return next(i for i, item in enumerate(items) if item is state)


def _merge_inputs(parts: Parts) -> None:
    """Merge equal inputs, and move constants of the graph into the body."""
    replacements: dict[Variable, Variable] = {}
    for pairs in (parts.sequences, parts.constants):
        first: dict[tuple[Variable, object], Variable] = {}
        for inner, outer in list(pairs):
            if pairs is parts.constants and isinstance(outer, Constant):
                if outer.type != inner.type:
                    continue
                replacements[inner] = outer
            else:
                other = first.setdefault((outer, inner.type), inner)
                if other is inner:
                    continue
                replacements[inner] = other
            pairs.remove((inner, outer))
    parts.changed = parts.changed or bool(replacements)
    parts.replace(replacements)


def _needed(
    parts: Parts,
    used_finals: list[bool],
    used_traces: list[bool],
    finals: list[State | Variable | None],
) -> list[State | Variable | None]:
    """Remove the states that nothing reads; return ``finals``, None for removed ones.

    A state is needed if its final value is read, or if a needed state, a read result
    or the condition depends on it.
    """
    live = [
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
        read = set(inputs_of([*roots, *(state.next for state in live)]))
        grown = [
            state
            for state in parts.states
            if state.inner in read or any(state is other for other in live)
        ]
        if len(grown) == len(needed):
            break
        needed = live = grown
    if len(needed) < len(parts.states):
        parts.states = needed
        parts.changed = True
    return [
        final
        if not isinstance(final, State) or any(final is state for state in needed)
        else None
        for final in finals
    ]


def _merge_results(parts: Parts, used: list[bool]) -> list[int | None]:
    """Remove unread and repeated results; return the new index of each or None."""
    indices: list[int | None] = []
    results: list[Variable] = []
    for result, is_read in zip(parts.results, used, strict=True):
        if not is_read:
            indices.append(None)
            continue
        i = next((i for i, other in enumerate(results) if other is result), None)
        if i is None:
            i = len(results)
            results.append(result)
        indices.append(i)
    parts.changed = parts.changed or len(results) < len(parts.results)
    parts.results = results
    return indices


def _hoist(parts: Parts) -> None:
    """Compute loop-invariant expressions before the loop."""
    constants = dict(parts.constants)
    outputs = parts.outputs()
    changing = {inner for inner, _ in parts.sequences}
    changing |= {state.inner for state in parts.states}
    order = toposort(outputs, blockers={*constants, *changing})
    invariant: set[Variable] = set(constants)
    for node in order:
        if node.op.program_order is None and all(
            x in invariant or isinstance(x, Constant) for x in node.inputs
        ):
            invariant.update(node.outputs)
    read = [
        x for node in order if node.outputs[0] not in invariant for x in node.inputs
    ]
    edge = {
        x: None
        for x in (*read, *outputs)
        if x in invariant and x.owner is not None and not is_free(x)
    }
    replacements: dict[Variable, Variable] = {}
    for variable in edge:
        inner = variable.type(variable.name)
        replacements[variable] = inner
        parts.constants.append((inner, clone_replace(variable, constants)))
    parts.changed = parts.changed or bool(replacements)
    parts.replace(replacements)


def is_free(variable: Variable) -> bool:
    """True if a variable costs an iteration no launch: views, lengths and fills."""
    if is_of_lengths(variable):
        return True
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
    """Remove the inputs that the body does not read."""
    read = parts.read()
    for pairs in (parts.sequences, parts.constants):
        live = [pair for pair in pairs if pair[0] in read]
        if len(live) < len(pairs):
            pairs[:] = live
            parts.changed = True


@loop_pass
def unroll_single_iterations(parts: Parts, used: list[bool]) -> Results:
    """Replace a loop of one iteration by its body."""
    if not isinstance(parts.iterations, Constant) or int(parts.iterations.data) != 1:
        return None
    inputs = {inner: index(outer, 0) for inner, outer in parts.sequences}
    inputs |= {state.inner: state.start for state in parts.states}
    inputs |= dict(parts.constants)
    inputs = {
        inner: patternbroadcast(outer, inner.type.broadcastable)
        for inner, outer in inputs.items()
    }
    outputs = clone_replace(parts.outputs(), inputs)
    count = len(parts.states)
    return [*outputs[:count], *(shape_padleft(result) for result in outputs[count:])]
