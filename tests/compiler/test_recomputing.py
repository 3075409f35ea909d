"""What groups compute again rather than have stored for them."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, rewrites, shared
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from run_graph import run_graph

BATCH, WIDTH = 32, 16


def network(layers, activate):
    """The function of a step of training, its weights, and an input."""
    rng = np.random.default_rng(0)
    x = T.fmatrix("x")
    weights = [
        shared((rng.normal(size=(WIDTH, WIDTH)) / 4).astype("f4"))
        for _ in range(layers)
    ]
    h = x
    for w in weights:
        h = activate(T.dot(h, w))
    cost = T.sqr(h).mean()
    slopes = grad(cost, weights)
    updates = [
        (w, w - np.float32(0.1) * g) for w, g in zip(weights, slopes, strict=True)
    ]
    return function([x], cost, updates=updates), weights


def values(rows=BATCH):
    return np.random.default_rng(1).normal(size=(rows, WIDTH)).astype("f4")


def test_a_deep_network_keeps_one_array_for_each_layer(first_context):
    with config.use(device=str(first_context.name)):
        f, _ = network(12, T.tanh)
    f(values())
    assert f.info()["workspace"] <= (12 + 2) * BATCH * WIDTH * 4


def test_its_launches_are_as_many_as_before_and_write_one_array():
    with config.use(device="null"):
        f, _ = network(4, T.tanh)
    launches = [s for s in f.plan.steps if "tanh" in s.label or "square" in s.label]
    assert len(launches) == 7  # the last tanh and its slope are in one
    assert [len(s.outs) for s in launches].count(1) == 6


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus"])
def test_values_are_those_of_a_run_without_fusion(name, first_context):
    activate = T.tanh if name == "tanh" else getattr(T.nnet, name)
    found = []
    for fuse in (True, False):
        with config.use(device=str(first_context.name), fuse=fuse):
            f, weights = network(3, activate)
        costs = [float(f(values(20 + i))) for i in range(3)]
        found.append([costs, *(w.get_value() for w in weights)])
    for fused, plain in zip(*found, strict=True):
        np.testing.assert_allclose(fused, plain, rtol=1e-5, atol=1e-6)


def test_what_a_second_group_reads_too_stays_stored():
    x, w = T.fmatrix("x"), T.fmatrix("w")
    h = T.tanh(x)
    slope = 1 - h * h
    far = T.dot(T.dot(h, w), w)
    with config.use(device="null"):
        f = function([x, w], [T.dot(far * slope, w) * slope, T.dot(slope, w)])
    first = next(s for s in f.plan.steps if "tanh" in s.label)
    assert len(first.outs) == 2


def test_what_costs_more_than_to_read_it_stays_stored():
    x, w = T.fmatrix("x"), T.fmatrix("w")
    h = T.tanh(x)
    with config.use(device="null"):
        f = function([x, w], T.dot(h, w) * T.exp(h))
    first = next(s for s in f.plan.steps if "tanh" in s.label)
    assert len(first.outs) == 2


@pytest.mark.parametrize("pattern", [(False,), (True,), (True, True), (True, False)])
def test_what_is_computed_again_is_in_the_kernel_that_reads_it(pattern):
    x = TensorType("float64", pattern)("x")
    h = T.tanh(x)
    fgraph = FunctionGraph([x], [(1 - h * h) * T.sort(h, axis=0)])
    rewrites.optimize(fgraph)
    first, sort, last = fgraph.toposort()
    assert [len(each.outputs) for each in (first, sort, last)] == [1, 1, 1]
    value = np.array([0.5, -2.0])[: 1 if pattern[-1] else 2]
    value = value.reshape((1,) * (len(pattern) - 1) + (-1,))
    h = np.tanh(value)
    (found,) = run_graph(fgraph, {x: value})
    np.testing.assert_allclose(found, (1 - h * h) * np.sort(h, axis=0))
