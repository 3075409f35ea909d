"""An n-d array on any CUDA or OpenCL device, used as a NumPy array is.

>>> import gpuarray, numpy
>>> a = gpuarray.asarray(numpy.arange(4.0), context="null")
>>> a.context
<context 'null': null (host memory, runs no kernel)>
>>> a
array([0., 1., 2., 3.], dtype=float64, context='null')

Importing the package opens no device and loads no vendor's library. Elementwise
functions (``gpuarray.exp``, ``gpuarray.add`` and so on) are made from the table in
``scalars.py``.
"""

from typing import Any

from gpuarray import dtypes, random
from gpuarray.array import Array
from gpuarray.base import may_share_memory
from gpuarray.context import (
    CacheInfo,
    Context,
    MemoryInfo,
    context,
    get_default_context,
    init,
    set_default_context,
)
from gpuarray.creation import (
    arange,
    array,
    asarray,
    ascontiguousarray,
    asfortranarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from gpuarray.dtypes import SIZE, SSIZE, dtype_to_ctype, dtype_to_typecode
from gpuarray.elementwise import FUNCTIONS
from gpuarray.errors import (
    BackendError,
    BadArgument,
    BadExchange,
    BadIndex,
    BadType,
    BadValue,
    ContextClosed,
    ContextLost,
    DeviceNotFound,
    ForkedContext,
    GpuArrayError,
    KernelError,
    KernelFailure,
    LibraryMissing,
    NeedsCopy,
    OutOfMemory,
    ReadOnly,
    SystemRefusal,
    TooLarge,
    Unsupported,
)
from gpuarray.kernel import GpuKernel
from gpuarray.linalg import (
    allow_tf32,
    dot,
    gemm,
    gemm_bias,
    gemmBatch_3d,
    gemv,
    ger,
    matmul,
    vdot,
)
from gpuarray.picking import (
    add_at,
    argwhere,
    compress,
    count_nonzero,
    extract,
    flatnonzero,
    nonzero,
    put,
    put_along_axis,
    take,
    take_along_axis,
    where,
)
from gpuarray.reduction import (
    all,
    any,
    argmax,
    argmin,
    max,
    mean,
    min,
    prod,
    ptp,
    sum,
)
from gpuarray.scanning import cummax, cummin, cumprod, cumsum
from gpuarray.sorting import argsort, sort, sort_pairs, topk

__version__ = "0.1.0"

# libgpuarray's names.
GpuArray = Array
GpuContext = Context
GpuArrayException = GpuArrayError
UnsupportedException = Unsupported

globals().update(FUNCTIONS | {"where": where})

__all__ = [
    "SIZE",
    "SSIZE",
    "Array",
    "BackendError",
    "BadArgument",
    "BadExchange",
    "BadIndex",
    "BadType",
    "BadValue",
    "CacheInfo",
    "Context",
    "ContextClosed",
    "ContextLost",
    "DeviceNotFound",
    "ForkedContext",
    "GpuArray",
    "GpuArrayError",
    "GpuArrayException",
    "GpuContext",
    "GpuKernel",
    "KernelError",
    "KernelFailure",
    "LibraryMissing",
    "MemoryInfo",
    "NeedsCopy",
    "OutOfMemory",
    "ReadOnly",
    "SystemRefusal",
    "TooLarge",
    "Unsupported",
    "UnsupportedException",
    "__version__",
    "add_at",
    "all",
    "allow_tf32",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "array",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "compress",
    "context",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dot",
    "dtype_to_ctype",
    "dtype_to_typecode",
    "empty",
    "empty_like",
    "extract",
    "eye",
    "flatnonzero",
    "from_dlpack",
    "full",
    "full_like",
    "gemm",
    "gemmBatch_3d",
    "gemm_bias",
    "gemv",
    "ger",
    "get_default_context",
    "init",
    "linspace",
    "matmul",
    "max",
    "may_share_memory",
    "mean",
    "min",
    "nonzero",
    "ones",
    "ones_like",
    "prod",
    "ptp",
    "put",
    "put_along_axis",
    "random",
    "set_default_context",
    "sort",
    "sort_pairs",
    "sum",
    "take",
    "take_along_axis",
    "topk",
    "vdot",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> Any:
    """``bfloat16``; tells type checkers of the functions made from the table, too."""
    if name == "bfloat16":
        return dtypes.bfloat16()
    raise AttributeError(f"module 'gpuarray' has no attribute {name!r}")
