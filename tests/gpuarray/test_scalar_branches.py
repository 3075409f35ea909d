"""Rows of the table on each side of every branch of their texts.

The places are the numbers that the C text and the reference compare with; the operands
are these places, their neighbours and what is a little apart. SciPy is the judge where
it has the function, else the row's reference in float64.
"""

import ast
import inspect
import re
import sys

import gpuarray
import numpy as np
import pytest
from gpuarray._kernels.codegen import resolve
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS
from many_rows import compute
from rows import LOOSE, RTOL

NUMBER = r"(\d+\.?\d*(?:e[-+]?\d+)?)"
COMPARED = re.compile(rf"(?:[<>]=?|[=!]=)\s*-?{NUMBER}|{NUMBER}\S*\s*(?:[<>]=?|[=!]=)")
FLOATS = ("float32", "float64")


def places(row):
    """The numbers that the texts of a row, and those of its module, compare with."""
    text = row.c_text("f") + row.support_text("f")
    found = {float(x) for pair in COMPARED.findall(text) for x in pair if x}
    module = sys.modules[row.gradient.__module__]
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Compare) and row.support_text("f"):
            parts = [each for each in ast.walk(node) if isinstance(each, ast.Constant)]
            found |= {float(x.value) for x in parts if isinstance(x.value, int | float)}
    return sorted(x for x in found if x < 1e5)


def beside(numbers, dtype):
    """Each number, its two neighbours, and numbers near it; of both signs."""
    x = np.array([*numbers, 0.0, 1.0], dtype)
    up, down = (np.nextafter(x, x.dtype.type(to)) for to in (np.inf, -np.inf))
    near = [x, up, down, x * x.dtype.type(0.97), x * x.dtype.type(1.03), x + 1, x / 3]
    found = np.unique(np.concatenate(near))
    found = found[(found == 0) | (np.abs(found) > 1e-30)]
    return np.concatenate([found, -found])


def operands_of(row, dtype):
    """Arrays of drawn operands, all of one length."""
    first = beside(places(row), dtype)
    if row.arity == 1:
        return [np.concatenate([first, np.linspace(-1, 1, 41).astype(dtype)])]
    whole = [0, 0.5, 1, 2, 3, 10.5, 20, 21, 100]
    some = np.array([*whole, -1, -0.5, *places(row)], dtype)
    x, y = (each.ravel() for each in np.meshgrid(some, first))
    return [np.concatenate(pair) for pair in ((x, y, x, x), (y, x, x, x + 1))]


def judged(row, operands):
    """What is right, in float64."""
    special = pytest.importorskip("scipy.special")
    wide = [x.astype("f8") for x in operands]
    with np.errstate(all="ignore"):
        theirs = getattr(special, row.name, None) if row.support_text("f") else None
        right = (theirs or row.reference)(*wide)
    if row.name == "psi":  # of which SciPy's loses its digits there
        x = wide[0]
        right = np.where((x < 0) & (abs(x - np.rint(x)) < 1e-6), np.nan, right)
    if row.name in ("jv", "iv"):  # which end at an order, and lose digits beside some
        apart = abs(wide[0] - np.rint(wide[0]))
        keep = (wide[0] >= -20) & (wide[0] <= 1000) & ((apart == 0) | (apart > 1e-2))
        right = np.where(keep, right, np.nan)
    if row.name == "polygamma":  # of which SciPy's is for numbers above 0
        n, x = wide
        is_known = (n == np.rint(n)) & (n >= 0) & (n <= 100) & (x > 0)
        right = np.where(is_known, right, np.nan)
    return right


def has_branches(row):
    try:
        loop = resolve(row, (np.dtype("f4"),) * row.arity)
    except BadType:
        return False
    is_float = loop.result == np.float32 and loop.operands[0] == np.float32
    return is_float and row.arity < 3 and bool(places(row)) and row.name != "nextafter"


ROWS = [row for row in SCALARS.values() if has_branches(row)]


@pytest.fixture(scope="module")
def together():
    """What rows give, all of as many operands at once: by context, dtype and row."""
    return {}


def results_of(together, context, row, dtype):
    """What a row gives for its operands, from a kernel of all rows like it."""
    key = context.name, dtype
    if (*key, row.name) not in together:
        rows = [each for each in ROWS if each.arity == row.arity]
        given = [operands_of(each, dtype) for each in rows]
        ends = np.cumsum([one[0].size for one in given])[:-1]
        operands = [np.concatenate(parts) for parts in zip(*given, strict=True)]
        for each, found in zip(rows, compute(context, rows, operands), strict=True):
            mine = np.split(found, ends)[rows.index(each)]
            together[(*key, each.name)] = mine
    return together[(*key, row.name)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_both_sides_of_every_branch(context, together, row, dtype):
    if dtype == "float64" and not context.has_double:
        pytest.skip("the device has no float64")
    operands = operands_of(row, dtype)
    got = results_of(together, context, row, dtype)
    right = judged(row, operands)
    info = np.finfo(dtype)
    with np.errstate(over="ignore"):
        right = right.astype(dtype)
    kept = (np.abs(right) < info.max / 2) & (np.abs(right) > info.tiny)
    tolerance = RTOL[dtype] * LOOSE.get(row.name, 1)
    np.testing.assert_allclose(got[kept], right[kept], tolerance, tolerance / 10)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_references_agree_with_scipy_on_both_sides(row):
    special = pytest.importorskip("scipy.special")
    if not hasattr(special, row.name) or isinstance(row.reference, np.ufunc):
        return
    operands = operands_of(row, "float64")
    with np.errstate(all="ignore"):
        ours, right = row.reference(*operands), judged(row, operands)
    kept = np.abs(right) < 1e300
    np.testing.assert_allclose(ours[kept], right[kept], 3e-11, 1e-13)


@pytest.mark.parametrize("name", ["psi", "tri_gamma"])
def test_references_beside_a_pole_are_those_of_the_pole(name):
    poles = -np.arange(1.0, 9)
    x = np.concatenate([np.nextafter(poles, np.inf), np.nextafter(poles, -np.inf)])
    away = x - np.rint(x)
    right = -1 / away if name == "psi" else 1 / away**2
    np.testing.assert_allclose(SCALARS[name].reference(x), right, 1e-13)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_narrow_float_has_its_neighbours(context, dtype):
    every = np.arange(2**16, dtype="u2").view(as_dtype(dtype))
    x = gpuarray.asarray(every, context=context)
    for to in (np.inf, -np.inf, 0.0, -0.0, np.nan, 1.0):
        other = every.dtype.type(to)
        with np.errstate(all="ignore"):
            right = np.nextafter(every, other).astype("float32")
        aside = gpuarray.asarray(np.full(1, other), context=context)
        got = np.asarray(gpuarray.nextafter(x, aside))
        assert got.dtype == every.dtype
        got = got.astype("float32")
        np.testing.assert_array_equal(got, right)
        right[every == to] = to  # as in C; NumPy before 2.5 kept the sign of a zero
        known = ~np.isnan(right)
        np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(right[known]))
