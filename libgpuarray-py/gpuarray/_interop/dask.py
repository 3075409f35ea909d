"""Arrays as chunks of Dask.

Most of it is general: operations come through ``__array_function__``, names from
``__dask_tokenize__``. Here Dask gets its functions by the type of a chunk, and
``distributed`` its serializers; pickle's need none. Nothing of Dask is imported, and it
may be imported before this package or after it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._import_hooks import after_import
from gpuarray._interop import pickling
from gpuarray.dtypes import as_dtype

ArrayClass = type[BaseArray]


def register(array_class: ArrayClass) -> None:
    """Register a class of arrays in Dask's dispatches when they are imported."""
    for module, handlers in _handlers(array_class).items():
        after_import(module, partial(_register, array_class, handlers))


def _register(array_class: ArrayClass, handlers: dict[str, Any], module: Any) -> None:
    for name, function in handlers.items():
        if hasattr(module, name):  # other versions of Dask may lack it
            getattr(module, name).register(array_class)(function)


def _serialize(array: BaseArray, context: Any = None) -> Any:
    """Return header and frames of an array's host values, and its context."""
    from distributed.protocol.serialize import dask_serialize

    header, frames = dask_serialize.dispatch(np.ndarray)(array._read(), context)
    return {"host": header, "context": array.context.name}, frames


def _deserialize(array_class: ArrayClass, header: dict[str, Any], frames: Any) -> Any:
    """Return the array again, where an unpickled one would be."""
    from distributed.protocol.serialize import dask_deserialize

    host = dask_deserialize.dispatch(np.ndarray)(header["host"], frames)
    return pickling.restore(array_class, host, header["context"])


def _numel(
    x: Any,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = float,
    **_: Any,
) -> Any:
    """Return the number of elements of a sum over ``axis``, on the context of ``x``.

    Dask itself makes a NumPy array, which does not mix with ours.
    """
    axes = (
        range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    )
    reduced = {number % x.ndim for number in axes}
    count = 1
    for i in reduced:
        count *= x.shape[i]
    lengths = [1 if i in reduced else n for i, n in enumerate(x.shape)]
    if not keepdims:
        lengths = [n for i, n in enumerate(x.shape) if i not in reduced]
    numel = x.allocate(tuple(lengths), as_dtype(dtype, "numel"), x.context)
    numel.fill(count)
    return numel


def _handlers(array_class: ArrayClass) -> dict[str, dict[str, Any]]:
    """Return Dask's functions by the type of an array: by module, by dispatch."""
    return {
        "dask.sizeof": {"sizeof": lambda array: array.nbytes},
        "dask.array.dispatch": {
            "numel_lookup": _numel,
            "to_numpy_dispatch": lambda array, **_: array._read(),
        },
        "distributed.protocol.serialize": {
            "dask_serialize": _serialize,
            "dask_deserialize": partial(_deserialize, array_class),
        },
    }
