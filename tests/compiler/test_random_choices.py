"""Derivatives of some random choices; `random_expressions.py` draws any number."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
import random_choices
import random_expressions
from random_choices import DrawnChoice, JudgedChoice
from random_drawing import Values, quiet
from random_edges import has_edge
from random_rounding import Uncertain


@pytest.mark.parametrize("first", range(0, 100, 50))
def test_the_derivative_of_a_choice_is_that_of_the_chosen_side(first):
    seeds = range(first, first + 50)
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


def test_nearly_every_derivative_that_is_off_by_a_thousandth_is_found(monkeypatch):
    def off(cost, variables):
        return [each * 1.001 for each in gradients(cost, variables)]

    gradients = random_choices.gradients
    monkeypatch.setattr(random_choices, "gradients", off)
    judged = [JudgedChoice(DrawnChoice(seed)) for seed in range(40)]
    found = [each.drawn.seed for each in judged if each.found]
    monkeypatch.setattr(JudgedChoice, "is_open", lambda *arguments: False)
    wrong = [each.drawn.seed for each in judged if each.of_differences()]
    assert len(wrong) > 20 and len(found) > 0.95 * len(wrong)


# ---- edges ----

x = T.dvector("x")
TINY, SUBNORMAL = 1e-30, np.finfo(float).smallest_subnormal
EDGES = {
    "a jump": (T.floor(x), 2.0),
    "a kink": (abs(x), 0.0),
    "a tie at one point": (T.maximum(T.floor(x), x), 37.0),
    "an exception": (T.switch(T.eq(x, 0), T.exp(x), x), 0.0),
    "an interval of no length": (T.clip(x, 0, 0), 0.0),
    "the jumps of a remainder": (T.mod(x, TINY), 0.3),
    "the jumps of C's remainder": (T.fmod(x, TINY), 0.3),
    "jumps that are too many to count": (T.fmod(x, SUBNORMAL), 0.3),
    "the jumps of a part": (T.fractional_part(x * 1e8), 0.3),
    "jumps of a part too many to count": (T.fractional_part(x * 1e18), 0.3),
}
SMOOTH = {
    "rounded, but not here": (T.floor(x) + x, 2.5),
    "a kink elsewhere": (abs(x) + T.maximum(x, 2) + T.clip(x, -1, 1), 0.3),
    "a remainder elsewhere": (T.mod(x, 0.25), 0.3),
    "a part elsewhere": (T.fractional_part(x), 0.3),
    "no number": (T.log(x), -1.0),
    "a rounded infinity beside it": (T.floor(x) * x, 2.5),
}


def edge(output, value):
    points = [[value + step, np.inf, np.nan] for step in (0, 1e-4, -1e-4)]
    with quiet():
        return has_edge(output, [{x: np.array(point)} for point in points])


@pytest.mark.parametrize("name", EDGES)
def test_an_edge_within_the_steps_is_known(name):
    assert edge(*EDGES[name])


@pytest.mark.parametrize("name", SMOOTH)
def test_where_an_expression_is_smooth_no_edge_is_seen(name):
    assert not edge(*SMOOTH[name])


@pytest.mark.parametrize(("divisor", "is_judged"), [(1e-15, False), (1.0, True)])
def test_a_derivative_that_changes_with_the_last_digit_is_not_judged(
    divisor, is_judged
):
    case = JudgedChoice(DrawnChoice(0))
    drawn, (_, y, *_, s) = case.drawn, case.drawn.variables
    drawn.variables, drawn.cost = [s], T.j0(s / y).sum()
    drawn.outputs = random_choices.gradients(drawn.cost, [s])
    given = {s: np.array([[2.27]]), y: np.full(random_choices.SHAPE, divisor)}
    drawn.values = Values({each: given.get(each, 0) for each in drawn.inputs})
    case.as_drawn = Uncertain(drawn.values.known)
    case.outputs = [drawn.values.of(drawn.outputs[0]) * 1.01]
    assert bool(case.of_differences()) == is_judged
