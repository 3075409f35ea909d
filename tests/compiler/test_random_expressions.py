"""A seeded few hundred random expressions; `random_expressions.py` draws any number."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function
from gpuarray.compiler.rewrites import engine
from random_expressions import Batch, Drawn, Judged, found, rewritten

IN_ONE = 16


@pytest.mark.parametrize("first", range(0, 2 * IN_ONE, IN_ONE))
def test_optimized_unoptimized_and_numpy_agree(context, first):
    seeds = list(range(first, first + IN_ONE))
    assert list(found(seeds, context)) == []


@pytest.mark.parametrize("first", range(1000, 1300, 100))
def test_no_rewrite_changes_a_value(first):
    texts = {seed: rewritten(Drawn(seed)) for seed in range(first, first + 100)}
    assert {seed: text for seed, text in texts.items() if text} == {}


def test_what_is_drawn_is_seeded_and_varied():
    one, other = ([str(each) for each in Batch(range(40)).places] for _ in range(2))
    assert [text.partition("Drawn")[0] for text in one] == [
        text.partition("Drawn")[0] for text in other
    ]
    outputs = [output for _, output in Batch(range(200)).places]
    assert len({str(each.owner.op) for each in outputs}) > 60
    assert {each.ndim for each in outputs} >= {0, 1, 2, 3}
    assert len({each.dtype for each in outputs}) > 6


def test_a_wrong_rewrite_is_found(monkeypatch):
    rules = {phase: list(each) for phase, each in engine.RULES.items()}
    monkeypatch.setattr(engine, "RULES", rules)

    @engine.rewrite(phase="simplify", ops=["true_div"])
    def wrong_quotient(node):
        """x / y -> x * y"""
        return T.mul(*node.inputs)

    texts = [rewritten(Drawn(seed)) for seed in range(30)]
    assert any(text.startswith("wrong_quotient") for text in texts)
    assert Judged.check  # the judge of single rewrites is what finds it


def test_a_length_with_an_axis_is_brought_to_the_device(context):
    x = T.dmatrix("x")
    length = x.shape[0].dimshuffle("x")
    with config.use(device=context.name):
        f = function([x], [T.eq(length, 3), length * 2, length.dimshuffle(0, "x")])
    same, twice, matrix = f(np.ones((3, 2)))
    assert (same.tolist(), twice.tolist(), matrix.tolist()) == ([True], [6], [[3]])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_the_shape_of_a_vector_is_a_list_of_one(mode, context):
    v = T.dvector("v")
    with config.use(device=context.name):
        f = function([v], [v.shape * 2, T.stack([v.size]) + 1], mode=mode)
    assert [each.tolist() for each in f(np.ones(5))] == [[10], [6]]


def test_the_logarithm_of_a_sum_of_negative_exponents_comes_to_rest(context):
    x = T.drow("x")
    with config.use(device=context.name):
        f = function([x], T.log(T.exp(-x).sum()))
    np.testing.assert_allclose(f([[1000.0, 1001.0]]), -1000 + np.log1p(np.exp(-1)))
