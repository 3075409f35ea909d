"""``Scan``: the op of loops, which runs a body once per iteration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Apply, Op, Variable, constant
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import ArrayType, TensorType, fits
from gpuarray.compiler.ops.custom.fromgraph import inlined
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.ops.variables.context_assignment import places_of

ALL = -1
"""The ``truncate_gradient`` of a loop whose gradient goes through all iterations."""


class Scan(Op):
    """A loop of ``body``.

    The inputs of a node are the number of iterations, then the inputs of the body:

    - ``n_sequences`` sequences: arrays; iteration i reads row i;
    - ``n_states`` states: each iteration's new value is the next iteration's input;
    - constants, the same in all iterations.

    The body's outputs are the next states, then any number of results. The node's
    outputs are the final states, then for each result its trace: the results of all
    iterations, stacked in rows. A sequence read at several taps is several inputs, each
    a slice of it. A state read at several taps is several states: one is computed, the
    others are shifted along. A shared variable with an update is a state.

    With ``until`` the body's last output is a condition, and the iteration in which it
    is true is the last one. The number of iterations is then an upper bound, the traces
    have a row for each iteration that ran, and the node's last output is their number.

    ``truncate_gradient`` is how many iterations a gradient goes back, `ALL` for all.

    ``checkpoint`` says which states a gradient keeps, None for all: a
    `segments.Checkpoint`, whose gradient is that of the loop `in_segments`.
    ``is_of_segments`` marks the loop of the segments; rewrites leave in its iterations
    what would take memory for all of them outside.

    ``stopped`` is the index of the state that is true once the condition held, in a
    loop that `all_iterations` made of one with ``until``: later iterations leave every
    state as it is. None for other loops.

    The first ``n_affine`` states are affine: an iteration makes ``a * s + b`` of one,
    where ``a`` and ``b`` depend on no state. The last ``n_affine`` are their factors,
    of which it makes ``a`` times what they were: they begin as ones, and nothing reads
    them. Those between are sums, which iterations only add to. Such a loop can run in
    chunks of iterations, side by side; 0 for other loops.
    """

    __props__ = ("body", "n_sequences", "n_states", "until", "truncate_gradient",
                 "name", "stopped", "checkpoint", "is_of_segments",
                 "n_affine")  # fmt: skip

    placed_body: Any = None
    """The body of a loop that is placed on a context, a `FunctionGraph`."""

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
        checkpoint: Any = None,
        is_of_segments: bool = False,
        n_affine: int = 0,
    ) -> None:
        self.body = body
        self.n_sequences = n_sequences
        self.n_states = n_states
        self.until = until
        self.truncate_gradient = truncate_gradient
        self.name = name
        self.stopped = stopped
        self.checkpoint = checkpoint
        self.is_of_segments = is_of_segments
        self.n_affine = n_affine

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The inputs of an iteration's graph: sequences' items, states, constants."""
        return self.body.inputs

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The outputs of an iteration's graph: the next states, then the results."""
        return self.body.outputs

    @property
    def n_traces(self) -> int:
        """The number of results of the body, each with a trace."""
        return len(self.body.outputs) - self.n_states - self.until

    def like(self, body: Body, n_sequences: int, n_states: int) -> Scan:
        """Return a loop with another body and the same options."""
        return Scan(
            body,
            n_sequences,
            n_states,
            until=self.until,
            truncate_gradient=self.truncate_gradient,
            name=self.name,
            stopped=self.stopped if n_states == self.n_states else None,
            checkpoint=self.checkpoint,
            is_of_segments=self.is_of_segments,
            n_affine=self.n_affine,
        )

    @property
    def undetermined(self) -> Collection[int]:  # type: ignore[override]
        """The indices of the factors: their final values mean nothing."""
        return range(self.n_states - self.n_affine, self.n_states)

    @cached_property
    def program_order(self) -> int | None:  # type: ignore[override]
        """The place of the first op of the body that has one."""
        places = (node.op.program_order for node in self.body.nodes)
        return min((place for place in places if place is not None), default=None)

    @cached_property
    def reports(self) -> bool:  # type: ignore[override]
        """True if an op of the body may report a bad index or a singular matrix."""
        return any(node.op.reports for node in self.body.nodes)

    @cached_property
    def is_graph(self) -> bool:  # type: ignore[override]
        """True if an op of the body is a graph that `expand` puts in its place."""
        return any(node.op.is_graph for node in self.body.nodes)

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the loop's outputs, with such ops of the body replaced by graphs."""
        body = Body(self.body.inputs, inlined(self.body.outputs))
        loop = self.like(body, self.n_sequences, self.n_states)
        return list(loop.make_node(*inputs).outputs)

    def sequences(self, items: Sequence[Any]) -> list[Any]:
        """Return the sequences' items of a list with one item per input of the body."""
        return list(items[: self.n_sequences])

    def states(self, items: Sequence[Any]) -> list[Any]:
        """Return the states' items of a list with one item per input of the body."""
        return list(items[self.n_sequences : self.n_sequences + self.n_states])

    def constants(self, items: Sequence[Any]) -> list[Any]:
        """Return the constants' items of a list with one item per input of the body."""
        return list(items[self.n_sequences + self.n_states :])

    def make_node(self, iterations: Any, *inputs: Any) -> Apply:
        """Return a node of the number of iterations, sequences, states and constants.

        Raises TypeError for inputs that do not match the body's in number or in type.
        """
        count = math.cast(as_tensor_variable(iterations), "int64")
        variables = [as_tensor_variable(x) for x in inputs]
        if len(variables) != len(self.body.inputs):
            raise GraphTypeError(
                f"{self}: given {len(variables)} inputs, expected "
                f"{len(self.body.inputs)}"
            )
        for i, (variable, inner) in enumerate(
            zip(variables, self.body.inputs, strict=True)
        ):
            expected = rows_of(inner.type) if i < self.n_sequences else inner.type
            if not fits(variable.type, expected):
                raise GraphTypeError(
                    f"{self}: input {i} is {variable} of {variable.type}, expected "
                    f"{expected}"
                )
        kinds = [output.type for output in self.body.outputs]
        finals = [x.type for x in self.states(self.body.inputs)]
        traces = kinds[self.n_states : self.n_states + self.n_traces]
        outputs = [
            *(kind() for kind in finals),
            *(rows_of(kind)() for kind in traces),
            *([TensorType("int64", ())()] if self.until else []),
        ]
        return Apply(self, [count, *variables], outputs)

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the outputs, computed iteration by iteration with NumPy."""
        limit, *inputs = arrays
        sequences = self.sequences(inputs)
        constants = self.constants(inputs)
        states = [np.asarray(x) for x in self.states(inputs)]
        results: list[list[Any]] = []
        for iteration in range(max(int(limit), 0)):
            rows = [np.asarray(x[iteration]) for x in sequences]
            outputs = self.body.evaluate([*rows, *states, *constants])
            states = [np.asarray(x) for x in outputs[: self.n_states]]
            results.append(outputs[self.n_states : self.n_states + self.n_traces])
            if self.until and outputs[-1]:
                break
        count = [np.asarray(len(results), "int64")] if self.until else []
        finals = map(np.array, states)  # a state may be an input, or twice a result
        return [*finals, *self._stacked(results, inputs), *count]

    def _stacked(self, results: list[list[Any]], inputs: Sequence[Any]) -> list[Any]:
        """Stack the results of all iterations into traces.

        Without iterations the traces have no rows, in the shape of results on zeros.
        """
        if results:
            return [np.stack(rows) for rows in zip(*results, strict=True)]
        zeros = [np.zeros(x.shape[1:], x.dtype) for x in self.sequences(inputs)]
        outputs = self.body.evaluate([*zeros, *inputs[self.n_sequences :]])
        return [
            np.zeros((0, *np.shape(result)), np.asarray(result).dtype)
            for result in outputs[self.n_states : self.n_states + self.n_traces]
        ]

    def determined(self, results: Sequence[Any]) -> list[Any]:
        """Return the outputs' values; of a loop that stopped the rows until then."""
        if self.stopped is None:
            return list(results)
        count = int(results[self.stopped + 1])
        split = self.n_states
        return [*results[:split], *(trace[:count] for trace in results[split:])]

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return the number of iterations and the constants that determine shapes."""
        first = self.n_sequences + self.n_states
        return (0, *(1 + i for i in sorted(self.body.on_host) if i >= first))

    def homes(
        self, node: Apply, places: Mapping[Variable, str | None]
    ) -> Iterator[str | None]:
        """Yield the contexts of sequences and states, of the results, and of constants.

        Constants may be elsewhere: they count where nothing else has a context.
        """
        pairs = zip(self.body.inputs, node.inputs[1:], strict=True)
        homes = {x: places[outer] for x, outer in pairs if outer in places}
        leading = self.body.inputs[: self.n_sequences + self.n_states]
        yield from (homes[x] for x in leading if x in homes)
        if homes.keys().isdisjoint(leading):
            inside = places_of(self.body.inputs, self.body.nodes, homes)
            yield from (inside[x] for x in self.body.outputs if x in inside)
        yield from homes.values()

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """Return the shapes: states keep theirs, a trace has a row per iteration."""
        iterations, *_ = node.inputs
        first = 1 + self.n_sequences
        finals = [tuple(x) for x in input_shapes[first : first + self.n_states]]
        rows = None if self.until else iterations
        traces = [
            (rows, *self._lengths(self.n_states + place, finals))
            for place in range(self.n_traces)
        ]
        return [*finals, *traces, *([()] if self.until else [])]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """Require that sequences have as many rows as there are iterations."""
        if not self.until:
            for lengths in input_shapes[1 : 1 + self.n_sequences]:
                yield from equal(lengths[0], node.inputs[0])

    def _lengths(
        self, place: int, finals: Sequence[tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """Return the lengths of an output of the body: a state's, else unknown ones."""
        output = self.body.outputs[place]
        for next_state, lengths in zip(self.body.outputs, finals, strict=False):
            if next_state is output:
                return lengths
        ndim: int = output.type.ndim
        return (None,) * ndim

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return which inputs reach which outputs, over any number of iterations."""
        reach = self.reach()
        count = [frozenset[int]()] if self.until else []
        columns = [*reach[: self.n_states + self.n_traces], *count]
        rows = [
            [i in column for column in columns] for i in range(len(node.inputs) - 1)
        ]
        return [[False] * len(columns), *rows]

    def reach(self) -> list[frozenset[int]]:
        """Return for each output of the body the inputs that reach it in the loop.

        This is the transitive closure of `Body.behind` through the states.
        """
        reach = list(self.body.behind)
        for k in range(self.n_states):  # without iterations the state is its input
            reach[k] = reach[k] | {self.n_sequences + k}
        while True:
            wider = [
                inputs.union(
                    *(
                        reach[k]
                        for k in range(self.n_states)
                        if self.n_sequences + k in inputs
                    )
                )
                for inputs in reach
            ]
            if wider == reach:
                return reach
            reach = wider

    def pull_back(
        self,
        m: Any,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_gradients: Sequence[Variable | None],
    ) -> list[Variable | None]:
        """Return the gradient of each input, computed by a reverse loop."""
        if self.checkpoint is not None:
            return list(m.through_segments(self, inputs, output_gradients))
        return list(m.through_loop(self, inputs, outputs, output_gradients))

    def __str__(self) -> str:
        word = "do_while" if self.until or self.stopped is not None else "for"
        return f"{word}{{{self.name or 'scan_fn'}}}"

    __repr__ = __str__

    def pretty(self, *texts: str) -> str:
        """Return the loop as a call by its name."""
        return f"{self.name or 'scan_fn'}({', '.join(texts)})"


def rows_of(kind: ArrayType) -> Any:
    """Return the type of an array whose rows have this type."""
    return kind.clone(broadcastable=(False, *kind.broadcastable))  # type: ignore[attr-defined]


def row_of(kind: ArrayType) -> Any:
    """Return the type of one row of an array of this type."""
    return kind.clone(broadcastable=kind.broadcastable[1:])  # type: ignore[attr-defined]


def all_iterations(loop: Scan, inputs: Sequence[Variable]) -> list[Variable]:
    """Return the outputs of a loop with ``until``, by a loop that runs all iterations.

    Once the condition held, the states stay as they are and the count of iterations
    stops. The traces are cut to that count.
    """
    body, first = loop.body, loop.n_sequences
    split = loop.n_states
    *outputs, condition = body.outputs
    states = loop.states(body.inputs)
    stopped = TensorType("bool", ())("stopped")
    count = TensorType("int64", ())("iterations")
    choose, either = math.FUNCTIONS["where"], math.FUNCTIONS["logical_or"]
    frozen = [
        choose(stopped, before, after)
        for before, after in zip(states, outputs[:split], strict=True)
    ]
    counted = choose(stopped, count, count + 1)
    replaced = dict(zip(outputs, frozen, strict=False))
    results = [replaced.get(result, result) for result in outputs[split:]]
    full = Scan(
        Body(
            [
                *body.inputs[: first + split],
                stopped,
                count,
                *loop.constants(body.inputs),
            ],
            [*frozen, either(stopped, condition), counted, *results],
        ),
        first,
        split + 2,
        name=loop.name,
        stopped=split,
    )
    limit, *operands = inputs
    results = full(
        limit,
        *operands[: first + split],
        constant(False, "bool"),
        constant(0, "int64"),
        *loop.constants(operands),
    )
    iterations = results[split + 1]
    traces = [index(trace, slice(None, iterations)) for trace in results[split + 2 :]]
    return [*results[:split], *traces, iterations]
