"""Random streams by Philox: their numbers, states, and where draws may stand."""

import warnings

import gpuarray
import numpy as np
import pytest
from gpuarray._native import check, ffi, lib
from gpuarray._random.table import DISTRIBUTIONS
from gpuarray.compiler import (
    function,
    tensor as T,
)
from gpuarray.compiler.ops.elemwise.draws import DRAWS, philox
from gpuarray.compiler.ops.random.positions import Positions
from gpuarray.compiler.random import RandomStreams

pytestmark = pytest.mark.usefixtures("on_it")

PARAMETERS = {
    "uniform": (-1.0, 2.0),
    "normal": (1.0, 2.1),
    "bernoulli": (0.3,),
    "triangular": (-1.0, 0.5, 2.0),
    "geometric": (0.3,),
    "binomial": (20, 0.3),
    "negative_binomial": (5, 0.4),
    "hypergeometric": (10, 15, 8),
    "zipf": (2.5,),
    "logseries": (0.5,),
    "truncated_normal": (0.1, 1.0, -1.0, 2.0),
}
INDIRECT = ("uniform", "normal", "exponential", "bernoulli")


def parameters_of(name):
    row = DISTRIBUTIONS[name]
    return PARAMETERS.get(name, (2.2,) * len(row.parameters))


def eager(context, generator, name, shape, dtype, parameters):
    """What the library draws, and moves its generator on."""
    out = gpuarray.empty(shape, dtype, context=context)
    values = ffi.new("double[]", [float(value) for value in parameters])
    check(
        lib.GpuArray_random_draw(
            out._struct, generator._state, name.encode(), len(parameters), values,
            ffi.NULL,
        )
    )  # fmt: skip
    return np.asarray(out)


def values(f, *given):
    results = f(*given)
    if isinstance(results, list):
        return [np.asarray(result) for result in results]
    return np.asarray(results)


def assert_equal(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


# ---- the same numbers ----


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_numbers_are_those_of_the_generator(context, name):
    kinds = {"f": ["float32", "float64"], "i": ["int32", "int64"], "b": ["int8"]}
    parameters = parameters_of(name)
    for dtype in kinds[DISTRIBUTIONS[name].kind]:
        draw = getattr(RandomStreams(2**63 + 5), name)(
            *parameters, size=(7, 33), dtype=dtype
        )
        f = function([], draw)
        generator = gpuarray.random.default_rng(2**63 + 5, context=context)
        for _ in range(2):
            expected = eager(context, generator, name, (7, 33), dtype, parameters)
            found = values(f)
            assert found.dtype == dtype
            assert_equal(found, expected)
        assert tuple(draw.rng.get_value()) == generator.state


def test_integers_and_permutations_are_those_of_the_generator(context):
    streams = RandomStreams(3)
    generator = gpuarray.random.default_rng(3, context=context)
    f = function([], streams.integers(-5, 17, (40,)))
    for _ in range(2):
        assert_equal(f(), generator.integers(-5, 17, (40,)))
    streams, generator = RandomStreams(3), gpuarray.random.default_rng(3, context)
    f = function([], streams.permutation(31))
    for _ in range(2):
        assert_equal(f(), generator.permutation(31))
    streams, generator = RandomStreams(3), gpuarray.random.default_rng(3, context)
    p = [0.2, 0.0, 0.5, 0.3]
    f = function([], streams.choice(4, (50,), p=np.array(p)))
    assert_equal(f(), generator.choice(4, (50,), p=p))


def test_vectors_are_those_of_the_generator(context):
    cov = [[2.0, 0.5], [0.5, 1.0]]
    streams = RandomStreams(3)
    f = function(
        [],
        [
            streams.dirichlet([0.5, 1.0, 2.0], size=(4,), dtype="float64"),
            streams.multivariate_normal([1.0, 2.0], cov, size=(3, 2), dtype="float32"),
        ],
    )
    shares, normal = values(f)
    generators = [gpuarray.random.Generator(3, context, stream=k) for k in (0, 1)]
    assert_equal(shares, generators[0].dirichlet([0.5, 1.0, 2.0], 4))
    expected = generators[1].multivariate_normal(
        [1.0, 2.0], cov, (3, 2), dtype="float32"
    )
    np.testing.assert_allclose(normal, expected, rtol=1e-6)


def test_vectors_of_variables(context):
    alpha, mean, cov = T.dmatrix("alpha"), T.dvector("mean"), T.dmatrix("cov")
    streams = RandomStreams(3)
    shares = streams.dirichlet(alpha, dtype="float64")
    normal = streams.multivariate_normal(mean, cov, size=(20000,), dtype="float64")
    f = function([alpha, mean, cov], [shares, normal])
    given = np.array([[2.0, 0.5], [0.5, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gpuarray.HostNotice)
        shares, normal = values(f, np.ones((2, 3)), np.array([1.0, -1.0]), given)
    np.testing.assert_allclose(shares.sum(1), 1)
    np.testing.assert_allclose(np.cov(normal.T), given, atol=0.08)
    np.testing.assert_allclose(normal.mean(0), [1, -1], atol=0.05)


def test_narrow_floats_stay_below_the_end(context):
    n = 1 << 16
    for dtype in ("float16", "bfloat16"):
        f = function([], RandomStreams(3).uniform(-1.0, 1.0, size=(n,), dtype=dtype))
        generator = gpuarray.random.default_rng(3, context=context)
        found = np.asarray(f())
        assert_equal(found, generator.uniform(-1.0, 1.0, n, dtype=dtype))
        assert (found.astype("f") < 1).all()


def test_integers_that_do_not_fit_become_the_greatest(context):
    f = function([], RandomStreams(3).poisson(128.0, size=(99,), dtype="int8"))
    generator = gpuarray.random.default_rng(3, context=context)
    expected = np.asarray(generator.poisson(128.0, 99, dtype="int8"))
    assert expected.max() == 127 > expected.min()
    assert_equal(f(), expected)


STORED = [
    ("uniform", (-1.0, 3.0), ["float32", "float64", "float16", "bfloat16"]),
    ("normal", (0.0, 1.0), ["float16"]),
    ("poisson", (30.0,), ["int64", "uint8", "float32"]),
    ("binomial", (100, 0.3), ["int32"]),
    ("bernoulli", (0.3,), ["bool", "int8"]),
]


@pytest.mark.parametrize(("name", "given", "dtypes"), STORED)
def test_a_draw_that_is_only_stored_has_the_generators_kernel(
    context, name, given, dtypes
):
    streams = RandomStreams(3)
    f = function([], [getattr(streams, name)(*given, (37,), d) for d in dtypes])
    listed = str(f.plan).splitlines()
    assert sum("routine" in line and f"'{name}'" in line for line in listed) == len(
        dtypes
    )
    generators = [
        gpuarray.random.Generator(3, context, stream=k) for k in range(len(dtypes))
    ]
    for _ in range(2):
        for generator, dtype, drawn in zip(generators, dtypes, values(f), strict=True):
            expected = np.asarray(getattr(generator, name)(*given, 37, dtype))
            assert drawn.dtype == expected.dtype
            assert_equal(drawn.astype("float64"), expected.astype("float64"))


def test_a_cast_that_is_the_users_draws_what_it_casts(context):
    """Draws of other dtypes have other bits."""
    streams = RandomStreams(3)
    drawn = streams.uniform(size=(40,), dtype="float64")
    count = streams.poisson(3.0, size=(40,), dtype="float32")
    f = function([], [drawn.astype("float32"), count.astype("int64")])
    wide = gpuarray.random.Generator(3, context).random(40)
    held = gpuarray.random.Generator(3, context, stream=1).poisson(3.0, 40, "float32")
    narrow, whole = values(f)
    assert_equal(narrow, np.asarray(wide).astype("float32"))
    assert_equal(whole, np.asarray(held).astype("int64"))


def test_draw_k_is_that_of_stream_k(context):
    streams = RandomStreams(7)
    f = function([], [streams.normal(size=(5,), dtype="float64") for _ in range(3)])
    for number, found in enumerate(values(f)):
        generator = gpuarray.random.Generator(7, context, stream=number)
        assert_equal(found, generator.normal(size=(5,)))


@pytest.mark.parametrize("name", INDIRECT)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numpy_agrees(context, name, dtype):
    parameters = parameters_of(name)
    draw = getattr(RandomStreams(5), name)(*parameters, size=(5, 8), dtype=dtype)
    found = values(function([], draw))
    real = "float32" if name == "bernoulli" else dtype
    expected = DRAWS[f"draw_{name}"].reference(
        np.uint64(5),
        np.uint64(0),
        np.uint64(0),
        np.arange(40, dtype="uint64").reshape(5, 8),
        *(np.array(value, real) for value in parameters),
    )
    tolerance = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, tolerance, 4 * tolerance)


def test_philox_is_the_published_one():
    ones = np.uint64(2**64 - 1)
    words = philox(ones, ones, ones)
    assert [hex(int(word)) for word in words] == [
        "0x408f276d",
        "0x41c83b0e",
        "0xa20bc7c6",
        "0x6d5451fd",
    ]


@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (3, 1), (2, 3, 4), (1, 5)])
def test_shapes_do_not_matter(context, shape):
    size = int(np.prod(shape))
    streams = RandomStreams(5)
    f = function([], [streams.normal(size=shape), streams.uniform(size=shape)])
    for number, found in enumerate(values(f)):
        assert found.shape == shape
        generator = gpuarray.random.Generator(5, context, stream=number)
        call = generator.uniform if number else generator.normal
        assert_equal(found.ravel(), call(size=size, dtype="float32"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_narrow_floats_are_rounded(context, dtype):
    draw = RandomStreams(5).normal(size=(100,), dtype=dtype)
    found = values(function([], draw))
    real = "float64" if dtype == "float64" else "float32"
    wide = values(function([], RandomStreams(5).normal(size=(100,), dtype=real)))
    assert found.dtype.name == dtype
    assert_equal(found, wide.astype(gpuarray.dtypes.as_dtype(dtype)))


# ---- layouts of what it is computed with ----


def test_layouts_do_not_change_a_draw(context):
    x = T.ftensor3("x")
    f = function([x], x * 0 + RandomStreams(5).uniform(size=x.shape))
    shape = (6, 5, 4)
    expected = values(f, np.zeros(shape, "f"))
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)):
        turned = np.zeros([shape[i] for i in order], "f")
        array = gpuarray.asarray(turned, context=context).transpose(
            *np.argsort(order).tolist()
        )
        g = function([x], x * 0 + RandomStreams(5).uniform(size=x.shape))
        assert_equal(g(array), expected)
        assert_equal(values(g, array), values(f, np.zeros(shape, "f")))
        f = function([x], x * 0 + RandomStreams(5).uniform(size=x.shape))
        f(np.zeros(shape, "f"))
    for step in (slice(None, None, -1), slice(None, None, 2)):
        wide = gpuarray.asarray(np.zeros((12, 10, 8), "f"), context=context)
        view = wide[step, step, step][:6, :5, :4]
        g = function([x], x * 0 + RandomStreams(5).uniform(size=x.shape))
        assert_equal(g(view), expected)


def test_positions_count_elements_in_c_order(context):
    n, m = T.lscalars("n", "m")
    places = Positions()((n, m))
    f = function([n, m], [T.cast(places, "int64") * 2, places.sum(0), places[1]])
    for shape in ((1, 1), (3, 5), (2, 70)):
        numbers = np.arange(np.prod(shape)).reshape(shape)
        doubled, sums, *_ = values(f, *shape) if shape[0] > 1 else (numbers * 2, None)
        assert_equal(doubled, numbers * 2)
        if sums is not None:
            assert_equal(sums, numbers.sum(0))


# ---- parameters ----


def test_parameters_broadcast(context):
    loc, scale = T.fcol("loc"), T.fvector("scale")
    streams = RandomStreams(5)
    draws = [
        streams.normal(loc, scale),
        streams.normal(loc, scale, size=(4, 3, 2), ndim=3),
    ]
    f = function([loc, scale], draws)
    given = np.array([[10.0], [-10.0], [0.0]], "f"), np.array([1.0, 0.0], "f")
    first, second = values(f, *given)
    for number, found in enumerate((first, second)):
        generator = gpuarray.random.Generator(5, context, stream=number)
        unit = generator.normal(size=found.shape, dtype="float32")
        np.testing.assert_allclose(found, np.asarray(unit) * given[1] + given[0], 1e-5)
    assert first.shape == (3, 2)


def test_parameters_out_of_range_give_nothing(context):
    scale, p = T.fvector("scale"), T.fvector("p")
    streams = RandomStreams(5)
    f = function(
        [scale, p], [streams.normal(0.0, scale), streams.binomial(3, p, dtype="int32")]
    )
    given = np.array([[-1.0, np.nan, 1.0], [2.0, np.nan, 0.5]], "f")
    drawn, counts = values(f, *given)
    assert np.isnan(drawn).tolist() == [True, True, False]
    assert counts[:2].tolist() == [-1, -1] and 0 <= counts[2] <= 3


def test_what_is_computed_of_a_constant_may_be_out_of_range(context):
    # The rate of two is an operation whose first operand is a constant.
    x = T.dscalar("x")
    twice, less = T.constant(2.0) * x, -T.constant(3.0)
    f = function(
        [x], [RandomStreams(5).poisson(rate, size=(9,)) for rate in (twice, less)]
    )
    for found in values(f, -1.0):
        assert found.tolist() == [-1] * 9
    assert (values(f, 40.0)[0] > 9).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda s: s.normal(0, -1.0, (3,)),
            ValueError,
            "normal: scale is -1, expected",
        ),
        (
            lambda s: s.bernoulli(1.5),
            ValueError,
            "bernoulli: p is 1.5, expected a numbe",
        ),
        (lambda s: s.uniform(2, 1), ValueError, "uniform: high is 1"),
        (
            lambda s: s.uniform(np.array([2, 3]), np.array([9, 1])),
            ValueError,
            r"uniform: high is \[9\. 1\.\], expected at least low",
        ),
        (
            lambda s: s.hypergeometric(3, 3, 8),
            ValueError,
            "hypergeometric: nsample is 8.0, expected at most ngood \\+ nbad, 6.0",
        ),
        (lambda s: s.normal(size=2.5), TypeError, "size is 2.5, expected an integer"),
        (lambda s: s.normal(size=(2, True)), TypeError, "size is"),
        (
            lambda s: s.normal(size=(2, -1)),
            ValueError,
            r"size is \(2, -1\), expected le",
        ),
        (lambda s: s.normal(size=T.lvector("n")), ValueError, "give ndim"),
        (
            lambda s: s.normal(size=(2,), ndim=3),
            ValueError,
            "ndim is 3, and size has 1",
        ),
        (
            lambda s: s.normal(T.fmatrix("m"), size=(2,)),
            ValueError,
            "size has 1 lengths",
        ),
        (lambda s: s.normal(1j), TypeError, "loc is .*complex"),
        (
            lambda s: s.normal(dtype="int32"),
            TypeError,
            "dtype is int32, expected a flo",
        ),
        (lambda s: s.normal(dtype="complex64"), TypeError, "dtype is complex64"),
        (lambda s: s.normal(mean=1), TypeError, "normal: .*mean"),
        (
            lambda s: s.integers(5, 5),
            ValueError,
            "low is 5, expected less than high, 5",
        ),
        (lambda s: s.integers(1.5), TypeError, "high is .*expected integers"),
        (
            lambda s: s.integers(0, 300, dtype="uint8"),
            ValueError,
            "out of bounds for u",
        ),
        (
            lambda s: s.integers(300, T.lscalar("n"), dtype="uint8"),
            ValueError,
            "low is 300, out of bounds for uint8",
        ),
        (lambda s: s.integers(0, 2**64), ValueError, "high is 18446744073709551616, o"),
        (
            lambda s: s.integers(T.lscalar("n"), 2**64, dtype="uint64"),
            ValueError,
            "high is 18446744073709551616, expected an integer from",
        ),
        (lambda s: s.integers(0, 3, dtype="bool"), ValueError, "high is 3, out of"),
        (lambda s: s.integers(0, 3, dtype="complex64"), TypeError, "dtype is complex"),
        (lambda s: s.dirichlet([1.0, -1.0]), ValueError, "alpha has -1, expected num"),
        (lambda s: s.dirichlet(2.0), TypeError, "alpha is .*expected a vector"),
        (
            lambda s: s.multivariate_normal([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]),
            ValueError,
            "cov is not symmetric positive semidefinite",
        ),
        (
            lambda s: s.multivariate_normal([0.0], [[1.0, 0.0], [0.0, 1.0]]),
            ValueError,
            r"mean has shape \(1,\) and cov \(2, 2\)",
        ),
        (
            lambda s: s.multivariate_normal([0.0], [[1.0]], method="qr"),
            ValueError,
            "method is 'qr', expected svd",
        ),
        (lambda s: s.choice(3, (4,), replace=False), ValueError, "4 of 3 without repl"),
        (lambda s: s.choice(2, p=[0.5, 0.4]), ValueError, "p add to 0.9, expected 1"),
        (
            lambda s: s.choice(2, p=[1.5, -0.5]),
            ValueError,
            "p has -0.5, expected proba",
        ),
        (
            lambda s: s.choice(3, p=[0.5, 0.5]),
            ValueError,
            r"p has 2 numbers, expected 3",
        ),
        (
            lambda s: s.choice(np.arange(4), p=[0.5, 0.5]),
            ValueError,
            r"p has 2 numbers, expected 4",
        ),
        (lambda s: s.choice(T.fmatrix("m")), TypeError, "choice: a is"),
        (lambda s: s.multinomial(-1, [1.0]), ValueError, "n is -1, expected 0 or more"),
        (lambda s: s.multinomial(2, 0.5), TypeError, "pvals is"),
        (lambda s: s.permutation(-1), ValueError, "n is -1, expected 0 or more"),
        (lambda s: s.permuted(T.fscalar("x")), TypeError, "expected at least one axis"),
        (lambda s: s[T.fscalar("x")], KeyError, "no state of a draw"),
        (lambda s: T.raw_random.normal(T.fvector("x")), TypeError, "the state is"),
    ],
)
def test_wrong_arguments_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(RandomStreams(1))


@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), ("three", TypeError)])
def test_seeds_out_of_range_are_refused(seed, error):
    with pytest.raises(error, match=r"RandomStreams: .*seed"):
        RandomStreams(seed)


def test_seeds_are_those_of_generators(context):
    for seed in (3, [1, 2, 3], np.random.SeedSequence(5)):
        draw = function([], RandomStreams(seed).normal(size=(4,), dtype="float64"))
        generator = gpuarray.random.default_rng(seed, context=context)
        assert_equal(draw(), generator.normal(size=4))
    unknown = [function([], RandomStreams().uniform())() for _ in range(2)]
    assert unknown[0] != unknown[1]
