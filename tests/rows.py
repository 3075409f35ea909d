"""The rows of the table at special values: which, and how NumPy judges them."""

import numpy as np
from gpuarray._core.info import finfo
from gpuarray._kernels.codegen import resolve
from gpuarray.dtypes import as_dtype, kind_of, work_dtype
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS
from judge import quietly

# Where the functions of libm are tested; others convert.
HEAVY = ("float32", "float64", "complex64", "complex128")
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
        "polygamma",
    )
}
SIGNLESS = {"j1", "i1"}  # SciPy gives 0 for -0, the functions are odd


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
    limits = finfo(dtype)
    least, most = limits.smallest_subnormal, limits.max
    return np.array([*listed, np.nan, least, -least, most, -most], dtype)


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


def defined(row, operands, expected):
    """Where NumPy's result is defined: not C's undefined conversions or refusals."""
    keep = np.ones(expected.shape, bool)
    kind = operands[-1].dtype.kind
    if row.name == "reciprocal" and kind in "iu":
        keep &= operands[0] != 0
    if row.name in ("gamma", "gammaln", "psi", "tri_gamma"):
        x = operands[0]
        keep &= ~((x <= 0) & (x == np.floor(x))) & np.isfinite(x)
    if row.name == "polygamma":  # below 0 it is of large terms that cancel
        keep &= operands[1] > 0
    if row.name in ("maximum", "minimum", "fmax", "fmin", "clip", "relu"):
        keep &= expected != 0  # of zeros of both signs, either may come
    if row.name in ("jv", "iv") and kind == "f":  # half of the least float is 0
        keep &= np.abs(operands[1]) != finfo(operands[1].dtype).smallest_subnormal
    if expected.dtype.kind == "c" and row.name == "clip":
        keep &= ~np.isnan(operands[1]) & ~np.isnan(operands[2])  # NumPy is of two minds
    if expected.dtype.kind == "c" and row.name in ("power", "float_power", "expm1"):
        # What becomes of infinities NumPy leaves to the C library; of expm1 the array
        # API standard says it, which is more.
        keep &= np.logical_and.reduce([np.isfinite(x) for x in (*operands, expected)])
        if row.arity == 2:  # else the angle is a multiple of a rounding
            keep &= np.abs(operands[1]) < 1e4
    return keep


def assert_agrees(row, got, expected, keep, where="", signs=True):
    """The result is NumPy's where that is defined; ``signs``: those of zeros too."""
    name = f"{row.name} {where}"
    assert got.dtype == expected.dtype, name
    got, expected = got[keep], expected[keep]
    if expected.dtype.name not in RTOL:
        np.testing.assert_array_equal(got, expected, err_msg=name)
        return
    tolerance = RTOL[expected.dtype.name] * LOOSE.get(row.name, 1)
    if expected.dtype.kind == "c":
        assert_complex_agrees(row, got, expected, tolerance)
        return
    if expected.dtype.name == "bfloat16":
        got, expected = got.astype("float32"), expected.astype("float32")
    limits = np.finfo(expected.dtype)
    tiny = limits.smallest_normal  # devices may flush what is less
    is_inf = np.isinf(got) != np.isinf(expected)  # by rounding at the end of the range
    at_end = is_inf & (
        np.minimum(abs(got), abs(expected)) >= limits.max * (1 - tolerance)
    )
    got, expected = got[~at_end], expected[~at_end]
    np.testing.assert_allclose(
        got, expected, rtol=tolerance, atol=max(tiny, tolerance / 10), err_msg=name
    )
    zero = (got == 0) & (expected == 0) & signs & (row.name not in SIGNLESS)
    found = np.signbit(got[zero]), np.signbit(expected[zero])
    np.testing.assert_array_equal(*found, f"sign of zero: {name}")


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
    """The result by NumPy."""
    is_wide = "bfloat16" not in [x.dtype.name for x in operands]
    if is_wide or row.name == "nextafter":  # whose step is the narrow type's
        operands = [x.astype(to) for x, to in zip(operands, loop.operands, strict=True)]
        return quietly(row.reference, *operands)
    # In float, rounded once: what ml_dtypes gives for the functions it has.
    wide = [
        x.astype(work_dtype(to)) for x, to in zip(operands, loop.operands, strict=True)
    ]
    with np.errstate(all="ignore"):
        return row.reference(*wide).astype(loop.result)
