"""libgpuarray 0.7's core module: contexts, arrays, kernels and their functions.

``from pygpu import gpuarray`` becomes ``from gpuarray import gpuarray``. The names are
those of the package itself, with what only programs written for libgpuarray 0.7 use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray import dtypes
from gpuarray._core.adoption import cl_wrap_ctx, cuda_wrap_ctx
from gpuarray._core.base import may_share_memory
from gpuarray._core.context import Context, GpuContext
from gpuarray._core.devices import count_devices, count_platforms
from gpuarray._core.flags import Flags
from gpuarray._core.geometry import array_class
from gpuarray._core.opening import get_default_context, init, set_default_context
from gpuarray._creation.conversion import (
    array,
    asarray,
    ascontiguousarray,
    asfortranarray,
)
from gpuarray._creation.filled import empty, zeros
from gpuarray._interop import pygpu_array
from gpuarray._interop.pygpu_array import open_ipc_handle
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._manipulation.joining import concatenate
from gpuarray._manipulation.splitting import split
from gpuarray._native import lib
from gpuarray.array import Array, GpuArray
from gpuarray.dtypes import (
    OF_TYPECODE,
    SIZE,
    SSIZE,
    as_dtype,
    dtype_to_ctype,
    dtype_to_typecode,
)
from gpuarray.errors import (
    BadType,
    GpuArrayException,
    Unsupported,
    UnsupportedException,
)

__all__ = [
    "SIZE",
    "SSIZE",
    "GpuArray",
    "GpuArrayException",
    "GpuContext",
    "GpuKernel",
    "UnsupportedException",
    "abi_version",
    "api_version",
    "array",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "cl_wrap_ctx",
    "count_devices",
    "count_platforms",
    "cuda_wrap_ctx",
    "dtype_to_ctype",
    "dtype_to_typecode",
    "empty",
    "flags",
    "from_gpudata",
    "get_default_context",
    "get_include",
    "init",
    "may_share_memory",
    "open_ipc_handle",
    "register_dtype",
    "set_default_context",
    "zeros",
]


def __dir__() -> list[str]:
    return __all__


flags = Flags


def api_version() -> tuple[int, int]:
    """Return the version of the C interface that programs are written for.

    >>> gpuarray.gpuarray.api_version()[0]
    2
    """
    return int(lib.GPUARRAY_API_VERSION), 0


def abi_version() -> tuple[int, int]:
    """Return the version of the C library that programs are linked with.

    >>> gpuarray.gpuarray.abi_version()[0] >= 4
    True
    """
    major, minor = divmod(int(lib.GPUARRAY_ABI_VERSION), 1000)
    return major, minor


def get_include() -> str:
    """Return the folder of the C headers, for ``#include <gpuarray/array.h>``.

    >>> import os
    >>> os.path.isfile(os.path.join(gpuarray.get_include(), "gpuarray", "array.h"))
    True
    """
    # An installed package has them next to it, a checkout in its own folder.
    beside = Path(__file__).resolve().parent
    folders = beside / "include", beside.parent / "include"
    holding = (
        folder for folder in folders if (folder / "gpuarray" / "array.h").is_file()
    )
    return str(next(holding))


def register_dtype(dtype: npt.DTypeLike, cname: str | bytes) -> None:
    """Register another C name of a dtype, for kernels' declarations of arguments.

    Raises Unsupported for a dtype that arrays cannot have: one of several fields.

    >>> gpuarray.register_dtype("float32", "weight_t")
    >>> gpuarray.dtypes.NAME_TO_DTYPE["weight_t"]
    dtype('float32')
    """
    try:
        described = np.dtype(dtype)
    except (TypeError, ValueError):
        described = as_dtype(dtype, "register_dtype")
    if described.kind == "V" and described.fields is not None:
        raise Unsupported(
            f"register_dtype: arrays of {described} are not offered; use one array for "
            "each field, or an array of uint8 with an axis of "
            f"{described.itemsize} bytes, host.view('uint8')"
        )
    name = cname.decode() if isinstance(cname, bytes) else cname
    if not isinstance(name, str):
        raise BadType(f"register_dtype: cname is {cname!r:.60}, expected a text")
    dtypes.register_dtype(as_dtype(described, "register_dtype"), [name])


def from_gpudata(
    data: int,
    offset: int,
    dtype: npt.DTypeLike,
    shape: int | Sequence[int],
    context: Context | str | None = None,
    strides: Sequence[int] | None = None,
    writable: bool = True,
    base: Any = None,
    cls: type[Array] | None = None,
) -> Array:
    """Return an array on an existing buffer, a ``gpudata *`` given as an integer.

    ``offset`` and ``strides`` count bytes; without strides it is in C order. The buffer
    is retained, ``base`` lives as long as the array. BadValue if the array exceeds the
    buffer, or the buffer is of another context.

    >>> from gpuarray._native import ffi
    >>> a = gpuarray.arange(6)
    >>> address = int(ffi.cast("uintptr_t", a.struct.data))
    >>> print(gpuarray.gpuarray.from_gpudata(address, 8, a.dtype, 2, a.context))
    [1 2]
    """
    kind = Array if cls is None else array_class(cls, "from_gpudata")
    array: Array = pygpu_array.from_gpudata(
        kind, data, offset, dtype, shape, context, strides, writable, base
    )
    return array


def _split(a: Any, ind: Sequence[int], axis: int) -> list[Any]:
    """Return views of the parts between the indices ``ind``."""
    return list(split(a, list(ind), axis))


def _concatenate(
    al: Sequence[Any],
    axis: int,
    restype: int,
    cls: type[Array] | None = None,
    context: Context | None = None,
) -> Any:
    """Return the arrays joined, as ``cls``, in the dtype of a typecode."""
    dtype = OF_TYPECODE[restype]
    joined = concatenate(al, axis, dtype=dtype, casting="unsafe", context=context)
    return joined.view(Array if cls is None else array_class(cls, "concatenate"))
