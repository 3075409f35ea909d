"""``scan_checkpoints``: a loop whose gradient keeps the states of some iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.function.updates import OrderedUpdates
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.traverse import clone_replace
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.shape.shape import reshape, shape_i, shape_padleft
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.scan_module.arguments import array, check_steps, listed
from gpuarray.compiler.scan_module.returned import returned
from gpuarray.compiler.scan_module.scan import scan, shaped

Block = tuple[list[Variable], OrderedUpdates]


def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = (),
    outputs_info: Any = None,
    non_sequences: Any = (),
    name: str | None = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int = 10,
    padding: bool = True,
) -> tuple[Any, OrderedUpdates]:
    """Return the outputs of `scan` of every N-th iteration and the last, and updates.

    The gradient stores only these, and computes the others again, one block of N
    iterations at a time: of T iterations it stores about T / N + N states, the fewest
    for N near the square root of T. It takes the time of one more pass.

    Arguments are those of `scan`, but that sequences and ``outputs_info`` are arrays,
    without taps, and that ``fn`` does not end the loop. Row i of an output is that of
    iteration ``(i + 1) * save_every_N - 1``, the last row that of the last iteration.
    ``padding`` is accepted for Theano's programs and has no effect: no sequence is
    padded, a last block may be shorter. Raises TypeError and ValueError for others.

    >>> from gpuarray.compiler import grad, tensor as T
    >>> x, s = T.dvector("x"), T.dscalar("s")
    >>> kept, _ = scan_checkpoints(lambda r, s: s * r, x, s, save_every_N=2)
    >>> print(kept.eval({x: [1, 2, 3, 4, 5], s: 1}))
    [  2.  24. 120.]
    >>> print(grad(kept[-1], x).eval({x: [1, 2, 3, 4, 5], s: 1}))
    [120.  60.  40.  30.  24.]
    """
    label = "scan_checkpoints" if name is None else f"scan_checkpoints {name!r}"
    every = _block_length(save_every_N, label)
    rows = [array(_plain(x, label), f"{label}: a sequence") for x in listed(sequences)]
    starts = [_plain(x, label) for x in listed(outputs_info)]
    others = listed(non_sequences)
    steps = _steps(n_steps, rows, label)
    n_blocks = steps // every

    def block(*arguments: Any) -> Block:
        remaining = iter(arguments)
        block_rows = [next(remaining) for _ in rows]
        infos = [None if start is None else next(remaining) for start in starts]
        return _last_outputs(fn, block_rows, infos, list(remaining), every, label)

    blocks = [_in_blocks(x, n_blocks, every) for x in rows]
    traces, updates = scan(
        block, blocks, starts, others, n_blocks, name=name, return_list=True
    )
    if isinstance(steps, Constant) and int(steps.data) % every == 0:
        return shaped(traces, as_list=False), updates
    infos = starts or [None] * len(traces)
    after = [
        None if start is None else _last(start, trace)
        for start, trace in zip(infos, traces, strict=True)
    ]
    rest, more = scan(
        _without_end(fn, label),
        [index(x, slice(n_blocks * every, steps)) for x in rows],
        after,
        others,
        steps - n_blocks * every,
        name=name,
        return_list=True,
    )
    values = clone_replace([*rest, *more.values()], dict(updates.items()))
    joined = [
        join(0, trace, index(end, slice(-1, None)))
        for trace, end in zip(traces, values, strict=False)
    ]
    updates = OrderedUpdates(zip(more, values[len(rest) :], strict=True))
    return shaped(joined, as_list=False), updates


def _last_outputs(
    fn: Callable[..., Any],
    sequences: Sequence[Variable],
    infos: Sequence[Any],
    others: Sequence[Any],
    every: int,
    label: str,
) -> Block:
    """Return the outputs of the last iteration of a block, and its updates."""
    outputs, updates = scan(
        _without_end(fn, label), sequences, infos, others, every, return_list=True
    )
    return [index(trace, -1) for trace in outputs], updates


def _without_end(fn: Callable[..., Any], label: str) -> Callable[..., Any]:
    """Return the function; ValueError if it ends the loop."""

    def checked(*arguments: Any) -> Any:
        result = fn(*arguments)
        if returned(result, label).condition is not None:
            raise GraphValueError(
                f"{label}: fn ends the loop by until(), which blocks of a fixed number "
                "of iterations cannot: use scan"
            )
        return result

    return checked


def _plain(entry: Any, label: str) -> Any:
    """Return an array without taps; TypeError for a dictionary with them."""
    if isinstance(entry, Mapping):
        raise GraphTypeError(
            f"{label}: got {entry!r}, expected an array: there are no taps, use scan"
        )
    return entry


def _block_length(number: Any, label: str) -> int:
    if not isinstance(number, int) or number < 1:
        raise GraphValueError(
            f"{label}: save_every_N is {number!r}, expected a positive integer"
        )
    return number


def _steps(n_steps: Any, rows: Sequence[Variable], label: str) -> Variable:
    """Return the number of iterations: as given, or that of the shortest sequence."""
    if n_steps is not None:
        return check_steps(n_steps, label)
    if not rows:
        raise GraphValueError(
            f"{label}: got no sequences and no n_steps, so there is no number of "
            "iterations"
        )
    count = shape_i(rows[0], 0)
    for x in rows[1:]:
        count = math.minimum(count, shape_i(x, 0))
    return count


def _in_blocks(x: Variable, n_blocks: Variable, every: int) -> Variable:
    """Return a sequence of the blocks: its rows, with an axis of blocks before them."""
    lengths = [shape_i(x, axis) for axis in range(1, x.type.ndim)]
    first = index(x, slice(None, n_blocks * every))
    result: Variable = reshape(first, [n_blocks, every, *lengths], ndim=x.type.ndim + 1)
    return result


def _last(start: Any, trace: Variable) -> Variable:
    """Return the state after the last block; without blocks its start."""
    first = shape_padleft(as_tensor_variable(start))
    return index(join(0, first, trace), -1)
