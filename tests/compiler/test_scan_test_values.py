"""Test values in the bodies of loops: those of the first iteration."""

import re

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, scan, shared
from loops import numbers


@pytest.fixture(autouse=True)
def with_test_values():
    with config.use(floatX="float64", compute_test_value="raise"):
        yield


def arguments(w_shape=(3, 3)):
    """A sequence, a state and a constant with test values."""
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")
    x.tag.test_value, s.tag.test_value = numbers(4, 3), numbers(3, seed=1)
    w.tag.test_value = numbers(*w_shape, seed=2)
    return x, s, w


def where(error):
    """The lines of this file in an error's notes, without their numbers."""
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    return re.findall(r"made at \S*test_scan_test_values.py:\d+ in ([^\n]*)", text)


def test_taps_have_the_rows_of_the_first_iteration():
    x, _, _ = arguments()
    first = T.dmatrix("first")
    first.tag.test_value = numbers(2, 3, seed=5)
    seen = []

    def turn(earlier, row, two, one):
        seen.append([v.tag.test_value for v in (earlier, row, two, one)])
        return row + earlier + two + one

    scan(turn, {"input": x, "taps": [-1, 1]}, {"initial": first, "taps": [-2, -1]})
    rows, starts = x.tag.test_value, first.tag.test_value
    for got, want in zip(seen[0], [rows[0], rows[2], *starts], strict=True):
        np.testing.assert_array_equal(got, want)


def test_shared_variables_and_constants_have_their_values():
    count = shared(np.array([1.0, 2.0]), "count")
    seen = []

    def turn():
        seen.append((count * 2 + np.array([1.0, 0.0])).tag.test_value)
        return count * 2, {count: count + 1}

    out, _ = scan(turn, n_steps=3)
    assert seen[0].tolist() == [3, 4]
    assert out.tag.test_value.tolist() == [[2, 4], [4, 6], [6, 8]]


def test_a_mistake_in_a_body_is_raised_at_its_line():
    x, s, w = arguments(w_shape=(4, 4))

    def turn(row, s, w):
        product = T.dot(s, w)
        return T.tanh(row + product)

    with pytest.raises(ValueError, match="not aligned") as caught:
        scan(turn, x, s, w)
    assert where(caught.value)[0] == "turn: product = T.dot(s, w)"


def test_a_mistake_in_a_loop_in_a_loop_is_raised_at_its_line():
    x, s, w = arguments()

    def inner(a, total):
        return total + a * T.dot(w, T.ones(5)).sum()

    with pytest.raises(ValueError, match="not aligned") as caught:
        scan(lambda row, s: scan(inner, row, s[0])[0] + s, x, s)
    assert where(caught.value)[0].startswith("inner: return total + a * T.dot(")


@pytest.mark.parametrize("missing", ["x", "s"])
def test_an_argument_without_a_test_value_is_named(missing):
    x, s, _ = arguments()
    variable = {"x": x, "s": s}[missing]
    del variable.tag.test_value
    with pytest.raises(AttributeError, match=rf"{missing} of .* has none; give it one"):
        scan(lambda row, s: row + s, x, s)
    with config.use(compute_test_value="ignore"):
        out, _ = scan(lambda row, s: row + s, x, s)
    assert not hasattr(out.tag, "test_value")
    with (
        config.use(compute_test_value="warn"),
        pytest.warns(UserWarning) as told,
    ):
        scan(lambda row, s: row + s, x, s)
    assert f"test value: {missing} of" in str(told[0].message)


def test_a_sequence_without_rows_has_zeros_in_the_body():
    x, s, _ = arguments()
    x.tag.test_value = np.zeros((0, 3))
    out, _ = scan(lambda row, s: row + s, x, s)
    assert out.tag.test_value.shape == (0, 3)


def test_values_of_a_loop_that_stops_and_of_its_gradient():
    x, s, _ = arguments()
    x.tag.test_value = np.ones((5, 3))
    s.tag.test_value = np.ones(3)
    out, _ = scan(lambda row, s: (row + s, theano.scan_module.until(s.sum() > 5)), x, s)
    assert out.tag.test_value.tolist() == [[2] * 3, [3] * 3]
    slope = theano.grad(out.sum(), x)
    assert slope.tag.test_value[:, 0].tolist() == [2, 1, 0, 0, 0]
