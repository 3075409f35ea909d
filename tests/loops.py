"""Loops for tests of ``scan``: NumPy's, turn by turn, and those of a function."""

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler import scan
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.plan_steps import LoopStep


def numbers(*shape, dtype="float64", seed=0):
    """An array of numbers between -1 and 1, or of integers between -10 and 10."""
    drawn = np.random.default_rng(seed).uniform(-1, 1, shape)
    return (10 * drawn if np.dtype(dtype).kind in "iu" else drawn).astype(dtype)


def spec(given, default):
    """An array and its taps, of an argument of ``scan``."""
    if isinstance(given, dict):
        array = given.get("input", given.get("initial"))
        return array, list(given.get("taps", default))
    return given, default


def by_turns(
    fn,
    sequences=(),
    outputs_info=None,
    non_sequences=(),
    n_steps=None,
    go_backwards=False,
):
    """The outputs of all turns, in rows; ``fn`` returns a list, or that and a truth."""
    pairs = [spec(each, [0]) for each in sequences]
    columns = []
    for array, taps in pairs:
        low, high = min(0, *taps, 0), max(0, *taps, 0)
        count = len(array) - (high - low)
        for tap in taps:
            rows = array[tap - low : tap - low + count]
            columns.append(rows[::-1] if go_backwards else rows)
    turns = min(map(len, columns)) if n_steps is None else n_steps
    infos = outputs_info or ()
    starts = [(None, []) if each is None else spec(each, [-1]) for each in infos]
    past = []
    for initial, taps in starts:
        depth = -min(taps, default=0)
        first = [initial] if taps == [-1] else list(initial[:depth]) if depth else []
        past.append(first)
    made = None
    for turn in range(turns):
        read = [
            states[tap]
            for (_, taps), states in zip(starts, past, strict=True)
            for tap in taps
        ]
        result = fn(*(column[turn] for column in columns), *read, *non_sequences)
        stop = False
        if isinstance(result, tuple):
            result, stop = result
        made = [[] for _ in result] if made is None else made
        for place, value in enumerate(result):
            made[place].append(np.asarray(value))
            if past and past[place]:
                past[place].append(np.asarray(value))
        if stop:
            break
    return [np.stack(each) for each in made or ()]


def loop_nodes(f):
    """The loops in the graph of a compiled function."""
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]


def loop_steps(f):
    """The loops in its plan."""
    return [step for step in f.plan.steps if isinstance(step, LoopStep)]


def loops_in(f):
    """The number of loops in its plan."""
    return len(loop_steps(f))


def recurrent():
    """The inputs and the states of a small network, and arrays for the inputs."""
    x, start, w = T.dmatrix("x"), T.dvector("start"), T.dmatrix("w")
    out, _ = scan(
        lambda row, s, w: T.tanh(row + T.dot(s, w)),
        sequences=x,
        outputs_info=start,
        non_sequences=w,
        name="network",
    )
    arrays = numbers(5, 3), numbers(3, seed=1), numbers(3, 3, seed=2)
    want = by_turns(
        lambda r, s, w: [np.tanh(r + s @ w)], [arrays[0]], [arrays[1]], [arrays[2]]
    )
    return [x, start, w], out, arrays, want[0]
