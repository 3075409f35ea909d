"""Rows of sparse matrices in compressed rows, float32 with int32 indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.rows import Array, Names, Row, Sizes, Work, normal

EACH = 32  # elements of a row
FEW = 8  # of a matrix that is multiplied by itself
WIDE = 64  # columns of a dense matrix

Values = list[Any]


def rows(sizes: Sizes) -> list[Row]:
    """All of them."""
    n = sizes.sparse
    random, banded, skewed = scattered(n, EACH), band(n, EACH), power_law(n, EACH)
    count = n * EACH
    read = 8 * count + 4 * (n + 1)
    return [
        *(
            row(
                f"{kind}, times a vector",
                "us",
                lambda names, a, x: names.product(a, x),
                lambda make=make: [*make(), normal((n,), 1)],
                bytes=read + 8 * n,
            )
            for kind, make in (
                ("sparse", random),
                ("banded", banded),
                ("power-law rows", skewed),
            )
        ),
        row(
            f"sparse, times {WIDE} columns",
            "us",
            lambda names, a, x: names.product(a, x),
            lambda: [*random(), normal((n, WIDE), 1)],
            bytes=read + 8 * n * WIDE,
        ),
        row(
            "sparse, transposed",
            "us",
            lambda names, a: names.transposed(a),
            random,
            bytes=2 * read,
        ),
        row(
            "sparse + sparse",
            "us",
            lambda names, a, b: names.sparse_sum(a, b),
            lambda: [*random(), *scattered(n, EACH, 7)()],
            bytes=4 * read,
            operands=2,
        ),
        row(
            f"sparse of {FEW} a row, times itself",
            "us",
            lambda names, a: names.sparse_product(a, a),
            scattered(n, FEW),
        ),
        row(
            "power-law rows, times itself",
            "us",
            lambda names, a: names.sparse_product(a, a),
            power_law(n // 16, FEW),
        ),
        row(
            f"product of {WIDE} terms, sampled",
            "us",
            lambda names, a, x, y: names.sampled(a, x, y),
            lambda: [*scattered(n, FEW)(), normal((n, WIDE), 1), normal((WIDE, n), 2)],
            bytes=8 * FEW * n + 8 * n * WIDE,
        ),
    ]


def row(
    name: str,
    unit: str,
    function: Callable[..., Any],
    data: Callable[[], list[Array]],
    operands: int = 1,
    **more: Any,
) -> Row:
    """A row of a function of matrices, three arrays each, and of dense operands."""

    def work(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        parts = [data[3 * k : 3 * k + 3] for k in range(operands)]
        found = function(
            names, *(names.matrix(*part) for part in parts), *data[3 * operands :]
        )
        return state, list(found) if isinstance(found, tuple) else [found]

    made: Work = work
    return Row(name, unit, made, data, compiled=False, tolerance=1e-4, **more)


def compressed(indices: Array, lengths: Array, seed: int) -> list[Array]:
    """Values, column indices, and where each row begins."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
    return [normal((len(indices),), seed), indices.astype("int32"), starts]


def distinct(n: int, shape: tuple[int, int], seed: int) -> Array:
    """Rows of column indices at random, in order, none twice."""
    drawn = np.random.default_rng(seed).integers(0, n - shape[1] + 1, shape)
    drawn.sort(axis=1)
    found: Array = drawn + np.arange(shape[1])
    return found


def scattered(n: int, each: int, seed: int = 0) -> Callable[[], list[Array]]:
    """A square matrix with as many elements in each row, at random."""
    return lambda: compressed(
        distinct(n, (n, each), seed).reshape(-1), np.full(n, each), seed
    )


def band(n: int, each: int) -> Callable[[], list[Array]]:
    """A square matrix of neighbouring diagonals."""

    def made() -> list[Array]:
        first = np.clip(np.arange(n) - each // 2, 0, n - each)
        indices = first[:, None] + np.arange(each)
        return compressed(indices.reshape(-1), np.full(n, each), 0)

    return made


def power_law(n: int, each: int) -> Callable[[], list[Array]]:
    """A square matrix of as many elements, half of them in rows that halve in length,
    the longest of which is full."""
    half = each // 2

    def made() -> list[Array]:
        long, left = [], n * half
        while left > n // 64 + each:
            long.append(min(n, max(left // 2, 1)))
            left -= long[-1]
        places = np.linspace(0, n - 1, len(long)).astype(int)
        short = distinct(n, (n, half), 0)
        lengths = np.full(n, half)
        lengths[places] = long
        found: list[Array] = []
        begin = 0
        for place, length in zip(places, long, strict=True):
            found += [short[begin:place].reshape(-1), np.arange(length) * (n // length)]
            begin = place + 1
        indices = np.concatenate([*found, short[begin:].reshape(-1)])
        return compressed(indices, lengths, 0)

    return made
