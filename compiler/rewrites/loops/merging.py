"""Merging of loops: loops of one length that do not need each other become one."""

from __future__ import annotations

from itertools import combinations

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.requirements import Requirement
from gpuarray.compiler.graph.traverse import ancestors, clone_replace, same_graph
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.shape.lengths import Lengths, lengths_of
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.engine.requirements import Points
from gpuarray.compiler.rewrites.loops.parts import (
    Parts,
    loop_of,
    loops_of,
    parts_of,
    replace_outputs,
)
from gpuarray.compiler.rewrites.loops.tidying import is_free

MOST_VALUES = 32
"""The most inputs and outputs of a merged body: arguments of its kernel."""


@graph_pass(phase="specialize")
def merge_loops_of_same_states(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge two loops of the same inputs and states, which differ in their results.

    A gradient asks for traces that the loop itself has not.
    """
    guards = fgraph.guards()
    for first, second in combinations(loops_of(fgraph, stopping=True), 2):
        if len(first.inputs) != len(second.inputs) or not all(
            x is y for x, y in zip(first.inputs, second.inputs, strict=True)
        ):
            continue
        if guards.get(first) == guards.get(second) and _with_results_of(
            fgraph, first, second, log
        ):
            return True
    return False


def _with_results_of(
    fgraph: FunctionGraph, first: Apply, second: Apply, log: Log
) -> bool:
    """Give one loop the results of another; False if their states differ."""
    a, b = parts_of(first), parts_of(second)
    if a.op.like(b.op.body, b.op.n_sequences, b.op.n_states) != b.op:
        return False
    known = dict(zip(_inner(b), _inner(a), strict=True))
    nexts = [*(s.next for s in a.states), *_condition(a)]
    others = [*(s.next for s in b.states), *_condition(b)]
    if not all(same_graph(y, x, known) for x, y in zip(nexts, others, strict=True)):
        return False
    count, split = len(a.states), len(a.states) + len(a.results)
    a.results = [*a.results, *clone_replace(b.results, known)]
    outputs = a.node().outputs
    end = len(outputs) - len(_condition(a))
    for node, traces in ((first, outputs[count:split]), (second, outputs[split:end])):
        results = [*outputs[:count], *traces, *outputs[end:]]
        replace_outputs(fgraph, node, results, "merge_loops_of_same_states", log)
    return True


def _inner(parts: Parts) -> list[Variable]:
    """Return the inputs of a body."""
    states = [state.inner for state in parts.states]
    fixed = [inner for inner, _ in parts.constants]
    return [*(inner for inner, _ in parts.sequences), *states, *fixed]


def _condition(parts: Parts) -> list[Variable]:
    return [] if parts.condition is None else [parts.condition]


@graph_pass(phase="specialize")
def merge_loops(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge two loops of one length, neither of which needs the other's results.

    Two loops that are one kernel each, over elements of one shape, are one kernel
    together, which reads what both read once. Loops that are recorded are merged if
    both compute the same of the same inputs.
    """
    loops = [node for node in loops_of(fgraph) if not loop_of(node).is_of_segments]
    if len(loops) < 2 or fgraph.several_contexts:
        return False
    points = Points({}, [])
    guards = fgraph.guards()
    for first, second in combinations(loops, 2):
        if guards.get(first) != guards.get(second):
            continue
        if not _fit(first, second, points) or _needs(second, first):
            continue
        _merge(fgraph, first, second, log)
        return True
    return False


def _fit(first: Apply, second: Apply, points: Points) -> bool:
    """True if two loops have as many iterations, and a merged body is better."""
    a, b = loop_of(first).body, loop_of(second).body
    values = (a.inputs, a.outputs, b.inputs, b.outputs)
    if sum(map(len, values)) > MOST_VALUES or a.is_one_kernel != b.is_one_kernel:
        return False
    if not _agree(first.inputs[0], second.inputs[0], points):
        return False
    if not a.is_one_kernel:
        return _compute_the_same(first, second)
    kinds = [any(isinstance(n.op, Reduce) for n in body.nodes) for body in (a, b)]
    return kinds[0] == kinds[1] and any(
        len(one) == len(other)
        and all(_agree(x, y, points) for x, y in zip(one, other, strict=True))
        for one in _shapes_of(first)
        for other in _shapes_of(second)
    )


def _agree(x: Variable, y: Variable, points: Points) -> bool:
    """True if two integers are equal, whatever the lengths of the leaves."""
    return x is y or points.implies(Requirement("equal", x, y))


def _shapes_of(node: Apply) -> list[Lengths]:
    """Return the lengths of the elements that an elementwise loop goes through.

    They are those of each input that has all axes, equal when the loop runs.
    """
    loop = loop_of(node)
    first, body = loop.n_sequences, loop.body
    variables = [*body.inputs, *(v for member in body.nodes for v in member.outputs)]
    ndim = max((v.type.ndim for v in variables), default=0)
    return [
        lengths_of(outer)[1 if i < first else 0 :]
        for i, (inner, outer) in enumerate(
            zip(body.inputs, node.inputs[1:], strict=True)
        )
        if inner.type.ndim == ndim and not any(inner.type.broadcastable)
    ]


def _compute_the_same(first: Apply, second: Apply) -> bool:
    """True if the bodies have an operation in common, on the same inputs."""
    a, b = loop_of(first), loop_of(second)
    fixed = (a.sequences, a.constants), (b.sequences, b.constants)
    outer_a = [x for part in fixed[0] for x in part(list(first.inputs[1:]))]
    outer_b = [x for part in fixed[1] for x in part(list(second.inputs[1:]))]
    inner_a = [x for part in fixed[0] for x in part(a.body.inputs)]
    inner_b = [x for part in fixed[1] for x in part(b.body.inputs)]
    by_outer = dict(zip(outer_a, inner_a, strict=True))
    known = {
        inner: by_outer[outer]
        for inner, outer in zip(inner_b, outer_b, strict=True)
        if outer in by_outer
    }
    nodes = {(n.op, tuple(map(_key, n.inputs))): n for n in a.body.nodes}
    for node in b.body.nodes:
        key = node.op, tuple(_key(known.get(x, x)) for x in node.inputs)
        if key in nodes:
            known.update(zip(node.outputs, nodes[key].outputs, strict=True))
            if not is_free(node.outputs[0]):
                return True
    return False


def _key(x: Variable) -> object:
    """Return a key that two operands share if they are one value."""
    return x.signature if isinstance(x, Constant) else x


def _needs(node: Apply, other: Apply) -> bool:
    """True if a node reads results of another, directly or not."""
    return not set(other.outputs).isdisjoint(ancestors(node.inputs))


def _merge(fgraph: FunctionGraph, first: Apply, second: Apply, log: Log) -> None:
    """Replace two loops by one."""
    a, b = parts_of(first), parts_of(second)
    names = [name for name in (a.op.name, b.op.name) if name is not None]
    merged = Parts(
        Scan(a.op.body, 0, 0, name=" and ".join(dict.fromkeys(names)) or None),
        a.iterations,
        [*a.sequences, *b.sequences],
        [*a.states, *b.states],
        [*a.constants, *b.constants],
        [*a.results, *b.results],
    )
    outputs = iter(merged.node().outputs)
    results: dict[Apply, list[Variable]] = {first: [], second: []}
    states = (first, len(a.states)), (second, len(b.states))
    for node, count in (*states, (first, len(a.results)), (second, len(b.results))):
        results[node] += [next(outputs) for _ in range(count)]
    for node, new in results.items():
        replace_outputs(fgraph, node, new, "merge_loops", log)
