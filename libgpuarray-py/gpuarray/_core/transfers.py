"""Copies of an array: casts, and transfers to other contexts and the host."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import Order
from gpuarray._core.context import Context
from gpuarray._core.geometry import ArrayGeometry, is_in_order, order_code
from gpuarray._core.opening import context as find_context
from gpuarray._native import ARRAY, address, check, ffi, lib, memory_class
from gpuarray.config import allows_implicit_conversion
from gpuarray.dtypes import (
    Casting,
    as_dtype,
    can_cast,
    check_casting,
    dtype_to_typecode,
    warn_of_lost_parts,
)
from gpuarray.errors import BadType, BadValue, NeedsCopy, Unsupported, host_errors

_POOLED = 1 << 14  # bytes from which host memory comes from the library's pool


class ArrayTransfers(ArrayGeometry):
    """An array's copies, casts and transfers."""

    __slots__ = ()

    def copy(self, order: Order | None = "C") -> Self:
        """A new array of the same elements.

        In C order by default; "K" keeps the strides' order, "A" Fortran order.

        >>> a = gpuarray.arange(6).reshape(2, 3).T
        >>> a.copy().strides, a.copy("K").strides
        ((16, 8), (8, 24))
        """
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_copy(struct, self._struct, order_code(order, self)), "copy")
        return self._like(struct)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = result = self.copy()
        return result

    def astype(
        self,
        dtype: npt.DTypeLike,
        order: Order | None = "K",
        casting: Casting | bool = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Self:
        """Return the elements cast as by NumPy. Raises BadType if ``casting`` forbids
        it.

        Complex numbers become their real parts, with a ComplexWarning. The array itself
        is returned if ``copy`` is false and nothing is to be done. A bool in place of
        ``casting`` is ``copy``, which libgpuarray 0.7 has there.

        >>> print(gpuarray.asarray([1.7, -1.7]).astype("int32"))
        [ 1 -1]
        """
        rule: Casting = "unsafe"
        if isinstance(casting, bool):
            copy = casting
        else:
            rule = casting
            check_casting(rule, "astype")
        target = as_dtype(dtype, "astype")
        if rule != "unsafe" and not can_cast(self._dtype, target, rule):
            raise BadType(
                f"astype: {self._dtype} is not converted to {target} by the rule "
                f"{rule!r}"
            )
        if not copy and target == self._dtype and is_in_order(self, order):
            return self
        warn_of_lost_parts(self._dtype, target)
        typecode = dtype_to_typecode(target)
        struct = ffi.new(ARRAY)
        code = order_code(order, self)
        check(lib.GpuArray_astype(struct, self._struct, typecode, code), "astype")
        return self.wrap(struct, self._context, target, typecode)

    def transfer(self, context: Context | str | None) -> Self:
        """The array on another context, or its name; itself if it is there already.

        Directly where the devices can (CUDA's peers), else by way of the host.
        DeviceNotFound if there is no such device.

        >>> a = gpuarray.arange(3).transfer("null")
        >>> a
        array([0, 1, 2], dtype=int64, context='null')
        """
        context = find_context(context)
        if context is self._context:
            return self
        result = self.allocate(
            self.shape, self._dtype, context, order_code("K", self), False, "transfer"
        )
        check(lib.GpuArray_transfer(result._struct, self._struct), "transfer")
        return result

    def to_device(self, device: Context | str, /, *, stream: int | None = None) -> Self:
        """The array on another context, or its name; itself if it is there already.

        Each context orders its work itself, so there is no ``stream`` to give.

        >>> gpuarray.arange(3).to_device("null").device.name
        'null'
        """
        if stream is not None:
            raise Unsupported(
                f"to_device: got stream {stream!r}, expected None: transfers are "
                "ordered by the contexts themselves"
            )
        return self.transfer(device)

    def sync(self) -> None:
        """Wait until the work on the array is done; raise its asynchronous errors.

        >>> a = gpuarray.zeros(3) + 1
        >>> a.sync()
        """
        check(lib.GpuArray_sync(self._struct))

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise NeedsCopy(
                f"numpy.asarray(copy=False): the array is on {self._context.name}, so "
                "its elements must be copied to the host"
            )
        if not allows_implicit_conversion():
            raise BadType(
                f"numpy.asarray: copying an array of {self._context.name} to the host "
                "unasked is forbidden by implicit_conversion; use x.get() or "
                "gpuarray.asnumpy(x)"
            )
        host = self._read()
        with host_errors("numpy.asarray"):
            return host if dtype is None else host.astype(dtype, copy=False)

    def get(self) -> npt.NDArray[Any]:
        """A new NumPy array of the elements, on the host; waits for them.

        >>> gpuarray.arange(3).get()
        array([0, 1, 2])
        """
        return self._read()

    def _read(self) -> npt.NDArray[Any]:
        flags = self._struct.flags
        if not flags & (lib.GA_C_CONTIGUOUS | lib.GA_F_CONTIGUOUS):
            return self.copy()._read()
        fortran = not flags & lib.GA_C_CONTIGUOUS
        shape = self.shape[::-1] if fortran else self.shape
        size = math.prod(shape) * self._dtype.itemsize
        host = self._read_to_pool(shape, size) if size >= _POOLED else None
        if host is None:
            host = np.empty(shape, self._dtype)
            if size:
                pointer = address(host, writable=True)
                check(lib.GpuArray_read(pointer, size, self._struct), "read")
        return host.T if fortran else host

    def _read_to_pool(
        self, shape: tuple[int, ...], size: int
    ) -> npt.NDArray[Any] | None:
        """Return the elements in pooled host memory, if it has room."""
        place = ffi.new("gpuhost **")
        check(lib.GpuArray_host(place, self._struct, 0), "read")
        if not place[0]:
            return None
        memory = memory_class()(int(ffi.cast("uintptr_t", place[0])), size)
        arrays = ffi.new("GpuArray *[1]", [self._struct])
        check(lib.GpuArray_read_hosts(1, place, [ffi.NULL], arrays), "read")
        return np.ndarray(shape, self._dtype, memory)

    def item(self, *index: int) -> Any:
        """Return one element as a Python number.

        It is the only element, or that at ``index``; waits. Raises ValueError for more.

        >>> gpuarray.asarray([1.5, 2.5]).item(1)
        2.5
        """
        if not index and self.size != 1:
            raise BadValue(
                f"item: an array of shape {self.shape} has {self.size} elements, "
                "expected one; give an index, or use tolist()"
            )
        return self._read().item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers.

        Waits for them.

        >>> gpuarray.asarray([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self._read().tolist()

    def _number(self, operation: str) -> Any:
        struct = self._struct
        if struct.nd and self.size != 1:
            raise BadType(
                f"{operation}: an array of shape {self.shape} is not one number"
            )
        host = np.empty((), self._dtype)
        pointer = ffi.from_buffer(host, require_writable=True)
        check(lib.GpuArray_read(pointer, self._dtype.itemsize, struct), "read")
        return host.item()

    def __float__(self) -> float:
        return float(self._number("float"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __index__(self) -> int:
        if self._dtype.kind not in "iu":
            raise BadType(f"index: an array of {self._dtype} is not an integer")
        return int(self._number("index"))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise BadValue(
                f"bool: the truth of an array of shape {self.shape} is ambiguous; use "
                "a.any() or a.all()"
            )
        return bool(self._number("bool"))
