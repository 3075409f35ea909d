"""Arrays as chunks of Dask.

Most of it is general: operations come through ``__array_function__``, names from
``__dask_tokenize__``. Here Dask gets its functions by the type of a chunk, and
``distributed`` its serializers; pickle's need none. Nothing of Dask is imported, and it
may be imported before this package or after it. Arrays that Dask creates are made by
``gpuarray._dask``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from gpuarray._core.arguments import Order
from gpuarray._core.base import BaseArray
from gpuarray._import_hooks import after_import
from gpuarray._interop import pickling
from gpuarray.dtypes import as_dtype

ArrayClass = type[BaseArray]
Find = Callable[[str], Any]


def register(array_class: ArrayClass, find: Find, factors: Callable[[], Any]) -> None:
    """Register a class of arrays in Dask's dispatches when they are imported.

    ``find`` returns a public object of the package by its name, ``factors`` the module
    of ``lu`` and ``inv``.
    """
    for module, handlers in _handlers(array_class, find).items():
        after_import(module, partial(_register, array_class, handlers))
    after_import("dask.array.utils", partial(_solve_on_device, array_class, find))
    after_import("dask.array.linalg", partial(_factor_on_device, array_class, factors))


def _register(array_class: ArrayClass, handlers: dict[str, Any], module: Any) -> None:
    for name, function in handlers.items():
        if hasattr(module, name):  # other versions of Dask may lack it
            getattr(module, name).register(array_class)(function)


def _solve_on_device(array_class: ArrayClass, find: Find, module: Any) -> None:
    """Have Dask solve triangular systems of our chunks by our function.

    It calls SciPy's for all arrays but CuPy's, and asks no protocol.
    """
    for_others = getattr(module, "scipy_linalg_safe", None)
    if for_others is None:
        return

    def scipy_linalg_safe(func_name: str, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(arg, array_class) for arg in args):
            return getattr(find("linalg"), func_name)(*args, **kwargs)
        return for_others(func_name, *args, **kwargs)

    module.scipy_linalg_safe = scipy_linalg_safe


def _factor_on_device(
    array_class: ArrayClass, factors: Callable[[], Any], module: Any
) -> None:
    """Have Dask factor matrices with our chunks by our functions, in ``solve``, too.

    It calls SciPy's for all arrays, and makes chunks of NumPy's beside them.
    """

    def chosen(name: str, for_others: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(for_others)
        def function(a: Any) -> Any:
            is_ours = isinstance(getattr(a, "_meta", None), array_class)
            return getattr(factors(), name)(a) if is_ours else for_others(a)

        return function

    for name in ("lu", "inv"):
        setattr(module, name, chosen(name, getattr(module, name)))


# ---- messages among workers ----


def _serialize(array: BaseArray, context: Any = None) -> Any:
    """Return header and frames of an array's host values, and its context.

    A processor's memory that is kept for reuse counts as its worker's, which would wait
    for ever to have less of it.
    """
    from distributed.protocol.serialize import dask_serialize

    place = array.context
    if place.is_cpu and place.memory_info().cached > array.nbytes:
        place.trim()
    header, frames = dask_serialize.dispatch(np.ndarray)(array._read(), context)
    return {"host": header, "context": place.name}, frames


def _deserialize(array_class: ArrayClass, header: dict[str, Any], frames: Any) -> Any:
    """Return the array again, where an unpickled one would be."""
    from distributed.protocol.serialize import dask_deserialize

    host = dask_deserialize.dispatch(np.ndarray)(header["host"], frames)
    return pickling.restore(array_class, host, header["context"])


def _serialize_on_device(array: BaseArray) -> Any:
    """Return header and the array itself as a frame, which a comm such as UCX moves."""
    if array.context.kind != "cuda":
        raise NotImplementedError("no CUDA array: the next serializer takes it")
    dense = array if array.flags.forc else array.copy("C")
    order: Order = "C" if dense.flags.c_contiguous else "F"
    flat = dense.ravel(order).view(np.uint8)
    header = {"dtype": array.dtype.name, "shape": array.shape, "order": order}
    return header | {"context": array.context.name}, [flat]


def _deserialize_on_device(find: Find, header: dict[str, Any], frames: Any) -> Any:
    """Return the array again: in the frame, or a copy on this process's device."""
    (frame,) = frames
    where = pickling.place(header["context"])
    flat = find("asarray")(frame)
    if flat.context is not where:
        flat = flat.transfer(where)
    dtype = as_dtype(header["dtype"], "deserialize")
    return flat.view(dtype).reshape(header["shape"], order=header["order"])


# ---- functions by the type of a chunk ----


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


def _percentile(find: Find, a: Any, q: Any, method: str = "linear") -> Any:
    """Return the percentiles of a chunk of one axis, and its length."""
    return (find("percentile")(a, q, method=method) if len(a) else None), len(a)


def _handlers(array_class: ArrayClass, find: Find) -> dict[str, dict[str, Any]]:
    """Return Dask's functions by the type of an array: by module, by dispatch."""
    return {
        "dask.sizeof": {"sizeof": lambda array: array.nbytes},
        "dask.array.dispatch": {
            "numel_lookup": _numel,
            "percentile_lookup": partial(_percentile, find),
            "empty_lookup": lambda *args, **kwargs: find("empty")(*args, **kwargs),
            "to_numpy_dispatch": lambda array, **_: array._read(),
        },
        "distributed.protocol.serialize": {
            "dask_serialize": _serialize,
            "dask_deserialize": partial(_deserialize, array_class),
        },
        "distributed.protocol.cuda": {
            "cuda_serialize": _serialize_on_device,
            "cuda_deserialize": partial(_deserialize_on_device, find),
        },
    }
