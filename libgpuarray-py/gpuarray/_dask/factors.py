"""LU factors and inverses of Dask's arrays with chunks on devices.

Dask's own `lu` calls SciPy for each chunk on the diagonal, and exchanges rows within
that chunk alone. Here a task has a column of chunks, from the first row to the last:
rows are exchanged over its whole length, as LAPACK does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.array.core import Array
from dask.array.linalg import solve_triangular
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

import gpuarray
from gpuarray._linalg import solvers
from gpuarray.dtypes import parts_dtype
from gpuarray.errors import BadType, BadValue, LinAlgError

Column = Any
"""Chunks of one column, joined; rows that are done are those of the factors."""
Order = Any
"""Which of its rows a column had at each place, from one of its rows on."""


def lu(a: Array) -> tuple[Array, Array, Array]:
    """Return p, l and u as ``scipy.linalg.lu``, with the chunks of ``a``.

    Chunks are as long as wide; a column of them has room on a device.
    """
    _check("lu", a)
    lengths, token = a.chunks[0], tokenize(a)
    names = {part: f"lu-{part}-{token}" for part in "plu"}
    columns, factors, order = (
        f"lu-{part}-{token}" for part in ("columns", "factors", "order")
    )
    dtype = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    real = parts_dtype(dtype)
    n = len(lengths)
    starts = np.cumsum([0, *lengths]).tolist()
    graph: dict[Any, Any] = {}
    for j in range(n):
        graph[columns, j, 0] = (_joined, [(a.name, i, j) for i in range(n)])
        for k in range(j):
            done = (factors, k), starts[k], lengths[k]
            graph[columns, j, k + 1] = (_eliminated, (columns, j, k), *done)
        graph[factors, j] = (_factored, (columns, j, j), starts[j])
        later = [(factors, k) for k in range(j + 1, n)]
        graph[columns, j] = (_reordered, (factors, j), later, starts[j + 1 : n])
    graph[order] = (_composed, [(factors, j) for j in range(n)], starts[:n])
    for i in range(n):
        for j in range(n):
            place = starts[i], lengths[i], starts[j], lengths[j]
            graph[names["p"], i, j] = (_exchanges, order, real, *place)
            graph[names["l"], i, j] = (_lower, (columns, j), *place)
            graph[names["u"], i, j] = (_upper, (columns, j), *place)

    def part(name: str, dtype: np.dtype[Any]) -> Array:
        layer = HighLevelGraph.from_collections(name, graph, dependencies=[a])
        meta = gpuarray.empty((0, 0), dtype, context=a._meta.context)
        return Array(layer, name, chunks=a.chunks, meta=meta)

    return part(names["p"], real), part(names["l"], dtype), part(names["u"], dtype)


def inv(a: Array) -> Array:
    """Return the inverse of a matrix, by its LU factors.

    Computing it raises LinAlgError if the matrix is singular.
    """
    _check("inv", a)
    p, lower, upper = lu(a)
    upper = upper.map_blocks(_without_zero_pivots, dtype=upper.dtype, meta=upper._meta)
    return solve_triangular(upper, solve_triangular(lower, p.T, lower=True))


def _without_zero_pivots(block: Any, block_id: tuple[int, int] = (0, 0)) -> Any:
    """A block of U: a triangular solve by a vendor's library divides by any pivot."""
    row, column = block_id
    if row == column and (block.diagonal() == 0).any():
        raise LinAlgError("inv: the matrix is singular")
    return block


def _check(operation: str, a: Array) -> None:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise BadValue(
            f"{operation}: an array of shape {a.shape}, expected a square matrix"
        )
    if a.chunks[0] != a.chunks[1]:
        raise BadValue(
            f"{operation}: rows are in chunks of {a.chunks[0]}, columns of "
            f"{a.chunks[1]}; expected the same: a.rechunk((n, n))"
        )
    if a.dtype.kind not in "biufc" or a.dtype == np.float16:
        raise BadType(
            f"{operation}: {a.dtype} is unsupported in linalg; convert it: "
            "a.astype('float32')"
        )


# ---- tasks ----


def _joined(chunks: list[Any]) -> Column:
    column = gpuarray.concatenate(chunks)
    is_float = column.dtype.kind in "fc"
    return column if is_float else column.astype(np.float64)


def _factored(column: Column, start: int) -> tuple[Column, Order]:
    """Factor the rows from ``start`` on; return the column and their order."""
    rows, order = solvers.lu_with_order(column[start:])
    return gpuarray.concatenate([column[:start], rows]), order


def _eliminated(
    column: Column, factored: tuple[Column, Order], start: int, width: int
) -> Column:
    """Take from a column what the factors of one before it have of it."""
    factors, order = factored
    rows = column[start:][order]
    of_rows = factors[start:]
    unit = gpuarray.eye(width, dtype=factors.dtype, context=factors.context)
    corner = gpuarray.tril(of_rows[:width], -1) + unit
    top = gpuarray.linalg.solve_triangular(corner, rows[:width], lower=True)
    below = rows[width:] - of_rows[width:] @ top
    return gpuarray.concatenate([column[:start], top, below])


def _reordered(
    factored: tuple[Column, Order],
    later: list[tuple[Column, Order]],
    starts: list[int],
) -> Column:
    """Exchange the rows of a column as the columns behind it have."""
    column, _ = factored
    for (_, order), start in zip(later, starts, strict=True):
        column = gpuarray.concatenate([column[:start], column[start:][order]])
    return column


def _composed(factored: list[tuple[Column, Order]], starts: list[int]) -> Order:
    """Return which row of the matrix each row of the factors is."""
    order: Any = None
    for (_, exchanged), start in zip(factored, starts, strict=True):
        if order is None:
            order = exchanged
        else:
            order = gpuarray.concatenate([order[:start], order[start:][exchanged]])
    return order


def _exchanges(
    order: Order, dtype: np.dtype[Any], row: int, m: int, first: int, n: int
) -> Any:
    """Return a chunk of p, which has a 1 for each row of l @ u."""
    rows = gpuarray.arange(row, row + m, context=order.context)
    return (rows[:, None] == order[None, first : first + n]).astype(dtype)


def _lower(column: Column, row: int, m: int, first: int, n: int) -> Any:
    chunk = column[row : row + m]
    if row != first:
        return chunk if row > first else gpuarray.zeros_like(chunk)
    unit = gpuarray.eye(n, dtype=column.dtype, context=column.context)
    return gpuarray.tril(chunk, -1) + unit


def _upper(column: Column, row: int, m: int, first: int, n: int) -> Any:
    chunk = column[row : row + m]
    if row != first:
        return chunk if row < first else gpuarray.zeros_like(chunk)
    return gpuarray.triu(chunk)
