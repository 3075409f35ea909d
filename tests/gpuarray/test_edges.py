"""Numbers up to their ends and beyond: each place, axis, length, order and mode.

Where other tests draw, here all are gone through: NumPy says what is given and what is
refused.
"""

import itertools

import gpuarray
import numpy as np
import pytest
from differential import differences
from functions import Case

VECTOR = np.array([3.0, -1.0, 2.0, 5.0, 0.5], "float32")
MATRIX = np.arange(12, dtype="float32").reshape(3, 4) % 5 - 2
CUBE = np.arange(24, dtype="float32").reshape(2, 3, 4) % 7 - 3
UNEVEN = np.array([0.0, 1.0, 1.5, 4.0, 4.25, 6.0])
ENDS = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, 1.0 + 1e-9], "float32")
PLACES = range(-7, 8)
ORDERS = None, "fro", "f", "nuc", 0, 1, 2, 3, -1, -2, -3, np.inf, -np.inf, 2.5, "no"
MODES = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum")
MODES += ("reflect", "symmetric", "wrap", "no")
SUMS = "ij->i", "ij->j", "ij->", "ij->ji", "ii", "ij,jk->i", "ij,k->j", "ij,jk"


def sums():
    """Sums by labels, of narrow integers, which stay as they are, and of floats."""
    for text, dtype in itertools.product(SUMS, ("int8", "float32")):
        a = (np.arange(9).reshape(3, 3) * 11 % 120).astype(dtype)
        yield text, *[a, a.T if text != "ij,k->j" else a[0]][: text.count(",") + 1]


CALLS = {
    "insert": [((VECTOR, n, 7), {}) for n in PLACES],
    "delete": [((VECTOR, n), {}) for n in PLACES],
    "roll": [((CUBE, n, n % 3), {}) for n in PLACES],
    "array_split": [((VECTOR, n), {}) for n in PLACES],
    "repeat": [((VECTOR, n), {}) for n in range(-1, 3)],
    "moveaxis": [((CUBE, n, m), {}) for n in range(-4, 4) for m in (-4, -1, 0, 3)],
    "swapaxes": [((CUBE, n, m), {}) for n in range(-4, 4) for m in (-4, -1, 0, 3)],
    "expand_dims": [((CUBE, n), {}) for n in PLACES],
    "rot90": [((MATRIX, n), {}) for n in PLACES],
    "diagonal": [((MATRIX, n), {}) for n in PLACES],
    "tril": [((MATRIX, n), {}) for n in PLACES],
    "triu": [((MATRIX, n), {}) for n in PLACES],
    "partition": [((VECTOR, n), {}) for n in PLACES],
    "vander": [((VECTOR, n), {}) for n in range(5)],
    "diff": [((MATRIX, n), {}) for n in range(-1, 6)],
    "gradient": [
        ((MATRIX[:, :1] * UNEVEN[:n], where), {"axis": 1, "edge_order": order})
        for n, order in itertools.product(range(7), (1, 2))
        for where in (UNEVEN[:n], 0.5)
    ],
    "linalg.norm": [
        ((a,), {"ord": order, "axis": axis, "keepdims": keepdims})
        for a in (VECTOR, MATRIX, CUBE)
        for order in ORDERS
        for axis, keepdims in ((None, False), (0, True), ((0, 1), False), ((1, 0), 1))
    ],
    "isclose": [
        ((ENDS[:, None], ENDS), {"equal_nan": flag, "rtol": r, "atol": r})
        for flag, r in itertools.product((True, False), (0.0, 1e-6))
    ],
    "pad": [
        ((np.zeros((3, n), "float32") + 2, width, mode), {})
        for n, width, mode in itertools.product(
            (0, 2), (0, 1, 3, ((0, 0), (1, 2)), -1), MODES
        )
    ],
    "einsum": [(call, {}) for call in sums()],
    **{
        f"fft.{name}": [((VECTOR.astype("complex64"), n), {}) for n in range(13)]
        for name in ("fft", "ifft", "irfft", "hfft")
    },
    "fft.rfft": [((VECTOR, n), {}) for n in range(13)],
}


@pytest.mark.parametrize("name", CALLS)
def test_every_one_gives_what_numpy_gives(name, first_context):
    found = []
    for call in CALLS[name]:
        case = Case(name, lambda d, call=call: call, rtol=50)
        found.append(differences(case, 0, first_context))
    assert list(filter(None, found)) == []


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("largest", [True, False])
def test_the_first_of_an_order_along_every_axis(first_context, axis, largest):
    host = np.random.default_rng(0).permutation(24).reshape(2, 3, 4)
    device = gpuarray.asarray(host, context=first_context)
    for k in range(host.shape[axis] + 1):
        values, places = gpuarray.topk(device, k, axis, largest=largest)
        ordered = np.argsort(-host if largest else host, axis)
        right = np.take(ordered, range(k), axis)
        np.testing.assert_array_equal(np.sort(places, axis), np.sort(right, axis))
        taken = np.take_along_axis(host, np.asarray(places), axis)
        np.testing.assert_array_equal(values, taken)
