"""Axes that are known only when the program runs: a choice between all there are."""

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

    For a scalar variable it is what ``make`` gives for the axis that the program runs
    with, and only that is computed; the types are those that hold for every axis. An
    axis that is not among ``ndim`` is then an IndexError when the program runs.

    Raises TypeError for what is no integer, ValueError for a known axis that is not
    there.
    """
    if not isinstance(axis, Variable) or isinstance(axis, Constant):
        return make(normalise_axis(name, axis, ndim))
    if axis.type.ndim or axis.type.dtype[0] not in "iu":
        raise GraphArgumentError(
            f"{name}: axis is {axis} of {axis.type}, expected an integer"
        )
    place = Subtensor([axis.type.dtype])(core.constant(np.arange(ndim)), axis)
    made = make(ndim - 1)
    for each in reversed(range(ndim - 1)):
        made = ifelse(math.FUNCTIONS["eq"](place, each), make(each), made)
    return made
