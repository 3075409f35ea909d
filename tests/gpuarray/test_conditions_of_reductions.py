"""Both sides of conditions in reductions, scans and ufuncs: NumPy is the judge."""

import gpuarray
import numpy as np
import pytest
from calls import assert_as_numpys, label, moved, ours
from gpuarray.errors import (
    BadArgument,
    BadIndex,
    BadType,
    BadValue,
    ReadOnly,
    TooLarge,
)
from judge import assert_same

RANDOM = np.random.default_rng(13)
A = RANDOM.normal(size=(2, 3, 4))
FOUR = RANDOM.normal(size=(2, 3, 4, 2))
COUNTS = np.arange(24).reshape(2, 3, 4) % 7 - 3
SMALL = (np.arange(24).reshape(2, 3, 4) * 11 % 251).astype("uint8")
TRUE = COUNTS > 0
C = A + 1j * A[::-1]
V = np.array([3.0, -1.0, 2.0])
NONE = np.zeros((2, 0, 3))
NUMBER = np.array(2.5)
MOST = np.full(70000, 255, "uint8")
AXES = (None, 0, 1, -1, (0, 2), (2, 0), (-1, 1), (0, 1, 2), ())

REDUCED = [
    *((name, x, axis, {"keepdims": keep})
      for name in ("sum", "prod", "max", "min", "mean", "any", "all")
      for x in (A, COUNTS) for axis in AXES for keep in (True, False)),
    *((name, x, 1) for name in ("sum", "prod", "max", "min", "mean", "any", "all",
     "ptp")
      for x in (A.astype("float32"), SMALL, SMALL.astype("int16"), C,
       A.transpose(2, 0, 1))),
    *((name, TRUE, axis) for name in ("sum", "prod", "max", "min", "mean", "any", "all")
      for axis in (None, 0)),
    *((name, NONE, 1) for name in ("sum", "prod", "any", "all", "mean")),
    *((name, NONE, 0) for name in ("sum", "max", "argmax", "ptp")),
    *((name, NUMBER) for name in ("sum", "max", "mean", "argmax", "ptp", "any")),
    *((name, NUMBER, axis) for name in ("sum", "max", "any") for axis in (0, -1, ())),
    *((f"arg{name}", x, axis, {"keepdims": keep}) for name in ("max", "min")
      for x in (COUNTS, A) for axis in (None, 0, -1, 1) for keep in (True, False)),
    *((f"arg{name}", np.array(x)) for name in ("max", "min")
      for x in ([1, np.nan, 2, np.nan], [3.0, 5, 5, 3], [True, False], [-0.0, 0.0])),
    *(("ptp", COUNTS, axis, {"keepdims": keep}) for axis in AXES[:-1]
      for keep in (True, False)),
    ("sum", MOST), ("mean", MOST), ("sum", MOST, {"dtype": "float64"}),
    ("sum", MOST[:65000].astype("uint16") * 200), ("mean", MOST.view("int8")),
    ("mean", SMALL, 0, {"dtype": "float32"}), ("mean", COUNTS, {"dtype": "int32"}),
    ("mean", COUNTS, (0, 2), {"dtype": "int64", "where": TRUE}),
    ("mean", C, (0, 1)), ("mean", A, 0, {"dtype": "complex64"}),
    *((name, SMALL, 0, {"dtype": dtype}) for name in ("sum", "prod", "cumsum",
     "cumprod")
      for dtype in ("uint8", "int32", "float32", "complex128")),
    *((name, A, axis, {"where": mask, "initial": 0.5, "keepdims": keep})
      for name in ("sum", "prod", "max", "min") for axis in (None, 1, (0, 2))
      for mask in (TRUE, TRUE[0], True) for keep in (True, False)),
    *((name, A, 1, {"where": TRUE}) for name in ("sum", "prod", "mean", "any", "all")),
    *((name, COUNTS, 1, {"initial": first}) for name in ("sum", "max", "min", "prod")
      for first in (2, True, np.int8(-9), 0)),
    ("sum", A, {"initial": np.float32(1.5)}), ("sum", C, {"initial": 1j}),
    ("max", NONE, 1, {"initial": -1.0}), ("sum", SMALL, {"initial": 5}),
    *((name, x, axis) for name in ("cumsum", "cumprod")
     for x in (A, COUNTS, SMALL, TRUE)
      for axis in (None, 0, 1, -1)),
    ("cumsum", NUMBER), ("cumsum", NONE, 1), ("cumsum", A.T, 0),
    *((f"{name}.reduce", x, axis, {"keepdims": keep})
      for name in ("add", "multiply", "maximum", "minimum", "logical_or", "hypot",
                   "logical_xor")
      for x in (A, COUNTS) for axis in (0, None, (0, 2), -1) for keep in (True, False)
      if not (name == "hypot" and x is COUNTS)),
    *((f"{name}.reduce", COUNTS) for name in ("bitwise_and", "bitwise_or",
     "bitwise_xor",
                                             "gcd", "lcm")),
    ("subtract.reduce", A, 1), ("true_divide.reduce", A, -1),
    ("power.reduce", SMALL, 0),
    ("add.reduce", SMALL, 1, {"dtype": "uint8"}), ("add.reduce", A, {"initial": 3.0}),
    ("maximum.reduce", A, 1, {"initial": 0.0, "where": TRUE}),
    *((f"{name}.accumulate", x, axis) for name in ("add", "multiply", "maximum",
                                                  "minimum", "subtract")
      for x in (A, COUNTS) for axis in (0, 1, -1)),
    ("logical_and.accumulate", COUNTS, 1), ("add.accumulate", SMALL, 0, "uint8"),
    *((f"{name}.outer", a, b) for name in ("add", "multiply", "less", "arctan2")
      for a, b in ((V, A[0]), (A[0], V), (V, NUMBER), (NUMBER, V), (V, 2), (2.5, V))),
    *((f"{name}.reduceat", A, [0, 2, 1], axis) for name in ("add", "maximum")
      for axis in (1, -1)),
    ("add.reduceat", V, [0, 1, 1, 2]), ("multiply.reduceat", COUNTS, [1, 0], 0),
    ("add.reduceat", SMALL, [0, 2], 2, "uint8"),
]  # fmt: skip
APPLIED = [
    *((name, A, b) for name in ("add", "true_divide", "power", "maximum", "less")
      for b in (2, 2.5, True, np.float32(0.5), np.int8(3), A[0], V[:, None], SMALL)),
    *((name, SMALL, b) for name in ("add", "multiply", "floor_divide", "remainder",
                                    "maximum", "equal", "less")
      for b in (3, 2.5, True, np.float32(0.5), np.int16(300), SMALL[0], COUNTS)),
    *((name, b, SMALL) for name in ("subtract", "less", "greater", "left_shift")
      for b in (3, True, COUNTS)),
    *((name, SMALL, b) for name in ("less", "less_equal", "greater", "greater_equal",
                                    "equal", "not_equal") for b in (-1, 300, 2**70)),
    *((name, A, 2, {"dtype": dtype}) for name in ("add", "multiply")
      for dtype in ("float32", "float64", "complex64")),
    ("add", SMALL, 1, {"dtype": "float32"}), ("add", A, A, {"casting": "safe"}),
    ("add", A, 1, {"dtype": "float32", "casting": "unsafe"}),
    ("power", COUNTS + 3, 2), ("power", A, -2), ("power", COUNTS + 4.0, SMALL),
    ("where", TRUE, A, COUNTS), ("where", TRUE, 1, COUNTS),
    ("where", COUNTS, SMALL, 2.5),
    ("sqrt", SMALL), ("exp", TRUE), ("abs", COUNTS), ("abs", C), ("negative", SMALL),
    ("divmod", COUNTS, 3), ("modf", A), ("frexp", A), ("float_power", SMALL, 2),
]  # fmt: skip


@pytest.mark.parametrize("call", REDUCED + APPLIED, ids=label)
def test_a_call_gives_what_numpys_gives(first_context, call):
    assert_as_numpys(call, first_context)


REFUSED = [
    (BadIndex, "sum: axis 3 is out of bounds for 3", "sum", A, 3),
    (BadIndex, "max: axis -4 is out of bounds", "max", A, (0, -4)),
    (BadIndex, "sum: axis 1 is out of bounds for 0", "sum", NUMBER, 1),
    (BadIndex, "mean: axis 0 is out of bounds for 0", "mean", NUMBER, 0),
    (BadIndex, "var: axis 0 is out of bounds for 0", "var", NUMBER, 0),
    (BadValue, "sum: axis 0 is given twice", "sum", A, (0, 1, 0)),
    (BadType, "sum: axis 1.5 is not an integer", "sum", A, 1.5),
    (BadType, r"argmax: axis \(0, 1\), expected an integer", "argmax", A, (0, 1)),
    (BadType, "argmin: axis 'x', expected an integer", "argmin", A, "x"),
    (BadValue, "max", "max", NONE, 1), (BadValue, "min", "min", NONE),
    (BadValue, "argmax", "argmax", NONE, 1), (BadValue, "ptp", "ptp", NONE),
    (BadType, "ptp: bool has no difference", "ptp", TRUE),
    (BadType, "var: dtype int32 does not hold a mean", "var", A, {"dtype": "int32"}),
    (BadValue, r"max: it has no identity, so with a mask give initial", "max", A,
     {"where": TRUE}),
    (BadValue, r"sum: initial has shape \(3,\), expected a number", "sum", A,
     {"initial": V}),
    (BadType, "sum: initial is str, expected a number", "sum", A, {"initial": "1"}),
    (BadType, "sum: initial is complex, the result is of float64", "sum", A,
     {"initial": 1j}),
    (BadValue, "sum: initial is nan, expected a number that int64", "sum", COUNTS,
     {"initial": np.nan}),
    (TooLarge, "max: initial is 300, out of bounds for uint8", "max", SMALL,
     {"initial": 300}),
    (TooLarge, "max: initial is -1, out of bounds for uint8", "max", SMALL,
     {"initial": -1}),
    (TooLarge, "sum: initial is inf, out of bounds for int64", "sum", COUNTS,
     {"initial": np.inf}),
    (BadType, "sum: where is of int64, expected bool", "sum", A, {"where": COUNTS}),
    (BadIndex, "cumsum: axis 3 is out", "cumsum", A, 3),
    (BadType, "cumsum: out is int, expected a gpuarray array", "cumsum", A, {"out": 3}),
    (TooLarge, "add: integer 300 is out of bounds for uint8", "add", SMALL, 300),
    (TooLarge, "mul.*: integer -1 is out of bounds", "multiply", SMALL, -1),
    (BadValue, "negative integer powers are not allowed; got -2", "power", COUNTS, -2),
    (BadType, "with casting rule 'same_kind'", "add", A, 1, {"dtype": "int32"}),
    (BadType, "casting rule 'safe'", "add", A, 1, {"dtype": "float32",
     "casting": "safe"}),
    (BadType, "where is of int64, expected", "add", A, 1, {"where": COUNTS}),
    (BadType, "where is of list, expected", "add", A, 1, {"where": [True]}),
    (BadType, "an operand is of str", "add", A, "1"),
    (BadType, "an operand is of NoneType", "add", A, None),
    (BadValue, "shape|axis", "add", A, V),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: label(case[2:]))
def test_a_call_is_refused(first_context, case):
    kind, fact, *call = case
    with pytest.raises(kind, match=fact) as caught:
        ours(call, first_context)
    assert type(caught.value) is kind


WRONG_OUTS = [
    (BadArgument, r"sum: out has shape \(3,\), expected \(2, 4\)", "sum", A, 1, (3,),
     "f8"),
    (BadType, "float64 cannot be stored as int32", "sum", A, 1, (2, 4), "int32"),
    (BadType, "sum: out", "sum", A, 1, None, None),
    (BadArgument, r"argmax: out has shape \(4,\)", "argmax", A, 1, (4,), "int64"),
    (BadArgument, r"max: out has shape \(\), ", "max", A, 1, (), "f8"),
    (BadArgument, r"mean: out has shape \(4,\)", "mean", A, 1, (4,), "f8"),
    (BadArgument, r"ptp: out has shape \(4,\)", "ptp", A, 1, (4,), "f8"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG_OUTS, ids=lambda case: label(case[2:]))
def test_an_output_that_does_not_fit_is_refused(first_context, case):
    kind, fact, name, host, axis, shape, dtype = case
    out = 3 if shape is None else gpuarray.zeros(shape, dtype, first_context)
    with pytest.raises(kind, match=fact) as caught:
        getattr(gpuarray, name)(moved(host, first_context), axis, out=out)
    assert type(caught.value) is kind


def test_an_output_is_written_and_given_back(first_context):
    a = moved(A, first_context)
    for name in ("sum", "max", "mean", "any", "argmax", "ptp", "var", "cumsum"):
        told = getattr(np, name)(A, 1)
        out = gpuarray.ones(told.shape, told.dtype, first_context)
        assert getattr(gpuarray, name)(a, 1, out=out) is out
        assert_same(out, told)
    view = gpuarray.broadcast_to(gpuarray.zeros((1, 4), "f8", first_context), (2, 4))
    with pytest.raises(ReadOnly, match="sum: out is read-only"):
        gpuarray.sum(a, 1, out=view)
    with pytest.raises(ReadOnly, match="add: out is read-only"):
        gpuarray.add(a[:, 0], 1, out=view)


def test_a_ufunc_writes_where_a_mask_is_true(first_context):
    a, mask = moved(A, first_context), moved(TRUE, first_context)
    for dtype in ("float64", "float32"):
        out = gpuarray.ones(A.shape, dtype, first_context)
        told = np.ones(A.shape, dtype)
        assert gpuarray.multiply(a, 3, out=out, where=mask) is out
        assert_same(out, np.multiply(A, 3, out=told, where=TRUE))
    out = gpuarray.ones(A.shape, "float64", first_context)
    assert_same(gpuarray.add(a, 1, out=out, where=False), np.ones(A.shape))
    assert_same(gpuarray.add(a, 1, where=mask), np.where(TRUE, A + 1, 0))
    assert_same(gpuarray.add(a, 1, where=mask[0]), np.where(TRUE[0], A + 1, 0))
    with pytest.raises(BadValue, match=r"out has shape \(3,\), expected \(2, 3, 4\)"):
        gpuarray.add(a, 1, out=gpuarray.zeros(3, "float64", first_context))
    with pytest.raises(BadType, match="float64 cannot be stored as int64"):
        gpuarray.add(a, 1, out=gpuarray.zeros(A.shape, "int64", first_context))
    with pytest.raises(BadType, match="out is int, expected a gpuarray array"):
        gpuarray.add(a, 1, out=3)
    with pytest.raises(BadType, match="no operand is a gpuarray array"):
        gpuarray.add([1], 2)
    with pytest.raises(BadType, match=r"where is of float64, expected"):
        gpuarray.add(a, 1, where=a)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_a_scan_from_the_end_or_without_its_element(
    first_context, name, reverse, exclusive
):
    a, start = moved(COUNTS, first_context), 0 if name == "cumsum" else 1
    for axis in (0, 1, -1):
        host = np.flip(COUNTS, axis) if reverse else COUNTS
        told = getattr(np, name)(host, axis)
        if exclusive:
            told = np.roll(told, 1, axis)
            np.moveaxis(told, axis, 0)[0] = start
        told = np.flip(told, axis) if reverse else told
        how = {"reverse": reverse, "exclusive": exclusive}
        assert_same(getattr(gpuarray, name)(a, axis, **how), told)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["max", "min"])
def test_running_extremes(first_context, name, reverse):
    host = np.where(A > 1.2, np.nan, A)
    scan = np.maximum if name == "max" else np.minimum
    for x in (host, COUNTS, A.astype("float32")):
        for axis in (0, 2, -2):
            turned = np.flip(x, axis) if reverse else x
            told = scan.accumulate(turned, axis)
            told = np.flip(told, axis) if reverse else told
            a = moved(x, first_context)
            made = getattr(gpuarray, f"cum{name}")(a, axis, reverse=reverse)
            assert_same(made, told, exact=True)
    assert getattr(gpuarray, f"cum{name}")(a).shape == (A.size,)
