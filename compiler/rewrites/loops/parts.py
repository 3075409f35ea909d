"""A loop taken apart into what each input and output of its body is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import inputs_of
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.rewrites.engine.engine import Log


@dataclass
class State:
    """What a turn hands to the next: its variable, its beginning, its next value."""

    inner: Variable
    start: Variable
    next: Variable


@dataclass
class Parts:
    """A loop: pairs of a variable of the body and what it is given, states, results."""

    op: Scan
    turns: Variable
    sequences: list[tuple[Variable, Variable]]
    states: list[State]
    constants: list[tuple[Variable, Variable]]
    results: list[Variable]
    changed: bool = field(default=False)

    def read(self) -> set[Variable]:
        """The variables that the body reads."""
        return set(inputs_of([*(s.next for s in self.states), *self.results]))

    def op_and_inputs(self) -> tuple[Scan, list[Variable]]:
        """The loop's op, and the inputs of its node."""
        pairs = [
            *self.sequences,
            *((s.inner, s.start) for s in self.states),
            *self.constants,
        ]
        outputs = [*(s.next for s in self.states), *self.results]
        body = Body([inner for inner, _ in pairs], outputs)
        op = self.op.like(body, len(self.sequences), len(self.states))
        return op, [self.turns, *(given for _, given in pairs)]

    def node(self) -> Apply:
        """A node of the loop."""
        op, inputs = self.op_and_inputs()
        return op.make_node(*inputs)


def loops_of(fgraph: FunctionGraph) -> list[Apply]:
    """The loops of a graph, those that run all their turns."""
    return [
        node
        for node in fgraph.toposort()
        if isinstance(node.op, Scan) and not node.op.until
    ]


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
        list(body.outputs[op.n_states :]),
    )


def replace_outputs(
    fgraph: FunctionGraph,
    node: Apply,
    results: Iterable[Variable | None],
    name: str,
    log: Log,
) -> None:
    """Put results in the place of a node's outputs; None where nobody reads one."""
    for old, new in zip(node.outputs, list(results), strict=True):
        if new is not None and new is not old:
            fitting = as_type(new, old)
            log.note(name, old, fitting)
            fgraph.replace(old, fitting, reason=name)


def as_type(new: Variable, old: Variable) -> Variable:
    """A variable whose axes broadcast as those of another."""
    if new.type.broadcastable == old.type.broadcastable:
        return new
    return patternbroadcast(new, old.type.broadcastable)


def is_used(fgraph: FunctionGraph, variables: Sequence[Variable]) -> list[bool]:
    """Which of the variables anything reads."""
    return [bool(fgraph.clients.get(variable)) for variable in variables]
