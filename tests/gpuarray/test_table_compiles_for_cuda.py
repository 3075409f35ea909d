"""Every row of the table is CUDA C as well: compiled by NVRTC, which needs no card."""

import gpuarray
import pytest
from gpuarray._native import check, ffi, lib, prepare
from gpuarray.codegen import resolve, scalar_expression
from gpuarray.dtypes import DTYPES, work_ctype
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS


@pytest.fixture(scope="module", autouse=True)
def nvrtc():
    prepare()
    try:
        check(lib.gpuarray_cuda_compile(b"KERNEL void f(void) {}", b"sm_80", ffi.NULL))
    except gpuarray.LibraryMissing as error:
        pytest.skip(f"NVRTC is not here: {str(error).splitlines()[0]}")


def source(dtype):
    """One kernel that computes every row of operands of a dtype."""
    supports, lines = {}, []
    for row in SCALARS.values():
        try:
            resolve(row, (dtype,) * row.arity)
        except BadType:
            continue
        found = scalar_expression(row, [(name, dtype) for name in "xyz"[: row.arity]])
        supports[found.support] = None
        result = work_ctype(found.dtype)
        lines.append(f"  {{ const {result} r = ({found.text}); *sum += (ga_float)r; }}")
    operands = "".join(f", {work_ctype(dtype)} {name}" for name in "xyz")
    head = f"KERNEL void every_row(GLOBAL_MEM ga_float *sum{operands})"
    return "\n".join([*supports, head, "{", *lines, "}"])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_every_dtype(dtype):
    check(lib.gpuarray_cuda_compile(source(dtype).encode(), b"sm_90", ffi.NULL))


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_100"])
def test_rows_for_every_architecture(architecture):
    text = source(DTYPES[9]).encode()
    check(lib.gpuarray_cuda_compile(text, architecture.encode(), ffi.NULL))
