"""MonitorMode and NanGuardMode, which examine the results of every node."""

from __future__ import annotations

import pdb
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray.array import Array
from gpuarray.compiler.config import config
from gpuarray.compiler.debug.checks import Source
from gpuarray.compiler.debug.mode import Mode, Runner
from gpuarray.compiler.debug.stepwise import Stepwise, Values, Watcher
from gpuarray.compiler.errors import NanGuardError, made_at
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.iterations import Iterations
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.schedule import Lowered

BIG = 1e10


@dataclass(frozen=True, slots=True)
class Thunk:
    """The values of a node's inputs and outputs, before or after it runs.

    Each value is in a list of its own, as Theano's storage: an array of the context, an
    integer, or None before it is computed.
    """

    inputs: list[list[Any]]
    outputs: list[list[Any]]


Callback = Callable[[int, Apply, Thunk], None]


class Monitor(Watcher):
    """Calls back around the steps of each node; ``i`` counts the nodes of a plan."""

    def __init__(
        self, lowered: Lowered, pre: Callback | None, post: Callback | None
    ) -> None:
        self.lowered = lowered
        self.pre, self.post = pre, post
        steps: dict[Apply, list[int]] = {}
        for step, node in enumerate(lowered.nodes):
            if node is not None:
                steps.setdefault(node, []).append(step)
        self.first = {numbers[0]: node for node, numbers in steps.items()}
        self.last = {numbers[-1]: node for node, numbers in steps.items()}
        self.number = {node: i for i, node in enumerate(steps)}

    def inside(self, body: Lowered, loop: Iterations) -> Watcher:
        """Return one that calls back in each iteration of a loop."""
        return Monitor(body, self.pre, self.post)

    def before(self, step: int, known: Values) -> None:
        """Call the hook before a step."""
        self._call(self.pre, self.first.get(step), known)

    def after(self, step: int, known: Values) -> None:
        """Call the hook after a step."""
        self._call(self.post, self.last.get(step), known)

    def _call(
        self, callback: Callback | None, node: Apply | None, known: Values
    ) -> None:
        if callback is None or node is None:
            return
        inputs = [[self._value(variable, known)] for variable in node.inputs]
        outputs = [[self._value(variable, known)] for variable in node.outputs]
        callback(self.number[node], node, Thunk(inputs, outputs))

    def _value(self, variable: Variable, known: Values) -> Any:
        if isinstance(variable, Constant):
            return variable.data
        number = self.lowered.numbers.get(variable)
        return None if number is None else known.get(number)


@dataclass(frozen=True, slots=True)
class MonitorMode(Mode):
    """Functions that call back before and after each node, with its values.

    ``pre_func`` and ``post_func`` get the node's number, the node of the compiled graph
    and a `Thunk`. In each iteration of a loop they get the nodes of its body, numbered
    from 0, and then the loop's own.
    """

    pre_func: Callback | None = field(default=None, kw_only=True)
    post_func: Callback | None = field(default=None, kw_only=True)

    def load(
        self, lowered: Callable[[], Lowered], source: Source | None, context: Context
    ) -> Runner:
        """Return a runner that goes step by step."""
        plan = lowered()
        monitor = Monitor(plan, self.pre_func, self.post_func)
        return Stepwise(plan, context, monitor)


def detect_nan(i: int, node: Apply, fn: Thunk) -> None:
    """Print the node if an output has nan: a ``post_func``."""
    for output in fn.outputs:
        if problem(output[0], inf=False, big=False):
            print(f"*** NaN detected ***\n{node}\nInputs : {fn.inputs}")  # noqa: T201
            return


def problem(value: Any, *, nan: bool = True, inf: bool = True, big: bool = True) -> str:
    """Return the fault of an array: ``"nan"``, ``"inf"``, ``"big"``, or nothing."""
    if value is None or isinstance(value, int):
        return ""
    if not isinstance(value, Array):
        value = np.asarray(value)
    if value.dtype.kind in "biu" or value.size == 0:
        return ""
    largest = abs(value).max()  # nan wins
    size = float(largest.real if np.iscomplexobj(largest) else largest)
    if np.isnan(size):
        return "nan" if nan else ""
    if np.isinf(size):
        return "inf" if inf else ""
    return "big" if big and size > BIG else ""


@dataclass(frozen=True, slots=True)
class NanGuardMode(Mode):
    """Functions that raise where a value is nan, infinite or beyond 1e10.

    The arguments, or else the settings ``NanGuardMode.nan_is_error`` and its kin,
    select which; ``NanGuardMode.action`` may be to warn instead. NanGuardError, an
    AssertionError, names the node and the user's line, and in a loop the iteration.
    """

    nan_is_error: bool | None = field(default=None, kw_only=True)
    inf_is_error: bool | None = field(default=None, kw_only=True)
    big_is_error: bool | None = field(default=None, kw_only=True)

    def load(
        self, lowered: Callable[[], Lowered], source: Source | None, context: Context
    ) -> Runner:
        """Return a runner that goes step by step and looks at each result."""
        plan = lowered()
        return Stepwise(plan, context, _Guard(self, plan))

    def minded(self) -> dict[str, bool]:
        """Return which of nan, infinities and large numbers are errors."""
        flags = config.NanGuardMode
        return {
            "nan": flags.nan_is_error
            if self.nan_is_error is None
            else self.nan_is_error,
            "inf": flags.inf_is_error
            if self.inf_is_error is None
            else self.inf_is_error,
            "big": flags.big_is_error
            if self.big_is_error is None
            else self.big_is_error,
        }

    def mind(
        self,
        value: Any,
        what: str,
        variable: Variable,
        node: Apply | None = None,
        where: str = "",
    ) -> None:
        """Raise, or as the setting says, for a bad value.

        ``where`` is a line on the iteration, which an error that is raised has as a
        note.
        """
        fault = problem(value, **self.minded())
        if not fault:
            return
        words = {"nan": "nan", "inf": "an infinity", "big": f"a number beyond {BIG:g}"}
        message = made_at(
            f"NanGuardMode: {what} holds {words[fault]}",
            variable.tag.trace if node is None else node.trace,
        )
        action = config.NanGuardMode.action
        if action not in ("warn", "pdb"):
            raise NanGuardError(message)
        message = "\n".join(filter(None, (message, where)))
        if action == "warn":
            warnings.warn(message, stacklevel=2)
        else:
            print(message)  # noqa: T201
            pdb.set_trace()


class _Guard(Monitor):
    """Looks at the inputs and at each result; ``loop`` is the one it is in."""

    def __init__(
        self, mode: NanGuardMode, lowered: Lowered, loop: Iterations | None = None
    ) -> None:
        super().__init__(lowered, None, self._look)
        self.mode = mode
        self.loop = loop

    def inside(self, body: Lowered, loop: Iterations) -> Watcher:
        """Return one that looks at the results of each iteration."""
        return _Guard(self.mode, body, loop)

    def begin(self, known: Values) -> None:
        """Look at the inputs; those of an iteration were looked at before."""
        if self.loop is not None:
            return
        for variable, number in self.lowered.numbers.items():
            if number < self.lowered.plan.n_inputs and variable.owner is None:
                self.mode.mind(known[number], f"the input {variable}", variable)

    def _look(self, i: int, node: Apply, fn: Thunk) -> None:
        where = "" if self.loop is None else self.loop.where()
        values = [output[0] for output in fn.outputs]
        if isinstance(node.op, Scan):
            values = node.op.determined(values)
        for value, variable in zip(values, node.outputs, strict=True):
            name = "" if variable.name is None else f"{variable.name}, "
            what = f"{name}an output of {node}"
            self.mode.mind(value, what, variable, node, where)
