"""Affine recurrences: values are those iteration by iteration, in chunks or not.

A processor of two cores runs chunks of states that are one number, from 4096 iterations
on. tests/c/test_plan_loop_affine.c has wider states, and what a GPU runs.
"""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, scan, scan_module
from loops import by_turns

pytestmark = pytest.mark.usefixtures("on_context")

LENGTHS = (0, 1, 2, 3, 7, 63, 64, 65, 1000, 10007)
LONG = 10007
WIDTHS = [(), (1,), (3,), (5, 4), (2000,)]
RTOL = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-10, "complex128": 1e-10}


@pytest.fixture
def on_context(first_context):
    with config.use(floatX="float64", device=first_context.name):
        yield first_context


def letters(f):
    """The letters of the inputs of each loop of a function."""
    return [step.takes for step in f.plan.steps if type(step).__name__ == "LoopStep"]


def draw(dtype, *shape, seed=0, low=-1.0, high=1.0):
    """Numbers from low to high; integers up to 9."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        return rng.integers(-9, 10, shape).astype(dtype)
    drawn = rng.uniform(low, high, shape)
    if np.dtype(dtype).kind == "c":
        drawn = drawn + 0.3j * rng.uniform(low, high, shape)
    return np.asarray(drawn).astype(dtype)


def variable(array):
    """A variable for an array of any lengths, but for those of 1."""
    flags = tuple(n == 1 for n in array.shape[1:])
    return T.tensor(array.dtype.name, (False, *flags) if array.ndim else ())


def check(got, want, dtype):
    assert got.dtype == want.dtype and got.shape == want.shape
    if dtype in RTOL:
        rtol = RTOL[dtype]
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(got, want)


def want_of(body, sequences, start, others=()):
    """The states iteration by iteration, in the dtype of the start."""
    dtype = start.dtype

    def turn(*operands):
        return [np.asarray(body(*operands)).astype(dtype)]

    with np.errstate(all="ignore"):
        (rows,) = by_turns(turn, sequences, [start], others)
    return rows


# ---- values ----


def check_lengths(context, dtype, width, lengths):
    a, x = (T.tensor(dtype, (False, *(n == 1 for n in width))) for _ in range(2))
    s = T.tensor(dtype, tuple(n == 1 for n in width))
    out, _ = scan(lambda a, x, s: T.cast(a * s + x, dtype), [a, x], s)
    with config.use(device=context.name):
        whole, last = function([a, x, s], out), function([a, x, s], out[-1])
    assert letters(whole) == letters(last) == ["rraf"]
    for n in lengths:
        arrays = draw(dtype, n, *width), draw(dtype, n, *width, seed=1)
        start = draw(dtype, *width, seed=2)
        if n == 0:
            assert whole(*arrays, start).shape == (0, *width)
            with pytest.raises(IndexError):
                last(*arrays, start)
            continue
        want = want_of(lambda a, x, s: a * s + x, arrays, start)
        check(whole(*arrays, start), want, dtype)
        check(last(*arrays, start), want[-1], dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_floats_are_those_of_the_loop_to_rounding(dtype, context):
    check_lengths(context, dtype, (), LENGTHS)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_are_those_of_the_loop_to_the_bit(dtype, context):
    check_lengths(context, dtype, (), LENGTHS)


@pytest.mark.parametrize("width", WIDTHS, ids=str)
def test_states_of_each_width(width, context):
    lengths = (1, 2, 65, 1000) if width == (2000,) else LENGTHS
    check_lengths(context, "float64", width, lengths)


BODIES = {
    "a number": lambda x, s, k, v: 0.9 * s + 0.1 * x,
    "an invariant": lambda x, s, k, v: k * s + x,
    "a vector": lambda x, s, k, v: v * s + (1 - v) * x,
    "a function of the row": lambda x, s, k, v: T.nnet.sigmoid(x) * s - x,
    "a difference": lambda x, s, k, v: x - s * k,
    "a quotient": lambda x, s, k, v: (s - x) / (k + 2),
    "twice in a sum": lambda x, s, k, v: 0.5 * s + x * s * 0.3 + x,
    "negated": lambda x, s, k, v: -(s * k) + 1,
    "a reset": lambda x, s, k, v: T.switch(x > 0.8, x, k * s + x),
    "kept": lambda x, s, k, v: T.switch(x > 0.3, s, s * k + x),
    "no sequence in it": lambda x, s, k, v: s * k + 1,
    "wider on the way": lambda x, s, k, v: T.cast(
        T.cast(s, "float64") * k + x, s.dtype
    ),
}


@pytest.mark.parametrize("width", [(), (3,)], ids=str)
@pytest.mark.parametrize("body", BODIES)
def test_expressions_in_which_the_state_is_linear(body, width):
    x, s = (
        T.tensor("float64", (False,) * (1 + len(width))),
        T.tensor("float64", (False,) * len(width)),
    )
    k, v = T.dscalar("k"), T.tensor("float64", (False,) * len(width))
    out, _ = scan(BODIES[body], x, s, [k, v])
    inputs = [x, s, k, v]
    whole = function(inputs, [out, out[3::7]], on_unused_input="ignore")
    last = function(inputs, out[-1], on_unused_input="ignore")
    assert letters(whole)[0].count("a") == letters(last)[0].count("a") == 1
    for n in (8, LONG):
        arrays = draw("float64", n, *width), draw("float64", *width, seed=1)
        others = np.float64(0.8), draw("float64", *width, seed=2)
        want = want_of(NUMPY_BODIES[body], arrays[:1], arrays[1], others)
        rows, some = whole(*arrays, *others)
        check(rows, want, "float64")
        check(some, want[3::7], "float64")
        check(last(*arrays, *others), want[-1], "float64")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


NUMPY_BODIES = BODIES | {
    "a function of the row": lambda x, s, k, v: sigmoid(x) * s - x,
    "a reset": lambda x, s, k, v: np.where(x > 0.8, x, k * s + x),
    "kept": lambda x, s, k, v: np.where(x > 0.3, s, s * k + x),
    "wider on the way": lambda x, s, k, v: s * k + x,
}


def test_a_column_of_factors():
    a, x, s = T.dvector("a"), T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda a, x, s: a * s + x, [a, x], s)
    f = function([a, x, s], out)
    for n in (5, 700, LONG):
        arrays = draw("float64", n), draw("float64", n, 3, seed=1)
        start = draw("float64", 3, seed=2)
        want = want_of(lambda a, x, s: a * s + x, arrays, start)
        check(f(*arrays, start), want, "float64")


def test_a_number_of_iterations_without_sequences():
    k, n, s = T.dscalar("k"), T.iscalar("n"), T.dscalar("s")
    out, _ = scan(lambda s, k: s * k + 1, outputs_info=s, non_sequences=k, n_steps=n)
    f = function([k, n, s], [out, out[-1]])
    assert letters(f) == ["afs"]
    for count in (1, 50, LONG):
        want = want_of(lambda _, s: s * 0.99 + 1, [np.zeros(count)], np.float64(2))
        rows, final = f(0.99, count, 2)
        check(rows, want, "float64")
        assert rows[-1] == final


@pytest.mark.parametrize("step", [-1, 3])
def test_sequences_that_are_views(step):
    x, s = T.dvector("x"), T.dscalar("s")
    out, _ = scan(lambda x, s: 0.9 * s + x, x[::step], s)
    back, _ = scan(lambda x, s: 0.9 * s + x, x, s, go_backwards=True)
    f = function([x, s], [out, back])
    array = draw("float64", 3 * LONG)
    for got, rows in zip(f(array, 0.5), (array[::step], array[::-1]), strict=True):
        want = want_of(lambda x, s: 0.9 * s + x, [rows], np.float64(0.5))
        check(got, want, "float64")


def test_several_states_and_results():
    x, s, t = T.dvector("x"), T.dscalar("s"), T.dscalar("t")
    outs, _ = scan(
        lambda x, s, t: [0.9 * s + x, 0.5 * t - x * x, s * t + x, T.sin(s)],
        x,
        [s, t, None, None],
    )
    f = function([x, s, t], [*outs, outs[0][-1], outs[1][-1]])
    assert [takes.count("a") for takes in letters(f)] == [2]
    for n in (9, LONG):
        array = draw("float64", n)
        want = by_turns(
            lambda x, s, t: [0.9 * s + x, 0.5 * t - x * x, s * t + x, np.sin(s)],
            [array],
            [np.float64(0.3), np.float64(0.7), None, None],
        )
        results = f(array, 0.3, 0.7)
        for got, rows in zip(results[:4], want, strict=True):
            check(got, rows, "float64")
        assert results[0][-1] == results[4] and results[1][-1] == results[5]


def test_a_sum_of_what_reads_an_affine_state():
    x, s, t = T.dvector("x"), T.dscalar("s"), T.dscalar("t")
    (rows, total), _ = scan(lambda x, s, t: [0.9 * s + x, t + x * s], x, [s, t])
    f, g = (
        function([x, s, t], total[-1], on_unused_input="ignore"),
        function([x, s, t], [rows, total[-1]]),
    )
    assert letters(f) == letters(g) == ["ra+f"]
    for n in (9, LONG):
        array = draw("float64", n)
        want = by_turns(
            lambda x, s, t: [0.9 * s + x, t + x * s],
            [array],
            [np.float64(0.3), np.float64(0.7)],
        )
        check(f(array, 0.3, 0.7), want[1][-1], "float64")
        trace, last = g(array, 0.3, 0.7)
        check(trace, want[0], "float64")
        check(last, want[1][-1], "float64")


# ---- what is not affine ----

OTHERS = {
    "a product with itself": lambda x, s: s * s * 0.5 + x,
    "a function": lambda x, s: T.tanh(s) + x,
    "a quotient by it": lambda x, s: x / (s + 3),
    "a larger one": lambda x, s: T.maximum(s * 0.5, x),
    "a choice by it": lambda x, s: T.switch(s > 0, s * 0.5, x),
    "an integer on the way": lambda x, s: T.cast(T.cast(s, "int32"), "float64") + x,
    "an absolute value": lambda x, s: T.abs(s) * 0.5 + x,
    "nothing of it": lambda x, s: x + 0 * x,
}


@pytest.mark.parametrize("body", OTHERS)
def test_other_loops_have_no_factor(body):
    x, s = T.dvector("x"), T.dscalar("s")
    out, _ = scan(OTHERS[body], x, s)
    assert all("f" not in takes for takes in letters(function([x, s], out)))


def test_loops_of_other_kinds_have_no_factor():
    x, X, s, v = T.dvector("x"), T.dmatrix("X"), T.dscalar("s"), T.dvector("v")
    of_two, _ = scan(lambda x, s, t: [s * 0.5 + t, t * 0.5 + x * s], x, [s, s])
    total, _ = scan(lambda x, s: s * 0.5 + x.sum(), X, s)
    mixed, _ = scan(lambda x, s: s[::-1] * 0.5 + x, X, v)
    ended, _ = scan(
        lambda x, s: (s * 0.5 + x, scan_module.until(s > 9)),
        outputs_info=s,
        sequences=x,
    )
    short, _ = scan(lambda s: s * 0.5 + 1, outputs_info=s, n_steps=100)
    truth, _ = scan(lambda x, s: s * x, T.gt(x, 0), T.gt(s, 0))
    for out in (of_two[0], total, mixed, ended, short, truth):
        f = function([x, X, s, v], out, on_unused_input="ignore")
        assert all("f" not in takes for takes in letters(f))


def test_narrow_integers_on_the_way_keep_the_loop():
    x, s = T.lvector("x"), T.lscalar("s")
    out, _ = scan(lambda x, s: T.cast(T.cast(s, "int8"), "int64") * 3 + x, x, s)
    f = function([x, s], out)
    assert letters(f) == ["rc"]


# ---- gradients ----


@pytest.mark.parametrize("n", [6, LONG])
def test_gradients_are_those_of_the_loop(n):
    x, s, a, k = T.dvector("x"), T.dscalar("s"), T.dvector("a"), T.dscalar("k")
    out, _ = scan(lambda x, a, s, k: a * k * s + (1 - k) * x, [x, a], s, [k])
    inputs = [x, a, s, k]
    first = grad((out**2).sum() + T.sin(out[-1]), inputs)
    second = grad(sum(T.sum(g**2) for g in first[:3]), inputs)
    f = function(inputs, [*first, *second])
    assert sum("f" in takes for takes in letters(f)) >= 2
    with config.use(optimizer_excluding="add_factors_of_states"):
        g = function(inputs, [*first, *second])
    assert all("f" not in takes for takes in letters(g))
    arrays = draw("float64", n), draw("float64", n, seed=1), 0.5, 0.8
    for got, want in zip(f(*arrays), g(*arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_gradients_agree_with_finite_differences():
    x, s, k = T.dvector("x"), T.dscalar("s"), T.dscalar("k")
    out, _ = scan(lambda x, s, k: k * s + (1 - k) * x, x, s, [k])
    f = function([x, s, k], grad((out**2).mean(), [x, s, k]))
    array, start, decay = draw("float64", 5000), 0.5, 0.97

    def cost(array, start, decay):
        rows = want_of(
            lambda x, s, k: k * s + (1 - k) * x, [array], np.float64(start), [decay]
        )
        return (rows**2).mean()

    slopes = f(array, start, decay)
    step = 1e-6
    for at in (0, 2500, 4999):
        moved = np.eye(1, 5000, at)[0] * step * 1000
        want = cost(array + moved, start, decay) - cost(array - moved, start, decay)
        np.testing.assert_allclose(slopes[0][at], want / (2000 * step), rtol=1e-5)
    want = cost(array, start + step, decay) - cost(array, start - step, decay)
    np.testing.assert_allclose(slopes[1], want / (2 * step), rtol=1e-4, atol=1e-9)
    want = cost(array, start, decay + step) - cost(array, start, decay - step)
    np.testing.assert_allclose(slopes[2], want / (2 * step), rtol=1e-5)


LINEAR = {
    "affine": lambda x, s, k, v: k * s + x * v,
    "of another kind": lambda x, s, k, v: T.tanh(k * s + x) * v,
}


@pytest.mark.parametrize("body", LINEAR)
def test_the_way_back_is_affine(body):
    """The gradient is linear in what comes from later iterations, whatever the body."""
    x, s, k, v = T.dtensor3("x"), T.dmatrix("s"), T.dscalar("k"), T.dvector("v")
    out, _ = scan(LINEAR[body], x, s, [k, v])
    inputs = [x, s, k, v]
    slopes = grad((out**2).sum(), inputs)
    f = function(inputs, slopes)
    takes = letters(f)[-1]
    assert takes.count("a") == 1 and takes.count("+") == 2
    with config.use(optimizer_excluding="affine:reduce_sums_after_the_loop"):
        g = function(inputs, slopes)
    for n in (1, 9, 600):
        arrays = draw("float64", n, 4, 3), draw("float64", 4, 3, seed=1), 0.9
        weights = draw("float64", 3, seed=2)
        for got, want in zip(f(*arrays, weights), g(*arrays, weights), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    assert f.info()["n_launches"] < 20 < g.info()["n_launches"]


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_of_arrays_over_axes_are_taken_after_the_loop(dtype, axis):
    x, s = T.tensor(dtype, (False,) * 3), T.dmatrix("s")

    def turn(x, s, t):
        return [T.tanh(s * 0.5 + x), t + (x * 3).sum(axis)]

    total = T.zeros_like((x[0] * 3).sum(axis))
    (_, sums), _ = scan(turn, x, [s, total])
    f = function([x, s], sums[-1], on_unused_input="ignore")
    for n in (1, 7, 300):
        array = draw(dtype, n, 4, 3)
        want = (array * array.dtype.type(3)).sum(axis=0, dtype=total.dtype).sum(axis)
        got = f(array, draw("float64", 4, 3, seed=1))
        assert got.dtype == total.dtype
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


# ---- numbers that are not finite ----


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("at", [0, 5000, LONG - 1])
def test_terms_that_are_not_finite_go_on_as_in_the_loop(value, at):
    a, x, s = T.dvector("a"), T.dvector("x"), T.dscalar("s")
    out, _ = scan(lambda a, x, s: a * s + x, [a, x], s)
    f = function([a, x, s], out)
    factors, terms = draw("float64", LONG, low=0.5), draw("float64", LONG, seed=1)
    terms[at] = value
    want = want_of(lambda a, x, s: a * s + x, [factors, terms], np.float64(0.5))
    check(f(factors, terms, 0.5), want, "float64")


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_factor_beyond_all_numbers_leaves_zeros(dtype):
    x, s = T.tensor(dtype, (False,)), T.tensor(dtype, ())
    out, _ = scan(lambda x, s: T.cast(100 * s + x, dtype), x, s)
    f = function([x, s], out)
    terms = np.zeros(LONG, dtype)
    terms[-3:] = 1
    want = want_of(lambda x, s: 100 * s + x, [terms], np.zeros((), dtype))
    check(f(terms, 0), want, dtype)


def test_a_factor_of_zero_forgets_what_was_before():
    a, x, s = T.dvector("a"), T.dvector("x"), T.dscalar("s")
    out, _ = scan(lambda a, x, s: a * s + x, [a, x], s)
    f = function([a, x, s], out)
    factors, terms = draw("float64", LONG), draw("float64", LONG, seed=1)
    factors[[0, 17, 5000]] = 0
    want = want_of(lambda a, x, s: a * s + x, [factors, terms], np.float64(0.5))
    check(f(factors, terms, 0.5), want, "float64")


# ---- other ways to run ----


def test_a_file_runs_at_other_lengths(tmp_path):
    x, X, s, v = T.dvector("x"), T.dmatrix("X"), T.dscalar("s"), T.dvector("v")
    one, _ = scan(lambda x, s: 0.9 * s + x, x, s)
    many, _ = scan(lambda x, s: 0.9 * s + x, X, v)
    f = function([x, X, s, v], [one, one[-1], many])
    path = tmp_path / "affine.plan"
    f.save(path, graph=False)
    g = theano.load(path)
    for n, m in ((1, 3), (7, 1), (4099, 5), (LONG, 2), (64, 2000)):
        arrays = draw("float64", n), draw("float64", n, m, seed=1)
        starts = np.float64(0.5), draw("float64", m, seed=2)
        for got, want in zip(g(*arrays, *starts), f(*arrays, *starts), strict=True):
            check(got, want, "float64")


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode", "NanGuardMode"])
def test_modes(mode):
    x, s, t = T.dvector("x"), T.dscalar("s"), T.dscalar("t")
    (rows, total), _ = scan(lambda x, s, t: [0.9 * s + x, t + x * s], x, [s, t])
    f = function([x, s, t], [rows, total[-1]], mode=mode)
    array = draw("float64", 40)
    want = by_turns(
        lambda x, s, t: [0.9 * s + x, t + x * s], [array], [np.float64(0.3), 0.7]
    )
    trace, last = f(array, 0.3, 0.7)
    check(trace, want[0], "float64")
    check(last, want[1][-1], "float64")


def test_nobody_looks_at_a_factor():
    x, s = T.dvector("x"), T.dscalar("s")
    out, _ = scan(lambda x, s: 9.0 * s + x, x, s)
    for mode in ("DebugMode", "NanGuardMode"):
        f = function([x, s], out, mode=mode)
        np.testing.assert_array_equal(f(np.zeros(600), 0), np.zeros(600))


def test_a_loop_within_a_loop():
    X, s = T.dmatrix("X"), T.dscalar("s")

    def outer(row, state):
        inner, _ = scan(lambda x, s: 0.9 * s + x, row, state)
        return T.tanh(inner[-1])

    out, _ = scan(outer, X, s)
    f = function([X, s], out)
    array = draw("float64", 3, 5000)
    want, state = [], 0.5
    for row in array:
        for x in row:
            state = 0.9 * state + x
        state = np.tanh(state)
        want.append(state)
    np.testing.assert_allclose(f(array, 0.5), want, rtol=1e-10)
