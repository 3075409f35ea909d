"""Views of an array: the same elements in another shape or of another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy.typing as npt

from gpuarray._core.arguments import (
    Order,
    as_integer,
    as_list,
    as_shape,
    axis_number,
    spread,
)
from gpuarray._core.geometry import (
    ArrayGeometry,
    DType,
    array_class,
    known_shape,
    order_code,
)
from gpuarray._core.transfers import ArrayTransfers
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.dtypes import as_dtype, dtype_to_typecode, parts_dtype
from gpuarray.errors import BadValue

if TYPE_CHECKING:
    from gpuarray._core.base import BaseArray


class ArrayViews(ArrayTransfers):
    """An array's views."""

    __slots__ = ()

    def view(
        self,
        dtype: npt.DTypeLike | type[BaseArray] | None = None,
        cls: type[BaseArray] | None = None,
    ) -> Any:
        """Return an array of the same elements, or of their bytes as ``dtype``.

        It has the class ``cls``, which may be given in place of ``dtype``, by default
        the array's.

        Elements of another size change the length of the last axis. Raises BadValue if
        it has gaps then, or bytes left over, or if the first element is not aligned.

        >>> a = gpuarray.zeros(2)
        >>> a.view()[0] = 1
        >>> print(a)
        [1. 0.]
        >>> a.view("int64").tolist(), a.view("uint8").shape
        ([4607182418800017408, 0], (16,))
        """
        if isinstance(dtype, type) and issubclass(dtype, ArrayGeometry):
            dtype, cls = None, dtype
        kind = self.__class__ if cls is None else array_class(cls, "view")
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_view(struct, self._struct))
        if dtype is None:
            return kind.wrap(struct, self._context, self._dtype, self._typecode)
        other = as_dtype(dtype)
        if other.itemsize != self._dtype.itemsize:
            self._fit_last_axis(struct, other)
        typecode = dtype_to_typecode(other)
        struct.typecode = typecode
        lib.GpuArray_fix_flags(struct)
        if not struct.flags & lib.GA_ALIGNED:
            raise BadValue(
                "view: the elements do not lie at multiples of "
                f"{other.itemsize} bytes, as {other} needs; copy the array first"
            )
        return kind.wrap(struct, self._context, other, typecode)

    def _fit_last_axis(self, struct: Any, dtype: DType) -> None:
        """Set the last axis of a view to as many elements of another size as fit."""
        if not self.shape:
            raise BadValue(
                f"view: got {dtype} for a 0-d array of {self._dtype}, expected a dtype "
                "of its size; use a.reshape(1)"
            )
        old, last = self._dtype.itemsize, len(self.shape) - 1
        length = self.shape[last]
        if length != 1 and self.size and self.strides[last] != old:
            raise BadValue(
                f"view: the last axis of {self._dtype} has strides of "
                f"{self.strides[last]} bytes; {dtype} is not of its size, so copy the "
                "array first"
            )
        count, left = divmod(length * old, dtype.itemsize)
        if left:
            raise BadValue(
                f"view: the last axis has {length * old} bytes, which {dtype} of "
                f"{dtype.itemsize} does not divide"
            )
        struct.dimensions[last], struct.strides[last] = count, dtype.itemsize

    def reshape(
        self, *shape: Any, order: Order | None = "C", copy: bool | None = None
    ) -> Self:
        """The elements in another shape: a view where strides permit, else a copy.

        One length may be -1. ``copy=True`` always copies; ``copy=False`` raises
        NeedsCopy rather than copy. The order may also follow the shape.

        >>> a = gpuarray.arange(6)
        >>> a.reshape(2, -1).shape
        (2, 3)
        >>> a.reshape(4, 2)
        Traceback (most recent call last):
            ...
        gpuarray.errors.BadValue: reshape: int64 (6,) has 6 elements, the new ...
        """
        if len(shape) == 2 and isinstance(shape[1], str):
            first, order = shape
            shape = (first,)
        lengths = known_shape(self, spread(shape, "shape", "reshape"))
        source = self.copy(order) if copy else self
        struct = ffi.new(ARRAY)
        check(
            lib.GpuArray_reshape(
                struct,
                source._struct,
                len(lengths),
                lengths,
                order_code(order, self),
                int(copy is False),
            ),
            f"reshape of {self.shape} to {lengths}" if copy is False else "",
        )
        return self._like(struct)

    def ravel(self, order: Order | None = "C") -> Self:
        """The elements in one axis: a view where the strides permit it, else a copy.

        >>> print(gpuarray.asarray([[1, 2], [3, 4]]).T.ravel())
        [1 3 2 4]
        """
        return self.reshape(self.size, order=order)

    def transpose(self, *axes: Any) -> Self:
        """Return a view with its axes in another order, by default reversed.

        BadValue unless each axis is named once.

        >>> gpuarray.zeros((2, 3, 4)).transpose(1, 2, 0).shape
        (3, 4, 2)
        """
        struct = ffi.new(ARRAY)
        numbers = spread(axes, "axes", "transpose")
        if not numbers:
            check(lib.GpuArray_transpose(struct, self._struct, ffi.NULL))
            return self._like(struct)
        if len(numbers) != self.ndim:
            raise BadValue(
                f"transpose: got {len(numbers)} axes, expected {self.ndim}, the array's"
            )
        order = [axis_number(axis, self.ndim, "transpose") for axis in numbers]
        if len(set(order)) != len(order):
            raise BadValue(f"transpose: an axis is repeated in {tuple(numbers)}")
        check(lib.GpuArray_transpose(struct, self._struct, order))
        return self._like(struct)

    @property
    def T(self) -> Self:
        """A view with its axes reversed."""
        struct = lib.array_transpose(self._struct)
        if not struct:
            check(lib.last_status(), "transpose")
        return self._made(struct)

    @property
    def mT(self) -> Self:
        """A view of a matrix, or of a stack of them, with the last two axes swapped."""
        if self.ndim < 2:
            raise BadValue(
                f"mT: got an array of shape {self.shape}, expected 2 axes or more"
            )
        last = self.ndim - 1
        return self.transpose(*range(last - 1), last, last - 1)

    def strided(
        self, shape: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> Self:
        """A view of the same buffer with another geometry, in bytes.

        ``offset`` counts from the first element. The caller makes sure that the view
        stays inside of the array.

        >>> a = gpuarray.arange(6)
        >>> print(a.strided((2, 2), (24, 8), 8))
        [[1 2]
         [4 5]]
        """
        lengths = as_shape(shape, "strided")
        steps = [
            as_integer(stride, "a stride", "strided")
            for stride in as_list(strides, "strides", "strided")
        ]
        if len(steps) != len(lengths):
            raise BadValue(
                f"strided: {len(steps)} strides for shape {lengths}; expected one for "
                "each axis"
            )
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_view(struct, self._struct))
        struct.nd = len(lengths)
        struct.dimensions[0 : len(lengths)] = list(lengths)
        struct.strides[0 : len(lengths)] = steps
        struct.offset += as_integer(offset, "offset", "strided")
        lib.GpuArray_fix_flags(struct)
        return self._like(struct)

    def dimshuffle(self, *pattern: int | Literal["x"]) -> Self:
        """A view whose axis i is axis ``pattern[i]``.

        ``"x"`` is a new axis of length 1. A dropped axis must have length 1.

        >>> gpuarray.zeros((2, 3)).dimshuffle(1, 0).shape
        (3, 2)
        """
        codes = [
            -1 if axis == "x" else axis_number(axis, self.ndim, "dimshuffle")
            for axis in pattern
        ]
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_dimshuffle(struct, self._struct, len(codes), codes))
        return self._like(struct)

    def broadcast_to(self, shape: int | Sequence[int]) -> Self:
        """A read-only view repeated along axes of length 1 and new leading axes.

        >>> gpuarray.arange(3).broadcast_to((2, 3)).strides
        (0, 8)
        """
        lengths = as_shape(shape, "broadcast_to")
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_broadcast_to(struct, self._struct, len(lengths), lengths))
        return self._like(struct)

    def _part(self, number: int) -> Self:
        """A view of the real (0) or imaginary (1) parts of complex elements."""
        dtype = parts_dtype(self._dtype)
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_view(struct, self._struct))
        struct.typecode = typecode = dtype_to_typecode(dtype)
        struct.offset += number * dtype.itemsize
        lib.GpuArray_fix_flags(struct)
        return self.wrap(struct, self._context, dtype, typecode)

    @property
    def base(self) -> Self | None:
        """None if the array fills its buffer; else the whole buffer, in one axis."""
        struct, size = self._struct, self._buffer_size()
        if size <= max(self.nbytes, 1):
            return None
        itemsize = self._dtype.itemsize
        count = (size - struct.offset % itemsize) // itemsize
        first = struct.offset % itemsize - struct.offset
        return self.strided((count,), (itemsize,), first)
