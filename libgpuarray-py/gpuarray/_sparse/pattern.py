"""Patterns: where the values of a sparse array are; calls of the C library on both.

Arrays of one structure share a pattern: those that an elementwise function makes have
that of their operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.context import Context
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.dtypes import of_typecode

FORMATS = {"csr": lib.GA_SPARSE_CSR, "csc": lib.GA_SPARSE_CSC, "coo": lib.GA_SPARSE_COO}
_NAMES = {number: name for name, number in FORMATS.items()}
TURNED = {"csr": "csc", "csc": "csr", "coo": "coo"}
SORTED, UNIQUE = int(lib.GA_SPARSE_SORTED), int(lib.GA_SPARSE_UNIQUE)
CANONICAL = SORTED | UNIQUE
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


class Loan:
    """True if users hold index arrays, for all patterns that share one."""

    __slots__ = ("lent",)

    def __init__(self, lent: bool = False) -> None:
        self.lent = lent


class Knowledge:
    """Flags of index arrays, for all patterns that have them in one order.

    ``flags`` are those of ``GpuSparse_check``; None: unknown. Once the arrays are
    ``lent``, somebody else may write them, so the flags are asked for each time.
    """

    __slots__ = ("flags", "loan")

    def __init__(self, flags: int | None = None, loan: Loan | None = None) -> None:
        self.flags = flags
        self.loan = Loan() if loan is None else loan

    @property
    def lent(self) -> bool:
        """True if somebody else may write the arrays."""
        return self.loan.lent

    @property
    def sure_flags(self) -> int | None:
        """The flags if no user can have changed them."""
        return None if self.loan.lent else self.flags


class Pattern:
    """A format, two lengths and two index arrays.

    ``indptr`` of a COO pattern are its row indices.
    """

    __slots__ = ("format", "indices", "indptr", "knowledge", "lengths")

    def __init__(
        self,
        format: str,
        lengths: tuple[int, int],
        indices: Array,
        indptr: Array,
        knowledge: Knowledge | None = None,
    ) -> None:
        self.format = format
        self.lengths = lengths
        self.indices = indices
        self.indptr = indptr
        self.knowledge = Knowledge() if knowledge is None else knowledge

    def lend(self) -> None:
        """Note that somebody else has the index arrays."""
        self.knowledge.loan.lent = True

    def turned(self) -> Pattern:
        """Return the pattern of the transposed array, of the same index arrays."""
        format, lengths = TURNED[self.format], self.lengths[::-1]
        if format != "coo":
            return Pattern(format, lengths, self.indices, self.indptr, self.knowledge)
        known = Knowledge(None, self.knowledge.loan)  # sorted by rows, not by columns
        return Pattern("coo", lengths, self.indptr, self.indices, known)

    def widened(self) -> Pattern:
        """Return the pattern with indices of 64 bits."""
        indices, indptr = (
            array.astype(INT64, copy=False) for array in (self.indices, self.indptr)
        )
        return Pattern(self.format, self.lengths, indices, indptr)

    def copy(self) -> Pattern:
        """Return the pattern with index arrays of its own."""
        arrays = self.indices.copy(), self.indptr.copy()
        known = Knowledge(self.knowledge.sure_flags)
        return Pattern(self.format, self.lengths, *arrays, known)


def struct_of(pattern: Pattern, values: Array) -> Any:
    """Return a ``GpuSparse *`` of views, freed with its last reference."""
    struct = ffi.gc(ffi.new("GpuSparse *"), lib.GpuSparse_clear)
    arrays = (array.struct for array in (values, pattern.indices, pattern.indptr))
    check(
        lib.GpuSparse_set(struct, FORMATS[pattern.format], *pattern.lengths, *arrays),
        f"{pattern.format}_array",
    )
    return struct


def made(operation: str, context: Context, call: Any, *args: Any) -> Any:
    """Return the values and the pattern that a function of the library makes."""
    struct = ffi.gc(ffi.new("GpuSparse *"), lib.GpuSparse_clear)
    check(call(struct, *args), operation)
    members = (struct.values, struct.indices, struct.indptr)
    values, indices, indptr = (_view(member, context) for member in members)
    lengths = (int(struct.rows), int(struct.columns))
    return values, Pattern(_NAMES[struct.format], lengths, indices, indptr)


def _view(member: Any, context: Context) -> Array:
    struct = ffi.new(ARRAY)
    check(lib.GpuArray_view(struct, ffi.addressof(member)))
    return Array.wrap(struct, context, of_typecode(member.typecode), member.typecode)


def flags_of(pattern: Pattern, values: Array) -> int:
    """Return the flags of a pattern; raise for indices that are out of range.

    Waits, unless they are known.
    """
    knowledge = pattern.knowledge
    if knowledge.sure_flags is not None:
        return knowledge.sure_flags
    flags = ffi.new("int *")
    check(
        lib.GpuSparse_check(flags, struct_of(pattern, values)),
        f"{pattern.format}_array",
    )
    knowledge.flags = int(flags[0])
    return knowledge.flags


def index_dtype(*sizes: int) -> np.dtype[Any]:
    """Return the dtype of indices below all of the sizes."""
    return INT32 if max(sizes, default=0) < 2**31 else INT64
