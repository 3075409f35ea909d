"""Axes known only at run time: a conditional over all axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.ops.control.ifelse import ifelse
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.slicing.subtensor import Subtensor
from gpuarray.compiler.ops.variables.basic import normalise_axis


def for_axis(name: str, axis: Any, ndim: int, make: Callable[[int], Any]) -> Any:
    """Return the result of ``make`` for an axis counted from the left.

    For a scalar variable only the result for the axis at run time is computed; its type
    holds for every axis. An axis out of ``ndim`` is an IndexError when the program
    runs.

    Raises TypeError for what is no integer, ValueError for a known axis out of range.
    """
    if not isinstance(axis, Variable) or isinstance(axis, Constant):
        return make(normalise_axis(name, axis, ndim))
    if axis.type.ndim or axis.type.dtype[0] not in "iu":
        raise GraphArgumentError(
            f"{name}: axis is {axis} of {axis.type}, expected an integer"
        )
    place = Subtensor([axis.type.dtype])(core.constant(np.arange(ndim)), axis)
    result = make(ndim - 1)
    for k in reversed(range(ndim - 1)):
        result = ifelse(math.FUNCTIONS["eq"](place, k), make(k), result)
    return result
