"""``Parts``: a loop as lists of sequences, states, constants and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import clone_replace, inputs_of
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan, all_iterations
from gpuarray.compiler.rewrites.engine.engine import GraphPass, Log, graph_pass

Results = Sequence[Variable | None] | None
"""Replacements of a loop's outputs, None for an unread output; None for no change."""


@dataclass
class State:
    """A state: the body's variable, the initial value, the body's next value."""

    inner: Variable
    start: Variable
    next: Variable


@dataclass
class Parts:
    """A loop that a rewrite may change; `node` makes a node of it.

    ``sequences`` and ``constants`` are pairs of the body's variable and the loop's
    input. ``condition`` is the stop condition of a loop with ``until``.
    """

    op: Scan
    iterations: Variable
    sequences: list[tuple[Variable, Variable]]
    states: list[State]
    constants: list[tuple[Variable, Variable]]
    results: list[Variable]
    condition: Variable | None = None
    changed: bool = field(default=False)

    def outputs(self) -> list[Variable]:
        """Return the body's outputs: the next states, the results, the condition."""
        condition = [] if self.condition is None else [self.condition]
        return [*(s.next for s in self.states), *self.results, *condition]

    def read(self) -> set[Variable]:
        """Return the variables that the body reads."""
        return set(inputs_of(self.outputs()))

    def replace(self, replacements: Mapping[Variable, Variable]) -> None:
        """Replace variables of the body."""
        outputs = clone_replace(self.outputs(), replacements)
        for state, value in zip(self.states, outputs, strict=False):
            state.next = value
        results = outputs[len(self.states) :]
        self.results = results[: len(self.results)]
        self.condition = None if self.condition is None else results[-1]

    def node(self) -> Apply:
        """Return a node of the loop, with a body of these parts."""
        pairs = [
            *self.sequences,
            *((s.inner, s.start) for s in self.states),
            *self.constants,
        ]
        body = Body([inner for inner, _ in pairs], self.outputs())
        op = self.op.like(body, len(self.sequences), len(self.states))
        return op.make_node(self.iterations, *(outer for _, outer in pairs))


def loops_of(fgraph: FunctionGraph, stopping: bool = False) -> list[Apply]:
    """Return the loops without ``until``; with ``stopping`` all loops.

    Those with factors of affine states are done.
    """
    return [
        node
        for node in fgraph.toposort()
        if isinstance(node.op, Scan)
        and not node.op.n_affine
        and (stopping or not node.op.until)
    ]


Rule = Callable[[Parts, list[bool]], Results]


def loop_pass(rule: Rule) -> GraphPass:
    """Make a pass of a rule that replaces the outputs of a loop without ``until``.

    The rule gets the parts of the loop and a flag per output: True if it is read.
    """
    return _pass_of(rule, stopping=False)


def pass_of_all_loops(rule: Rule) -> GraphPass:
    """Make a pass as `loop_pass` does, for loops with ``until``, too."""
    return _pass_of(rule, stopping=True)


def _pass_of(rule: Rule, stopping: bool) -> GraphPass:
    @wraps(rule)
    def run(fgraph: FunctionGraph, log: Log) -> bool:
        changed = False
        for loop in loops_of(fgraph, stopping):
            used = [bool(fgraph.clients.get(output)) for output in loop.outputs]
            body = loop_of(loop).body
            copy = body.take_copy()
            results = rule(parts_over(loop, copy), used)
            if results is None:
                body.give_back(copy)
            else:
                replace_outputs(fgraph, loop, results, run.__name__, log)
                changed = True
        return changed

    return graph_pass(phase="specialize")(run)


def parts_of(node: Apply) -> Parts:
    """Return the parts of a loop, over a copy of its body."""
    return parts_over(node, loop_of(node).body.cloned())


def parts_over(node: Apply, body: Body) -> Parts:
    """Return the parts of a loop, over this copy of its body."""
    op = loop_of(node)
    iterations, *inputs = node.inputs
    nexts = body.outputs[: op.n_states]
    return Parts(
        op,
        iterations,
        list(zip(op.sequences(body.inputs), op.sequences(inputs), strict=True)),
        [
            State(*fields)
            for fields in zip(
                op.states(body.inputs), op.states(inputs), nexts, strict=True
            )
        ],
        list(zip(op.constants(body.inputs), op.constants(inputs), strict=True)),
        list(body.outputs[op.n_states : op.n_states + op.n_traces]),
        body.outputs[-1] if op.until else None,
    )


def loop_of(node: Apply) -> Scan:
    """Return the op of a node that is a loop."""
    assert isinstance(node.op, Scan)
    return node.op


def replace_outputs(
    fgraph: FunctionGraph,
    node: Apply,
    results: Sequence[Variable | None],
    name: str,
    log: Log,
) -> None:
    """Replace a node's outputs by results; None leaves an output that is not read."""
    for old, new in zip(node.outputs, results, strict=True):
        if new is not None and new is not old:
            result = patternbroadcast(new, old.type.broadcastable)
            log.note(name, old, result)
            fgraph.replace(old, result, reason=name)


def run_all_iterations(fgraph: FunctionGraph, log: Log) -> None:
    """Replace each loop with ``until`` by one that runs all iterations."""
    for node in loops_of(fgraph, stopping=True):
        op = loop_of(node)
        if op.until:
            results = all_iterations(op, node.inputs)
            replace_outputs(fgraph, node, results, "run_all_iterations", log)
