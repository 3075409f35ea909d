"""The namespace ``T.extra_ops``: NumPy's further functions of arrays."""

from __future__ import annotations

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.broadcast.axes import squeeze
from gpuarray.compiler.ops.creation.creation import to_one_hot
from gpuarray.compiler.ops.creation.diagonals import fill_diagonal, fill_diagonal_offset
from gpuarray.compiler.ops.index.picking import compress
from gpuarray.compiler.ops.manipulation.repeating import repeat
from gpuarray.compiler.ops.sorting.extra_ops import (
    SearchSorted,
    Unique,
    bartlett,
    bincount,
    cov,
    cpu_contiguous,
    ravel_multi_index,
    searchsorted,
    unique,
    unravel_index,
)
from gpuarray.compiler.ops.sorting.scanning import CumOp, cumprod, cumsum, diff

__all__ = [
    "CumOp",
    "SearchSorted",
    "Unique",
    "bartlett",
    "bincount",
    "compress",
    "cov",
    "cpu_contiguous",
    "cumprod",
    "cumsum",
    "diff",
    "fill_diagonal",
    "fill_diagonal_offset",
    "ravel_multi_index",
    "repeat",
    "searchsorted",
    "squeeze",
    "to_one_hot",
    "unique",
    "unravel_index",
]

suggest_names(__name__)
