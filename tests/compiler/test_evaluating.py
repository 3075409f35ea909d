"""Values of expressions without a function of one's own."""

import pickle

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, shared

x, y = T.dscalars("x", "y")


def test_the_value_of_an_expression():
    assert float((x + y).eval({x: 16.3, y: 12.1})) == 16.3 + 12.1
    assert float((shared(2.0) * 3).eval()) == 6
    np.testing.assert_array_equal(T.arange(3).eval({}), [0, 1, 2])


def test_the_function_is_compiled_once_for_the_same_inputs():
    total = x + 2 * y
    assert float(total.eval({x: 1.0, y: 2.0})) == 5
    (kept,) = total._functions.values()
    assert float(total.eval({y: 3.0, x: 1.0})) == 7
    assert list(total._functions.values()) == [kept]
    with config.use(mode="FAST_COMPILE"):
        assert float(total.eval({y: 3.0, x: 1.0})) == 7
    assert len(total._functions) == 2
    again = pickle.loads(pickle.dumps(total))
    assert "_functions" not in vars(again)


def test_other_inputs_are_another_function():
    inner = T.exp(x)
    total = inner * y
    assert float(total.eval({x: 0.0, y: 3.0})) == 3
    assert float(total.eval({inner: 2.0, y: 3.0})) == 6


def test_mistakes():
    with pytest.raises(TypeError, match="given 'x', expected values of variables"):
        (x + 1).eval({"x": 1.0})
    with pytest.raises(TypeError, match=r"given 2.0, expected values of variables"):
        (x + 1).eval(2.0)
    with pytest.raises(ValueError, match="x is needed, but it is no input"):
        (x + 1).eval()
    with pytest.raises(ValueError, match="the input y is not used"):
        (x + 1).eval({x: 1.0, y: 2.0})


def test_parents_and_rounding():
    total = x + y
    assert total.get_parents() == [total.owner]
    assert x.get_parents() == []
    v = T.dvector("v")
    values = np.array([-1.5, 0.5, 2.5])
    np.testing.assert_array_equal(v.round().eval({v: values}), np.round(values))
    away = v.round("half_away_from_zero")
    np.testing.assert_array_equal(away.eval({v: values}), [-2, 1, 3])
    for name in ("ceil", "floor", "trunc"):
        made = getattr(v, f"__{name}__")()
        np.testing.assert_array_equal(made.eval({v: values}), getattr(np, name)(values))
