"""Loops in one kernel: those where an element needs only itself of the turn before."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan
from loops import by_turns, numbers

pytestmark = pytest.mark.usefixtures("in_float64")

TURNS = 37
"""More than one block of rows that a kernel reads ahead, and no multiple of one."""


def tensor(array):
    """A variable for an array."""
    return T.tensor(array.dtype.name, tuple(n == 1 for n in array.shape))


def outputs_of(fn, sequences, states, constants, **options):
    """The traces of all outputs, and the function's count of launches for them."""
    arrays = [*sequences, *states, *constants]
    variables = [tensor(x) for x in arrays]
    n, m = len(sequences), len(sequences) + len(states)
    outs, _ = scan(
        fn,
        sequences=variables[:n],
        outputs_info=[*variables[n:m], *options.pop("more", ())],
        non_sequences=variables[m:],
        return_list=True,
        **options,
    )
    f = function(variables, outs)
    return f(*arrays), f.info()["n_launches"]


def check(fn, sequences=(), states=(), constants=(), rtol=1e-6, launches=1, **options):
    """The traces are NumPy's, turn by turn, of one launch."""
    many = options.get("n_steps")
    n_steps = {} if many is None else {"n_steps": many}
    want = by_turns(
        lambda *x: as_numpys(fn(*x)), sequences, [*states, *options.get("more", ())],
        constants, **n_steps,
    )  # fmt: skip
    got, count = outputs_of(fn, sequences, states, constants, **options)
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
    if launches is not None:
        assert count == launches


def as_numpys(results):
    return results if isinstance(results, list | tuple) else [results]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "int64"])
def test_a_state_of_each_dtype(dtype):
    x, s = numbers(TURNS, 5, dtype=dtype), numbers(5, dtype=dtype, seed=1)
    check(lambda r, s: s + r * r, [x], [s])


def test_halves_are_rounded_each_turn():
    x = numbers(TURNS, 5, dtype="float16")
    s = numbers(5, dtype="float16", seed=1)
    check(lambda r, s: s + r, [x], [s], rtol=2e-3)


def test_complex_states():
    x = numbers(TURNS, 4) + 1j * numbers(TURNS, 4, seed=1)
    check(lambda r, s: s * r, [x], [x[0]], rtol=1e-10)


def test_truths():
    x = numbers(TURNS, 6) > 0
    check(lambda r, s: r ^ s, [x], [x[0]])


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 31, 32, 33, 64, 65])
def test_any_number_of_turns(turns):
    check(lambda r, s: s * 0.5 + r, [numbers(turns, 3)], [numbers(3)], launches=None)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (300,), (2, 3), (2, 3, 4, 5)])
def test_states_of_each_rank(shape):
    check(lambda r, s: s * 0.5 + r, [numbers(TURNS, *shape)], [numbers(*shape, seed=1)])


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::-1],
        lambda x: x[:, ::-1],
        lambda x: x[::2],
        lambda x: x[:, ::2],
        lambda x: np.asfortranarray(x),
        lambda x: x.T,
    ],
    ids=["backwards", "mirrored", "every other row", "every other", "F", "transposed"],
)
def test_sequences_of_each_layout(view, first_context):
    x = numbers(TURNS, TURNS + 1)
    seen = view(x)
    X, s = T.dmatrix(), T.dvector()
    out, _ = scan(lambda r, s: s * 0.5 + r, X, s)
    f = function([X, s], out)
    start = numbers(seen.shape[1], seed=1)
    (want,) = by_turns(lambda r, s: [s * 0.5 + r], [seen], [start])
    np.testing.assert_allclose(f(seen, start), want, rtol=1e-10)


@pytest.mark.oclgrind
def test_states_of_different_ranks():
    """What has fewer axes is computed by each thread, and written by one."""
    check(
        lambda r, a, b, c: [a + r, b * 0.5 + a, c - b],
        [numbers(TURNS)],
        [numbers(), numbers(4, seed=1), numbers(3, 4, seed=2)],
    )


@pytest.mark.oclgrind
def test_a_column_and_a_row():
    x, y = numbers(3, 1), numbers(1, 4, seed=1)
    whole = numbers(3, 4, seed=2)
    check(
        lambda r, a, b, c: [a * 0.5 + r, b - r, c + a * b],
        [numbers(TURNS)],
        [x, y, whole],
    )


def test_a_transposed_operand():
    w, x = numbers(3, 4), numbers(TURNS, 4, 3, seed=1)
    check(lambda r, s, w: s + r.T * w, [x], [numbers(3, 4, seed=2)], [w])


def test_an_axis_that_turns_is_no_axis_of_one_element():
    x = numbers(5, 5)
    check(lambda s: 0.5 * s.T + 1, [], [x], n_steps=6, launches=None)


def test_states_of_unlike_shapes_are_not_one_grid():
    check(
        lambda a, b: [a + 1, b * 0.5], [], [numbers(4), numbers(7)], n_steps=6,
        launches=None,
    )  # fmt: skip


def test_states_that_change_places():
    check(lambda a, b: [b, a + b], [], [numbers(4), numbers(4, seed=1)], n_steps=TURNS)


def test_outputs_that_no_turn_reads():
    check(
        lambda r, s: [s + r, s * r],
        [numbers(TURNS, 4)],
        [numbers(4, seed=1)],
        more=[None],
    )


@pytest.mark.oclgrind
def test_many_sequences():
    rows = [numbers(TURNS, 4, seed=i) for i in range(7)]
    check(lambda a, b, c, d, e, f, g, s: s * a + b * c + d * e + f * g, rows,
          [numbers(4, seed=8)])  # fmt: skip


def test_a_long_body():
    def body(r, s):
        for i in range(40):
            s = s * 0.5 + (r - i) / (2 + s * s)
        return s

    check(body, [numbers(TURNS, 4)], [numbers(4, seed=1)], launches=None)


def test_functions_with_texts_of_their_own():
    x, s = T.dmatrix(), T.dvector()
    out, _ = scan(lambda r, s: T.erf(s) + T.gammaln(2 + r * r), x, s)
    plain, _ = scan(
        lambda r, s: T.erf(s[::-1])[::-1] + T.gammaln(2 + r * r), x, s
    )  # no kernel of all turns
    f, g = function([x, s], out), function([x, s], plain)
    given = numbers(TURNS, 4), numbers(4, seed=1)
    np.testing.assert_allclose(f(*given), g(*given), rtol=1e-12)


def test_final_states_alone():
    s, n = T.dvector(), T.lscalar()
    out, _ = scan(lambda s: s * 0.5 + 1, outputs_info=s, n_steps=n)
    f = function([s, n], [out[-1], s * 2])
    given = numbers(9)
    for turns in (2, 3, 50):
        (want,) = by_turns(lambda s: [s * 0.5 + 1], [], [given], n_steps=turns)
        np.testing.assert_allclose(f(given, turns)[0], want[-1], rtol=1e-12)


def test_no_elements():
    check(lambda r, s: s + r, [np.zeros((TURNS, 0))], [np.zeros(0)], launches=None)


def test_a_shape_that_does_not_fit_is_told():
    s, c = T.dvector(), T.dvector()
    out, _ = scan(lambda s, c: s + c, outputs_info=s, non_sequences=c, n_steps=5)
    f = function([s, c], out)
    with pytest.raises(ValueError, match="shape"):
        f(numbers(3), numbers(4))


@pytest.mark.parametrize("most", [-1.0, 3.0, 45.0, 1e30])
def test_until(most):
    start, bound = T.dscalar(), T.dscalar()
    outs, _ = scan(
        lambda p, bound: ([p * 2, p], theano.scan_module.until(p * 2 > bound)),
        outputs_info=[start, None],
        non_sequences=bound,
        n_steps=40,
    )
    f = function([start, bound], [*outs, outs[0][-1]])
    want = by_turns(
        lambda p, bound: ([p * 2, p], p * 2 > bound), [], [np.float64(1), None], [most],
        n_steps=40,
    )  # fmt: skip
    got = f(1, most)
    for one, other in zip(got, [*want, want[0][-1]], strict=True):
        np.testing.assert_allclose(one, other)


def test_until_ends_the_loop():
    """Turns after the condition held are not computed: 2^30 of them would take long."""
    start = T.dscalar()
    out, _ = scan(
        lambda p: (p + 1, theano.scan_module.until(p > 10)),
        outputs_info=start,
        n_steps=2**30,
    )
    f = function([start], out[-1])
    assert f(0) == 12


def test_a_gradient_goes_back_in_one_kernel():
    x, s, w = T.dmatrix(), T.dvector(), T.dvector()
    out, _ = scan(lambda r, s, w: T.tanh(s * w + r), x, s, w)
    f = function([x, s, w], theano.grad((out**2).sum(), [x, s, w]))
    given = numbers(TURNS, 4), numbers(4, seed=1), numbers(4, seed=2)
    with config.use(rewrites="none"):
        want = function([x, s, w], theano.grad((out**2).sum(), [x, s, w]))(*given)
    for one, other in zip(f(*given), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_the_number_of_turns_adds_no_launches():
    x, s = T.dmatrix(), T.dvector()
    out, _ = scan(lambda r, s: T.sin(r + s), x, s)
    f = function([x, s], out)
    counts = set()
    for turns in (2, 5, 50):
        f(numbers(turns, 3), numbers(3))
        counts.add(f.info()["n_launches"])
    assert counts == {1}


# ---- what is reduced of all elements ----


def numpys(name):
    """A reduction of theano.tensor as NumPy has it."""
    return {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod,
            "mean": np.mean, "all": np.all, "any": np.any}[name]  # fmt: skip


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean"])
@pytest.mark.parametrize("shape", [(1,), (5,), (33,), (1000,), (1024,), (4, 5), ()])
def test_a_state_divided_by_a_fold_of_it(name, shape):
    x, s = numbers(TURNS, *shape), numbers(*shape, seed=1)
    X, S = tensor(x), tensor(s)
    fold = getattr(T, name)
    out, _ = scan(lambda r, s: s / (2 + fold(s) ** 2) + r, X, S)
    f = function([X, S], out)
    (want,) = by_turns(lambda r, s: [s / (2 + numpys(name)(s) ** 2) + r], [x], [s])
    np.testing.assert_allclose(f(x, s), want, rtol=1e-9, atol=1e-12)
    if s.size < 256:  # larger groups are not on every device
        assert f.info()["n_launches"] == 1


def test_more_elements_than_a_group_has_items(context):
    x, s = numbers(5, 3000), numbers(3000, seed=1)
    X, S = T.dmatrix(), T.dvector()
    out, _ = scan(lambda r, s: s / (2 + T.sum(s) ** 2) + r, X, S)
    f = function([X, S], out)
    (want,) = by_turns(lambda r, s: [s / (2 + np.sum(s) ** 2) + r], [x], [s])
    np.testing.assert_allclose(f(x, s), want, rtol=1e-9)
    assert (f.info()["n_launches"] == 1) == context.is_cpu


def test_a_fold_of_elements_that_do_not_lie_in_a_row():
    x, s = numbers(TURNS, 3), numbers(4, 3, seed=1)
    column = numbers(4, 1, seed=2)
    check(lambda r, s, c: s / (2 + s.max()) + r * c, [x], [s], [column], rtol=1e-9)


@pytest.mark.parametrize("shape", [(4, 4), (5, 9), (8, 31)])
def test_sums_of_elements_that_do_not_lie_in_a_row(shape):
    """As many accumulators as a vector has lanes, and a few vectors of them."""
    x, s = numbers(TURNS, shape[1]), numbers(*shape, seed=1)
    column = numbers(shape[0], 1, seed=2)
    check(lambda r, s, c: s / (2 + s.sum() ** 2) + r * c, [x], [s], [column], rtol=1e-9)


def test_numbers_beside_folds_are_shared_by_all_elements():
    """A step size, halved where the largest element grew, and its trace."""
    s = numbers(70)
    S, one = T.dvector(), T.dscalar()

    def turn(s, size, before):
        after = s - size * T.tanh(s + size)
        largest = T.max(abs(after))
        return [after, T.switch(largest > before, size / 2, size), largest]

    outs, _ = scan(turn, outputs_info=[S, one, one], n_steps=9)
    f = function([S, one], [*outs, outs[0][-1], outs[1][-1]])

    def by_numpy(s, size, before):
        after = s - size * np.tanh(s + size)
        largest = np.max(abs(after))
        return [after, size / 2 if largest > before else size, largest]

    want = by_turns(by_numpy, [], [s, np.float64(1), np.float64(1)], n_steps=9)
    got = f(s, 1.0)
    for one, other in zip(got, [*want, want[0][-1], want[1][-1]], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    assert f.info()["n_launches"] == 1


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "int32", "int64", "complex128"]
)
def test_folds_of_each_dtype(dtype):
    s = numbers(20, seed=1, dtype=dtype) if dtype != "complex128" else (
        numbers(20) + 1j * numbers(20, seed=1)
    )  # fmt: skip
    S = tensor(s)
    out, _ = scan(lambda s: T.cast(s - T.sum(s), dtype) * s, outputs_info=S, n_steps=3)
    with config.use(rewrites="none"):
        want = function([S], out)(s)
    got = function([S], out)(s)
    rtol = 2e-2 if dtype == "float16" else 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def test_a_complex_constant_beside_a_fold():
    def turn(state, factor):
        return [state * factor / (1 + T.abs(T.sum(state)))]

    def by_numpy(state, factor):
        return [state * factor / (1 + abs(state.sum()))]

    start, factor = (numbers(5, seed=k) + 1j * numbers(5, seed=k + 1) for k in (1, 3))
    (got,), count = outputs_of(turn, [], [start], [factor], n_steps=4)
    (want,) = by_turns(by_numpy, (), [start], [factor], 4)
    assert count == 1
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_two_folds_of_one_turn():
    s = numbers(50)
    S = T.dvector()
    out, _ = scan(
        lambda s: (s - T.mean(s)) / (1 + T.max(abs(s - T.mean(s)))),
        outputs_info=S,
        n_steps=9,
    )
    f = function([S], out)
    (want,) = by_turns(
        lambda s: [(s - s.mean()) / (1 + abs(s - s.mean()).max())], [], [s], n_steps=9
    )
    np.testing.assert_allclose(f(s), want, rtol=1e-9, atol=1e-12)


def test_a_fold_of_some_elements_is_no_group():
    a, b = numbers(4), numbers(3, 4, seed=1)
    A, B = T.dvector(), T.dmatrix()
    outs, _ = scan(
        lambda a, b: [a / (1 + T.sum(a * a)), b * 0.5 + a],
        outputs_info=[A, B],
        n_steps=5,
    )
    want = by_turns(
        lambda a, b: [a / (1 + np.sum(a * a)), b * 0.5 + a], [], [a, b], n_steps=5
    )
    for one, other in zip(function([A, B], outs)(a, b), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.oclgrind
@pytest.mark.parametrize("count", [1, 7, 1000, 1100])
def test_until_all_elements_converged(count):
    v = np.linspace(1, 100, count)
    V = T.dvector()
    outs, _ = scan(
        lambda p: (
            [(p + V / p) / 2],
            theano.scan_module.until(T.all(abs(p * p - V) < 1e-6 * V)),
        ),
        outputs_info=[T.ones_like(V)],
        n_steps=64,
    )
    root, trace = function([V], [outs[-1], outs])(v)
    (want,) = by_turns(
        lambda p: ([(p + v / p) / 2], np.all(abs(p * p - v) < 1e-6 * v)),
        [], [np.ones(count)], n_steps=64,
    )  # fmt: skip
    assert trace.shape == want.shape
    np.testing.assert_allclose(trace, want, rtol=1e-9)
    np.testing.assert_allclose(root, want[-1], rtol=1e-9)
