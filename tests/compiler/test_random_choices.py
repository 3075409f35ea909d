"""Derivatives of some random choices; `random_expressions.py` draws any number."""

import pytest
import random_expressions
from random_choices import DrawnChoice, JudgedChoice


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_the_derivative_of_a_choice_is_that_of_the_chosen_side(first):
    seeds = range(first, first + 100)
    texts = {seed: JudgedChoice(DrawnChoice(seed)).found for seed in seeds}
    assert {seed: text for seed, text in texts.items() if text} == {}


@pytest.mark.parametrize("mode", ["unoptimized", "optimized"])
def test_a_device_computes_the_derivatives_of_choices(context, mode):
    assert list(random_expressions.found(range(6), context, [mode], "choices")) == []


def test_a_derivative_that_is_off_is_found_by_either_rule():
    judged = [JudgedChoice(DrawnChoice(seed)) for seed in range(10)]
    assert not any(each.of_differences() for each in judged)
    for each in judged:
        each.outputs = [output + 1 for output in each.outputs]
    assert all(each.of_sides() for each in judged)
    assert sum(bool(each.of_differences()) for each in judged) > 5


def test_most_choices_take_of_both_sides():
    drawn = [DrawnChoice(seed) for seed in range(60)]
    chosen = [each.values.of(each.condition) != 0 for each in drawn]
    assert sum(0 < each.mean() < 1 for each in chosen) > 20
