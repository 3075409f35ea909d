"""Gradients through loops, held against finite differences."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import (
    Mode,
    Rop,
    config,
    function,
    grad,
    scan,
    scan_module,
    shared,
)
from gpuarray.compiler.gradient import jacobian
from loops import loop_nodes, numbers

pytestmark = pytest.mark.usefixtures("on_context")


@pytest.fixture
def on_context(context):
    with config.use(floatX="float64", device=context.name):
        yield context


def differences(cost, arrays, place, step=1e-6):
    """The gradient of a compiled cost by one of its arrays, element by element."""
    found = np.zeros_like(arrays[place])
    for at in np.ndindex(found.shape):
        ends = []
        for side in (step, -step):
            moved = [each.copy() for each in arrays]
            moved[place][at] += side
            ends.append(float(cost(*moved)))
        found[at] = (ends[0] - ends[1]) / (2 * step)
    return found


def check(cost, inputs, *arrays, rtol=1e-5):
    """Hold the gradient by each input against finite differences, in two modes."""
    compiled = function(inputs, cost)
    gradients = grad(cost, inputs)
    found = function(inputs, gradients)(*arrays)
    as_written = function(inputs, gradients, mode=Mode(optimizer=None))(*arrays)
    for place, (got, other) in enumerate(zip(found, as_written, strict=True)):
        want = differences(compiled, arrays, place)
        assert got.shape == other.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-7)
        np.testing.assert_allclose(other, want, rtol=rtol, atol=1e-7)


def network(**options):
    x, start, w = T.dmatrix("x"), T.dvector("start"), T.dmatrix("w")
    out, _ = scan(
        lambda row, s, w: T.tanh(row + T.dot(s, w)),
        sequences=x,
        outputs_info=start,
        non_sequences=w,
        **options,
    )
    return [x, start, w], out


ARRAYS = numbers(5, 3), numbers(3, seed=1), numbers(3, 3, seed=2)


@pytest.mark.parametrize("goes_back", [False, True])
@pytest.mark.parametrize(
    "cost",
    [
        lambda out: (out**2).sum(),
        lambda out: (out[-1] ** 3).sum(),
        lambda out: out[2].sum() * out[-1, 0],
        lambda out: (out[1:3] * out[-1]).sum() + out[-1].sum(),
    ],
)
def test_through_a_network(cost, goes_back):
    inputs, out = network(go_backwards=goes_back)
    check(cost(out), inputs, *ARRAYS)


@pytest.mark.parametrize("taps", [[-2, -1], [-1, -3], [-2]])
def test_through_states_of_several_turns(taps):
    start, x = T.dmatrix("start"), T.dmatrix("x")

    def step(a, b, *states):
        total = sum((k + 1.5) * T.sin(s) for k, s in enumerate(states))
        return total * a + b

    out, _ = scan(
        step,
        sequences={"input": x, "taps": [-1, 1]},
        outputs_info={"initial": start, "taps": taps},
    )
    check((out**2).sum(), [start, x], numbers(3, 2), numbers(7, 2, seed=1))


def test_through_several_outputs():
    x, a, b = T.dmatrix("x"), T.dvector("a"), T.dvector("b")
    outs, _ = scan(
        lambda row, s, t: [s * t + row, T.sin(t + row), (s * row).sum()],
        sequences=x,
        outputs_info=[a, b, None],
    )
    cost = sum((k + 1) * (out**2).sum() for k, out in enumerate(outs))
    check(cost, [x, a, b], numbers(4, 3), numbers(3, seed=1), numbers(3, seed=2))
    cost = outs[1][-1].sum() + (outs[0][0] * a).sum()
    check(cost, [x, a, b], numbers(4, 3), numbers(3, seed=1), numbers(3, seed=2))


def test_through_integers_of_the_body():
    x, start = T.dvector("x"), T.dscalar("start")
    powers, k = T.arange(1, 5), T.constant(np.int8(3))
    out, _ = scan(
        lambda a, power, s, k: (1 - s) * a**power + k * s,
        sequences=[x, powers],
        outputs_info=start,
        non_sequences=k,
    )
    check((out**2).sum(), [x, start], numbers(4) + 2, numbers())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "step",
    [
        lambda s, w: T.dot(w, s[:, None]).max(axis=1),
        lambda s, w: T.tanh(T.dot(s, w).reshape((4, 2)).max(axis=1)).repeat(2),
        lambda s, w: T.eq(T.dot(s, w), T.dot(s, w).max()) * T.dot(s, w).max(),
    ],
)
def test_through_maxima_of_products(step, dtype):
    """The loop's maxima are compared with the products that they were found in."""
    start, w = T.vector("start", dtype), T.matrix("w", dtype)
    arrays = numbers(8).astype(dtype), numbers(8, 8, seed=1).astype(dtype)
    out, _ = scan(step, outputs_info=start, non_sequences=w, n_steps=3)
    by_hand = [start]
    for _ in range(3):
        by_hand.append(T.cast(step(by_hand[-1], w), dtype))
    found, want = (
        function([start, w], grad((last**2).sum(), [start, w]))(*arrays)
        for last in (out[-1], by_hand[-1])
    )
    rtol = 1e-4 if dtype == "float32" else 1e-10
    for got, right in zip(found, want, strict=True):
        assert np.abs(right).max() > 0
        np.testing.assert_allclose(got, right, rtol=rtol, atol=rtol)


def test_by_an_integer():
    x, k = T.dvector("x"), T.lscalar("k")
    array = numbers(4)
    slopes = []
    for factor in (k, T.cast(k, "float64")):
        out, _ = scan(
            lambda a, s, k: T.tanh(s + a * k), x, T.zeros(()), non_sequences=factor
        )
        for mode in (None, Mode(optimizer=None)):
            f = function([x, k], grad(out.sum(), factor), mode=mode)
            slopes.append(float(f(array, 2)))
    np.testing.assert_allclose(slopes, slopes[-1:] * 4, rtol=1e-12)


def test_through_loops_in_loops():
    x, y = T.dmatrix("x"), T.dvector("y")

    def outer(row, total):
        inner, _ = scan(
            lambda a, s, c: s * T.cos(a) + c, row, T.sin(total), non_sequences=y.sum()
        )
        return inner[-1]

    out, _ = scan(outer, sequences=x, outputs_info=T.constant(0.3, dtype="float64"))
    check((out**2).sum(), [x, y], numbers(3, 4), numbers(2, seed=1))


def test_through_a_loop_that_stops():
    x, start = T.dmatrix("x"), T.dvector("start")

    def step(row, state):
        new = state * 0.5 + T.sin(row)
        return [new, row * state], scan_module.until(new.sum() > 1)

    (a, b), _ = scan(step, sequences=x, outputs_info=[start, None])
    cost = (a**2).sum() + (b * a).sum() + a[-1].sum()
    for seed in range(3):
        check(cost, [x, start], numbers(9, 2, seed=seed), numbers(2, seed=50 + seed))


def test_a_gradient_that_goes_back_some_turns():
    s = T.dscalar("s")
    for limit, want in ((-1, 80.0), (2, 32.0), (5, 80.0), (9, 80.0)):
        power, _ = scan(
            lambda p, s: p * s,
            outputs_info=T.ones_like(s),
            non_sequences=s,
            n_steps=5,
            truncate_gradient=limit,
        )
        assert function([s], grad(power[-1], s))(2.0) == pytest.approx(want)


def test_a_cut_gradient_is_zero_for_rows_further_back():
    x = T.dvector("x")
    out, _ = scan(
        lambda a, s: s + a**2,
        sequences=x,
        outputs_info=T.constant(0.0, dtype="float64"),
        truncate_gradient=2,
    )
    got = function([x], grad(out[-1], x))([1, 2, 3, 4])
    assert got.tolist() == [0, 0, 6, 8]


def test_through_updates_of_shared_variables():
    w, x = shared(2.0, "w"), T.dvector("x")
    out, _ = scan(lambda a: (a * w, {w: w * a}), sequences=x)
    f = function([x], [out, grad(out.sum(), x)])
    got, slope = f([1, 2, 3])
    assert got.tolist() == [2, 4, 12]  # 2 * 1, (2 * 1) * 2, (2 * 1 * 2) * 3
    np.testing.assert_allclose(slope, [18, 8, 4])


def test_second_derivatives():
    inputs, out = network()
    first = grad((out**2).sum(), inputs)
    check(sum((g**2).sum() for g in first), inputs, *ARRAYS, rtol=1e-4)


def test_forward_mode_is_the_jacobian_times_a_direction():
    inputs, out = network()
    directions = [T.dmatrix(), T.dvector(), T.dmatrix()]
    moved = function([*inputs, *directions], Rop(out, inputs, directions))
    along = numbers(5, 3, seed=5), numbers(3, seed=6), numbers(3, 3, seed=7)
    value = function(inputs, out)
    step = 1e-6
    ends = [
        value(*(a + side * d for a, d in zip(ARRAYS, along, strict=True)))
        for side in (step, -step)
    ]
    want = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(moved(*ARRAYS, *along), want, rtol=1e-5, atol=1e-8)


def test_a_jacobian_of_the_last_state():
    a = T.dvector("a")
    out, _ = scan(lambda s: T.sin(s) * s, outputs_info=a, n_steps=3)
    got = function([a], jacobian(out[-1], a))(numbers(3))
    value = function([a], out[-1])
    step = 1e-6
    want = [
        (value(numbers(3) + step * e) - value(numbers(3) - step * e)) / (2 * step)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(got, np.stack(want, 1), rtol=1e-5, atol=1e-8)


def test_a_gradient_of_no_turns():
    inputs, out = network()
    found = function(inputs, grad((out**2).sum(), inputs))(ARRAYS[0][:0], *ARRAYS[1:])
    for got, given in zip(found, (ARRAYS[0][:0], *ARRAYS[1:]), strict=True):
        assert got.shape == given.shape and not got.any()


def test_a_gradient_of_ones_is_not_one_of_zeros():
    """Ones that are computed from a zero flow to every row, not to the last alone."""
    x = T.dvector("x")
    out, _ = scan(lambda s: s * 2, outputs_info=x, n_steps=3)
    ones = T.second(out, T.exp(T.constant(0.0, dtype="float64")))
    flowing = T.set_subtensor(ones[-1], T.full_like(x, 5.0))
    found = function([x], grad(None, x, known_grads={out: flowing}))
    assert found([1.0, 1.0]).tolist() == [46, 46]  # 2 + 4 + 5 * 8


# ---- products that the loop computed ----


def products_of(f):
    """How many products a function has outside its loops, and in each body."""
    graphs = [f.maker.fgraph, *(loop.op.placed_body for loop in loop_nodes(f))]
    return [
        sum("Dot" in str(n.op) or "Gemm" in str(n.op) for n in graph.toposort())
        for graph in graphs
    ]


def gated(**options):
    """A cost of a network with two gates, and its inputs: sequence, start, weights."""
    x, start, w, u = T.dtensor3(), T.dmatrix(), T.dmatrix(), T.dmatrix()

    def turn(row, s):
        sums = T.dot(row, u) + T.dot(s, w)
        return T.nnet.sigmoid(sums[:, :3]) * T.tanh(sums[:, 3:]) + s / 2

    out, _ = scan(turn, x, start, **options)
    return (out[-1] ** 2).sum(), [x, start, w, u]


GATED = [numbers(4, 2, 3), *(numbers(n, m, seed=n) for n, m in ((2, 3), (3, 6)))]


def test_a_gradient_computes_no_product_of_the_loop_again():
    """Outside: of all rows, and the gradients of both weights."""
    cost, inputs = gated()
    arrays = [*GATED, GATED[2] * 0.5]
    check(cost, inputs, *arrays)
    assert products_of(function(inputs, grad(cost, inputs[2:]))) == [3, 1, 1]


@pytest.mark.parametrize("options", [{"go_backwards": True}, {"checkpoint": 2}])
def test_products_of_loops_backwards_and_in_segments(options):
    cost, inputs = gated(**options)
    check(cost, inputs, *GATED, GATED[2] * 0.5)


def test_a_second_gradient_reads_products_too():
    cost, inputs = gated()
    gradient = grad(cost, inputs[2])
    check((gradient**2).sum(), inputs, *GATED, GATED[2] * 0.5, rtol=1e-4)


def test_products_of_a_loop_that_ends_by_its_condition():
    x, w = T.dvector(), T.dmatrix()

    def turn(s):
        after = T.tanh(T.dot(s, w)) * T.nnet.sigmoid(T.dot(s, w * w))
        return after, scan_module.until(T.sum(after**2) < 0.05)

    out, _ = scan(turn, outputs_info=x, n_steps=20)
    check((out**2).sum(), [x, w], numbers(3), numbers(3, 3, seed=1))


def test_states_without_a_result_are_traced_by_the_loop_itself():
    """The taps of a state are states, of which one alone has a result."""
    x, w = T.dmatrix(), T.dmatrix()
    out, _ = scan(
        lambda a, b, w: T.tanh(T.dot(a, w) + b),
        outputs_info={"initial": x, "taps": [-1, -2]},
        non_sequences=w,
        n_steps=5,
    )
    cost = (out[-1] ** 2).sum()
    check(cost, [x, w], numbers(2, 3), numbers(3, 3, seed=1))
    assert len(loop_nodes(function([x, w], grad(cost, [x, w])))) == 2
