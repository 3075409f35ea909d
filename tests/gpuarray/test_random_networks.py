"""Some layers of networks that `random_networks.py` draws, of fixed seeds."""

import numpy as np
import pytest
from bounds import Right, difference
from random_networks import Case, compiled_differences, found


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_drawn_layers(context, first):
    assert list(found(range(first, first + 40), context, share=0)) == []


@pytest.mark.oclgrind
def test_a_few_drawn_layers(context):
    assert list(found(range(1, 10), context, share=0)) == []


def test_drawn_layers_in_the_compiled_language(context):
    assert list(compiled_differences(range(8), context)) == []


def test_the_judge_sees_a_wrong_element():
    right = np.array([1.0, np.nan, 2**-20])
    good = right.astype("float16")
    assert difference(good, Right(right, 1e-9), "float16") == ""
    for place, wrong in enumerate([1.001, 0, 0.1]):
        bad = good.copy()
        bad[place] = wrong
        assert f"at ({place},)" in difference(bad, Right(right, 1e-9), "float16")
    assert "shape" in difference(good[:2], Right(right), "float16")
    assert "dtype" in difference(good, Right(right), "float32")


def test_the_judge_sees_a_wrong_layer(null):
    """The null device computes nothing."""
    seeds = [seed for seed in range(40) if Case(seed).layer is not None]
    assert len(list(found(seeds, null, share=0))) >= len(seeds) // 2
