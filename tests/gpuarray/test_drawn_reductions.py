"""Every function over axes, drawn: axes in all orders and the options that it takes.

The functions are found by their parameters: whatever has an ``axis`` and is NumPy's by
name. NumPy is the judge of values, dtypes, shapes and of what is refused.
"""

import inspect
import itertools
import random
import warnings

import gpuarray
import numpy as np
import pytest
from gpuarray._math.quantiles import METHODS
from judge import assert_same

SHAPES = [(3, 4, 2), (2, 5), (7,), (1, 3), (3, 0), (2, 1, 4), ()]
DTYPES = ["float64", "float32", "int16", "bool", "complex64"]
DRAWS = 12
# The first operand is more than an array, or the result is more than one array.
OTHER_OPERANDS = {
    *("append", "apply_along_axis", "apply_over_axes", "argpartition", "array_split"),
    *("compress", "concat", "concatenate", "cross", "delete", "dsplit", "expand_dims"),
    *("gradient", "hsplit", "insert", "packbits", "partition", "put_along_axis"),
    *("repeat", "roll", "rollaxis", "rot90", "split", "squeeze", "stack", "take"),
    *("take_along_axis", "trapezoid", "unpackbits", "unstack", "vecdot", "linspace"),
    *("geomspace", "logspace", "unique", "vsplit", "flip", "lexsort", "trim_zeros"),
    *("size", "unwrap"),
}


def taken(function):
    """The parameters of a function that are drawn."""
    return set(inspect.signature(function).parameters)


def found():
    """The names of functions of an array over axes, here and in NumPy."""
    seen = set()
    for name in sorted(set(dir(gpuarray)) & set(dir(np)) - OTHER_OPERANDS):
        ours = getattr(gpuarray, name)
        if inspect.isfunction(ours) and "axis" in taken(ours) and ours not in seen:
            seen.add(ours)
            yield name


NAMES = list(found())


def drawn_axis(rng, name, ndim):
    """None, one axis by either name, or some in any order.

    Some functions of NumPy take axis 0 of an array that has none, or one axis in a
    tuple where they take no two.
    """
    kind = rng.randrange(4)
    if kind == 0 or ndim == 0:
        return None
    if kind == 1 or name.startswith("cum"):
        return rng.randrange(-ndim, ndim)
    axes = rng.sample(range(ndim), rng.randrange(1, ndim + 1))
    return tuple(i - ndim if rng.random() < 0.4 else i for i in axes)


def count_of(shape, axis):
    """How many elements are reduced to one."""
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    return int(np.prod([shape[i] for i in axes])) if shape else 1


def drawn_options(rng, name, shape):
    """Options that the function takes, with operands on the host."""
    known = taken(getattr(gpuarray, name)) & taken(getattr(np, name))
    draw = np.random.default_rng(rng.randrange(2**32))
    options = {"axis": drawn_axis(rng, name, len(shape))}
    if "keepdims" in known and rng.random() < 0.5:
        options["keepdims"] = True
    if "where" in known and rng.random() < 0.4:
        options["where"] = draw.random(shape[rng.randrange(len(shape) + 1) :]) < 0.7
    if "initial" in known and rng.random() < 0.4:
        options["initial"] = rng.choice([0, 1, 3])
    if "ddof" in known and rng.random() < 0.7:
        count = count_of(shape, options["axis"])
        options["ddof"] = rng.choice([1, 0.5, count - 1, count, count + 1])
    if "q" in known:
        scale = 100 if "percent" in name else 1
        shares = draw.random((2, 3)).round(2) * scale
        edges = [float(scale) * x for x in (0, 1, 0.5, 0.37)]
        # Of shares over two axes NumPy's nanquantile has these in the wrong order.
        options["q"] = rng.choice([shares[0], *edges])
        if not name.startswith("nan") and rng.random() < 0.3:
            options["q"] = shares
        options["method"] = rng.choice(sorted(METHODS))
    if "weights" in known and 0 not in shape and rng.random() < 0.4:
        axis = options["axis"]
        axes = () if axis is None else tuple(np.atleast_1d(axis))
        lengths = tuple(shape[i] for i in axes) if rng.random() < 0.6 and shape else ()
        options["weights"] = np.asarray(draw.integers(0, 5, lengths or shape) + 0.25)
        if name.startswith("nan"):  # NumPy's fails on weights of an axis
            options["weights"] = np.asarray(draw.integers(0, 5, shape) + 0.25)
        if "method" in options:
            options["method"] = "inverted_cdf"
    return options


def some_dtypes(rng, name):
    """Two dtypes, of which kernels are compiled; other functions have others."""
    # Of bool NumPy gives quantiles by some methods, and fails in others.
    known = [each for each in DTYPES if each != "bool" or "quant" not in name]
    return rng.sample(known if "percent" not in name else known[:2], 2)


def drawn_array(rng, name, shape, dtypes):
    """Few different numbers, some of them nan where those are left out."""
    dtype = np.dtype(rng.choice(dtypes))
    draw = np.random.default_rng(rng.randrange(2**32))
    host = np.asarray(draw.integers(0 if dtype.kind in "ub" else -4, 5, shape))
    host = host.astype(dtype)
    if dtype.kind in "fc" and (name.startswith("nan") or rng.random() < 0.1):
        host = np.where(draw.random(shape) < 0.3, host.dtype.type(np.nan), host)
    return host


def outcome(module, name, array, options):
    """The result, or the error of a call that is refused."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            return getattr(module, name)(array, **options)
        except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
            return error


def has_result(name, shape):
    """Whether NumPy's function gives what it should of no elements, if there are none.

    Its nanquantile has no axes of ``q`` then, its average divides by zero.
    """
    is_odd = name == "average" or name.endswith(("quantile", "percentile"))
    return not (is_odd and 0 in shape)


@pytest.mark.parametrize("name", NAMES)
def test_drawn(context, name):
    rng = random.Random(name)
    compared, dtypes = 0, some_dtypes(rng, name)
    for _ in range(DRAWS):
        shape = rng.choice([each for each in SHAPES if has_result(name, each)])
        host = drawn_array(rng, name, shape, dtypes)
        options = drawn_options(rng, name, shape)
        stable = {"stable": True} if name == "argsort" else {}
        expected = outcome(np, name, host, options | stable)
        there = {
            key: gpuarray.asarray(value, context=context)
            if isinstance(value, np.ndarray)
            else value
            for key, value in options.items()
        }
        got = outcome(gpuarray, name, gpuarray.asarray(host, context=context), there)
        told = f"{name} of {host!r} with {options}"
        if isinstance(expected, Exception):
            assert isinstance(got, Exception), f"{told}: NumPy refuses: {expected}"
            continue
        assert not isinstance(got, Exception), f"{told}: {got}"
        compared += 1
        try:
            assert_same(got, expected)
        except AssertionError as error:
            raise AssertionError(f"{told}: {error}") from error
    assert compared


QUANTILES = ["quantile", "percentile", "nanquantile", "nanpercentile"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", QUANTILES)
def test_every_method_at_every_place_between_elements(context, name, method):
    """Of one to six elements: at each, at the middle between two, and beside it."""
    scale = 100 if "percent" in name else 1
    parts = [np.linspace(0, 1, 4 * n + 1) for n in (1, 3, 4, 5)]
    q = np.unique(np.concatenate([*parts, [0.01, 0.03, 0.97, 0.99]])) * scale
    for count in range(1, 7):
        host = np.array([0.0, 1.0, 10.0, 100.0, 1e3, 1e4])[:count]
        device = gpuarray.asarray(host, context=context)
        expected = getattr(np, name)(host, q, method=method)
        assert_same(getattr(gpuarray, name)(device, q, method=method), expected)
        if name.startswith("nan"):
            host = np.array([host, np.full(count, np.nan)]).T.ravel()
            device = gpuarray.asarray(host, context=context)
            assert_same(getattr(gpuarray, name)(device, q, method=method), expected)


def test_the_functions_are_found():
    some = {"sum", "var", "nanvar", "quantile", "average", "argmax", "cumsum", "median"}
    assert some <= set(NAMES)
    assert len(set(itertools.chain(NAMES))) == len(NAMES)
