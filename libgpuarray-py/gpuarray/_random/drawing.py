"""The state of a generator, and draws from the table's distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_shape
from gpuarray._core.context import Context
from gpuarray._native import check, ffi, lib
from gpuarray._random.parameters import Size, as_parameters, broadcast_shape
from gpuarray._random.table import DISTRIBUTIONS, real_dtype
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue

__all__ = ["Draws"]

_STRUCT = ffi.typeof("GpuArray *[]")
_ARRAYS = ffi.typeof("const GpuArray *const *")


class Draws:
    """A context and the state of Philox."""

    __slots__ = ("_context", "_sequence", "_spawned", "_state")

    _context: Context
    _sequence: np.random.SeedSequence | None
    _spawned: int
    _state: Any

    def _draw(
        self,
        distribution: str,
        parameters: Sequence[Any],
        size: Size,
        dtype: npt.DTypeLike,
        out: Array | None,
    ) -> Array:
        """Draw from a row of the table; parameters that are arrays broadcast."""
        if out is not None:
            self._target(distribution, size, dtype, out)
        result = as_dtype(dtype, distribution) if out is None else out.dtype
        real = real_dtype(result)
        values = as_parameters(distribution, parameters, real, self._context)
        names = [p.name for p in DISTRIBUTIONS[distribution].parameters]
        if out is None:
            shape = broadcast_shape(distribution, names, values, size)
            out = Array.allocate(shape, result, self._context, operation=distribution)
        else:
            broadcast_shape(distribution, names, values, out.shape)
            values = [_apart(value, out) for value in values]
        scalars = [0.0 if isinstance(value, Array) else value for value in values]
        arrays = [v._struct if isinstance(v, Array) else ffi.NULL for v in values]
        check(
            lib.GpuArray_random_draw(
                out._struct,
                self._state,
                distribution.encode(),
                len(values),
                scalars,
                ffi.cast(_ARRAYS, ffi.new(_STRUCT, arrays)),
            )
        )
        return out

    def _target(
        self, operation: str, size: Size, dtype: npt.DTypeLike, out: Array | None
    ) -> Array:
        """Return ``out``, or a new array of ``size``; None: a 0-d one."""
        if out is None:
            shape = () if size is None else as_shape(size, operation)
            out_dtype = as_dtype(dtype, operation)
            return Array.allocate(shape, out_dtype, self._context, operation=operation)
        _check_out(operation, out)
        if size is not None and as_shape(size, operation) != out.shape:
            raise BadValue(
                f"{operation}: size {size} is not the shape of out, {out.shape}"
            )
        return out

    def _fill(self, call: Callable[..., int], array: Array, *parameters: Any) -> Array:
        check(call(array._struct, self._state, *parameters))
        return array


def _check_out(operation: str, out: Any) -> None:
    if not isinstance(out, Array):
        raise BadType(
            f"{operation}: out is a {type(out).__name__}, expected a gpuarray array"
        )


def _apart(value: Any, out: Array) -> Any:
    """Return a parameter that may be read while ``out`` is written."""
    shares = isinstance(value, Array) and value._struct.data == out._struct.data
    return value.copy() if shares else value
