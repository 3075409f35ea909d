"""Random streams: their states, where draws stand in programs, sets of outcomes."""

import pickle

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import (
    In,
    config,
    function,
    ifelse,
    load,
    scan,
    shared,
    tensor as T,
)
from gpuarray.compiler.random import RandomStreams, StateArray
from test_random_streams import assert_equal, values

pytestmark = pytest.mark.usefixtures("on_it")

# ---- states ----


def test_each_call_draws_anew_and_a_seed_repeats(context):
    streams = RandomStreams(5)
    f = function([], [streams.normal(size=(3,)), streams.uniform(size=(2, 2))])
    first, second = values(f), values(f)
    assert not any((a == b).any() for a, b in zip(first, second, strict=True))
    streams.seed()
    for a, b in zip(first, values(f), strict=True):
        assert_equal(a, b)
    streams.seed(6)
    assert (values(f)[0] != first[0]).all()


def test_a_draw_that_is_used_twice_has_one_value(context):
    x = RandomStreams(5).normal(size=(3,))
    a, b = values(function([], [x, x + 0]))
    assert_equal(a, b)
    assert_equal(values(function([], x - x)), np.zeros(3, "f"))


def test_functions_share_the_state_of_a_draw(context):
    x = RandomStreams(5).normal(size=(4,), dtype="float64")
    f, g = function([], x), function([], x * 1)
    generator = gpuarray.random.default_rng(5, context=context)
    for h in (f, g, g, f):
        assert_equal(h(), generator.normal(size=4))


def test_no_update_repeats_and_another_update_counts(context):
    x = RandomStreams(5).normal(size=(4,))
    f = function([], x, no_default_updates=True)
    assert_equal(values(f), values(f))
    g = function([], x, no_default_updates=[x.rng])
    assert_equal(values(g), values(f))
    state = np.array([5, 0, 0], "uint64")
    h = function([], x, updates=[(x.rng, T.constant(state))])
    assert_equal(values(h), values(h))
    with pytest.raises(ValueError, match="twice"):
        function([], x, updates=[(x.rng, x.rng), (x.rng, x.update[1])])


def test_a_state_may_be_given(context):
    x = RandomStreams(5).normal(size=(4,))
    state = T.TensorType("uint64", (False,))("state")
    f = function([state], x, givens={x.rng: state})
    given = np.array([9, 1, 4], "uint64")
    generator = gpuarray.random.Generator(9, context, stream=1)
    generator.state = (9, 1, 4)
    assert_equal(f(given), generator.normal(size=4, dtype="float32"))
    assert tuple(x.rng.get_value()) == (5, 0, 0)


def test_states_are_read_and_set(context):
    streams = RandomStreams(5)
    x = streams.normal(size=(4,))
    f = function([], x)
    kept = x.rng.get_value()
    assert isinstance(kept, StateArray) and kept.get_state() == (5, 0, 0)
    first = values(f)
    x.rng.set_value(kept)
    assert_equal(f(), first)
    streams[x.rng] = (5, 0, 0)
    assert_equal(f(), first)
    assert tuple(streams[x.update[1]]) == (5, 0, 1)
    x.rng.set_value(gpuarray.random.default_rng(5, "null"))
    assert_equal(f(), first)
    state = x.rng.get_value(borrow=True)
    state.seed(5)
    x.rng.set_value(state, borrow=True)
    assert_equal(f(), first)
    with pytest.raises(ValueError, match="expected three integers from 0"):
        x.rng.set_value((1, 2, -1))
    with pytest.raises(TypeError, match=r"state is \[1.5, 2, 3\], expected integers"):
        x.rng.set_value([1.5, 2, 3])


def test_states_are_copied_between_graphs(context):
    def graph(seed):
        streams = RandomStreams(seed)
        return streams, function([], streams.uniform(size=(3,)))

    (one, f), (other, g) = graph(1), graph(2)
    f()
    for (a, _), (b, _) in zip(one.state_updates, other.state_updates, strict=True):
        b.set_value(a.get_value())
    assert_equal(f(), g())


def test_a_failed_call_leaves_the_state(context):
    streams = RandomStreams(5)
    i = T.lscalar("i")
    table = shared(np.arange(3, dtype="f"))
    x = streams.normal(size=(4,))
    f = function([i], x + table[T.stack([i])][0])
    before = tuple(x.rng.get_value())
    with pytest.raises(IndexError):
        f(7)
        context.sync()
    assert tuple(x.rng.get_value()) == before
    f(1)
    assert tuple(x.rng.get_value()) != before
    context.sync()


# ---- where draws stand ----


def test_draws_in_a_loop_are_new_in_each_iteration(context):
    streams = RandomStreams(5)
    rows, updates = scan(lambda: streams.normal(size=(4,), dtype="float64"), n_steps=3)
    f = function([], rows, updates=updates)
    generator = gpuarray.random.default_rng(5, context=context)
    for _ in range(2):
        expected = [np.asarray(generator.normal(size=4)) for _ in range(3)]
        assert_equal(f(), np.stack(expected))


def test_a_random_walk_in_a_loop(context):
    streams = RandomStreams(5)
    start = T.fvector("start")
    steps, updates = scan(
        lambda x: x + streams.normal(size=x.shape), outputs_info=[start], n_steps=6
    )
    f = function([start], steps[-1], updates=updates)
    generator = gpuarray.random.default_rng(5, context=context)
    drawn = [np.asarray(generator.normal(size=3, dtype="float32")) for _ in range(6)]
    np.testing.assert_allclose(
        f(np.zeros(3, "f")), np.sum(drawn, 0), rtol=1e-4, atol=1e-5
    )


def test_draws_in_branches(context):
    streams = RandomStreams(5)
    c = T.iscalar("c")
    a, b = streams.normal(size=(4,)), streams.uniform(size=(4,))
    f = function([c], ifelse.ifelse(c, a, b))
    generators = [gpuarray.random.Generator(5, context, stream=k) for k in (0, 1)]
    for choice in (1, 0, 1):
        normal = generators[0].normal(size=4, dtype="float32")
        uniform = generators[1].uniform(size=4, dtype="float32")
        assert_equal(f(choice), normal if choice else uniform)


def test_copies_and_pickles_go_on(context):
    streams = RandomStreams(5)
    x = T.fvector("x")
    f = function([x], x + streams.normal(size=x.shape))
    given = np.zeros(9, "f")
    f(given)
    copied, pickled = f.copy(), pickle.loads(pickle.dumps(f))
    second = values(f, given)
    assert_equal(pickled(given), second)
    third = values(copied, given)  # a copy shares the state
    assert_equal(pickled(given), third)
    own = f.copy(share_memory=False)
    assert_equal(values(own, given), values(pickled, given))


def test_saved_functions_draw_the_same(context, tmp_path):
    streams = RandomStreams(5)
    x = T.fmatrix("x")
    m = streams.bernoulli(0.5, size=x.shape, dtype="float32")
    f = function(
        [x], [T.tanh(x) * m, streams.permutation(5), streams.gamma(2.0, size=3)]
    )
    given = np.ones((3, 7), "f")
    f(given)
    f.save(tmp_path / "draws.ga")
    loaded = load(tmp_path / "draws.ga", context)
    for _ in range(2):
        for a, b in zip(values(f, given), values(loaded, given), strict=True):
            assert_equal(a, b)


def test_shapes_change_between_calls(context):
    x = T.fmatrix("x")
    f = function([x], RandomStreams(5).normal(size=x.shape) + x)
    generator = gpuarray.random.default_rng(5, context=context)
    for shape in ((3, 4), (2, 2), (0, 5), (3, 4), (7, 1)):
        expected = generator.normal(size=shape, dtype="float32")
        assert_equal(f(np.zeros(shape, "f")), expected)


def test_an_input_may_be_updated_with_a_draw(context):
    streams = RandomStreams(5)
    x = T.fvector("x")
    after = x + streams.normal(size=(3,))
    f = function([In(x, value=np.zeros(3, "f"), update=after, name="x")], after)
    generator = gpuarray.random.default_rng(5, context=context)
    drawn = [np.asarray(generator.normal(size=3, dtype="float32")) for _ in range(3)]
    for count in (1, 2, 3):
        np.testing.assert_allclose(f(), np.sum(drawn[:count], 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode"])
def test_other_modes_draw_the_same(context, mode):
    def build():
        streams = RandomStreams(5)
        x = streams.normal(size=(4, 3), dtype="float64")
        return [T.tanh(x), x.sum(), streams.integers(0, 9, (5,)), streams.uniform()]

    for a, b in zip(
        values(function([], build())), values(function([], build(), mode=mode)),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_test_values_are_drawn():
    with config.use(compute_test_value="raise", device="null"):
        x = RandomStreams(5).uniform(size=(2, 3))
        assert x.tag.test_value.shape == (2, 3)


# ---- sets of outcomes ----


def test_permutations_and_shuffles(context):
    streams = RandomStreams(5)
    x = T.fmatrix("x")
    f = function(
        [x],
        [streams.permutation(6), streams.permutation(x), streams.permuted(x)],
    )
    given = np.arange(12, dtype="f").reshape(4, 3)
    order, parts, rows = values(f, given)
    assert sorted(order) == list(range(6)) and order.dtype == "int64"
    assert sorted(parts[:, 0]) == [0, 3, 6, 9]
    assert (parts - parts[:, :1] == [0, 1, 2]).all()
    assert_equal(np.sort(rows, 1), given)


def test_choices_with_and_without_replacement(context):
    streams = RandomStreams(5)
    pool = T.fvector("pool")
    p = np.array([0.1, 0.2, 0.7])
    f = function(
        [pool],
        [
            streams.choice(10, (1000,)),
            streams.choice(3, (20000,), p=p),
            streams.choice(7, (7,), replace=False),
            streams.choice(3, (2,), replace=False, p=p),
            streams.choice(pool, (4,)),
            streams.choice(5),
        ],
    )
    given = np.array([1.5, 2.5, 9.0], "f")
    ten, weighted, seven, two, of_pool, one = values(f, given)
    assert set(ten) == set(range(10))
    np.testing.assert_allclose(np.bincount(weighted) / 20000, p, atol=0.02)
    assert sorted(seven) == list(range(7)) and len(set(two)) == 2
    assert set(of_pool) <= set(given) and one.shape == () and 0 <= one < 5


def test_multinomial_counts(context):
    p = np.array([[0.2, 0.0, 0.8], [0.5, 0.25, 0.25]], "f")
    streams = RandomStreams(5)
    f = function(
        [],
        [
            streams.multinomial(1000, p),
            streams.multinomial(4, p[1], size=(3, 5)),
            streams.multinomial(0, p),
        ],
    )
    many, few, none = values(f)
    assert (many.sum(1) == 1000).all() and many[0, 1] == 0
    np.testing.assert_allclose(many / 1000, p, atol=0.05)
    assert few.shape == (3, 5, 3) and (few.sum(-1) == 4).all() and not none.any()
