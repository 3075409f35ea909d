"""The namespace ``T.extra_ops``: NumPy's further functions of arrays."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.broadcast.axes import squeeze as squeeze
from gpuarray.compiler.ops.creation.creation import to_one_hot as to_one_hot
from gpuarray.compiler.ops.creation.diagonals import (
    fill_diagonal as fill_diagonal,
    fill_diagonal_offset as fill_diagonal_offset,
)
from gpuarray.compiler.ops.index.picking import compress as compress
from gpuarray.compiler.ops.manipulation.repeating import repeat as repeat
from gpuarray.compiler.ops.sorting.extra_ops import (
    SearchSorted as SearchSorted,
    Unique as Unique,
    bartlett as bartlett,
    bincount as bincount,
    cov as cov,
    cpu_contiguous as cpu_contiguous,
    ravel_multi_index as ravel_multi_index,
    searchsorted as searchsorted,
    unique as unique,
    unravel_index as unravel_index,
)
from gpuarray.compiler.ops.sorting.scanning import (
    CumOp as CumOp,
    cumprod as cumprod,
    cumsum as cumsum,
    diff as diff,
)

_suggest_names(__name__)
