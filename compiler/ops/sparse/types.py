"""The type of sparse matrices, and their variables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.errors import (
    GraphIndexError,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.types import (
    NumericType,
    TensorType,
    dtype_name,
    promoted,
)

FORMATS = ("csr", "csc")
INDEX = "int32"
"""The dtype of indices, as Theano's."""
VECTOR = TensorType(INDEX, (False,))
"""The type of indices and indptr."""
LENGTH = TensorType("int64", ())
PARTS = ("data", "indices", "indptr", "minor")
"""The arrays of a matrix, and the length of the axis that is not compressed."""


def check_format(format: Any) -> str:
    """Return a format's name. Raises ValueError for another than CSR or CSC."""
    if format in ("bsr", "coo"):
        raise NotOfferedError(
            f"SparseType: the format {format!r} is not offered in expressions; convert "
            "the matrix with .tocsr() or .tocsc()"
        )
    if format not in FORMATS:
        raise GraphValueError(
            f"SparseType: the format is {format!r}, expected 'csr' or 'csc'"
        )
    return str(format)


@dataclass(frozen=True, slots=True)
class SparseType(NumericType):
    """The type of sparse matrices: a ``format``, ``"csr"`` or ``"csc"``, and a dtype.

    Values are matrices and arrays of scipy.sparse, or arrays of gpuarray.sparse.

    >>> SparseType("csr", "float32")
    Sparse[float32, csr]
    """

    format: str
    dtype: str

    ndim: ClassVar[int] = 2
    broadcastable: ClassVar[tuple[bool, ...]] = (False, False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", check_format(self.format))
        object.__setattr__(self, "dtype", dtype_name(self.dtype))

    @property
    def dense(self) -> TensorType:
        """The type of the same matrix as an array."""
        return TensorType(self.dtype, self.broadcastable)

    @property
    def part_types(self) -> tuple[TensorType, ...]:
        """The types of a matrix's arrays and of its other length, as in `PARTS`."""
        values = TensorType(self.dtype, (False,))
        return values, VECTOR, VECTOR, LENGTH

    def clone(self, format: str | None = None, dtype: Any = None) -> SparseType:
        """Return the type with another format or dtype."""
        return SparseType(format or self.format, self.dtype if dtype is None else dtype)

    def __repr__(self) -> str:
        return f"Sparse[{self.dtype}, {self.format}]"

    __str__ = __repr__

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """Return ``value`` in the type's format and dtype; itself if it has them.

        Values widen silently, and narrow where ``allow_downcast`` is true; if
        ``strict``, both must be right already.
        """
        if not is_sparse_value(value):
            raise GraphTypeError(
                f"{self}: given {_described(value)}, expected a sparse matrix of "
                f"scipy.sparse or gpuarray.sparse: {self.format}_matrix(x)"
            )
        if value.ndim != 2:
            raise GraphTypeError(
                f"{self}: given a sparse array of {value.ndim} axes, expected 2"
            )
        found = str(value.dtype)
        if strict and (value.format, found) != (self.format, self.dtype):
            raise GraphTypeError(
                f"{self}: given a {value.format} matrix of {found}, and strict takes "
                "that format and dtype alone"
            )
        if found != self.dtype:
            is_wider = promoted(found, self.dtype) == self.dtype
            if not is_wider and not allow_downcast:
                raise GraphTypeError(
                    f"{self}: given a {value.format} matrix of {found}, which may lose "
                    f"digits; convert it with .astype({self.dtype!r}), or allow it "
                    "with allow_downcast=True, of a function allow_input_downcast"
                )
            value = self._converted(value)
        listed = value if value.format in FORMATS else value.asformat(self.format)
        check_structure(listed)
        return listed.asformat(self.format)

    def _converted(self, value: Any) -> Any:
        """Return a matrix in the type's dtype. Raises TypeError if scipy lacks it."""
        try:
            return value.astype(self.dtype)
        except (TypeError, ValueError):
            raise GraphTypeError(
                f"{self}: given a {type(value).__name__} of {value.dtype}, and scipy "
                f"has no {self.dtype}; give gpuarray.sparse.csr_array(x).astype("
                f"{self.dtype!r}), or cast in the expression: sparse.cast(x, "
                f"{self.dtype!r})"
            ) from None

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return True for matrices of the same stored values at the same places."""
        pairs = zip(parts_of_value(a), parts_of_value(b), strict=True)
        return a.format == b.format and all(np.array_equal(p, q) for p, q in pairs)

    def values_eq_approx(self, a: Any, b: Any, eps: float = 1e-6) -> bool:
        """Return True for matrices whose elements differ by ``eps`` at most."""
        if a.shape != b.shape or a.format != b.format:
            return False
        difference = abs(a - b)
        return difference.nnz == 0 or bool(np.max(np.asarray(difference.data)) <= eps)


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    of = "" if shape is None else f" of shape {tuple(shape)}"
    return f"{type(value).__name__}{of}"


def is_sparse_value(value: Any) -> bool:
    """Return True for a sparse matrix of scipy, gpuarray or the like."""
    return hasattr(value, "asformat") and hasattr(value, "nnz")


def parts_of_value(value: Any, is_written: bool = True) -> tuple[Any, ...]:
    """Return a matrix's values and indices, and its other length.

    The two index arrays are int32. Raises ValueError where that does not suffice. An
    array of the device keeps what is known of its indices unless ``is_written``.
    """
    minor = value.shape[1] if value.format == "csr" else value.shape[0]
    if max(value.nnz, *value.shape) >= 2**31:
        raise GraphValueError(
            f"sparse: {value.nnz} values in shape {value.shape}, too many for indices "
            "of int32"
        )
    if is_written or not hasattr(value, "_storage"):
        data, indices, starts = value.data, value.indices, value.indptr
    else:
        data, indices, starts = value._storage()
    if data.shape[0] != value.nnz:  # there may be room behind the values
        data, indices = data[: value.nnz], indices[: value.nnz]
    indices, starts = (x.astype(INDEX, copy=False) for x in (indices, starts))
    return data, indices, starts, int(minor)


def check_structure(value: Any) -> None:
    """Raise ValueError or IndexError for a matrix whose arrays are none of a matrix.

    Those of gpuarray.sparse have been checked.
    """
    if hasattr(value, "_storage"):
        return
    indices, starts = value.indices, value.indptr
    rows, columns = value.shape if value.format == "csr" else value.shape[::-1]
    of = f"of a {value.format} matrix of shape {value.shape}"
    if starts.size != rows + 1 or indices.size > value.data.size:
        raise GraphValueError(
            f"sparse: {value.data.size} values, {indices.size} indices and "
            f"{starts.size} starts in indptr, {of}; expected one index for each value, "
            f"and {rows + 1} starts"
        )
    falls = np.flatnonzero(np.diff(starts) < 0)
    if starts[0] != 0 or falls.size or starts[-1] > indices.size:
        at = 0 if starts[0] != 0 else int(falls[0]) + 1 if falls.size else rows
        raise GraphValueError(
            f"sparse: indptr is {int(starts[at])} at place {at}, {of}; expected starts "
            f"that begin with 0, never fall, and end with the number of values, at "
            f"most {indices.size}"
        )
    indices = indices[: starts[-1]]
    if indices.size and not (indices.min() >= 0 and indices.max() < columns):
        at = int(np.flatnonzero((indices < 0) | (indices >= columns))[0])
        lines = "columns" if value.format == "csr" else "rows"
        raise GraphIndexError(
            f"sparse: index {int(indices[at])} at place {at} is out of {columns} "
            f"{lines}, {of}"
        )


class SparseVariable(Variable):
    """A sparse matrix of the graph.

    ``x + y`` and ``x * y`` are element by element, ``dot`` is the product of matrices.
    """

    is_sparse = True

    @property
    def format(self) -> str:
        """``"csr"`` or ``"csc"``."""
        return str(self.type.format)

    @property
    def parts(self) -> Sequence[Variable]:
        """The variables of an input's arrays and other length, as in `PARTS`."""
        made: list[Variable] | None = self.__dict__.get("_parts")
        if made is None:
            named = self.name
            made = [
                kind(f"{named}.{part}" if named else None)
                for kind, part in zip(self.type.part_types, PARTS, strict=True)
            ]
            for variable in made:
                variable.tag.trace = self.tag.trace
                variable.tag.part_of = self
            self.__dict__["_parts"] = made
        return made

    def clone(self, name: str | None = None) -> Variable:
        """Return a fresh variable of the same type, name and tag, with no owner."""
        copy = SparseVariable(self.type, name=self.name if name is None else name)
        copy.tag = SimpleNamespace(**vars(self.tag))
        return copy

    @classmethod
    def gain(cls, methods: Mapping[str, Any]) -> None:
        """Replace these operators and methods of arrays by those of matrices."""
        for name, method in methods.items():
            setattr(cls, name, method)


class SparseConstant(SparseVariable, Constant):
    """A sparse matrix with a known value."""

    @property
    def parts(self) -> Sequence[Variable]:
        """The constants of its arrays and its other length."""
        made: list[Variable] | None = self.__dict__.get("_parts")
        if made is None:
            values = map(np.asarray, parts_of_value(self.data))
            pairs = zip(self.type.part_types, values, strict=True)
            made = [Constant(kind, value) for kind, value in pairs]
            self.__dict__["_parts"] = made
        return made

    @property
    def signature(self) -> tuple[Any, ...]:
        """A hashable key: constants of equal signature are interchangeable."""
        if self._signature is None:
            hashed = hashlib.blake2b(digest_size=16)
            for part in parts_of_value(self.data):
                hashed.update(np.asarray(part).tobytes())
            self._signature = (self.type, self.data.shape, hashed.digest())
        return self._signature

    def clone(self, name: str | None = None) -> SparseConstant:
        """Return a constant of the same value."""
        return SparseConstant(self.type, self.data, self.name if name is None else name)

    def __str__(self) -> str:
        shape = "x".join(map(str, self.data.shape))
        return f"{self.name or 'SparseConstant'}{{{shape}, {self.data.nnz} stored}}"

    __repr__ = __str__


SparseType.variable_class = SparseVariable
SparseType.constant_class = SparseConstant
