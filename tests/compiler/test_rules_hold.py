"""Rules are asked where they must not fire, or where another number would come out.

Each expression is optimized and run by its ops' references; the graph as it was written
says what is right.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, rewrites
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ifelse import ifelse
from gpuarray.scalars import SCALARS
from run_graph import run_graph


def both(inputs, output, values):
    """A value as it is written, and optimized."""
    given = dict(zip(inputs, values, strict=True))
    fgraph = FunctionGraph(inputs, [output])
    (wanted,) = run_graph(fgraph, given)
    rewrites.optimize(fgraph)
    fgraph.check()
    (found,) = run_graph(fgraph, given)
    assert found.dtype == wanted.dtype
    return wanted, found


def vectors(dtype, names="xyz"):
    return [T.vector(name, dtype=dtype) for name in names]


# ---- parts added to arrays ----


def test_a_part_of_a_row_is_added_to_every_row():
    X, u = T.dmatrix("X"), T.dvector("u")
    part = T.inc_subtensor(T.zeros((1, 3))[0], u)
    values = [np.ones((2, 3)), np.arange(3.0)]
    for output in (X + part, part + X, X - part):
        wanted, found = both([X, u], output, values)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("wide", "narrow"), [("int64", "int8"), ("float64", "float16")]
)
def test_a_part_of_a_narrower_dtype_wraps_and_rounds_there(wide, narrow):
    x, u = T.vector("x", dtype=wide), T.vector("u", dtype=narrow)
    part = T.inc_subtensor(T.zeros((3,), dtype=narrow)[[0, 0]], u)
    values = [np.zeros(3, wide), np.array([100, 100.1]).astype(narrow)]
    for output in (x + part, x - part):
        wanted, found = both([x, u], output, values)
        np.testing.assert_array_equal(found, wanted)


# ---- inverses ----

UNDONE_BY = {
    row.name: row.undone_by
    for row in SCALARS.values()
    if row.undone_by and row.domain == (-np.inf, np.inf) and row.name != "invert"
}


@pytest.mark.parametrize("name", UNDONE_BY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_undone_is_the_number_also_where_roundings_lose_it(
    name, dtype, context
):
    (x,) = vectors(dtype, "x")
    back = getattr(T, UNDONE_BY[name])(getattr(T, name)(x))
    value = np.array([np.inf, -np.inf, np.nan, 1e5, -1e5], dtype)
    with gpuarray.context(context):
        found = np.asarray(function([x], back)(value))
    np.testing.assert_array_equal(found, value)


# ---- constants near the ends of a dtype's range ----

CONSTANTS = {
    "too large": ("float32", lambda x, c: (x * c(1e30)) * c(1e30), 1e-30),
    "too large in half": ("float16", lambda x, c: x * c(1000) * c(1000), 0.01),
    "too small": ("float32", lambda x, c: (x * c(1e-25)) * c(1e-30), 1e38),
    "subnormal": ("float32", lambda x, c: (x * c(1e-25)) * c(1.2345e-18), 1e20),
    "subnormal in half": ("float16", lambda x, c: (x / c(300)) / c(301), 6e4),
    "a quotient": ("float32", lambda x, c: (x / c(1e30)) / c(1e-30), 1.0),
    "by a subnormal": ("float32", lambda x, c: x * c(3.0) / c(1e-40), 1e-30),
    "in a sum": ("float32", lambda x, c: -(x * c(1e30) - x) * c(1e30), 1e-30),
    "with a sigmoid": (
        "float32",
        lambda x, c: (x * c(1e30)) * T.exp(x) / (1 + T.exp(x)) * c(1e30),
        1e-30,
    ),
    "in another order": (
        "float32",
        lambda x, c: (x / c(1e-30) / x / x) / (1 + T.exp(x)),
        1e20,
    ),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_merged_where_their_dtype_has_the_result(name):
    dtype, build, value = CONSTANTS[name]
    (x,) = vectors(dtype, "x")

    def number(value):
        return constant(np.array([value]).astype(dtype))

    wanted, found = both([x], build(x, number), [np.array([value], dtype)])
    np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_product_takes_in_numbers_that_its_dtype_has(dtype):
    X, u, v = T.matrix("X", dtype=dtype), *vectors(dtype, "uv")
    large = constant(np.sqrt(np.finfo(dtype).max) * np.array(4, dtype))
    tiny = np.full((2, 2), np.finfo(dtype).tiny, dtype)
    wanted, found = both(
        [X, u, v],
        u + T.dot(X, v) * large * large,
        [tiny, np.ones(2, dtype), np.ones(2, dtype)],
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("is_first", [False, True])
def test_a_term_of_a_narrower_dtype_is_multiplied_where_the_sum_is(is_first):
    x, (y, t) = T.dvector("x"), T.fvectors("yt")
    factor = T.exp(t)
    terms = [x / factor, y]
    total = T.add(*(terms if is_first else terms[::-1])) * factor
    values = [np.ones(2), np.array([1e30, 2], "f4"), np.array([60, 1], "f4")]
    wanted, found = both([x, y, t], total, values)
    assert wanted[0] > np.finfo("float32").max
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


# ---- exponents of any size ----

EXPONENTS = np.array([[1000.0, 999, -1000, 0], [-2000, -2001, -2001, -np.inf]])
SHIFTED = EXPONENTS - EXPONENTS.max(axis=1, keepdims=True)
LOGS = SHIFTED - np.log(np.exp(SHIFTED).sum(axis=1, keepdims=True))


def optimized(output, X):
    return both([X], output, [EXPONENTS])[1]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("weight", [1, 3])
def test_the_gradient_of_a_log_of_summed_exponentials_is_finite(keepdims, weight):
    X = T.dmatrix("X")
    logs = T.log(T.exp(X).sum(axis=1, keepdims=keepdims))
    np.testing.assert_allclose(
        optimized(logs, X).ravel(), EXPONENTS[:, 0] - LOGS[:, 0], rtol=1e-12
    )
    slopes = optimized(T.grad((weight * logs).sum(), X), X)
    np.testing.assert_allclose(slopes, weight * np.exp(LOGS), rtol=1e-12)


def test_a_softmax_as_it_is_written_is_finite():
    X = T.dmatrix("X")
    powers = T.exp(X)
    total = powers.sum(axis=1, keepdims=True)
    for share in (powers / total, powers / powers.sum(axis=1).dimshuffle(0, "x")):
        np.testing.assert_allclose(optimized(share, X), np.exp(LOGS), rtol=1e-12)
        np.testing.assert_allclose(optimized(T.log(share), X), LOGS, rtol=1e-12)
    np.testing.assert_allclose(optimized(X - T.log(total), X), LOGS, rtol=1e-12)


def test_the_logarithm_of_picked_probabilities_and_its_gradient_are_finite():
    X, k = T.dmatrix("X"), T.lvector("k")
    costs = -T.log(T.nnet.softmax(X)[T.arange(k.shape[0]), k])
    labels = np.array([2, 0])
    slope = T.grad(costs.mean(), X)
    _, found = both([X, k], costs, [EXPONENTS, labels])
    np.testing.assert_allclose(found, -LOGS[[0, 1], labels], rtol=1e-12)
    _, found = both([X, k], slope, [EXPONENTS, labels])
    wanted = (np.exp(LOGS) - np.eye(4)[labels]) / 2
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


def test_the_gradient_of_a_sum_of_logs_of_probabilities_is_finite():
    X = T.dmatrix("X")
    for axis in (0, 1):
        logs = T.log(T.nnet.softmax(X, axis=axis))
        found = optimized(T.grad(logs.sum(), X), X)
        shifted = EXPONENTS - EXPONENTS.max(axis=axis, keepdims=True)
        shares = np.exp(shifted) / np.exp(shifted).sum(axis=axis, keepdims=True)
        wanted = 1 - EXPONENTS.shape[axis] * shares
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_gradient_of_a_log_of_two_exponentials_is_finite():
    x, y, _ = vectors("float64")
    cost = T.log(T.exp(x) + T.exp(y)).sum()
    values = [np.array([1e4, -1e4, 800.0]), np.array([1.0, -1e4, 801.0])]
    _, found = both([x, y], T.grad(cost, x), values)
    np.testing.assert_allclose(found, [1, 0.5, 1 / (1 + np.e)], rtol=1e-12)


# ---- complex numbers ----

z, w = vectors("complex128", "zw")
OF_COMPLEX = {
    "1 / (1 + exp(-z))": 1 / (1 + T.exp(-z)),
    "exp(z) / (1 + exp(z))": T.exp(z) / (1 + T.exp(z)),
    "w / (1 + exp(z))": w / (1 + T.exp(z)),
    "log(1 + exp(z))": T.log(1 + T.exp(z)),
    "log1p(exp(z))": T.log1p(T.exp(z)),
    "log(exp(z) + exp(w))": T.log(T.exp(z) + T.exp(w)),
    "log(sum(exp(z)))": T.log(T.sum(T.exp(z))),
    "log(1 - z)": T.log(1 - z),
    "log(1 - exp(z))": T.log(1 - T.exp(z)),
    "sqrt(square(z))": T.sqrt(T.sqr(z)),
    "sqrt(z * z)": T.sqrt(z * z),
    "z * 1": z * 1,
    "z / 1": z / 1,
    "z + 0": z + 0,
    "z - 0": z - 0,
    "z ** 1": z**1,
    "z ** 0": z**0,
    "-z - w": -z - w,
    "abs(-z)": T.abs(-z),
    "sum of a repeated one": T.sum(T.alloc(z[0], 3)),
}
for row in SCALARS.values():
    if row.undone_by and {"c"} <= set(row.by_kind):
        name = f"{row.undone_by}({row.name}(z))"
        OF_COMPLEX[name] = getattr(T, row.undone_by)(getattr(T, row.name)(z))


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_rules_keep_the_branch_of_complex_numbers(name):
    first = np.array([1 + 10j, -2 - 9j, 2 + 0j, 2 - 0j, -3 + 4j, 0j, 0.3 - 0.2j])
    second = np.array([0.1 + 4j, 3, -1j, 1 + 7j, -3 - 4j, 1, 2 + 2j])
    variables = [each for each in (z, w) if each.name in name.replace("exp", "")]
    values = [{"z": first, "w": second}[each.name] for each in variables]
    wanted, found = both(variables or [z], OF_COMPLEX[name], values or [first])
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_an_infinite_complex_number_is_repeated_and_summed():
    a = T.zscalar("a")
    wanted, found = both([a], T.sum(T.alloc(a, 3)), [np.array(complex(np.inf, -4))])
    np.testing.assert_array_equal(found, wanted)


# ---- axes that are dropped ----


@pytest.mark.parametrize("is_first", [True, False])
def test_a_product_of_a_matrix_that_had_another_axis(is_first, context):
    Q = T.tensor("float64", (False, False, True), "Q")
    X, Y = T.dmatrices("X", "Y")
    turned = Q.dimshuffle(1, 0)
    product = T.dot(turned, X) if is_first else T.dot(X, turned)
    values = [np.arange(4.0).reshape(2, 2, 1), np.eye(2) * 3, np.ones((2, 2))]
    with gpuarray.context(context):
        found = np.asarray(function([Q, X, Y], Y + 2 * product)(*values))
    np.testing.assert_array_equal(found, 1 + 6 * values[0][:, :, 0].T)


def test_a_batched_product_of_what_had_another_axis(context):
    R = T.tensor("float64", (False, False, False, True), "R")
    X, Y = T.dtensor3s("X", "Y")
    product = T.batched_dot(R.dimshuffle(0, 2, 1), X)
    rng = np.random.default_rng(2)
    r, x, y = (
        rng.normal(size=(2, 3, 4, 1)),
        rng.normal(size=(2, 3, 5)),
        np.ones((2, 4, 5)),
    )
    with gpuarray.context(context):
        found = np.asarray(function([R, X, Y], Y - product)(r, x, y))
    np.testing.assert_allclose(found, y - r[..., 0].transpose(0, 2, 1) @ x)


# ---- indices ----


@pytest.mark.parametrize("place", [-5, -3, 2, 7])
def test_an_index_beyond_joined_rows_is_told_with_its_line(place, context):
    row = T.drow("row")
    with gpuarray.context(context):
        f = function([row], T.join(0, row, row)[place])
        with pytest.raises(IndexError, match=f"index {place} is out of bounds") as told:
            f(np.ones((1, 3)))
    assert "test_rules_hold.py" in "".join(told.value.__notes__)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1:3][2],
        lambda x: x[:2][2],
        lambda x: x[1::2][2],
        lambda x: x[::2][2],
        lambda x: x[1:3][-3],
    ],
)
def test_an_index_beyond_a_slice_is_told_under_a_condition_too(view):
    """No requirement of lengths stands for it there."""
    x, choice = T.dvector("x"), T.bscalar("choice")
    fgraph = FunctionGraph([x, choice], [ifelse(choice, view(x), x[0])])
    rewrites.optimize(fgraph)
    with pytest.raises(IndexError):
        run_graph(fgraph, {x: np.arange(4.0), choice: np.int8(1)})


@pytest.mark.parametrize("place", [-2, -1, 0, 1])
def test_one_of_joined_rows_is_that_row(place):
    rows = [T.drow("a"), T.drow("b")]
    values = [np.full((1, 2), 1.0), np.full((1, 2), 2.0)]
    wanted, found = both(rows, T.join(0, *rows)[place], values)
    np.testing.assert_array_equal(found, wanted)
