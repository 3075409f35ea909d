"""Theano's ``gof.op``: operations, and the test values of their inputs.

>>> import gpuarray.compiler as compiler, gpuarray.compiler.tensor as T, numpy
>>> x = T.dvector("x")
>>> x.tag.test_value = numpy.ones(3)
>>> [len(value) for value in get_debug_values(x)]
[]
>>> with compiler.config.use(compute_test_value="raise"):
...     [len(value) for (value,) in get_debug_values(x)]
[3]
"""

from __future__ import annotations

import warnings
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import TestValueError
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.testvalues import get_test_value
from gpuarray.compiler.names import suggest_names

__all__ = ["Apply", "Op", "debug_assert", "get_debug_values", "get_test_value"]


def get_debug_values(*variables: Any) -> list[tuple[Any, ...]]:
    """Return one tuple, of the variables' test values, for a check in a ``for`` loop.

    The list is empty where test values are off, or where a variable has none and
    ``compute_test_value`` is "ignore" or "warn". Raises TestValueError where it is
    "raise".
    """
    setting = config.compute_test_value
    if setting == "off":
        return []
    try:
        return [tuple(get_test_value(variable) for variable in variables)]
    except TestValueError as error:
        if setting == "raise":
            raise
        if setting == "warn":
            warnings.warn(str(error), stacklevel=2)
        return []


def debug_assert(condition: Any, message: str = "debug_assert failed") -> None:
    """Raise AssertionError where test values are on and ``condition`` is false."""
    if config.compute_test_value != "off" and not condition:
        raise AssertionError(message)


suggest_names(__name__)
