"""What a row of the table says of itself holds, and it says all that holds.

Each part of a row has a rule here that asks NumPy, so that a part that is left out is
noticed as well as one that is wrong: its type, names and operators, whether it
commutes and associates, its identity, its domain, and what it is one half of.
"""

import itertools
import operator
from contextlib import suppress
from types import SimpleNamespace

import gpuarray
import numpy as np
import pytest
from gpuarray._kernels.codegen import resolve
from gpuarray.dtypes import DTYPES
from gpuarray.errors import BadType
from gpuarray.scalars import PAIRS, SCALARS
from judge import quietly

OURS = [row for row in SCALARS.values() if row.is_ours]


def each(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


# ---- laws ----

LINE = np.array([-2.5, -1.0, -0.25, 0.0, 0.3, 1.0, 2.0, 7.0])
BITS = np.arange(-5, 6)
TWO = [row for row in OURS if row.arity == 2]
OVERFLOWS = {"lcm"}  # in its products, so that it is not said to associate


def laws_of(row, line):
    """Whether it commutes and associates on all triples of operands."""
    a, b, c = (
        np.array(x) for x in zip(*itertools.product(line, repeat=3), strict=True)
    )
    of = row.reference
    with np.errstate(all="ignore"):
        pairs = (of(a, b), of(b, a)), (of(of(a, b), c), of(a, of(b, c)))
    return [bool(np.allclose(x, y, 1e-12, equal_nan=True)) for x, y in pairs]


@each(TWO)
def test_a_row_says_that_it_commutes_and_associates_if_it_does(row):
    """What does not commute is not asked whether it associates."""
    for line in (LINE, BITS):
        try:
            commutes, associates = laws_of(row, line)
        except TypeError:  # for the operands, or for a result as an operand
            continue
        assert commutes == row.commutes
        if commutes and row.name not in OVERFLOWS:
            assert associates == row.associates
        return
    assert not row.commutes


@each([row for row in TWO if row.commutes and row.associates])
def test_a_row_says_its_identity_if_it_has_one(row):
    """Among floats, integers and truth values, infinite ones and limits as well."""
    limits = np.iinfo("int64")
    lines = [[*LINE, np.inf, -np.inf, np.nan], [*BITS, limits.min, limits.max]]
    candidates = [0, 1, -1, np.inf, -np.inf, np.nan]
    if row.result == "bool":
        lines, candidates = [[False, True]], [0, 1]
    for line in map(np.array, lines):
        if takes(row, line):
            found = [x for x in candidates if leaves(row, line, x)]
            of_integers = row.integer_identity if line.dtype.kind == "i" else None
            known = row.identity if of_integers is None else of_integers
            assert str(found) == str([] if known is None else [known])


def takes(row, line):
    """Whether a row is defined for such operands."""
    try:
        quietly(row.reference, np.array(line), np.array(line))
    except TypeError:
        return False
    return True


def leaves(row, line, number):
    """Whether a number leaves all operands as they are; infinite is the limit."""
    if line.dtype.kind == "i":
        limits = np.iinfo(line.dtype)
        if np.isnan(number):
            return False
        if np.isinf(number):
            number = limits.max if number > 0 else limits.min
    with np.errstate(all="ignore"):
        found = row.reference(line, line.dtype.type(number))
    return bool(np.array_equal(found, line, equal_nan=line.dtype.kind == "f"))


# ---- domains ----

math = SimpleNamespace(
    **{row.name: row.reference for row in OURS}, unknown=lambda what: None
)
BOUNDED = [row for row in OURS if row.domain != (-np.inf, np.inf)]
FEW = 4.0  # beyond, the gamma function and others pass the range of a float
LEAST = 1e-12


def finite(row, *operands):
    """Where the result and the gradient are finite numbers."""
    with np.errstate(all="ignore"):
        y = row.reference(*operands)
        flows = row.gradient(math, np.ones_like(operands[0]), y, *operands)
    flows = flows if isinstance(flows, tuple) else (flows,)
    parts = [y, *(flow for flow in flows if flow is not None)]
    return np.logical_and.reduce([np.isfinite(part) for part in parts])


def within(row, count):
    """Numbers in the domain of a row, beside its ends and far from them."""
    low, high = (np.clip(end, -20, 20) for end in row.domain)
    line = np.linspace(low, high, count)
    near = [low + LEAST, high - LEAST, 0.0, 1.0, -1.0, 0.5, -0.5]
    line = np.unique([*line, *near])
    return line[(line > low) & (line < high)]


@each([row for row in OURS if row.arity == 1 and takes(row, LINE)])
def test_results_and_slopes_are_finite_within_a_domain(row):
    assert finite(row, within(row, 203)).all()


@each(BOUNDED)
def test_a_domain_ends_where_the_function_or_its_slope_does(row):
    inside = within(row, 9)
    inside = inside[(abs(inside) > LEAST) & (abs(inside) < FEW)]
    for end, beyond in zip(row.domain, (-1, 1), strict=True):
        if not np.isfinite(end):
            continue
        outside = np.repeat([end, end + beyond / 4], inside.size)
        others = np.tile(inside, 2)
        if row.arity == 1:
            y = quietly(row.reference, end + np.array([-LEAST, 0, LEAST]))
            steep = abs(y[2] - y[0]) / LEAST > 1e3
            assert steep or not np.isfinite(y).all()
            continue
        sides = finite(row, outside, others), finite(row, others, outside)
        assert not np.logical_and.reduce(sides).all()
        assert finite(row, *map(np.ravel, np.meshgrid(inside, inside))).all()


# ---- types ----


@each(OURS)
def test_a_row_says_of_which_kind_its_result_is(row):
    """Truth of anything; floats of integers, too; or of the operands' kind."""
    found = {}
    for dtype in ("bool", "int32", "float32"):
        if takes_dtype(row, dtype):
            operands = [np.ones(1, dtype)] * row.arity
            found[dtype] = quietly(row.reference, *operands).dtype.kind
    others = {kind for dtype, kind in found.items() if dtype != "float32"}
    kind = "float" if others <= {"f", "c"} and len(found) > 1 else "same"
    is_truth = set(found.values()) == {"b"} and set(found) != {"bool"}
    assert row.result == ("bool" if is_truth else kind)


@each(OURS)
def test_a_row_is_offered_for_every_dtype_that_its_reference_takes(row):
    for dtype in DTYPES:
        if dtype.name == "bfloat16":
            continue  # which NumPy's ufuncs have no loops for
        try:
            resolve(row, (dtype,) * row.arity)
            is_offered = True
        except BadType:
            is_offered = False
        assert is_offered == takes_dtype(row, dtype), dtype


def takes_dtype(row, dtype):
    """Whether a row is defined for operands of a dtype."""
    try:
        quietly(row.reference, *[np.ones(1, dtype)] * row.arity)
    except TypeError:
        return False
    return True


# ---- names ----


@each([row for row in OURS if row.ufunc and row.ufunc.nout == 1])
def test_a_row_has_all_names_that_numpy_gives_its_ufunc(row):
    function = getattr(gpuarray, row.name)
    for name in dir(np):
        if getattr(np, name) is row.ufunc:
            assert getattr(gpuarray, name) is function


def test_rows_of_the_compiler_are_no_functions_of_the_package():
    hidden = {row.name for row in OURS if not row.public}
    assert hidden == {"where_nonzero", "complex"}
    assert not hidden & set(dir(gpuarray))


def test_arrays_have_every_operator_that_numpy_s_have():
    ufuncs = {row.ufunc: row for row in OURS if row.ufunc}
    asked = {}
    for name in {*dir(np.ndarray)} & {*dir(operator)}:
        for count in (1, 2):
            with suppress(Exception):  # what is no operator, or of other operands
                operands = [np.ones(1, int).view(Asked)] * count
                asked[name] = getattr(operator, name)(*operands)
    found = {name: ufunc for name, ufunc in asked.items() if ufunc in ufuncs}
    in_place = {name.replace("__", "__i", 1) for name in found}
    found = {name: found[name] for name in found if name not in in_place}
    assert {"__add__", "__pow__", "__invert__", "__le__", "__rshift__"} < set(found)
    for name, ufunc in found.items():
        assert ufuncs[ufunc].operator == name.strip("_")
        assert name in vars(gpuarray.Array)
    assert {row.operator for row in OURS if row.operator} == {
        name.strip("_") for name in found
    }


class Asked(np.ndarray):
    """An array that gives the ufunc that an operator asks for."""

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        """The ufunc."""
        return ufunc


def test_functions_with_two_results_are_of_two_rows():
    of_two = {x for x in vars(np).values() if isinstance(x, np.ufunc) and x.nout == 2}
    assert {pair.reference for pair in PAIRS} == of_two
    for pair in PAIRS:
        operands = [np.array([-7.5, 8.0, 0.3]), np.array([2.0, -3.0, 0.25])]
        operands = operands[: pair.reference.nin]
        both = pair.reference(*operands)
        for row, right in zip(pair.rows, both, strict=True):
            np.testing.assert_array_equal(row.reference(*operands), right)


@each(SCALARS.values())
def test_every_row_has_an_example_of_its_operands(row):
    assert len(row.example) == row.arity
    assert np.size(quietly(row.reference, *map(np.asarray, row.example)))
