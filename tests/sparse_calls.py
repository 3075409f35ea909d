"""Sparse matrices of the C library, as matrices of scipy see them."""

import gpuarray
import numpy as np
import scipy.sparse as sp
from gpuarray._native import check, ffi, lib
from gpuarray.dtypes import OF_TYPECODE

CSR, CSC, COO = 0, 1, 2
FORMATS = {"csr": CSR, "csc": CSC, "coo": COO}
NAMES = {number: name for name, number in FORMATS.items()}
MADE = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}


def read(array):
    """The elements of a GpuArray struct in C or F order."""
    nd = array.nd
    shape = tuple(array.dimensions[0:nd])
    dtype = OF_TYPECODE[array.typecode]
    flat = np.empty(np.prod(shape, dtype=int), dtype)
    check(lib.GpuArray_read(ffi.from_buffer(flat), flat.nbytes, ffi.addressof(array)))
    return flat.reshape(shape, order="C" if array.flags & lib.GA_C_CONTIGUOUS else "F")


class Matrix:
    """A GpuSparse with its three arrays."""

    def __init__(self):
        self.struct = ffi.gc(ffi.new("GpuSparse *"), lib.GpuSparse_clear)

    @classmethod
    def made(cls, call, *args):
        """What a function of the library makes."""
        made = cls()
        check(call(made.struct, *args))
        return made

    @classmethod
    def of(cls, host, context, index="int32"):
        """A scipy array on the device."""
        second = host.row if host.format == "coo" else host.indptr
        first = host.col if host.format == "coo" else host.indices
        parts = [host.data, first.astype(index), second.astype(index)]
        return cls.set(host.format, host.shape, parts, context)

    @classmethod
    def set(cls, format, shape, parts, context):
        arrays = [gpuarray.asarray(part, context=context) for part in parts]
        structs = [array.struct for array in arrays]
        return cls.made(lib.GpuSparse_set, FORMATS[format], *shape, *structs)

    def flags(self):
        out = ffi.new("int *")
        check(lib.GpuSparse_check(out, self.struct))
        return out[0]

    def host(self):
        """The matrix as scipy's."""
        s = self.struct
        values, indices, indptr = map(read, (s.values, s.indices, s.indptr))
        name = NAMES[s.format]
        if name == "coo":
            return sp.coo_array((values, (indptr, indices)), (s.rows, s.columns))
        return MADE[name]((values, indices, indptr), (s.rows, s.columns))


def dense_of(call, *args):
    """The dense array that a function of the library makes."""
    out = ffi.gc(ffi.new("GpuArray *"), lib.GpuArray_clear)
    check(call(out, *args))
    return read(out[0])
