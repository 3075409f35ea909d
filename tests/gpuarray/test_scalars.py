"""The table of scalar operations, tested on the host: its gradients and its claims."""

import pickle
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from gpuarray.scalars import SCALARS, table

ROWS = list(SCALARS.values())
NAMES = [row.name for row in ROWS]

# The table's functions on NumPy arrays, as gradients want them.
math = SimpleNamespace(
    **{row.name: row.reference for row in ROWS}, unknown=lambda what: None
)
# By these operands no gradient is offered, or the row takes no floats there.
ORDERED = ["jv", "iv", "gammainc", "gammaincc", "polygamma"]
NOT_BY = {("where", 0), *((name, 0) for name in ORDERED)}


def each(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


def sample(row, n=60):
    """Float64 points inside the row's domain, one array per operand."""
    low, high = row.domain
    low, high = max(low, -3.0), min(high, 4.0)
    margin = 0.02 * (high - low)
    random = np.random.default_rng(5)
    points = random.uniform(low + margin, high - margin, (row.arity, n))
    if row.name == "power":
        points[0] = np.abs(points[0]) + 0.1
    if row.name == "clip":
        points[1], points[2] = -1.0, 1.0
    if row.name == "where":
        points[0] = points[0] > 0
    if row.name in ("jv", "iv", "polygamma"):
        points[0] = np.round(points[0])
    if row.name == "polygamma":
        points = np.abs(points) + 0.0
    return list(points)


def is_float(row):
    try:
        with np.errstate(all="ignore"):
            row.reference(*([np.ones(1)] * row.arity))
    except TypeError:
        return False
    return True


@each([row for row in ROWS if is_float(row)])
def test_gradient_agrees_with_finite_differences(row):
    operands = sample(row)
    y = row.reference(*operands)
    if y.dtype == np.complex128:
        pytest.skip("a complex result has two real gradients: see the compiler's tests")
    flows = row.gradient(math, np.ones_like(operands[-1]), y, *operands)
    flows = flows if isinstance(flows, tuple) else (flows,)
    assert len(flows) == row.arity
    if y.dtype != np.float64:
        assert all(flow is None for flow in flows)
        return
    step = 1e-6
    for i, flow in enumerate(flows):
        if (row.name, i) in NOT_BY:
            assert flow is None
            continue
        moved = [operands[:], operands[:]]
        moved[0][i], moved[1][i] = operands[i] - step, operands[i] + step
        below, above = (row.reference(*point) for point in moved)
        slope = (above - below) / (2 * step)
        smooth = np.abs(slope) < 1e3  # not across a jump of the function
        got = np.zeros_like(slope) if flow is None else np.asarray(flow) + 0 * slope
        np.testing.assert_allclose(got[smooth], slope[smooth], rtol=2e-5, atol=2e-5)


@each([row for row in ROWS if not is_float(row) and row.name != "ldexp"])
def test_what_is_of_integers_alone_has_no_gradient_by_any_operand(row):
    operands = [np.array([1, 2, 5])] * row.arity
    flows = row.gradient(math, np.ones(3), row.reference(*operands), *operands)
    assert flows == ((None,) * row.arity if row.arity > 1 else None)


def test_gradients_are_finite_where_the_function_is_flat_or_kinked():
    one = np.ones(1)
    zero = np.zeros(1)
    with np.errstate(all="ignore"):
        base, exponent = SCALARS["power"].gradient(math, one, one, zero, zero)
    assert base == 0 and exponent == 0
    assert SCALARS["abs"].gradient(math, one, zero, zero) == 0


@pytest.mark.parametrize("name", ["fmax", "fmin", "maximum", "minimum", "clip"])
def test_the_gradient_of_a_choice_goes_to_what_is_chosen_once(name):
    line = np.array([-np.inf, -1.0, 0.0, 2.0, np.inf])
    if name[0] == "f":  # which leave out a nan
        line = np.append(line, np.nan)
    row = SCALARS[name]
    operands = [each.ravel() for each in np.meshgrid(*[line] * row.arity)]
    y = row.reference(*operands)
    flows = np.array(row.gradient(math, np.full(y.shape, 3.0), y, *operands))
    assert np.all(flows.sum(axis=0) == 3) and set(flows.ravel()) == {0.0, 3.0}
    chosen = np.array(operands)[np.argmax(flows, axis=0), np.arange(y.size)]
    np.testing.assert_array_equal(chosen, y)


def test_the_gradient_of_a_log_of_two_powers_is_exact_where_the_sum_rounds():
    a = np.array([1e20, -1e20, np.inf, 3.0])
    b = np.array([1e20, -1e20, 1.0, -np.inf])
    for name in ("logaddexp", "logaddexp2"):
        row = SCALARS[name]
        flows = row.gradient(math, np.ones(4), row.reference(a, b), a, b)
        np.testing.assert_array_equal(flows[0], [0.5, 0.5, 1, 1], name)
        np.testing.assert_array_equal(flows[1], [0.5, 0.5, 0, 0], name)


def test_the_gradient_of_expm1_keeps_its_digits_far_below_zero():
    x = np.array([-100.0, -20.0])
    flow = SCALARS["expm1"].gradient(math, np.ones(2), np.expm1(x), x)
    np.testing.assert_allclose(flow, np.exp(x), rtol=1e-15)


def test_the_gradient_of_the_mantissa_is_the_power_of_two():
    x = np.array([0.0, -0.0, 8.0, -3.0, 0.3])
    with np.errstate(all="raise", divide="ignore", invalid="ignore"):
        found = SCALARS["mantissa"].gradient(math, np.full(5, 2.0), np.frexp(x)[0], x)
    np.testing.assert_allclose(found, 2 * np.array([1, 1, 1 / 16, 1 / 4, 2]))


@each([row for row in ROWS if row.undone_by])
def test_the_row_named_by_undone_by_inverts(row):
    (x,) = sample(row)
    if not is_float(row):
        x = np.arange(-5, 5)
    back = SCALARS[row.undone_by].reference(row.reference(x))
    np.testing.assert_allclose(back, x, rtol=1e-9, atol=1e-9)


def undoing(row):
    """The rows that give back what a row was given, near 0 and in its domain."""
    (x,) = sample(row)
    y = reference_quietly(row, x)
    for other in ROWS if y.dtype == np.float64 else ():
        if other.arity == 1 and is_float(other):
            back = reference_quietly(other, y)
            if back.dtype == x.dtype and np.allclose(back, x, 1e-9, 1e-9):
                yield other.name


@each([row for row in ROWS if row.arity == 1 and is_float(row)])
def test_a_row_that_is_undone_by_another_says_so(row):
    """But for what changes nothing, and erf and erfc, which are 1 or 0 soon."""
    is_undone = row.name not in ("positive", "real", "erf", "erfc")
    assert bool(row.undone_by) == (is_undone and any(undoing(row)))


@each([row for row in ROWS if row.undone_by and row.domain == (-np.inf, np.inf)])
def test_infinities_and_nans_are_undone_unless_rounding_misses_a_pole(row):
    if not is_float(row):
        return
    x = np.array([np.inf, -np.inf, np.nan])
    back = reference_quietly(SCALARS[row.undone_by], reference_quietly(row, x))
    is_beside_pole = np.abs(back) > 1 / np.finfo(float).eps
    assert ((back == x) | np.isnan(x) & np.isnan(back) | is_beside_pole).all()


COMPLEX = [row for row in ROWS if row.undone_by and "c" in row.by_kind]


@each(COMPLEX)
def test_undone_complex_says_whether_every_complex_number_comes_back(row):
    """Of the rows that real numbers always come back from."""
    if row.domain != (-np.inf, np.inf):
        assert not row.undone_complex
        return
    parts = np.linspace(-9, 9, 12)
    z = parts[:, None] + 1j * parts
    back = SCALARS[row.undone_by].reference(row.reference(z))
    assert np.allclose(back, z) == row.undone_complex


def operand_for_claims(row):
    if not is_float(row):
        return np.arange(-6, 6)
    if row.result == "bool":
        return np.array([True, False])
    return np.array([-2.5, -1.0, 0.0, 0.3, 7.0, np.inf, -np.inf])


def reference_quietly(row, *operands):
    with np.errstate(all="ignore"):
        return row.reference(*operands)


@each([row for row in ROWS if row.identity is not None])
def test_the_identity_leaves_the_other_operand(row):
    x = operand_for_claims(row)
    identity = np.array(row.identity, x.dtype if x.dtype.kind != "b" else bool)
    np.testing.assert_array_equal(reference_quietly(row, x, identity), x)
    if row.commutes:
        np.testing.assert_array_equal(reference_quietly(row, identity, x), x)


@each([row for row in ROWS if row.commutes])
def test_operands_of_a_commuting_row_may_change_places(row):
    a = operand_for_claims(row)
    b = a[::-1].copy()
    np.testing.assert_array_equal(
        reference_quietly(row, a, b), reference_quietly(row, b, a)
    )


@each([row for row in ROWS if row.associates])
def test_an_associating_row_may_be_grouped_at_will(row):
    if is_float(row) and row.result != "bool":
        a, b, c = np.random.default_rng(1).uniform(-3, 3, (3, 50))
    else:
        a = operand_for_claims(row)
        b, c = np.roll(a, 1), np.roll(a, 2)
    left = row.reference(row.reference(a, b), c)
    right = row.reference(a, row.reference(b, c))
    np.testing.assert_allclose(left.astype(float), right.astype(float), rtol=1e-12)


@each([row for row in ROWS if row.increases_in])
def test_a_row_never_decreases_in_an_operand(row):
    line = np.sort(np.append(np.linspace(-9, 9, 1001), [-1e300, 1e300, 1e-300, 0.0]))
    for place in row.increases_in:
        for other in (-3.3, 0.0, 1e5):
            operands = [np.full_like(line, other)] * row.arity
            operands[place] = line
            values = reference_quietly(row, *operands)
            assert (np.diff(values) >= -1e-15 * np.abs(values[1:])).all()


@each(ROWS)
def test_a_row_pickles_to_itself(row):
    assert pickle.loads(pickle.dumps(row)) is row


@pytest.mark.parametrize("name", ["erf", "erfc", "gamma", "gammaln", "psi"])
def test_references_agree_with_scipy(name):
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(-4.3, 12, 200), [0.0, -0.0, -2.0, np.inf, np.nan]])
    theirs = getattr(special, name)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = SCALARS[name].reference(x)
    if name == "gamma":  # SciPy's and C's poles differ in sign conventions
        keep = ~((x <= 0) & (x == np.floor(x)))
        ours, theirs = ours[keep], theirs[keep]
    if name == "psi":
        keep = x != 0
        ours, theirs = ours[keep], theirs[keep]
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_tri_gamma_agrees_with_scipy():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.1, 12, 100)
    theirs = special.polygamma(1, x)
    np.testing.assert_allclose(SCALARS["tri_gamma"].reference(x), theirs, rtol=1e-11)


SMALLEST, LARGEST = np.finfo(np.float64).smallest_subnormal, np.finfo(np.float64).max
EXTREMES = [0.0, SMALLEST, 1e-300, 1e-160, 1e-17, 0.5, 1, 2, 3.7, 37, 170.9, 750]
EXTREMES += [1e5, 1e17, 1e300, LARGEST, np.inf]
EXTREMES = np.array([np.nan, *EXTREMES, *(-each for each in EXTREMES)])


@pytest.mark.parametrize("name", sorted(SCALARS))
def test_no_reference_raises_for_any_number(name):
    row = SCALARS[name]
    numbers = EXTREMES if row.arity < 3 else EXTREMES[::4]
    operands = [each.ravel() for each in np.meshgrid(*[numbers] * row.arity)]
    with np.errstate(all="ignore"):
        try:
            row.reference(*(each[:1] for each in operands))
        except TypeError:
            return  # it is for integers
        assert row.reference(*operands).shape == operands[0].shape


def test_the_gamma_function_has_the_sign_of_a_number_near_0():
    with np.errstate(over="ignore"):
        found = SCALARS["gamma"].reference([-1e-309, 1e-309])
    assert found.tolist() == [-np.inf, np.inf]


SIZES = np.concatenate([np.linspace(-30, 120, 601), [1e-9, 250, 1400, 1450, np.nan]])
SPECIAL = {
    "erfcx": (SIZES,),
    "erfinv": (np.concatenate([np.linspace(-1, 1, 301), [1 - 1e-15, 1e-9, 2.0]]),),
    "erfcinv": (np.concatenate([np.linspace(0, 2, 301), [1e-300, 1e-20, 3.0]]),),
    **{name: (SIZES,) for name in ("j0", "j1", "i0", "i1")},
    **{
        name: np.meshgrid([0, 1, 2, 7, -1, -2, 50, 0.5, 1.3, -0.5, -2.3, 300.7], SIZES)
        for name in ("jv", "iv")
    },
    **{
        name: np.meshgrid(
            [0.0, 0.1, 0.5, 1, 3.5, 19, 21, 100, 3000, 2e4, 1e6, 1e9, -1, np.nan],
            [0.0, 0.3, 0.9, 1.2, 3, 20, 99, 2950, 2.01e4, 1e6 + 900, 1e9, np.inf, -1],
        )
        for name in ("gammainc", "gammaincc")
    },
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_agree_with_scipy(name):
    special = pytest.importorskip("scipy.special")
    operands = [np.asarray(x, float) for x in SPECIAL[name]]
    theirs = getattr(special, name)(*operands)
    ours = reference_quietly(SCALARS[name], *operands)
    np.testing.assert_array_equal(np.isfinite(ours), np.isfinite(theirs))
    kept = np.isfinite(ours)
    np.testing.assert_allclose(ours[kept], theirs[kept], rtol=3e-11, atol=1e-14)


def test_the_complement_keeps_its_digits_where_it_is_small():
    """By integration with 40 digits."""
    got = SCALARS["gammaincc"].reference(1e-10, np.array([0.9, 1.4]))
    right = [2.601839393505837e-11, 1.162193125862297e-11]
    np.testing.assert_allclose(got, right, rtol=1e-13)


def test_numbers_near_zero_are_theirs_by_definition():
    x = np.array([0.0, -0.0, 1.0, np.e])
    np.testing.assert_array_equal(
        reference_quietly(SCALARS["xlogx"], x), [0, 0, 0, np.e]
    )
    nothing = reference_quietly(SCALARS["xlogy0"], 0.0, [0.0, -1.0, np.inf, np.nan])
    np.testing.assert_array_equal(nothing, 0)


def test_sigmoid_and_softplus_neither_overflow_nor_vanish():
    x = np.array([-1000.0, -700.0, 0.0, 700.0, 1000.0])
    with np.errstate(over="raise", invalid="raise"):
        assert SCALARS["sigmoid"].reference(x)[1] > 0
        np.testing.assert_array_equal(SCALARS["softplus"].reference(x)[3:], x[3:])


def test_a_row_says_its_dtypes():
    def doubled(m, g, y, x):
        return g * 2

    register = table.scalar("{0} * 2", lambda x: x * 2)
    with pytest.raises(TypeError, match=r"doubled: nothing says its dtypes.*typed_as"):
        register(doubled)
    assert "doubled" not in SCALARS


def test_the_sign_of_an_odd_order_stays_where_the_value_is_infinite():
    x = [-8e2, 8e2, -8e2, -9e2]
    found = reference_quietly(SCALARS["iv"], [41.0, 41.0, 42.0, 30.0], x)
    assert found.tolist() == [-np.inf, np.inf, np.inf, np.inf]


def test_the_root_as_a_power_is_c_s():
    x = np.array([-np.inf, -0.0, 4.0])
    found = reference_quietly(SCALARS["power"], x, np.array(0.5))
    assert found.tolist() == [np.inf, 0.0, 2.0] and not np.signbit(found[1])


def test_rows_whose_functions_have_one_name_have_one_text():
    # A kernel may have both: a text is there once, another one would define it again.
    texts = {}
    for row in SCALARS.values():
        for kind, text in row.support.items():
            for name in re.findall(r"^GA_INLINE .*?\b(\w+)\(", text, re.MULTILINE):
                texts.setdefault((name, kind), set()).add(text)
    assert len(texts) > 20
    assert not [name for name, found in texts.items() if len(found) > 1]
