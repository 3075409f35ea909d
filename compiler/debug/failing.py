"""Notes on errors of a run: the node, its inputs, the user's line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.config import config
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.variables.transfer import Transfer
from gpuarray.compiler.printing import debugprint

MOST_INPUTS = 7
"""The number of inputs that are listed; an error is to stay within 15 lines."""

ROLES = {"r": "row", "s": "constant"}
"""What an iteration takes of an input, by the letter of `LoopStep.takes`."""

WIDTH = 200
"""The number of characters of a node's text."""


def failure_text(
    plan: p.Plan,
    number: int,
    node: Apply | None,
    names: Mapping[int, Variable],
    known: Mapping[int, Any],
) -> str:
    """Return the message of a plan's step ``number`` that failed.

    ``node`` is its node, where that is known; ``names`` has the variables of the plan's
    values, and ``known`` the values as far as they were computed. With the setting
    ``exception_verbosity=high`` it has the graph, the inputs' values and all values in
    memory, too.
    """
    step = plan.steps[number]
    what = step.label if node is None else node_text(node)
    lines = [f"  in {plan.name}: {what}"]
    values = inputs_of(step, node, names, plan)
    lines += input_lines(
        [
            (names.get(value), described(known.get(value), plan.values[value]))
            for value in values
        ],
        loop_inputs(step, values),
    )
    if step.origin:
        lines.append(f"  made at {step.origin}")
    if is_long():
        lines += details(step, node, names, known)
    else:
        lines.append("  exception_verbosity=high shows the graph and the values")
    return "\n".join(lines)


def inputs_of(
    step: p.Step, node: Apply | None, names: Mapping[int, Variable], plan: p.Plan
) -> Sequence[int]:
    """Return the values that a step takes, or its node if it is one of several."""
    arrays = [v for v in step.ins if isinstance(plan.values[v], p.ArrayValue)]
    if node is None or all(names.get(value) in node.inputs for value in arrays):
        return step.ins
    numbers = {variable: value for value, variable in names.items()}
    return [
        numbers[variable] for variable in node.inputs if variable in numbers
    ] or step.ins


def loop_inputs(step: p.Step, values: Sequence[int]) -> Sequence[str]:
    """Return what a loop's error calls each of its inputs; nothing for other steps.

    They are counted without the number of iterations, and have the body's names.
    """
    if not isinstance(step, p.LoopStep) or len(values) != len(step.ins):
        return ()
    names = step.body.plan.names or (None,) * len(step.takes)
    texts = ["iterations"]
    for place, (letter, name) in enumerate(zip(step.takes, names, strict=False)):
        role = ROLES.get(letter, "state")
        texts.append(f"input {place}, {role} {name}" if name else f"input {place}")
    return texts


def evaluation_text(node: Apply, arrays: Sequence[Any]) -> str:
    """Return the message of a node that NumPy could not compute from these arrays."""
    lines = [f"  in {node_text(node)}"]
    texts = (
        f"{array.dtype} of shape {array.shape}, strides {array.strides}"
        for array in arrays
    )
    lines += input_lines(list(zip(node.inputs, texts, strict=True)))
    if node.trace is not None:
        lines.append(f"  made at {node.trace}")
    return "\n".join(lines)


def is_long() -> bool:
    """Return True if the program asked for long messages."""
    return bool(config.exception_verbosity == "high")


def input_lines(
    inputs: Sequence[tuple[Variable | None, str]], places: Sequence[str] = ()
) -> Iterator[str]:
    """Return a line for each input, its variable and a text; for some of many.

    ``places`` has another word for each input than its number.
    """
    listed = inputs if is_long() else inputs[:MOST_INPUTS]
    for number, (variable, text) in enumerate(listed):
        place = places[number] if places else f"input {number}"
        name = "" if variable is None else f", {called(variable)}"
        yield f"  {place}{name}: {text}"
    if len(listed) < len(inputs):
        yield f"  and {len(inputs) - len(listed)} inputs more"


def node_text(node: Apply) -> str:
    """Return a node with the names that the user knows."""
    return shortened(f"{node.op}({', '.join(map(called, node.inputs))})", WIDTH)


def called(variable: Variable) -> str:
    """Return the name of a variable, or of the one that it is the transfer of."""
    while variable.name is None and variable.owner is not None:
        if not isinstance(variable.owner.op, Transfer):
            break
        (variable,) = variable.owner.inputs
    return shortened(str(variable), 60)


def described(value: Any, kind: p.Value) -> str:
    """Return a description of a value; of its type where it was not computed."""
    if value is None:
        return f"{kind}, not computed"
    if isinstance(value, int):
        return str(value)
    return f"{value.dtype} of shape {value.shape}, strides {value.strides}"


def details(
    step: p.Step,
    node: Apply | None,
    names: Mapping[int, Variable],
    known: Mapping[int, Any],
) -> Iterator[str]:
    """Return the lines of a long message: stack, graph, values, memory."""
    trace = None if node is None else node.trace
    for outer in () if trace is None else trace.outer:
        yield f"    called at {outer}"
    if node is not None:
        yield "  the graph:"
        graph = debugprint(node.outputs, file="str", print_type=True)
        yield from (f"    {line}" for line in str(graph).splitlines())
    yield "  the values of the inputs:"
    for place, value in enumerate(step.ins):
        yield f"    input {place}: {shown_value(known.get(value))}"
    yield "  in memory:"
    arrays = {n: known[n] for n in sorted(known) if hasattr(known[n], "nbytes")}
    for number, array in arrays.items():
        name = called(names[number]) if number in names else f"%{number}"
        yield f"    {name}: {array.dtype} {array.shape}, {array.nbytes:,} bytes"
    total = sum(array.nbytes for array in arrays.values())
    yield f"    together {total:,} bytes"


def shown_value(value: Any) -> str:
    """Return a value's elements, some of many."""
    if isinstance(value, Array):
        try:
            value = np.asarray(value)
        except Exception as error:
            return f"not readable: {error}"
    if value is None:
        return "not computed"
    return np.array2string(np.asarray(value), threshold=100, prefix=" " * 13)


def shortened(text: str, width: int) -> str:
    """Return the text, its end left out if it is long."""
    return text if len(text) <= width else f"{text[: width - 3]}..."


def late_text(plan: p.Plan, error: Exception) -> str:
    """Return the lines of the program that made the steps of a device's late error.

    Its message ends in the step's label, or lists several that can have failed; empty
    if it names no step of the plan. Of a step in a loop it tells the loop, too.
    """
    candidates = ((step, loop) for step, loop in every_step(plan) if names(error, step))
    lines = dict.fromkeys(origin_text(step, loop) for step, loop in candidates)
    return "\n".join(list(filter(None, lines))[:3])


def every_step(
    plan: p.Plan, loop: p.LoopStep | None = None
) -> Iterator[tuple[p.Step, p.LoopStep | None]]:
    """Return the steps of a plan and of its loops' bodies, each with its loop."""
    for step in plan.steps:
        yield step, loop
        if isinstance(step, p.LoopStep):
            yield from every_step(step.body.plan, step)


def names(error: Exception, step: p.Step) -> bool:
    """Return True if the device's error is of this step, or may be."""
    message = str(error)
    label = f"({step.marked})"
    is_list = "not known to be done" in message
    return message.endswith(label) or (is_list and label in message)


def is_inside(error: Exception, loop: p.LoopStep) -> bool:
    """Return True if the device's error is, or may be, of a step in the loop."""
    return any(names(error, step) for step, _ in every_step(loop.body.plan))


def origin_text(step: p.Step, loop: p.LoopStep | None) -> str:
    """Return the lines that made a step and the loop that it is in."""
    text = f"  made at {step.origin}" if step.origin else ""
    if loop is None:
        return text
    origin = f", made at {loop.origin}" if loop.origin else ""
    inside = f"  in an iteration of {loop.label}{origin}"
    return "\n".join(filter(None, (text, inside)))
