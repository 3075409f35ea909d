"""Distributions of random generators: their laws, the same bits everywhere, arrays."""

import json
import zlib

import gpuarray
import numpy as np
import pytest
from gpuarray._random.table import DISTRIBUTIONS, count, device_code, real_dtype
from gpuarray.random import Generator, default_rng
from judge import assert_same
from laws import CONTINUOUS, DISCRETE
from scipy import stats

N = 1_000_000

PARAMETERS = {name: given for name, given, _ in reversed(CONTINUOUS + DISCRETE)}


def draw(rng, name, given, size=None, dtype=None, out=None):
    """A draw from a row of the table, also of one that has no method of its name."""
    dtype = dtype or ("float64" if DISTRIBUTIONS[name].kind == "f" else "int64")
    return rng._draw(name, given, size, dtype, out)


def rng(context):
    return Generator(7, context, stream=3)


def dtypes_of(name):
    return ("float32", "float64") if DISTRIBUTIONS[name].kind == "f" else ("i4", "i8")


# ---- laws; seeds are fixed, so that these pass or fail for good ----


@pytest.mark.parametrize(("name", "given", "law"), CONTINUOUS)
def test_floats_have_their_law(context, name, given, law):
    """Kolmogorov and Smirnov's distance, of which 2.3 / sqrt(n) has p = 5e-5.

    Of every 16th number: between two of them, as a law and its steps only rise, it is
    larger by at most the steps between, which the limit is lower by.
    """
    between = 16
    at = np.append(np.arange(0, N, between), N - 1)
    for dtype in dtypes_of(name):
        sample = np.sort(draw(Generator(11, context), name, given, N, dtype).get())
        away = np.abs(law.cdf(sample[at].astype(np.float64)) - (at + 1) / N).max()
        away += between / N
        assert away < 2.3 / np.sqrt(N), (dtype, away * np.sqrt(N))


@pytest.mark.optimized
@pytest.mark.parametrize(("name", "given", "law"), DISCRETE)
def test_integers_have_their_law(context, name, given, law):
    low, high = int(law.ppf(1e-4)), int(law.ppf(1 - 1e-4))
    edges = np.arange(low, high + 1, max((high - low) // 60, 1))
    share = np.diff(np.concatenate([[0], law.cdf(edges), [1]]))
    bins = np.concatenate([[-np.inf], edges + 0.5, [np.inf]])
    usual = share * N > 5
    for dtype in dtypes_of(name):
        sample = draw(Generator(11, context), name, given, N, dtype).get()
        assert sample.dtype == dtype
        counts = np.histogram(sample, bins)[0]
        got = np.append(counts[usual], counts[~usual].sum())
        wanted = np.append(share[usual], share[~usual].sum()) * N
        known = wanted > 1e-6
        assert not got[~known].any()
        square = ((got - wanted)[known] ** 2 / wanted[known]).sum()
        assert stats.chi2(max(known.sum() - 1, 1)).sf(square) > 5e-5, dtype


def test_moments_beyond_the_reach_of_a_histogram(context):
    """Means and deviations where the numbers are large or rare."""
    generator = Generator(12, context)
    for name, given, mean, deviation in (
        ("binomial", (10**12, 1e-11), 10, 10**0.5),
        ("binomial", (10**15, 0.25), 2.5e14, (1.875e14) ** 0.5),
        ("poisson", (1e14,), 1e14, 1e7),
        ("geometric", (1e-9,), 1e9, 1e9),
        ("gamma", (1e12, 2.0), 2e12, 2e6),
        ("hypergeometric", (10**9, 10**9, 10**8), 5e7, (2.5e7 * 0.95) ** 0.5),
    ):
        sample = draw(generator, name, given, 100_000, "float64").get()
        assert abs(sample.mean() - mean) < 5 * deviation / 100_000**0.5, name
        assert abs(sample.std() / deviation - 1) < 0.03, name


# ---- the same bits everywhere ----

NUMBERS = {
    "bernoulli": ("e8869fa8", "23c9af6d"),
    "beta": ("b248b191", "034df809"),
    "binomial": ("d65fe3c3", "f187e076"),
    "cauchy": ("a7d85b6d", "37450377"),
    "chisquare": ("e6eac163", "2dc55cb1"),
    "f": ("a3ca4771", "16448ddb"),
    "gamma": ("2ccfcd8d", "74d287af"),
    "geometric": ("bd3a0275", "5d237033"),
    "gumbel": ("0adeda62", "19ed7958"),
    "hypergeometric": ("7f843236", "e8d6323c"),
    "laplace": ("ab4fcae0", "903925ca"),
    "loggamma": ("42836cae", "c47f183d"),
    "logistic": ("e205b240", "49507d12"),
    "logseries": ("a4d1d1c1", "dae78aed"),
    "negative_binomial": ("17dd40ac", "616d926c"),
    "noncentral_chisquare": ("4c5976ca", "819ef470"),
    "pareto": ("c1086996", "8886e58d"),
    "poisson": ("3f0dbc15", "1cd8ed36"),
    "power": ("477c96da", "1ee73ad2"),
    "rayleigh": ("6c161d7d", "5da065a2"),
    "standard_t": ("0f726db0", "fbad4f1a"),
    "triangular": ("356debd2", "56fd4cc9"),
    "truncated_normal": ("23cbb121", "16c5985a"),
    "uniform": ("e4e2f6a9", "ebe991dc"),
    "vonmises": ("e62aa34b", "78deaf76"),
    "wald": ("b7c530b3", "74fd5973"),
    "weibull": ("02190989", "4e82ed8f"),
    "zipf": ("13a74403", "1e0886c8"),
}


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_numbers_are_the_same_bits_on_every_device(context, name):
    for dtype, wanted in zip(dtypes_of(name), NUMBERS[name], strict=True):
        got = draw(rng(context), name, PARAMETERS[name], 1000, dtype).get()
        assert f"{zlib.crc32(got.tobytes()):08x}" == wanted, dtype


def test_every_row_is_tested():
    assert set(PARAMETERS) == set(DISTRIBUTIONS)
    near = {"normal", "lognormal", "exponential"}  # to the logarithm's rounding
    assert set(NUMBERS) | near == set(DISTRIBUTIONS)


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_parameters_in_arrays_give_the_numbers_of_scalars(context, name):
    given, shapes = PARAMETERS[name], [(5,), (3, 1), (1, 1), (5,)]
    for dtype in dtypes_of(name):
        full = [
            gpuarray.asarray(np.full(shape, value, real_dtype(dtype)), context=context)
            for shape, value in zip(shapes, given, strict=False)
        ]
        generator = rng(context)
        got = draw(generator, name, full, (3, 5), dtype)
        assert generator.state == (7, 3, count(name, dtype, 15))
        wanted = draw(rng(context), name, given, (3, 5), dtype).get()
        assert_same(got, wanted, exact=True)


@pytest.mark.parametrize("name", ["normal", "laplace", "gamma", "poisson"])
def test_an_element_is_told_by_its_index_and_parameter(context, name):
    """The element with the i-th parameter is the i-th of a draw with that alone."""
    first = [0.5, 3.0, 20.0, 150.0]
    for dtype in dtypes_of(name):
        others = PARAMETERS[name][1:]
        wanted = [
            draw(rng(context), name, (value, *others), 4, dtype).get()[i]
            for i, value in enumerate(first)
        ]
        assert (
            draw(rng(context), name, (first, *others), None, dtype).tolist() == wanted
        )


@pytest.mark.parametrize("name", ["uniform", "normal", "gumbel", "gamma", "binomial"])
def test_layouts_of_results_and_parameters_do_not_change_numbers(context, name):
    given = PARAMETERS[name]
    for dtype in dtypes_of(name):
        host = np.full((4, 3, 6), given[-1], real_dtype(dtype))
        wanted = draw(rng(context), name, given, (4, 3, 6), dtype).get()
        for base, view in (
            ((8, 3, 12), lambda a: a[::2, :, ::-2]),
            ((6, 3, 4), lambda a: a.T),
            ((4, 3, 7), lambda a: a[..., 1:]),
        ):
            out = view(gpuarray.zeros(base, dtype, context))
            last = view(gpuarray.zeros(base, host.dtype, context))
            last[...] = host
            for parameters in (given, (*given[:-1], last)):
                out[...] = 0
                assert draw(rng(context), name, parameters, None, dtype, out) is out
                assert_same(out, wanted, exact=True)


def test_results_of_other_dtypes_are_those_of_the_computation(context):
    for name in ("gumbel", "beta", "truncated_normal"):
        single = draw(rng(context), name, PARAMETERS[name], 999, "float32").get()
        for dtype in ("float16", "bfloat16"):
            got = draw(rng(context), name, PARAMETERS[name], 999, dtype)
            assert_same(got, single.astype(got.dtype), exact=True)
    for name in ("poisson", "geometric", "binomial"):
        given = PARAMETERS[name]
        single = draw(rng(context), name, given, 999, "int32").get()
        double = draw(rng(context), name, given, 999, "int64").get()
        for dtype in ("int16", "uint32", "float32", "float16"):
            got = draw(rng(context), name, given, 999, dtype).get()
            np.testing.assert_array_equal(got, single.astype(dtype))
        for dtype in ("uint64", "float64"):
            got = draw(rng(context), name, given, 999, dtype).get()
            np.testing.assert_array_equal(got, double.astype(dtype))
    half = rng(context).uniform([0, -3], [1, -1], (50_000, 2), "float16").get()
    assert half.max(0).tolist() < [1, -1] and half.min() >= -3


def test_integers_that_do_not_fit_become_the_greatest(context):
    assert rng(context).poisson(1e6, 3, "uint8").tolist() == [255] * 3
    assert rng(context).poisson(1e6, 3, "int16").tolist() == [32767] * 3
    assert rng(context).geometric(1e-300, 2).tolist() == [2**63 - 1] * 2


def test_empty_and_0d_draws(context):
    generator = rng(context)
    for name, given in PARAMETERS.items():
        assert draw(generator, name, given, (0, 3)).shape == (0, 3)
    assert generator.state == (7, 3, 0)
    assert generator.gamma([], 1.0).shape == (0,)
    assert generator.gamma(2.0).shape == ()
    zero = gpuarray.asarray(np.float64(2.0), context=context)
    assert generator.gamma(zero).shape == ()


# ---- vectors ----


def test_multinomial_counts(context):
    p = np.array([0.2, 0.0, 0.3, 0.5])
    got = rng(context).multinomial(20, p, 50_000).get()
    assert (got.sum(1) == 20).all() and not got[:, 1].any() and got.min() >= 0
    np.testing.assert_allclose(got.mean(0), 20 * p, atol=0.05)
    wanted = 20 * (np.diag(p) - np.outer(p, p))
    np.testing.assert_allclose(np.cov(got.T), wanted, atol=0.15)
    made = rng(context).multinomial([10, 0], [[0.5, 0.5], [1, 0]], (3, 2))
    assert made.shape == (3, 2, 2) and made.dtype == np.int64
    assert made.get().sum(-1).tolist() == [[10, 0]] * 3
    assert rng(context).multinomial(5, [1.0]).tolist() == [5]
    assert rng(context).multinomial(5, [0.1, 0.9], 0).shape == (0, 2)


def test_multivariate_hypergeometric_counts(context):
    got = rng(context).multivariate_hypergeometric([30, 0, 50, 80], 40, 50_000).get()
    assert (got.sum(1) == 40).all() and not got[:, 1].any()
    law = stats.multivariate_hypergeom([30, 0, 50, 80], 40)
    np.testing.assert_allclose(got.mean(0), law.mean(), atol=0.1)
    np.testing.assert_allclose(np.cov(got.T), law.cov(), atol=0.3)


def test_dirichlet_shares(context):
    alpha = np.array([0.5, 2.0, 4.0])
    got = rng(context).dirichlet(alpha, 50_000).get()
    np.testing.assert_allclose(got.sum(1), 1, rtol=1e-12)
    law = stats.dirichlet(alpha)
    np.testing.assert_allclose(got.mean(0), law.mean(), atol=0.01)
    np.testing.assert_allclose(np.cov(got.T), law.cov(), atol=0.003)
    tiny = rng(context).dirichlet([1e-4] * 3, 3000).get()
    assert np.isfinite(tiny).all()
    np.testing.assert_allclose(tiny.mean(0), 1 / 3, atol=0.05)
    assert rng(context).dirichlet([1.0, 1.0], (2, 3), "float32").dtype == np.float32


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal_vectors(context, method):
    mean, cov = [1.0, -2.0], [[2.0, 0.6], [0.6, 1.0]]
    got = rng(context).multivariate_normal(mean, cov, 100_000, method=method).get()
    np.testing.assert_allclose(got.mean(0), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(got.T), cov, atol=0.03)
    device = gpuarray.asarray(cov, context=context)
    again = rng(context).multivariate_normal(mean, device, 100_000, method=method)
    assert_same(again, got, exact=True)


def test_wrong_vectors(context):
    generator = rng(context)
    for said, call in (
        ("add up to 1.1", lambda: generator.multinomial(5, [0.5, 0.6])),
        ("pvals -0.2", lambda: generator.multinomial(5, [-0.2, 1.2])),
        ("n -1", lambda: generator.multinomial(-1, [1.0])),
        ("broadcast", lambda: generator.multinomial([1, 2], [1.0], 3)),
        ("each outcome", lambda: generator.multinomial(1, [])),
        ("above 0", lambda: generator.dirichlet([1, 0])),
        ("above 0", lambda: generator.dirichlet(1.0)),
        (
            "nsample 9 is above",
            lambda: generator.multivariate_hypergeometric([3, 5], 9),
        ),
        ("expected .n,. and .n, n", lambda: generator.multivariate_normal([0], [1])),
        (
            "semidefinite",
            lambda: generator.multivariate_normal(
                [0, 0], [[1, 2], [2, 1]], check_valid="raise"
            ),
        ),
        ("svd, eigh", lambda: generator.multivariate_normal([0], [[1]], method="lu")),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.warns(RuntimeWarning, match="semidefinite"):
        generator.multivariate_normal([0, 0], [[1, 2], [2, 1]])


def test_permuted_lines(context):
    host = np.arange(60).reshape(3, 20)
    x = gpuarray.asarray(host, context=context)
    got = rng(context).permuted(x, axis=1).get()
    np.testing.assert_array_equal(np.sort(got, 1), host)
    moves = got - host[:, :1]
    assert not (moves[0] == moves[1]).all() and not (got == host).all()
    whole = rng(context).permuted(host).get()
    assert whole.shape == host.shape and (np.sort(whole.ravel()) == host.ravel()).all()
    assert rng(context).permuted(x, axis=0, out=x) is x
    np.testing.assert_array_equal(np.sort(x.get(), 0), host)


# ---- device code for other kernels ----


@pytest.mark.parametrize("name", ["normal", "laplace", "poisson"])
def test_device_code_gives_the_elements_of_a_draw(context, name):
    given = PARAMETERS[name]
    arguments = ", ".join(f"{float(value)}" for value in given)
    source = device_code(name, "float64") + (
        "KERNEL void mine(GLOBAL_MEM ga_double *x, ga_size n) {"
        "  for (ga_size i = LID_0; i < n; i += LDIM_0)"
        f"    x[i] = ga_draw_{name}(7, 3, 5, i, {arguments}); }}"
    )
    kernel = gpuarray.GpuKernel(
        source, "mine", [gpuarray.Array, gpuarray.SIZE], context
    )
    x = gpuarray.zeros(99, "float64", context)
    kernel(x, 99, gs=1, ls=1)
    generator = rng(context)
    generator.state = (7, 3, 5)
    assert_same(x, draw(generator, name, given, 99, "float64").get(), exact=True)


def test_texts_of_all_distributions_fit_into_one_program(context):
    texts = [device_code(name, d) for name in DISTRIBUTIONS for d in dtypes_of(name)]
    source = "".join(texts) + "KERNEL void none(ga_size n) {}"
    gpuarray.GpuKernel(source, "none", [gpuarray.SIZE], context)(1, gs=1, ls=1)
    context.sync()


def test_draws_share_no_counts(context):
    """A draw of n elements, then one of m, are the first of n + m, if aligned."""
    for name, given in PARAMETERS.items():
        generator = rng(context)
        parts = [draw(generator, name, given, 8).get() for _ in range(2)]
        whole = draw(rng(context), name, given, 16).get()
        np.testing.assert_array_equal(np.concatenate(parts), whole)


# ---- programs ----


def test_a_gibbs_sampler_finds_the_parameters_of_normal_numbers(context):
    """Mean and precision of data, drawn in turn by normal and gamma numbers."""
    generator = rng(context)
    data = generator.normal(3.0, 2.0, 2000).get()
    n, mean = data.size, data.mean()
    mu, kept = generator.normal(size=400), []
    for _ in range(20):
        square = ((data - mean) ** 2).sum() + n * (mu - mean) ** 2
        precision = generator.gamma(n / 2 + 1, 2 / square)
        mu = generator.normal(mean, 1 / gpuarray.sqrt(n * precision))
        kept.append((mu.get().mean(), (1 / gpuarray.sqrt(precision)).get().mean()))
    np.testing.assert_allclose(np.mean(kept[5:], 0), [mean, data.std()], rtol=0.01)


def test_thompson_sampling_finds_the_better_arm(context):
    generator, chances = rng(context), np.array([0.2, 0.5, 0.45])
    wins = gpuarray.ones((500, 3), context=context)
    losses = gpuarray.ones((500, 3), context=context)
    arms = gpuarray.arange(3, context=context)
    for _ in range(60):
        pulled = generator.beta(wins, losses).argmax(1)[:, None] == arms
        won = generator.bernoulli(chances, (500, 3)) & pulled
        wins, losses = wins + won, losses + (pulled & ~won)
    pulls = (wins + losses - 2).get().sum(0)
    assert pulls.sum() == 500 * 60 and pulls.argmax() == 1 and pulls.argmin() == 0


def test_topics_of_documents(context):
    """Words of documents from mixtures of topics: Dirichlet, then multinomial."""
    generator = rng(context)
    shares = generator.dirichlet([0.3, 0.3], 50)
    topics = generator.dirichlet(np.full(8, 0.5), 2)
    words = generator.multinomial(generator.poisson(100.0, 50), shares @ topics)
    assert words.shape == (50, 8)
    rate = words.get().sum() / 50
    assert 90 < rate < 110


def test_states_save_and_load(context):
    generator = rng(context)
    generator.gamma(2.0, size=5)
    generator.spawn(3)
    saved = json.loads(json.dumps(generator.bit_generator.state))
    wanted, child = generator.poisson(4.0, 9).get(), generator.spawn(1)[0].state
    other = Generator(0, context)
    other.bit_generator.state = saved
    assert_same(other.poisson(4.0, 9), wanted, exact=True)
    assert other.spawn(1)[0].state == child
    assert generator.jumped().state == (7, 4, generator.state[2])
    assert generator.bit_generator.jumped(2).state["state"]["stream"] == 5
    position = generator.state[2]
    generator.bit_generator.advance(-position)
    assert generator.state == (7, 3, 0)
    raw = generator.bit_generator.random_raw(4)
    assert_same(raw, rng(context).bits(4, "uint64").get(), exact=True)


def test_seeds_of_every_kind(context):
    sequence = np.random.SeedSequence([1, 2])
    first = sequence.generate_state(2, np.uint64).tolist()
    for seed in ([1, 2], (1, 2), np.array([1, 2]), sequence):
        assert default_rng(seed, context).state == (*first, 0)
    assert default_rng(np.int64(5), context).state == (5, 0, 0)
    large = np.random.SeedSequence(2**100 + 1).generate_state(2, np.uint64).tolist()
    assert default_rng(2**100 + 1, context).state == (*large, 0)
    generator = rng(context)
    assert default_rng(generator) is generator
    for error, said, seed in (
        (ValueError, "seed -1 is negative", -1),
        (ValueError, "seed has -3", [1, -3]),
        (TypeError, "seed is 'a'", "a"),
        (TypeError, "seed is 1.5", 1.5),
        (TypeError, "PCG64", np.random.default_rng(1)),
    ):
        with pytest.raises(error, match=said):
            default_rng(seed, context)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "expected a dict"),
        ({"bit_generator": "Philox4x32"}, "expected a dict"),
        ({"bit_generator": "PCG64", "state": {}}, "expected a dict"),
        (
            {
                "bit_generator": "PCG64",
                "state": {"seed": 1, "stream": 0, "position": 0},
            },
            "'PCG64', expected 'Philox4x32'",
        ),
        (
            {
                "bit_generator": "Philox4x32",
                "state": {"seed": -1, "stream": 0, "position": 0},
            },
            "state -1 is not in 0",
        ),
    ],
)
def test_states_that_are_none(context, value, said):
    generator = rng(context)
    with pytest.raises(ValueError, match=said):
        generator.bit_generator.state = value
    with pytest.raises(ValueError, match="expected seed, stream and position"):
        generator.state = 5
    assert generator.state == (7, 3, 0)


def test_the_generator_has_all_that_numpys_has():
    names = {name for name in dir(np.random.Generator) if name[0] != "_"}
    assert names <= set(dir(Generator))
