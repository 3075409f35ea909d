"""Arrays made of numbers, diagonals, blocks and random places."""

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
from gpuarray._native import ffi, lib
from gpuarray._sorting.sorting import argsort
from gpuarray._sparse.arrays import csr_array
from gpuarray._sparse.base import (
    check_context,
    is_canonical,
    is_number,
    is_sparse,
    make,
    require,
    require_matrix,
)
from gpuarray._sparse.construction import as_lengths, zero
from gpuarray._sparse.conversion import (
    asformat,
    canonical,
    converted,
    of_pair,
    places,
    without_zeros,
)
from gpuarray._sparse.pattern import (
    CANONICAL,
    INT64,
    Knowledge,
    Pattern,
    index_dtype,
)
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype, result_type
from gpuarray.errors import BadType, BadValue
from gpuarray.random import Generator, default_rng

Format = str | None
Part = tuple[Any, Any, Any]


def _listed(
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
    listed = _listed(shape, parts, dtype, None, values[0].context)
    return asformat(listed, format or "csr")


# ---- blocks ----


def block_array(
    blocks: Sequence[Sequence[Any]],
    *,
    format: Format = None,
    dtype: npt.DTypeLike | None = None,
) -> Any:
    """Return an array of rows of blocks, sparse or dense; None is a block of zeros.

    In the format of the blocks if they have one and none is None, else in COO.

    >>> A = gpuarray.sparse.csr_array([[1, 2]])
    >>> print(gpuarray.sparse.block_array([[A, None], [None, A]]).toarray())
    [[1 2 0 0]
     [0 0 1 2]]
    """
    return _blocks("block_array", blocks, format, dtype)


def hstack(
    blocks: Sequence[Any], format: Format = None, dtype: npt.DTypeLike | None = None
) -> Any:
    """Return arrays side by side, in the format that ``block_array`` gives.

    >>> A = gpuarray.sparse.csr_array([[1], [2]])
    >>> print(gpuarray.sparse.hstack([A, A]).toarray())
    [[1 1]
     [2 2]]
    """
    return _blocks("hstack", [as_list(blocks, "blocks", "hstack")], format, dtype)


def vstack(
    blocks: Sequence[Any], format: Format = None, dtype: npt.DTypeLike | None = None
) -> Any:
    """Return arrays one below the other, in the format that ``block_array`` gives.

    >>> A = gpuarray.sparse.csr_array([[1, 2]])
    >>> print(gpuarray.sparse.vstack([A, A]).toarray())
    [[1 2]
     [1 2]]
    """
    listed = as_list(blocks, "blocks", "vstack")
    return _blocks("vstack", [[block] for block in listed], format, dtype)


def block_diag(
    mats: Sequence[Any], format: Format = None, dtype: npt.DTypeLike | None = None
) -> Any:
    """Return an array with blocks along its diagonal, by default in COO.

    >>> A = gpuarray.sparse.csr_array([[1, 2]])
    >>> gpuarray.sparse.block_diag([A, A, A]).shape
    (3, 6)
    """
    listed = as_list(mats, "mats", "block_diag")
    count = range(len(listed))
    rows = [[listed[i] if i == j else None for j in count] for i in count]
    return _blocks("block_diag", rows, format or "coo", dtype)


def _blocks(
    operation: str, blocks: Any, format: Format, dtype: npt.DTypeLike | None
) -> Any:
    grid = [
        [_block(operation, block) for block in as_list(row, "a row", operation)]
        for row in as_list(blocks, "blocks", operation)
    ]
    every = [block for row in grid for block in row if block is not None]
    if not every or len({len(row) for row in grid}) != 1:
        raise BadValue(f"{operation}: expected rows of as many blocks, not all None")
    for block in every:
        check_context(every[0], block, operation)
    heights = [_side(operation, row, 0, i) for i, row in enumerate(grid)]
    columns = list(zip(*grid, strict=True))
    widths = [_side(operation, column, 1, j) for j, column in enumerate(columns)]
    target = result_type(*(block.dtype for block in every))
    if dtype is not None:
        target = as_dtype(dtype, operation)
    formats = {block.format for block in every}
    own = formats.pop() if len(formats) == 1 else "coo"
    if len(every) < len(heights) * len(widths):
        own = "coo"
    if (own, 1) in (("csr", len(widths)), ("csc", len(heights))):
        return asformat(_lines(every, target), format)
    if (own, 1) in (("csr", len(heights)), ("csc", len(widths))) and all(
        is_canonical(block) for block in every
    ):
        return asformat(_beside(every, target), format)
    parts = []
    for top, row in zip(_starts(heights), grid, strict=True):
        for left, block in zip(_starts(widths), row, strict=True):
            if block is not None:
                i, j = (index.astype(INT64) for index in places(block))
                parts.append((block._values, i + top, j + left))
    shape = sum(heights), sum(widths)
    return _listed(shape, parts, target, format or own, every[0].context)


def _block(operation: str, block: Any) -> Any:
    if block is None:
        return None
    if not is_sparse(block):
        is_one = is_number(block)
        block = csr_array(asarray(block).reshape(1, 1) if is_one else block)
    return require_matrix(block, operation)


def _side(operation: str, line: Any, axis: int, number: int) -> int:
    """Return the common length of a row or column of blocks."""
    lengths = {block.shape[axis] for block in line if block is not None}
    name = "column" if axis else "row"
    if not lengths:
        raise BadValue(f"{operation}: all blocks of {name} {number} are None")
    if len(lengths) > 1:
        raise BadValue(
            f"{operation}: blocks of {name} {number} have lengths {sorted(lengths)}, "
            "expected the same"
        )
    return int(lengths.pop())


def _starts(lengths: list[int]) -> list[int]:
    return [sum(lengths[:i]) for i in range(len(lengths))]


def _lines(blocks: list[Any], dtype: np.dtype[Any]) -> Any:
    """Return compressed arrays joined along the axis that is compressed."""
    patterns = [block._pattern for block in blocks]
    axis = 0 if patterns[0].format == "csr" else 1
    count, total = 0, sum(pattern.lengths[axis] for pattern in patterns)
    size = sum(block.nnz for block in blocks)
    index = index_dtype(size, *patterns[0].lengths)
    starts: list[Any] = []
    for block, pattern in zip(blocks, patterns, strict=True):
        own = pattern.indptr.astype(index, copy=False)
        starts.append((own if not starts else own[1:]) + index.type(count))
        count += block.nnz
    other = patterns[0].lengths[1 - axis]
    lengths = (total, other) if axis == 0 else (other, total)
    values = concatenate([block._values for block in blocks])
    indices = concatenate([pattern.indices for pattern in patterns])
    joined = Pattern(
        patterns[0].format,
        lengths,
        indices.astype(index, copy=False),
        concatenate(starts),
        Knowledge(),
    )
    return make(values.astype(dtype, copy=False), joined)


def _beside(blocks: list[Any], dtype: np.dtype[Any]) -> Any:
    """Return canonical compressed arrays joined along the other axis: their sum."""
    format = blocks[0].format
    axis = 1 if format == "csr" else 0
    lengths = list(blocks[0].shape)
    lengths[axis] = sum(block.shape[axis] for block in blocks)
    index = index_dtype(sum(block.nnz for block in blocks), *lengths)
    moved, before = [], 0
    for block in blocks:
        pattern = block._pattern
        indices = pattern.indices.astype(index, copy=False) + index.type(before)
        indptr = pattern.indptr.astype(index, copy=False)
        known = Knowledge(CANONICAL)
        wide = Pattern(format, (lengths[0], lengths[1]), indices, indptr, known)
        moved.append(make(block._values.astype(dtype, copy=False), wide))
        before += block.shape[axis]
    while len(moved) > 1:
        pairs = zip(moved[::2], moved[1::2], strict=False)
        rest = moved[len(moved) // 2 * 2 :]
        factors = ffi.NULL, ffi.NULL
        call = lib.GpuSparse_add
        sums = [of_pair(call, *pair, dtype, "hstack", *factors) for pair in pairs]
        moved = sums + rest
    return moved[0]


def kron(A: Any, B: Any, format: Format = None) -> Any:
    """Return the Kronecker product, by default in the format of ``A``.

    >>> A = gpuarray.sparse.csr_array([[1, 2]])
    >>> print(gpuarray.sparse.kron(A, A).toarray())
    [[1 2 2 4]]
    """
    a, b = (require(_block("kron", x), "kron") for x in (A, B))
    check_context(a, b, "kron")
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    values = (a._values[:, None] * b._values[None, :]).reshape(-1)
    rows, columns = (
        (own.astype(INT64)[:, None] * length + other[None, :]).reshape(-1)
        for own, other, length in zip(places(a), places(b), b.shape, strict=True)
    )
    wanted = format or a.format
    return _listed(shape, [(values, rows, columns)], values.dtype, wanted, a.context)


def find(A: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of the elements that are not zero; waits.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> print(*gpuarray.sparse.find(A))
    [0 1] [1 0] [1 2]
    """
    found = without_zeros(canonical(require(_block("find", A), "find")))
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
    return asformat(_listed(matrix, [part], values.dtype, None, place), format)


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
