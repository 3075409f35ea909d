"""A seeded few hundred random expressions; `random_expressions.py` draws any number."""

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler.rewrites import engine
from random_expressions import Batch, Drawn, Judged, found, rewritten

IN_ONE = 20


@pytest.mark.parametrize("first", range(0, 200, IN_ONE))
def test_optimized_unoptimized_and_numpy_agree(context, first):
    seeds = list(range(first, first + IN_ONE))
    assert list(found(seeds, context)) == []


@pytest.mark.parametrize("first", range(1000, 1300, 100))
def test_no_rewrite_changes_a_value(first):
    texts = {seed: rewritten(Drawn(seed)) for seed in range(first, first + 100)}
    assert {seed: text for seed, text in texts.items() if text} == {}


def test_what_is_drawn_is_seeded_and_varied():
    one, other = (
        [str(each) for each in Batch(range(40)).places] for _ in range(2)
    )
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
