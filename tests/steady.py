"""Calls of compiled functions, a great many: flat memory, flat time, the same bits.

``python tests/steady.py --calls 1000000 --context cuda0``

Each program is called again and again with the same values. Every result must have the
bits of the first one, for training steps after the same steps from the same start. When
the calls are done the process and the device hold what they held after the first few,
and the fastest calls at the end are as fast as those at the start.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
from stress import resident

ROUND = 50  # calls from a start; what they compute is compared at their end
GROWTH = 4 << 20  # bytes that a process may grow by
SETTLING = 2.0  # seconds in which CUDA's compiler does what first calls leave to it
SLOWER = 1.5  # the fastest rounds at the end against those at the start


@dataclass
class Program:
    """A function to call: ``start`` sets what it changes, ``call`` gives its results.

    ``call`` gets the number of the call in its round; ``state`` reads what the calls
    have changed.
    """

    name: str
    start: Callable[[], None]
    call: Callable[[int], list[Any]]
    state: Callable[[], list[Any]]


def elementwise(context: Any) -> Program:
    """One fused expression whose result stays on the device."""
    x = T.fmatrix("x")
    f = theano.function([x], T.exp(x) * 2 + x, on_device=True)
    given = gpuarray.asarray(np.linspace(-1, 1, 600, dtype="f4").reshape(20, 30))
    return Program("elementwise", lambda: None, lambda i: [f(given)], list)


def hosts(context: Any) -> Program:
    """NumPy's arrays and numbers in, NumPy's arrays out."""
    x, rate = T.fvector("x"), T.fscalar("rate")
    f = theano.function([x, rate], [x * rate, (x * x).sum()])
    given = np.linspace(0, 1, 100, dtype="f4")
    return Program("hosts", lambda: None, lambda i: f(given, i / 64), list)


def minibatches(context: Any) -> Program:
    """Logistic regression by parts of shared data."""
    rng = np.random.default_rng(1)
    data = theano.shared(rng.standard_normal((ROUND * 8, 12)).astype("f4"))
    truth = theano.shared((rng.random(ROUND * 8) > 0.5).astype("f4"))
    w = theano.shared(np.zeros(12, "f4"))
    i = T.lscalar("i")
    part = data[i * 8 : (i + 1) * 8]
    y = truth[i * 8 : (i + 1) * 8]
    p = 1 / (1 + T.exp(-T.dot(part, w)))
    cost = (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean()
    updates = [(w, w - np.float32(0.1) * T.grad(cost, w))]
    f = theano.function([i], cost, updates=updates, on_device=True)
    return Program(
        "minibatches",
        lambda: w.set_value(np.zeros(12, "f4")),
        lambda i: [f(i)],
        lambda: [w.get_value()],
    )


PROGRAMS = (elementwise, hosts, minibatches)


def bits(results: list[Any]) -> list[bytes]:
    """The bytes of arrays, which it waits for."""
    return [np.asarray(each).tobytes() for each in results]


def one_round(program: Program) -> tuple[list[bytes], float]:
    """The bits of what a round of calls computes, and the seconds of a call."""
    program.start()
    program.call(0)
    program.start()
    begin = time.perf_counter()
    results = [program.call(i) for i in range(ROUND)]
    seconds = (time.perf_counter() - begin) / ROUND
    return [each for one in results for each in bits(one)] + bits(program.state()), (
        seconds
    )


def check(program: Program, context: Any, calls: int, timed: bool) -> list[str]:
    """What is wrong with so many calls of a program, a line each."""
    problems: list[str] = []
    rounds = max(calls // ROUND, 20)
    first, _ = one_round(program)
    for _ in range(5):  # which settle where memory lies, and record graphs on that
        one_round(program)
    if context.kind == "cuda":
        time.sleep(SETTLING)
    context.sync()
    live, process = context.memory_info().live, resident()
    seconds = []
    for number in range(rounds):
        found, spent = one_round(program)
        seconds.append(spent)
        if found != first:
            problems.append(f"{program.name}: round {number} gives other bits")
            break
    context.sync()
    grown = resident() - process
    if context.memory_info().live != live:
        now = context.memory_info().live
        problems.append(f"{program.name}: {live} bytes were alive, now {now}")
    if grown > GROWTH:
        problems.append(f"{program.name}: the process grew by {grown >> 10} KiB")
    tenth = max(len(seconds) // 10, 1)
    before, after = min(seconds[:tenth]), min(seconds[-tenth:])
    if timed and after > SLOWER * before:
        problems.append(
            f"{program.name}: a call took {before * 1e6:.1f} us, then "
            f"{after * 1e6:.1f} us"
        )
    print(
        f"{program.name} on {context.name}: {len(seconds) * ROUND} calls, "
        f"{before * 1e6:.1f} us at first, {after * 1e6:.1f} us at the end, process "
        f"+{grown >> 10} KiB",
        flush=True,
    )
    return problems


def run(name: str, calls: int, timed: bool = True) -> list[str]:
    """What is wrong with so many calls of each program on a context."""
    context = gpuarray.context(name)
    if context.kind == "null":
        context.runs_dry = True
    with theano.config.use(device=name, floatX="float32"), context:
        programs = [make(context) for make in PROGRAMS]
        return [
            line
            for program in programs
            for line in check(program, context, calls, timed)
        ]


def main() -> int:
    """The command line; 1 if anything is wrong."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--context", action="append", default=[])
    parser.add_argument("--calls", type=int, default=10_000, help="of each program")
    options = parser.parse_args()
    problems = [
        line
        for name in options.context or ["opencl"]
        for line in run(name, options.calls)
    ]
    print("\n".join(problems[:10]), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
