"""The choice of cases that CI runs of tests with every combination of parameters."""

from collections import Counter
from itertools import combinations, product

import covering
import pytest


def chosen(cases):
    left = covering.left_out(cases)
    return [case for i, case in enumerate(cases) if i not in left]


def every(**values):
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]


@pytest.mark.parametrize("sizes", [(13, 4), (2, 29), (10, 15)])
def test_each_of_two_parameters_has_each_value(sizes):
    first, second = map(range, sizes)
    found = chosen(every(first=first, second=second))
    assert len(found) == max(sizes)
    for name, values in (("first", first), ("second", second)):
        counts = Counter(case[name] for case in found)
        assert set(counts) == set(values)
        assert max(counts.values()) - min(counts.values()) <= 1


def test_of_three_parameters_each_pair_of_values_comes():
    cases = every(op="abcdefg", dtype=("f4", "f8", "i4"), layout=("C", "F"))
    found = chosen(cases)
    assert len(found) < len(cases)
    for names in combinations(cases[0], 2):
        pairs = [
            {tuple(case[n] for n in names) for case in some} for some in (found, cases)
        ]
        assert pairs[0] == pairs[1]


@pytest.mark.parametrize(
    "cases",
    [
        [{"a": i, "b": i % 3} for i in range(20)],
        every(a=range(4), b=range(4))[1:],
        every(a=range(30)),
        every(a=range(2), b=range(2)),
        [{}] * 9,
    ],
    ids=["listed", "all but one", "one parameter", "few", "no parameter"],
)
def test_all_run_of_what_is_no_product(cases):
    assert chosen(cases) == cases


def test_values_are_told_apart_by_type_and_what_has_no_hash_by_object():
    values = [True, 1, 1.0, [1], [1]]
    assert covering.axes([{"a": value} for value in values]) == [(0, 1, 2, 3, 4)]
    same = [1]
    assert covering.axes([{"a": same}, {"a": same}]) == []
