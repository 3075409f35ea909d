"""``csr_array``, ``csc_array``, ``coo_array``, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from gpuarray._creation.arguments import Place
from gpuarray._creation.conversion import asarray
from gpuarray._interop.pickling import place
from gpuarray._sparse import (
    arithmetic,
    assignment,
    construction,
    conversion,
    elementwise,
    indexing,
    products,
    reductions,
    shaping,
)
from gpuarray._sparse.base import SparseBase, flags, is_canonical
from gpuarray._sparse.pattern import SORTED, flags_of
from gpuarray.array import Array
from gpuarray.errors import (
    BadType,
    BadValue,
    NotConstructible,
    UnknownName,
    Unsupported,
)

_NAMES = {
    "csr": "Compressed Sparse Row",
    "csc": "Compressed Sparse Column",
    "coo": "COOrdinate",
}
_OPERATORS = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "maximum": ("maximum", "maximum"),
    "minimum": ("minimum", "minimum"),
    "power": ("__pow__", ""),
    "negative": ("__neg__", ""),
    "absolute": ("__abs__", ""),
    "conjugate": ("conj", ""),
}
_ELSEWHERE = {
    "tobsr": "A.get().tobsr(), by scipy",
    "todia": "A.get().todia(), by scipy",
    "todok": "A.get().todok(), by scipy",
    "tolil": "A.get().tolil(), by scipy",
}
_SHOWN = 50  # values that print


class sparray(SparseBase):
    """What sparse arrays of all formats have: scipy's interface, on a device.

    ``*`` is the product element by element, ``@`` the matrix product. Nothing becomes
    dense unless asked for by ``toarray``, or where scipy's sparse arrays give a dense
    array: sums over an axis, sums with and products by dense arrays. What is not
    offered raises Unsupported, which says what to call instead.

    Functions that need sorted indices without duplicates look whether they are, and
    wait for the answer unless it is known; where they are not, a sorted copy is made.
    ``format`` is "csr", "csc" or "coo".

    >>> A = gpuarray.sparse.csr_array([[0.0, 1.0], [2.0, 0.0]])
    >>> isinstance(A, gpuarray.sparse.sparray), A.shape, A.nnz
    (True, (2, 2), 2)
    >>> print((A * 2 + A.T).toarray())
    [[0. 4.]
     [5. 0.]]
    >>> print(A @ gpuarray.asarray([1.0, 10.0]))
    [10.  2.]
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # equality is elementwise
    __array_priority__ = 20.0

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Raise NotConstructible of the class that has no format."""
        if not cls.format:
            raise NotConstructible(
                "sparse arrays are made by gpuarray.sparse.csr_array, csc_array and "
                "coo_array"
            )
        return super().__new__(cls)

    def __init__(
        self,
        arg1: Any,
        shape: Any = None,
        dtype: npt.DTypeLike | None = None,
        copy: bool = False,
        *,
        context: Place = None,
    ) -> None:
        made = construction.build(self.format, arg1, shape, dtype, copy, context)
        self._set(made._values, made._pattern, made.shape)

    # ---- parts ----

    @property
    def data(self) -> Array:
        """The stored values, which may be written; assign a vector to replace them."""
        return self._values

    @data.setter
    def data(self, values: Any) -> None:
        given = asarray(values, None, self.context)
        if given.shape != (self.nnz,):
            raise BadValue(
                f"data: got shape {given.shape}, expected ({self.nnz},), as many as "
                "there are indices"
            )
        self._values = given if given.flags.c_contiguous else given.copy("C")

    @property
    def T(self) -> Any:
        """The transposed array, a view: of CSR in CSC."""
        return elementwise.transpose(self)

    @property
    def real(self) -> Any:
        """The real parts; real arrays themselves."""
        return elementwise.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary parts, on the same indices."""
        return elementwise.imag(self)

    @property
    def has_sorted_indices(self) -> bool:
        """True if indices ascend within each line; may wait.

        Whatever is assigned, they are looked at again.
        """
        return bool(flags(self) & SORTED)

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        self._pattern.knowledge.flags = None

    @property
    def has_canonical_format(self) -> bool:
        """True if indices ascend and none occurs twice; may wait.

        Whatever is assigned, they are looked at again.
        """
        return is_canonical(self)

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._pattern.knowledge.flags = None

    # ---- methods ----

    asformat = conversion.asformat
    tocsr = conversion.tocsr
    tocsc = conversion.tocsc
    tocoo = conversion.tocoo
    toarray = todense = conversion.toarray
    copy = conversion.copied
    sort_indices = conversion.sort_indices
    sorted_indices = conversion.sorted_indices
    sum_duplicates = conversion.sum_duplicates
    eliminate_zeros = conversion.eliminate_zeros
    get = construction.get
    astype = elementwise.astype
    conj = conjugate = elementwise.conjugate
    transpose = elementwise.transpose
    reshape = shaping.reshape
    resize = shaping.resize
    prune = shaping.prune
    multiply = arithmetic.multiply
    power = arithmetic.power
    maximum = arithmetic.maximum
    minimum = arithmetic.minimum
    dot = products.dot
    sum = reductions.sum
    mean = reductions.mean
    max = reductions.max
    min = reductions.min
    nanmax = reductions.nanmax
    nanmin = reductions.nanmin
    argmax = reductions.argmax
    argmin = reductions.argmin
    count_nonzero = reductions.count_nonzero
    nonzero = reductions.nonzero
    diagonal = reductions.diagonal
    trace = reductions.trace
    setdiag = indexing.setdiag

    def check_format(self, full_check: bool = True) -> None:
        """Raise BadIndex or BadValue if indices are out of range; waits.

        They were checked when the array was made; this is for what was written since.

        >>> gpuarray.sparse.csr_array([[0, 1]]).check_format()
        """
        self._pattern.knowledge.flags = None
        flags_of(self._pattern, self._values)

    # ---- operators ----

    __getitem__ = indexing.get
    __setitem__ = assignment.put_part
    __add__ = __radd__ = arithmetic.add
    __sub__ = arithmetic.subtract
    __rsub__ = arithmetic.rsubtract
    __mul__ = __rmul__ = arithmetic.times
    __imul__ = arithmetic.scale
    __truediv__ = arithmetic.divide
    __itruediv__ = arithmetic.shrink
    __rtruediv__ = arithmetic.rdivide
    __neg__ = elementwise.negative
    __abs__ = elementwise.absolute
    __round__ = shaping.rounded
    __eq__ = arithmetic.compared("equal")
    __ne__ = arithmetic.compared("not_equal")
    __lt__ = arithmetic.compared("less")
    __le__ = arithmetic.compared("less_equal")
    __gt__ = arithmetic.compared("greater")
    __ge__ = arithmetic.compared("greater_equal")

    def __pow__(self, other: Any) -> Any:
        return self.power(other)

    def __pos__(self) -> Any:
        return self

    def __matmul__(self, other: Any) -> Any:
        return products.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return products.matmul(other, self)

    def __len__(self) -> int:
        raise BadType(
            "len: the length of a sparse array is ambiguous; use A.shape[0] or A.nnz"
        )

    def __bool__(self) -> bool:
        if self.shape == (1, 1):
            return bool(self.count_nonzero())
        raise BadValue(
            "bool: the truth of a sparse array is ambiguous; use A.nnz, or "
            "A.count_nonzero() > 0"
        )

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise BadType(
            "numpy.asarray: a sparse array does not become dense unasked; use "
            "A.toarray().get(), or A.get() for scipy's sparse array"
        )

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        name = ufunc.__name__
        if method != "__call__" or any(options.values()):
            return NotImplemented
        if len(inputs) == 1:
            found = _OPERATORS.get(name, (name, ""))[0]
            if found.startswith("__") or name in (*elementwise.KEEP_ZERO, "conjugate"):
                return getattr(self, found)()
            return NotImplemented
        forward, reflected = _OPERATORS.get(name, ("", ""))
        if not forward or len(inputs) != 2:
            return NotImplemented
        if inputs[0] is self:
            return getattr(self, forward)(inputs[1])
        return getattr(self, reflected)(inputs[0]) if reflected else NotImplemented

    def __getattr__(self, name: str) -> Any:
        if name in _ELSEWHERE:
            raise Unsupported(
                f"{name}: not offered for sparse arrays; use {_ELSEWHERE[name]}"
            )
        raise UnknownName(f"{type(self).__name__!r} object", name, type(self))

    # ---- printing and pickles ----

    def __repr__(self) -> str:
        return (
            f"<{_NAMES[self.format]} sparse array of dtype '{self.dtype}'\n"
            f"\twith {self.nnz} stored elements and shape {self.shape}, "
            f"context='{self.context.name}'>"
        )

    def __str__(self) -> str:
        lines = [repr(self), "  Coords\tValues"]
        shown = self.nnz if self.nnz <= _SHOWN else _SHOWN // 2
        lines += _listed(self, slice(0, shown))
        if shown < self.nnz:
            lines += ["  :\t:", *_listed(self, slice(self.nnz - shown, self.nnz))]
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        pattern = self._pattern
        arrays = self._values, pattern.indices, pattern.indptr
        hosts = tuple(array._read() for array in arrays)
        return _restore, (hosts, self.format, self.shape, self.context.name)


def _restore(parts: Any, format: str, shape: Any, name: str) -> Any:
    return construction.restore(parts, format, shape, place(name))


def _listed(a: Any, part: slice) -> list[str]:
    """Return a line for each value of a part: its place and itself."""
    row, column = (index[part]._read() for index in conversion.places(a))
    values = a._values[part]._read()
    places = zip(row, column, strict=True) if a.ndim == 2 else ((j,) for j in column)
    return [
        f"  ({', '.join(map(str, at))}{',' * (len(at) == 1)})\t{value}"
        for at, value in zip(places, values, strict=True)
    ]


for _name in elementwise.KEEP_ZERO:
    setattr(sparray, _name, elementwise.keeping_zero(_name))


class _Compressed(sparray):
    """Formats with ``indices`` and ``indptr``."""

    __slots__ = ()

    def _storage(self) -> tuple[Array, Array, Array]:
        """Return values, indices and indptr, for those who do not write them."""
        return self._values, self._pattern.indices, self._pattern.indptr

    @property
    def indices(self) -> Array:
        """The column (of CSC: row) of each value."""
        self._pattern.lend()
        return self._pattern.indices

    @property
    def indptr(self) -> Array:
        """Where each row (of CSC: column) begins among the values, and their number."""
        self._pattern.lend()
        return self._pattern.indptr


class csr_array(_Compressed):
    """A sparse array by rows: values and their columns, row behind row.

    Made of a dense array (``csr_array(D)``), a shape, ``(data, (row, col))``, whose
    duplicates are added, ``(data, indices, indptr)``, or another sparse array: also
    scipy's, CuPy's on its own memory, and PyTorch's tensors in a sparse layout. Index
    arrays are checked once, here, which waits: BadIndex names the first index out of
    range and its place, BadValue an ``indptr`` that descends. Arrays on the device are
    shared unless ``copy``. ``context`` is where it shall be. ``format`` is "csr". Back:
    ``get()`` is scipy's array, and ``torch.sparse_csr_tensor`` takes ``indptr``,
    ``indices`` and ``data`` by ``torch.from_dlpack``.

    >>> A = gpuarray.sparse.csr_array(([1, 2, 3], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    >>> print(A.toarray())
    [[1 0 2]
     [0 3 0]]
    >>> gpuarray.sparse.csr_array(([1.0], [5], [0, 1]), shape=(1, 3))
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadIndex: csr_array: ... index 5 at place 0 is out of 3 columns
    """

    __slots__ = ()
    format = "csr"


class csc_array(_Compressed):
    """A sparse array by columns: values and their rows, column behind column.

    Made as ``csr_array`` is; ``format`` is "csc".

    >>> A = gpuarray.sparse.csc_array(([1, 2, 3], [0, 2, 1], [0, 2, 3]), shape=(3, 2))
    >>> print(A.toarray())
    [[1 0]
     [0 3]
     [2 0]]
    """

    __slots__ = ()
    format = "csc"


class coo_array(sparray):
    """A sparse array as a list: values, their rows and their columns, in any order.

    Made as ``csr_array`` is, but for ``(data, indices, indptr)``; it may have one axis:
    ``(data, (col,))``. Duplicates stay and count together. ``format`` is "coo".

    >>> A = gpuarray.sparse.coo_array(([1, 2], ([0, 1], [2, 0])), shape=(2, 3))
    >>> print(A.toarray())
    [[0 0 1]
     [2 0 0]]
    """

    __slots__ = ()
    format = "coo"

    @property
    def row(self) -> Array:
        """The row of each value."""
        self._pattern.lend()
        return self._pattern.indptr

    @property
    def col(self) -> Array:
        """The column of each value."""
        self._pattern.lend()
        return self._pattern.indices

    @property
    def coords(self) -> tuple[Array, ...]:
        """The index arrays, one for each axis."""
        return (self.row, self.col) if self.ndim == 2 else (self.col,)


def issparse(x: Any) -> bool:
    """Return True for a sparse array of this module.

    >>> gpuarray.sparse.issparse(gpuarray.sparse.csr_array((2, 3)))
    True
    """
    return isinstance(x, SparseBase)
