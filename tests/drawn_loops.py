"""Loops that are drawn: the same body for ``scan`` and for NumPy, turn by turn."""

import random
from types import SimpleNamespace

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler import scan, scan_module
from loops import by_turns

SIZE = 3
TAPS = [[-1], [-1], [-2, -1], [-3], [-1, -2]]


def summed(v):
    """A loop within a turn: numbers of a vector, each with half of those before."""
    total, _ = scan(lambda a, s: s * 0.5 + a, v, T.constant(0.25, dtype="float64"))
    return total[-1]


def summed_by_numpy(v):
    total = 0.25
    for a in v:
        total = total * 0.5 + a
    return total


SYMBOLS = SimpleNamespace(
    sin=T.sin, maximum=T.maximum, dot=T.dot, sum=T.sum, summed=summed, tanh=T.tanh
)
NUMBERS = SimpleNamespace(
    sin=np.sin,
    maximum=np.maximum,
    dot=np.dot,
    sum=np.sum,
    summed=summed_by_numpy,
    tanh=np.tanh,
)


class DrawnLoop:
    """One loop: its arrays, its body as steps, and what a program reads of it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        pick = self.random
        self.sequences = [self.sequence() for _ in range(pick.randint(0, 2))]
        count = pick.randint(0 if self.sequences else 1, 2)
        self.states = [
            (pick.choice([(SIZE,), ()]), pick.choice(TAPS)) for _ in range(count)
        ]
        self.n_others = pick.randint(0 if count else 1, 2)
        self.goes_back = pick.random() < 0.3
        spans = [
            len(array) - (max(0, *taps, 0) - min(0, *taps, 0))
            for array, taps in self.sequences
        ]
        most = min(spans, default=5)
        self.n_steps = None
        if not spans or pick.random() < 0.3:
            self.n_steps = pick.randint(0 if pick.random() < 0.2 else 1, most)
        self.stops = count > 0 and pick.random() < 0.2 and self.n_steps != 0
        self.reads_states = pick.random() < 0.5
        self.weights = self.numbers(SIZE, SIZE)
        self.constant = self.numbers(SIZE)
        self.starts = [
            self.numbers(*(() if taps == [-1] else (-min(taps),)), *shape)
            for shape, taps in self.states
        ]
        self.steps = [self.step() for _ in range(pick.randint(3, 7))]

    def numbers(self, *shape):
        return np.asarray(self.rng.uniform(-1, 1, shape))

    def sequence(self):
        taps = self.random.sample(range(-2, 3), self.random.randint(1, 2))
        shape = (SIZE,) if self.random.random() < 0.7 else ()
        return self.numbers(self.random.randint(5, 8), *shape), taps

    def step(self):
        kinds = ["add", "sub", "mul", "sin", "maximum", "dot", "sum", "summed"]
        kinds += ["complement", "where", "reverse", "first"]
        return self.random.choice(kinds), *(self.random.random() for _ in range(2))

    def body(self, m, *given):
        """The outputs of a turn, of variables or of arrays."""
        *given, constant, weights = given
        pool = [constant, *given]
        for kind, a, b in self.steps:
            x, y = (pool[int(share * len(pool))] for share in (a, b))
            if kind in ("dot", "summed") and x.ndim == 0:
                x = x + constant
            pool.append(
                {
                    "add": lambda x, y: x + y,
                    "sub": lambda x, y: x - y,
                    "mul": lambda x, y: x * y,
                    "sin": lambda x, y: m.sin(x),
                    "maximum": m.maximum,
                    "dot": lambda x, y: m.tanh(m.dot(x, weights)),
                    "sum": lambda x, y: m.sum(x),
                    "summed": lambda x, y: m.summed(x),
                    "complement": lambda x, y: 1 - x,
                    "where": lambda x, y: (x > y) * y,
                    "reverse": lambda x, y: x[::-1] if x.ndim else x,
                    "first": lambda x, y: x[0] + y if x.ndim else x + y,
                }[kind](x, y)
            )
        made = [
            m.sin(pool[-1 - k] + constant)
            if shape
            else m.sin(m.sum(pool[-1 - k] + constant))
            for k, (shape, _) in enumerate(self.states)
        ]
        if made and self.reads_states:
            pool.append(m.dot(made[0] + constant, weights))
        return [*made, *pool[-self.n_others or len(pool) :]]

    def condition(self, made):
        return made[0].sum() > 0.4 * (SIZE if self.states[0][0] else 1)

    def want(self):
        """The outputs of all turns by NumPy; None where there are no turns."""

        def turn(*given):
            made = [np.asarray(each) for each in self.body(NUMBERS, *given)]
            return (made, self.condition(made)) if self.stops else made

        infos = [
            start if taps == [-1] else {"initial": start, "taps": taps}
            for start, (_, taps) in zip(self.starts, self.states, strict=True)
        ]
        return by_turns(
            turn,
            [{"input": array, "taps": taps} for array, taps in self.sequences],
            [*infos, *[None] * self.n_others],
            [self.constant, self.weights],
            self.n_steps,
            self.goes_back,
        )

    @property
    def arrays(self):
        sequences = [array for array, _ in self.sequences]
        return [*sequences, *self.starts, self.constant, self.weights]

    def build(self):
        """The inputs, and the outputs of ``scan``."""
        inputs = [
            T.TensorType("float64", (False,) * array.ndim)(f"x{i}")
            for i, array in enumerate(self.arrays)
        ]
        split = len(self.sequences)
        starts = inputs[split:-2]

        def turn(*given):
            made = self.body(SYMBOLS, *given)
            stop = scan_module.until(self.condition(made)) if self.stops else None
            return made if stop is None else (made, stop)

        infos = [
            start if taps == [-1] else {"initial": start, "taps": taps}
            for start, (_, taps) in zip(starts, self.states, strict=True)
        ]
        outputs, _ = scan(
            turn,
            [
                {"input": x, "taps": taps}
                for x, (_, taps) in zip(inputs, self.sequences, strict=False)
            ],
            [*infos, *[None] * self.n_others],
            inputs[-2:],
            self.n_steps,
            go_backwards=self.goes_back,
            return_list=True,
        )
        return inputs, outputs
