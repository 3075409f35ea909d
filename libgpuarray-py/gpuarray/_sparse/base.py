"""The core of a sparse array: values on a pattern, and functions that require one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._kernels.apply import from_host
from gpuarray._sparse.pattern import (
    CANONICAL,
    FORMATS,
    Knowledge,
    Pattern,
    flags_of,
    struct_of,
)
from gpuarray.array import Array
from gpuarray.errors import BadType, BadValue, Unsupported

Shape = tuple[int, ...]


class SparseBase:
    """Values on a pattern; its shape has one axis (of COO) or two."""

    __slots__ = ("__weakref__", "_pattern", "_shape", "_values")

    format: ClassVar[str] = ""
    _classes: ClassVar[dict[str, type[SparseBase]]] = {}

    _pattern: Pattern
    _shape: Shape
    _values: Array

    def __init_subclass__(cls) -> None:
        if cls.format:
            SparseBase._classes.setdefault(cls.format, cls)

    def _set(self, values: Array, pattern: Pattern, shape: Shape | None = None) -> None:
        self._values = values
        self._pattern = pattern
        self._shape = pattern.lengths if shape is None else shape

    def _with_values(self, values: Array) -> Any:
        """Return an array of other values on the same pattern."""
        return make(values, self._pattern, self._shape)

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def context(self) -> Context:
        """The context that the array lives on."""
        return self._values.context

    @property
    def device(self) -> Context:
        """The context, by the array API standard's name."""
        return self._values.context

    @property
    def nnz(self) -> int:
        """The number of stored values, explicit zeros and duplicates among them."""
        return self._values.size

    @property
    def size(self) -> int:
        """The number of stored values, as ``nnz``."""
        return self._values.size

    @property
    def nbytes(self) -> int:
        """Bytes of values and indices."""
        pattern = self._pattern
        return self._values.nbytes + pattern.indices.nbytes + pattern.indptr.nbytes


def make(values: Array, pattern: Pattern, shape: Shape | None = None) -> Any:
    """Return the sparse array of values on a pattern, of the class of its format."""
    array = object.__new__(SparseBase._classes[pattern.format])
    array._set(values, pattern, shape)
    return array


def of_canonical(format: str, arrays: Sequence[Array], shape: Shape) -> Any:
    """Return the array of values, indices and indptr that are known to be canonical.

    They are not checked.
    """
    values, indices, indptr = arrays
    lengths = shape[0], shape[1]
    pattern = Pattern(format, lengths, indices, indptr, Knowledge(CANONICAL))
    return make(values, pattern)


def struct(a: Any) -> Any:
    """Return the library's ``GpuSparse *`` of an array."""
    return struct_of(a._pattern, a._values)


def flags(a: Any) -> int:
    """Return the flags of an array's indices; waits unless they are known."""
    return flags_of(a._pattern, a._values)


def is_canonical(a: Any) -> bool:
    """Return True if the indices are sorted and none occurs twice; may wait."""
    return flags(a) == CANONICAL


# ---- operands ----


def require(a: Any, operation: str) -> Any:
    """Return ``a`` itself. Raises BadType if it is no sparse array of ours."""
    if not isinstance(a, SparseBase):
        raise BadType(
            f"{operation}: got {type(a).__name__}, expected a sparse array of "
            "gpuarray; use gpuarray.sparse.csr_array(x)"
        )
    return a


def require_matrix(a: Any, operation: str) -> Any:
    """As ``require``; raises BadValue unless the array has two axes."""
    if require(a, operation).ndim != 2:
        raise BadValue(f"{operation}: an array of shape {a.shape}, expected two axes")
    return a


def is_sparse(x: Any) -> bool:
    """Return True for a sparse array of ours."""
    return isinstance(x, SparseBase)


def not_an_operand(x: Any, operation: str) -> Any:
    """Return NotImplemented, for Python to ask the other operand.

    Raises BadType for a sparse array of another library, which would say less.
    """
    if hasattr(x, "tocsr") and not is_sparse(x):
        form = x.format if x.format in FORMATS else "csr"
        raise BadType(
            f"{operation}: an operand is {type(x).__module__.split('.')[0]}'s "
            f"{type(x).__name__}; put it on the device first: "
            f"gpuarray.sparse.{form}_array(x)"
        )
    return NotImplemented


def is_number(x: Any) -> bool:
    """Return True for a number, of Python, NumPy or an array without axes."""
    if isinstance(x, np.ndarray | BaseArray):
        return x.ndim == 0
    return isinstance(x, bool | int | float | complex | np.generic)


def is_dense(x: Any) -> bool:
    """Return True for an array with axes, on a device or the host."""
    return isinstance(x, np.ndarray | BaseArray) and x.ndim > 0


def dense_beside(a: Any, x: Any, operation: str) -> Any:
    """Return a dense operand as an array on the context of ``a``."""
    if isinstance(x, np.ndarray):
        return from_host(operation, a._values, x)
    check_context(a, x, operation)
    return x


def check_context(a: Any, b: Any, operation: str) -> None:
    """Raise BadValue unless both are on one context."""
    if a.context is not b.context:
        raise BadValue(
            f"{operation}: the operands are on {a.context.name} and {b.context.name}; "
            "bring one over first: gpuarray.sparse.csr_array(b, context=a.context), "
            "or b.transfer(a.context) of a dense one"
        )


def check_shapes(a: Any, b: Any, operation: str) -> None:
    """Raise BadValue unless both have one shape and one context."""
    check_context(a, b, operation)
    if a.shape != b.shape:
        raise BadValue(
            f"{operation}: shapes {a.shape} and {b.shape} of sparse arrays; expected "
            "the same"
        )


def would_be_dense(operation: str, way: str) -> Unsupported:
    """Return the error for a function whose result has no zeros."""
    return Unsupported(
        f"{operation}: the result would have a value at every place; sparse arrays do "
        f"not become dense unasked: {way}"
    )
