"""Where a result goes and in which dtype, of every function that may be told so.

The functions are found by their parameters, and called as their cases draw it.
"""

import inspect
import random

import gpuarray
import numpy as np
import pytest
from differential import cases, differences, moved, outcome
from functions import Case, Draw, named
from judge import assert_same
from test_functions import functions

CASES = {
    name: case
    for name, case in cases().items()
    if not isinstance(case.numpy(), np.ufunc)
}
DTYPES = ("float64", "float32", "int32", "complex64")
SEEDS = range(40)


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
    function = named(gpuarray, name)
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
        return
    raise AssertionError(f"no call of {name} gives a result")


# NumPy's give float64 of weights, whatever is asked for.
WITH_WEIGHTS = {"cov", "corrcoef"}


def dtypes_of(name):
    """Those that a function can give; a variance is real, and no integer."""
    return DTYPES[:2] if name.endswith(("var", "std")) else DTYPES


@pytest.mark.parametrize("name", [x for x in taking("dtype") if x not in WITH_WEIGHTS])
def test_a_result_has_the_dtype_that_is_asked_for(name, first_context):
    given = dtypes_of(name)
    for number, dtype in enumerate(random.Random(name).sample(given, 2)):

        def draw(d, dtype=dtype):
            arguments, options = CASES[name].draw(d)
            return arguments, options | {"dtype": dtype}

        asked = Case(name, draw, rtol=CASES[name].rtol, judge=CASES[name].judge)
        seeds = [x for x in SEEDS[number::2] if not is_odd(name, x)]
        assert differences(asked, seeds[0], first_context) == ""


def is_odd(name, seed):
    """Whether NumPy's variance is another, or rounds more.

    From complex numbers the real part of their mean is taken, and distances from a mean
    of what is not nan are rounded to the array's own dtype.
    """
    (array, *_), _ = CASES[name].draw(Draw(seed))
    dtype = getattr(array, "dtype", np.dtype(float))
    is_narrow = name.startswith("nan") and dtype in (np.float16, np.float32)
    return name.endswith(("var", "std")) and (dtype.kind == "c" or is_narrow)


# What stands for NumPy's "no value", and what is said otherwise on purpose.
NO_VALUE = {"keepdims": False, "where": True, "descending": False}
OTHER_DEFAULTS = {
    ("asanyarray", "order"): "K",
    ("asarray", "order"): "K",
    ("einsum", "optimize"): True,
    ("eye", "dtype"): None,
    ("fromstring", "sep"): "",  # which NumPy 2.5 has no default for
    ("put_along_axis", "axis"): -1,
    ("vecdot", "axis"): -1,
}


def defaults():
    """The parameters with a default, here and in NumPy: both, by the names."""
    for name in [*functions()]:
        try:
            theirs = inspect.signature(named(np, name)).parameters
        except ValueError:
            continue
        for key, mine in inspect.signature(named(gpuarray, name)).parameters.items():
            if key in theirs and mine.default is not inspect.Parameter.empty:
                yield name, key, mine.default, theirs[key].default


def test_what_is_left_out_is_what_numpy_takes():
    seen = 0
    for name, key, ours, theirs in defaults():
        if (name, key) in OTHER_DEFAULTS:
            theirs = OTHER_DEFAULTS[name, key]
        elif theirs is np._NoValue or theirs == (None, None):
            theirs = NO_VALUE.get(key)
        assert ours is theirs or ours == theirs, f"{name}({key}={ours}): {theirs}"
        seen += 1
    assert seen > 300


SORTED = np.array([1, 3, 5, 8], "int8")
COUNTED = np.array([0, 2, 2, 1])
ON_THE_HOST = {
    "append": (np.ones(3, "float32"), np.zeros(2, "float32")),
    "average": (np.arange(4.0), None, np.array([1.0, 2, 0, 1])),
    "bincount": (COUNTED, np.array([0.5, 1, 2, 4])),
    "compress": (np.array([True, False, True]), np.arange(3), 0),
    "cov": (np.arange(6.0).reshape(2, 3), None, True, False, 1, np.array([1, 2, 1])),
    "delete": (np.arange(5), np.array([1, 3])),
    "digitize": (np.arange(4.0), np.array([0.5, 2])),
    "ediff1d": (np.arange(3.0), np.array([7.0]), np.array([8.0])),
    "histogram": (np.arange(4.0), np.array([0.0, 1, 3])),
    "insert": (np.arange(5), np.array([1, 3]), np.array([7, 8])),
    "isin": (np.arange(4), np.array([1, 2])),
    "polyval": (np.array([1.0, 2.0]), np.arange(3.0)),
    "quantile": (np.arange(5.0), np.array([0.25, 1.0])),
    "repeat": (np.arange(3), np.array([0, 2, 1])),
    "searchsorted": (SORTED, np.array([4, 9, 0]), "left", np.arange(4)),
    "take": (np.arange(5), np.array([3, 0])),
    "take_along_axis": (np.arange(5), np.array([3, 0]), 0),
}


@pytest.mark.parametrize("name", ON_THE_HOST)
def test_operands_beside_an_array_may_be_on_the_host(name, first_context):
    """All but one of the arrays are NumPy's, then all but one are lists."""
    arguments = ON_THE_HOST[name]
    at = {"polyval": 1, "compress": 1}.get(name, 0)
    for wanted in (np.asarray, np.ndarray.tolist):
        given = [
            x if i == at or not isinstance(x, np.ndarray) else wanted(x)
            for i, x in enumerate(arguments)
        ]
        expected = outcome(getattr(np, name), given, {})
        if isinstance(expected, AttributeError):
            continue  # NumPy's takes no list there
        given[at] = moved(given[at], first_context)
        got = outcome(getattr(gpuarray, name), given, {})
        assert not isinstance(got, Exception), got
        if name == "histogram":
            got, expected = got[0], expected[0]
        assert_same(got, expected)


@pytest.mark.parametrize("number", [300, -300, 4, 4.5, 2**40, True])
def test_a_number_is_sought_as_it_is(first_context, number):
    device = gpuarray.asarray(SORTED, context=first_context)
    got = gpuarray.searchsorted(device, number)
    assert int(got) == np.searchsorted(SORTED, number)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
def test_limits_go_by_either_name(first_context, dtype):
    host = np.arange(12).astype(dtype)
    device = gpuarray.asarray(host, context=first_context)
    for low in (None, -400, 3):
        for high in (None, 7, 400):
            right = host if low is high is None else np.clip(host, low, high)
            out = gpuarray.zeros(12, right.dtype, first_context)
            assert_same(gpuarray.clip(device, low, high), right)
            assert_same(gpuarray.clip(device, a_min=low, a_max=high), right)
            assert_same(gpuarray.clip(device, min=low, max=high), right)
            assert gpuarray.clip(device, low, high, out) is out
            assert_same(out, right)
