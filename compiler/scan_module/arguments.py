"""What a loop is given: sequences with taps, states with taps, the number of turns."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.scan.scan import row_of
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


def listed(given: Any) -> list[Any]:
    """One argument or several as a list; None is an empty one."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def array(given: Any, what: str) -> Variable:
    """An argument as a variable of the host, whose values a body can be given."""
    try:
        variable = as_tensor_variable(given)
    except (TypeError, ValueError) as error:
        raise GraphTypeError(f"{what}: {error}") from error
    if not isinstance(variable.type, TensorType):
        raise GraphTypeError(f"{what} is of {variable.type}, expected an array")
    return variable


def taps_of(given: Mapping[str, Any], default: int, what: str) -> tuple[int, ...]:
    """The taps of a dictionary, integers that are all different."""
    taps = given.get("taps")
    if taps is None:
        return (default,)
    try:
        found = tuple(
            operator.index(tap) for tap in (taps if is_listed(taps) else [taps])
        )
    except TypeError:
        raise GraphTypeError(
            f"{what}: its taps are {taps!r}, expected integers"
        ) from None
    if len(set(found)) < len(found):
        raise GraphValueError(f"{what}: its taps are {list(found)}, one of them twice")
    return found


def is_listed(taps: Any) -> bool:
    """True if taps are several."""
    return isinstance(taps, Iterable) and not isinstance(taps, str)


def check_keys(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Raise ValueError for a dictionary with a key that says nothing."""
    for key in given:
        if key not in known:
            names = " and ".join(map(repr, known))
            raise GraphValueError(f"{what} has {key!r}; it may have {names}")


@dataclass(frozen=True)
class SequenceArgument:
    """An array that turns read row by row, at ``taps`` from the turn."""

    variable: Variable
    taps: tuple[int, ...]

    @property
    def low(self) -> int:
        """The tap that is furthest back, at most 0."""
        return min(0, *self.taps)

    @property
    def high(self) -> int:
        """The tap that is furthest ahead, at least 0."""
        return max(0, *self.taps)

    def length(self) -> Variable:
        """How many turns it is enough for."""
        length = shape_i(self.variable, 0)
        span = self.high - self.low
        if not span:
            return length
        return math.FUNCTIONS["maximum"](length - span, 0)

    def rows(self, tap: int, turns: Variable, goes_back: bool, is_all: bool) -> Any:
        """What the turns read at a tap, in rows.

        With ``is_all`` it is known to be no more than the turns.
        """
        start, span = tap - self.low, self.high - self.low
        part = self.variable
        if span:
            stop = start - span or None
            part = index(part, slice(start or None, stop))
        if goes_back:
            part = index(part, slice(None, None, -1))
        return part if is_all else index(part, slice(None, turns))


def sequence_arguments(given: Any, name: str) -> list[SequenceArgument]:
    """The sequences as they are given: arrays, or dictionaries with taps."""
    found = []
    for place, each in enumerate(listed(given)):
        what = f"{name}: sequence {place}"
        taps: tuple[int, ...] = (0,)
        if isinstance(each, Mapping):
            check_keys(each, ("input", "taps"), what)
            if "input" not in each:
                raise GraphValueError(f"{what} has no 'input', the array to go through")
            taps = taps_of(each, 0, what)
            each = each["input"]
        variable = array(each, what)
        if variable.type.ndim == 0:
            raise GraphTypeError(
                f"{what} is {variable} of {variable.type}, which has no rows to go "
                "through; give it as one of non_sequences"
            )
        if taps:
            found.append(SequenceArgument(variable, taps))
    return found


@dataclass(frozen=True)
class OutputArgument:
    """How an output begins, and the ``taps`` at which later turns read it.

    ``initial`` None is an output that no turn reads.
    """

    initial: Variable | None
    taps: tuple[int, ...]

    @property
    def depth(self) -> int:
        """How many turns back a turn reads."""
        return -min(self.taps, default=0)

    def start(self, back: int) -> Variable:
        """The state ``back`` turns before the first one."""
        assert self.initial is not None
        if self.taps == (-1,):
            return self.initial
        return index(self.initial, self.depth - back)

    def state_type(self) -> TensorType:
        """The type of the state in one turn."""
        assert self.initial is not None
        kind = self.initial.type
        state: TensorType = kind if self.taps == (-1,) else row_of(kind)
        return state


def output_arguments(given: Any, name: str) -> list[OutputArgument]:
    """The outputs as ``outputs_info`` has them."""
    found = []
    for place, each in enumerate(listed(given)):
        what = f"{name}: outputs_info {place}"
        if each is None or (isinstance(each, Mapping) and not each):
            found.append(OutputArgument(None, ()))
            continue
        taps: tuple[int, ...] = (-1,)
        initial = each
        if isinstance(each, Mapping):
            check_keys(each, ("initial", "taps"), what)
            initial = each.get("initial")
            if initial is None and each.get("taps") is None:
                found.append(OutputArgument(None, ()))
                continue
            taps = taps_of(each, -1, what)
            if initial is None:
                raise GraphValueError(
                    f"{what} has the taps {list(taps)} and no 'initial', the states "
                    "before the first turn"
                )
        if any(tap >= 0 for tap in taps) or not taps:
            raise GraphValueError(
                f"{what}: its taps are {list(taps)}, expected negative ones: a turn "
                "reads what turns before it made"
            )
        variable = array(initial, f"{what}: initial")
        if taps != (-1,) and variable.type.ndim == 0:
            raise GraphValueError(
                f"{what} is {variable} of {variable.type}, which has no rows; of the "
                f"taps {list(taps)} it has {-min(taps)}, the earliest first"
            )
        found.append(OutputArgument(variable, taps))
    return found


def turns_of(
    given: Any, sequences: Sequence[SequenceArgument], name: str
) -> tuple[Variable, bool]:
    """The number of turns, and whether one sequence alone tells it.

    Raises TypeError for what is no integer, ValueError where nothing tells it.
    """
    if given is not None:
        return check_turns(given, name), False
    if not sequences:
        raise GraphValueError(
            f"{name}: nothing says how many turns there are; give n_steps, or sequences"
        )
    lengths = [each.length() for each in sequences]
    turns = lengths[0]
    for length in lengths[1:]:
        turns = math.FUNCTIONS["minimum"](turns, length)
    return turns, len(sequences) == 1


def check_turns(given: Any, name: str) -> Variable:
    """``n_steps`` as an integer scalar, in int64."""
    if isinstance(given, Apply):
        given = given.out
    is_whole = isinstance(given, float) and given.is_integer()
    turns = array(int(given) if is_whole else given, f"{name}: n_steps")
    if turns.type.ndim or turns.type.dtype[0] not in "iu":
        raise GraphTypeError(
            f"{name}: n_steps is {turns} of {turns.type}, expected an integer"
        )
    if isinstance(turns, Constant) and int(turns.data) < 0:
        raise GraphValueError(
            f"{name}: n_steps is {int(turns.data)}, expected 0 or more; to go through "
            "sequences from their ends use go_backwards=True"
        )
    return math.cast(turns, "int64")
