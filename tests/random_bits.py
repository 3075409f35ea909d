"""Raw random bits through dieharder, a battery of tests (Debian has a package).

``--generator``: ``philox``, the words of `gpuarray.random`; ``streams``, a word of each
of many streams in turn; ``mrg``, the higher halves of numbers of MRG_RandomStreams.
Each test of ``--tests`` gets words of its own, by a pipe. Without dieharder, ``--pipe``
writes words to the standard output for another program. A test of p below 1e-6 fails;
dieharder's "weak" is p below 0.005, which one in two hundred should be.
python tests/random_bits.py --context opencl0:0 --generator philox
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys

import gpuarray
import numpy as np
from gpuarray.compiler import config, function
from gpuarray.compiler.sandbox.rng_mrg import MRG_RandomStreams
from gpuarray.random import Generator

QUICK = (0, 1, 2, 3, 8, 10, 15, 16, 17, 100, 101, 102, 203, 204, 205, 206, 209)
"""Numbers of dieharder's tests: birthdays to craps, those of the STS, lagged sums, and
distributions of bytes, transforms and fills. The others take far more words."""

AT_ONCE = 1 << 22
FAILED = 1e-6


def philox(context, seed):
    """Words of one stream, one after another."""
    generator = Generator(seed, context)
    while True:
        yield np.asarray(generator.bits(AT_ONCE, "uint32"))


def streams(context, seed):
    """A word of each of 1024 streams, then the next of each."""
    generators = [Generator(seed, context, stream=k) for k in range(1024)]
    while True:
        rows = [np.asarray(one.bits(AT_ONCE // 1024, "uint32")) for one in generators]
        yield np.ascontiguousarray(np.stack(rows, 1)).ravel()


def mrg(context, seed):
    """The higher 16 bits of two numbers make a word."""
    with config.use(device=context.name):
        numbers = MRG_RandomStreams(seed).uniform((2 * AT_ONCE,), dtype="float64")
        draw = function([], numbers)
    while True:
        halves = (np.asarray(draw()) * 65536).astype("uint32")
        yield halves[::2] << np.uint32(16) | halves[1::2]


GENERATORS = {"philox": philox, "streams": streams, "mrg": mrg}


def written(words, pipe):
    """Write words until the reader has enough."""
    try:
        for part in words:
            pipe.write(memoryview(part).cast("B"))
    except BrokenPipeError:
        pass


def lines_of(number, words):
    """The results of one of dieharder's tests: its name, and p."""
    command = ["dieharder", "-d", str(number), "-g", "200", "-D", "test_name"]
    command += ["-D", "ntuple", "-D", "pvalues"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        written(words, process.stdin)
        text = process.stdout.read().decode()
    for line in text.splitlines():
        if match := re.match(r"\s*(\w+)\|\s*(\d+)\|\s*([\d.]+)", line):
            yield f"{match[1]} {match[2]}", float(match[3])


def main(arguments=None):
    """Run the tests; print their probabilities."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--context", default="opencl0:0")
    parser.add_argument("--generator", choices=sorted(GENERATORS), default="philox")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=int, nargs="*", default=QUICK)
    parser.add_argument("--pipe", action="store_true")
    options = parser.parse_args(arguments)
    context = gpuarray.context(options.context)
    words = GENERATORS[options.generator](context, options.seed)
    if options.pipe:
        written(words, sys.stdout.buffer)
        return 0
    if shutil.which("dieharder") is None:
        parser.error("dieharder is not installed; --pipe writes words for others")
    failed = 0
    for number in options.tests:
        for name, p in lines_of(number, words):
            is_wrong = not FAILED < p < 1 - FAILED
            failed += is_wrong
            print(f"{options.generator} {name}: p = {p:.6f}", end="")
            print(" FAILED" if is_wrong else "", flush=True)
    print(f"{options.generator}: {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
