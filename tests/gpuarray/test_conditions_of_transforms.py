"""Both sides of conditions in Fourier transforms: NumPy is the judge.

Lengths have each radix as the first and as a later pass, and prime factors that are too
large for one; axes are inner and outer ones, given elements fewer and more.
"""

import gpuarray
import numpy as np
import pytest
from calls import assert_as_numpys, label, ours
from gpuarray._fft.transforms import chirp, convolution_length, factors, roots
from gpuarray.errors import BadIndex, BadType, BadValue

RANDOM = np.random.default_rng(16)
LENGTHS = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    13,
    15,
    16,
    17,
    19,
    25,
    26,
    32,
    33,
    34,
    49,
)
LENGTHS += (60, 64, 77, 101, 121, 128, 169, 210, 512)
NORMS = None, "backward", "ortho", "forward"


def waves(*shape):
    """Complex elements."""
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


Z = waves(3, 12, 5)
R = Z.real.copy()
FLAT = waves(20)
COUNTS = np.arange(24).reshape(2, 12) % 5

CALLS = [
    *((f"fft.{name}", waves(2, n)) for name in ("fft", "ifft") for n in LENGTHS),
    *((f"fft.{name}", waves(2, n).real.copy())
     for name in ("fft", "rfft") for n in LENGTHS),
    *(("fft.irfft", waves(2, n // 2 + 1), n) for n in LENGTHS),
    *((f"fft.{name}", x, n, axis, norm)
      for name, x in (("fft", Z), ("ifft", Z), ("rfft", R), ("irfft", Z), ("hfft", Z),
                      ("ihfft", R))
      for n, axis, norm in ((None, 0, None), (7, 1, "ortho"), (17, 1, "forward"),
                            (4, -2, "backward"), (12, 2, "ortho"), (19, 0, "forward"),
                            (None, -1, "forward"))),
    *((f"fft.{name}", x) for name in ("fft", "ifft", "hfft", "irfft")
      for x in (COUNTS, COUNTS.astype("float32"), Z.astype("complex64"), R)),
    *((f"fft.{name}", x) for name in ("rfft", "ihfft")
      for x in (COUNTS, COUNTS.astype("float32"), COUNTS > 2)),
    ("fft.fft", Z.transpose(2, 0, 1), None, 1), ("fft.irfft", FLAT, 9),
    ("fft.irfft", FLAT, 60),
    ("fft.hfft", FLAT, 1), ("fft.hfft", FLAT, 41), ("fft.fft", Z[:0], None, 1),
    ("fft.ifft", FLAT.astype("complex64"), 17), ("fft.rfft", R[:, :, :0].copy(), 4),
    *((f"fft.{name}", x, None, axes, norm)
      for name, x in (("fft2", Z), ("ifft2", Z), ("rfft2", R), ("irfft2", Z))
      for axes in ((-2, -1), (0, 1), (2, 0)) for norm in (None, "ortho", "forward")),
    *((f"fft.{name}", x, s, axes)
      for name, x in (("fftn", Z), ("ifftn", Z), ("rfftn", R), ("irfftn", Z))
      for s, axes in ((None, None), ((4, 6), (0, 2)), ((3, 7, 2), (2, 1, 0)),
                      (None, (1,)), ((5,), (-3,)), ((2, 17), (2, 1)))),
    ("fft.fftn", Z, None, (0, 0)), ("fft.ifftn", COUNTS), ("fft.rfftn", COUNTS),
    *((f"fft.{name}", x, axes) for name in ("fftshift", "ifftshift")
      for x in (Z, FLAT, Z[:, :7]) for axes in (None, 0, (0,), (-1, 1 - 1))
      if x.ndim > 1 or
      axes in (None, 0)),
    *((f"fft.{name}", n, *d) for name in ("fftfreq", "rfftfreq")
     for n in (1, 2, 3, 4, 9, 10)
      for d in ((), (0.1,))),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=label)
def test_a_transform_is_numpys(first_context, call):
    assert_as_numpys(call, first_context)


REFUSED = [
    (BadValue, "fft: 0 elements are no signal", "fft.fft", FLAT, 0),
    (BadValue, "ifft: -1 elements are no signal", "fft.ifft", FLAT, -1),
    (BadValue, "irfft: 0 elements are no signal", "fft.irfft", FLAT[:1]),
    (BadType, "rfft: n is 2.5, expected an integer", "fft.rfft", FLAT.real, 2.5),
    (BadType, "rfft: got complex128, expected real", "fft.rfft", FLAT),
    (BadType, "ihfft: got complex128, expected real", "fft.ihfft", FLAT),
    (BadValue, "norm is 'no', expected 'backward', 'ortho' or", "fft.fft", FLAT, None,
     -1, "no"),
    (BadIndex, "hfft: axis 1 is out of bounds", "fft.hfft", FLAT, None, 1),
    (BadValue, "fftn: 2 lengths for 1 axes", "fft.fftn", Z, (2, 2), (0,)),
    (BadValue, "fftn: no axis is given", "fft.fftn", Z, None, ()),
    (BadIndex, "fftn: axis 3 is out of bounds", "fft.fftn", Z, None, (3,)),
    (BadValue, "fftfreq: 0 elements", "fft.fftfreq", 0),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: label(case[2:]))
def test_a_transform_is_refused(first_context, case):
    kind, fact, *call = case
    with pytest.raises(kind, match=fact) as caught:
        ours(call, first_context)
    assert type(caught.value) is kind


def test_frequencies_are_real_floats(first_context):
    made = gpuarray.fft.fftfreq(5, 0.5, dtype="float32", device=first_context)
    assert (made.dtype, made.context) == (np.float32, first_context)
    np.testing.assert_allclose(np.asarray(made), np.fft.fftfreq(5, 0.5), 1e-6)
    with pytest.raises(BadType, match="rfftfreq: dtype int32, expected a real float"):
        gpuarray.fft.rfftfreq(5, dtype="int32", device=first_context)


def test_a_convolution_has_the_shortest_of_the_lengths_that_are_fast():
    odd = (1, 3, 5, 9, 15, 25, 27, 45, 75, 81, 125, 135, 225)
    fast = sorted({x << power for x in odd for power in range(1, 14)})
    for n in range(2, 4000):
        found = convolution_length(n)
        assert found == next(x for x in fast if x >= 2 * n - 1), n
        assert factors(found) is not None


def test_lengths_are_of_the_radices():
    for n in (1, 2, 8, 16, 12, 13 * 11 * 7 * 5 * 3 * 4, 2**10 * 9, 17, 2 * 19, 13 * 17):
        found = factors(n)
        rest = n
        for prime in (2, 3, 5, 7, 11, 13):
            while rest % prime == 0:
                rest //= prime
        assert (found is None) == (rest > 1)
        assert found is None or np.prod(found, dtype=int) == n


def test_roots_are_rounded_once():
    for n in (1, 2, 3, 5, 7, 8, 9, 16, 24, 100, 101, 1024, 1155):
        k = np.arange(n, dtype=np.longdouble)
        angle = -2 * np.arctan2(np.longdouble(0), np.longdouble(-1)) * k / n
        told = np.cos(angle) + 1j * np.sin(angle)
        made = roots(n)
        assert abs(made - told).max() < 1.6e-16
        squares = np.arange(n) ** 2 % (2 * n)
        np.testing.assert_array_equal(chirp(n), roots(2 * n)[squares])
    np.testing.assert_array_equal(roots(4), [1, -1j, -1, 1j])
