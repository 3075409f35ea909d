"""``scan_checkpoints``: the outputs of some iterations, the last of each segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.function.updates import OrderedUpdates
from gpuarray.compiler.ops.scan.segments import Checkpoint, in_segments
from gpuarray.compiler.scan_module.scan import loop_call, shaped
from gpuarray.compiler.scan_module.tracing import Arguments, updates_of


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

    The gradient is that of `scan` with ``checkpoint=save_every_N``: it stores the
    states of these iterations, and computes the others again.

    Arguments are those of `scan`; ``fn`` does not end the loop. Row i of an output is
    that of iteration ``(i + 1) * save_every_N - 1``, the last row that of the last
    iteration. ``padding`` is accepted for Theano's programs and has no effect: no
    sequence is padded, a last segment may be shorter. Raises TypeError and ValueError
    for others.

    >>> from gpuarray.compiler import grad, tensor as T
    >>> x, s = T.dvector("x"), T.dscalar("s")
    >>> kept, _ = scan_checkpoints(lambda r, s: s * r, x, s, save_every_N=2)
    >>> print(kept.eval({x: [1, 2, 3, 4, 5], s: 1}))
    [  2.  24. 120.]
    >>> print(grad(kept[-1], x).eval({x: [1, 2, 3, 4, 5], s: 1}))
    [120.  60.  40.  30.  24.]
    """
    arguments = Arguments.converted(
        "scan_checkpoints", fn, sequences, outputs_info, non_sequences, name
    )
    every = save_every_N
    if not isinstance(every, int) or every < 1:
        raise GraphValueError(
            f"{arguments.label}: save_every_N is {every!r}, expected a positive integer"
        )
    call = loop_call(arguments, n_steps, checkpoint=Checkpoint("every", every))
    result = in_segments(call.loop.op, call.inputs, every)
    updates = updates_of(call.loop, result.finals)
    return shaped(list(result.ends[: call.n_outputs]), as_list=False), updates
