"""Families of cases: what they are, and the arrays that they are given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

F32, F64 = "float32", "float64"
F32_THREE = np.float32(3)
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", F32, F64, "complex64", "complex128"),
)
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 13, 33)
FROM_1 = (*SIZES[1:], 40)
WITHOUT_0 = (
    *("softmax of columns", "argmax of axes", "take rows", "take by a matrix"),
    *("take apart", "set rows", "add to rows", "gradient of rows"),
    *("products of integers", "a mask of later axes", "topk", "smallest", "argmax"),
    "split",
)
"""Of `of_rows`: what takes an element, or an extremum, where there must be one."""


@dataclass(frozen=True)
class Family:
    """A function that is saved, and how it is called; see above."""

    inputs: list[Any]
    outputs: Any
    arguments: Callable[[int], list[Any]]
    judge: Callable[..., Any] | None = None
    updates: Mapping[Any, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = SIZES
    rtol: float = 3e-4
    atol: float = 2e-5


def made(table, without_0=(), **options):
    """Families of their positional fields; some have no size of 0."""
    return {
        name: Family(*fields, **options, sizes=FROM_1 if name in without_0 else SIZES)
        for name, fields in table.items()
    }


def drawn(*shape, dtype=F64):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def small(*shape):
    return drawn(*shape, dtype=F32)


def places(count, stop):
    return np.random.default_rng(count + stop).integers(-stop, stop, count)


def squares(x, y, rcond=None):
    found, left, rank, s = np.linalg.lstsq(x, y, rcond)
    return [found, left, np.int64(rank), s]


def repeated(n):
    """Some numbers several times, and nan twice."""
    x = drawn(n, 3).round()
    x[n // 2 : n // 2 + 1, :2] = np.nan
    return x


def unique(x):
    values, index, inverse, many = np.unique(x, True, True, True)
    return [values, index, inverse.reshape(x.shape), many]


def counts(n):
    return np.random.default_rng(n).integers(0, 4, n)


def regular(*shape):
    """Matrices that are far from singular."""
    return drawn(*shape) + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1])


def positive(*shape):
    x = drawn(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def mixed(n):
    """Matrices of which the third one is not positive definite."""
    return positive(n, 3, 3) * np.where(np.arange(n) == 2, -1, 1)[:, None, None]


def adjoint(x):
    return np.swapaxes(x, -1, -2)


def exponential(x):
    """By eigenvalues."""
    w, v = np.linalg.eig(x)
    return (v * np.exp(w) @ np.linalg.inv(v)).real
