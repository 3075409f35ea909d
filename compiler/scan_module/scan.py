"""``scan``: a loop that calls a function once per iteration, as one operation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.function.updates import OrderedUpdates
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.scan.scan import ALL
from gpuarray.compiler.ops.scan.segments import Checkpoint
from gpuarray.compiler.scan_module.arguments import iterations_of
from gpuarray.compiler.scan_module.checkpoint import checkpoint_of
from gpuarray.compiler.scan_module.tracing import (
    Arguments,
    Loop,
    loop_of,
    traced,
    updates_of,
)


def scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = ALL,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    profile: Any = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
    checkpoint: int | str = "all",
) -> tuple[Any, OrderedUpdates]:
    """Return the outputs of ``fn`` in all iterations, and updates of shared variables.

    Row ``t`` of an output is what ``fn`` returned in iteration ``t``. Each iteration
    calls ``fn`` with, in this order: a row of each of ``sequences``; the earlier values
    of each output that has initial values in ``outputs_info``; ``non_sequences``.
    Other variables that ``fn`` reads are found, unless ``strict``. The function itself
    is called once, when the expression is built: its result is the body of the loop.

    A sequence is an array or ``dict(input=array, taps=[-1, 0, 2])``: for a tap ``k``,
    iteration ``t`` reads row ``t + k``, and the first iteration is the first one that
    has all rows. An entry of ``outputs_info`` is None for an output that no iteration
    reads; an array, the output of the iteration before the first; or
    ``dict(initial=array, taps=[-2, -1])``, where the rows of the array are the outputs
    of that many iterations before the first. The taps of outputs are negative.

    ``fn`` returns an output or a list of outputs; then, if wanted, updates: a
    dictionary from shared variables to their values in the next iteration; then, if
    wanted, ``scan_module.until(condition)``: the iteration in which the condition holds
    is the last one.

    ``n_steps``, an integer or a variable, is the number of iterations, with ``until``
    the largest number; by default it is that of the shortest sequence. A variable that
    is negative counts as 0.
    ``go_backwards`` starts at the last rows. Gradients go back through
    ``truncate_gradient`` iterations, -1 for all.

    ``checkpoint`` says which states a gradient keeps in memory: ``"all"``; an integer
    k, every k-th; ``"sqrt"``, those about the square root of the number of iterations
    apart; or memory for states, as ``"64 MB"`` or ``"1 GiB"``. States that are not kept
    are computed again, those after one kept state at a time, and those after the last
    one not. Without a gradient it has no effect, with ``until`` it is an error.

    ``name`` names the loop in listings.
    ``return_list`` returns a list of outputs even if there is only one. ``mode``,
    ``profile`` and ``allow_gc`` are accepted and have no effect: a body is compiled
    with the function that it is in.

    Raises TypeError and ValueError for arguments that make no loop, MissingInputError
    if, with ``strict``, ``fn`` reads a variable that is not an argument.

    >>> from gpuarray.compiler import function, tensor as T
    >>> a, k = T.dvector("a"), T.iscalar("k")
    >>> powers, updates = scan(lambda p, a: p * a, outputs_info=T.ones_like(a),
    ...                        non_sequences=a, n_steps=k)
    >>> power = function([a, k], powers[-1], updates=updates)
    >>> print(power([1, 2, 3], 3))
    [ 1.  8. 27.]
    """
    arguments = Arguments.converted(
        "scan", fn, sequences, outputs_info, non_sequences, name, strict
    )
    limit = limit_of(truncate_gradient, arguments.label)
    kept = checkpoint_of(checkpoint, arguments.label)
    call = loop_call(arguments, n_steps, go_backwards, limit, kept)
    result = call.loop.op(*call.inputs)
    results: list[Variable] = result if isinstance(result, list) else [result]
    first = call.loop.op.n_states
    outputs = results[first : first + call.n_outputs]
    return shaped(outputs, return_list), updates_of(call.loop, results[:first])


@dataclass(frozen=True)
class LoopCall:
    """A loop with its inputs; its first ``n_outputs`` traces are the program's."""

    loop: Loop
    inputs: Sequence[Variable]
    n_outputs: int


def loop_call(
    arguments: Arguments,
    n_steps: Any,
    go_backwards: bool = False,
    truncate_gradient: int = ALL,
    checkpoint: Checkpoint | None = None,
) -> LoopCall:
    """Return the loop of the arguments.

    Raises TypeError and ValueError for arguments that make none.
    """
    fn, label = arguments.fn, arguments.label
    if not callable(fn):
        raise GraphTypeError(f"{label}: fn is {fn!r}, expected a function")
    check_direction(go_backwards, label)
    iterations, is_all = iterations_of(n_steps, arguments.sequences, label)
    iteration = traced(arguments)
    loop = loop_of(iteration, arguments, truncate_gradient, checkpoint)
    rows = [
        sequence.rows(tap, iterations, go_backwards, is_all)
        for sequence in arguments.sequences
        for tap in sequence.taps
    ]
    if not loop.op.body.outputs:
        raise GraphValueError(
            f"{label}: fn returns no output and no update, expected at least one"
        )
    inputs = [iterations, *rows, *loop.starts, *loop.constants]
    return LoopCall(loop, inputs, len(iteration.outputs))


def check_direction(go_backwards: Any, label: str) -> None:
    """Raise TypeError unless ``go_backwards`` is True, False, a number or None."""
    if not isinstance(go_backwards, int | np.bool_ | None):
        raise GraphTypeError(
            f"{label}: go_backwards is {go_backwards!r}, expected True or False; for "
            "an order that is told at the call, give ifelse(c, x[::-1], x) as sequence"
        )


def limit_of(truncate_gradient: Any, label: str) -> int:
    """Return the number of iterations that a gradient goes back, `ALL` for all.

    Raises ValueError for anything but -1 and positive integers.
    """
    try:
        limit = operator.index(truncate_gradient)
    except TypeError:
        limit = 0
    if limit < 1 and limit != ALL:
        raise GraphValueError(
            f"{label}: truncate_gradient is {truncate_gradient!r}, expected a number "
            "of iterations, or -1 for all"
        )
    return limit


def shaped(outputs: list[Variable], as_list: bool) -> Any:
    """Return one output as itself, several as a list, no output as None."""
    if as_list or len(outputs) > 1:
        return outputs
    return outputs[0] if outputs else None
