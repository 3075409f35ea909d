"""Arrays as chunks of Dask.

Most of it is general: operations come through ``__array_function__``, names from
``__dask_tokenize__``, and ``distributed`` sends arrays by pickle's protocol 5, with the
elements out of band. Here Dask is told what it looks up by the type of a chunk. Nothing
of Dask is imported unless it is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any

from gpuarray import pickling
from gpuarray.array import Array
from gpuarray.creation import full


def register() -> None:
    """Tell Dask, where it is loaded, how to treat arrays.

    The package has it called when an array is pickled, unpickled or named for Dask: no
    array comes into a graph or a worker without that.
    """
    if "dask" not in sys.modules or register not in pickling.when_asked:
        return
    pickling.when_asked.remove(register)
    from dask.array.dispatch import numel_lookup, to_numpy_dispatch
    from dask.sizeof import sizeof

    sizeof.register(Array)(lambda array: array.nbytes)
    numel_lookup.register(Array, _numel)
    to_numpy_dispatch.register(Array, lambda array, **_: array._read())


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
