"""Arrays of blocks, and Kronecker products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_list
from gpuarray._core.base import BaseArray
from gpuarray._creation.conversion import asarray
from gpuarray._manipulation.joining import concatenate
from gpuarray._native import ffi, lib
from gpuarray._sparse.arrays import csr_array
from gpuarray._sparse.base import (
    check_context,
    is_canonical,
    is_number,
    is_sparse,
    make,
    require,
)
from gpuarray._sparse.building import Format, eye_array, listed_array
from gpuarray._sparse.conversion import (
    asformat,
    of_pair,
    places,
)
from gpuarray._sparse.indexing import as_matrix
from gpuarray._sparse.pattern import (
    CANONICAL,
    INT64,
    Knowledge,
    Pattern,
    index_dtype,
)
from gpuarray.dtypes import as_dtype, result_type
from gpuarray.errors import BadValue


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
    rows = [
        as_list(row, "a row", operation) for row in as_list(blocks, "blocks", operation)
    ]
    place = _context_of(block for row in rows for block in row)
    grid = [[_block(operation, block, place) for block in row] for row in rows]
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
    return listed_array(shape, parts, target, format or own, every[0].context)


def _context_of(blocks: Iterable[Any]) -> Any:
    """Return the context of the first array of a device; None: there is none."""
    arrays = (x.context for x in blocks if is_sparse(x) or isinstance(x, BaseArray))
    return next(arrays, None)


def _block(operation: str, block: Any, place: Any = None) -> Any:
    """Return a block as a matrix; of numbers and lists one on a context."""
    if block is None:
        return None
    if not is_sparse(block):
        is_one = is_number(block)
        dense = block if isinstance(block, BaseArray) else asarray(block, None, place)
        block = csr_array(dense.reshape(1, -1) if is_one or dense.ndim == 1 else dense)
    return as_matrix(require(block, operation))


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
    place = _context_of((A, B))
    a, b = (require(_block("kron", x, place), "kron") for x in (A, B))
    check_context(a, b, "kron")
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    values = (a._values[:, None] * b._values[None, :]).reshape(-1)
    rows, columns = (
        (own.astype(INT64)[:, None] * length + other[None, :]).reshape(-1)
        for own, other, length in zip(places(a), places(b), b.shape, strict=True)
    )
    wanted = format or a.format
    return listed_array(
        shape, [(values, rows, columns)], values.dtype, wanted, a.context
    )


def kronsum(A: Any, B: Any, format: Format = None) -> Any:
    """Return the Kronecker sum of square arrays, ``kron(I, A) + kron(B, I)``.

    By default in CSR.

    >>> A = gpuarray.sparse.csr_array([[1, 2], [0, 3]])
    >>> print(gpuarray.sparse.kronsum(A, A).diagonal())
    [2 4 4 6]
    """
    a, b = (_block("kronsum", x) for x in (A, B))
    check_context(a, b, "kronsum")
    for x in (a, b):
        if x.shape[0] != x.shape[1]:
            raise BadValue(f"kronsum: an array of shape {x.shape}, expected a square")
    ones_of_a, ones_of_b = (
        eye_array(x.shape[0], dtype=x.dtype, context=x.context) for x in (a, b)
    )
    return asformat(
        kron(ones_of_b, a, "csr") + kron(b, ones_of_a, "csr"), format or "csr"
    )
