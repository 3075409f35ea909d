"""Loops whose iterations Python runs one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gpuarray._creation.filled import empty, zeros
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.plan_stages import taken_over
from gpuarray.errors import BadValue

CARRIED = "cuaf+"
"""The letters of states. Here a factor stays as it begins: only chunks need it."""

RunBody = Callable[[Sequence[Any]], Sequence[Array]]
"""Runs the plan of a body on its inputs and returns its results."""


class Iterations:
    """Runs a loop by calling ``run`` on the inputs of each iteration.

    It has state so that errors can name the iteration: ``current`` is the number of the
    one that runs, None outside of a run; ``count`` is how many ran. With ``most`` no
    more iterations run: the results are then of their first rows only.
    """

    def __init__(self, step: p.LoopStep, run: RunBody, most: int | None = None) -> None:
        self.step = step
        self.run_body = run
        self.most = most
        self.current: int | None = None
        self.count = 0
        self._letters = [letter for letter in step.takes if letter in CARRIED]
        self._n_states = len(self._letters)
        self._stop = self._letters.index("u") if "u" in self._letters else None
        self._overwrites = any(map(taken_over, step.body.plan.steps))

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Return the final states, then the results of all iterations in rows.

        Raises ValueError for sequences of another length, and for states and results
        that change their shape. An error of the body gets a note on the iteration.
        """
        self.current, self.count = None, 0
        turns, *inputs = values
        count = max(int(turns), 0)
        self._check_rows(inputs, count)
        states = [x for x, letter in zip(inputs, self.step.takes, strict=True)
                  if letter in CARRIED]  # fmt: skip
        if count == 0:
            return [*(state.copy() for state in states), *self._no_rows(inputs, states)]
        traces: list[Array] = []
        limit = count if self.most is None else min(count, self.most)
        for iteration in range(limit):
            self.current = iteration
            try:
                outputs = self._iteration(inputs, states, iteration)
                results = outputs[self._n_states :]
                traces = traces or [_rows(count, result) for result in results]
                for trace, result in zip(traces, results, strict=True):
                    self._check_result(trace, result)
                    trace[iteration] = result
            except Exception as error:
                error.add_note(self.where())
                raise
            self.count += 1
            states = [
                before if letter == "f" else after
                for before, after, letter in zip(
                    states, outputs, self._letters, strict=False
                )
            ]
            if self._stop is not None and bool(np.asarray(states[self._stop])):
                break
        self.current = None
        return [*(state.copy() for state in states), *traces]

    def where(self) -> str:
        """Return a line on the iteration that runs: its number, the loop, its line."""
        origin = f", made at {self.step.origin}" if self.step.origin else ""
        return f"  in iteration {self.current} of {self.step.label}{origin}"

    def _iteration(
        self, inputs: Sequence[Any], states: Sequence[Array], iteration: int
    ) -> Sequence[Array]:
        """Return the results of one iteration; its states keep their shapes."""
        rest = iter(states)
        arguments = []
        for value, letter in zip(inputs, self.step.takes, strict=True):
            if letter == "s":
                arguments.append(value)
                continue
            array = value[iteration] if letter == "r" else next(rest)
            arguments.append(array.copy() if self._overwrites else array)
        outputs = self.run_body(arguments)
        places = (i for i, letter in enumerate(self.step.takes) if letter in CARRIED)
        for i, before, after in zip(places, states, outputs, strict=False):
            if before.shape != after.shape:
                raise BadValue(
                    f"{self.step.label}: input {i}, a state, has shape {before.shape}, "
                    f"and {after.shape} after an iteration; expected one shape in all "
                    "iterations"
                )
        return outputs

    def _check_rows(self, inputs: Sequence[Any], count: int) -> None:
        for i, (value, letter) in enumerate(zip(inputs, self.step.takes, strict=True)):
            if letter == "r" and value.shape[0] != count:
                raise BadValue(
                    f"{self.step.label}: input {i} has {value.shape[0]} rows, expected "
                    f"{count}, one for each iteration; give fewer n_steps"
                )

    def _check_result(self, trace: Array, result: Array) -> None:
        if trace.shape[1:] != result.shape:
            raise BadValue(
                f"{self.step.label}: the results of two iterations have shapes "
                f"{trace.shape[1:]} and {result.shape}; expected one shape in all "
                "iterations"
            )

    def _no_rows(self, inputs: Sequence[Any], states: Sequence[Array]) -> list[Array]:
        """Return the traces of no iterations: of the shapes of results on zeros.

        A result that is a next state has the state's shape, so the body need not run.
        """
        body = self.step.body.plan
        state_of = dict(zip(body.outputs, states, strict=False))
        results: Sequence[Any] = [state_of.get(n) for n in body.outputs]
        if any(result is None for result in results):
            rest = iter(states)
            results = self.run_body(
                [
                    zeros(value.shape[1:], value.dtype, context=value.context)
                    if letter == "r"
                    else value
                    if letter == "s"
                    else next(rest)
                    for value, letter in zip(inputs, self.step.takes, strict=True)
                ]
            )
        return [_rows(0, result) for result in results[self._n_states :]]


def _rows(count: int, result: Array) -> Array:
    """Return an array for ``count`` results, zeros until each is set."""
    make = zeros if count else empty
    return make((count, *result.shape), result.dtype, context=result.context)
