"""Tracing: from the function of an iteration to the body of a loop.

The function is called once, on variables that stand for the inputs of an iteration; its
result is the body. Expressions that depend on no such input become constants of the
loop: they are computed once, before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    TestValueError,
    made_at,
)
from gpuarray.compiler.function.updates import OrderedUpdates, update_value
from gpuarray.compiler.graph.core import Constant, Variable, check_name, constant
from gpuarray.compiler.graph.ordering import next_place
from gpuarray.compiler.graph.testvalues import get_test_value
from gpuarray.compiler.graph.traverse import clone_replace, inputs_of, toposort
from gpuarray.compiler.graph.types import GpuArrayType, TensorType
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.random.positions import Positions
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan, row_of
from gpuarray.compiler.ops.scan.segments import Checkpoint
from gpuarray.compiler.ops.shape.shape import Shape
from gpuarray.compiler.ops.slicing.lengths import is_of_lengths
from gpuarray.compiler.ops.sparse.matrix import opened
from gpuarray.compiler.ops.variables.basic import MakeVector, as_tensor_variable
from gpuarray.compiler.ops.variables.transfer import host_from_gpu, like
from gpuarray.compiler.scan_module.arguments import (
    OutputArgument,
    SequenceArgument,
    output_arguments,
    sequence_arguments,
    shared_by_iterations,
)
from gpuarray.compiler.scan_module.gathering import gathered
from gpuarray.compiler.scan_module.returned import Returned, returned
from gpuarray.compiler.shared import SharedVariable
from gpuarray.dtypes import result_type


@dataclass(frozen=True)
class Arguments:
    """The arguments of a loop, converted.

    ``name`` is the program's name of the loop; errors begin with ``label``.
    """

    fn: Callable[..., Any]
    sequences: Sequence[SequenceArgument]
    outputs: Sequence[OutputArgument]
    non_sequences: Sequence[Variable]
    label: str
    name: str | None
    strict: bool

    @classmethod
    def converted(
        cls,
        function: str,
        fn: Callable[..., Any],
        sequences: Any,
        outputs_info: Any,
        non_sequences: Any,
        name: str | None,
        strict: bool = False,
    ) -> Arguments:
        """Return the arguments of ``function``, as the program gave them.

        Raises TypeError and ValueError for what no loop can have.
        """
        check_name(name, function)
        label = function if name is None else f"{function} {name!r}"
        return cls(
            fn,
            sequence_arguments(sequences, label),
            output_arguments(outputs_info, label),
            shared_by_iterations(non_sequences, label),
            label,
            name,
            strict,
        )


@dataclass
class TracedIteration:
    """One iteration: the variables of its inputs, and its results.

    ``rows`` are those of the sequences' taps, in order. ``states`` has for each output
    its window: the values of earlier iterations, the latest first. Ops that have a
    place in the program's order from ``begins`` on were made by the function.
    """

    begins: int
    rows: list[Variable]
    states: list[list[Variable]]
    infos: list[OutputArgument]
    outputs: list[Variable] = field(default_factory=list)
    updates: dict[SharedVariable, Variable] = field(default_factory=dict)
    condition: Variable | None = None


def traced(arguments: Arguments) -> TracedIteration:
    """Call the function until the types of the states are those of its outputs.

    An axis that broadcasts in an initial value need not broadcast in an output. The
    function is then called again, with states that do not broadcast there.
    """
    kinds = [
        None if output.initial is None else output.state_type()
        for output in arguments.outputs
    ]
    while True:
        iteration, result = _called(arguments, kinds)
        if not kinds:  # no outputs_info: outputs that no iteration reads
            kinds = [None] * len(result.outputs)
            what = f"{arguments.label}: outputs_info"
            iteration.infos = [OutputArgument(what, None, ())] * len(kinds)
            iteration.states = [[] for _ in kinds]
        outputs = _outputs(iteration, result, arguments.label)
        wider = [
            kind if kind is None else _joined(kind, output.type)
            for kind, output in zip(kinds, outputs, strict=True)
        ]
        if wider == kinds:
            iteration.outputs = [
                output if kind is None else patternbroadcast(output, kind.broadcastable)
                for output, kind in zip(outputs, kinds, strict=True)
            ]
            _add_updates(iteration, result)
            return iteration
        kinds = wider


def _called(
    arguments: Arguments, kinds: Sequence[Any]
) -> tuple[TracedIteration, Returned]:
    """Call the function once, on fresh variables."""
    rows = [
        row_of(sequence.variable.type)(_tap_name(sequence.variable, tap))
        for sequence in arguments.sequences
        for tap in sequence.taps
    ]
    states = []
    read = []
    for output, kind in zip(arguments.outputs, kinds, strict=True):
        depth = output.depth
        window = [kind(_tap_name(output.initial, -k - 1)) for k in range(depth)]
        states.append(window)
        read += [window[-tap - 1] for tap in output.taps]
    if config.compute_test_value != "off":
        _add_test_values(arguments, rows, states)
    begins = next_place()
    value = arguments.fn(*rows, *read, *arguments.non_sequences)
    iteration = TracedIteration(begins, rows, states, list(arguments.outputs))
    return iteration, returned(value, arguments.label)


def _add_test_values(
    arguments: Arguments,
    rows: Sequence[Variable],
    states: Sequence[Sequence[Variable]],
) -> None:
    """Set the test values of the inputs of an iteration: those of the first one.

    Of a sequence without rows it is zeros. Raises AttributeError for an argument
    without a test value, or warns, as the setting asks.
    """
    inner = iter(rows)
    for sequence in arguments.sequences:
        for tap in sequence.taps:
            at = tap - sequence.low
            _set_test_value(next(inner), sequence.variable, partial(_row_at, at))
    for output, window in zip(arguments.outputs, states, strict=True):
        for k, variable in enumerate(window):
            _set_test_value(variable, output.start(k + 1), lambda value: value)


def _set_test_value(
    variable: Variable, source: Variable, of_source: Callable[[Any], Any]
) -> None:
    """Set a test value made of another variable's."""
    try:
        value = get_test_value(source)
    except TestValueError as error:
        if config.compute_test_value == "raise":
            raise
        if config.compute_test_value == "warn" and source.owner is None:
            warnings.warn(str(error), stacklevel=6)  # of others it was told before
        return
    variable.tag.test_value = variable.type.filter(of_source(value))


def _row_at(place: int, value: Any) -> Any:
    """Return the row of an array; zeros where it has no such row."""
    array = np.asarray(value)
    return (
        array[place]
        if place < len(array)
        else np.zeros_like(array, shape=array.shape[1:])
    )


def _tap_name(variable: Variable | None, tap: int) -> str | None:
    """Return the name of the row of an array at a tap: ``x[t-1]``."""
    if variable is None or variable.name is None:
        return None
    return f"{variable.name}[t{tap:+d}]" if tap else f"{variable.name}[t]"


# ---- outputs ----


def _outputs(
    iteration: TracedIteration, result: Returned, label: str
) -> list[Variable]:
    """Return the outputs as variables, in the dtypes of their states.

    Raises TypeError and ValueError for outputs that do not match ``outputs_info``.
    """
    infos = iteration.infos
    if len(result.outputs) != len(infos):
        raise GraphValueError(
            f"{label}: fn returns {len(result.outputs)} outputs, and outputs_info "
            f"has {len(infos)}; give one for each output, None for those that no "
            "iteration reads"
        )
    return [
        _output(value, info, i, label)
        for i, (value, info) in enumerate(zip(result.outputs, infos, strict=True))
    ]


def _output(value: Any, info: OutputArgument, i: int, label: str) -> Variable:
    output = as_tensor_variable(value)
    if not isinstance(output.type, TensorType):
        raise GraphTypeError(
            f"{label}: output {i} is of {output.type}, expected an array"
        )
    if info.initial is None:
        return output
    state = info.state_type()
    wider = result_type(output.type.dtype, state.dtype)
    if isinstance(output, Constant) and wider == state.dtype:
        output = constant(output.data, state.dtype)
    kind = output.type
    if kind.dtype != state.dtype or kind.ndim != state.ndim:
        remedy = f"cast the output, as with .astype({state.dtype!r})"
        if kind.ndim != state.ndim:
            remedy = "a state has the same number of axes in all iterations"
        elif wider != state.dtype:
            remedy = f"begin with a state of {wider}, as with .astype({wider!r})"
        raise GraphValueError(
            made_at(
                f"{label}: output {i} of fn is {output} of {kind}, and its state "
                f"in outputs_info, {info.initial}, is of {state}, expected the same "
                f"dtype and number of axes; {remedy}",
                output.tag.trace,
            )
        )
    return output


def _joined(kind: TensorType, other: TensorType) -> TensorType:
    """Return the type of which both types are: an axis broadcasts if both do."""
    flags = zip(kind.broadcastable, other.broadcastable, strict=True)
    return kind.clone(broadcastable=tuple(a and b for a, b in flags))


# ---- updates, and constants of the loop ----


def _add_updates(iteration: TracedIteration, result: Returned) -> None:
    """Add the updates and the condition, and default updates of what these read."""
    iteration.updates = {
        variable: update_value(variable, value)
        for variable, value in result.updates.items()
    }
    if result.condition is not None:
        iteration.condition = math.FUNCTIONS["neq"](result.condition, 0)
    inner = {*iteration.rows, *(s for window in iteration.states for s in window)}
    while True:
        pending = [
            leaf
            for leaf in inputs_of(_results(iteration), inner)
            if isinstance(leaf, SharedVariable)
            and leaf.default_update is not None
            and leaf not in iteration.updates
        ]
        if not pending:
            return
        iteration.updates |= {x: update_value(x, x.default_update) for x in pending}


def _results(iteration: TracedIteration) -> list[Variable]:
    """Return the outputs, the updates and the condition."""
    condition = [] if iteration.condition is None else [iteration.condition]
    return [*iteration.outputs, *iteration.updates.values(), *condition]


@dataclass(frozen=True)
class Loop:
    """A loop that is not yet applied: its op, initial states and constants.

    ``updates`` has the index of the state of each shared variable with an update.
    """

    op: Scan
    starts: Sequence[Variable]
    constants: Sequence[Variable]
    updates: Mapping[SharedVariable, int]


def loop_of(
    iteration: TracedIteration,
    arguments: Arguments,
    truncate_gradient: int,
    checkpoint: Checkpoint | None = None,
) -> Loop:
    """Return the loop of which ``iteration`` is one iteration.

    Raises ValueError for a loop with ``until`` and checkpoints.
    """
    if checkpoint is not None and iteration.condition is not None:
        raise GraphValueError(
            f"{arguments.label}: fn ends the loop by until(), and checkpoints are for "
            "loops whose number of iterations is known before they run; leave out "
            "checkpoint, or the condition"
        )
    shared: dict[Variable, Variable] = {x: x.type(x.name) for x in iteration.updates}
    inner = [
        *iteration.rows,
        *(state for window in iteration.states for state in window),
        *shared.values(),
    ]
    results = gathered(clone_replace(_results(iteration), shared), inner)
    outputs = results[: len(iteration.outputs)]
    next_values = results[len(outputs) : len(outputs) + len(shared)]
    if arguments.strict:
        _check_strict(results, inner, arguments)
    results = opened(results)
    outputs = results[: len(outputs)]
    next_values = results[len(outputs) : len(outputs) + len(shared)]
    states: list[Variable] = []
    starts: list[Variable] = []
    for output, window, info in zip(
        outputs, iteration.states, iteration.infos, strict=True
    ):
        states += [output, *window][: len(window)]
        starts += [
            patternbroadcast(info.start(k + 1), v.broadcastable)
            for k, v in enumerate(window)
        ]
    traced_updates = [value for value in next_values if value not in outputs]
    condition = [] if iteration.condition is None else [results[-1]]
    body_outputs = [*states, *next_values, *outputs, *traced_updates, *condition]
    constants = constants_of(body_outputs, inner, iteration.begins)
    there = {x: like(inside, x.type) for x, inside in constants.items()}
    body = Body([*inner, *constants.values()], clone_replace(body_outputs, there))
    op = Scan(
        body,
        len(iteration.rows),
        len(states) + len(shared),
        until=iteration.condition is not None,
        truncate_gradient=truncate_gradient,
        name=arguments.name,
        checkpoint=checkpoint,
    )
    updates = {x: len(states) + i for i, x in enumerate(iteration.updates)}
    return Loop(op, [*starts, *shared], [*map(host_from_gpu, constants)], updates)


def constants_of(
    outputs: Sequence[Variable], inner: Sequence[Variable], begins: int
) -> dict[Variable, Variable]:
    """Return the loop's constants, each with the body's input that has its value.

    They are the largest subexpressions that do not depend on ``inner``, the inputs of
    an iteration, nor on what has a place in the program's order from ``begins`` on: it
    runs in each iteration. The input for one of a type of a context is of the host's.
    """
    order = toposort(outputs, blockers=inner)
    own = [node for node in order if (node.op.program_order or -1) >= begins]
    dependent = {*inner, *(output for node in own for output in node.outputs)}
    read = [
        variable
        for node in order
        if _depends(node.inputs, node.outputs, dependent) or node in own
        for variable in node.inputs
    ]
    constants: dict[Variable, Variable] = {}
    waiting = [*read, *outputs][::-1]
    while waiting:
        variable = waiting.pop()
        is_handled = variable in dependent or variable in constants
        if is_handled or isinstance(variable, Constant):
            continue
        owner = variable.owner
        if owner is not None and (
            isinstance(owner.op, MakeVector | Positions | Shape)
            or is_of_lengths(variable)
        ):
            # The host makes these integers; kernels know the positions.
            waiting += reversed(owner.inputs)
        elif isinstance(variable.type, GpuArrayType):
            constants[variable] = variable.type.host(variable.name)
        else:
            constants[variable] = variable.type(variable.name)
    return constants


def _depends(
    inputs: Sequence[Variable], outputs: Sequence[Variable], dependent: set[Variable]
) -> bool:
    """True if an input is ``dependent``; the outputs are then added to that set."""
    if dependent.isdisjoint(inputs):
        return False
    dependent.update(outputs)
    return True


def _check_strict(
    results: Sequence[Variable], inner: Sequence[Variable], arguments: Arguments
) -> None:
    """Raise MissingInputError if a variable is read that is not an argument."""
    inputs = {*inner, *arguments.non_sequences}
    for leaf in inputs_of(results, inputs):
        if leaf not in inputs and not isinstance(leaf, Constant):
            raise MissingInputError(
                made_at(
                    f"{arguments.label}: fn reads {leaf} of {leaf.type}, which is not "
                    "among non_sequences; with strict=True it may read nothing else",
                    leaf.tag.trace,
                )
            )


def updates_of(loop: Loop, finals: Sequence[Variable]) -> OrderedUpdates:
    """Return the updates of shared variables: their states after the loop."""
    return OrderedUpdates([(x, finals[i]) for x, i in loop.updates.items()])
