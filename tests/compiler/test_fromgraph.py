"""Ops made of graphs: values, gradients, overrides."""

import pickle

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import f64
from evaluate import evaluate
from gpuarray.compiler import OpFromGraph, Rop, config, function, grad, jacobian, shared
from gpuarray.compiler.errors import DisconnectedInputError, NullTypeGradError
from gpuarray.compiler.gradient import DisconnectedType, NullType
from test_forward import assert_directions_agree
from test_gradient import assert_gradients_agree

x, y = T.dvector("x"), T.dvector("y")
a, b = T.dvector("a"), T.dvector("b")
VALUES = {a: f64(3), b: f64(3)[::-1].copy()}


def product(**options):
    return OpFromGraph([x, y], [x * y, T.exp(x)], name="product", **options)


def test_an_op_of_a_graph_computes_what_the_graph_does():
    op = product()
    both, power = op(a, b)
    assert both.type == a.type and str(both.owner.op) == "product"
    found = evaluate([both, power], VALUES)
    np.testing.assert_allclose(found[0], VALUES[a] * VALUES[b])
    np.testing.assert_allclose(found[1], np.exp(VALUES[a]))
    assert str(OpFromGraph([x], [x])) == "OpFromGraph"
    loaded = pickle.loads(pickle.dumps(both))
    assert str(loaded.owner.op) == "product"


def test_its_derivatives_are_those_of_the_graph():
    op = product()
    arrays = [VALUES[a], VALUES[b]]
    assert_gradients_agree(op, arrays, [a, b])
    assert_directions_agree(op, arrays, [a, b])
    with pytest.raises(DisconnectedInputError):
        grad(op(a, b)[1].sum(), b)
    second = grad(grad(op(a, b)[0].sum(), a).sum(), b)
    np.testing.assert_array_equal(evaluate(second, VALUES), [1, 1, 1])
    matrix = jacobian(op(a, b)[1], a)
    np.testing.assert_allclose(evaluate(matrix, VALUES), np.diag(np.exp(VALUES[a])))


def test_it_is_its_graph_in_a_function(context):
    with config.use(floatX="float32", device=context.name):
        u, w = T.vector("u"), shared(np.full(3, 2, "f4"), name="w")
        square = OpFromGraph([u], [u * u * w])
        twice = OpFromGraph([u], [square(u) + square(2 * u)])
        z = T.vector("z")
        f = function([z], [twice(z), grad(twice(z).sum(), w)], updates={w: twice(z)})
        data = np.arange(3, dtype="f4")
        value, slope = f(data)
        np.testing.assert_allclose(value, 10 * data**2)
        np.testing.assert_allclose(slope, 5 * data**2)
        np.testing.assert_allclose(w.get_value(), 10 * data**2)
        ops = [type(n.op).__name__ for n in f.maker.fgraph.toposort()]
        assert not [each for each in ops if "FromGraph" in each]


def test_each_place_of_an_input_has_a_gradient_of_its_own():
    op = OpFromGraph([x, y], [x * T.exp(y)])
    u = VALUES[a]
    nested = OpFromGraph([x, y], [op(x, y) * op(y, x)])
    slopes = [
        (op(a, a), np.exp(u) * (1 + u)),
        (op(a, T.sin(a)), np.exp(np.sin(u)) * (1 + u * np.cos(u))),
        (op(T.sin(a), a), np.exp(u) * (np.cos(u) + np.sin(u))),
        (nested(a, a), np.exp(2 * u) * (2 * u + 2 * u**2)),
    ]
    for value, expected in slopes:
        np.testing.assert_allclose(evaluate(grad(value.sum(), a), VALUES), expected)
    second = grad(grad(op(a, a).sum(), a).sum(), a)
    np.testing.assert_allclose(evaluate(second, VALUES), np.exp(u) * (2 + u))
    moved = Rop(op(a, a), a, b)
    np.testing.assert_allclose(evaluate(moved, VALUES), np.exp(u) * (1 + u) * VALUES[b])
    rows = jacobian(op(a, a), a)
    np.testing.assert_allclose(
        evaluate(rows, VALUES), np.diag(np.exp(u) * (1 + u)), atol=1e-12
    )


def test_attention_of_one_array_to_itself_is_differentiated():
    Q, K, V = (T.dmatrix(each) for each in "QKV")

    def attend(q, k, v):
        return T.dot(T.nnet.softmax(T.dot(q, k.T)), v)

    op, X = OpFromGraph([Q, K, V], [attend(Q, K, V)]), T.dmatrix("X")
    values = {X: f64(3, 2)}
    found = evaluate(grad((op(X, X, X) ** 2).sum(), X), values)
    expected = evaluate(grad((attend(X, X, X) ** 2).sum(), X), values)
    np.testing.assert_allclose(found, expected)


def test_a_shared_variable_that_is_captured_may_be_given_too(context):
    with config.use(floatX="float64", device=context.name):
        w = shared(np.array([1.0, 2.0, 3.0]), name="w")
        op = OpFromGraph([x], [x * w])
        f = function([], [op(w), grad(op(w).sum(), w), grad(op(w * w).sum(), w)])
        value, slope, other = f()
        np.testing.assert_allclose(value, [1, 4, 9])
        np.testing.assert_allclose(slope, [2, 4, 6])
        np.testing.assert_allclose(other, [3, 12, 27])


def test_an_override_of_one_place_leaves_the_other_its_own():
    mixed = product(grad_overrides=["default", lambda ins, gs: gs[0] * 5])
    found = evaluate(grad(mixed(a, a)[0].sum(), a), VALUES)
    np.testing.assert_allclose(found, VALUES[a] + 5)
    mixed = product(lop_overrides=["default", lambda ins, outs, gs: gs[0] * 5])
    found = evaluate(grad(mixed(a, a * a)[0].sum(), a), VALUES)
    np.testing.assert_allclose(found, VALUES[a] ** 2 + 10 * VALUES[a])


def test_gradients_can_be_overridden():
    for op in (
        product(lop_overrides=lambda ins, outs, gs: [gs[0] * 7, outs[0]]),
        product(lop_overrides=[lambda ins, outs, gs: gs[0] * 7, lambda i, o, g: o[0]]),
        product(grad_overrides=lambda ins, gs: [gs[0] * 7, ins[0] * ins[1]]),
    ):
        found = evaluate(grad(op(a, b)[0].sum(), [a, b]), VALUES)
        np.testing.assert_allclose(found, [[7] * 3, VALUES[a] * VALUES[b]])
    g0, g1 = T.dvector(), T.dvector()
    graph = OpFromGraph([x, y, g0, g1], [g0 * 7 + 0 * x, x * y + 0 * g1 + 0 * y])
    found = evaluate(grad(product(grad_overrides=graph)(a, b)[0].sum(), [a, b]), VALUES)
    np.testing.assert_allclose(found, [[7] * 3, VALUES[a] * VALUES[b]])
    mixed = product(grad_overrides=["default", lambda ins, gs: gs[0] * 5])
    found = evaluate(grad(mixed(a, b)[0].sum(), [a, b]), VALUES)
    np.testing.assert_allclose(found, [VALUES[b], [5] * 3])


def test_gradients_can_be_declared_absent():
    op = product(grad_overrides=["default", DisconnectedType()()])
    with pytest.raises(DisconnectedInputError):
        grad(op(a, b)[0].sum(), b)
    op = product(grad_overrides=[NullType("no slope")(), None])
    with pytest.raises(NullTypeGradError, match="no slope"):
        grad(op(a, b)[0].sum(), a)


def test_directions_can_be_overridden():
    op = product(rop_overrides=lambda ins, points: [points[0] * 9, points[1]])
    moved = Rop(op(a, b)[0], [a, b], [b, a])
    np.testing.assert_allclose(evaluate(moved, VALUES), 9 * VALUES[b])


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="y is needed, but it is no input"):
        OpFromGraph([x], [x * y])
    with pytest.raises(ValueError, match="an input twice"):
        OpFromGraph([x, x], [x])
    with pytest.raises(TypeError, match="expected lists of variables"):
        OpFromGraph([x], [3])
    with pytest.raises(TypeError, match="product: given 1 inputs, expected 2"):
        product()(a)
    with pytest.raises(TypeError, match=r"product: given TensorType.*matrix"):
        product()(a, T.dmatrix())
    with pytest.raises(ValueError, match="expected one"):
        product(lop_overrides=lambda i, o, g: g, grad_overrides=lambda i, g: g)
    wrong = product(grad_overrides=lambda ins, gs: [gs[0]])
    with pytest.raises(ValueError, match="the overrides give 1 variables, expected 2"):
        grad(wrong(a, b)[0].sum(), a)
