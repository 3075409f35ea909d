"""The geometry of an array: its struct, shape, strides, dtype and flags."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gpuarray._core.arguments import as_order, as_shape, spread
from gpuarray._core.context import Context
from gpuarray._core.flags import Flags
from gpuarray._native import ARRAY, check, ffi, holder_class, lib
from gpuarray.dtypes import dtype_to_typecode
from gpuarray.errors import (
    BadType,
    BadValue,
    NeedsCopy,
    NotConstructible,
    NotInPlace,
    OutOfMemory,
)

DType = np.dtype[Any]

_C_ORDER, _F_ORDER = int(lib.GA_C_ORDER), int(lib.GA_F_ORDER)


if TYPE_CHECKING:

    class Holder:
        """Owner of the ``GpuArray *`` in ``_struct``, which it frees."""

        _struct: Any
        _kept: Any

else:
    Holder = holder_class()


class ArrayGeometry(Holder):
    """The geometry of an array: its buffer, shape, strides and dtype.

    It owns one struct of the library. The buffer goes back to the context's pool when
    the array is deleted.
    """

    __slots__ = (
        "__weakref__",
        "_age",
        "_context",
        "_dtype",
        "_shape",
        "_typecode",
    )

    _age: int  # the context's count of stored rows when this row was read
    _context: Context
    _dtype: DType
    _shape: tuple[int, ...]  # set when first asked for
    _typecode: int

    def __new__(cls) -> Self:
        """Raise NotConstructible, which names the functions that make arrays."""
        raise NotConstructible(
            "arrays are made by gpuarray.asarray, empty, zeros, full, arange; of a "
            "class of your own by gpuarray.zeros(shape, cls=YourClass)"
        )

    @classmethod
    def wrap(cls, struct: Any, context: Context, dtype: DType, typecode: int) -> Self:
        """The array that takes over ``struct``, a ``GpuArray *`` that cffi made.

        For what calls functions of the C library itself::

            check(lib.GpuArray_copy(struct, a.struct, lib.GA_C_ORDER))
            b = gpuarray.Array.wrap(struct, a.context, a.dtype, a.typecode)
        """
        moved = lib.array_adopt(struct)
        if not moved:
            raise OutOfMemory("the host has no memory for an array's struct")
        array: Self = object.__new__(cls)
        array._struct = moved
        array._context = context
        array._dtype = dtype
        array._typecode = typecode
        return array

    @classmethod
    def allocate(
        cls,
        shape: tuple[int, ...],
        dtype: DType,
        context: Context,
        order: int = 0,
        zeroed: bool = False,
        operation: str = "empty",
    ) -> Self:
        """A new array; its elements are undefined unless ``zeroed``.

        >>> context = gpuarray.get_default_context()
        >>> gpuarray.Array.allocate((2, 3), np.dtype("float32"), context).shape
        (2, 3)
        """
        struct = ffi.new(ARRAY)
        typecode = dtype_to_typecode(dtype)
        make = lib.GpuArray_zeros if zeroed else lib.GpuArray_empty
        check(
            make(struct, context.pointer, typecode, len(shape), shape, order), operation
        )
        return cls.wrap(struct, context, dtype, typecode)

    def _like(self, struct: Any) -> Self:
        return self.wrap(struct, self._context, self._dtype, self._typecode)

    def _made(self, struct: Any) -> Self:
        """Return the array of a struct made by a helper of the binding."""
        array: Self = object.__new__(self.__class__)
        array._struct = struct
        array._context = self._context
        array._dtype = self._dtype
        array._typecode = self._typecode
        return array

    # ---- properties ----

    @property
    def context(self) -> Context:
        """The context that the array lives on."""
        return self._context

    @property
    def device(self) -> Context:
        """The context, by the array API standard's name."""
        return self._context

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def typecode(self) -> int:
        """The library's code of the dtype."""
        return self._typecode

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        try:
            return self._shape
        except AttributeError:
            struct = self._struct
            self._shape = tuple(ffi.unpack(struct.dimensions, struct.nd))
            return self._shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        lengths = known_shape(self, spread((shape,), "shape", "reshape"))
        try:
            check(
                lib.GpuArray_reshape_inplace(
                    self._struct, len(lengths), lengths, lib.GA_C_ORDER
                ),
                "shape",
            )
        except NeedsCopy as error:
            raise NotInPlace(f"{error}; use a.reshape({lengths})") from None
        self._shape = lengths

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps from an element to the next along each axis, in bytes."""
        return tuple(ffi.unpack(self._struct.strides, self._struct.nd))

    @strides.setter
    def strides(self, strides: Sequence[int]) -> None:
        steps = [operator.index(step) for step in strides]
        struct, shape = self._struct, self.shape
        if len(steps) != len(shape):
            raise BadValue(f"strides: {len(steps)} of them for shape {shape}")
        reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
        first = struct.offset + sum(distance for distance in reach if distance < 0)
        last = struct.offset + sum(distance for distance in reach if distance > 0)
        size = self._buffer_size()
        if self.size and (first < 0 or last + self.itemsize > size):
            raise BadValue(
                f"strides: with {tuple(steps)} the array would reach from byte {first} "
                f"to {last + self.itemsize} of a buffer of {size}"
            )
        struct.strides[0 : len(steps)] = steps
        lib.GpuArray_fix_flags(struct)

    def _buffer_size(self) -> int:
        size = ffi.new("size_t *")
        check(lib.gpudata_property(self._struct.data, lib.GA_BUFFER_PROP_SIZE, size))
        return int(size[0])

    @property
    def offset(self) -> int:
        """The position of the first element in the buffer, in bytes."""
        return int(self._struct.offset)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self._struct.nd)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self._dtype.itemsize

    @property
    def flags(self) -> Flags:
        """The layout."""
        return Flags(self._struct.flags)

    @property
    def struct(self) -> Any:
        """The library's ``GpuArray *``, which the array owns, and which keeps it alive.

        So the struct of an array that nobody else holds is valid for a call of C.
        """
        return ffi.gc(self._struct, self._outlive)

    def _outlive(self, struct: Any) -> None:
        """Do nothing: this method, bound, is held by what ``struct`` gave."""

    def __len__(self) -> int:
        if not self.shape:
            raise BadType("len: a 0-d array has no length")
        return self.shape[0]


def known_shape(array: ArrayGeometry, lengths: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the lengths, with a -1 computed from the others."""
    if lengths.count(-1) > 1:
        raise BadValue(f"reshape: more than one length of {lengths} is -1")
    if -1 not in lengths:
        return as_shape(lengths, "reshape")
    rest = math.prod(length for length in lengths if length != -1)
    if rest == 0 or array.size % rest:
        raise BadValue(
            f"reshape: {array.size} elements of shape {array.shape} do not fit "
            f"{lengths}"
        )
    known = (array.size // rest if length == -1 else length for length in lengths)
    return as_shape(tuple(known), "reshape")


def order_code(order: str | None, array: ArrayGeometry | None = None) -> int:
    """The library's code of ``order``; 'A' and 'K' keep an array's Fortran order."""
    known = order if order == "C" else as_order(order)
    keep = known in ("A", "K") and array is not None and array.flags.fnc
    return _F_ORDER if keep or known == "F" else _C_ORDER


def is_in_order(array: ArrayGeometry, order: str | None) -> bool:
    """True if an array lies in ``order``; in 'A' and 'K' each one does."""
    known = as_order(order)
    return known in ("A", "K") or array.flags[known]


def array_class(cls: Any, operation: str) -> Any:
    """Return ``cls`` itself. Raises BadType if it is no class of arrays."""
    if not (isinstance(cls, type) and issubclass(cls, ArrayGeometry)):
        raise BadType(f"{operation}: cls is {cls!r}, expected a class of arrays")
    return cls
