"""How exact the functions of real numbers are, over all floats, against wider ones.

OpenCL allows its functions so many units in the last place; those that the library
brings along, for PoCL, stay within two.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray._kernels.apply import apply_row
from gpuarray.scalars import SCALARS

OWN = 2.0  # units in the last place
MOST = {"pow": 16.0}
OTHERS = 6.0
ONE = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
TWO = ("pow", "atan2", "hypot")
# Numbers that break careless functions: the last is the float nearest to a multiple of
# pi / 2, as far as floats go.
SPECIAL = (
    *(0.0, np.inf, np.nan, 1.0, 0.5, 2.0, 3.0, 88.73, 103.97, 709.78, 710.4, 745.1),
    *(np.pi / 2, np.pi, 8.5e7, 1e30, 16367173.0 * 2.0**72),
)


def numbers(dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """All magnitudes, what is near 0 and near 1, and special ones, of both signs."""
    info = np.finfo(dtype)
    limits = (info.tiny, info.smallest_subnormal, info.max, 1 + info.eps, 1 - info.eps)
    bits = rng.integers(0, 2**63, 8000, np.uint64).astype(f"u{dtype.itemsize}")
    parts = [
        np.array([*SPECIAL, *limits]).astype(dtype),
        bits.view(dtype),
        np.exp(rng.uniform(-40, 7, 8000)).astype(dtype),
        rng.uniform(0, 4, 8000).astype(dtype),
        (1 + rng.uniform(-1e-3, 1e-3, 2000)).astype(dtype),
    ]
    found = np.concatenate(parts)
    return np.concatenate([found, -found])


def units(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Errors in units of the last place; infinity where a sign or a nan is wrong.

    An infinity counts as the number after the greatest: one unit may lead there.
    """
    info = np.finfo(got.dtype)
    rounded = exact.astype(got.dtype)
    same = (got == rounded) & (np.signbit(got) == np.signbit(rounded))
    same |= np.isnan(got) & np.isnan(rounded)
    last = info.max - np.nextafter(info.max, info.dtype.type(0))
    unit = np.clip(np.spacing(np.abs(rounded)), info.smallest_subnormal, last)
    wide = got.astype(exact.dtype)
    beyond = exact.dtype.type(info.max) + exact.dtype.type(last)
    wide = np.where(np.isinf(got), np.copysign(beyond, wide), wide)
    error = np.abs(wide - exact) / unit.astype(exact.dtype)
    wrong = ~np.isfinite(error) | ((got == 0) & (rounded == 0) & ~same)
    return np.where(same, 0, np.where(wrong, np.inf, error)).astype(np.float64)


def is_own(context: gpuarray.Context, name: str, dtype: str) -> bool:
    """Whether the library brings the function along for the context's runtime."""
    of_language = ("sin", "cos", "tan", "pow")
    return "pthread" in context.devname and (
        dtype == "float32" or name not in of_language
    )


def exact_values(name: str, given: list[np.ndarray]) -> np.ndarray:
    """NumPy's results in a wider type; long doubles reduce huge angles exactly."""
    narrow = given[0].dtype == np.float32 and name not in ("sin", "cos", "tan")
    return getattr(np, name)(
        *(x.astype("f8" if narrow else np.longdouble) for x in given)
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_exact_to_a_few_units(dtype, context):
    x = numbers(np.dtype(dtype), np.random.default_rng(0))
    y = np.random.default_rng(1).permutation(x)
    names = ONE + TWO
    operands = ["x"] * len(ONE) + ["x, y"] * len(TWO)
    kernel = gpuarray.ElementwiseKernel(
        "T x, T y",
        ", ".join(f"T r{i}" for i in range(len(names))),
        "; ".join(f"r{i} = {n}({operands[i]})" for i, n in enumerate(names)),
        "functions",
    )
    got = kernel(*(gpuarray.asarray(one, context=context) for one in (x, y)))
    wrong = {}
    with np.errstate(all="ignore"):
        for name, values in zip(names, got, strict=True):
            given = [x, y] if name in TWO else [x]
            errors = units(np.asarray(values), exact_values(name, given))
            at = int(np.argmax(errors))
            most = OWN if is_own(context, name, dtype) else MOST.get(name, OTHERS)
            if errors[at] > most:
                wrong[name] = errors[at], [float(one[at]) for one in given]
    assert not wrong


@pytest.mark.parametrize("name", ["psi", "tri_gamma"])
def test_the_gamma_family_near_its_poles(context, name):
    away = np.array([2e-5, 1e-4, 1.43e-4, 1e-3, 1e-2], "f4")
    x = np.concatenate([k + away * sign for k in (-7, -2, -1) for sign in (1, -1)])
    row = SCALARS[name]
    got = apply_row(row, [gpuarray.asarray(x, context=context)])
    expected = row.reference(x.astype("f8"))
    np.testing.assert_allclose(np.asarray(got), expected, 1e-5)
