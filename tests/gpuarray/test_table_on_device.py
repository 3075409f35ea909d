"""Every row of the table on every dtype, on the device, against NumPy.

The rows of one operand type are computed by one kernel with many outputs: the
expressions are what is tested here, and a kernel per row and dtype would take an hour
to build.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.codegen import resolve, scalar_expression
from gpuarray.dtypes import DTYPES, OF_TYPECODE, dtype_to_typecode
from gpuarray.elementwise import new_elemwise
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS
from judge import quietly

HEAVY = ("float32", "float64")  # where the functions of libm are tested; others convert
MIXED = [
    ("int64", "uint64"),
    ("uint64", "int64"),
    ("float32", "int32"),
    ("float16", "float32"),
    ("uint8", "int8"),
    ("bool", "float32"),
]
# What OpenCL and CUDA promise, in units of the last place, is far below these; gamma's
# error grows with its value.
RTOL = {"float16": 1e-3, "float32": 4e-6, "float64": 4e-14}
LOOSE = {name: 50 for name in ("gamma", "gammaln", "psi", "tri_gamma", "power", "erfc")}


def special_values(dtype):
    """Values that break careless expressions."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        near = [0, 1, 2, 3, 5, 7, 8, 15, 63, 64, 100]
        if dtype.kind == "i":
            near += [-1, -2, -3, -7, -64]
        return np.array([*near, limits.min, limits.max, limits.max - 1], dtype)
    listed = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -1.0,
        1.5,
        -1.5,
        2.0,
        -2.0,
        2.5,
        -2.5,
        3.0,
        0.1,
    ]
    listed += [-0.1, 1e-3, -7.25, 9.75, 20.0, -30.0, 80.0, -100.0, np.inf, -np.inf]
    return np.array([*listed, np.nan], dtype)


def rows_for(dtypes):
    """The rows to test with these operand dtypes, and their loops."""
    for row in SCALARS.values():
        if row.arity != len(dtypes):
            continue
        try:
            loop = resolve(row, dtypes)
        except BadType:
            continue
        needs_libm = row.result == "float" and loop.result.kind == "f"
        if needs_libm and dtypes[0].name not in HEAVY and row.name != "true_div":
            continue
        yield row, loop


def compute(context, rows, operands):
    """The results of many rows of the same operands, from one kernel."""
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


def defined(row, operands, expected):
    """Where NumPy's result is defined: not C's undefined conversions or refusals."""
    keep = np.ones(expected.shape, bool)
    kind = operands[-1].dtype.kind
    if row.name == "reciprocal" and kind in "iu":
        keep &= operands[0] != 0
    if row.name in ("gamma", "gammaln", "psi", "tri_gamma"):
        x = operands[0]
        keep &= ~((x <= 0) & (x == np.floor(x))) & np.isfinite(x)
    if row.name in ("maximum", "minimum", "fmax", "fmin"):
        keep &= expected != 0  # of zeros of both signs, either may come
    return keep


def assert_agrees(row, got, expected, keep):
    assert got.dtype == expected.dtype, row.name
    got, expected = got[keep], expected[keep]
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(got, expected, err_msg=row.name)
        return
    tolerance = RTOL[expected.dtype.name] * LOOSE.get(row.name, 1)
    tiny = np.finfo(expected.dtype).smallest_normal  # devices may flush what is less
    np.testing.assert_allclose(
        got, expected, rtol=tolerance, atol=max(tiny, tolerance / 10), err_msg=row.name
    )


def reference(row, loop, operands):
    if row.name == "power" and loop.result.kind == "i":
        # NumPy refuses negative exponents; ours give 1 / a**-b rounded to zero.
        a, b = (x.astype(loop.result) for x in operands)
        positive = quietly(np.power, a, np.where(b < 0, b & 1, b))
        return np.where((b >= 0) | (np.abs(a) == 1), positive, 0).astype(a.dtype)
    return quietly(row.reference, *operands)


def run(context, operands):
    found = list(rows_for(tuple(x.dtype for x in operands)))
    if not context.has_double:
        double = np.dtype("f8")
        found = [(r, p) for r, p in found if double not in (*p.operands, p.result)]
    rows = [row for row, _ in found]
    assert rows
    results = compute(context, rows, operands)
    for (row, loop), got in zip(found, results, strict=True):
        expected = reference(row, loop, operands)
        assert_agrees(row, got, expected, defined(row, operands, expected))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_one_operand(context, dtype):
    x = special_values(dtype)
    if dtype.kind == "f":
        x = np.concatenate([x, np.linspace(-6, 6, 101).astype(dtype)])
    run(context, [x])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_two_operands(context, dtype):
    x, y = np.meshgrid(special_values(dtype), special_values(dtype))
    run(context, [x.ravel(), y.ravel()])


@pytest.mark.parametrize("dtypes", MIXED, ids="-".join)
def test_rows_of_two_dtypes(context, dtypes):
    x, y = np.meshgrid(*map(special_values, dtypes))
    run(context, [x.ravel(), y.ravel()])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
def test_rows_of_three_operands(context, dtype):
    x = special_values(dtype)
    x, y, z = np.meshgrid(x, x[::-2], x[::3])
    run(context, [x.ravel(), y.ravel(), z.ravel()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_signs_of_zeros(context, dtype):
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf], dtype)
    rows = [
        SCALARS[name] for name in ("neg", "copysign", "floor_divide", "mod", "rint")
    ]
    for row in rows:
        operands = [x] * row.arity
        (got,) = compute(context, [row], operands)
        expected = quietly(row.reference, *operands)
        number = ~np.isnan(expected)  # the sign of a nan means nothing
        signs = np.signbit(got[number]), np.signbit(expected[number])
        np.testing.assert_array_equal(*signs, row.name)
