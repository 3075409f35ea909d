"""A choice of the cases of a test whose parameters come in every combination.

Of two parameters each value comes at least once, of more each pair of values. Values
come about equally often, and the choice is the same in every run.
"""

import math
from collections import Counter
from itertools import combinations

FEW = 4
"""So many cases are all run."""


def left_out(cases):
    """Which places of a list of cases, dictionaries of parameters, need not run."""
    columns = axes(cases)
    if len(cases) <= FEW or not is_product(columns):
        return set()
    together = 1 if len(columns) == 2 else 2
    meets = [
        [tuple((axis, columns[axis][i]) for axis in some) for some in pairs]
        for pairs in [list(combinations(range(len(columns)), together))]
        for i in range(len(cases))
    ]
    missing = {each for of_case in meets for each in of_case}
    used, left = Counter(), set(range(len(cases)))
    while missing:

        def gain(i):
            values = enumerate(column[i] for column in columns)
            return len(missing.intersection(meets[i])), -sum(used[v] for v in values)

        best = max(sorted(left), key=gain)
        left.remove(best)
        missing.difference_update(meets[best])
        used.update(enumerate(column[best] for column in columns))
    return left


def axes(cases):
    """The parameters that vary, each as the number of its value in each case.

    What varies together is one.
    """
    columns = {}
    for name in cases[0]:
        numbers = {}
        column = [
            numbers.setdefault(_value(case.get(name)), len(numbers)) for case in cases
        ]
        if len(numbers) > 1:
            columns[tuple(column)] = None
    return list(columns)


def is_product(columns):
    """Whether every combination of the values is a case, and no other."""
    sizes = [max(column) + 1 for column in columns]
    every = set(zip(*columns, strict=True))
    return len(sizes) > 1 and len(every) == len(columns[0]) == math.prod(sizes)


def _value(value):
    """What tells a value of a parameter from another one."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value
