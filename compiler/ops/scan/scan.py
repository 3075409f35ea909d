"""The op of loops: a body that is done once for each turn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Apply, Op, Variable, constant
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import ArrayType, TensorType
from gpuarray.compiler.ops.custom.fromgraph import inlined
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

ALL = -1
"""The ``truncate_gradient`` of a loop whose gradient goes through all turns."""


class Scan(Op):
    """A loop of ``body``.

    The inputs of a node are the number of turns and then, by their roles, the inputs of
    the body:

    - ``n_sequences`` sequences: arrays of which each turn gets its row;
    - ``n_states`` states: what a turn makes of one is given to the next turn;
    - constants of the loop, the same in all turns.

    The body's outputs are the next states and then any number of results of the turn.
    The node's outputs are the states after the last turn, and for each result its
    trace: an array that has the results of all turns in its rows. A sequence that is
    read at several taps is several inputs, each a part of it; a state that is read at
    several taps is several states, of which one is computed and the others are handed
    on. A shared variable that turns update is a state.

    With ``until`` the body's last output is a condition: the turn in which it is true
    is the last one. The number of turns is then the most that there are, the traces
    have the turns that were, and the node's last output is how many these are.

    ``truncate_gradient`` is how many turns a gradient goes back, `ALL` for all.

    ``stopped`` is the state, by its place, that says of a loop of all turns that the
    condition held: later turns change nothing that is read. None of other loops.
    """

    __props__ = ("body", "n_sequences", "n_states", "until", "truncate_gradient",
                 "name", "stopped")  # fmt: skip

    placed_body: Any = None
    """Of a loop on a context the body there, a `FunctionGraph`."""

    def __init__(
        self,
        body: Body,
        n_sequences: int,
        n_states: int,
        *,
        until: bool = False,
        truncate_gradient: int = ALL,
        name: str | None = None,
        stopped: int | None = None,
    ) -> None:
        self.body = body
        self.n_sequences = n_sequences
        self.n_states = n_states
        self.until = until
        self.truncate_gradient = truncate_gradient
        self.name = name
        self.stopped = stopped

    @property
    def n_traces(self) -> int:
        """How many results of the turns there are."""
        return len(self.body.outputs) - self.n_states - self.until

    def like(self, body: Body, n_sequences: int, n_states: int) -> Scan:
        """The loop with another body."""
        return Scan(
            body,
            n_sequences,
            n_states,
            until=self.until,
            truncate_gradient=self.truncate_gradient,
            name=self.name,
            stopped=self.stopped if n_states == self.n_states else None,
        )

    @cached_property
    def is_graph(self) -> bool:  # type: ignore[override]
        """Whether a function replaces something in its body."""
        return any(node.op.is_graph for node in self.body.nodes)

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the outputs of the loop, with graphs for what stands for graphs."""
        body = Body(self.body.inputs, inlined(self.body.outputs))
        loop = self.like(body, self.n_sequences, self.n_states)
        return list(loop.make_node(*inputs).outputs)

    def sequences(self, given: Sequence[Any]) -> list[Any]:
        """Of a list in the order of the body's inputs the part of the sequences."""
        return list(given[: self.n_sequences])

    def states(self, given: Sequence[Any]) -> list[Any]:
        """Of a list in the order of the body's inputs the part of the states."""
        return list(given[self.n_sequences : self.n_sequences + self.n_states])

    def constants(self, given: Sequence[Any]) -> list[Any]:
        """Of a list in the order of the body's inputs the part of the constants."""
        return list(given[self.n_sequences + self.n_states :])

    def make_node(self, turns: Any, *inputs: Any) -> Apply:
        """A node of the number of turns and what the body's inputs are made of."""
        count = math.cast(as_tensor_variable(turns), "int64")
        given = [as_tensor_variable(each) for each in inputs]
        if len(given) != len(self.body.inputs):
            raise GraphTypeError(
                f"{self}: given {len(given)} inputs, expected {len(self.body.inputs)}"
            )
        for place, (variable, inner) in enumerate(
            zip(given, self.body.inputs, strict=True)
        ):
            wanted = rows_of(inner.type) if place < self.n_sequences else inner.type
            if not takes(wanted, variable.type):
                raise GraphTypeError(
                    f"{self}: input {place} is {variable} of {variable.type}, expected "
                    f"{wanted}"
                )
        kinds = [output.type for output in self.body.outputs]
        finals = [x.type for x in self.states(self.body.inputs)]
        traces = kinds[self.n_states : self.n_states + self.n_traces]
        outputs = [
            *(kind() for kind in finals),
            *(rows_of(kind)() for kind in traces),
            *([TensorType("int64", ())()] if self.until else []),
        ]
        return Apply(self, [count, *given], outputs)

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The turns, one after the other, by NumPy."""
        most, *given = arrays
        sequences = self.sequences(given)
        constants = self.constants(given)
        states = [np.asarray(x) for x in self.states(given)]
        results: list[list[Any]] = []
        for turn in range(max(int(most), 0)):
            rows = [np.asarray(x[turn]) for x in sequences]
            made = self.body.evaluate([*rows, *states, *constants])
            states = [np.asarray(x) for x in made[: self.n_states]]
            results.append(made[self.n_states : self.n_states + self.n_traces])
            if self.until and made[-1]:
                break
        count = [np.asarray(len(results), "int64")] if self.until else []
        return [*states, *self._stacked(results, given), *count]

    def _stacked(self, results: list[list[Any]], given: Sequence[Any]) -> list[Any]:
        """The results in rows; where there is no turn, as many as one on zeros has."""
        if results:
            return [np.stack(each) for each in zip(*results, strict=True)]
        rows = [np.zeros(x.shape[1:], x.dtype) for x in self.sequences(given)]
        made = self.body.evaluate([*rows, *given[self.n_sequences :]])
        return [
            np.zeros((0, *np.shape(each)), np.asarray(each).dtype)
            for each in made[self.n_states : self.n_states + self.n_traces]
        ]

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The number of turns, and the constants that settle shapes in the body."""
        first = self.n_sequences + self.n_states
        return (0, *(1 + i for i in sorted(self.body.on_host) if i >= first))

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """States keep their lengths; a trace has a row for each turn."""
        turns, *_ = node.inputs
        first = 1 + self.n_sequences
        finals = [tuple(x) for x in input_shapes[first : first + self.n_states]]
        rows = None if self.until else turns
        traces = [
            (rows, *self._lengths(self.n_states + place, finals))
            for place in range(self.n_traces)
        ]
        return [*finals, *traces, *([()] if self.until else [])]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """Require a row of each sequence for each turn."""
        if not self.until:
            for lengths in input_shapes[1 : 1 + self.n_sequences]:
                yield from equal(lengths[0], node.inputs[0])

    def _lengths(
        self, place: int, finals: Sequence[tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """The lengths of a result of the body where it is a state."""
        output = self.body.outputs[place]
        for next_state, lengths in zip(self.body.outputs, finals, strict=False):
            if next_state is output:
                return lengths
        ndim: int = output.type.ndim
        return (None,) * ndim

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """What reaches which output, in one turn or over several."""
        reach = self.reach()
        count = [frozenset[int]()] if self.until else []
        columns = [*reach[: self.n_states + self.n_traces], *count]
        rows = [
            [i in column for column in columns] for i in range(len(node.inputs) - 1)
        ]
        return [[False] * len(columns), *rows]

    def reach(self) -> list[frozenset[int]]:
        """For each output of the body the inputs that reach it over all turns."""
        found = list(self.body.behind)
        for k in range(self.n_states):  # a state may be reached without any turn
            found[k] = found[k] | {self.n_sequences + k}
        while True:
            wider = [
                each.union(
                    *(
                        found[k]
                        for k in range(self.n_states)
                        if self.n_sequences + k in each
                    )
                )
                for each in found
            ]
            if wider == found:
                return found
            found = wider

    def pull_back(
        self,
        m: Any,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_gradients: Sequence[Variable | None],
    ) -> list[Variable | None]:
        """Return the gradient of each input, by a loop that goes backwards."""
        return list(m.through_turns(self, inputs, outputs, output_gradients))

    def __str__(self) -> str:
        return f"for{{{self.name or 'scan_fn'}}}"


def rows_of(kind: ArrayType) -> Any:
    """The type of an array that has arrays of a type in its rows."""
    return kind.clone(broadcastable=(False, *kind.broadcastable))  # type: ignore[attr-defined]


def row_of(kind: ArrayType) -> Any:
    """The type of one row of an array."""
    return kind.clone(broadcastable=kind.broadcastable[1:])  # type: ignore[attr-defined]


def takes(wanted: ArrayType, given: ArrayType) -> bool:
    """True if an array of a type can be given where one of another is wanted."""
    return (
        wanted.dtype == given.dtype
        and wanted.ndim == given.ndim
        and all(
            has or not must
            for has, must in zip(given.broadcastable, wanted.broadcastable, strict=True)
        )
    )


def all_turns(loop: Scan, inputs: Sequence[Variable]) -> list[Variable]:
    """The results of a loop that stops, by one of which every turn runs.

    From the turn on in which the condition holds the states stay as they are, and turns
    are not counted. The traces are cut where it stopped.
    """
    body, first = loop.body, loop.n_sequences
    split = loop.n_states
    *made, condition = body.outputs
    states = loop.states(body.inputs)
    stopped = TensorType("bool", ())("stopped")
    count = TensorType("int64", ())("turns")
    choose, either = math.FUNCTIONS["where"], math.FUNCTIONS["logical_or"]
    kept = [
        choose(stopped, before, after)
        for before, after in zip(states, made[:split], strict=True)
    ]
    counted = choose(stopped, count, count + 1)
    known = dict(zip(made, kept, strict=False))
    results = [known.get(result, result) for result in made[split:]]
    whole = Scan(
        Body(
            [
                *body.inputs[: first + split],
                stopped,
                count,
                *loop.constants(body.inputs),
            ],
            [*kept, either(stopped, condition), counted, *results],
        ),
        first,
        split + 2,
        name=loop.name,
        stopped=split,
    )
    turns, *given = inputs
    outputs = whole(
        turns,
        *given[: first + split],
        constant(False, "bool"),
        constant(0, "int64"),
        *loop.constants(given),
    )
    turns = outputs[split + 1]
    traces = [index(trace, slice(None, turns)) for trace in outputs[split + 2 :]]
    return [*outputs[:split], *traces, turns]
