"""libgpuarray 0.7's tools for makers of kernels: arguments and their joint layout."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray.dtypes import as_dtype, dtype_to_ctype
from gpuarray.errors import BadType, BadValue

__all__ = [
    "Argument",
    "ArrayArg",
    "ScalarArg",
    "as_argument",
    "check_args",
    "lru_cache",
    "prod",
]


def __dir__() -> list[str]:
    return __all__


def prod(iterable: Iterable[int]) -> int:
    """Return the product of integers; 1 of none.

    >>> gpuarray.tools.prod((2, 3)), gpuarray.tools.prod(())
    (6, 1)
    """
    return math.prod(iterable)


def lru_cache(maxsize: int = 20) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that caches the latest results: Python's own.

    >>> @gpuarray.tools.lru_cache(maxsize=2)
    ... def square(x):
    ...     return x * x
    >>> square(3), square(3), square.cache_info().hits
    (9, 9, 1)
    """
    return functools.lru_cache(maxsize)


class Argument:
    """A kernel's argument: its name and its dtype; ``isarray`` is True for an array.

    >>> gpuarray.tools.Argument(np.dtype("float32"), "x").ctype()
    'ga_float'
    """

    isarray = False

    def __init__(self, dtype: npt.DTypeLike, name: str) -> None:
        self.dtype = as_dtype(dtype, name)
        self.name = name

    def ctype(self) -> str:
        """Return the name of the type in kernels.

        >>> gpuarray.tools.ArrayArg(np.dtype("float32"), "x").ctype()
        'ga_float'
        """
        return dtype_to_ctype(self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Argument) or type(self) is not type(other):
            return False
        return (self.name, self.dtype) == (other.name, other.dtype)

    def __hash__(self) -> int:
        return hash((type(self), self.name, self.dtype))


class ArrayArg(Argument):
    """An argument that is an array: ``isarray`` is true.

    >>> gpuarray.tools.ArrayArg(np.dtype("float32"), "x").decltype()
    'GLOBAL_MEM ga_float *'
    """

    isarray = True

    def decltype(self) -> str:
        """Return the type of its declaration.

        >>> gpuarray.tools.ArrayArg(np.dtype("float32"), "x").decltype()
        'GLOBAL_MEM ga_float *'
        """
        return f"GLOBAL_MEM {self.ctype()} *"

    def expr(self) -> str:
        """Return an element of it in an expression.

        >>> gpuarray.tools.ArrayArg(np.dtype("float32"), "x").expr()
        'x[i]'
        """
        return f"{self.name}[i]"

    def spec(self) -> type[BaseArray]:
        """Return its type for ``GpuKernel``.

        >>> gpuarray.tools.ArrayArg(np.dtype("float32"), "x").spec() is gpuarray.Array
        False
        """
        return BaseArray


class ScalarArg(Argument):
    """An argument that is a number: ``isarray`` is false.

    >>> gpuarray.tools.ScalarArg(np.dtype("float32"), "x").decltype()
    'ga_float'
    """

    def decltype(self) -> str:
        """Return the type of its declaration.

        >>> gpuarray.tools.ScalarArg(np.dtype("float32"), "x").decltype()
        'ga_float'
        """
        return self.ctype()

    def expr(self) -> str:
        """Return it in an expression.

        >>> gpuarray.tools.ScalarArg(np.dtype("float32"), "x").expr()
        'x'
        """
        return self.name

    def spec(self) -> np.dtype[Any]:
        """Return its type for ``GpuKernel``.

        >>> gpuarray.tools.ScalarArg(np.dtype("float32"), "x").spec()
        dtype('float32')
        """
        return self.dtype


def as_argument(obj: Any, name: str) -> Argument:
    """Return the argument of an array or a number.

    >>> gpuarray.tools.as_argument(gpuarray.zeros(2, "float32"), "x").expr()
    'x[i]'
    """
    if isinstance(obj, BaseArray):
        return ArrayArg(obj.dtype, name)
    return ScalarArg(np.asarray(obj).dtype, name)


Walk = tuple[
    int,
    int,
    tuple[int, ...],
    tuple[tuple[int, ...] | None, ...],
    tuple[int | None, ...],
]


def check_args(
    args: Sequence[Any], collapse: bool | None = False, broadcast: bool = False
) -> Walk:
    """Return the arguments' joint layout: (n, nd, dims, strides, offsets).

    Strides and offsets are in bytes, and None for numbers. ``collapse`` (None: true)
    merges axes that are contiguous in all arrays; ``broadcast`` lets axes of length 1
    stretch. Raises BadValue for shapes that do not fit, BadType without an array.

    >>> a = gpuarray.zeros((2, 3), "float32")
    >>> gpuarray.tools.check_args((a, 1.0), collapse=True)
    (6, 1, (6,), ((4,), None), (0, None))
    """
    arrays = [x for x in args if isinstance(x, BaseArray)]
    if not arrays:
        raise BadType("check_args: no argument is a gpuarray array")
    ranks = {x.ndim for x in arrays}
    if len(ranks) > 1:
        raise BadValue(
            f"check_args: got arrays of {sorted(ranks)} axes, expected one number "
            "of axes"
        )
    dims = tuple(
        max(lengths) for lengths in zip(*(x.shape for x in arrays), strict=True)
    )
    for x in arrays:
        stretches = all(a in (1, b) for a, b in zip(x.shape, dims, strict=True))
        if x.shape != dims and not (broadcast and stretches):
            raise BadValue(f"check_args: shapes {x.shape} and {dims} do not fit")
    strides = [
        tuple(
            0 if a != b else stride
            for a, b, stride in zip(x.shape, dims, x.strides, strict=True)
        )
        for x in arrays
    ]
    count = prod(dims)
    if collapse or collapse is None:
        dims, strides = _collapsed(dims, strides)
    places = iter(strides)
    strs = tuple(next(places) if isinstance(x, BaseArray) else None for x in args)
    offsets = tuple(x.offset if isinstance(x, BaseArray) else None for x in args)
    return count, len(dims), dims, strs, offsets


def _collapsed(
    dims: tuple[int, ...], strides: list[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the axes without those of length 1, and those contiguous in all merged.

    One axis stays, if there is any.
    """
    axes = [i for i, length in enumerate(dims) if length != 1]
    axes = axes or [*range(len(dims))][:1]
    lengths: list[int] = []
    walked: list[list[int]] = [[] for _ in strides]
    for i in axes:
        if lengths and all(
            w[-1] == s[i] * dims[i] for w, s in zip(walked, strides, strict=True)
        ):
            lengths[-1] *= dims[i]
            for w, s in zip(walked, strides, strict=True):
                w[-1] = s[i]
            continue
        lengths.append(dims[i])
        for w, s in zip(walked, strides, strict=True):
            w.append(s[i])
    return tuple(lengths), [tuple(w) for w in walked]
