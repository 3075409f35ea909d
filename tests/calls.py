"""Calls of functions that NumPy has, too, in tables: (name, *arguments[, options])."""

import warnings

import gpuarray
import numpy as np
from functions import named
from judge import assert_same


def split(call):
    """The function's name, its arguments and its options, a dict at the end."""
    name, *arguments = call
    options = arguments.pop() if isinstance(arguments[-1], dict) else {}
    return name, arguments, options


def moved(value, context):
    """``value`` with its host arrays on a context."""
    if isinstance(value, np.ndarray):
        return gpuarray.asarray(value, context=context)
    if isinstance(value, tuple | list):
        return type(value)(moved(one, context) for one in value)
    return value


def ours(call, context):
    """The result of a call of the package."""
    name, arguments, options = split(call)
    options = {key: moved(one, context) for key, one in options.items()}
    return named(gpuarray, name)(*(moved(x, context) for x in arguments), **options)


def numpys(call):
    """The result of the same call of NumPy."""
    name, arguments, options = split(call)
    with warnings.catch_warnings(action="ignore"):
        return named(np, name)(*arguments, **options)


def assert_as_numpys(call, context, rtol=None):
    """Ours is NumPy's, part by part where it is several."""
    pairs = [(ours(call, context), numpys(call))]
    while pairs:
        made, told = pairs.pop()
        if isinstance(told, tuple | list):
            pairs += zip(made, told, strict=True)
        elif isinstance(made, gpuarray.Array):
            assert_same(made, told, rtol)
        else:
            np.testing.assert_array_equal(made, told)


def label(call):
    """What a case of a table is called."""
    _, arguments, options = split(call)
    kinds = [_short(one) for one in (*arguments, *options.values())]
    return f"{call[0]}({', '.join(kinds)})"


def _short(value):
    if isinstance(value, tuple | list):
        return f"[{' '.join(map(_short, value))}]"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}"
    return getattr(value, "__name__", f"{value}")
