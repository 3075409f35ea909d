"""Theano's RandomStreams and raw_random, by either engine."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from gpuarray.compiler import In, config, function, load, scan, shared, tensor as T
from gpuarray.compiler.ops.random.host import packed, unpacked
from gpuarray.compiler.tensor.shared_randomstreams import RandomStreams


@pytest.fixture(autouse=True)
def on_it(request):
    if "context" in request.fixturenames:
        name = request.getfixturevalue("context").name
        with config.use(device=name, floatX="float64"):
            yield
    else:
        yield


def generators(seed, count):
    """The generators of NumPy's that Theano gives to the first draws of a seed."""
    seeds = np.random.RandomState(seed)
    return [np.random.RandomState(int(seeds.randint(2**30))) for _ in range(count)]


def values(f, *given):
    return [np.asarray(value) for value in f(*given)]


def test_numbers_are_theanos(context):
    streams = RandomStreams(234, engine="numpy")
    f = function([], streams.uniform((2, 2)))
    known = [[0.12672381, 0.97091597], [0.13989098, 0.88754825]]
    np.testing.assert_allclose(f(), known, atol=5e-9)
    second = [[0.31971415, 0.47584377], [0.24129163, 0.42046081]]
    np.testing.assert_allclose(f(), second, atol=5e-9)


def test_numbers_are_those_of_numpys_methods(context):
    streams = RandomStreams(5, engine="numpy")
    x = np.arange(12.0).reshape(3, 4)
    p = np.array([0.2, 0.3, 0.5])
    draws = [
        streams.uniform((3,), 1.0, 4.0),
        streams.normal((2, 3), 1.0, 2.0),
        streams.binomial((4,), 10, 0.3),
        streams.poisson((4,), 3.5),
        streams.random_integers((6,), 2, 5),
        streams.choice((5,), 7),
        streams.choice((2,), 3, False, p),
        streams.permutation(n=5),
        streams.permutation((2,), 4),
        streams.multinomial((2,), 9, p),
        streams.shuffle_row_elements(x),
    ]
    f = function([], draws)
    rngs = generators(5, len(draws))
    for _ in range(2):
        found = values(f)
        expected = [
            rngs[0].uniform(1.0, 4.0, 3),
            rngs[1].normal(1.0, 2.0, (2, 3)),
            rngs[2].binomial(10, 0.3, 4),
            rngs[3].poisson(3.5, 4),
            rngs[4].randint(2, 6, 6),
            rngs[5].choice(7, 5),
            rngs[6].choice(3, 2, False, p),
            rngs[7].permutation(5),
            np.stack([rngs[8].permutation(4) for _ in range(2)]),
            rngs[9].multinomial(9, p, 2),
            np.stack([row[rngs[10].permutation(4)] for row in x]),
        ]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("engine", ["philox", "numpy"])
def test_the_tutorial_of_theano(context, engine):
    streams = RandomStreams(234, engine=engine)
    rv_u, rv_n = streams.uniform((2, 2)), streams.normal((2, 2))
    f = function([], rv_u)
    g = function([], rv_n, no_default_updates=True)
    nearly_zeros = function([], rv_u + rv_u - 2 * rv_u)
    first = np.asarray(f())
    assert (np.asarray(f()) != first).all()
    np.testing.assert_array_equal(g(), g())
    assert (np.asarray(nearly_zeros()) == 0).all()
    state = rv_u.rng.get_value(borrow=True)
    state.seed(89234)
    rv_u.rng.set_value(state, borrow=True)
    seeded = np.asarray(f())
    streams.seed(902340)
    all_seeded = np.asarray(f())
    assert (seeded != all_seeded).all()
    kept = rv_u.rng.get_value().get_state()
    nearly_zeros()
    v1 = np.asarray(f())
    rng = rv_u.rng.get_value(borrow=True)
    rng.set_state(kept)
    rv_u.rng.set_value(rng, borrow=True)
    assert (np.asarray(f()) != v1).all()
    np.testing.assert_array_equal(f(), v1)
    streams.seed(902340)
    np.testing.assert_array_equal(f(), all_seeded)


@pytest.mark.parametrize("engine", ["philox", "numpy"])
def test_draws_have_their_laws(context, engine):
    streams = RandomStreams(5, engine=engine)
    n = 20000
    f = function(
        [],
        [
            streams.uniform((n,), -1.0, 3.0),
            streams.normal((n,), 2.0, 3.0),
            streams.binomial((n,), 1, 0.3),
            streams.binomial((n,), 8, 0.25),
            streams.poisson((n,), 2.5),
            streams.random_integers((n,), 1, 6),
            streams.choice((n,), 3, True, np.array([0.2, 0.3, 0.5])),
            streams.multinomial((n,), 3, np.array([0.25, 0.75])),
        ],
    )
    means = [1.0, 2.0, 0.3, 2.0, 2.5, 3.5, 1.3, 1.5]
    spreads = [4 / 12**0.5, 3.0, 0.21**0.5, 1.5**0.5, 2.5**0.5, (35 / 12) ** 0.5]
    drawn = values(f)
    for found, mean in zip(drawn, means, strict=True):
        assert abs(found.mean() - mean) < 0.1
    for found, spread in zip(drawn, spreads, strict=False):
        assert abs(found.std() - spread) < 0.1
    assert set(np.unique(drawn[5])) == set(range(1, 7))
    assert (drawn[7].sum(1) == 3).all()
    kinds = ["float64"] * 2 + ["int64"] * 6
    assert [found.dtype.name for found in drawn] == kinds


@pytest.mark.parametrize("engine", ["philox", "numpy"])
def test_states_are_given_and_updated_by_hand(context, engine):
    streams = RandomStreams(5, engine=engine)
    u = streams.uniform((3,))
    ((state, after),) = streams.updates()
    assert streams.state_updates == [(state, after)] and u.rng is state
    f = function([], u, updates=streams.updates())
    first = np.asarray(f())
    streams.seed()
    np.testing.assert_array_equal(f(), first)
    value = streams[state]
    second = np.asarray(f())
    streams[state] = value
    if engine == "numpy":
        np.testing.assert_array_equal(f(), second)


@pytest.mark.parametrize("engine", ["philox", "numpy"])
def test_gen_takes_functions_of_a_state(context, engine):
    streams = RandomStreams(5, engine=engine)
    same = RandomStreams(5, engine=engine)
    a = streams.gen(T.raw_random.normal, (4,), 1.0, 2.0)
    b = same.normal((4,), 1.0, 2.0)
    np.testing.assert_array_equal(function([], a)(), function([], b)())


def test_raw_random_moves_a_state_that_is_given(context):
    state = T.raw_random.random_state_type("state")
    after, drawn = T.raw_random.uniform(state, (3,))
    later, more = T.raw_random.normal(after, (2,))
    f = function([state], [drawn, more, later])
    rng = np.random.RandomState(4)
    found = values(f, packed(rng))
    np.testing.assert_array_equal(found[0], rng.uniform(size=3))
    np.testing.assert_array_equal(found[1], rng.normal(size=2))
    assert unpacked(found[2]).uniform() == rng.uniform()


def test_states_are_given_as_generators_of_numpy(context):
    state = T.raw_random.random_state_type("state")
    after, drawn = T.raw_random.uniform(state, (3,), dtype="float64")
    rng = np.random.RandomState(4)
    later, found = values(function([state], [after, drawn]), np.random.RandomState(4))
    np.testing.assert_array_equal(found, rng.uniform(size=3))
    assert T.raw_random.as_random_state(later).uniform() == rng.uniform()
    begun = In(state, value=np.random.RandomState(4), update=after, mutable=True)
    f, rng = function([begun], drawn), np.random.RandomState(4)
    for _ in range(2):
        np.testing.assert_array_equal(f(), rng.uniform(size=3))
    with pytest.raises(TypeError, match=r"state.*RandomStateType"):
        function([state], drawn)(7)


def test_vectors_by_both_engines(context):
    rng = np.random.RandomState(np.random.RandomState(5).randint(2**30))
    found = function([], RandomStreams(5, "numpy").dirichlet((2,), [1.0, 2.0]))()
    np.testing.assert_allclose(found, rng.dirichlet([1.0, 2.0], 2), rtol=1e-6)
    for engine in ("philox", "numpy"):
        draw = RandomStreams(5, engine).multivariate_normal((50,), [0.0, 90.0])
        found = np.asarray(function([], draw)())
        assert found.shape == (50, 2) and abs(found[:, 0].mean()) < 1
        assert abs(found[:, 1].mean() - 90) < 1


@pytest.mark.parametrize("engine", ["philox", "numpy"])
def test_parameters_broadcast(context, engine):
    avg = T.dcol("avg")
    streams = RandomStreams(5, engine=engine)
    f = function([avg], streams.normal(avg=avg, std=np.array([0.0, 1e-9])))
    found = np.asarray(f([[1.0], [5.0]]))
    np.testing.assert_allclose(found, [[1, 1], [5, 5]], atol=1e-6)


@pytest.mark.parametrize("engine", ["philox", "numpy"])
def test_draws_in_loops(context, engine):
    streams = RandomStreams(5, engine=engine)
    rows, updates = scan(lambda: streams.uniform((3,)), n_steps=4)
    f = function([], rows, updates=updates)
    found = np.concatenate([np.asarray(f()), np.asarray(f())])
    g = function([], RandomStreams(5, engine=engine).uniform((3,)))
    np.testing.assert_array_equal(found, np.stack([np.asarray(g()) for _ in range(8)]))


@pytest.mark.parametrize("engine", ["philox", "numpy"])
def test_pickles_and_files_go_on(context, engine, tmp_path):
    streams = RandomStreams(5, engine=engine)
    f = function([], streams.uniform((3,)))
    f()
    copied = pickle.loads(pickle.dumps(f))
    second = np.asarray(f())
    np.testing.assert_array_equal(copied(), second)
    g = function([], RandomStreams(5, engine=engine).uniform((3,)))
    is_host = engine == "numpy"  # which Python draws
    told = pytest.warns(UserWarning, match="computed in Python")
    with told if is_host else nullcontext():
        g.save(tmp_path / "draw.ga")
    g()
    loaded = load(tmp_path / "draw.ga", context, trusted=is_host)
    loaded()
    np.testing.assert_array_equal(loaded(), g())


def test_a_profile_names_what_the_host_draws(context):
    f = function([], RandomStreams(5, engine="numpy").uniform((3,)), profile=True)
    f()
    assert "RandomFunction" in str(f.plan)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: RandomStreams(1, engine="mt"), ValueError, "engine is 'mt'"),
        (lambda: RandomStreams(-1), ValueError, "seed -1"),
        (lambda: RandomStreams(-1, engine="numpy"), ValueError, "seed is -1"),
        (lambda: RandomStreams(1).normal((2,), 0.0, -1.0), ValueError, "scale is -1"),
        (lambda: RandomStreams(1).uniform(2.5), TypeError, "size is 2.5"),
        (lambda: RandomStreams(1).multinomial(pvals=[0.5, 0.4]), ValueError, "add to"),
    ],
)
def test_wrong_arguments_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_draw_of_numpys_has_no_gradient():
    streams = RandomStreams(5, engine="numpy")
    x = T.dscalar("x")
    with pytest.raises(NotImplementedError, match="draw of NumPy's has no gradient"):
        T.grad(streams.normal((3,), avg=x).sum(), x)


def test_a_state_of_another_length_is_refused(context):
    u = RandomStreams(5, engine="numpy").uniform((3,))
    f = function([], u)
    u.rng.set_value(np.zeros(5, "uint32"))
    with pytest.raises(ValueError, match="the state has shape"):
        f()


def test_shared_values_beside_draws(context):
    w = shared(np.zeros(3))
    streams = RandomStreams(5, engine="numpy")
    noise = streams.normal((3,))
    f = function([], noise, updates=[(w, w + noise)])
    first = np.asarray(f())
    np.testing.assert_array_equal(w.get_value(), first)
