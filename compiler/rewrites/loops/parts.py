"""A loop taken apart into what each input and output of its body is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import clone_replace, inputs_of
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan, all_turns
from gpuarray.compiler.rewrites.engine.engine import GraphPass, Log, graph_pass

Results = Sequence[Variable | None] | None
"""What replaces the outputs of a loop, None where nobody reads one; None for no change.
"""


@dataclass
class State:
    """What a turn hands to the next: its variable, its beginning, its next value."""

    inner: Variable
    start: Variable
    next: Variable


@dataclass
class Parts:
    """A loop: pairs of a variable of the body and what it is given, states, results.

    ``condition`` is that of a loop that stops.
    """

    op: Scan
    turns: Variable
    sequences: list[tuple[Variable, Variable]]
    states: list[State]
    constants: list[tuple[Variable, Variable]]
    results: list[Variable]
    condition: Variable | None = None
    changed: bool = field(default=False)

    def outputs(self) -> list[Variable]:
        """What the body computes: the next states, the results, the condition."""
        condition = [] if self.condition is None else [self.condition]
        return [*(s.next for s in self.states), *self.results, *condition]

    def read(self) -> set[Variable]:
        """The variables that the body reads."""
        return set(inputs_of(self.outputs()))

    def replace(self, known: Mapping[Variable, Variable]) -> None:
        """Let the body read other variables."""
        new = clone_replace(self.outputs(), known)
        for state, value in zip(self.states, new, strict=False):
            state.next = value
        rest = new[len(self.states) :]
        self.results = rest[: len(self.results)]
        self.condition = None if self.condition is None else rest[-1]

    def node(self) -> Apply:
        """A node of the loop."""
        pairs = [
            *self.sequences,
            *((s.inner, s.start) for s in self.states),
            *self.constants,
        ]
        body = Body([inner for inner, _ in pairs], self.outputs())
        op = self.op.like(body, len(self.sequences), len(self.states))
        return op.make_node(self.turns, *(given for _, given in pairs))


def loops_of(fgraph: FunctionGraph, stopping: bool = False) -> list[Apply]:
    """Return the loops that run all turns, and with ``stopping`` the others, too."""
    return [
        node
        for node in fgraph.toposort()
        if isinstance(node.op, Scan) and (stopping or not node.op.until)
    ]


Rule = Callable[[Parts, list[bool]], Results]


def loop_pass(rule: Rule) -> GraphPass:
    """Make a pass of a function that gives other results for the outputs of a loop.

    It gets the parts of each loop that runs all its turns, and which outputs are read.
    """
    return _pass_of(rule, stopping=False)


def pass_of_all_loops(rule: Rule) -> GraphPass:
    """Make a pass as `loop_pass` does, of loops that stop, too."""
    return _pass_of(rule, stopping=True)


def _pass_of(rule: Rule, stopping: bool) -> GraphPass:
    @wraps(rule)
    def run(fgraph: FunctionGraph, log: Log) -> bool:
        changed = False
        for loop in loops_of(fgraph, stopping):
            used = [bool(fgraph.clients.get(output)) for output in loop.outputs]
            results = rule(parts_of(loop), used)
            if results is not None:
                replace_outputs(fgraph, loop, results, run.__name__, log)
                changed = True
        return changed

    return graph_pass(phase="specialize")(run)


def parts_of(node: Apply) -> Parts:
    """The parts of a loop, over a body of its own variables."""
    op = node.op
    assert isinstance(op, Scan)
    body = op.body.cloned()
    turns, *given = node.inputs
    nexts = body.outputs[: op.n_states]
    return Parts(
        op,
        turns,
        list(zip(op.sequences(body.inputs), op.sequences(given), strict=True)),
        [
            State(*each)
            for each in zip(
                op.states(body.inputs), op.states(given), nexts, strict=True
            )
        ],
        list(zip(op.constants(body.inputs), op.constants(given), strict=True)),
        list(body.outputs[op.n_states : op.n_states + op.n_traces]),
        body.outputs[-1] if op.until else None,
    )


def replace_outputs(
    fgraph: FunctionGraph,
    node: Apply,
    results: Sequence[Variable | None],
    name: str,
    log: Log,
) -> None:
    """Put results in the place of a node's outputs; None where nobody reads one."""
    for old, new in zip(node.outputs, results, strict=True):
        if new is not None and new is not old:
            fitting = patternbroadcast(new, old.type.broadcastable)
            log.note(name, old, fitting)
            fgraph.replace(old, fitting, reason=name)


def run_all_turns(fgraph: FunctionGraph, log: Log) -> None:
    """Put loops of all turns in the place of those that stop."""
    for node in loops_of(fgraph, stopping=True):
        op = node.op
        if isinstance(op, Scan) and op.until:
            results = all_turns(op, node.inputs)
            replace_outputs(fgraph, node, results, "run_all_turns", log)
