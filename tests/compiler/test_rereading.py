"""Cheap values that readers compute again, and those that are stored."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function
from gpuarray.compiler.plan import LaunchStep

X, Y, V = T.ftensor3("X"), T.ftensor3("Y"), T.fvector("v")
D = T.dtensor3("D")
ROW = V.dimshuffle("x", 0, "x")
AXES = (0, 2)


def less_sums(y):
    """What reads an array twice: sums over axes, and the array less those."""
    return y - y.sum(axis=AXES, keepdims=True)


READ_AGAIN = {
    "an expression of one array": ([X], less_sums(X * 2 + 1)),
    "of one and a number for each channel": ([X, V], less_sums(X - ROW)),
    "of two arrays that readers read": (
        [X, Y],
        [(X * Y * each).sum(AXES) for each in (X, Y)],
    ),
    "for two sums": ([X, V], (T.sqr(X - ROW).sum(AXES) + (X - ROW).sum(AXES))),
    "several in turn": ([X], less_sums(less_sums(X + 1) * 2)),
}
STORED = {
    "an expression with a call": ([X], less_sums(T.exp(X))),
    "of wider numbers": ([D], less_sums(T.cast(D + 1, "float32"))),
    "of a transpose": ([X], less_sums(X.dimshuffle(2, 1, 0) + 1)),
    "of more arrays": ([X, Y], less_sums(X + Y)),
}


def stored(inputs, results):
    """The whole arrays that kernels write, and are not results."""
    with config.use(device="null"):
        plan = function(inputs, results).plan
    written = [
        out
        for step in plan.steps
        if isinstance(step, LaunchStep)
        for out in step.outs
        if out not in plan.outputs
    ]
    return sum(not any(plan.array(out).broadcastable) for out in written)


@pytest.mark.parametrize("name", READ_AGAIN)
def test_readers_compute_it_again(name):
    assert stored(*READ_AGAIN[name]) == 0


@pytest.mark.parametrize("name", STORED)
def test_it_is_stored(name):
    assert stored(*STORED[name]) == 1


def test_readers_read_a_result():
    with config.use(device="null"):
        plan = function([X], [less_sums(X + 1), X + 1]).plan
    launches = [step for step in plan.steps if isinstance(step, LaunchStep)]
    assert [0 in step.ins for step in launches] == [True, False]


@pytest.mark.parametrize("name", [*READ_AGAIN, *STORED])
def test_values_are_those_of_a_run_without_fusion(name, first_context):
    inputs, results = (READ_AGAIN | STORED)[name]
    rng = np.random.default_rng(3)
    arrays = [
        rng.normal(size=(4, 3, 5)[: v.type.ndim] if v.type.ndim == 3 else 3).astype(
            v.type.dtype
        )
        for v in inputs
    ]
    found = []
    for fuse in (True, False):
        with config.use(device=str(first_context.name), fuse=fuse):
            got = function(inputs, results)(*arrays)
        found.append(got if isinstance(got, list) else [got])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
