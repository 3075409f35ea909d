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
from gpuarray.linalg import dot, matmul
from gpuarray.reduction import all, any, max, mean, min, prod, sum

__version__ = "0.1.0"

# libgpuarray's names.
GpuArray = Array
GpuContext = Context
GpuArrayException = GpuArrayError
UnsupportedException = Unsupported

globals().update(FUNCTIONS)

__all__ = [
    "SIZE",
    "SSIZE",
    "Array",
    "BackendError",
    "BadArgument",
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
    "all",
    "any",
    "arange",
    "array",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "context",
    "dot",
    "dtype_to_ctype",
    "dtype_to_typecode",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "get_default_context",
    "init",
    "linspace",
    "matmul",
    "max",
    "may_share_memory",
    "mean",
    "min",
    "ones",
    "ones_like",
    "prod",
    "set_default_context",
    "sum",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> Any:
    """Nothing: tells type checkers of the functions made from the table."""
    raise AttributeError(f"module 'gpuarray' has no attribute {name!r}")
