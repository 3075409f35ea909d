"""Random expressions over the whole table: optimized, unoptimized and with NumPy.

As a program it draws many. Without a context the host alone judges them, each rewrite
and the graph that is left, at some 15 ms each; with one they are run as well, several
to a function, and nearly all of the time is the device's compiler's: a --batch of 50
gives it fewer kernels, and CL_CONFIG_CPU_VECTORIZER_MODE=1 halves Intel's. It tells
every few seconds how far it is; Ctrl-C ends it with its result.
python tests/random_expressions.py --cases 100000 --jobs 2
python tests/random_expressions.py --context cuda0 --cases 10000 --seed 1 --jobs 8
python tests/random_expressions.py --kind choices --cases 100000
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
from gpuarray.compiler import Mode, config, function
from random_choices import DrawnChoice, JudgedChoice
from random_drawing import Drawn, quiet
from random_judging import Judged
from random_program import halved, options_parser, run

UNOPTIMIZED = Mode(optimizer=None)
OPTIMIZED = Mode()


class Batch:
    """Several expressions, each judged on the host, compiled into one function."""

    def __init__(self, cases):
        drawn = [case.drawn for case in cases]
        self.inputs = [variable for each in drawn for variable in each.inputs]
        self.arguments = [each.values.of(v) for each in drawn for v in each.inputs]
        self.places = [
            (case, index) for case in cases for index in range(len(case.drawn.outputs))
        ]

    def differences(self, context, mode):
        """What differs from what it should be: the case and how."""
        outputs = [case.drawn.outputs[index] for case, index in self.places]
        with config.use(device=context.name):
            f = function(self.inputs, outputs, mode=mode, on_unused_input="ignore")
        with quiet():
            results = f(*self.arguments)
            texts = [
                case.difference(index, np.asarray(got), mode is OPTIMIZED)
                for (case, index), got in zip(self.places, results, strict=True)
            ]
        for (case, _), text in zip(self.places, texts, strict=True):
            if text:
                yield case, text


MODES = {"unoptimized": UNOPTIMIZED, "optimized": OPTIMIZED}
KINDS = {"expressions": (Drawn, Judged), "choices": (DrawnChoice, JudgedChoice)}


def found(
    seeds, context=None, modes=tuple(MODES), kind="expressions"
) -> Iterator[tuple[int, str, str]]:
    """The differences of a batch: seed, where, and how."""
    drawn, judged = KINDS[kind]
    cases = []
    for seed in seeds:
        try:
            cases.append(judged(drawn(seed)))
        except Exception as error:
            yield seed, "raised", f"{type(error).__name__}: {error}"
            continue
        if cases[-1].found:
            yield seed, "rewritten", cases[-1].found
    if context is not None and cases:
        for name in modes:
            yield from found_on(cases, context, name)


def found_on(cases, context, name):
    """The differences on a device."""

    def differences(some):
        return Batch(some).differences(context, MODES[name])

    for case, text in halved(cases, differences):
        yield case.drawn.seed, name, text


def main(arguments=None):
    """Draw expressions; print what differs."""
    parser = options_parser(__doc__)
    parser.add_argument("--kind", choices=KINDS, default="expressions", help="to draw")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    options = parser.parse_args(arguments)
    return run(options, partial(found, modes=options.modes, kind=options.kind))


if __name__ == "__main__":
    sys.exit(main())
