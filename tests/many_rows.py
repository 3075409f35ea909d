"""Many rows of the table computed by one kernel: compiling costs more than running."""

import gpuarray
import numpy as np
from gpuarray._kernels.apply import new_elemwise
from gpuarray._kernels.codegen import scalar_expression
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.dtypes import OF_TYPECODE, dtype_to_typecode

AT_ONCE = 48  # rows in a kernel, which takes up to 64 arguments


def compute(context, rows, operands):
    """The results of rows of the same operands, of many from one kernel."""
    found = []
    for start in range(0, len(rows), AT_ONCE):
        found += _at_once(context, rows[start : start + AT_ONCE], operands)
    return found


def _at_once(context, rows, operands):
    arrays = [gpuarray.asarray(x, context=context) for x in operands]
    names = [(name, x.dtype) for name, x in zip("xyz", operands, strict=False)]
    found = [scalar_expression(row, names) for row in rows]
    support = "".join(dict.fromkeys(one.support for one in found))
    text = " ".join(f"r{i} = ({one.text});" for i, one in enumerate(found))
    codes = [dtype_to_typecode(one.dtype) for one in found]
    arguments = [(f"r{i}", code, lib.GE_WRITE) for i, code in enumerate(codes)]
    arguments += [(n, dtype_to_typecode(dtype), lib.GE_READ) for n, dtype in names]
    handle = new_elemwise(context, support, text, arguments, "many rows")
    structs = [ffi.new(ARRAY) for _ in rows]
    ins = ffi.new("void *[]", [array.struct for array in arrays])
    check(lib.GpuElemwise_apply(handle, ffi.new("GpuArray *[]", structs), ins))
    results = [
        Array.wrap(struct, context, OF_TYPECODE[code], code)
        for struct, code in zip(structs, codes, strict=True)
    ]
    return [np.asarray(result) for result in results]
