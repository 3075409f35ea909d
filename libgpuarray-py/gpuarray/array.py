"""``Array``: ``BaseArray`` with operators and methods of the scalar table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuarray._core import info
from gpuarray._core.arguments import Order, as_order
from gpuarray._core.base import BaseArray, require
from gpuarray._indexing.indexing import assign, get
from gpuarray._interop import cuda_array_interface, dlpack, pickling, pygpu_array
from gpuarray._kernels.apply import from_host, is_host_array
from gpuarray._kernels.monoids import into
from gpuarray._manipulation import flat, shaping, take_put, tiling
from gpuarray._math import logic, selection, statistics
from gpuarray._products import matmul
from gpuarray._sorting import searching, sorting
from gpuarray._ufunc import dispatch, reduction, scanning
from gpuarray._ufunc.operators import binary_operator, inplace_operator, unary_operator
from gpuarray.dtypes import kind_of
from gpuarray.errors import BadType, BadValue, host_errors
from gpuarray.scalars import SCALARS, Scalar


class Array(BaseArray):
    """An n-d array on a device, with NumPy's interface.

    Operators take arrays of the same context and numbers; results stay on the device
    and are asynchronous. Python numbers take the dtype of the array they meet (NEP 50).
    ``numpy.asarray(a)`` copies to the host.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> print(a * 10 + a[0])
    [[11. 22.]
     [31. 42.]]
    >>> print(a @ a.T, a.sum())
    [[ 5. 11.]
     [11. 25.]] 10.0
    >>> a[a > 2] = 0
    >>> np.asarray(a)
    array([[1., 2.],
           [0., 0.]])
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # equality is elementwise

    sum = reduction.sum
    prod = reduction.prod
    mean = reduction.mean
    max = reduction.max
    min = reduction.min
    argmax = reduction.argmax
    argmin = reduction.argmin
    ptp = reduction.ptp
    any = reduction.any
    all = reduction.all
    var = statistics.var
    std = statistics.std
    clip = statistics.clip
    round = statistics.round
    dot = matmul.dot
    squeeze = shaping.squeeze
    swapaxes = shaping.swapaxes
    diagonal = shaping.diagonal
    trace = shaping.trace
    repeat = tiling.repeat
    searchsorted = searching.searchsorted
    take = take_put.take
    put = take_put.put
    nonzero = take_put.nonzero
    __array_priority__ = 100.0  # Dask chooses functions by the operand with the highest
    __array_ufunc__ = dispatch.array_ufunc
    __array_function__ = dispatch.array_function
    __reduce_ex__ = pickling.reduce
    __dask_tokenize__ = pickling.dask_token
    flat = property(flat.flat, flat.set_flat)
    __cuda_array_interface__ = property(cuda_array_interface.cuda_interface)
    gpudata = property(cuda_array_interface.gpudata)
    ptr = property(cuda_array_interface.ptr)
    base_data = property(cuda_array_interface.base_data)
    data = property(cuda_array_interface.data)
    cl_mem = property(cuda_array_interface.cl_mem)
    as_pyopencl = cuda_array_interface.as_pyopencl
    as_pycuda = cuda_array_interface.as_pycuda
    __dlpack__ = dlpack.export
    __dlpack_device__ = dlpack.export_device
    read = pygpu_array.read
    write = pygpu_array.write
    take1 = pygpu_array.take1
    get_ipc_handle = pygpu_array.get_ipc_handle
    _empty_like_me = pygpu_array.empty_like_me
    cumsum = scanning.cumsum
    cumprod = scanning.cumprod
    cummax = scanning.cummax
    cummin = scanning.cummin
    sort = sorting.sort_inplace
    argsort = sorting.argsort
    argpartition = logic.argpartition
    partition = logic.partition_inplace
    choose = selection.choose
    dump = pickling.dump
    dumps = pickling.dumps
    topk = sorting.topk

    if TYPE_CHECKING:  # bound from the table below
        __add__: Callable[[Any], Array]
        __radd__: Callable[[Any], Array]
        __sub__: Callable[[Any], Array]
        __rsub__: Callable[[Any], Array]
        __mul__: Callable[[Any], Array]
        __rmul__: Callable[[Any], Array]
        __truediv__: Callable[[Any], Array]
        __rtruediv__: Callable[[Any], Array]
        __floordiv__: Callable[[Any], Array]
        __rfloordiv__: Callable[[Any], Array]
        __mod__: Callable[[Any], Array]
        __rmod__: Callable[[Any], Array]
        __rpow__: Callable[[Any], Array]
        __and__: Callable[[Any], Array]
        __or__: Callable[[Any], Array]
        __xor__: Callable[[Any], Array]
        __lshift__: Callable[[Any], Array]
        __rshift__: Callable[[Any], Array]
        __lt__: Callable[[Any], Array]
        __le__: Callable[[Any], Array]
        __gt__: Callable[[Any], Array]
        __ge__: Callable[[Any], Array]
        __pos__: Callable[[], Array]
        __neg__: Callable[[], Array]
        __abs__: Callable[[], Array]
        __invert__: Callable[[], Array]

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, BaseArray | np.ndarray):
            return NotImplemented
        if is_host_array(other):
            other = from_host("matmul", self, other)
        return matmul.matmul(self, other)

    def __imatmul__(self, other: Any) -> Any:
        product = self.__matmul__(other)
        return product if product is NotImplemented else into(self, product, "matmul")

    def __rmatmul__(self, other: Any) -> Any:
        if not isinstance(other, np.ndarray):
            return NotImplemented
        if is_host_array(other):
            other = from_host("matmul", self, other)
        return matmul.matmul(other, self)

    def __pow__(self, other: Any) -> Any:
        # NumPy treats these two exponents specially, too.
        if other.__class__ is int and other == 2 and kind_of(self._dtype) in "iufc":
            return _square(self)
        if other.__class__ is float and other == 0.5 and kind_of(self._dtype) in "fc":
            return _sqrt(self)
        return _power(self, other)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    __getitem__ = get
    __setitem__ = assign

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def fill(self, value: Any) -> None:
        """Set every element to ``value``.

        A number or an array that broadcasts, converted to the array's dtype. Raises
        ReadOnly for a read-only view, TooLarge (OverflowError) for a Python number
        outside an integer dtype's range.

        >>> a = gpuarray.zeros(3)
        >>> a[1:].fill(7)
        >>> print(a)
        [0. 7. 7.]
        """
        assign(self, (), value)

    @property
    def real(self) -> Array:
        """The real parts: a view of a complex array, else the array itself."""
        return self if self._dtype.kind != "c" else self._part(0)

    @real.setter
    def real(self, value: Any) -> None:
        assign(self.real, (), value)

    @property
    def imag(self) -> Array:
        """The imaginary parts: a view of a complex array, else zeros."""
        return _imag(self) if self._dtype.kind != "c" else self._part(1)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self._dtype.kind != "c":
            raise BadType(f"imag: an array of {self._dtype} has no imaginary parts")
        assign(self.imag, (), value)

    def conj(self) -> Array:
        """Return the complex conjugates, of a real array itself.

        >>> print(gpuarray.asarray([1 + 2j]).conj())
        [1.-2.j]
        """
        result: Array = _conjugate(self) if self._dtype.kind == "c" else self
        return result

    def compress(self, condition: Any, axis: int | None = None) -> Array:
        """Return the parts along ``axis`` where the 1-d condition is true.

        >>> print(gpuarray.arange(3).compress([True, False, True]))
        [0 2]
        """
        result: Array = take_put.compress(condition, self, axis)
        return result

    def flatten(self, order: Order = "C") -> Array:
        """Return a copy of the elements as a vector.

        >>> print(gpuarray.asarray([[1, 2], [3, 4]]).flatten("F"))
        [1 3 2 4]
        """
        return self.reshape(self.size, order=order, copy=True)

    def tobytes(self, order: Order = "C") -> bytes:
        r"""Return the bytes of the elements, copied to the host.

        In C order, or with ``order="F"`` in Fortran order; waits.

        >>> gpuarray.asarray([1, 2], "uint8").tobytes()
        b'\x01\x02'
        """
        return self.get().tobytes(as_order(order))

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file, in C order; with ``sep`` as text.

        ``gpuarray.fromfile`` reads them; neither dtype nor shape is written. Waits.

        >>> gpuarray.asarray([1, 2], "uint8").tofile("pair.bin")
        >>> print(gpuarray.fromfile("pair.bin", "uint8"))
        [1 2]
        """
        self.get().tofile(fid, sep, format)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return the package, whose functions are the Python array API standard's.

        >>> gpuarray.zeros(2).__array_namespace__() is gpuarray
        True
        """
        if api_version is not None and api_version not in info.VERSIONS:
            raise BadValue(
                f"__array_namespace__: version {api_version!r} of the array API is not "
                f"offered, expected one of {info.VERSIONS}"
            )
        return import_module("gpuarray")

    def __repr__(self) -> str:
        return array_repr(self)

    def __str__(self) -> str:
        if self.size == 0:
            return "[]"
        return array2string(self) if self.ndim else str(self.get()[()])

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)


# ---- operators and methods of the table ----


def _bind_operators(row: Scalar) -> None:
    stem = row.operator
    if stem is None:
        return
    if row.arity == 1:
        setattr(Array, f"__{stem}__", unary_operator(row))
        return
    forward = binary_operator(row)
    if f"__{stem}__" not in vars(Array):
        setattr(Array, f"__{stem}__", forward)
    if row.result == "bool":
        return  # Python reflects comparisons itself
    setattr(Array, f"__r{stem}__", binary_operator(row, reflected=True))
    setattr(Array, f"__i{stem}__", inplace_operator(row))


def _bind_methods(row: Scalar) -> None:
    if row.arity == 1 and not hasattr(Array, row.name):
        setattr(Array, row.name, unary_operator(row))


for _row in SCALARS.values():
    _bind_operators(_row)
    _bind_methods(_row)
dlpack.install(Array)

ndarray = Array  # NumPy's name
GpuArray = ndgpuarray = Array  # libgpuarray's

_power = binary_operator(SCALARS["power"])
_square = unary_operator(SCALARS["square"])
_sqrt = unary_operator(SCALARS["sqrt"])
_imag = unary_operator(SCALARS["imag"])
_conjugate = unary_operator(SCALARS["conjugate"])


# ---- printing ----


def array2string(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    **options: Any,
) -> str:
    """Return NumPy's text of the elements; a large array transfers only its edges.

    ``options`` are NumPy's: ``formatter``, ``threshold``, ``edgeitems`` and so on.

    >>> gpuarray.array2string(gpuarray.asarray([1.0, 2 / 3]), precision=2)
    '[1.   0.67]'
    """
    array = require(a, "array2string")
    known: dict[str, Any] = {**np.get_printoptions()}
    known |= {k: v for k, v in options.items() if v is not None}
    if array.size <= known["threshold"]:
        host = array.get()
    else:
        host = _edges(array, known["edgeitems"])
        options["threshold"] = 0
    how = (max_line_width, precision, suppress_small, separator, prefix)
    with host_errors("array2string"):
        return np.array2string(host, *how, **options)


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the text of the elements, which ``print(a)`` shows.

    >>> gpuarray.array_str(gpuarray.asarray([1, 2]))
    '[1 2]'
    """
    if not require(a, "array_str").ndim:
        return str(a)
    return array2string(a, max_line_width, precision, suppress_small)


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the text of an array with its dtype and context, as ``repr(arr)``.

    >>> gpuarray.array_repr(gpuarray.zeros(1, context="null"))
    "array([0.], dtype=float64, context='null')"
    """
    array = require(arr, "array_repr")
    how = (max_line_width, precision, suppress_small)
    values = f"[], shape={array.shape}" if array.shape != (0,) else "[]"
    if array.size:
        values = array2string(array, *how, ", ", "array(")
    return f"array({values}, dtype={array.dtype}, context={array.context.name!r})"


def _edges(array: Array, edge: int) -> np.ndarray[Any, np.dtype[Any]]:
    """A small NumPy array that prints as the whole: long axes have only their ends.

    Such an axis gets one element more than the ends have, so that NumPy abbreviates it.
    """
    parts = []
    for length in array.shape:
        if length <= 2 * edge + 1:
            parts.append([(slice(None), slice(None))])
        else:
            front = slice(0, edge + 1), slice(0, edge + 1)
            back = slice(edge + 1, 2 * edge + 1), slice(length - edge, length)
            parts.append([front, back])
    shape = tuple(min(length, 2 * edge + 1) for length in array.shape)
    host = np.empty(shape, array.dtype)
    for corner in itertools.product(*parts):
        here, there = zip(*corner, strict=True)
        host[here] = array[there].get()
    return host
