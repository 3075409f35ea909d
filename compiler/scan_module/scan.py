"""``scan``: a function done once for each turn of a loop, as one operation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.function.updates import OrderedUpdates
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.scan.scan import ALL
from gpuarray.compiler.scan_module.arguments import (
    listed,
    output_arguments,
    sequence_arguments,
    turns_of,
)
from gpuarray.compiler.scan_module.tracing import (
    Arguments,
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
) -> tuple[Any, OrderedUpdates]:
    """The outputs of ``fn`` in all turns of a loop; the updates of shared variables.

    Each turn calls ``fn`` with, in this order: a row of each of ``sequences``; what
    earlier turns made of each output that ``outputs_info`` gives a beginning; and
    ``non_sequences``. Other variables that it reads are found, unless ``strict``. The
    function is called once, when the expression is built: what it returns is the body
    of the loop. Output ``i`` of the loop has that of turn ``t`` in its row ``t``.

    A sequence is an array or ``dict(input=array, taps=[-1, 0, 2])``: at a tap ``k``,
    turn ``t`` gets row ``t + k``; the first turn is the first one for which all rows
    are there. An entry of ``outputs_info`` is None for an output that no turn reads, an
    array for what the first turn gets as the output of the turn before, or
    ``dict(initial=array, taps=[-2, -1])``, where the array has the outputs of so many
    turns before the first in its rows. The taps of outputs are negative.

    ``fn`` returns an output or a list of them, then perhaps updates, a dictionary of
    shared variables and their values in the next turn, then perhaps
    ``scan_module.until(condition)``: the turn in which the condition holds is the last
    one.

    There are ``n_steps`` turns, an integer or a variable, with ``until`` at most; else
    as many as the shortest sequence is enough for. ``go_backwards`` begins with the
    last rows. Gradients go back through ``truncate_gradient`` turns, -1 for all.
    ``name`` is what listings call the loop. With ``return_list`` the outputs are a list
    even if there is one. ``mode``, ``profile`` and ``allow_gc`` change nothing: a body
    is compiled with the function that it is in.

    Raises TypeError and ValueError for what makes no loop, MissingInputError for a
    variable that ``fn`` reads and, if ``strict``, was not given.

    >>> from gpuarray.compiler import function, tensor as T
    >>> a, k = T.dvector("a"), T.iscalar("k")
    >>> powers, updates = scan(lambda p, a: p * a, outputs_info=T.ones_like(a),
    ...                        non_sequences=a, n_steps=k)
    >>> power = function([a, k], powers[-1], updates=updates)
    >>> print(power([1, 2, 3], 3))
    [ 1.  8. 27.]
    """
    called = "scan" if name is None else f"scan {name!r}"
    if not callable(fn):
        raise GraphTypeError(f"{called}: fn is {fn!r}, expected a function")
    given = Arguments(
        fn=fn,
        sequences=sequence_arguments(sequences, called),
        outputs=output_arguments(outputs_info, called),
        non_sequences=listed(non_sequences),
        name=called,
        label=name,
        strict=strict,
    )
    turns, is_all = turns_of(n_steps, given.sequences, called)
    turn = traced(given)
    loop = loop_of(turn, given, limit_of(truncate_gradient, called))
    rows = [
        each.rows(tap, turns, go_backwards, is_all)
        for each in given.sequences
        for tap in each.taps
    ]
    if not loop.op.body.outputs:
        raise GraphValueError(f"{called}: fn returns nothing: no output and no update")
    made = loop.op(turns, *rows, *loop.starts, *loop.constants)
    results: list[Variable] = made if isinstance(made, list) else [made]
    first = loop.op.n_states
    outputs = results[first : first + len(turn.outputs)]
    return shaped(outputs, return_list), updates_of(loop, results[:first])


def limit_of(given: Any, name: str) -> int:
    """How many turns gradients go back. Raises ValueError for what is no number."""
    try:
        limit = operator.index(given)
    except TypeError:
        limit = 0
    if limit < 1 and limit != ALL:
        raise GraphValueError(
            f"{name}: truncate_gradient is {given!r}, expected a number of turns, or "
            "-1 for all"
        )
    return limit


def shaped(outputs: list[Variable], as_list: bool) -> Any:
    """One output as itself, several as a list, none as None."""
    if as_list or len(outputs) > 1:
        return outputs
    return outputs[0] if outputs else None
