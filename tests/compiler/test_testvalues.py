"""compute_test_value: expressions are computed while they are built."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config
from gpuarray.compiler.graph.testvalues import get_test_value


@pytest.fixture
def raising():
    with config.use(compute_test_value="raise"):
        yield


def given(make, value):
    x = make("x")
    x.tag.test_value = value
    return x


def test_every_expression_has_a_value(raising):
    x = given(T.dmatrix, np.arange(6.0).reshape(2, 3))
    w = theano.shared(np.ones(3), name="w")
    y = T.tanh(T.dot(x, w)) + 1
    np.testing.assert_allclose(
        y.tag.test_value, np.tanh(np.arange(6.0).reshape(2, 3).sum(axis=1)) + 1
    )
    assert get_test_value(y) is y.tag.test_value
    slope = T.grad(y.sum(), w)
    assert slope.tag.test_value.shape == (3,)


def test_a_wrong_shape_is_found_on_the_line_that_makes_it(raising):
    x = given(T.dmatrix, np.ones((5, 10)))
    w = theano.shared(np.ones((9, 2)))
    with pytest.raises(ValueError) as caught:
        T.dot(x, w)  # the line
    assert any(
        "# the line" in note and "(5, 10), (9, 2)" in note
        for note in caught.value.__notes__
    )


def test_a_missing_value_raises_or_warns_or_is_ignored():
    x = T.dvector("x")
    with (
        config.use(compute_test_value="raise"),
        pytest.raises(AttributeError, match="x"),
    ):
        x + 1
    with config.use(compute_test_value="warn"), pytest.warns(UserWarning, match="none"):
        x + 1
    with config.use(compute_test_value="ignore"):
        assert not hasattr((x + 1).tag, "test_value")
    assert not hasattr((x + 1).tag, "test_value")


def test_a_value_of_another_type_is_refused(raising):
    x = given(T.dvector, np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"test value of x.*2 axes, expected 1"):
        x + 1


def test_compiling_computes_none(raising):
    x = given(T.dvector, np.ones(3))
    y = T.log(1 + T.exp(x))
    del x.tag.test_value
    with config.use(device="null"):
        theano.function([x], y)
