"""Arguments of MRG's draws: sizes, parameters and probabilities, checked."""

from __future__ import annotations

import math as _math
from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.types import dtype_name
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.reduce.reduce import prod
from gpuarray.compiler.ops.shape.shape import as_shape, elements
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.sandbox.mrg_generator import is_integer
from gpuarray.compiler.sandbox.mrg_kernels import SCALES
from gpuarray.dtypes import upcast


def checked_size(name: str, size: Any) -> Any:
    """Return a tuple of lengths, integers or scalars, or a vector of integers."""
    if isinstance(size, Variable) and size.type.ndim == 1:
        return as_shape(name, size)
    if isinstance(size, np.ndarray):
        size = size.tolist()
    lengths = size if isinstance(size, (tuple, list)) else (size,)
    for length in lengths:
        if isinstance(length, Variable):
            is_fit = length.type.ndim == 0 and length.type.dtype[0] in "iu"
            if not is_fit:
                raise GraphTypeError(
                    f"{name}: size has {length} of {length.type}, expected integers"
                )
        elif not is_integer(length):
            raise GraphTypeError(
                f"{name}: size is {size!r}, expected a tuple of integers or integer "
                "scalars, or a vector of integers"
            )
        elif length <= 0:
            raise GraphValueError(
                f"{name}: size is {size!r}, expected lengths of 1 or more"
            )
    return tuple(lengths)


def number_of(size: Any) -> Any:
    """Return the number of elements: an integer where all lengths are."""
    if isinstance(size, tuple) and all(is_integer(n) for n in size):
        return _math.prod(int(n) for n in size)
    if isinstance(size, Constant):
        return int(size.data.prod())
    known = elements(as_shape("size", size))
    if known is None:
        return prod(size, dtype="int64")
    total: Any = constant(1, "int64")
    for length in known:
        total = total * math.cast(length, "int64")
    return total


def parameters(name: str, dtype: Any, **given: Any) -> tuple[str, list[Variable]]:
    """Return the dtype of a draw, and its parameters in it."""
    values = {word: as_tensor_variable(value) for word, value in given.items()}
    for word, value in values.items():
        if value.type.dtype.startswith("complex"):
            raise GraphTypeError(f"{name}: {word} is {value.type}, expected a real one")
    std = values.get("std")
    if isinstance(std, Constant) and (std.data < 0).any():
        raise GraphValueError(f"{name}: std is {std.data}, expected 0 or more")
    if dtype is None:
        kinds = [value.type.dtype for value in values.values()]
        dtype = upcast(config.floatX, *kinds)
    kind = dtype_name(dtype)
    return kind, [_of_dtype(value, kind) for value in values.values()]


def _of_dtype(value: Variable, dtype: str) -> Variable:
    if isinstance(value, Constant):
        return constant(value.data.astype(dtype))
    cast: Variable = math.cast(value, dtype)
    return cast


def probabilities(name: str, word: str, given: Any) -> Variable:
    """Return a matrix of real numbers, a distribution in each row."""
    if given is None:
        raise GraphTypeError(f"{name}: {word} is missing")
    p: Variable = as_tensor_variable(given)
    if p.type.ndim != 2 or p.type.dtype not in SCALES:
        raise NotOfferedError(
            f"{name}: {word} is {p.type}, expected a matrix of float16, float32 or "
            "float64: a distribution in each row"
        )
    return p


def no_size(name: str, size: Any, ndim: Any) -> None:
    """Raise GraphArgumentError for a size that follows from the probabilities."""
    for word, value in (("size", size), ("ndim", ndim)):
        if value is not None:
            raise GraphArgumentError(
                f"{name}: {word} is {value!r}, expected None: it follows from the "
                "probabilities"
            )
