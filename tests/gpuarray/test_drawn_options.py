"""Where a result goes and in which dtype, of every function that may be told so.

The functions are found by their parameters, and called as their cases draw it.
"""

import inspect

import gpuarray
import numpy as np
import pytest
from differential import cases, differences, moved, outcome
from functions import Case, Draw, named
from judge import assert_same

CASES = {
    name: case
    for name, case in cases().items()
    if not isinstance(case.numpy(), np.ufunc)
}
DTYPES = ("float64", "float32", "int32", "complex64")
SEEDS = range(40)
CALLS = 2


def taking(parameter):
    """The functions that have a parameter, here and in NumPy."""
    found = []
    for name, case in CASES.items():
        known = inspect.signature(named(gpuarray, name)).parameters
        try:
            theirs = inspect.signature(case.numpy()).parameters
        except ValueError:
            continue
        if parameter in known and parameter in theirs:
            found.append(name)
    return found


@pytest.mark.parametrize("name", taking("out"))
def test_a_result_goes_where_it_is_told(name, first_context):
    function, done = named(gpuarray, name), 0
    for seed in SEEDS:
        arguments, options = CASES[name].draw(Draw(seed))
        arguments = [moved(one, first_context) for one in arguments]
        options = {key: moved(one, first_context) for key, one in options.items()}
        made = outcome(function, arguments, options)
        if isinstance(made, Exception):
            continue
        out = gpuarray.zeros(made.shape, made.dtype, first_context)
        out[...] = 1
        got = outcome(function, arguments, options | {"out": out})
        assert got is out, f"{name}, seed {seed}: {got}"
        assert_same(out, np.asarray(made), exact=True)
        done += 1
        if done == CALLS:
            return
    assert done


# NumPy's give float64 of weights, whatever is asked for.
WITH_WEIGHTS = {"cov", "corrcoef"}


def dtypes_of(name):
    """Those that a function can give; a variance is real, and no integer."""
    return DTYPES[:2] if name.endswith(("var", "std")) else DTYPES


@pytest.mark.parametrize("name", [x for x in taking("dtype") if x not in WITH_WEIGHTS])
def test_a_result_has_the_dtype_that_is_asked_for(name, first_context):
    for number, dtype in enumerate(dtypes_of(name)):

        def draw(d, dtype=dtype):
            arguments, options = CASES[name].draw(d)
            return arguments, options | {"dtype": dtype}

        asked = Case(name, draw, rtol=CASES[name].rtol, judge=CASES[name].judge)
        seeds = [x for x in SEEDS[number :: len(DTYPES)] if not is_odd(name, x)]
        seeds = seeds[: 4 // len(dtypes_of(name))]
        found = [differences(asked, seed, first_context) for seed in seeds]
        assert list(filter(None, found)) == []


def is_odd(name, seed):
    """Whether the real part of a mean is taken from complex numbers, as NumPy does."""
    (array, *_), _ = CASES[name].draw(Draw(seed))
    is_complex = getattr(array, "dtype", np.dtype(float)).kind == "c"
    return name.endswith(("var", "std")) and is_complex
