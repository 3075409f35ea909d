"""``map_variables``: variables replaced in graphs and in the bodies of loops."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import OpFromGraph, config, scan, shared
from gpuarray.compiler.graph.traverse import evaluated
from gpuarray.compiler.scan_module.scan_utils import map_variables


@pytest.fixture(autouse=True)
def on_null():
    with config.use(floatX="float64", device="null"):
        yield


def value(variable, given):
    """Return a variable's value, by NumPy."""
    arrays = {x: np.asarray(array, x.dtype) for x, array in given.items()}
    (array,) = evaluated([variable], arrays)
    return array


def by_tag(variable):
    return getattr(variable.tag, "replacement", variable)


def test_an_input():
    a, b, c = T.dscalars("a", "b", "c")
    b.tag.replacement = c
    (new,) = map_variables(by_tag, [a + b])
    assert new.owner.inputs == [a, c]


def test_a_replacement_reads_what_it_replaces():
    x, y, z = T.dscalars("x", "y", "z")
    x.tag.replacement = x + z
    product = x * y
    product.tag.replacement = product**2
    (new,) = map_variables(by_tag, [product - 1])
    assert value(new, {x: 2, y: 3, z: 1}) == ((2 + 1) * 3) ** 2 - 1


def test_variables_of_a_body_and_from_outside():
    x, outer = T.dvector("x"), T.dscalar("outer")
    one = shared(1.0, "one")
    z = outer * (one + 1)

    def step(row, state):
        result = state + row
        result.tag.replacement = z * (state - row)
        return result

    zero = T.constant(0, dtype="float64")
    sums, _ = scan(step, x, zero)
    (new,) = map_variables(by_tag, [z * sums])
    given = {x: [1, 2, 3], outer: 0.5, one: one.get_value()}
    np.testing.assert_allclose(value(z * sums, given), [1, 3, 6])
    np.testing.assert_allclose(value(new, given), [-1, -3, -6])


def test_a_body_in_a_body_and_what_it_reads():
    x, y, z = T.dmatrix("x"), T.dscalar("y"), T.dscalar("z")
    y.tag.replacement = z

    def inner(row):
        result, _ = scan(lambda element: element * y, row)
        (factor,) = [v for v in result.owner.op.body.inputs if v.name == "y"]
        factor.tag.replacement = factor + 1
        return result

    products, _ = scan(inner, x)
    (new,) = map_variables(by_tag, [products])
    given = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(value(new, {x: given, z: 2}), given * 3)


def test_an_op_of_a_graph():
    x, y, a, b = T.dscalars("x", "y", "a", "b")
    product = a * b
    product.tag.replacement = product + a
    op = OpFromGraph([a, b], [product])
    (new,) = map_variables(by_tag, [op(x, y)])
    assert value(new, {x: 2, y: 3}) == 8


@pytest.mark.parametrize("is_of_loop", [False, True])
def test_shared_variables_that_are_updated_are_refused_in_bodies(is_of_loop):
    x, count = T.dvector("x"), shared(0.0, "count")
    if not is_of_loop:
        count.default_update = count + 1

    def step(row, state):
        result = state + row
        result.tag.replacement = count * row
        return result, {count: count + 1} if is_of_loop else {}

    sums, _ = scan(step, x, T.constant(0, dtype="float64"))
    with pytest.raises(NotImplementedError, match=r"reads count.*non_sequences"):
        map_variables(by_tag, [sums])


def test_a_replacement_that_is_none():
    x = T.dvector("x")
    with pytest.raises(TypeError, match="gives None for x, expected a variable"):
        map_variables(lambda v: None, [x])
