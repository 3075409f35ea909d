"""Random numbers: known answers, the same on all devices and layouts, distributions."""

import math
import pickle

import gpuarray
import numpy as np
import pytest
from gpuarray.random import Generator, default_rng
from judge import assert_same

# (seed, stream, position) and the four words; from the authors' test vectors.
KNOWN = [
    ((0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((2**64 - 1,) * 3, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x299F31D0A4093822, 0x0370734413198A2E, 0x85A308D3243F6A88),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
MASK = 2**32 - 1


def philox(seed, stream, position):
    """Four words, in Python."""
    c = [position & MASK, position >> 32, stream & MASK, stream >> 32]
    key = [seed & MASK, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ key[0], q & MASK, (p >> 32) ^ c[3] ^ key[1], p & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return c


def words(n, seed=7, stream=3):
    """The first ``n`` words of a stream."""
    made = [w for position in range(-(-n // 4)) for w in philox(seed, stream, position)]
    return np.array(made[:n], np.uint64)


def pairs(n):
    """The first ``n`` numbers of 64 bits."""
    made = words(2 * n)
    return made[0::2] | made[1::2] << np.uint64(32)


def rng(context):
    return Generator(7, context, stream=3)


@pytest.mark.parametrize(("state", "answer"), KNOWN)
def test_the_generator_gives_the_known_answers(context, state, answer):
    generator = default_rng(0, context)
    generator.state = state
    got = np.asarray(generator.bits(4))
    assert " ".join(f"{word:08x}" for word in got) == answer
    assert generator.state == (*state[:2], (state[2] + 1) % 2**64)


@pytest.mark.parametrize("n", [1, 4, 1001])
def test_bits_and_what_is_made_of_them_are_told_by_the_counter(context, n):
    assert_same(rng(context).bits(n), words(n).astype(np.uint32), exact=True)
    assert_same(rng(context).bits(n, "uint64"), pairs(n), exact=True)
    assert_same(rng(context).bits(n, "int8"), words(n).astype(np.int8), exact=True)
    fractions = (words(n) >> np.uint64(8)) * 2.0**-24
    got = rng(context).random(n, "float32")
    assert_same(got, fractions.astype(np.float32), exact=True)
    got = rng(context).uniform(-2, 6, n, "float32")
    assert_same(got, (fractions * 8 - 2).astype(np.float32), exact=True)
    got = rng(context).random(n)
    assert_same(got, (pairs(n) >> np.uint64(11)) * 2.0**-53, exact=True)
    got = rng(context).bernoulli(0.25, n)
    assert_same(got, words(n) < 2**30, exact=True)


@pytest.mark.parametrize("at", [2**32 - 2, 2**33 - 1, 2**64 - 2])
def test_positions_of_more_than_32_bits_follow_one_another(context, at):
    """Also within a draw."""
    generator = default_rng(7, context)
    generator.state = (7, 3, at)
    made = [w for k in range(5) for w in philox(7, 3, (at + k) % 2**64)]
    assert_same(generator.bits(19), np.array(made[:19], np.uint32), exact=True)
    assert generator.state == (7, 3, (at + 5) % 2**64)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("poisson", (3.0,)),
        ("poisson", (30.0,)),
        ("binomial", (9, 0.4)),
        ("binomial", (100, 0.7)),
        ("binomial", (9, 0.0)),
        ("gamma", (2.5, 3.0)),
        ("gamma", (0.3, 3.0)),
        ("gamma", (0.0, 3.0)),
    ],
)
def test_a_number_as_parameter_gives_the_numbers_of_an_array(context, name, given):
    """Which other kernels draw on a GPU; of int64 in double, of int32 in float."""
    for dtype in ("float64", "float32") if name == "gamma" else ("int64", "int32"):
        for n in (1, 33, 5000):
            arrays = [np.full(n, value) for value in given]
            expected = getattr(rng(context), name)(*arrays, dtype=dtype)
            drawn = getattr(rng(context), name)(*given, n, dtype)
            assert_same(drawn, np.asarray(expected), exact=True)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "float64"])
def test_truths_of_every_width_are_told_by_the_counter(context, dtype):
    for n in (8, 1001):
        wanted = (words(n) < 2**30).astype(dtype)
        assert_same(rng(context).bernoulli(0.25, n, dtype), wanted, exact=True)


def test_integers_are_the_high_half_of_a_product(context):
    got = np.asarray(rng(context).integers(-5, 1000, 99))
    wanted = [-5 + (int(r) * 1005 >> 64) for r in pairs(99)]
    assert got.tolist() == wanted
    low, high = -(2**62), 2**62 + 12345
    got = np.asarray(rng(context).integers(low, high, 50))
    two = pairs(100)
    whole = [int(a) | int(b) << 64 for a, b in zip(two[::2], two[1::2], strict=True)]
    assert got.tolist() == [low + (r * (high - low) >> 128) for r in whole]
    got = np.asarray(rng(context).integers(0, 2**64, 50, "uint64"))
    assert got.tolist() == [r >> 64 for r in whole]
    got = np.asarray(rng(context).integers(-128, 127, 4000, "int8", endpoint=True))
    assert got.min() == -128 and got.max() == 127


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_layout_does_not_change_the_numbers(context, dtype):
    def views():
        yield gpuarray.zeros((6, 5, 7), dtype, context).T
        yield gpuarray.zeros((14, 10, 6), dtype, context)[::2, ::-2]
        yield gpuarray.zeros((7, 5, 7), dtype, context)[:, :, 1:]

    for make in ("random", "standard_normal"):
        wanted = np.asarray(getattr(rng(context), make)((7, 5, 6), dtype))
        for view in views():
            made = getattr(rng(context), make)(out=view)
            assert made is view
            assert_same(view, wanted, exact=True)
    base = gpuarray.zeros((14, 10, 6), dtype, context)
    rng(context).random(out=base[::2, ::2])
    assert not np.asarray(base)[1::2].any() and not np.asarray(base)[:, 1::2].any()


def test_complex_numbers_have_two_parts(context):
    real = np.asarray(rng(context).random(10, "float32"))
    got = np.asarray(rng(context).random(5, "complex64"))
    assert got.dtype == np.complex64
    np.testing.assert_array_equal(got.view(np.float32), real)
    strided = gpuarray.zeros(10, "complex64", context)[::2]
    assert_same(rng(context).random(out=strided), got, exact=True)


def test_the_position_goes_on_and_may_be_set(context):
    generator = rng(context)
    first = np.asarray(generator.bits(8))
    assert generator.state == (7, 3, 2)
    second = np.asarray(generator.bits(8))
    assert_same(rng(context).bits(16), np.concatenate([first, second]), exact=True)
    generator.random(3)
    assert generator.state == (7, 3, 6)
    generator.state = (7, 3, 2)
    assert_same(generator.bits(8), second, exact=True)
    generator.bits(0)
    assert generator.state == (7, 3, 4)


def test_streams_and_children_differ(context):
    children = [*rng(context).spawn(2), Generator(7, context), Generator(8, context)]
    made = [np.asarray(child.bits(64)) for child in [*children, rng(context)]]
    assert len({block.tobytes() for block in made}) == len(made)
    again = [np.asarray(child.bits(64)) for child in rng(context).spawn(2)]
    assert all((a == b).all() for a, b in zip(again, made, strict=False))
    assert default_rng(None, context).state != default_rng(None, context).state


def test_bytes_are_the_words(context):
    assert rng(context).bytes(10) == words(3).astype("<u4").tobytes()[:10]
    assert rng(context).bytes(0) == b""


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_uniform_number_is_below_its_upper_bound(context, dtype):
    for low, high in ((0, 1), (-3, -1), (1, 1.5), (0, 1e-3)):
        made = rng(context).uniform(low, high, 200_000, dtype)
        host = np.asarray(made)
        assert host.min() >= np.dtype(dtype).type(low)
        assert host.max() < np.dtype(dtype).type(high)
    assert_same(rng(context).uniform(2, 2, 5, dtype), np.full(5, 2, dtype))


# Seeds are fixed, so these pass or fail for good; bounds are many deviations wide.

N = 200_000


def kolmogorov(sample, distribution):
    """sqrt(n) times the largest distance from a distribution function."""
    ordered = np.sort(sample.astype(np.float64))
    steps = np.arange(1, ordered.size + 1) / ordered.size
    return np.abs(steps - distribution(ordered)).max() * math.sqrt(ordered.size)


def normal_distribution(x):
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in x])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_have_their_distributions(context, dtype):
    generator = default_rng(11, context)
    uniform = np.asarray(generator.uniform(-1, 3, N, dtype))
    assert kolmogorov(uniform, lambda x: (x + 1) / 4) < 2.5
    normal = np.asarray(generator.normal(2, 3, 20_000, dtype))
    assert kolmogorov((normal - 2) / 3, normal_distribution) < 2.5
    pair = np.asarray(generator.standard_normal(N, dtype)).astype(np.float64)
    assert abs(np.mean(pair[::2] * pair[1::2])) < 6 / math.sqrt(N / 2)
    assert abs(pair.mean()) < 6 / math.sqrt(N)
    assert abs(pair.var() - 1) < 6 * math.sqrt(2 / N)
    waits = np.asarray(generator.exponential(0.5, N, dtype))
    assert waits.min() >= 0
    assert kolmogorov(waits, lambda x: 1 - np.exp(-2 * x)) < 2.5


def test_integers_between_arrays_are_minus_1_where_there_are_none(context):
    """As results of other distributions whose parameters are out of range."""
    low = gpuarray.asarray(np.array([5, 3, -1, 0, 250]), context=context)
    high = gpuarray.asarray(np.array([5, 4, 3, 257, 256]), context=context)
    got = np.asarray(rng(context).integers(low, high, dtype="uint8"))
    assert (got[[0, 2, 3]] == 255).all() and got[1] == 3 and got[4] >= 250
    words = gpuarray.asarray(np.array([2**63, 2**64 - 1], "uint64"), context=context)
    got = np.asarray(rng(context).integers([-1, -1], words))
    assert (got == [got[0], -1]).all() and got[0] >= -1
    got = np.asarray(rng(context).integers([0, 1], [2**64, 2], dtype="uint64"))
    assert (got == [got[0], 1]).all()
    got = np.asarray(rng(context).integers([0, 1], 2, dtype=bool))
    assert got.dtype == np.bool_ and got[1]
    assert rng(context).integers([], 5).shape == (0,)
    for error, text, given in (
        (ValueError, "high .*for bool, which has 0 to 1", ([0, 1], 3, None, bool)),
        (ValueError, "0 to 2 is out of bounds for bool", (0, 3, None, bool)),
        (ValueError, "low .*for uint8, which has 0 to 255", ([300], high, 5, "uint8")),
        (ValueError, r"low \[5\] is not below high, .* \[4\]", ([5], [5])),
        (TypeError, r"low \[2.5\], expected integers", ([2.5], 5)),
    ):
        with pytest.raises(error, match=text):
            rng(context).integers(*given)


def test_integers_and_truths_are_even(context):
    generator = default_rng(12, context)
    for dtype in ("int8", "uint16", "int32", "int64"):
        counts = np.bincount(np.asarray(generator.integers(0, 100, N, dtype)))
        expected = N / 100
        assert counts.size == 100
        assert ((counts - expected) ** 2 / expected).sum() < 99 + 7 * math.sqrt(198)
    share = np.asarray(generator.bernoulli(0.3, N)).mean()
    assert abs(share - 0.3) < 6 * math.sqrt(0.21 / N)
    bits = np.asarray(generator.bits(N))
    for bit in range(32):
        assert abs((bits >> bit & 1).mean() - 0.5) < 3 / math.sqrt(N)


def test_a_number_of_no_axes(context):
    made = rng(context).random()
    assert made.shape == () and 0 <= float(made) < 1
    assert rng(context).integers(5, size=(2, 0)).shape == (2, 0)
    assert rng(context).integers(0, 1, 3, bool, endpoint=True).dtype == np.bool_


def test_permutations_have_everything_once_and_are_the_same_everywhere(context):
    for n in (0, 1, 2, 1000):
        keys = pairs(n) if n else np.zeros(0, np.uint64)
        assert_same(rng(context).permutation(n), np.argsort(keys), exact=True)
    order = np.argsort(pairs(6))
    host = np.arange(6 * 5 * 2, dtype=np.float32).reshape(5, 6, 2)
    device = gpuarray.asarray(host, context=context)
    assert_same(rng(context).permutation(device, axis=1), host[:, order], exact=True)
    rng(context).shuffle(device.transpose(1, 0, 2))
    assert_same(device, host[:, order], exact=True)
    assert rng(context).permutation(device, axis=-1).shape == host.shape


def test_shuffling_evens_out(context):
    generator = default_rng(13, context)
    first = [int(np.asarray(generator.permutation(4))[0]) for _ in range(400)]
    counts = np.bincount(first, minlength=4)
    assert ((counts - 100) ** 2 / 100).sum() < 25


def test_wrong_arguments_leave_array_and_generator_alone(context):
    generator, out = rng(context), gpuarray.zeros(3, context=context)
    calls = [
        (ValueError, "high 1, .* least low", lambda: generator.uniform(2, 1, out=out)),
        (ValueError, "high inf", lambda: generator.uniform(0, np.inf, out=out)),
        (ValueError, "difference", lambda: generator.uniform(-1e308, 1e308)),
        (ValueError, "normal: got scale -1", lambda: generator.normal(0, -1, out=out)),
        (ValueError, "l: got scale -1", lambda: generator.exponential(-1, out=out)),
        (ValueError, "p 1.5", lambda: generator.bernoulli(1.5, 3)),
        (TypeError, "ndarray, expected", lambda: generator.random(out=np.empty(3))),
        (TypeError, "ndarray, expected", lambda: generator.gamma([1], out=np.empty(1))),
        (ValueError, "not below", lambda: generator.integers(5, 5, 3)),
        (ValueError, "uint8", lambda: generator.integers(0, 257, 3, "uint8")),
        (TypeError, "float64", lambda: generator.integers(0, 5, out=out)),
        (TypeError, "float or complex", lambda: generator.random(3, "int32")),
        (TypeError, "integer type", lambda: generator.bits(3, "float32")),
        (ValueError, "shape of out", lambda: generator.random(4, out=out)),
        (ValueError, "negative", lambda: generator.random(-1)),
        (
            ValueError,
            "read-only",
            lambda: generator.random(out=out.broadcast_to((2, 3))),
        ),
        (ValueError, "seed -1", lambda: Generator(-1, context)),
        (ValueError, "stream", lambda: Generator(1, context, 2**64)),
        (ValueError, "0 or more", lambda: generator.permutation(-1)),
        (TypeError, "asarray", lambda: generator.shuffle([1, 2])),
        (ValueError, "0-d", lambda: generator.shuffle(out[0, ...])),
        (ValueError, "axis", lambda: generator.permutation(out, axis=2)),
        (
            ValueError,
            "read-only",
            lambda: generator.shuffle(out.broadcast_to((2, 3))),
        ),
    ]
    for error, text, call in calls:
        with pytest.raises(error, match=text):
            call()
    assert generator.state == (7, 3, 0)
    assert not np.asarray(out).any()


@pytest.mark.oclgrind
def test_what_the_kernels_write_stays_in_bounds(context):
    for dtype in ("float32", "float16"):
        rng(context).random(7, dtype)
        rng(context).random(out=gpuarray.zeros((3, 5), dtype, context)[:, ::2])
    context.sync()


# ---- choices ----


def test_choices_have_their_probabilities(context):
    rng = default_rng(1, context)
    drawn = rng.choice(4, 20000, p=[0.1, 0.2, 0.7, 0.0])
    share = np.bincount(drawn.get(), minlength=4) / 20000
    np.testing.assert_allclose(share, [0.1, 0.2, 0.7, 0], atol=0.02)
    assert drawn.dtype == np.int64
    assert np.bincount(rng.choice(3, 3000).get()).min() > 800


def test_choices_without_replacement_are_different(context):
    rng = default_rng(1, context)
    assert sorted(rng.choice(10, 10, replace=False).tolist()) == list(range(10))
    p = [0.0, 0.5, 0.25, 0.25]
    firsts = [rng.choice(4, 3, replace=False, p=p).tolist() for _ in range(200)]
    assert all(sorted(one) == [1, 2, 3] for one in firsts)
    assert 60 < sum(one[0] == 1 for one in firsts) < 140


def test_choices_of_an_array(context):
    rng, host = default_rng(1, context), np.arange(12).reshape(3, 4)
    a = gpuarray.asarray(host, context=context)
    picked = rng.choice(a, (5, 2), axis=1).get()
    assert picked.shape == (3, 5, 2)
    assert (picked % 4 == picked[0] % 4).all()
    assert rng.choice(a).shape == (4,)
    assert rng.choice(7).shape == ()


def test_wrong_choices(context):
    rng = default_rng(1, context)
    for options, said in (
        ({"a": 0, "size": 1}, "nothing to draw"),
        ({"a": 3, "size": 4, "replace": False}, "4 of 3 without"),
        ({"a": 3, "p": [1, 1, 1]}, "p adds up to 3, expected 1"),
        ({"a": 3, "p": [1, 1, -1]}, "got p -1, expected numbers from 0 to 1"),
        ({"a": 3, "p": [0.5, 0.5]}, "shape"),
        ({"a": 3, "size": 2, "replace": False, "p": [1, 0, 0]}, "only 1 prob"),
    ):
        with pytest.raises(ValueError, match=said):
            rng.choice(**options)


def test_a_pickled_generator_goes_on(context):
    rng = default_rng(7, context)
    rng.random(5)
    rng.spawn(2)
    other = pickle.loads(pickle.dumps(rng))
    assert other.state == rng.state and other.context is context
    assert_same(other.random(9), rng.random(9).get(), exact=True)
    assert other.spawn(1)[0].state == rng.spawn(1)[0].state
