"""What a user reads who indexes wrongly: one clear error for each mistake."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, shared
from gpuarray.compiler.errors import GraphIndexError, GraphTypeError, GraphValueError
from gpuarray.errors import BadIndex

x, v, s = T.dmatrix("x"), T.dvector("v"), T.dscalar("s")
i, k = T.lscalar("i"), T.lvector("k")

AT_BUILD = {
    "too many": (
        lambda: x[0, 1, 2],
        IndexError,
        "too many indices for array: array is 2",
    ),
    "too many of a scalar": (lambda: s[0], IndexError, "array is 0-dimensional, but 1"),
    "too many with arrays": (
        lambda: v[k, k],
        IndexError,
        "array is 1-dimensional, but 2",
    ),
    "too many with a mask": (
        lambda: v[x > 0],
        IndexError,
        "array is 1-dimensional, but 2",
    ),
    "two ellipses": (lambda: x[..., 0, ...], IndexError, "single ellipsis"),
    "a float": (lambda: x[1.0], IndexError, "only integers, slices"),
    "a variable of floats": (lambda: x[v], IndexError, "only integers, slices"),
    "a string": (lambda: x["name"], IndexError, "only integers, slices"),
    "a ragged list": (lambda: x[[[1], [1, 2]]], IndexError, "index"),
    "a bool": (lambda: x[T.eq(i, 0)], IndexError, "only integers, slices"),
    "a float in a slice": (lambda: x[1.5:], TypeError, "parts must be integers"),
    "a vector in a slice": (lambda: x[k:], TypeError, "parts must be integers"),
    "a step of zero": (lambda: x[::0], ValueError, "slice step cannot be zero"),
    "beyond an axis of one": (
        lambda: T.drow()[1],
        IndexError,
        "index 1 is out of bounds for axis 0 with size 1",
    ),
    "beyond a constant": (
        lambda: T.constant(np.zeros(3))[[0, -4]],
        IndexError,
        "index -4 is out of bounds for axis 0 with size 3",
    ),
    "beyond a shape": (
        lambda: x.shape[2],
        IndexError,
        "index 2 is out of bounds for axis 0 with size 2",
    ),
    "iteration": (lambda: list(x), TypeError, "length of x is not known"),
    "iteration of a scalar": (lambda: list(s), TypeError, "is a scalar"),
    "nonzero of a scalar": (lambda: s.nonzero(), ValueError, "given a scalar"),
    "flatnonzero of a scalar": (lambda: T.flatnonzero(s), ValueError, "given a scalar"),
    "a whole array set": (
        lambda: T.set_subtensor(x, 0),
        TypeError,
        r"written as an index: set_subtensor\(a\[:2\], values\)",
    ),
    "values of more axes": (
        lambda: T.inc_subtensor(x[0], x),
        TypeError,
        "2 axes for a",
    ),
    "values of more axes, moved": (
        lambda: T.inc_subtensor(x[0, None], T.dtensor3()),
        TypeError,
        "3 axes for a part of 2",
    ),
    "floats into integers": (
        lambda: T.set_subtensor(k[0], 1.5),
        TypeError,
        "values of float32 for an array of int64; cast",
    ),
    "take of a mask": (lambda: T.take(x, x > 0), TypeError, "expected integers"),
    "take in a wrong mode": (
        lambda: T.take(x, k, mode="no"),
        ValueError,
        "mode is 'no'",
    ),
    "take along a wrong axis": (lambda: T.take(x, k, axis=2), ValueError, "axis 2"),
    "choose of floats": (lambda: T.choose(v, [v]), TypeError, "expected integers"),
    "choose of nothing": (lambda: T.choose(k, []), ValueError, "at least one array"),
    "choose of a scalar": (lambda: T.choose(k, s), TypeError, "expected arrays"),
    "choose into out": (lambda: T.choose(k, [v], out=v), NotImplementedError, "out"),
    "a permutation of floats": (
        lambda: T.inverse_permutation(v),
        TypeError,
        "integers",
    ),
    "rows by a scalar": (
        lambda: T.permute_row_elements(v, T.iscalar()),
        TypeError,
        "at least one axis",
    ),
    "rows of a scalar": (
        lambda: T.permute_row_elements(s, k),
        TypeError,
        "at least one axis",
    ),
}


@pytest.mark.parametrize("name", AT_BUILD)
def test_what_is_wrong_when_it_is_written(name):
    build, kind, text = AT_BUILD[name]
    with pytest.raises(kind, match=text) as caught:
        build()
    assert isinstance(caught.value, (GraphTypeError, GraphValueError)) or (
        kind is NotImplementedError
    )


def test_assignment_names_what_to_use():
    with pytest.raises(TypeError, match="set_subtensor"):
        x[0] = 1
    with pytest.raises(TypeError, match="set_subtensor"):
        x[0] += 1


AT_RUN = {
    "integer": (x[i], "index 5 is out of bounds for axis 0 with size 3"),
    "negative integer": (x[:, -i], "index -5 is out of bounds for axis 1 with size 4"),
    "constant": (x[4], "index 4 is out of bounds for axis 0 with size 3"),
    "constant array": (
        x[:, [0, 7]],
        "index 7 is out of bounds for axis 1 with size 4",
    ),
    "beside an array": (x[i, k], "index 5 is out of bounds for axis 0 with size 3"),
    "change": (
        T.set_subtensor(x[i], 0),
        "index 5 is out of bounds for axis 0 with size 3",
    ),
    "change by an array": (
        T.inc_subtensor(x[[1, -9]], 0.5),
        "index -9 is out of bounds for axis 0 with size 3",
    ),
}


@pytest.mark.parametrize("name", AT_RUN)
def test_what_is_out_of_bounds_when_it_runs(name, first_context):
    part, text = AT_RUN[name]
    with gpuarray.context(first_context):
        f = function([x, i, k], part, on_unused_input="ignore")
        with pytest.raises(IndexError, match=text) as caught:
            f(np.zeros((3, 4)), 5, np.array([0, 1]))
    assert isinstance(caught.value, GraphIndexError | BadIndex)
    assert "test_index_errors.py" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("is_changed", [False, True])
def test_indices_of_the_device_out_of_bounds(is_changed, first_context):
    part = T.inc_subtensor(x[k], 1.0) if is_changed else x[k]
    with gpuarray.context(first_context) as context:
        f = function([x, k], part)
        with pytest.raises(IndexError):
            f(np.zeros((3, 4)), np.array([0, 3]))
            context.sync()
        assert f(np.zeros((3, 4)), np.array([0, 2])).shape == (2 + is_changed, 4)


def test_values_of_other_lengths(first_context):
    values = T.dvector("values")
    with gpuarray.context(first_context):
        for part in (x[0], x[:, 1], x[[0, 1]], x[x > 5]):
            f = function([x, values], T.set_subtensor(part, values))
            with pytest.raises(ValueError, match="mis-match"):
                f(np.zeros((3, 4)), np.zeros(2))


def test_a_mask_of_another_shape(first_context):
    mask = T.vector("mask", dtype="bool")
    with gpuarray.context(first_context):
        f = function([x, mask], x[mask])
        with pytest.raises(IndexError, match="mask"):
            f(np.zeros((3, 4)), np.ones(4, bool))


def test_a_minibatch_beyond_the_data_is_short_or_empty(first_context):
    with gpuarray.context(first_context):
        data = shared(np.arange(10.0))
        f = function([i], data[i * 4 : (i + 1) * 4])
        assert [len(f(batch)) for batch in (1, 2, 3)] == [4, 2, 0]
