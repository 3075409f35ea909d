"""Every row of the table on every dtype, on the device, against NumPy.

The rows of one operand type are computed by one kernel with many outputs: the
expressions are what is tested here, and a kernel per row and dtype would take an hour
to build.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.apply import new_elemwise
from gpuarray.array import Array
from gpuarray.codegen import resolve, scalar_expression
from gpuarray.dtypes import (
    DOUBLES,
    DTYPES,
    OF_TYPECODE,
    as_dtype,
    dtype_to_typecode,
    kind_of,
    work_dtype,
)
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS
from judge import quietly

# Where the functions of libm are tested; others convert.
HEAVY = ("float32", "float64", "complex64", "complex128")
MIXED = [
    ("int64", "uint64"),
    ("uint64", "int64"),
    ("float32", "int32"),
    ("float16", "float32"),
    ("uint8", "int8"),
    ("bool", "float32"),
    ("complex64", "float32"),
    ("int16", "complex64"),
    ("complex64", "float64"),
    ("bfloat16", "float32"),
    ("bfloat16", "int8"),
    ("bfloat16", "float16"),
]
THREES = ["float32", "float16", "bfloat16", "int32", "uint8", "bool", "complex64"]
# What OpenCL and CUDA promise, in units of the last place, is far below these; gamma's
# error grows with its value.
RTOL = {
    "float16": 1e-3,
    "bfloat16": 8e-3,
    "float32": 4e-6,
    "float64": 4e-14,
    "complex64": 1e-5,
    "complex128": 1e-13,
}
LOOSE = {
    name: 50
    for name in (
        *("gamma", "gammaln", "psi", "tri_gamma", "power", "float_power", "erfc"),
        *("erfcx", "gammainc", "gammaincc", "j0", "j1", "jv", "iv"),
    )
}
AT_ONCE = 48  # rows in a kernel, which takes up to 64 arguments


def special_values(dtype):
    """Values that break careless expressions."""
    dtype = as_dtype(dtype)
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
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, -20.0, 90.0]
        parts += [np.inf, -np.inf, np.nan]
        return np.array([complex(x, y) for x in parts for y in parts], dtype)
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
        needs_libm = row.result == "float" and kind_of(loop.result) in "fc"
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
    if expected.dtype.kind == "c" and row.name == "clip":
        keep &= ~np.isnan(operands[1]) & ~np.isnan(operands[2])  # NumPy is of two minds
    if expected.dtype.kind == "c" and row.name in ("power", "float_power", "expm1"):
        # What becomes of infinities NumPy leaves to the C library; of expm1 the array
        # API standard says it, which is more.
        keep &= np.logical_and.reduce([np.isfinite(x) for x in (*operands, expected)])
    return keep


def assert_agrees(row, got, expected, keep):
    assert got.dtype == expected.dtype, row.name
    got, expected = got[keep], expected[keep]
    if expected.dtype.name not in RTOL:
        np.testing.assert_array_equal(got, expected, err_msg=row.name)
        return
    tolerance = RTOL[expected.dtype.name] * LOOSE.get(row.name, 1)
    if expected.dtype.kind == "c":
        assert_complex_agrees(row, got, expected, tolerance)
        return
    if expected.dtype.name == "bfloat16":
        got, expected = got.astype("float32"), expected.astype("float32")
    tiny = np.finfo(expected.dtype).smallest_normal  # devices may flush what is less
    np.testing.assert_allclose(
        got, expected, rtol=tolerance, atol=max(tiny, tolerance / 10), err_msg=row.name
    )


def assert_complex_agrees(row, got, expected, tolerance):
    """Finite numbers are near each other; parts that are nan or infinite are alike."""
    finite = np.isfinite(expected)
    # NumPy's own log1p has no more than this.
    above = tolerance if row.name == "log1p" else 1e-30
    wrong = np.abs(got[finite] - expected[finite])
    near = wrong <= tolerance * np.abs(expected[finite]) + above
    assert near.all(), (row.name, got[finite][~near], expected[finite][~near])
    got, expected = got[~finite], expected[~finite]
    for part, other in ((np.real, np.imag), (np.imag, np.real)):
        ours, theirs = part(got), part(expected)
        unsigned = np.isnan(other(expected))  # then C99 leaves an infinity's sign open
        ours, theirs = (np.where(unsigned, np.abs(x), x) for x in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, tolerance, 1e-30, err_msg=row.name)


def reference(row, loop, operands):
    if row.name == "power" and loop.result.kind == "i":
        # NumPy refuses negative exponents; ours give 1 / a**-b rounded to zero.
        a, b = (x.astype(loop.result) for x in operands)
        positive = quietly(np.power, a, np.where(b < 0, b & 1, b))
        return np.where((b >= 0) | (np.abs(a) == 1), positive, 0).astype(a.dtype)
    if "bfloat16" not in [x.dtype.name for x in operands]:
        return quietly(row.reference, *operands)
    # In float, rounded once: what ml_dtypes gives for the functions it has.
    wide = [
        x.astype(work_dtype(to)) for x, to in zip(operands, loop.operands, strict=True)
    ]
    with np.errstate(all="ignore"):
        return row.reference(*wide).astype(loop.result)


def run(context, operands):
    found = list(rows_for(tuple(x.dtype for x in operands)))
    if not context.has_double:
        found = [
            (r, p) for r, p in found if DOUBLES.isdisjoint((*p.operands, p.result))
        ]
    rows = [row for row, _ in found]
    assert rows
    results = [
        result
        for start in range(0, len(rows), AT_ONCE)
        for result in compute(context, rows[start : start + AT_ONCE], operands)
    ]
    for (row, loop), got in zip(found, results, strict=True):
        expected = reference(row, loop, operands)
        assert_agrees(row, got, expected, defined(row, operands, expected))


def skip_if_not_held(context, dtype):
    if dtype in DOUBLES and not context.has_double:
        pytest.skip(f"{context.name} has no double precision, which {dtype} needs")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_one_operand(context, dtype):
    skip_if_not_held(context, dtype)
    x = special_values(dtype)
    if kind_of(dtype) == "f":
        x = np.concatenate([x, np.linspace(-6, 6, 101).astype(dtype)])
    if dtype.kind == "c":
        more = np.random.default_rng(0).normal(0, 2, (2, 300))
        x = np.concatenate([x, (more[0] + 1j * more[1]).astype(dtype)])
    run(context, [x])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_two_operands(context, dtype):
    skip_if_not_held(context, dtype)
    step = 3 if dtype.kind == "c" else 1
    x, y = np.meshgrid(special_values(dtype)[::step], special_values(dtype)[::step])
    run(context, [x.ravel(), y.ravel()])


@pytest.mark.parametrize("dtypes", MIXED, ids="-".join)
def test_rows_of_two_dtypes(context, dtypes):
    x, y = np.meshgrid(*map(special_values, dtypes))
    run(context, [x.ravel(), y.ravel()])


@pytest.mark.parametrize("dtype", THREES)
def test_rows_of_three_operands(context, dtype):
    x = special_values(dtype)
    if x.dtype.kind == "c":
        x = x[::4]
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
