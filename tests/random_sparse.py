"""Random expressions of sparse matrices: values and gradients, twice, by NumPy.

As a program it draws many: chains of operations on matrices in either format, in order
or not, with stored zeros, repeated places, empty rows and no rows; arguments, shared
variables, constants and matrices of arrays. It tells every few seconds how far it is;
Ctrl-C ends it with its result.
python tests/random_sparse.py --context opencl0:0 --cases 2000
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from drawn_sparse import drawn
from gpuarray.compiler import config, function, grad
from random_drawing import quiet
from random_program import options_parser, run
from simulated import context_of

STEP = 1e-30
"""An imaginary step: the slope has no rounding of a difference."""
MOVE = 1e-5
"""The step of the second derivatives, differences of slopes."""
LARGE = 1e8
"""What grows beyond that is not judged."""


class Judge:
    """A program's value and derivatives by NumPy, of all leaves' numbers in a row."""

    def __init__(self, program):
        self.program = program
        self.start = np.concatenate([leaf.numbers for leaf in program.leaves] or [[]])
        self.sizes = [leaf.numbers.size for leaf in program.leaves]
        self.ends = np.cumsum(self.sizes, dtype=int)

    def parts(self, row):
        return [
            row[end - n : end] for end, n in zip(self.ends, self.sizes, strict=True)
        ]

    def value(self, row):
        return self.program.run(self.parts(row))

    def slope(self, row, direction):
        """The derivative along a direction."""
        return np.imag(self.value(row + 1j * STEP * direction)) / STEP

    def gradient(self):
        units = np.eye(self.start.size)
        return np.array([self.slope(self.start, unit) for unit in units])

    def gradient_of_slope(self, direction):
        """The derivatives of the slope along a direction."""
        moves = MOVE * np.eye(self.start.size)
        ends = [
            [self.slope(self.start + sign * move, direction) for move in moves]
            for sign in (1, -1)
        ]
        return np.subtract(*ends) / (2 * MOVE)


def differences(seed, context):
    """Where and how the results of a device differ from what is right."""
    program, cost = drawn(seed)
    judge = Judge(program)
    wanted = np.real(judge.value(judge.start.astype("complex128")))
    first = judge.gradient()
    if not np.isfinite(first).all() or np.abs(first).max(initial=0) > LARGE:
        return
    rng = np.random.default_rng(seed)
    weights = [leaf.weights(rng) for leaf in program.leaves]
    direction = np.concatenate([numbers for _, numbers in weights] or [[]])
    symbols = [leaf.symbol for leaf in program.leaves]
    options = {"disconnected_inputs": "ignore"}
    slopes = grad(cost.symbol, symbols, **options) if symbols else []
    results = [cost.symbol, *slopes]
    if slopes and program.is_smooth:
        along = sum((g * w).sum() for g, (w, _) in zip(slopes, weights, strict=True))
        results += grad(along, symbols, **options)
    inputs = [leaf for leaf in program.leaves if leaf.is_argument]
    with config.use(device=context.name):
        f = function(
            [leaf.symbol for leaf in inputs], results, on_unused_input="ignore"
        )
    value, *rest = f(*(leaf.value for leaf in inputs))
    yield from judged("value", [wanted], [value], 1e-10)
    count = len(slopes)
    found = [leaf.of(g) for leaf, g in zip(program.leaves, rest[:count], strict=True)]
    yield from judged("gradient", judge.parts(first), found, 1e-9)
    if rest[count:]:
        second = judge.parts(judge.gradient_of_slope(direction))
        pairs = zip(program.leaves, rest[count:], strict=True)
        yield from judged("second", second, [leaf.of(g) for leaf, g in pairs], 1e-5)


def judged(where, wanted, found, tolerance):
    """What differs by more than a share of the largest."""
    largest = max((np.abs(each).max(initial=0) for each in wanted), default=0)
    for number, (right, got) in enumerate(zip(wanted, found, strict=True)):
        error = np.abs(np.asarray(got) - right).max(initial=0)
        if not error <= tolerance * max(largest, 1):
            yield where, f"{where} {number}: {got}, expected {right}"


def found(seeds, context=None):
    """The differences of a batch: seed, where, and how."""
    with quiet(), config.use(floatX="float64"):
        for seed in seeds:
            try:
                texts = list(differences(seed, context))
            except Exception as error:
                texts = [("raised", f"{type(error).__name__}: {error}")]
            if texts:
                log = "; ".join(drawn(seed)[0].log)
                yield from ((seed, where, f"{text} of {log}") for where, text in texts)


def main(arguments=None):
    """Draw expressions; print what differs."""
    parser = options_parser(__doc__)
    parser.set_defaults(batch=20, cases=2000, context="opencl0:0")
    options = parser.parse_args(arguments)
    with context_of(options.context) as name:
        options.context = name
        return run(options, partial(found))


if __name__ == "__main__":
    sys.exit(main())
