"""Theano's MRG_RandomStreams: its numbers, seeds, streams and distributions."""

import pickle
from functools import cache

import numpy as np
import pytest
from gpuarray.compiler import config, function, load, scan, shared, tensor as T
from gpuarray.compiler.sandbox import rng_mrg
from gpuarray.compiler.sandbox.rng_mrg import (
    M1,
    M2,
    MRG_RandomStreams,
    ff_2p72,
    ff_2p134,
    guess_n_streams,
)

SCALES = {"float32": np.float32(4.6566126e-10), "float64": np.float64(2.0**-31)}
A1 = ((0, 2**22, 2**7 + 1), (1, 0, 0), (0, 1, 0))
A2 = ((2**15, 0, 2**15 + 1), (1, 0, 0), (0, 1, 0))


def next_state(state):
    """One step of the recurrences, by whole numbers of Python."""
    parts = zip((A1, A2), (M1, M2), (state[:3], state[3:]), strict=True)
    return [
        sum(a * x for a, x in zip(row, part, strict=True)) % modulus
        for matrix, modulus, part in parts
        for row in matrix
    ]


@cache
def powered(matrix, modulus, exponent):
    """The matrix to the power 2**exponent."""
    for _ in range(exponent):
        columns = list(zip(*matrix, strict=True))
        matrix = tuple(
            tuple(
                sum(a * b for a, b in zip(row, column, strict=True)) % modulus
                for column in columns
            )
            for row in matrix
        )
    return matrix


def jumped(state, exponent):
    parts = zip((A1, A2), (M1, M2), (state[:3], state[3:]), strict=True)
    return [
        sum(a * int(x) for a, x in zip(row, part, strict=True)) % modulus
        for matrix, modulus, part in parts
        for row in powered(matrix, modulus, exponent)
    ]


class Judge:
    """MRG31k3p by whole numbers of Python: streams that elements take in turn."""

    def __init__(self, seed, count):
        states = [[seed] * 6]
        while len(states) < count:
            states.append(jumped(states[-1], 72))
        self.states = states

    def draw(self, n):
        numbers = []
        for i in range(n):
            k = i % len(self.states)
            state = self.states[k] = next_state(self.states[k])
            difference = state[0] - state[3]
            numbers.append(difference if difference > 0 else difference + M1)
        return np.array(numbers)


def drawn(context, build, calls=1, **settings):
    with config.use(device=context.name, floatX="float64", **settings):
        f = function([], build())
    return [np.asarray(f()) for _ in range(calls)]


# ---- the generator ----


def test_numbers_are_theanos(context):
    first, _ = drawn(context, lambda: MRG_RandomStreams(234).uniform((2, 3)), 2)
    known = [[0.44990408, 0.30624682, 0.78983548], [0.82554427, 0.5741267, 0.09810355]]
    np.testing.assert_allclose(first, known, atol=5e-9)


def test_numbers_are_lecuyers():
    judge = Judge(12345, 1)
    first = judge.draw(2) * 2.0**-31
    assert first.tolist() == [0.7353244530968368, 0.6142074400559068]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_streams_and_substreams_are_those_of_the_recurrences(context, dtype):
    # 12 streams of 7 substreams each, of which 5 numbers.
    streams = MRG_RandomStreams(12345)
    state = [12345] * 6
    with config.use(device=context.name):
        for _ in range(12):
            draw = streams.uniform((35,), dtype=dtype, nstreams=7)
            judge = Judge(0, 7)
            judge.states = [state]
            while len(judge.states) < 7:
                judge.states.append(jumped(judge.states[-1], 72))
            assert draw.rstate.get_value().tolist() == judge.states
            numbers = judge.draw(35)
            if dtype == "float16":
                scaled = ((numbers & 0x7FFF) + 1).astype("f") * np.float32(3.0458e-05)
            else:
                scaled = numbers.astype(dtype) * SCALES[dtype]
            found = np.asarray(function([], draw)())
            assert found.dtype == dtype
            assert found.tolist() == scaled.astype(dtype).tolist()
            assert draw.rstate.get_value().tolist() == judge.states
            state = jumped(state, 134)


def test_jumps_are_powers_of_the_recurrences():
    state = [1, 2, 3, 4, 5, 6]
    assert ff_2p72(np.array(state)).tolist() == jumped(state, 72)
    assert ff_2p134(np.array(state)).tolist() == jumped(state, 134)
    assert ff_2p72(np.array(state)).dtype == "int32"


@pytest.mark.parametrize(
    ("size", "count"),
    [
        ((2, 3), 6),
        ((7,), 1),
        ((100, 60), 1000),
        ((10**6,), 60 * 256),
        (T.lvector("size"), 60 * 256),
        ((0,), 1),
    ],
)
def test_the_size_says_how_many_streams(size, count):
    assert guess_n_streams(size) == count
    assert MRG_RandomStreams().n_streams(size) == count


def test_numbers_depend_on_the_number_of_streams_alone(context):
    one = drawn(context, lambda: MRG_RandomStreams(5).uniform((6, 4), nstreams=4))[0]
    other = drawn(context, lambda: MRG_RandomStreams(5).uniform((2, 12), nstreams=4))[0]
    assert one.ravel().tolist() == other.ravel().tolist()
    assert (one.ravel() * 2**31).tolist() == Judge(5, 4).draw(24).tolist()


@pytest.mark.parametrize("n", [2048, 3079])
def test_pieces_of_a_stream_follow_one_another(context, n):
    """Items jump to the pieces of long streams: two draws are as they were one."""
    streams = MRG_RandomStreams(11)
    with config.use(device=context.name):
        f = function([], streams.uniform((n,), dtype="float64", nstreams=2))
    judge = Judge(11, 2)
    for _ in range(2):
        expected = judge.draw(n) * SCALES["float64"]
        np.testing.assert_array_equal(np.asarray(f()), expected)


def test_unit_numbers_are_not_read_again():
    streams = MRG_RandomStreams(5)
    for draw in (
        streams.uniform((6,)),
        streams.uniform((6,), 0.0, 1.0, dtype="float64"),
    ):
        plan = str(function([], draw).plan)
        assert "mrg_uniform" in plan and "launch" not in plan
    assert "launch" in str(function([], streams.uniform((6,), -1.0, 1.0)).plan)


def test_states_that_more_streams_have_than_elements_stay(context):
    with config.use(device=context.name):
        draw = MRG_RandomStreams(5).uniform((3,), nstreams=5)
        before = draw.rstate.get_value()
        function([], draw)()
        after = draw.rstate.get_value()
    assert (after[3:] == before[3:]).all() and (after[:3] != before[:3]).any(1).all()


# ---- seeds and states ----


@pytest.mark.parametrize(
    ("seed", "error", "text"),
    [
        (0, ValueError, "seed is 0, expected an integer from 1 to 2147462578"),
        (M2, ValueError, f"seed is {M2}"),
        (-1, ValueError, "seed is -1"),
        (1.5, TypeError, "expected one integer or six"),
        ([1, 2, 3], TypeError, "expected one integer or six"),
        ([0, 0, 0, 1, 1, 1], ValueError, r"seed has \[0, 0, 0\].*not all of them 0"),
        ([1, 1, 1, 0, 0, 0], ValueError, r"seed has \[0, 0, 0\]"),
        ([M1, 1, 1, 1, 1, 1], ValueError, f"0 to {M1 - 1}"),
        ([1, 1, 1, 1, M2, 1], ValueError, f"0 to {M2 - 1}"),
    ],
)
def test_wrong_seeds_are_refused(seed, error, text):
    with pytest.raises(error, match=text):
        MRG_RandomStreams(seed)


def test_six_integers_are_a_state():
    seed = [1, 2, 3, 4, 5, 6]
    streams = MRG_RandomStreams(seed)
    assert streams.uniform((1,)).rstate.get_value().tolist() == [seed]
    assert streams.rstate.tolist() == jumped(seed, 134)


def test_a_stream_is_seeded_again(context):
    with config.use(device=context.name):
        streams = MRG_RandomStreams(9)
        f = function([], [streams.uniform((3,)), streams.normal((5,))])
        first = [np.asarray(value) for value in f()]
        second = [np.asarray(value) for value in f()]
        assert not any((a == b).any() for a, b in zip(first, second, strict=True))
        for seed in (None, 9):
            streams.seed(seed)
            for a, b in zip(first, f(), strict=True):
                assert_equal(a, b)
        streams.seed(10)
        assert (np.asarray(f()[0]) != first[0]).all()


def assert_equal(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_updates_are_pairs_of_states():
    streams = MRG_RandomStreams(9)
    u = streams.uniform((3,))
    ((state, after, size, nstreams),) = streams.updates()
    assert (state, after) == u.update and state is u.rstate
    assert size == (3,) and nstreams is None
    assert state.default_update is after


def test_a_draw_repeats_without_its_update(context):
    with config.use(device=context.name):
        u = MRG_RandomStreams(9).uniform((3,))
        f = function([], u, no_default_updates=True)
        assert_equal(f(), f())
        g = function([], [u, u + 1])
        a, b = g()
        np.testing.assert_allclose(np.asarray(b), np.asarray(a) + 1)


def test_copies_and_saved_functions_go_on(context, tmp_path):
    with config.use(device=context.name):
        streams = MRG_RandomStreams(9)
        x = T.fvector("x")
        u = streams.uniform(x.shape, dtype="float32", nstreams=8)
        f = function([x], u + x)
        given = np.zeros(20, "f")
        first = np.asarray(f(given))
        copied = pickle.loads(pickle.dumps(f))
        f.save(tmp_path / "draw.ga")
        loaded = load(tmp_path / "draw.ga", context)
        second = np.asarray(f(given))
        assert (first != second).all()
        assert_equal(copied(given), second)
        assert_equal(loaded(given), second)


def test_draws_in_a_loop_are_new_in_each_iteration(context):
    with config.use(device=context.name, floatX="float64"):
        streams = MRG_RandomStreams(9)
        rows, updates = scan(lambda: streams.uniform((4,), nstreams=4), n_steps=5)
        f = function([], rows, updates=updates)
        found = np.concatenate([np.asarray(f()), np.asarray(f())])
    expected = Judge(9, 4).draw(40).reshape(10, 4) * 2.0**-31
    assert found.tolist() == expected.tolist()


# ---- distributions ----


def test_uniform_numbers_are_within_their_bounds(context):
    low, high = -3.0, 5.0
    (u,) = drawn(context, lambda: MRG_RandomStreams(1).uniform((10000,), low, high))
    assert low < u.min() < low + 0.1 and high - 0.1 < u.max() < high
    bounds = np.array([[0.0], [10.0]])
    (u,) = drawn(
        context,
        lambda: MRG_RandomStreams(1).uniform((2, 1000), bounds, bounds + 1),
    )
    assert (u[0] < 1).all() and (u[1] > 10).all() and u[1].max() < 11


def test_normal_numbers_are_those_of_box_and_muller(context):
    n = 1001
    (found,) = drawn(context, lambda: MRG_RandomStreams(3).normal((n,), 2.0, 3.0))
    unit = Judge(3, guess_n_streams((n + 1,))).draw(n + 1) * 2.0**-31
    u1, u2 = unit[: (n + 1) // 2], unit[(n + 1) // 2 :]
    radius = np.sqrt(-2 * np.log(u1))
    expected = np.concatenate(
        [radius * np.cos(2 * np.pi * u2), radius * np.sin(2 * np.pi * u2)]
    )
    np.testing.assert_allclose(found, expected[:n] * 3 + 2, rtol=1e-12, atol=1e-12)


def test_truncated_normal_numbers_are_within_two_deviations(context):
    def build():
        streams = MRG_RandomStreams(3)
        return T.stack(
            [
                streams.normal((20001,), 1.0, 2.0, truncate=True),
                streams.truncated_normal((20001,), 1.0, 2.0),
            ]
        )

    ((cut, wide),) = drawn(context, build)
    assert abs(cut - 1).max() <= 4 and abs(wide - 1).max() <= 4 / 0.8796
    assert abs(cut.mean() - 1) < 0.05 and abs(cut.std() - 2 * 0.8796) < 0.05
    assert abs(wide.mean() - 1) < 0.05 and abs(wide.std() - 2) < 0.05


def test_binomial_numbers_are_comparisons(context):
    def build():
        streams = MRG_RandomStreams(3)
        return streams.binomial((500,), p=0.3)

    (found,) = drawn(context, build)
    unit = Judge(3, guess_n_streams((500,))).draw(500) * 2.0**-31
    assert found.dtype == "int64" and (found == (unit < 0.3)).all()


def rows_of(p, draws, seed=3):
    unit = Judge(seed, 60 * 256).draw(len(p) * draws) * 2.0**-31
    return unit.reshape(draws, len(p))


def test_multinomial_counts_are_where_running_sums_pass(context):
    p = np.array([[0.2, 0.0, 0.8], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    draws = 40
    (found,) = drawn(
        context, lambda: MRG_RandomStreams(3).multinomial(n=draws, pvals=p)
    )
    expected = np.zeros(p.shape, "int64")
    for row in rows_of(p, draws):
        for r, u in enumerate(row):
            expected[r, np.argmax(np.cumsum(p[r]) > u)] += 1
    assert found.dtype == "int64" and found.tolist() == expected.tolist()


def test_choices_come_once(context):
    p = np.array([[0.2, 0.1, 0.7], [0.5, 0.25, 0.25]])

    def build():
        return MRG_RandomStreams(3).choice(size=2, replace=False, p=p)

    (found,) = drawn(context, build)
    left = p.copy()
    for k, row in enumerate(rows_of(p, 2)):
        for r, u in enumerate(row):
            at = np.argmax(np.cumsum(left[r]) > u)
            assert found[r, k] == at
            left[r, at] = 0
            left[r] /= left[r].sum()

    def former():
        return MRG_RandomStreams(3).multinomial_wo_replacement(n=2, pvals=p)

    (same,) = drawn(context, former)
    assert same.tolist() == found.tolist()


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode"])
def test_kernels_agree_with_their_references(context, mode):
    p = np.array([[0.2, 0.1, 0.7], [0.5, 0.25, 0.25]])
    with config.use(device=context.name, floatX="float64"):
        streams = MRG_RandomStreams(3)
        outputs = [
            streams.uniform((7, 3)),
            streams.multinomial(n=5, pvals=p),
            streams.choice(size=2, replace=False, p=p),
        ]
        f = function([], outputs, mode=mode)
        for value, shape in zip(f(), [(7, 3), (2, 3), (2, 2)], strict=True):
            assert np.asarray(value).shape == shape


def test_a_size_may_be_an_array_of_the_host():
    streams = MRG_RandomStreams(3)
    for size in (np.array(3), np.array([3]), np.int8(3)):
        assert streams.uniform(size).type.ndim == 1
    assert streams.normal(np.array([3, 2])).type.ndim == 2
    with pytest.raises(TypeError, match=r"size is .*2\.5.*expected a tuple"):
        streams.uniform(np.array([2.5]))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda s: s.uniform((3, 0)),
            ValueError,
            r"size is \(3, 0\), expected lengths",
        ),
        (lambda s: s.uniform((2.5,)), TypeError, "expected a tuple of integers"),
        (lambda s: s.uniform((T.fscalar("n"),)), TypeError, "expected integers"),
        (lambda s: s.uniform((2,), nstreams=0), ValueError, "nstreams is 0"),
        (lambda s: s.uniform((2,), dtype="int32"), TypeError, "dtype is int32"),
        (lambda s: s.uniform((2,), 1j), TypeError, "low is"),
        (lambda s: s.uniform((), T.fvector("v")), NotImplementedError, "broadcast to"),
        (lambda s: s.normal((2,), 0.0, -1.0), ValueError, "std is -1"),
        (lambda s: s.binomial((2,), n=2), NotImplementedError, "n is 2"),
        (lambda s: s.multinomial((2,), pvals=[[1.0]]), ValueError, "size is"),
        (lambda s: s.multinomial(), TypeError, "pvals is missing"),
        (lambda s: s.multinomial(pvals=[1.0]), NotImplementedError, "a matrix"),
        (lambda s: s.multinomial(n=0, pvals=[[1.0]]), ValueError, "0 draws"),
        (lambda s: s.choice(p=[[1.0]]), NotImplementedError, "replace=False"),
        (lambda s: s.choice(a=2, replace=False, p=[[1.0]]), TypeError, "a is 2"),
        (lambda s: s.choice(replace=False), TypeError, "p is missing"),
    ],
)
def test_wrong_arguments_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(MRG_RandomStreams(1))


def test_a_gradient_flows_to_bounds_and_not_to_probabilities(context):
    with config.use(device=context.name, floatX="float64"):
        low, high = T.dscalars("low", "high")
        streams = MRG_RandomStreams(1)
        u = streams.uniform((5,), low, high)
        f = function([low, high], [u, *T.grad(u.sum(), [low, high])])
        numbers, by_low, by_high = map(np.asarray, f(1.0, 3.0))
        share = (numbers - 1) / 2
        np.testing.assert_allclose([by_low, by_high], [(1 - share).sum(), share.sum()])
        p = T.dscalar("p")
        drawn = streams.binomial((5,), p=p, dtype="float64")
        with pytest.raises(TypeError, match="binomial has no gradient by its prob"):
            T.grad(drawn.sum(), p)


def test_a_size_may_be_known_only_in_the_run(context):
    with config.use(device=context.name, floatX="float64"):
        n, size = T.lscalar("n"), T.lvector("size")
        streams = MRG_RandomStreams(2)
        outputs = [
            streams.uniform((n, 3), nstreams=4),
            streams.uniform(size, ndim=2, nstreams=4),
            streams.normal((n,), nstreams=4),
        ]
        f = function([n, size], outputs)
        for k in (1, 4):
            shapes = [np.asarray(value).shape for value in f(k, [2, k])]
            assert shapes == [(k, 3), (2, k), (k,)]


def test_the_target_says_where_states_are(context):
    with config.use(device=context.name):
        u = MRG_RandomStreams(2).uniform((3,), target=context.name)
        function([], u)()
        assert u.rstate.container.context_name == context.name
        assert shared(np.zeros(1)).container.context_name is None


def test_the_op_is_found_by_its_name():
    assert pickle.loads(pickle.dumps(rng_mrg.mrg_uniform)) is rng_mrg.mrg_uniform
