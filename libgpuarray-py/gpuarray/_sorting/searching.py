"""Binary search in sorted arrays, and flat indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from gpuarray._core.arguments import as_list, as_shape
from gpuarray._core.base import BaseArray, asnumpy, beside, require, require_all
from gpuarray._core.context import Context
from gpuarray._indexing.advanced_indexing import INT64, take_at
from gpuarray._kernels.codegen import once
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.texts import kernel_text
from gpuarray.dtypes import OFFSET, SIZE, dtype_to_ctype, result_type, work_dtype
from gpuarray.errors import BadType, BadValue, host_errors

DType = np.dtype[Any]


def _kernel(context: Context, dtype: DType, side: str) -> Any:
    key = "searchsorted", dtype, side
    kernel = context._kernels.get(key)
    if kernel is None:
        ctype = dtype_to_ctype(dtype)
        name = f"searchsorted_{ctype.removeprefix('ga_')}{side}"
        order = {
            "SEARCH_TYPE": ctype,
            "SEARCH_IS_COMPLEX": str(int(dtype.kind == "c")),
            "SEARCH_LESS": f"ga_less_{ctype}",
        }
        words = {
            **order,
            "SEARCH_NAME": name,
            "SEARCH_IS_RIGHT": str(int(side == "right")),
        }
        less = kernel_text(__package__, "less", order)
        source = once(less) + kernel_text(__package__, "search", words)
        types = [*[BaseArray, OFFSET, SIZE] * 3, BaseArray]
        kernel = context._kernels[key] = GpuKernel(source, name, types, context)
    return kernel


def _values(array: BaseArray, values: Any) -> Any:
    """Return the values on the context of ``array``; a Python number is weak."""
    if isinstance(values, BaseArray):
        return require_all("searchsorted", array, values)[1]
    host = np.asarray(values)
    is_weak = isinstance(values, int | float | complex)
    if is_weak and not (host.dtype.kind in "iu" and array.dtype.kind in "iu"):
        host = host.astype(result_type(array.dtype, type(values)))
    return array.from_host(host, array.context)


def searchsorted(
    a: Any,
    v: Any,
    side: Literal["left", "right"] = "left",
    sorter: Any = None,
) -> Any:
    """Return the index (int64) to insert ``v`` at so that a sorted vector stays sorted.

    ``side`` 'left' returns the first such index, 'right' the last. ``sorter`` are
    indices that sort the vector, as from ``argsort``. nan comes after all numbers.

    >>> a = gpuarray.asarray([1, 3, 5])
    >>> print(gpuarray.searchsorted(a, 3, side="right"))
    2
    """
    source = require(a, "searchsorted")
    if source.ndim != 1:
        raise BadValue(f"searchsorted: shape {source.shape}, expected a vector")
    if side not in ("left", "right"):
        raise BadValue(f"searchsorted: side is {side!r}, expected 'left' or 'right'")
    values = _values(source, v)
    dtype = work_dtype(result_type(source.dtype, values.dtype))
    places = _sorter(source, sorter)
    packed = source.astype(dtype, "C", copy=False)
    values = values.astype(dtype, "C", copy=False)
    context = source.context
    out = source.allocate(values.shape, INT64, context, operation="searchsorted")
    if out.size:
        order = out if places is None else places
        _kernel(context, dtype, side)(
            *(packed, packed.offset, packed.size),
            *(values, values.offset, values.size),
            *(order, order.offset, int(places is not None)),
            out,
            n=out.size,
        )
    return out


def _sorter(array: BaseArray, sorter: Any) -> Any:
    if sorter is None:
        return None
    _, places = beside("searchsorted", array, sorter)
    if places.dtype.kind not in "iu":
        raise BadType(f"searchsorted: a sorter of {places.dtype}, expected integers")
    if places.shape != array.shape:
        raise BadValue(
            f"searchsorted: a sorter of shape {places.shape} for a vector of "
            f"{array.shape[0]} elements"
        )
    return places.astype(INT64, "C", copy=False)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return each element's interval between ``bins``: int64, 0 before the first.

    The bins ascend or descend; an interval includes its left end, or with ``right`` the
    other one. Bins on the device are waited for, to see which way they go.

    >>> bins = gpuarray.asarray([0.0, 1.0, 2.0])
    >>> print(gpuarray.digitize(gpuarray.asarray([-0.5, 0.0, 1.5, 9.0]), bins))
    [0 1 2 3]
    """
    source = require(x, "digitize")
    edges = asnumpy(bins)
    if edges.ndim != 1:
        raise BadValue(f"digitize: bins of shape {edges.shape}, expected a vector")
    if source.dtype.kind == "c" or edges.dtype.kind == "c":
        raise BadType("digitize: complex numbers lie in no intervals")
    ascends = bool((edges[1:] >= edges[:-1]).all())
    if not ascends and not (edges[1:] <= edges[:-1]).all():
        raise BadValue("digitize: the bins must ascend or descend")
    side: Literal["left", "right"] = "left" if right else "right"
    bins = edges if ascends else edges[::-1]
    indices = searchsorted(source.from_host(bins, source.context), source, side)
    return indices if ascends else edges.size - indices


# ---- flat indices ----


def _check_bounds(indices: Any, length: int) -> None:
    """BadIndex at the next wait for an index out of bounds; NumPy's below 0, too."""
    zero = np.zeros((), np.bool_)
    line = indices.from_host(zero, indices.context).broadcast_to((length,))
    take_at(line, [indices], 0)


def _integers(array: Any, operation: str) -> Any:
    if require(array, operation).dtype.kind not in "iu":
        raise BadType(f"{operation}: indices of {array.dtype}, expected integers")
    return array.astype(INT64, copy=False)


def unravel_index(
    indices: Any, shape: int | Sequence[int], order: Literal["C", "F"] = "C"
) -> tuple[Any, ...]:
    """Return, for each axis of ``shape``, the indices of flat indices: int64.

    One out of bounds raises BadIndex when the context is next waited for; a negative
    one counts from the end. Indices on the host give NumPy's result, on the host.

    >>> print(*gpuarray.unravel_index(gpuarray.asarray([2, 3]), (2, 3)))
    [0 1] [2 0]
    """
    if not isinstance(indices, BaseArray):
        with host_errors("unravel_index"):
            return np.unravel_index(indices, shape, order)
    flat = _integers(indices, "unravel_index")
    lengths = as_shape(shape, "unravel_index")
    _order(order, "unravel_index")
    size = math.prod(lengths)
    _check_bounds(flat, size)
    rest = flat % size if size else flat
    coordinates = []
    for length in reversed(lengths) if order == "C" else lengths:
        coordinates.append(rest % max(length, 1))
        rest = rest // max(length, 1)
    return tuple(reversed(coordinates) if order == "C" else coordinates)


def _order(order: str, operation: str) -> None:
    if order not in ("C", "F"):
        raise BadValue(f"{operation}: order is {order!r}, expected 'C' or 'F'")


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: int | Sequence[int],
    mode: str | Sequence[str] = "raise",
    order: Literal["C", "F"] = "C",
) -> Any:
    """Return the flat indices of indices along each axis of ``dims``: int64.

    ``mode``, one or one for each axis, treats an index out of bounds: 'raise' raises
    BadIndex when the context is next waited for, 'wrap' takes it modulo the length,
    'clip' stops at the ends. Beside an index array on a device those of the host are
    copied there; indices on the host alone give NumPy's result, on the host.

    >>> places = gpuarray.asarray([0, 1]), gpuarray.asarray([2, 0])
    >>> print(gpuarray.ravel_multi_index(places, (2, 3)))
    [2 3]
    """
    lengths = as_shape(dims, "ravel_multi_index")
    _order(order, "ravel_multi_index")
    listed = as_list(multi_index, "multi_index", "ravel_multi_index")
    if not any(isinstance(indices, BaseArray) for indices in listed):
        ravel: Any = np.ravel_multi_index
        with host_errors("ravel_multi_index"):
            return ravel(multi_index, dims, mode, order)
    beside_each_other = beside("ravel_multi_index", *listed)
    listed = [_integers(indices, "ravel_multi_index") for indices in beside_each_other]
    if len(listed) != len(lengths):
        raise BadValue(
            f"ravel_multi_index: {len(listed)} index arrays for {len(lengths)} axes"
        )
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(mode)
    total: Any = None
    steps = _steps(lengths, order)
    for places, length, index_mode, step in zip(
        listed, lengths, modes, steps, strict=True
    ):
        part = _kept_inside(places, length, index_mode) * step
        total = part if total is None else total + part
    return total


def _steps(lengths: Sequence[int], order: str) -> list[int]:
    """Return the stride of each axis, in elements of the raveled array."""
    shape = lengths[::-1] if order == "C" else lengths
    steps = [math.prod(shape[:i]) for i in range(len(shape))]
    return steps[::-1] if order == "C" else steps


def _kept_inside(places: Any, length: int, mode: str) -> Any:
    if mode == "wrap":
        return places % length
    if mode == "clip":
        return places.clip(0, length - 1)
    if mode != "raise":
        raise BadValue(
            f"ravel_multi_index: got mode {mode!r}, expected 'raise', 'wrap' or 'clip'"
        )
    _check_bounds(places, length)
    return places
