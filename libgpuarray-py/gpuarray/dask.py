"""Arrays as chunks of Dask.

Most of it is general: operations come through ``__array_function__``, names from
``__dask_tokenize__``. Here Dask is told what it looks up by the type of a chunk, and
``distributed`` how its own serializers send one; those of pickle can by themselves.
Nothing of Dask is imported, and it may be imported before this package or after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray import pickling
from gpuarray.array import Array
from gpuarray.creation import full
from gpuarray.importing import after_import


def tell() -> None:
    """Have Dask's dispatches know arrays as soon as they are there."""
    for module in _DISPATCHES:
        after_import(module, _register)


def _register(module: Any) -> None:
    for name, function in _DISPATCHES[module.__name__].items():
        if hasattr(module, name):  # an older or newer Dask may do without
            getattr(module, name).register(Array)(function)


def _serialize(array: Array, context: Any = None) -> Any:
    """The header and the frames of an array's host values, and where they were."""
    from distributed.protocol.serialize import dask_serialize

    header, frames = dask_serialize.dispatch(np.ndarray)(array._read(), context)
    return {"host": header, "context": array.context.name}, frames


def _deserialize(header: dict[str, Any], frames: Any) -> Any:
    """The array again, where an unpickled one would be."""
    from distributed.protocol.serialize import dask_deserialize

    host = dask_deserialize.dispatch(np.ndarray)(header["host"], frames)
    return pickling.restore(Array, host, header["context"])


def _numel(
    x: Array,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = float,
    **_: Any,
) -> Any:
    """How many elements a sum over ``axis`` adds up: an array on the context of ``x``.

    By itself Dask makes an array of NumPy, which does not mix with ours.
    """
    axes = (
        range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    )
    reduced = {one % x.ndim for one in axes}
    count = 1
    for i in reduced:
        count *= x.shape[i]
    lengths = [1 if i in reduced else n for i, n in enumerate(x.shape)]
    if not keepdims:
        lengths = [n for i, n in enumerate(x.shape) if i not in reduced]
    return full(lengths, count, dtype, x.context)


_DISPATCHES: dict[str, dict[str, Any]] = {
    "dask.sizeof": {"sizeof": lambda array: array.nbytes},
    "dask.array.dispatch": {
        "numel_lookup": _numel,
        "to_numpy_dispatch": lambda array, **_: array._read(),
    },
    "distributed.protocol.serialize": {
        "dask_serialize": _serialize,
        "dask_deserialize": _deserialize,
    },
}
"""What looks up something by the type of an array, and what it shall find."""
