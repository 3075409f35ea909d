"""``scan_checkpoints``: the values and gradients of ``scan``, with less memory."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan, scan_checkpoints, shared
from loops import numbers

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
        ({"sequences": {"input": T.dvector(), "taps": [0]}}, TypeError, "no taps"),
        (
            {"outputs_info": {"initial": T.dvector(), "taps": [-2]}},
            TypeError,
            "no taps",
        ),
        ({"save_every_N": 0}, ValueError, "save_every_N is 0, expected a positive"),
        ({"save_every_N": 2.5}, ValueError, "save_every_N is 2.5"),
        ({"sequences": []}, ValueError, "no sequences and no n_steps"),
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
