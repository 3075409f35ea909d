"""A loop in segments: a loop whose iterations each run some iterations of the loop.

The gradient of such a loop keeps the states before each segment only. It computes the
others again, one segment at a time, and none of the last segment.
"""

from __future__ import annotations

import math as host
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.control.gradient_markers import disconnected_grad
from gpuarray.compiler.ops.creation.joining import join, split
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import ALL, Scan, rows_of
from gpuarray.compiler.ops.shape.shape import reshape, shape_i

NEWTON_START, NEWTON_STEPS = 32, 6
"""The root of up to a million is then right to 4 percent, that of more too large."""


@dataclass(frozen=True)
class Checkpoint:
    """The length of a loop's segments.

    ``number`` iterations; with ``"sqrt"`` the square root of the number of iterations;
    with ``"bytes"`` as many as the states of ``number`` bytes allow, half of them those
    that are kept and half those of a segment, but no fewer than with ``"sqrt"``.
    """

    kind: Literal["every", "sqrt", "bytes"]
    number: int = 0

    def length(self, loop: Scan, inputs: Sequence[Variable]) -> Any:
        """Return the length of a segment: an integer, or a variable on the host."""
        iterations, *operands = inputs
        if self.kind == "every":
            return self.number
        count: Any = iterations
        if isinstance(iterations, Constant):
            count = max(int(iterations.data), 1)
            root = host.isqrt(count - 1) + 1
        else:
            count = math.FUNCTIONS["maximum"](iterations, 1)
            root = root_of(count)
        if self.kind == "sqrt":
            return root
        most = self.number // bytes_of(loop, operands)
        longest, choose = math.FUNCTIONS["maximum"], math.FUNCTIONS["where"]
        return choose(count <= most, count, longest(most // 2, root))


def root_of(count: Any) -> Any:
    """Return about the square root of a host integer, by Newton's iteration."""
    root: Any = NEWTON_START
    for _ in range(NEWTON_STEPS):
        root = (root + count // root) // 2
    return root


def bytes_of(loop: Scan, operands: Sequence[Variable]) -> Any:
    """Return the bytes of the states that an iteration computes, at least 1.

    A state that is an earlier one handed on takes no memory of its own.
    """
    states = loop.states(loop.body.inputs)
    total: Any = 0
    for start, after in zip(loop.states(operands), loop.body.outputs, strict=False):
        if after in states:
            continue
        size: Any = start.type.numpy_dtype.itemsize
        for axis in range(start.type.ndim):
            size = size * shape_i(start, axis)
        total = total + size
    return math.FUNCTIONS["maximum"](total, 1)


@dataclass(frozen=True)
class Segmented:
    """The outputs of a loop that runs in segments.

    ``finals`` and ``traces`` are those of the loop; ``ends`` has of each result the
    rows of the last iterations of the segments.
    """

    finals: Sequence[Variable]
    traces: Sequence[Variable]
    ends: Sequence[Variable]


def with_checkpoints(loop: Scan, inputs: Sequence[Variable]) -> list[Variable]:
    """Return the outputs of a loop with ``checkpoint``, by one that runs in segments.

    Of a loop with ``truncate_gradient`` the iterations before, through which no
    gradient goes, are a loop by themselves.
    """
    limit = loop.truncate_gradient
    if limit == ALL:
        result = in_segments(loop, inputs, loop.checkpoint.length(loop, inputs))
        return [*result.finals, *result.traces]
    iterations, *operands = inputs
    before = math.FUNCTIONS["maximum"](iterations - limit, 0)
    plain = Scan(loop.body, loop.n_sequences, loop.n_states, name=loop.name)
    sequences, constants = loop.sequences(operands), loop.constants(operands)
    starts = loop.states(operands)
    early = [
        disconnected_grad(x)
        for x in plain.make_node(
            before,
            *(index(x, slice(None, before)) for x in sequences),
            *starts,
            *constants,
        ).outputs
    ]
    is_none, choose = math.FUNCTIONS["eq"](before, 0), math.FUNCTIONS["where"]
    late = [
        iterations - before,
        *(index(x, slice(before, iterations)) for x in sequences),
        *(
            patternbroadcast(choose(is_none, start, final), state.broadcastable)
            for start, final, state in zip(
                starts, early, loop.states(loop.body.inputs), strict=False
            )
        ),
        *constants,
    ]
    result = in_segments(loop, late, loop.checkpoint.length(loop, late))
    traces = [
        join(0, *pair)
        for pair in zip(early[loop.n_states :], result.traces, strict=True)
    ]
    return [*result.finals, *traces]


def in_segments(loop: Scan, inputs: Sequence[Variable], length: Any) -> Segmented:
    """Return the outputs of a loop without ``until`` that runs in segments.

    ``length`` is a positive integer, or a variable. The last segment has the iterations
    that remain, at least one if there are any.
    """
    iterations, *operands = inputs
    n_states, n_results = loop.n_states, loop.n_traces
    count, whole = _counts(iterations, length)
    inner = storing(loop)
    outer = Scan(
        _segment_body(inner, n_results, length),
        loop.n_sequences,
        n_states,
        name=loop.name,
        is_of_segments=True,
    )
    sequences = [
        split(x, [whole, iterations - whole]) for x in loop.sequences(operands)
    ]
    results = outer.make_node(
        count,
        *(_in_blocks(rows, count, length) for rows, _ in sequences),
        *operands[loop.n_sequences :],
        *([] if isinstance(length, int) else [length]),
    ).outputs
    starts = [
        patternbroadcast(x, state.broadcastable)
        for x, state in zip(results, loop.states(loop.body.inputs), strict=False)
    ]
    rest = inner.make_node(
        iterations - whole,
        *(rows for _, rows in sequences),
        *starts,
        *loop.constants(operands),
    ).outputs
    remaining = rest[n_states : n_states + n_results]
    blocks = results[n_states : n_states + n_results]
    ends = results[n_states + n_results : n_states + 2 * n_results]
    return Segmented(
        rest[:n_states],
        [
            join(0, _from_blocks(rows, whole), others)
            for rows, others in zip(blocks, remaining, strict=True)
        ],
        [
            join(0, rows, index(others, slice(-1, None)))
            for rows, others in zip(ends, remaining, strict=True)
        ],
    )


def _counts(iterations: Variable, length: Any) -> tuple[Any, Any]:
    """Return the number of segments before the last one, and of their iterations."""
    if isinstance(iterations, Constant) and isinstance(length, int):
        segments = max(int(iterations.data) - 1, 0) // length
        return constant(segments, "int64"), constant(segments * length, "int64")
    count = math.FUNCTIONS["maximum"](iterations - 1, 0) // length
    return count, count * length


def storing(loop: Scan) -> Scan:
    """Return the loop with a trace of each state: its gradient reads them."""
    split = loop.n_states + loop.n_traces
    outputs = loop.body.outputs
    results = dict.fromkeys(outputs[loop.n_states : split])
    more = [x for x in dict.fromkeys(outputs[: loop.n_states]) if x not in results]
    body = Body(loop.body.inputs, [*outputs[:split], *more])
    return Scan(body, loop.n_sequences, loop.n_states, name=loop.name)


def _segment_body(inner: Scan, n_results: int, length: Any) -> Body:
    """Return a segment: its outputs are the next states, and as results these.

    The rows of each of the first ``n_results`` results, then the last row of each, then
    the next states.
    """
    first, n_states = inner.n_sequences, inner.n_states
    blocks = [rows_of(x.type)(x.name) for x in inner.sequences(inner.body.inputs)]
    others = [x.type(x.name) for x in inner.body.inputs[first:]]
    lengths = [] if isinstance(length, int) else [length.type("length")]
    outputs = inner.make_node(*(lengths or [length]), *blocks, *others).outputs
    finals = [
        patternbroadcast(final, state.broadcastable)
        for final, state in zip(outputs[:n_states], others, strict=False)
    ]
    nexts = inner.body.outputs[:n_states]
    traces = outputs[n_states : n_states + n_results]
    ends = [
        finals[nexts.index(result)] if result in nexts else index(trace, -1)
        for result, trace in zip(inner.body.outputs[n_states:], traces, strict=False)
    ]
    return Body([*blocks, *others, *lengths], [*finals, *traces, *ends, *finals])


def _in_blocks(rows: Variable, count: Any, length: Any) -> Variable:
    """Return a sequence of the segments: rows, with an axis of segments before."""
    ndim = rows.type.ndim
    lengths = [shape_i(rows, axis) for axis in range(1, ndim)]
    blocks = reshape(rows, [count, length, *lengths], ndim=ndim + 1)
    return patternbroadcast(blocks, (False, False, *rows.type.broadcastable[1:]))


def _from_blocks(blocks: Variable, whole: Any) -> Variable:
    """Return the rows of all segments, one after another."""
    lengths = [shape_i(blocks, axis) for axis in range(2, blocks.type.ndim)]
    rows = reshape(blocks, [whole, *lengths], ndim=blocks.type.ndim - 1)
    return patternbroadcast(rows, (False, *blocks.type.broadcastable[2:]))
