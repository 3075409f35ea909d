"""``scan_checkpoints``: the values and gradients of ``scan``, with less memory."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan, scan_checkpoints, shared
from loops import loops_in, numbers

pytestmark = pytest.mark.usefixtures("on_context")


@pytest.fixture
def on_context(first_context):
    with config.use(floatX="float64", device=first_context.name):
        yield first_context


def turn(row, state, w):
    return T.tanh(T.dot(state, w) + row)


def arrays(length):
    return numbers(length, 3), numbers(3, seed=1), numbers(3, 3, seed=2)


@pytest.mark.parametrize("every", [1, 4, 10])
@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 21])
def test_values_and_gradients_are_those_of_scan(length, every):
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")
    kept, _ = scan_checkpoints(turn, [x], [s], [w], save_every_N=every)
    whole, _ = scan(turn, [x], [s], [w])
    costs = [(out[-1] ** 2).sum() for out in (kept, whole)]
    some = function([x, s, w], [kept, *theano.grad(costs[0], [x, s, w])])
    all_ = function([x, s, w], [whole, *theano.grad(costs[1], [x, s, w])])
    given = arrays(length)
    (rows, *slopes), (states, *want) = some(*given), all_(*given)
    ends = [min(i + every, length) - 1 for i in range(0, length, every)]
    np.testing.assert_allclose(rows, states[ends], rtol=1e-12)
    for one, other in zip(slopes, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_the_gradient_keeps_the_states_of_some_iterations():
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")
    memory = {}
    for name, loop in (
        ("all", lambda: scan(turn, [x], [s], [w])),
        ("some", lambda: scan_checkpoints(turn, [x], [s], [w], save_every_N=32)),
    ):
        out, _ = loop()
        f = function([x, s, w], theano.grad((out[-1] ** 2).sum(), [s, w]))
        for length in (256, 1024):
            f(*arrays(length))
            memory[name, length] = f.info()["workspace"]
    assert memory["all", 1024] > 3.5 * memory["all", 256]
    assert memory["some", 1024] < 2 * memory["some", 256]
    assert memory["some", 1024] < memory["all", 1024] / 6


def test_several_outputs_of_an_integer_number_of_steps():
    a, n = T.dscalar("a"), T.lscalar("n")
    (kept, squares), _ = scan_checkpoints(
        lambda s: [s + 1, s * s], outputs_info=[a, None], n_steps=n, save_every_N=3
    )
    f = function([a, n], [kept, squares])
    for count in (1, 3, 7):
        ends = np.array([min(i + 3, count) for i in range(0, count, 3)])
        first, second = f(2, count)
        np.testing.assert_array_equal(first, 2 + ends)
        np.testing.assert_array_equal(second, (1 + ends) ** 2)


@pytest.mark.parametrize("count", [2, 6, 7])
def test_shared_variables_are_updated_through_all_blocks(count):
    total = shared(np.zeros(()))
    x = T.dvector("x")
    kept, updates = scan_checkpoints(
        lambda r: (r * total, {total: total + r}), x, save_every_N=3
    )
    f = function([x], kept, updates=updates)
    given = numbers(count)
    got = f(given)
    before = np.cumsum(given) - given
    ends = [min(i + 3, count) - 1 for i in range(0, count, 3)]
    np.testing.assert_allclose(got, (given * before)[ends], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(total.get_value(), given.sum(), rtol=1e-12)


def test_theanos_arguments_are_accepted():
    x, s = T.dvector("x"), T.dscalar("s")
    kept, _ = theano.scan_module.scan_checkpoints(
        lambda r, s: s * r, sequences=[x], outputs_info=[s], non_sequences=[],
        name="blocks", n_steps=6, save_every_N=3, padding=False,
    )  # fmt: skip
    assert kept.eval({x: np.arange(1.0, 7), s: 1}).tolist() == [6, 720]


@pytest.mark.parametrize(
    "change, kind, told",
    [
        ({"save_every_N": 0}, ValueError, "save_every_N is 0, expected a positive"),
        ({"save_every_N": 2.5}, ValueError, "save_every_N is 2.5"),
        ({"sequences": []}, ValueError, "number of iterations is unknown"),
        (
            {"fn": lambda r, s: (s, theano.scan_module.until(s > 1))},
            ValueError,
            "until",
        ),
    ],
)
def test_what_makes_no_blocks_is_refused(change, kind, told):
    arguments = {
        "fn": lambda r, s: s * r,
        "sequences": [T.dvector()],
        "outputs_info": [T.dscalar()],
    }
    with pytest.raises(kind, match=told):
        scan_checkpoints(**(arguments | change))


# ---- the keyword of scan ----

FORMS = [1, 4, 100, "sqrt", "150 B", "1kB", "1 MiB"]


def grads(cost, variables):
    return theano.grad(cost, variables, disconnected_inputs="ignore")


def agree(results, expected, rtol=1e-9):
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_those_of_all_states(form):
    x, s, w, n = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w"), T.lscalar("n")

    def run(checkpoint, steps):
        out, _ = scan(turn, x, s, w, n_steps=steps, checkpoint=checkpoint)
        cost = (out[-1] ** 2).sum() + T.sin(out).sum()
        results = [out, *grads(cost, [x, s, w])]
        inputs = [x, s, w, *([n] if steps is n else [])]
        return function(inputs, results)

    for steps in (None, n):
        some, whole = run(form, steps), run("all", steps)
        for length in (1, 2, 4, 5, 21):
            given = [*arrays(length), *([] if steps is None else [length])]
            (out, *slopes), (want, *expected) = some(*given), whole(*given)
            np.testing.assert_array_equal(out, want)
            agree(slopes, expected)
    some, whole = run(form, 13), run("all", 13)
    agree(some(*arrays(13)), whole(*arrays(13)))


@pytest.mark.parametrize("goes_back", [False, True])
def test_taps_several_states_and_results_that_no_iteration_reads(goes_back):
    x, a, b, w = T.dmatrix("x"), T.dmatrix("a"), T.dvector("b"), T.dvector("w")

    def step(before, now, second, first, other, w):
        new = T.tanh(second * w + 0.5 * first + now)
        return [new, other * 0.9 + before * new, (new * other).sum()]

    def run(checkpoint):
        outputs, _ = scan(
            step,
            {"input": x, "taps": [-1, 1]},
            [{"initial": a, "taps": [-3, -1]}, b, None],
            w,
            go_backwards=goes_back,
            checkpoint=checkpoint,
            strict=True,
        )
        cost = outputs[0][-1].sum() + (outputs[1] ** 2).sum() + outputs[2].sum()
        inputs = [x, a, b, w]
        return function(inputs, [*outputs, *grads(cost, inputs)])

    some, whole = run("sqrt"), run("all")
    for length in (3, 4, 19):
        given = numbers(length, 3), numbers(3, 3), numbers(3, seed=1), numbers(3)
        agree(some(*given), whole(*given))


@pytest.mark.parametrize("limit", [1, 5, 9, 30])
def test_truncated_gradients(limit):
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")

    def run(checkpoint):
        out, _ = scan(turn, x, s, w, truncate_gradient=limit, checkpoint=checkpoint)
        cost = (out[-1] ** 2).sum() + T.sin(out).sum()
        return function([x, s, w], [out, *grads(cost, [x, s, w])])

    some, whole = run(3), run("all")
    for length in (4, 9, 20):
        agree(some(*arrays(length)), whole(*arrays(length)))


def test_updates_of_shared_variables():
    x = T.dvector("x")
    results = []
    for checkpoint in ("all", 3):
        total = shared(np.array(0.5))
        out, updates = scan(
            lambda r, s, total=total: (r * total * s, {total: T.sin(total + r)}),
            x,
            T.constant(1.0, dtype="float64"),
            checkpoint=checkpoint,
        )
        f = function([x], [out, theano.grad(out.sum(), x)], updates=updates)
        results.append([*f(numbers(8)), total.get_value(), *f(numbers(7))])
    agree(*results)


def test_second_derivatives_forward_mode_and_jacobians():
    x, s, w, v = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w"), T.dmatrix("v")

    def run(checkpoint):
        out, _ = scan(turn, x, s, w, checkpoint=checkpoint)
        slope = theano.grad((out[-1] ** 2).sum(), w)
        return function(
            [x, s, w, v],
            [
                *theano.grad(T.sin(slope).sum(), [x, s, w]),
                theano.gradient.Rop(out, w, v),
                theano.gradient.Rop(slope, w, v),
                theano.gradient.jacobian(out[-1], s),
            ],
        )

    given = *arrays(11), numbers(3, 3, seed=5)
    agree(run("sqrt")(*given), run("all")(*given))


def test_a_loop_with_checkpoints_in_a_loop():
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")

    def run(checkpoint):
        def outer(state, w):
            return scan(turn, x, state, w, checkpoint=checkpoint)[0][-1]

        out, _ = scan(outer, None, s, w, n_steps=5, checkpoint=checkpoint)
        return function([x, s, w], [out, *grads(out.sum(), [x, s, w])])

    agree(run("sqrt")(*arrays(7)), run("all")(*arrays(7)))


@pytest.mark.parametrize("fold", ["reduce", "foldl", "foldr"])
def test_folds(fold):
    x, s = T.dmatrix("x"), T.dvector("s")

    def run(checkpoint):
        out, _ = getattr(theano, fold)(
            lambda r, s: T.tanh(r * s), x, s, checkpoint=checkpoint
        )
        return function([x, s], [out, *grads(out.sum(), [x, s])])

    given = numbers(10, 3), numbers(3, seed=1)
    agree(run(4)(*given), run("all")(*given))


def test_the_loop_of_the_values_is_that_of_the_gradient():
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")
    out, _ = scan(turn, x, s, w, checkpoint="sqrt")
    slope = theano.grad((out[-1] ** 2).sum(), w)
    assert loops_in(function([x, s, w], out)) == 1
    assert loops_in(function([x, s, w], slope)) == 4
    assert loops_in(function([x, s, w], [out[-1], slope])) == 4
    assert loops_in(function([x, s, w], [out, slope])) == 4


@pytest.mark.parametrize("goes_back", [False, True])
def test_memory_grows_with_the_root_of_the_length(goes_back):
    x, s = T.dmatrix("x"), T.dvector("s")
    w, u = T.dmatrix("w"), T.dmatrix("u")

    def step(row, state, w, u):
        new = T.tanh(T.dot(state, w) + T.dot(row, u))
        return [new, (new**2).sum()]

    memory = {}
    for form in ("all", "sqrt", 64, "80kB"):
        (_, losses), _ = scan(
            step, x, [s, None], [w, u], go_backwards=goes_back, checkpoint=form
        )
        f = function([x, s, w, u], grads(losses.sum(), [s, w, u]))
        for length in (256, 1024, 4096):
            f(numbers(length, 40), numbers(40), numbers(40, 40), numbers(40, 40))
            memory[form, length] = f.info()["workspace"]
    assert memory["all", 4096] > 3.5 * memory["all", 1024]
    for length in (256, 1024):
        assert memory["sqrt", 4 * length] < 2.3 * memory["sqrt", length]
    assert memory["sqrt", 4096] < memory["all", 4096] / 12
    assert memory[64, 4096] < memory["all", 4096] / 12
    assert memory["80kB", 4096] < 1.3 * memory["80kB", 1024] + 80_000


def test_the_rows_of_a_segment_are_written_where_they_stay():
    """A segment is three kernels: forward, once more, and its gradient; no copies."""
    x, s = T.dmatrix("x"), T.dvector("s")
    slopes = []
    for checkpoint in (4, "all"):
        out, _ = scan(lambda r, s: T.tanh(r + s), x, s, checkpoint=checkpoint)
        slopes.append(theano.grad((out[-1] ** 2).sum(), x))
    f = function([x, s], slopes[0])
    want = function([x, s], slopes[1])
    counts = []
    for length in (9, 13, 17):
        given = numbers(length, 3), numbers(3)
        np.testing.assert_allclose(f(*given), want(*given), rtol=1e-9, atol=1e-12)
        counts.append(f.info()["n_launches"])
    assert np.diff(counts).tolist() == [3, 3]


def test_no_iterations():
    x, s = T.dvector("x"), T.dscalar("s")
    out, _ = scan(lambda r, s: s * r, x, s, checkpoint="sqrt")
    f = function([x, s], [out, *grads(out.sum(), [x, s])])
    assert [np.shape(result) for result in f([], 2)] == [(0,), (0,), ()]
    with pytest.raises(IndexError):
        function([x, s], [out[-1], *grads(out[-1], [x, s])])([], 2)


@pytest.mark.parametrize(
    "form, kind, told",
    [
        (0, ValueError, "checkpoint is 0, expected 'all', 'sqrt', a positive number"),
        (-2, ValueError, "checkpoint is -2"),
        (True, ValueError, "checkpoint is True"),
        (2.5, TypeError, "checkpoint is 2.5"),
        (None, TypeError, "checkpoint is None"),
        ("none", ValueError, "checkpoint is 'none'"),
        ("64", ValueError, "memory as in '64 MB'"),
        ("64 mb", ValueError, "memory as in '64 MB'"),
        ("1 iB", ValueError, "memory as in '64 MB'"),
    ],
)
def test_what_is_no_checkpoint_is_refused(form, kind, told):
    with pytest.raises(kind, match=told):
        scan(lambda r, s: s * r, T.dvector(), T.dscalar(), checkpoint=form)


def test_a_loop_that_stops_by_a_condition_has_no_checkpoints():
    def step(r, s):
        return s * r, theano.scan_module.until(s > 1)

    with pytest.raises(ValueError, match=r"until\(\), and checkpoints"):
        scan(step, T.dvector(), T.dscalar(), checkpoint="sqrt")
