"""Slices and axes that move are part of how kernels read, and cost no launch."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from run_graph import run_graph

PROGRAMS = {
    "slices": lambda x, y, b: T.exp(x[:, ::2]) + b[::2],
    "transposes": lambda x, y, b: T.tanh(x.T) * y,
    "both": lambda x, y, b: T.tanh(x.T[::-1, 1:]) * y[::-1, 1:],
    "sum of slices": lambda x, y, b: (x[:, ::2] * b[1::2]).sum(axis=0),
    "sum of a transpose": lambda x, y, b: T.exp(x.T).sum(axis=0),
    "rows of slices": lambda x, y, b: T.nnet.softmax(x[:, 1::2]),
    "rows of a transpose": lambda x, y, b: T.nnet.softmax(x.T),
    "a slice of what is computed": lambda x, y, b: (T.exp(x) * b)[1:, ::2].sum(axis=1),
    "a transpose of what is computed": lambda x, y, b: (T.exp(x) * b).T + y,
    "a sum of such": lambda x, y, b: T.exp(x * b).T.sum(axis=0),
    "rows of such": lambda x, y, b: T.nnet.softmax(T.tanh(x * b).T),
    "axes moved twice": lambda x, y, b: T.exp(T.tanh(x).T * y).T + x,
    "of three axes": lambda x, y, b: T.exp(
        (x.dimshuffle("x", 0, 1) * y.dimshuffle(0, 1, "x")).transpose(2, 0, 1)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_are_folded_into_one_launch(name, first_context):
    given = T.dmatrix("x"), T.dmatrix("y"), T.dvector("b")
    found = []
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 6)), rng.normal(size=(6, 4)), rng.normal(size=6)
    for options in ({}, {"rewrites": "none"}):
        with config.use(device=str(first_context.name), **options):
            f = function(given, PROGRAMS[name](*given), on_unused_input="ignore")
        found.append(np.asarray(f(*values)))
        if not options:
            assert f.plan.launches() == 1
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_what_a_product_reads_is_not_moved():
    x, w = T.fmatrix("x"), T.fmatrix("w")
    with config.use(device="null"):
        f = function([x, w], T.dot(T.tanh(x).T, w))
    labels = [step.label for step in f.plan.steps]
    assert labels.count("gemm") == 1 and f.plan.launches() == 2


def test_what_is_read_as_it_was_is_computed_once():
    x, y = T.fmatrix("x"), T.fmatrix("y")
    e = T.exp(x)
    with config.use(device="null"):
        f = function([x, y], [e.T + y, e * 2])
    assert sum("exp" in step.label for step in f.plan.steps) == 1


@pytest.mark.parametrize(
    "step",
    [
        lambda np, x: np.tanh(x)[::-1],
        lambda np, x: (np.tanh(x) + 1)[1:],
        lambda np, x: np.tanh(x)[1:-1] * 2,
    ],
)
def test_indices_between_many_steps_move_once_each(step):
    count, x = 150, T.dvector("x")
    value = given = np.linspace(-1, 1, 2 * count + 5)
    z = x
    for _ in range(count):
        z, value = step(T, z), step(np, value)
    fgraph = FunctionGraph([x], [z])
    log = rewrites.optimize(fgraph)
    assert log.fired["index_before_computing"] <= 3 * count
    np.testing.assert_allclose(run_graph(fgraph, {x: given})[0], value)
