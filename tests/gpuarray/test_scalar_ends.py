"""Special functions to the ends of their ranges and on both sides of each crossover.

SciPy is the judge, and the error is relative to the result also where that is small:
a wrong coefficient of an expansion tells at its tail. Beside them are the ends of the
domain, infinities and nan, where the result is exact.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray.scalars import SCALARS
from many_rows import compute

special = pytest.importorskip("scipy.special")
INF, NAN = np.inf, np.nan


def outer(orders, numbers):
    """Each order with each number."""
    return [
        x.ravel()
        for x in np.meshgrid(np.array(orders, float), np.array(numbers, float))
    ]


def around(*numbers):
    """Each number and some on either side of it."""
    x = np.array(numbers, float)
    return np.unique(
        [x, x * 0.98, x * 1.02, np.nextafter(x, INF), np.nextafter(x, -INF)]
    )


def crossed(numbers, factors):
    """Each number as often as there are factors, and it times each of them."""
    x = np.array(numbers, float)[:, None]
    return [one.ravel() for one in np.broadcast_arrays(x, x * np.array(factors))]


APART = [0.7, 0.8, 0.9, 0.97, 0.999, 1, 1.0001, 1.01, 1.1, 1.2, 1.3, 1.45]
UNIFORM = crossed([10001.0, 10500, 20000, 1e5, 1e6], APART)
SMALL_ORDERS = [1e-12, 1e-6, 1e-3, 0.02, 0.05, *around(0.1), 0.3, 0.5, 0.99, 1, 1.01]
ORDERS = [*SMALL_ORDERS, 2, 3.5, 10, *around(20), 50, 300, 2000, 9999, 10000]
STEPS = [0.01, 0.3, 0.75, 0.9, 0.99, 1, 1.01, 1.1, 1.25, 1.3, 1.6, 2, 4]
TAILS = crossed(ORDERS, STEPS)
NEAR_1 = outer(
    SMALL_ORDERS, [1e-300, 1e-20, 1e-3, 0.1, 0.5, *around(1), 1.2, 5, 30, 700]
)
WHOLE = [0, 1, 2, 3, 7, 20, 21, 22, 60, 150, 400, 999, 1000]
BROKEN = [0.25, 0.5, 1.5, 2.75, 19.5, 20.5, 21.25, 77.5, 340.5, 999.5]
BELOW_0 = [-0.25, -0.5, -1.5, -2.75, -5.5, -7.75]
X = [1e-3, 0.1, 0.5, 1, 2, 2.1, 4, 7.9, 8, 8.1, 12, *around(25), 30, 31, 60, 120, 500]
FAR = [650, 700, 709, 712, 713.9, 900, 1050, 1150, 1200, 1399, 1400]

TOLERANCE = {"j0": 1e-11}  # of others 5e-12
CASES = {
    "gammainc": [UNIFORM, TAILS, NEAR_1],
    "gammaincc": [UNIFORM, TAILS, NEAR_1],
    "psi": [[np.array([*around(10, 1, 1e-3, 1e-300, 1e30), 0.5, 2, 5, 1e100, 1e308,
     -0.5,
                       -1.25, -7.5, -30.25])]],
    "polygamma": [outer([2, 3, 4, 9, 20], [*around(16), 1e-3, 0.5, 1, 2.5, 60, 1e4]),
                  outer([2, 3, 4], [1e-80, 1e8, 1e80, np.inf])],
    "erfcx": [[np.array([*around(2, 8, 26, 1e3, 1e10), -1, -5, -20, -26, -26.6, 0, 0.5,
                         4, 1e300, 1e-300])]],
    "erfinv": [[np.array([*around(0.5, 0.25, 1e-300, 0.9), 0, 1 - 2.0**-53, -0.999,
                          -0.5, 0.9999999, -0.1])]],
    "erfcinv": [[np.array([*around(0.5, 1.5, 1e-300, 1e-10, 0.1), 1, 2 - 2.0**-52,
                           1.99, 5e-324])]],
    "iv": [outer(WHOLE, [*X, *FAR]), outer(BROKEN, [*X, *FAR]), outer(BELOW_0, X),
           outer([1, 2, 3], [-0.5, -40.0, -300]), outer([-1, -2, -3], [0.5, 40.0, -7])],
    "jv": [outer(WHOLE, [*X, 1500.0, 9000.0]), outer(BROKEN, [*X, 1500.0]),
           outer(BELOW_0, X), outer([1, 2, 3, 30], [-0.5, -9.0, -40.0]),
           outer([-1, -2, -3, -30], [0.5, 9.0, 40.0, -7])],
    "i0": [[np.array([*X, *FAR, 0, -3.0, -50])]],
    "i1": [[np.array([*X, *FAR, 0, -3.0, -50])]],
    "j0": [[np.array([*X, 1500.0, 9000.0, 0, -3.0, -50])]],
    "j1": [[np.array([*X, 1500.0, 9000.0, 0, -3.0, -50])]],
    "gamma": [[np.array([*around(20, 0.5, 1e-300), 171.6, 171.7, -0.5, -20.5,
     -170.5])]],
    "gammaln": [[np.array([*around(20, 1e-300, 1e300), 0.5, -0.5, -20.5, 1e306])]],
}  # fmt: skip


def operands_of(name):
    """The operands of all of a function's cases, in a row."""
    return [np.concatenate(parts) for parts in zip(*CASES[name], strict=True)]


def assert_near(name, made, operands, rtol):
    """What is made is SciPy's to a relative error, and as infinite."""
    with np.errstate(all="ignore"):
        told = getattr(special, name)(*operands)
    scale = np.abs(told)
    if name.startswith("j"):  # beside a zero the error is that of the wave
        scale = np.maximum(scale, np.where(abs(operands[-1]) > operands[0], 0.05, 0))
    normal = scale > 1e-300
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(made - told) <= rtol * scale) & (made != told) & normal
    pairs = list(zip(*operands, made, told, strict=True))
    assert not wrong.any(), [pairs[i] for i in np.flatnonzero(wrong)]


@pytest.mark.parametrize("name", CASES)
def test_references_are_scipys_to_the_ends(name):
    operands = operands_of(name)
    with np.errstate(all="ignore"):
        made = SCALARS[name].reference(*operands)
    assert_near(name, made, operands, TOLERANCE.get(name, 5e-12))


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_scipys_to_the_ends(context, name):
    if not context.has_double:
        return
    operands = operands_of(name)
    (made,) = compute(context, [SCALARS[name]], operands)
    assert_near(name, made, operands, TOLERANCE.get(name, 5e-12))


POSITIVE = np.array([*around(10, 1, 1e-3, 1e-100), 0.5, 2, 5, 1e8, 1e30, 1e150])
NEGATIVE = np.array([-0.5, -0.01, -1.25, -7.5, -30.25])


def test_the_trigamma_function_is_scipys_on_both_sides_of_0(context):
    row, x = SCALARS["tri_gamma"], np.concatenate([POSITIVE, NEGATIVE])
    slope = np.pi / np.sin(np.pi * (NEGATIVE - np.rint(NEGATIVE)))
    told = slope**2 - special.polygamma(1, 1 - NEGATIVE)
    told = np.concatenate([special.polygamma(1, POSITIVE), told])
    np.testing.assert_allclose(row.reference(x), told, 1e-12)
    if context.has_double:
        np.testing.assert_allclose(compute(context, [row], [x])[0], told, 1e-12)


def test_the_polygamma_function_below_0_is_of_all_orders(context):
    row, n = SCALARS["polygamma"], np.array([[0.0], [1], [2], [3], [6]])
    told = [
        SCALARS["psi"].reference(NEGATIVE),
        SCALARS["tri_gamma"].reference(NEGATIVE),
    ]
    factorials = np.array([[1.0], [1], [2], [6], [720]])
    for x in (NEGATIVE, NEGATIVE + 0.125):
        n_, x_ = (y.ravel() for y in np.broadcast_arrays(n, x))
        made = row.reference(n_, x_).reshape(5, -1)
        np.testing.assert_allclose(made[:2], told if x is NEGATIVE else made[:2], 1e-11)
        step = row.reference(n_, x_ + 1).reshape(5, -1) - made
        near = (-1) ** n * factorials / x ** (n + 1)
        error, scale = np.abs(step - near), np.abs(made) + np.abs(near)
        assert (error <= 1e-12 * (scale + 1e4)).all()
        if context.has_double:
            (found,) = compute(context, [row], [n_, x_])
            np.testing.assert_allclose(found.reshape(5, -1), made, 1e-11)


ENDS = {
    "polygamma": [(2, 0, NAN), (2, -1, NAN), (2, -INF, NAN), (2, INF, 0), (2, NAN, NAN),
                  (2.5, 1, NAN), (-1, 1, NAN), (101, 1, NAN), (NAN, 1, NAN),
                  (0, 0, NAN), (2, 1e-200, -INF), (3, 1e-200, INF), (INF, 1, NAN),
                  (0, INF, INF)],
    "jv": [(1000.5, 2, NAN), (-1000.5, 2, NAN), (NAN, 1, NAN), (1, NAN, NAN), (0, 0, 1),
           (2, 0, 0), (0.5, -1, NAN), (3, INF, 0), (-0.5, 0, INF), (-1.5, 0, -INF),
           (-0.5, -1, NAN), (2.5, 0, 0), (-2, 0, 0), (1001, 2, NAN), (0.5, INF, 0)],
    "iv": [(1000.5, 2, NAN), (-1000.5, 2, NAN), (NAN, 1, NAN), (1, NAN, NAN), (0, 0, 1),
           (2, 0, 0), (0.5, -1, NAN), (3, INF, INF), (-0.5, 0, INF), (-1.5, 0, -INF),
           (1, -1401, -INF), (2, -1401, INF), (1000, 1401, INF), (1, -INF, -INF),
           (1000, 1300, INF), (2.5, 0, 0), (21.5, 0, 0), (1001, 2, NAN), (30, 0, 0)],
    "gammainc": [(0, 0, NAN), (INF, INF, NAN), (0, 1, 1), (1, 0, 0), (1, INF, 1),
                 (INF, 1, 0), (-1, 1, NAN), (1, -1, NAN), (NAN, 1, NAN), (1, NAN, NAN),
                 (20001, 1, 0), (20001, 1e9, 1), (1e300, 1, 0), (0.5, 1e5, 1),
                 (0, INF, 1), (INF, 0, 0)],
    "gammaincc": [(0, 0, NAN), (INF, INF, NAN), (0, 1, 0), (1, 0, 1), (1, INF, 0),
                  (INF, 1, 1), (-1, 1, NAN), (1, -1, NAN), (NAN, 1, NAN), (1, NAN, NAN),
                  (20001, 1, 1), (20001, 1e9, 0), (1e300, 1, 1), (0.5, 1e5, 0),
                  (0, INF, 0), (INF, 0, 1)],
    "psi": [(0, NAN), (-1, NAN), (-INF, NAN), (INF, INF), (NAN, NAN), (-7, NAN)],
    "tri_gamma": [(0, NAN), (-1, NAN), (-INF, NAN), (INF, 0), (NAN, NAN), (-7, NAN),
                  (1e-200, INF)],
    "erfcx": [(-30, INF), (-27.5, INF), (-200, INF), (-INF, INF), (INF, 0), (NAN, NAN),
              (0, 1)],
    "erfinv": [(1, INF), (-1, -INF), (1.5, NAN), (-1.5, NAN), (NAN, NAN), (0, 0)],
    "erfcinv": [(0, INF), (2, -INF), (-0.1, NAN), (2.1, NAN), (NAN, NAN), (1, 0)],
}  # fmt: skip
# Of which devices leave the ends open.
ON_THE_HOST = {
    "gamma": [(0.0, INF), (-0.0, -INF), (-1, NAN), (-INF, NAN), (INF, INF),
     (171.7, INF),
              (5e-324, INF), (-5e-324, -INF), (NAN, NAN), (1, 1), (5, 24)],
    "gammaln": [(0, INF), (-1, INF), (-INF, INF), (INF, INF), (1e308, INF), (NAN, NAN),
                (1, 0), (2, 0), (-0.0, INF)],
}  # fmt: skip


@pytest.mark.parametrize("name", [*ENDS, *ON_THE_HOST])
def test_the_ends_are_exact(context, name):
    *operands, told = np.array((ENDS | ON_THE_HOST)[name], float).T
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(SCALARS[name].reference(*operands), told)
    if name in ENDS and context.has_double:
        (made,) = compute(context, [SCALARS[name]], operands)
        np.testing.assert_array_equal(made, told)


def test_signed_beside_unsigned_are_compared_by_value(context):
    unsigned = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], "uint64")
    signed = np.array([-(2**63), -1, 0, 1, 2**63 - 1], "int64")
    ours = [gpuarray.asarray(x, context=context) for x in (unsigned, signed)]
    for name in (
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
    ):
        function, judge = getattr(gpuarray, name), getattr(np, name)
        for a, b in ((0, 1), (1, 0)):
            made = function(ours[a][:, None], ours[b])
            told = judge((unsigned, signed)[a][:, None], (unsigned, signed)[b])
            np.testing.assert_array_equal(np.asarray(made), told)


def test_a_reference_says_nothing_of_infinities():
    """Warnings fail a test."""
    x = np.array([INF, -INF, NAN, 2.5, -2.5, 0.5, -0.5, 0.49, -0.0])
    made = SCALARS["round_half_away_from_zero"].reference(x)
    told = [INF, -INF, NAN, 3.0, -3.0, 1.0, -1.0, 0.0, -0.0]
    np.testing.assert_array_equal(made, told)
    np.testing.assert_array_equal(np.signbit(made), np.signbit(told))
