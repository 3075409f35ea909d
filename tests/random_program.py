"""The program around random cases: its options, its processes and its progress.

A program hands in ``differences``, a function of seeds and of a context or None that
gives seed, where and how for each difference; ``functools.partial`` has its options.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import os
import signal
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import partial
from itertools import islice

import gpuarray

PROGRESS = 10.0
"""The seconds from one line of progress to the next."""


def options_parser(description):
    """A parser of the options that all such programs have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--context", help="a device to run on as well")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--batch", type=int, default=8, help="cases in a function")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--short", action="store_true", help="no differences' texts")
    return parser


def halved(cases, differences):
    """The differences of several cases; where they raise, of which case it is."""
    try:
        yield from list(differences(cases))
    except Exception as error:
        if len(cases) == 1:
            yield cases[0], f"{type(error).__name__}: {error}"
            return
        half = len(cases) // 2
        yield from halved(cases[:half], differences)
        yield from halved(cases[half:], differences)


# ---- processes ----


def work(seeds, differences, name):
    """What a process does with a batch; a context is opened once in each."""
    context = name and gpuarray.context(name)
    return seeds, list(differences(seeds, context))


def prepare():
    """Leave Ctrl-C to the first process; what is imported need not be collected."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()


def interrupt(*_):
    """What Ctrl-C does, in the background too; and so do `kill` and `timeout`."""
    raise KeyboardInterrupt


def results(options, differences, batches):
    """The seeds of each batch and what differs, from this process or from several.

    Raises BrokenProcessPool where one of them died.
    """
    task = partial(work, differences=differences, name=options.context)
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
                    pool.submit(task, batch): batch for batch in islice(batches, 1)
                }


# ---- progress ----


class Progress:
    """Counts cases and differences, and prints them."""

    def __init__(self, options):
        self.options = options
        self.start = self.printed = time.monotonic()
        self.done = 0
        self.wrong: Counter[str] = Counter()

    def batches(self):
        """The seeds of each batch, until the time is over."""
        options, end = self.options, self.options.seed + self.options.cases
        for first in range(options.seed, end, options.batch):
            if time.monotonic() >= self.start + options.seconds:
                return
            yield range(first, min(first + options.batch, end))

    def add(self, seeds, differences):
        """Print the differences of a batch, and from time to time how far it is."""
        self.done += len(seeds)
        for seed, where, text in differences:
            self.wrong[where] += 1
            if not self.options.short:
                print(f"seed {seed}, {where}: {text}"[:600], flush=True)
        if differences and not self.options.short:
            print(f"again with --seed {seeds[0]} --cases {len(seeds)}", flush=True)
        if time.monotonic() > self.printed + PROGRESS:
            self.printed = time.monotonic()
            self.tell("so far")

    def tell(self, word):
        options, seconds = self.options, time.monotonic() - self.start
        print(
            f"{options.context or 'host'}, seed {options.seed}: {self.done} of "
            f"{options.cases} {word}, {seconds:.0f} s, "
            f"{1000 * seconds / max(self.done, 1):.0f} ms each: "
            f"{dict(self.wrong) or 'alike'}",
            flush=True,
        )


def run(options, differences):
    """Judge all cases; return the exit code: 1 if something differs."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    progress = Progress(options)
    try:
        for seeds, texts in results(options, differences, progress.batches()):
            progress.add(seeds, texts)
    except KeyboardInterrupt:
        progress.tell("when interrupted")
        return 130
    progress.tell("in all")
    return int(bool(progress.wrong))
