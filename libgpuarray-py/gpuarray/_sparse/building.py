"""Arrays made of numbers, diagonals and random places."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_integer, as_list, as_real, require_callable
from gpuarray._core.base import BaseArray
from gpuarray._creation.arguments import Place, float_dtype, place_of
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import ones
from gpuarray._creation.ranges import arange
from gpuarray._manipulation.joining import concatenate
from gpuarray._manipulation.sets import unique_values
from gpuarray._sorting.sorting import argsort
from gpuarray._sparse.arrays import csr_array
from gpuarray._sparse.base import (
    is_sparse,
    make,
)
from gpuarray._sparse.construction import as_lengths, zero
from gpuarray._sparse.conversion import (
    asformat,
    canonical,
    converted,
    places,
    without_zeros,
)
from gpuarray._sparse.pattern import (
    Pattern,
    index_dtype,
)
from gpuarray._sparse.reductions import by_rows
from gpuarray.array import Array
from gpuarray.dtypes import result_type
from gpuarray.errors import BadType, BadValue
from gpuarray.random import Generator, default_rng

Format = str | None
Part = tuple[Any, Any, Any]


def listed_array(
    shape: tuple[int, int],
    parts: Sequence[Part],
    dtype: np.dtype[Any],
    format: Format,
    place: Any,
) -> Any:
    """Return an array of parts, each its values, rows and columns, side by side."""
    if not parts:
        return zero(format or "coo", shape, dtype, place)
    values, rows, columns = zip(*parts, strict=True)
    count = sum(part.size for part in values)
    index = index_dtype(*shape, count)
    pattern = Pattern(
        "coo",
        shape,
        concatenate(columns).astype(index, copy=False),
        concatenate(rows).astype(index, copy=False),
    )
    stored = concatenate(values).astype(dtype, copy=False)
    return converted(make(stored, pattern), format or "coo")


# ---- diagonals ----


def eye_array(
    m: int,
    n: int | None = None,
    *,
    k: int = 0,
    dtype: npt.DTypeLike | None = None,
    format: Format = None,
    context: Place = None,
) -> Any:
    """Return ones on the diagonal with offset ``k``, by default in CSR.

    >>> print(gpuarray.sparse.eye_array(2, 3, k=1, dtype="int32").toarray())
    [[0 1 0]
     [0 0 1]]
    """
    place = place_of("eye_array", context, None)
    target = float_dtype("eye_array", dtype, place)
    shape = as_lengths("eye_array", (m, m if n is None else n))
    length = _length((shape[0], shape[1]), k)
    values = ones(max(length, 0), target, place)
    return _of_diagonals([values], [k], (shape[0], shape[1]), target, format)


def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: tuple[int, int] | None = None,
    format: Format = None,
    dtype: npt.DTypeLike | None = None,
    context: Place = None,
) -> Any:
    """Return an array of diagonals at ``offsets``, by default square and in CSR.

    With a shape, a diagonal of one number is repeated.

    >>> A = gpuarray.sparse.diags_array([[1, 2, 3], [4, 5]], offsets=[0, 1])
    >>> print(A.toarray())
    [[1 4 0]
     [0 2 5]
     [0 0 3]]
    """
    if not isinstance(diagonals, BaseArray):
        diagonals = as_list(diagonals, "diagonals", "diags_array")
    if np.isscalar(offsets):
        offsets = as_integer(offsets, "offsets", "diags_array")
        first = diagonals[0] if len(diagonals) else 0
        is_one = getattr(diagonals, "ndim", np.ndim(first) + 1) == 1
        diagonals, offsets = [diagonals] if is_one else list(diagonals), [offsets]
    offsets = [
        as_integer(offset, "an offset", "diags_array")
        for offset in as_list(offsets, "offsets", "diags_array")
    ]
    listed = [asarray(diagonal, dtype, context) for diagonal in diagonals]
    if len(listed) != len(offsets):
        raise BadValue(
            f"diags_array: {len(listed)} diagonals, but {len(offsets)} offsets"
        )
    if not listed:
        raise BadValue("diags_array: no diagonals; use csr_array(shape)")
    if len({*offsets}) < len(offsets):
        raise BadValue(f"diags_array: offsets {offsets}, expected none of them twice")
    if shape is None:
        side = listed[0].size + abs(offsets[0])
        shape = side, side
    target = result_type(*(part.dtype for part in listed))
    values = [
        _fitting(part.reshape(-1), _length(shape, k), k)
        for part, k in zip(listed, offsets, strict=True)
    ]
    return _of_diagonals(values, offsets, shape, target, format)


def _length(shape: tuple[int, int], k: int) -> int:
    return min(shape[0] + min(k, 0), shape[1] - max(k, 0))


def _fitting(diagonal: Array, length: int, k: int) -> Array:
    """Return the first numbers of a diagonal, or one number as often."""
    if length < 0 or (diagonal.size < length and diagonal.size != 1):
        raise BadValue(
            f"diags_array: {diagonal.size} numbers for the diagonal {k}, expected "
            f"{length}" + (", or one" if length >= 0 else ": it is outside")
        )
    if diagonal.size < length:
        return diagonal.broadcast_to((length,))
    first: Array = diagonal[:length]
    return first


def _of_diagonals(
    values: list[Array],
    offsets: list[int],
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    format: Format,
) -> Any:
    parts = []
    for part, k in zip(values, offsets, strict=True):
        steps: Any = arange(part.size, context=part.context)
        parts.append((part, steps + max(-k, 0), steps + max(k, 0)))
    listed = listed_array(shape, parts, dtype, None, values[0].context)
    return asformat(listed, format or "csr")


# ---- elements ----


def find(A: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of the elements that are not zero, by rows.

    Waits for their number.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> print(*gpuarray.sparse.find(A))
    [0 1] [1 0] [1 2]
    """
    found = by_rows(without_zeros(canonical(A if is_sparse(A) else csr_array(A))))
    row, column = places(found)
    return row, column, found._values


# ---- random places ----


def random_array(
    shape: tuple[int, int],
    *,
    density: float = 0.01,
    format: str = "coo",
    dtype: npt.DTypeLike | None = None,
    rng: Generator | int | None = None,
    data_sampler: Callable[..., Any] | None = None,
    context: Place = None,
) -> Any:
    """Return random values at random places, each place at most once; waits.

    ``density`` is the share of places. ``rng`` is a generator of ``gpuarray.random`` or
    a seed; ``data_sampler(size=n)`` returns the values, by default uniform ones from 0
    to 1.

    >>> A = gpuarray.sparse.random_array((100, 50), density=0.1, rng=1)
    >>> A.nnz, A.has_canonical_format
    (500, True)
    """
    lengths = as_lengths("random_array", shape)
    if len(lengths) != 2:
        raise BadValue(f"random_array: shape {shape}, expected two lengths")
    if not 0 <= as_real(density, "density", "random_array") <= 1:
        raise BadValue(f"random_array: density is {density}, expected 0 to 1")
    if data_sampler is not None:
        require_callable(data_sampler, "data_sampler", "random_array")
    generator = rng if isinstance(rng, Generator) else default_rng(rng, context=context)
    total = math.prod(lengths)
    count = round(density * total)
    numbers = _drawn(generator, total, count)
    place = generator.context
    target = float_dtype("random_array", dtype, place)
    if data_sampler is not None:
        values = asarray(data_sampler(size=count), dtype, place)
    elif target.kind == "f":
        values = generator.random(count).astype(target, copy=False)
    else:
        raise BadType(
            f"random_array: values of {target} need data_sampler=, a function of size"
        )
    rows = numbers // max(lengths[1], 1)
    part = values, rows, numbers - rows * lengths[1]
    matrix = lengths[0], lengths[1]
    return asformat(listed_array(matrix, [part], values.dtype, None, place), format)


def _drawn(rng: Generator, total: int, count: int) -> Any:
    """Return ``count`` different numbers below ``total``, in ascending order."""
    if 4 * count >= total:
        return _ordered(rng.permutation(total)[:count])
    found = unique_values(rng.integers(0, total, size=count))
    while found.size < count:
        more = rng.integers(0, total, size=2 * (count - found.size) + 16)
        found = unique_values(concatenate([found, more]))
    if found.size == count:
        return found
    chosen = argsort(rng.random(found.size))[:count]
    return _ordered(found[chosen])


def _ordered(numbers: Any) -> Any:
    numbers.sort()
    return numbers
