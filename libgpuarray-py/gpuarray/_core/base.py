"""BaseArray: shape, strides, buffer, views and transfers of an array; no arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from gpuarray._core.context import Context
from gpuarray._core.context import context as find_context
from gpuarray._native import (
    ARRAY,
    address,
    check,
    ffi,
    holder_class,
    lib,
    memory_class,
)
from gpuarray.config import allows_implicit_conversion
from gpuarray.dtypes import (
    Casting,
    as_dtype,
    can_cast,
    dtype_to_typecode,
    parts_dtype,
    warn_of_lost_parts,
)
from gpuarray.errors import (
    BadIndex,
    BadType,
    BadValue,
    NeedsCopy,
    NotConstructible,
    NotInPlace,
    OutOfMemory,
    Unsupported,
)

Order = Literal["C", "F", "A", "K"]
DType = np.dtype[Any]


class Flags:
    """The layout of an array: contiguous or not, aligned, writeable.

    Also by NumPy's keys, as in ``a.flags["C_CONTIGUOUS"]``, with ``IS_`` before or not.
    ``num`` has the bits of the library's GA_C_CONTIGUOUS and so on.

    >>> flags = gpuarray.zeros((2, 3)).T.flags
    >>> flags.c_contiguous, flags.f_contiguous, flags["WRITEABLE"]
    (False, True, True)
    """

    __slots__ = ("num",)

    # By name: NumPy's letter, and the flags that must all be set.
    _bits: ClassVar[dict[str, tuple[str, int]]] = {
        "C_CONTIGUOUS": ("C", lib.GA_C_CONTIGUOUS),
        "F_CONTIGUOUS": ("F", lib.GA_F_CONTIGUOUS),
        "OWNDATA": ("O", 0),
        "WRITEABLE": ("W", lib.GA_WRITEABLE),
        "ALIGNED": ("A", lib.GA_ALIGNED),
        "BEHAVED": ("B", lib.GA_BEHAVED),
        "CARRAY": ("CA", lib.GA_CARRAY),
    }
    _same: ClassVar[dict[str, str]] = {
        **{letter: name for name, (letter, _) in _bits.items()},
        **{f"IS_{name}": name for name in _bits},
        "CONTIGUOUS": "C_CONTIGUOUS",
        "FORTRAN": "F_CONTIGUOUS",
        "U": "UPDATEIFCOPY",
        "X": "UPDATEIFCOPY",
        "WRITEBACKIFCOPY": "UPDATEIFCOPY",
        "FA": "FARRAY",
    }

    def __init__(self, num: int) -> None:
        self.num = num

    def __getitem__(self, key: str | bytes) -> bool:
        name = key.decode() if isinstance(key, bytes) else key
        name = self._same.get(name, name)
        if name in self._bits:
            mask = self._bits[name][1]
            return self.num & mask == mask
        if name == "UPDATEIFCOPY":
            return False
        c_order, f_order = self["C"], self["F"]
        if name == "FORC":
            return c_order or f_order
        if name == "FNC":
            return f_order and not c_order
        if name == "FARRAY":
            return f_order and not c_order and self["B"]
        raise KeyError(key)

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        return self["C"]

    contiguous = c_contiguous

    @property
    def f_contiguous(self) -> bool:
        """Whether the elements lie in Fortran order without gaps."""
        return self["F"]

    fortran = f_contiguous

    @property
    def forc(self) -> bool:
        """Whether the elements lie in C or in Fortran order without gaps."""
        return self["FORC"]

    @property
    def fnc(self) -> bool:
        """Whether the elements lie in Fortran order and not in C order."""
        return self["FNC"]

    @property
    def aligned(self) -> bool:
        """Whether each element starts at a multiple of its size."""
        return self["A"]

    @property
    def writeable(self) -> bool:
        """Whether elements may be changed."""
        return self["W"]

    @property
    def behaved(self) -> bool:
        """Whether the array is aligned and writeable."""
        return self["B"]

    @property
    def carray(self) -> bool:
        """Whether the array is aligned, writeable and in C order."""
        return self["CA"]

    @property
    def farray(self) -> bool:
        """Whether the array is aligned, writeable and in Fortran order alone."""
        return self["FA"]

    @property
    def owndata(self) -> bool:
        """True: an array holds its buffer, which it may share with others."""
        return True

    @property
    def updateifcopy(self) -> bool:
        """False: no array is a copy that is to be written back."""
        return False

    writebackifcopy = updateifcopy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self.num == other.num

    def __hash__(self) -> int:
        return hash(self.num)

    def __reduce__(self) -> tuple[type[Flags], tuple[int]]:
        return Flags, (self.num,)

    def __repr__(self) -> str:
        names = "C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED"
        return "\n".join(f"  {name} : {self[name]}" for name in names)


_C_ORDER, _F_ORDER = int(lib.GA_C_ORDER), int(lib.GA_F_ORDER)
_LETTERS: tuple[Order, ...] = ("C", "F", "A", "K")
_POOLED = 1 << 14  # bytes from which it is worth to ask the library for memory
_ORDERS = {text: one for one in _LETTERS for text in (one, one.lower())}


def as_order(order: str | None) -> Order:
    """``order`` as one of 'C', 'F', 'A' and 'K'; None is 'A'.

    >>> as_order("f"), as_order(None)
    ('F', 'A')
    """
    if order is None:
        return "A"
    found = _ORDERS.get(order) if isinstance(order, str) else None
    if found is None:
        raise BadValue(f"order: got {order!r}, expected 'C', 'F', 'A' or 'K'")
    return found


def order_code(order: str | None, array: BaseArray | None = None) -> int:
    """The library's code of ``order``; 'A' and 'K' keep an array's Fortran order."""
    known = order if order == "C" else as_order(order)
    keep = known in ("A", "K") and array is not None and array.flags.fnc
    return _F_ORDER if keep or known == "F" else _C_ORDER


def is_in_order(array: BaseArray, order: str | None) -> bool:
    """Whether an array lies in ``order``; in 'A' and 'K' each one does."""
    known = as_order(order)
    return known in ("A", "K") or array.flags[known]


def as_shape(shape: int | Sequence[int], operation: str) -> tuple[int, ...]:
    """A tuple of lengths; BadValue if one is negative."""
    try:
        listed = shape if isinstance(shape, Iterable) else (shape,)
        lengths = tuple(operator.index(length) for length in listed)
    except TypeError:
        raise BadType(
            f"{operation}: shape {shape!r} is not an integer or a sequence of integers"
        ) from None
    if any(length < 0 for length in lengths):
        raise BadValue(f"{operation}: negative length in shape {lengths}")
    if len(lengths) > lib.GA_MAX_NDIM:
        raise BadValue(
            f"{operation}: {len(lengths)} dimensions; at most {lib.GA_MAX_NDIM} are "
            "offered"
        )
    return lengths


if TYPE_CHECKING:

    class Holder:
        """What frees the ``GpuArray *`` in ``_struct`` when it goes."""

        _struct: Any
        _kept: Any

else:
    Holder = holder_class()


class BaseArray(Holder):
    """An n-d array on a device: where its elements lie, and how they come and go.

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

    _age: int  # of a row: how many stores of rows there were when it was looked up
    _context: Context
    _dtype: DType
    _shape: tuple[int, ...]  # set when first asked for
    _typecode: int

    def __new__(cls) -> Self:
        """Nothing: NotConstructible says which functions make arrays."""
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

    def _like(self, struct: Any) -> Self:
        return self.wrap(struct, self._context, self._dtype, self._typecode)

    def _made(self, struct: Any) -> Self:
        """The array of a struct that a helper of the binding made, else like this."""
        array: Self = object.__new__(self.__class__)
        array._struct = struct
        array._context = self._context
        array._dtype = self._dtype
        array._typecode = self._typecode
        return array

    # ---- what it is ----

    @property
    def context(self) -> Context:
        """The context that the array lives on."""
        return self._context

    @property
    def device(self) -> Context:
        """The context, by the array API standard's name."""
        return self._context

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
        lengths = _known_shape(self, _spread((shape,)))
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
        first = struct.offset + sum(one for one in reach if one < 0)
        last = struct.offset + sum(one for one in reach if one > 0)
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
        """Where the first element lies in the buffer, in bytes."""
        return int(self._struct.offset)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return int(self._struct.nd)

    @property
    def size(self) -> int:
        """How many elements there are."""
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
    def base(self) -> Self | None:
        """None if the array fills its buffer; else all of that, in one axis."""
        struct, size = self._struct, self._buffer_size()
        if size <= max(self.nbytes, 1):
            return None
        itemsize = self._dtype.itemsize
        count = (size - struct.offset % itemsize) // itemsize
        first = struct.offset % itemsize - struct.offset
        return self.strided((count,), (itemsize,), first)

    @property
    def struct(self) -> Any:
        """The library's ``GpuArray *``; it stays the array's."""
        return self._struct

    def __len__(self) -> int:
        if not self.shape:
            raise BadType("len: a 0-d array has no length")
        return self.shape[0]

    # ---- views ----

    def view(
        self,
        dtype: npt.DTypeLike | type[BaseArray] | None = None,
        cls: type[BaseArray] | None = None,
    ) -> Any:
        """Another array of the same elements, or of their bytes as those of ``dtype``.

        Of the class ``cls``, which may be given in place of ``dtype``, else of the
        array's own.

        Elements of another size make the last axis longer or shorter; BadValue if it
        has gaps then, or bytes that are left over, and where the first element does not
        lie at a multiple of the new size.

        >>> a = gpuarray.zeros(2)
        >>> a.view()[0] = 1
        >>> print(a)
        [1. 0.]
        >>> a.view("int64").tolist(), a.view("uint8").shape
        ([4607182418800017408, 0], (16,))
        """
        if isinstance(dtype, type) and issubclass(dtype, BaseArray):
            dtype, cls = None, dtype
        made = self.__class__ if cls is None else array_class(cls, "view")
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_view(struct, self._struct))
        if dtype is None:
            return made.wrap(struct, self._context, self._dtype, self._typecode)
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
        return made.wrap(struct, self._context, other, typecode)

    def _fit_last_axis(self, struct: Any, dtype: DType) -> None:
        """Gives a view as many elements of another size as fill the last axis."""
        if not self.shape:
            raise BadValue(
                f"view: a 0-d array of {self._dtype}; {dtype} is not of its size"
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
        NeedsCopy rather than copy. The order may also stand behind the shape.

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
        lengths = _known_shape(self, _spread(shape))
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
        """A view with its axes in another order; none given: reversed.

        BadValue unless each axis is named once.

        >>> gpuarray.zeros((2, 3, 4)).transpose(1, 2, 0).shape
        (3, 4, 2)
        """
        struct = ffi.new(ARRAY)
        chosen = _spread(axes)
        if not chosen:
            check(lib.GpuArray_transpose(struct, self._struct, ffi.NULL))
            return self._like(struct)
        if len(chosen) != self.ndim:
            raise BadValue(
                f"transpose: {len(chosen)} axes given for an array of {self.ndim}"
            )
        order = [axis_number(axis, self.ndim, "transpose") for axis in chosen]
        if len(set(order)) != len(order):
            raise BadValue(f"transpose: an axis is repeated in {tuple(chosen)}")
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
            raise BadValue(f"mT: an array of shape {self.shape} is no matrix")
        last = self.ndim - 1
        return self.transpose(*range(last - 1), last, last - 1)

    def strided(
        self, shape: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> Self:
        """A view of the same buffer with another geometry, in bytes.

        ``offset`` counts from the first element. The caller sees to it that the view
        stays inside of the array.

        >>> a = gpuarray.arange(6)
        >>> print(a.strided((2, 2), (24, 8), 8))
        [[1 2]
         [4 5]]
        """
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_view(struct, self._struct))
        struct.nd = len(shape)
        struct.dimensions[0 : len(shape)] = list(shape)
        struct.strides[0 : len(shape)] = list(strides)
        struct.offset += offset
        lib.GpuArray_fix_flags(struct)
        return self._like(struct)

    def dimshuffle(self, *pattern: int | Literal["x"]) -> Self:
        """A view whose axis i is axis ``pattern[i]``.

        ``"x"`` stands for a new axis of length 1. An axis that is left out must have
        length 1.

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

    # ---- copies and transfers ----

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
        """The elements converted as NumPy does; BadType where ``casting`` forbids it.

        Of complex numbers as real ones the real parts, with a ComplexWarning. The array
        itself if ``copy`` is false and nothing is to be done. A bool in
        place of ``casting`` is ``copy``, which libgpuarray 0.7 has there.

        >>> print(gpuarray.asarray([1.7, -1.7]).astype("int32"))
        [ 1 -1]
        """
        rule: Casting = "unsafe"
        if isinstance(casting, bool):
            copy = casting
        else:
            rule = casting
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

    def sync(self) -> None:
        """Wait until the work on the array is done; raise what failed meanwhile.

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
        """The elements in memory that the context keeps for that, if it has room."""
        place = ffi.new("gpuhost **")
        check(lib.GpuArray_host(place, self._struct, 0), "read")
        if not place[0]:
            return None
        memory = memory_class()(int(ffi.cast("uintptr_t", place[0])), size)
        arrays = ffi.new("GpuArray *[1]", [self._struct])
        check(lib.GpuArray_read_hosts(1, place, [ffi.NULL], arrays), "read")
        return np.ndarray(shape, self._dtype, memory)

    def item(self, *index: int) -> Any:
        """One element as a Python number.

        Of the only element, or of that at ``index``; waits. ValueError where there are
        more.

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


def _spread(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """``f(2, 3)``, ``f((2, 3))`` and ``f(None)`` alike."""
    if len(arguments) == 1 and not hasattr(arguments[0], "__index__"):
        return () if arguments[0] is None else tuple(arguments[0])
    return arguments


def _known_shape(array: BaseArray, lengths: tuple[Any, ...]) -> tuple[int, ...]:
    """The lengths with a -1 replaced by what the others leave."""
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


def axis_number(axis: Any, ndim: int, operation: str) -> int:
    """An axis counted from the front; BadIndex if there is none such."""
    try:
        number = axis.__index__()
    except AttributeError:
        raise BadType(f"{operation}: axis {axis!r} is not an integer") from None
    if not -ndim <= number < ndim:
        raise BadIndex(
            f"{operation}: axis {number} is out of bounds for {ndim} dimensions"
        )
    return int(number) % ndim


def axes_numbers(axis: Any, ndim: int, operation: str) -> tuple[int, ...]:
    """One axis or several, counted from the front; BadValue if one is given twice."""
    listed = axis if isinstance(axis, list | tuple) else (axis,)
    numbers = tuple(axis_number(one, ndim, operation) for one in listed)
    if len(set(numbers)) != len(numbers):
        raise BadValue(f"{operation}: an axis is given twice in {tuple(listed)}")
    return numbers


def array_class(cls: Any, operation: str) -> Any:
    """``cls`` itself; BadType if it is no class of arrays."""
    if not (isinstance(cls, type) and issubclass(cls, BaseArray)):
        raise BadType(f"{operation}: cls is {cls!r}, expected a class of arrays")
    return cls


def require(array: Any, operation: str) -> Any:
    """``array`` itself; BadType if it is none of ours."""
    if not isinstance(array, BaseArray):
        raise BadType(
            f"{operation}: got {type(array).__name__}, expected a gpuarray array; use "
            "gpuarray.asarray(x)"
        )
    return array


def require_all(operation: str, *arrays: Any) -> list[Any]:
    """The arrays, if all are ours and on one context."""
    for array in arrays:
        if require(array, operation)._context is not arrays[0]._context:
            raise BadValue(
                f"{operation}: the arrays are on {arrays[0].context.name} and "
                f"{array.context.name}; bring one over first: b.transfer(a.context)"
            )
    return list(arrays)


def asnumpy(array: Any) -> npt.NDArray[Any]:
    """A NumPy array of the elements of ``array``, which may be on the host already.

    >>> gpuarray.asnumpy(gpuarray.arange(3))
    array([0, 1, 2])
    """
    return array.get() if isinstance(array, BaseArray) else np.asarray(array)


def may_share_memory(a: Any, b: Any) -> bool:
    """Whether the two may have an element in common; BadType for no arrays of ours.

    >>> a = gpuarray.arange(6)
    >>> gpuarray.may_share_memory(a[:3], a[2:])
    True
    """
    for one in (a, b):
        require(one, "may_share_memory")
    return bool(lib.GpuArray_share(a.struct, b.struct))
