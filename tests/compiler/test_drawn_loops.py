"""Some drawn loops; `random_loops.py` draws any number."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
import random_loops
from drawn_loops import DrawnLoop
from gpuarray.compiler.derivatives.loops import ReverseLoop
from gpuarray.compiler.graph.traverse import evaluated
from gpuarray.compiler.rewrites.loops import accumulating

DRAWS = 60
WITH_GRADIENTS = 180
ON_DEVICES = 8


@pytest.mark.parametrize("first", range(0, DRAWS, 10))
def test_drawn_loops_compute_what_numpy_does(first):
    assert list(random_loops.found(range(first, first + 10))) == []


@pytest.mark.parametrize("first", range(2000, 2000 + WITH_GRADIENTS, 60))
def test_gradients_of_drawn_loops(first):
    assert list(random_loops.found(range(first, first + 60, 10))) == []


@pytest.mark.parametrize("first", range(1022, 1022 + ON_DEVICES, 4))
def test_drawn_loops_run_on_devices(first, context):
    assert list(random_loops.found(range(first, first + 4), context)) == []


def test_what_is_drawn_is_seeded_and_varied():
    drawn = [DrawnLoop(seed) for seed in range(100)]
    for loop in drawn[:8]:
        again = DrawnLoop(loop.seed)
        assert [x.tolist() for x in loop.arrays] == [x.tolist() for x in again.arrays]
    results = [loop.by_numpy() for loop in drawn]
    assert {loop.turns_of(r) for loop, r in zip(drawn, results, strict=True)} > {0, 1}
    outputs = [x for result in results for x in result or ()]
    assert len({x.dtype for x in outputs}) > 6
    assert {x.ndim for x in outputs} == {0, 1, 2, 3}


def test_a_sum_in_another_order_is_no_difference():
    """Its sine of 10,974 +- 0.001 differs in the fourth digit."""
    assert list(random_loops.found([40010816])) == []


def test_a_product_too_small_for_half_precision_may_be_more_than_zero():
    """Kernels compare it in float32: a count may go on where NumPy's stops."""
    x = T.vector("x", dtype="float16")
    moved = random_loops.moved_variable(np.random.default_rng(0), x * x)
    (value,) = evaluated([moved], {x: np.array([0, 1e-5, 1, 6e4], "float16")})
    assert value[0] == 0 < value[1] and value[2] == 1 and np.isfinite(value[3])


def test_equal_nodes_that_know_other_lengths_are_not_merged():
    assert list(random_loops.found([70017450])) == []


def test_a_wrong_rewrite_is_found(monkeypatch):
    monkeypatch.setitem(accumulating.TOTALS, "add", accumulating.TOTALS["mul"])
    found = {seed: where for seed, where, _ in random_loops.found(range(164, 168))}
    assert found == {165: "rewritten"}


def test_a_wrong_gradient_is_found(monkeypatch):
    monkeypatch.setattr(ReverseLoop, "_of_start", lambda self, result: result)
    (seed, where, text), *_ = random_loops.found([660])
    assert (seed, where) == (660, "differences") and "gradient by input 2" in text


def test_the_program_tells_what_differs(monkeypatch, capsys):
    assert random_loops.main(["--cases", "3", "--batch", "2"]) == 0
    assert "3 of 3 in all" in capsys.readouterr().out
    monkeypatch.setattr(random_loops.Right, "difference", lambda *_: "wrong")
    assert random_loops.main(["--cases", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "seed 0, as drawn: wrong" and "'rewritten': 2" in lines[-1]
