"""From the function of a turn to the body of a loop.

The function is called once, on variables that stand for what a turn is given; what it
returns is the body. Variables from outside that a turn reads become constants of the
loop, each with all that does not depend on the turn: that is computed once, before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    NotOfferedError,
    TestValueError,
    made_at,
)
from gpuarray.compiler.function.updates import OrderedUpdates, update_value
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.testvalues import get_test_value
from gpuarray.compiler.graph.traverse import clone_replace, inputs_of, toposort
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan, row_of
from gpuarray.compiler.ops.shape.shape import Shape
from gpuarray.compiler.ops.variables.basic import MakeVector, as_tensor_variable
from gpuarray.compiler.scan_module.arguments import OutputArgument, SequenceArgument
from gpuarray.compiler.scan_module.gathering import gathered
from gpuarray.compiler.scan_module.returned import Returned, returned
from gpuarray.compiler.shared import SharedVariable
from gpuarray.dtypes import result_type


@dataclass(frozen=True)
class Arguments:
    """What a loop is given, as the function of a turn gets it.

    ``label`` is what the program calls the loop, ``name`` what errors call it.
    """

    fn: Callable[..., Any]
    sequences: Sequence[SequenceArgument]
    outputs: Sequence[OutputArgument]
    non_sequences: Sequence[Any]
    name: str
    label: str | None
    strict: bool


@dataclass
class TracedTurn:
    """One turn: the variables that it is given, and what it makes of them.

    ``rows`` are of the sequences' taps, in order. ``states`` has for each output that
    is read again its states of the turns before, the latest first.
    """

    rows: list[Variable]
    states: list[list[Variable]]
    infos: list[OutputArgument]
    outputs: list[Variable] = field(default_factory=list)
    updates: dict[SharedVariable, Variable] = field(default_factory=dict)
    condition: Variable | None = None


def traced(given: Arguments) -> TracedTurn:
    """Call the function of a turn, again where its states are of other patterns.

    An axis that broadcasts in what a state begins with need not do so later on.
    """
    kinds = [
        None if each.initial is None else each.state_type() for each in given.outputs
    ]
    while True:
        turn, made = _called(given, kinds)
        if not kinds:  # no outputs_info: outputs that no turn reads
            kinds = [None] * len(made.outputs)
            turn.infos = [OutputArgument(None, ())] * len(kinds)
            turn.states = [[] for _ in kinds]
        outputs = _outputs(turn, made, given.name)
        wider = [
            kind if kind is None else _joined(kind, output.type)
            for kind, output in zip(kinds, outputs, strict=True)
        ]
        if wider == kinds:
            turn.outputs = [
                output if kind is None else patternbroadcast(output, kind.broadcastable)
                for output, kind in zip(outputs, kinds, strict=True)
            ]
            _add_updates(turn, made, given)
            return turn
        kinds = wider


def _called(given: Arguments, kinds: Sequence[Any]) -> tuple[TracedTurn, Returned]:
    """One call of the function, on fresh variables."""
    rows = [
        row_of(each.variable.type)(_tap_name(each.variable, tap))
        for each in given.sequences
        for tap in each.taps
    ]
    states = []
    read = []
    for output, kind in zip(given.outputs, kinds, strict=True):
        depth = output.depth
        window = [kind(_tap_name(output.initial, -k - 1)) for k in range(depth)]
        states.append(window)
        read += [window[-tap - 1] for tap in output.taps]
    if config.compute_test_value != "off":
        _add_test_values(given, rows, states)
    made = returned(given.fn(*rows, *read, *given.non_sequences), given.name)
    return TracedTurn(rows, states, list(given.outputs)), made


def _add_test_values(
    given: Arguments, rows: Sequence[Variable], states: Sequence[Sequence[Variable]]
) -> None:
    """Give the variables of a turn the test values of the first turn."""
    firsts = [
        index(each.variable, tap - each.low)
        for each in given.sequences
        for tap in each.taps
    ]
    starts = [
        output.start(k + 1)
        for output, window in zip(given.outputs, states, strict=True)
        for k in range(len(window))
    ]
    inner = [*rows, *(state for window in states for state in window)]
    for variable, outer in zip(inner, [*firsts, *starts], strict=True):
        with suppress(TestValueError):  # which the setting asked for before
            variable.tag.test_value = variable.type.filter(get_test_value(outer))


def _tap_name(variable: Variable | None, tap: int) -> str | None:
    """How a part of a named array is called: ``x[t-1]``."""
    if variable is None or variable.name is None:
        return None
    return f"{variable.name}[t{tap:+d}]" if tap else f"{variable.name}[t]"


# ---- outputs ----


def _outputs(turn: TracedTurn, made: Returned, name: str) -> list[Variable]:
    """The outputs of a turn, in the dtypes of the states that they are."""
    infos = turn.infos
    if len(made.outputs) != len(infos):
        raise GraphValueError(
            f"{name}: fn returns {len(made.outputs)} outputs, and outputs_info "
            f"has {len(infos)}; give one for each output, None for those that no turn "
            "reads"
        )
    return [
        _output(value, info, place, name)
        for place, (value, info) in enumerate(zip(made.outputs, infos, strict=True))
    ]


def _output(value: Any, info: OutputArgument, place: int, name: str) -> Variable:
    output = as_tensor_variable(value)
    if not isinstance(output.type, TensorType):
        raise GraphTypeError(f"{name}: output {place} is of {output.type}, no array")
    if info.initial is None:
        return output
    wanted = info.state_type()
    holds = result_type(output.type.dtype, wanted.dtype) == wanted.dtype
    if isinstance(output, Constant) and holds:
        output = constant(output.data, wanted.dtype)
    kind = output.type
    if kind.dtype != wanted.dtype or kind.ndim != wanted.ndim:
        remedy = (
            f"cast one of them, as with .astype({wanted.dtype!r})"
            if kind.ndim == wanted.ndim
            else "a state has the same number of axes in all turns"
        )
        raise GraphValueError(
            made_at(
                f"{name}: output {place} of fn is {output} of {kind}, and its state "
                f"in outputs_info, {info.initial}, is of {wanted}, expected the same "
                f"dtype and number of axes; {remedy}",
                output.tag.trace,
            )
        )
    return output


def _joined(kind: TensorType, other: TensorType) -> TensorType:
    """The type of arrays of either pattern."""
    flags = zip(kind.broadcastable, other.broadcastable, strict=True)
    return kind.clone(broadcastable=tuple(a and b for a, b in flags))


# ---- updates, and what is read from outside ----


def _add_updates(turn: TracedTurn, made: Returned, given: Arguments) -> None:
    """Add the updates of shared variables, those that these bring along, too."""
    turn.updates = {
        variable: update_value(variable, value)
        for variable, value in made.updates.items()
    }
    if made.condition is not None:
        turn.condition = math.FUNCTIONS["neq"](made.condition, 0)
    known = {*turn.rows, *(state for window in turn.states for state in window)}
    while True:
        bringing = [
            leaf
            for leaf in inputs_of(_made(turn), known)
            if isinstance(leaf, SharedVariable)
            and leaf.default_update is not None
            and leaf not in turn.updates
        ]
        if not bringing:
            return
        turn.updates |= {x: update_value(x, x.default_update) for x in bringing}


def _made(turn: TracedTurn) -> list[Variable]:
    """All that a turn makes."""
    condition = [] if turn.condition is None else [turn.condition]
    return [*turn.outputs, *turn.updates.values(), *condition]


@dataclass(frozen=True)
class Loop:
    """A loop to be: its op, what its states and constants begin with, its outputs.

    ``traces`` has for each output of the turn which of the node's traces it is.
    ``updates`` has for each shared variable which state it is.
    """

    op: Scan
    starts: Sequence[Variable]
    constants: Sequence[Variable]
    updates: Mapping[SharedVariable, int]


def loop_of(turn: TracedTurn, given: Arguments, truncate_gradient: int) -> Loop:
    """The loop whose turns are like this one."""
    kept: dict[Variable, Variable] = {x: x.type(x.name) for x in turn.updates}
    inner = [
        *turn.rows,
        *(state for window in turn.states for state in window),
        *kept.values(),
    ]
    made = gathered(clone_replace(_made(turn), kept), inner)
    outputs = made[: len(turn.outputs)]
    next_values = made[len(outputs) : len(outputs) + len(kept)]
    if given.strict:
        _check_strict(made, inner, given)
    states: list[Variable] = []
    starts: list[Variable] = []
    for output, window, info in zip(outputs, turn.states, turn.infos, strict=True):
        states += [output, *window][: len(window)]
        starts += [
            patternbroadcast(info.start(k + 1), v.broadcastable)
            for k, v in enumerate(window)
        ]
    traced_updates = [value for value in next_values if value not in outputs]
    condition = [] if turn.condition is None else [made[-1]]
    whole = [*states, *next_values, *outputs, *traced_updates, *condition]
    outside = constants_of(whole, inner, given.name)
    body = Body([*inner, *outside.values()], clone_replace(whole, outside))
    op = Scan(
        body,
        len(turn.rows),
        len(states) + len(kept),
        until=turn.condition is not None,
        truncate_gradient=truncate_gradient,
        name=given.label,
    )
    places = {x: len(states) + place for place, x in enumerate(turn.updates)}
    return Loop(op, [*starts, *kept], list(outside), places)


def constants_of(
    outputs: Sequence[Variable], inner: Sequence[Variable], name: str
) -> dict[Variable, Variable]:
    """What a turn reads from outside, each with a variable that stands for it.

    It is the last variables on the way that depend on nothing that a turn is given.
    """
    dependent = set(inner)
    read = [
        variable
        for node in toposort(outputs, blockers=inner)
        if _depends(node.inputs, node.outputs, dependent)
        for variable in node.inputs
    ]
    found: dict[Variable, Variable] = {}
    waiting = [*read, *outputs][::-1]
    while waiting:
        variable = waiting.pop()
        if variable in dependent or variable in found or isinstance(variable, Constant):
            continue
        owner = variable.owner
        if owner is not None and isinstance(owner.op, MakeVector | Shape):
            waiting += reversed(owner.inputs)  # integers are given one by one
        elif isinstance(variable.type, TensorType):
            found[variable] = variable.type(variable.name)
        else:
            raise NotOfferedError(
                made_at(
                    f"{name}: fn reads {variable} of {variable.type}; loops that name "
                    "contexts are not offered yet: give arrays of the host's types",
                    variable.tag.trace,
                )
            )
    return found


def _depends(
    inputs: Sequence[Variable], outputs: Sequence[Variable], known: set[Variable]
) -> bool:
    """True if a node depends on what a turn is given; then its outputs do."""
    if known.isdisjoint(inputs):
        return False
    known.update(outputs)
    return True


def _check_strict(
    made: Sequence[Variable], inner: Sequence[Variable], given: Arguments
) -> None:
    """Raise MissingInputError for what is read and was not given."""
    known = {*inner, *(x for x in given.non_sequences if isinstance(x, Variable))}
    for leaf in inputs_of(made, known):
        if leaf not in known and not isinstance(leaf, Constant):
            raise MissingInputError(
                made_at(
                    f"{given.name}: fn reads {leaf} of {leaf.type}, which is not among "
                    "non_sequences; with strict=True it reads nothing else",
                    leaf.tag.trace,
                )
            )


def updates_of(loop: Loop, finals: Sequence[Variable]) -> OrderedUpdates:
    """The next values of the shared variables that turns update."""
    return OrderedUpdates([(x, finals[place]) for x, place in loop.updates.items()])
