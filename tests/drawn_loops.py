"""Loops that are drawn: the same body for ``scan`` and for NumPy, turn by turn."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import gpuarray.compiler.tensor as T
import numpy as np
from drawn_steps import (
    FORMS,
    HOST_STEPS,
    STEPS,
    Arrays,
    Inner,
    Variables,
    like,
    next_state,
    number,
    real,
    run_steps,
    taken,
)
from gpuarray.compiler import scan, shared
from gpuarray.compiler.scan_module import until
from loops import by_turns

TAPS = [[-1], [-1], [-1], [-2, -1], [-3], [-1, -2], [-3, -1]]
DTYPES = ["float64"] * 8 + ["float32"] * 4 + ["complex128"] * 2 + ["float16"]
DTYPES += ["int64", "int64", "int32", "int8"]
OTHERS = ["int64", "int32", "int64", "bool", "bool", "int8", "float32", "float64"]
MOST_OUTPUTS = 5
SIZES = [3] * 10 + [1, 2, 35]
LENGTHS = [1, 3, 4, 5, 6, 7, 8, 9, 12, 35]
READS = {
    "all": lambda m, x: x,
    "last": lambda m, x: x[-1],
    "first": lambda m, x: x[0],
    "later": lambda m, x: x[1:],
    "some": lambda m, x: x[::2],
    "last two": lambda m, x: x[-2:],
    "reversed": lambda m, x: x[::-1],
    "total": lambda m, x: m.sum(number(m, x), 0),
}
"""What a program reads of the rows of an output, of which there are some."""


def span_of(taps):
    """The rows that a sequence has beyond one for each turn."""
    return max(0, *taps) - min(0, *taps)


@dataclass
class Sequence:
    """What is read row by row: an array, or what is made of it before the loop."""

    array: np.ndarray
    taps: list[int]
    form: str

    @property
    def turns(self):
        """The most turns for which there are rows at all taps."""
        return len(self.array) - span_of(self.taps)

    def rows(self, m, x):
        if self.form == "negative":
            return -number(m, x)
        return x[::-1] if self.form == "reversed" else x


@dataclass
class State:
    """The values of a state before the first turn, and how it goes on.

    Of a ``known`` state they are constants of the program, of others an input.
    """

    start: np.ndarray
    taps: list[int]
    form: str
    row: float
    known: bool = False

    def info(self, start):
        return start if self.taps == [-1] else {"initial": start, "taps": self.taps}


class Constants(NamedTuple):
    """What all turns read: a vector and a matrix."""

    vector: Any
    matrix: Any


class Arguments(NamedTuple):
    """The arguments of a loop: variables or arrays."""

    sequences: list
    infos: list
    shared: list
    constants: Constants
    n_steps: Any


class Turn(NamedTuple):
    """What a turn returns: outputs, values of shared variables, whether it ends."""

    outputs: list
    shared: list
    stop: Any


class DrawnLoop:
    """One loop: its arrays, its body as steps, and what a program reads of it."""

    def __init__(self, seed):
        self.seed = seed
        self.pick = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.dtype = self.pick.choice(DTYPES)
        self.size = 3 if self.dtype == "float16" else self.pick.choice(SIZES)
        floats = self.dtype if np.dtype(self.dtype).kind in "fc" else "float64"
        self.tensor = Variables(floats, self.size)
        self.numpy = Arrays(floats, self.size)
        self.sequences = [
            self.sequence() for _ in range(self.pick.choice([0, 1, 1, 2]))
        ]
        first = 0 if self.sequences else 1
        self.states = [self.state() for _ in range(self.pick.randint(first, 3))]
        number = self.pick.choice([0] * 10 + [1, 2])
        self.shared = [self.state(known=True, taps=[-1]) for _ in range(number)]
        self.constants = Constants(
            self.array(self.size), self.array(self.size, self.size)
        )
        self.draw_turns()
        self.draw_body()
        self.draw_options()

    # ---- drawing ----

    def array(self, *shape, dtype=None):
        dtype = np.dtype(dtype or self.dtype)
        numbers = self.rng.uniform(-1, 1, shape)
        if dtype.kind == "c":
            numbers = numbers + 1j * self.rng.uniform(-1, 1, shape)
        if dtype.kind == "i":
            numbers = 7 * numbers
        return np.asarray(numbers > 0 if dtype.kind == "b" else numbers).astype(dtype)

    def any_dtype(self):
        """Mostly the dtype of the loop."""
        return self.pick.choice(OTHERS) if self.pick.random() < 0.25 else self.dtype

    def shape(self):
        return (self.size,) * self.pick.choice([0, 0, 0, 1, 1, 1, 1, 2])

    def sequence(self):
        taps = self.pick.sample(range(-2, 3), self.pick.randint(1, 2))
        taps = self.pick.choice([[0], taps])
        length = max(self.pick.choice(LENGTHS), span_of(taps))
        array = self.array(length, *self.shape(), dtype=self.any_dtype())
        form = self.pick.choice(["as it is"] * 6 + ["negative", "reversed"])
        return Sequence(array, taps, form)

    def state(self, known=None, taps=None):
        known = self.pick.random() < 0.15 if known is None else known
        taps = taps or self.pick.choice(TAPS)
        rows = () if taps == [-1] else (-min(taps),)
        start = self.array(*rows, *self.shape(), dtype=self.any_dtype())
        if known and self.pick.random() < 0.5:
            start = np.full_like(start, self.pick.choice([0, 0, 1]))
        form = self.pick.choice(["new"] * 3 + list(FORMS))
        return State(start, taps, form, self.pick.random(), known)

    def draw_turns(self):
        most = min((s.turns for s in self.sequences), default=self.pick.choice(LENGTHS))
        self.n_steps = None
        if not self.sequences or self.pick.random() < 0.3:
            number = self.pick.choice([0, 1, 2, 3, 4, most, most, most])
            self.n_steps = min(number, most)
        self.n_is_input = self.n_steps is not None and self.pick.random() < 0.4
        self.goes_back = self.pick.random() < 0.3
        self.stops = bool(self.states) and self.pick.random() < 0.2

    def draw_body(self):
        self.steps = self.draw_steps(self.pick.randint(2, 7), nested=2)
        self.n_others = self.pick.randint(0 if self.states else 1, 2)
        self.reads_states = self.pick.random() < 0.4

    def draw_steps(self, number, nested):
        """Steps, of which some are loops; the loops' steps may be, too."""
        return [self.step(nested) for _ in range(number)]

    def step(self, nested):
        step = self.pick.choice(list(STEPS.values()))
        if nested and self.pick.random() < 0.06:
            step = Inner(
                self.pick, self.draw_steps(self.pick.randint(1, 3), nested - 1)
            )
        elif self.pick.random() < 0.004:
            step = self.pick.choice(list(HOST_STEPS.values()))
        return step, self.pick.random(), self.pick.random()

    def draw_options(self):
        self.truncate = self.pick.randint(1, 8) if self.pick.random() < 0.2 else -1
        self.checkpoint = "all"
        if not self.stops and self.pick.random() < 0.2:
            self.checkpoint = self.pick.choice(["sqrt", "sqrt", 1, 2, 3, "1 kB"])
        self.reads = [self.draw_reads() for _ in range(MOST_OUTPUTS)]
        self.beside = None
        if self.pick.random() < 0.2:
            self.beside = Inner(self.pick, self.draw_steps(2, nested=0), [None, 1])
        self.reads_input = bool(self.sequences) and self.pick.random() < 0.5

    def draw_reads(self):
        return self.pick.sample(list(READS), self.pick.choice([0, 1, 1, 2]))

    # ---- the loop, of variables or of arrays ----

    @property
    def arrays(self):
        """The values of the inputs."""
        starts = [state.start for state in self.states if not state.known]
        arrays = [*(s.array for s in self.sequences), *starts]
        arrays += [state.start for state in self.shared]
        count = [np.asarray(self.n_steps)] if self.n_is_input else []
        return [*arrays, *self.constants, *count]

    def other_arrays(self, turns):
        """Other values of the inputs; of turns there may be more, or fewer."""
        arrays = list(self.arrays)
        count = arrays.pop() if self.n_is_input else None
        more = self.pick.choice([0, 0, 1, 4]) if turns else 0
        arrays = [
            self.array(len(x) + more, *x.shape[1:], dtype=x.dtype)
            if place < len(self.sequences)
            else self.array(*x.shape, dtype=x.dtype)
            for place, x in enumerate(arrays)
        ]
        if count is None:
            return arrays
        return [*arrays, np.asarray(self.pick.randint(min(count, 1), count))]

    def arguments(self, m, inputs):
        """The arguments of the loop, given its inputs."""
        rest = iter(inputs)
        return Arguments(
            [{"input": s.rows(m, next(rest)), "taps": s.taps} for s in self.sequences],
            [s.info(s.start if s.known else next(rest)) for s in self.states],
            [next(rest) for _ in self.shared],
            Constants(next(rest), next(rest)),
            next(rest, self.n_steps),
        )

    def rows(self, operands):
        """One row for each tap of each sequence, of an iterator."""
        return [next(operands) for s in self.sequences for _ in s.taps]

    def earlier(self, operands):
        """For each state its values at its taps, of an iterator."""
        return [[next(operands) for _ in state.taps] for state in self.states]

    def turn(self, m, rows, states, shared_values, constants):
        """What one turn returns."""
        earlier = [value for state in states for value in state]
        pool = [*constants, *rows, *earlier, *shared_values]
        terms = rows or pool[:1]
        run_steps(m, self.steps, pool, constants)
        values = [state[0] for state in states] + shared_values
        nexts = [
            next_state(m, state.form, value, pool[-1 - k], taken(terms, state.row))
            for k, (state, value) in enumerate(
                zip([*self.states, *self.shared], values, strict=True)
            )
        ]
        outputs, after = nexts[: len(states)], nexts[len(states) :]
        if outputs and self.reads_states:
            pool.append(like(m, outputs[0], constants.vector) + constants.vector)
        others = pool[len(pool) - self.n_others :]
        stop = m.sum(real(m, outputs[0])) > 0.7 if self.stops else None
        return Turn([*outputs, *others], after, stop)

    # ---- by NumPy ----

    def by_numpy(self, arrays=None):
        """The outputs of all turns, then the values that shared variables get.

        None where there are no turns.
        """
        arrays = self.arrays if arrays is None else arrays
        arguments = self.arguments(self.numpy, arrays)
        return self.run(arguments, arguments, 0)

    def by_numpy_at_last(self, arrays, turns):
        """The same, of other inputs in as many turns as a gradient goes back."""
        m, early = self.numpy, turns - self.truncate
        now, before = self.arguments(m, arrays), self.arguments(m, self.arrays)
        if self.truncate < 0 or early <= 0:
            return self.run(now, now, 0)
        now = now._replace(infos=before.infos, shared=before.shared)
        return self.run(now, before, early)

    def run(self, now, before, early):
        """Run all turns, the first ones with rows and constants of before."""
        passed = count()

        def turn(*operands):
            rest = iter(operands)
            rows, old_rows = self.rows(rest), self.rows(rest)
            is_early = next(passed) < early
            result = self.turn(
                self.numpy,
                old_rows if is_early else rows,
                self.earlier(rest),
                list(rest),
                (before if is_early else now).constants,
            )
            outputs = [np.asarray(x) for x in [*result.outputs, *result.shared]]
            return outputs if result.stop is None else (outputs, result.stop)

        infos = [*now.infos, *[None] * self.n_others, *now.shared]
        sequences = [*now.sequences, *before.sequences]
        traces = by_turns(turn, sequences, infos, (), now.n_steps, self.goes_back)
        split = len(traces) - len(now.shared)
        finals = [trace[-1] for trace in traces[split:]]
        return [*traces[:split], *finals] if traces else None

    def turns_of(self, results):
        return len(results[0]) if results else 0

    # ---- by scan ----

    def variables(self):
        """The inputs, the outputs of ``scan``, and its updates of shared variables."""
        inputs = [
            T.TensorType(str(array.dtype), (False,) * array.ndim)(f"x{i}")
            for i, array in enumerate(self.arrays)
        ]
        first = len(self.sequences) + sum(not state.known for state in self.states)
        for k, state in enumerate(self.shared):
            inputs[first + k] = shared(state.start, f"shared{k}")
        arguments = self.arguments(self.tensor, inputs)

        def turn(*operands):
            rest = iter(operands)
            rows, states = self.rows(rest), self.earlier(rest)
            result = self.turn(
                self.tensor, rows, states, arguments.shared, arguments.constants
            )
            updates = {  # of the variable's type, whatever lengths of 1 are known
                x: T.patternbroadcast(value, x.type.broadcastable)
                for x, value in zip(arguments.shared, result.shared, strict=True)
            }
            stop = [] if result.stop is None else [until(result.stop)]
            return result.outputs, updates, *stop

        outputs, updates = scan(
            turn,
            arguments.sequences,
            [*arguments.infos, *[None] * self.n_others],
            arguments.constants,
            arguments.n_steps,
            self.truncate,
            self.goes_back,
            checkpoint=self.checkpoint,
            return_list=True,
        )
        return inputs, outputs, dict(updates)

    # ---- what is read ----

    def read(self, m, inputs, outputs, turns):
        """What a program reads of the outputs: parts, and what another loop makes.

        That loop reads the first output or what the first loop reads.
        """
        parts = [
            READS[read](m, x) if turns else x
            for x, reads in zip(outputs, self.reads, strict=False)
            for read in reads
        ]
        if not parts:
            parts = [outputs[-1]]
        if self.beside is not None and turns:
            constants = Constants(*map(m.known, self.constants))
            rows = inputs[0] if self.reads_input else outputs[0]
            parts.append(self.beside(m, rows, constants.vector[0], constants))
        return parts
