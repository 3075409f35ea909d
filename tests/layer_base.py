"""What drawn layers of networks share, see `drawn_layers`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from bounds import Right
from gpuarray.compiler.graph.types import TensorType
from gpuarray.dtypes import as_dtype

FLOATS = ["float32"] * 5 + ["float64"] * 3 + ["float16"] * 2 + ["bfloat16"] * 2
SHORT = ("float16", "bfloat16")


class Named(NamedTuple):
    """A value that is right, and the dtype of the result."""

    name: str
    right: Right
    dtype: Any


class Graph(NamedTuple):
    """Variables, their arrays, and outputs with what they should be."""

    inputs: list
    arrays: list
    outputs: list
    rights: list


def whole(rng, shape, most=5):
    """Whole numbers, whose sums are exact."""
    return rng.integers(-most, most + 1, shape).astype("float64")


def held(array, dtype):
    """The numbers that a dtype holds of these, and those as float64."""
    stored = array.astype(as_dtype(dtype))
    return stored, stored.astype("float64")


def variables(dtype, *arrays):
    return [TensorType(dtype, (False,) * a.ndim)() for a in arrays]


def lengths_of(value):
    return Named("shape", Right(np.array(value, "int64")), "int64")


class Layer:
    """The base of all: ``results(views)`` gives name and array of each."""

    refused = False

    def __init__(self, rng):
        self.rng = rng
        self.dtype = str(rng.choice(FLOATS))

    def shapes(self):
        """What differs between formulas of shapes."""
        return ()

    def graph(self):
        """The layer in the compiled language; None where it has no such options."""
        return
