"""The arguments of ``scan``: sequences and states with taps, number of iterations."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.requirements import Requirement
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index, known_length
from gpuarray.compiler.ops.scan.scan import row_of
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.slicing.requirements import required
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


def listed(argument: Any) -> list[Any]:
    """Return an argument as a list: empty for None, else its items or itself alone."""
    if argument is None:
        return []
    return list(argument) if isinstance(argument, list | tuple) else [argument]


def array(value: Any, what: str) -> Variable:
    """Return an argument as a tensor variable of no context.

    ``what`` names it in errors. Raises TypeError for what is no array.
    """
    try:
        variable = as_tensor_variable(value)
    except (TypeError, ValueError) as error:
        raise GraphTypeError(f"{what}: {error}") from error
    if not isinstance(variable.type, TensorType):
        raise GraphTypeError(f"{what} is of {variable.type}, expected an array")
    return variable


def shared_by_iterations(non_sequences: Any, name: str) -> list[Variable]:
    """Convert ``non_sequences``: variables as they are, others to tensor variables.

    Raises TypeError for what is no array.
    """
    return [
        value
        if isinstance(value, Variable)
        else array(value, f"{name}: non_sequences {i}")
        for i, value in enumerate(listed(non_sequences))
    ]


def with_rows(
    variable: Variable, least: int, what: str, taps: Sequence[int], instead: str
) -> Variable:
    """Return an array, required to have the rows that its taps read.

    Where the graph does not tell their number, a call is refused when it is bound.
    Raises ValueError for too few; ``instead`` says what to give.
    """
    told = f"{what} is {variable}, which has too few rows for the taps {list(taps)}"
    known = known_length(variable)
    if known is not None and known < least:
        raise GraphValueError(f"{told}; {instead}")
    if known is not None or not least:
        return variable
    enough = Requirement("within", least - 1, shape_i(variable, 0))
    checked = required(variable, enough, f"{told}; {instead}")
    checked.name = variable.name  # which the body's inputs are called by
    return checked


def taps_of(entry: Mapping[str, Any], default: int, what: str) -> tuple[int, ...]:
    """Return the taps of a dictionary.

    Raises TypeError if they are no integers, ValueError if one is there twice.
    """
    taps = entry.get("taps")
    if taps is None:
        return (default,)
    try:
        integers = tuple(
            operator.index(tap) for tap in (taps if is_listed(taps) else [taps])
        )
    except TypeError:
        raise GraphTypeError(
            f"{what}: its taps are {taps!r}, expected integers"
        ) from None
    if len(set(integers)) < len(integers):
        raise GraphValueError(
            f"{what}: its taps are {list(integers)}, expected each tap once"
        )
    return integers


def is_listed(taps: Any) -> bool:
    """True for several taps, False for a single one."""
    return isinstance(taps, Iterable) and not isinstance(taps, str)


def check_keys(entry: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Raise ValueError if a dictionary has a key that is not ``known``."""
    for key in entry:
        if key not in known:
            names = " and ".join(map(repr, known))
            raise GraphValueError(f"{what} has {key!r}; it may have {names}")


@dataclass(frozen=True)
class SequenceArgument:
    """An array read row by row: iteration t reads row t + k for each tap k."""

    variable: Variable
    taps: tuple[int, ...]

    @property
    def low(self) -> int:
        """The smallest tap, at most 0."""
        return min(0, *self.taps)

    @property
    def high(self) -> int:
        """The largest tap, at least 0."""
        return max(0, *self.taps)

    @property
    def span(self) -> int:
        """How many rows there are beyond one for each iteration."""
        return self.high - self.low

    def length(self) -> Variable:
        """Return the number of iterations for which all taps have a row."""
        length = shape_i(self.variable, 0)
        if not self.span:
            return length
        return math.FUNCTIONS["maximum"](length - self.span, 0)

    def rows(
        self, tap: int, iterations: Variable, goes_back: bool, is_all: bool
    ) -> Any:
        """Return the rows that the iterations read at a tap, in their order.

        ``is_all`` says that there are no more rows than iterations, so none are cut.
        """
        start = tap - self.low
        part = self.variable
        if self.span:
            stop = start - self.span or None
            part = index(part, slice(start or None, stop))
        if goes_back:
            part = index(part, slice(None, None, -1))
        return part if is_all else index(part, slice(None, iterations))


def sequence_arguments(sequences: Any, name: str) -> list[SequenceArgument]:
    """Convert ``sequences``: arrays, or dictionaries of an input and taps.

    Raises TypeError and ValueError for what is neither.
    """
    arguments = []
    for i, entry in enumerate(listed(sequences)):
        what = f"{name}: sequence {i}"
        taps: tuple[int, ...] = (0,)
        value = entry
        if isinstance(entry, Mapping):
            check_keys(entry, ("input", "taps"), what)
            if "input" not in entry:
                raise GraphValueError(
                    f"{what} has no 'input'; give the array to read row by row"
                )
            taps = taps_of(entry, 0, what)
            value = entry["input"]
        variable = array(value, what)
        if variable.type.ndim == 0:
            raise GraphTypeError(
                f"{what} is {variable} of {variable.type}, which has no rows; give it "
                "as one of non_sequences"
            )
        if taps:
            given = SequenceArgument(variable, taps)
            instead = f"give at least {given.span}, and one for each iteration"
            rows = with_rows(variable, given.span, what, taps, instead)
            arguments.append(replace(given, variable=rows))
    return arguments


@dataclass(frozen=True)
class OutputArgument:
    """The ``initial`` values of an output, and the ``taps`` at which it is read again.

    ``initial`` is None for an output that no iteration reads. ``what`` names the
    argument in errors.
    """

    what: str
    initial: Variable | None
    taps: tuple[int, ...]

    @property
    def depth(self) -> int:
        """The number of earlier iterations whose output is read."""
        return -min(self.taps, default=0)

    def start(self, back: int) -> Variable:
        """Return the output of ``back`` iterations before the first one."""
        assert self.initial is not None
        if self.taps == (-1,):
            return self.initial
        instead = f"give {self.depth}, the earliest first"
        rows = with_rows(
            self.initial, self.depth, f"{self.what}: initial", self.taps, instead
        )
        return index(rows, self.depth - back)

    def state_type(self) -> TensorType:
        """Return the type of the output in one iteration."""
        assert self.initial is not None
        kind = self.initial.type
        state: TensorType = kind if self.taps == (-1,) else row_of(kind)
        return state


def output_arguments(outputs_info: Any, name: str) -> list[OutputArgument]:
    """Convert ``outputs_info``: None, arrays, or dictionaries of initial and taps.

    Raises TypeError and ValueError for what is none of these.
    """
    arguments = []
    for i, entry in enumerate(listed(outputs_info)):
        what = f"{name}: outputs_info {i}"
        if entry is None or (isinstance(entry, Mapping) and not entry):
            arguments.append(OutputArgument(what, None, ()))
            continue
        taps: tuple[int, ...] = (-1,)
        initial = entry
        if isinstance(entry, Mapping):
            check_keys(entry, ("initial", "taps"), what)
            initial = entry.get("initial")
            if initial is None and entry.get("taps") is None:
                arguments.append(OutputArgument(what, None, ()))
                continue
            taps = taps_of(entry, -1, what)
            if initial is None:
                raise GraphValueError(
                    f"{what} has the taps {list(taps)} and no 'initial'; give the "
                    "values before the first iteration"
                )
        if any(tap >= 0 for tap in taps) or not taps:
            raise GraphValueError(
                f"{what}: its taps are {list(taps)}, expected negative ones: an "
                "iteration reads outputs of earlier iterations only"
            )
        variable = array(initial, f"{what}: initial")
        if taps != (-1,) and variable.type.ndim == 0:
            raise GraphValueError(
                f"{what} is {variable} of {variable.type}, which has no rows; for the "
                f"taps {list(taps)} give {-min(taps)} rows, the earliest first"
            )
        arguments.append(OutputArgument(what, variable, taps))
    return arguments


def iterations_of(
    n_steps: Any, sequences: Sequence[SequenceArgument], name: str
) -> tuple[Variable, bool]:
    """Return the number of iterations, and True if it is the length of one sequence.

    Raises TypeError if ``n_steps`` is no integer, ValueError if it is negative, or None
    where there are no sequences.
    """
    if n_steps is not None:
        return check_steps(n_steps, name), False
    if not sequences:
        raise GraphValueError(
            f"{name}: the number of iterations is unknown; give n_steps, or sequences"
        )
    lengths = [sequence.length() for sequence in sequences]
    iterations = lengths[0]
    for length in lengths[1:]:
        iterations = math.FUNCTIONS["minimum"](iterations, length)
    return iterations, len(sequences) == 1


def check_steps(n_steps: Any, name: str) -> Variable:
    """Return ``n_steps`` as an int64 scalar; a variable that is negative counts as 0.

    Raises TypeError for what is no integer, ValueError for a negative constant.
    """
    if isinstance(n_steps, Apply):
        n_steps = n_steps.out
    is_whole = isinstance(n_steps, float) and n_steps.is_integer()
    steps = array(int(n_steps) if is_whole else n_steps, f"{name}: n_steps")
    if steps.type.ndim or steps.type.dtype[0] not in "iu":
        raise GraphTypeError(
            f"{name}: n_steps is {steps} of {steps.type}, expected an integer"
        )
    if isinstance(steps, Constant) and int(steps.data) < 0:
        raise GraphValueError(
            f"{name}: n_steps is {int(steps.data)}, expected 0 or more; to read "
            "sequences from their ends use go_backwards=True"
        )
    steps = math.cast(steps, "int64")
    is_known = isinstance(steps, Constant)
    return steps if is_known else math.FUNCTIONS["maximum"](steps, 0)
