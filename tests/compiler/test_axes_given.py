"""Axes as programs give them: numbers, arrays, constants, variables."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import DebugMode, Mode, function
from judge import assert_same

pytestmark = pytest.mark.usefixtures("on_context")

X = np.random.RandomState(3).permutation(24).reshape(2, 3, 4).astype("float32")

OVER_AXES = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "sort": np.sort,
    "argsort": np.argsort,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "all": np.all,
    "any": np.any,
}


def computed(expression, *pairs, mode=None):
    """What a function of the variables gives for the values."""
    return function([v for v, _ in pairs], expression, mode=mode)(
        *(value for _, value in pairs)
    )


@pytest.mark.parametrize("name", OVER_AXES)
@pytest.mark.parametrize(
    "given",
    [np.int8(1), np.array(-1), T.constant(2), T.constant(np.int64(-3))],
    ids=["numpy", "0-d array", "constant", "negative constant"],
)
def test_an_axis_may_be_a_number_of_numpy_or_a_constant(name, given):
    x = T.tensor3("x")
    made = getattr(T, name)(x, axis=given)
    axis = int(given.data if isinstance(given, T.Constant) else given)
    expected = getattr(T, name)(x, axis=axis)
    assert made.type == expected.type
    got, same = computed([made, expected], (x, X))
    assert_same(got, same, exact=True)
    np.testing.assert_allclose(got, OVER_AXES[name](X, axis=axis), rtol=1e-5)


@pytest.mark.parametrize(
    "given", [np.array([0, 2]), T.constant([0, 2]), [T.constant(0), np.int64(2)]]
)
def test_axes_may_be_an_array(given):
    x = T.tensor3("x")
    total, largest, moved = computed(
        [x.sum(given), x.max(axis=given), T.moveaxis(x, given, [1, 0])], (x, X)
    )
    assert_same(total, X.sum((0, 2)))
    assert_same(largest, X.max((0, 2)))
    assert_same(moved, np.moveaxis(X, [0, 2], [1, 0]))


@pytest.mark.parametrize("axes", [[[2], [2]], [[0, 2], [0, 2]], [[], []], [2, 2], 2])
def test_axes_of_tensordot_may_be_an_array(axes):
    x, y = T.tensor3("x"), T.tensor3("y")
    other = X if axes != 2 else X.transpose(1, 2, 0)
    given = np.array(axes, "int64")
    got = computed(T.tensordot(x, y, axes=given), (x, X), (y, other))
    assert_same(got, np.tensordot(X, other, axes))


def test_a_wrong_axis_is_told_by_the_name_of_the_operation():
    x, k = T.tensor3("x"), T.iscalar("k")
    with pytest.raises(ValueError, match="sum: axis 3 is not among 3 axes"):
        T.sum(x, axis=T.constant(3))
    with pytest.raises(TypeError, match="max: axis is k, known only when the program"):
        T.max(x, axis=k)
    with pytest.raises(TypeError, match=r"sort: axis is .* of .*float32, scalar"):
        T.sort(x, T.fscalar("f"))
    with pytest.raises(TypeError, match=r"sum: axis is 1\.5, a float"):
        T.sum(x, axis=1.5)
    with pytest.raises(TypeError, match="sum: axis is True, a bool"):
        T.sum(x, axis=True)
    with pytest.raises(TypeError, match="tensordot: axes is 'ab'"):
        T.tensordot(x, x, axes="ab")


# ---- axes that are variables ----

MODES = [None, "FAST_COMPILE", Mode(optimizer=None), DebugMode()]


@pytest.mark.parametrize("mode", MODES, ids=["run", "compile", "plain", "debug"])
def test_join_sort_and_split_take_an_axis_that_is_a_variable(mode):
    k, x = T.iscalar("k"), T.tensor3("x")
    y = T.tensor("float32", (False, True, False), "y")
    outputs = [
        T.join(k, x, 2 * x),
        T.concatenate([x], axis=k),
        T.sort(x, k),
        x.argsort(axis=k),
        *T.split(x, [1, x.shape[k] - 1], 2, k),
    ]
    f = function([k, x], outputs, mode=mode)
    for axis in range(-3, 3):
        joined, alone, ordered, places, first, rest = f(axis, X)
        assert_same(joined, np.concatenate([X, 2 * X], axis))
        assert_same(alone, X)
        assert_same(ordered, np.sort(X, axis))
        assert_same(places, np.argsort(X, axis))
        cut = np.split(X, [1], axis)
        assert_same(first, cut[0])
        assert_same(rest, cut[1])
    assert T.join(k, y, y).type.broadcastable == (False, False, False)
    assert T.sort(y, k).type == y.type


def test_only_the_axis_that_is_chosen_has_to_fit():
    k, x, y = T.lscalar("k"), T.matrix("x"), T.matrix("y")
    f = function([k, x, y], T.join(k, x, y))
    wide, high = np.ones((2, 3), "float32"), np.zeros((5, 3), "float32")
    assert f(0, wide, high).shape == f(-2, wide, high).shape == (7, 3)
    assert f(1, wide, wide).shape == (2, 6)
    with pytest.raises(ValueError):
        f(1, wide, high)


@pytest.mark.parametrize("axis", [2, -3, 100])
def test_an_axis_out_of_bounds_is_told_when_the_program_runs(axis):
    k, x = T.lscalar("k"), T.matrix("x")
    for expression in (T.join(k, x, x), T.sort(x, k), T.split(x, [1, 1], 2, k)[0]):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 2"):
            computed(expression, (k, axis), (x, np.ones((2, 2), "float32")))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gradients_flow_along_the_axis_that_is_chosen(axis):
    k, x = T.iscalar("k"), T.matrix("x")
    weights = np.arange(12, dtype="float32").reshape(3, 4)
    given = np.random.RandomState(1).permutation(12).reshape(3, 4).astype("float32")
    by_sort = T.grad((T.sort(x, k) * weights).sum(), x)
    expected = np.empty_like(given)
    np.put_along_axis(expected, np.argsort(given, axis), weights, axis)
    assert_same(computed(by_sort, (k, axis), (x, given)), expected)
    by_join = T.grad((T.join(k, x, x**2) ** 2).sum(), x)
    got = computed(by_join, (k, axis), (x, given))
    assert_same(got, 2 * given + 4 * given**3)
