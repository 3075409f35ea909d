"""BaseArray: an array without arithmetic, and functions that require one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gpuarray._core.context import Context
from gpuarray._core.views import ArrayViews
from gpuarray._native import ARRAY, address, check, ffi, lib
from gpuarray.dtypes import as_dtype, dtype_to_typecode
from gpuarray.errors import BadType, BadValue, host_errors


class BaseArray(ArrayViews):
    """An n-d array on a device without arithmetic: geometry, views and transfers."""

    __slots__ = ()

    @classmethod
    def from_host(cls, host: npt.NDArray[Any], context: Context) -> Self:
        """A new array with the elements, shape and order of a NumPy array.

        >>> context = gpuarray.get_default_context()
        >>> print(gpuarray.Array.from_host(np.arange(3), context))
        [0 1 2]
        """
        dtype = as_dtype(host.dtype, "asarray")
        host = host.astype(dtype, copy=False)
        if host.flags.f_contiguous and not host.flags.c_contiguous:
            return cls.from_host(host.T, context).transpose()
        shape = host.shape  # ascontiguousarray makes a 0-d array 1-d
        host = np.ascontiguousarray(host)
        struct = ffi.new(ARRAY)
        typecode = dtype_to_typecode(dtype)
        check(
            lib.GpuArray_copy_from_host(
                struct,
                context.pointer,
                address(host) if host.size else ffi.NULL,
                typecode,
                len(shape),
                shape,
                ffi.NULL,
            ),
            "asarray",
        )
        if 1 in shape and host.strides == np.empty(shape, dtype, "F").strides:
            struct.strides[0 : len(shape)] = host.strides
        return cls.wrap(struct, context, dtype, typecode)


def require(array: Any, operation: str) -> Any:
    """Return ``array`` itself. Raises BadType if it is none of ours."""
    if not isinstance(array, BaseArray):
        raise BadType(
            f"{operation}: got {type(array).__name__}, expected a gpuarray array; use "
            "gpuarray.asarray(x)"
        )
    return array


def require_all(operation: str, *arrays: Any) -> list[Any]:
    """Return the arrays, if all are ours and on one context."""
    for array in arrays:
        if require(array, operation)._context is not arrays[0]._context:
            raise BadValue(
                f"{operation}: the arrays are on {arrays[0].context.name} and "
                f"{array.context.name}; bring one over first: b.transfer(a.context)"
            )
    return list(arrays)


def beside(operation: str, *operands: Any) -> list[Any]:
    """Return the operands as arrays on one context, that of the arrays among them.

    What else NumPy takes for an array, such as a list, is copied there.
    """
    arrays = [operand for operand in operands if isinstance(operand, BaseArray)]
    if not arrays:
        require(operands[0], operation)
    like: Any = require_all(operation, *arrays)[0]
    with host_errors(operation):
        hosts = [x if isinstance(x, BaseArray) else np.asarray(x) for x in operands]
        return [
            like.from_host(x, like.context) if isinstance(x, np.ndarray) else x
            for x in hosts
        ]


def asnumpy(array: Any) -> npt.NDArray[Any]:
    """A NumPy array of the elements of ``array``, which may be on the host already.

    >>> gpuarray.asnumpy(gpuarray.arange(3))
    array([0, 1, 2])
    """
    return on_host(array, "a", "asnumpy")


def on_host(values: Any, name: str, operation: str) -> npt.NDArray[Any]:
    """Return a NumPy array of an argument. BadValue says what NumPy refuses."""
    if isinstance(values, BaseArray):
        return values.get()
    with host_errors(f"{operation}: {name}"):
        return np.asarray(values)


def may_share_memory(a: Any, b: Any) -> bool:
    """Return whether two arrays may overlap. Raises BadType for other objects.

    >>> a = gpuarray.arange(6)
    >>> gpuarray.may_share_memory(a[:3], a[2:])
    True
    """
    for operand in (a, b):
        require(operand, "may_share_memory")
    return bool(lib.GpuArray_share(a.struct, b.struct))
