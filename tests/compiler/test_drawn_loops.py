"""Loops that are drawn, held against NumPy turn by turn, and finite differences."""

import random

import numpy as np
import pytest
from drawn_loops import DrawnLoop
from gpuarray.compiler import config, function, grad, rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import evaluated
from run_graph import run_graph

DRAWS = 150
ON_DEVICES = 12
GRADIENTS = 30


def read(seed, outputs, want):
    """What a program may read of the outputs, and the same of NumPy's."""
    pick = random.Random(seed)
    found = []
    for out, right in zip(outputs, want, strict=True):
        part = pick.choice([slice(None), -1, slice(1, None), slice(None, None, 2), 0])
        found.append((out[part], right[part]))
    pick.shuffle(found)
    return found[: pick.randint(1, len(found))]


def rewritten(inputs, outputs):
    """The outputs of a graph after all rewrites, on the same inputs."""
    graph = FunctionGraph(inputs, outputs)
    rewrites.optimize(graph, keep_requirements=True)
    return graph


@pytest.mark.parametrize("seed", range(DRAWS))
def test_drawn_loops_compute_what_numpy_does(seed):
    drawn = DrawnLoop(seed)
    want = drawn.want()
    inputs, outputs = drawn.build()
    given = dict(zip(inputs, drawn.arrays, strict=True))
    if not want:
        assert all(len(each) == 0 for each in evaluated(outputs, given))
        return
    pairs = read(seed, outputs, want)
    asked = [out for out, _ in pairs]
    graph = rewritten(inputs, asked)
    values = dict(zip(graph.inputs, drawn.arrays, strict=True))
    for found in (evaluated(asked, given), run_graph(graph, values)):
        for got, (_, right) in zip(found, pairs, strict=True):
            assert got.shape == right.shape
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(1000, 1000 + ON_DEVICES))
def test_drawn_loops_run_on_devices(seed, context):
    drawn = DrawnLoop(seed)
    want = drawn.want()
    inputs, outputs = drawn.build()
    with config.use(floatX="float64", device=context.name):
        f = function(inputs, outputs, on_unused_input="ignore")
        found = f(*drawn.arrays)
    for got, right in zip(found, want or found, strict=True):
        assert got.shape == right.shape and len(got) == len(want and want[0])
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(2000, 2000 + GRADIENTS))
def test_gradients_of_drawn_loops(seed):
    drawn = DrawnLoop(seed)
    inputs, outputs = drawn.build()
    want = drawn.want()
    if not want:
        return
    pairs = read(seed, outputs, want)
    cost = sum((k + 1) * (out**2).sum() for k, (out, _) in enumerate(pairs))
    slopes = grad(cost, inputs, disconnected_inputs="ignore")
    graph = rewritten(inputs, [cost, *slopes])
    values = dict(zip(graph.inputs, drawn.arrays, strict=True))
    _, *found = run_graph(graph, values)
    turns = [len(each) for each in want]
    pick = random.Random(seed)
    for place, got in enumerate(found):
        array = drawn.arrays[place]
        assert got.shape == array.shape
        for _ in range(3):
            at = tuple(pick.randrange(n) for n in array.shape)
            ends = []
            for side in (1e-6, -1e-6):
                moved = [each.copy() for each in drawn.arrays]
                moved[place][at] += side
                given = dict(zip(inputs, moved, strict=True))
                value, *again = evaluated([cost, *outputs], given)
                ends.append(float(value))
                if [len(each) for each in again] != turns:
                    return  # the number of turns depends on it: there is a jump
            want_slope = (ends[0] - ends[1]) / 2e-6
            np.testing.assert_allclose(got[at], want_slope, rtol=1e-4, atol=1e-6)
