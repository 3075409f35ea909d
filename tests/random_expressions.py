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

import argparse
import gc
import math
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import partial
from itertools import islice

import gpuarray
import numpy as np
from gpuarray.compiler import Mode, config, function
from random_choices import DrawnChoice, JudgedChoice
from random_drawing import Drawn, quiet
from random_judging import Judged

UNOPTIMIZED = Mode(optimizer=None)
OPTIMIZED = Mode()
PROGRESS = 10.0
"""The seconds from one line of progress to the next."""


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
                yield case.drawn.seed, text


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
    """The differences on a device; where a function fails, of which case it is."""
    try:
        for seed, text in Batch(cases).differences(context, MODES[name]):
            yield seed, name, text
    except Exception as error:
        if len(cases) == 1:
            yield cases[0].drawn.seed, name, f"{type(error).__name__}: {error}"
            return
        half = len(cases) // 2
        yield from found_on(cases[:half], context, name)
        yield from found_on(cases[half:], context, name)


# ---- the program ----


def work(seeds, name, modes, kind):
    """What a process does with a batch; a context is opened once in each."""
    context = name and gpuarray.context(name)
    return len(seeds), list(found(seeds, context, modes, kind))


def prepare():
    """Leave Ctrl-C to the first process; what is imported need not be collected."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()


def interrupt(*_):
    """What Ctrl-C does, in the background too; and so do `kill` and `timeout`."""
    raise KeyboardInterrupt


def results(options, batches):
    """The result of each batch, from this process or from several.

    Raises BrokenProcessPool where one of them died.
    """
    task = partial(work, name=options.context, modes=options.modes, kind=options.kind)
    if options.jobs == 1:
        yield from map(task, batches)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    spawn = multiprocessing.get_context("spawn")  # an open context is not for a fork
    with ProcessPoolExecutor(options.jobs, spawn, prepare) as pool:
        first = islice(batches, options.jobs + 1)
        waiting = {pool.submit(task, batch): batch for batch in first}
        while waiting:
            for ready in wait(waiting, return_when=FIRST_COMPLETED).done:
                if ready.exception():
                    print(f"failed with one of {list(waiting.values())}", flush=True)
                waiting.pop(ready)
                yield ready.result()
                waiting |= {
                    pool.submit(task, each): each for each in islice(batches, 1)
                }


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", help="a device to run on as well")
    parser.add_argument("--kind", choices=KINDS, default="expressions", help="to draw")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--batch", type=int, default=8, help="cases in a function")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--short", action="store_true", help="no differences' texts")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Draw expressions; print what differs."""
    options = parsed(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    start = told = time.monotonic()
    end = options.seed + options.cases
    batches = (
        range(first, min(first + options.batch, end))
        for first in range(options.seed, end, options.batch)
        if time.monotonic() < start + options.seconds
    )
    wrong: Counter[str] = Counter()
    done = 0

    def tell(word):
        seconds = time.monotonic() - start
        print(
            f"{options.context or 'host'}, seed {options.seed}: {done} of "
            f"{options.cases} {word}, {seconds:.0f} s, "
            f"{1000 * seconds / max(done, 1):.0f} ms each: {dict(wrong) or 'alike'}",
            flush=True,
        )

    try:
        for count, differences in results(options, batches):
            done += count
            for seed, where, text in differences:
                wrong[where] += 1
                if not options.short:
                    print(f"seed {seed}, {where}: {text}"[:600], flush=True)
            if time.monotonic() > told + PROGRESS:
                told = time.monotonic()
                tell("so far")
    except KeyboardInterrupt:
        tell("when interrupted")
        return 130
    tell("in all")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
