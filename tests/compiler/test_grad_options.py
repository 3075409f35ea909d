"""What `grad` can be asked for besides: marks, parts of graphs, absent gradients."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import f64
from evaluate import evaluate
from gpuarray.compiler import Lop, Op, Rop, config, function, grad, subgraph_grad
from gpuarray.compiler.errors import (
    DisconnectedInputError,
    GraphTypeError,
    GraphValueError,
    NoGradientError,
    NullTypeGradError,
)
from gpuarray.compiler.gradient import (
    DisconnectedType,
    NullType,
    consider_constant,
    disconnected_grad,
    disconnected_type,
    grad_clip,
    grad_not_implemented,
    grad_scale,
    grad_undefined,
    null_type,
    undefined_grad,
    zero_grad,
)
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.control.gradient_markers import Mark

x, y, v = T.dvector("x"), T.dvector("y"), T.dvector("v")
VALUES = {x: np.array([1.0, -2, 3]), y: np.array([0.5, 2, 1]), v: np.ones(3)}


def test_marks_change_what_flows_back():
    ones = np.ones(3)
    flows = {
        zero_grad: 0 * ones,
        consider_constant: 0 * ones,
        lambda x: grad_scale(x, -3): -3 * ones,
        lambda x: grad_clip(x, -0.5, 0.75): 0.75 * ones,
        lambda x: grad_clip(-x, -0.5, 0.75): -0.75 * ones,
    }
    for mark, expected in flows.items():
        marked = mark(x)
        assert marked.type == x.type
        np.testing.assert_array_equal(evaluate(grad(marked.sum(), x), VALUES), expected)
    mixed = grad((zero_grad(x) * x).sum(), x)
    np.testing.assert_array_equal(evaluate(mixed, VALUES), VALUES[x])
    clipped = grad((grad_clip(x, -1, 1) * y).sum(), x)
    np.testing.assert_array_equal(evaluate(clipped, VALUES), [0.5, 1, 1])


def test_second_derivatives_go_through_marks():
    first = grad((grad_scale(x, 2) ** 3).sum(), x)
    np.testing.assert_allclose(evaluate(first, VALUES), 6 * VALUES[x] ** 2)
    second = grad(first.sum(), x)
    np.testing.assert_allclose(evaluate(second, VALUES), 24 * VALUES[x])


def test_what_is_disconnected_depends_on_nothing():
    stopped = disconnected_grad(x)
    with pytest.raises(DisconnectedInputError, match="x is disconnected"):
        grad(stopped.sum(), x)
    found = grad((stopped * x).sum(), x)
    np.testing.assert_array_equal(evaluate(found, VALUES), VALUES[x])


def test_marks_are_gone_in_a_function(context):
    with config.use(floatX="float32", device=context.name):
        z = T.vector("z")
        marked = grad_clip(zero_grad(z) + disconnected_grad(z), 0, 1)
        for rewrites in ("all", "none"):
            with config.use(rewrites=rewrites):
                f = function([z], marked * 2)
            assert f([1, 2]).tolist() == [4, 8]
            is_there = any(isinstance(n.op, Mark) for n in f.maker.fgraph.toposort())
            assert is_there == (rewrites == "none")


def test_an_undefined_gradient_is_an_error_unless_it_is_asked_for():
    cost = (undefined_grad(x) * y).sum()
    with pytest.raises(NullTypeGradError, match="undefined_grad was put there") as told:
        grad(cost, [y, x])
    assert isinstance(told.value, TypeError)
    by_y, by_x = grad(cost, [y, x], null_gradients="return")
    assert isinstance(by_x.type, NullType)
    assert "undefined_grad was put there" in by_x.type.why_null
    np.testing.assert_array_equal(evaluate(by_y, VALUES), VALUES[x])
    behind = grad(
        (undefined_grad(T.exp(x)) * y).sum() + x.sum(), x, null_gradients="return"
    )
    assert isinstance(behind.type, NullType)


def test_absent_gradients_come_in_the_form_that_is_asked_for():
    cost = x.sum()
    assert grad(cost, y, None, "ignore", return_disconnected="None") is None
    absent = grad(cost, y, None, "ignore", return_disconnected="Disconnected")
    assert absent.type == disconnected_type == DisconnectedType()
    zeros = grad(cost, [y], None, "ignore")
    np.testing.assert_array_equal(evaluate(zeros, VALUES), [[0, 0, 0]])
    for kind in (disconnected_type, null_type):
        with pytest.raises(TypeError, match="there is no value"):
            kind.filter(1.0)


def test_gradients_are_named_after_cost_and_variable():
    cost = (x**2).sum()
    assert grad(cost, x).name is None
    cost.name = "c"
    assert grad(cost, x).name == "(dc/dx)"
    assert grad(cost, x, add_names=False).name is None
    assert grad(cost, [x * 1 + y, x], None, "ignore")[1].name == "(dc/dx)"
    assert y.name == "y"
    grad(None, x, known_grads={x * 1.0: y})
    assert y.name == "y"


def test_integers_have_gradients_of_real_numbers():
    n = T.ivector("n")
    by_n = grad((x * n).sum(), n)
    assert by_n.dtype == "float64"
    values = VALUES | {n: np.array([1, 2, 3], "int32")}
    np.testing.assert_array_equal(evaluate(by_n, values), VALUES[x])
    square = grad((T.cast(n, "float32") ** 2).sum(), n)
    assert square.dtype == "float32"
    np.testing.assert_array_equal(evaluate(square, values), [2, 4, 6])


def test_a_graph_can_be_differentiated_in_parts():
    w1, w2 = T.dmatrix("w1"), T.dmatrix("w2")
    hidden = T.tanh(T.dot(x, w1))
    cost = (T.dot(hidden, w2) ** 2).sum() + 0.1 * (w1**2).sum()
    values = VALUES | {w1: f64(3, 4) / 3, w2: f64(4, 2)}
    whole = grad(cost, [w1, w2])
    (by_w2,), ends = subgraph_grad([w2], [hidden, w1], cost=cost)
    (by_w1,), _ = subgraph_grad([w1], [x], start={hidden: ends[0]})
    parts = [by_w1 + ends[1], by_w2]
    for part, right in zip(
        evaluate(parts, values), evaluate(whole, values), strict=True
    ):
        np.testing.assert_allclose(part, right, rtol=1e-10)
    both = subgraph_grad([w1], [x], {hidden: ends[0]}, 0.1 * (w1**2).sum(), True)
    assert len(both) == 4 and len(both[2]) == len(both[3]) == 2
    np.testing.assert_allclose(*evaluate([both[0][0], whole[0]], values), rtol=1e-10)
    with pytest.raises(GraphValueError, match="give start, or cost"):
        subgraph_grad([w1], [x])


def test_known_gradients_have_the_axes_of_their_variables():
    with pytest.raises(GraphTypeError, match="expected 1 axes"):
        grad(None, x, known_grads={x**2: T.dmatrix()})
    with pytest.raises(GraphTypeError, match="expected variables"):
        grad(None, x, known_grads={3: x})
    with pytest.raises(GraphValueError, match="given 2 eval_points for 1"):
        Lop(x**2, x, [v, v])
    twice = Lop([x**2, x**2], x, [v, 2 * v])
    np.testing.assert_array_equal(evaluate(twice, VALUES), 6 * VALUES[x])
    same = x**2
    np.testing.assert_array_equal(
        evaluate(Lop([same, same], x, [v, 2 * v]), VALUES), 6 * VALUES[x]
    )


def test_options_take_their_values_only():
    for option in ("disconnected_inputs", "return_disconnected", "null_gradients"):
        with pytest.raises(GraphValueError, match=f"{option}='maybe'; it takes"):
            grad(x.sum(), x, **{option: "maybe"})
    with pytest.raises(GraphTypeError, match="wrt holds 'x', a str"):
        grad(x.sum(), ["x"])


class TheanoStyle(Op):
    """x, y -> x + y, x - y, as an op of a Theano program is written."""

    __props__ = ()

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type(), x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + inputs[1]
        output_storage[1][0] = inputs[0] - inputs[1]

    def grad(self, inputs, output_grads):
        total, difference = output_grads
        if isinstance(total.type, DisconnectedType):
            total = inputs[0].zeros_like()
        if isinstance(difference.type, DisconnectedType):
            return [total, total]
        return [total + difference, total - difference]


def test_an_op_in_theano_s_way_meets_the_types_of_absent_gradients():
    total, difference = TheanoStyle()(x, y)
    for cost, expected in (
        (total.sum(), (1, 1)),
        (difference.sum(), (1, -1)),
        ((total + 2 * difference).sum(), (3, -1)),
    ):
        for found, right in zip(
            evaluate(grad(cost, [x, y]), VALUES), expected, strict=True
        ):
            np.testing.assert_array_equal(found, [right] * 3)


class WithLOp(Op):
    __props__ = ("answer",)

    def __init__(self, answer):
        self.answer = answer

    def infer(self, x, n):
        return x

    def reference(self, x, n):
        return np.exp(x)

    def L_op(self, inputs, outputs, output_grads):
        (g,) = output_grads
        if self.answer == "right":
            return [g * outputs[0], disconnected_type()]
        if self.answer == "undefined":
            return [g * outputs[0], grad_undefined(self, 1, inputs[1], "a flag")]
        if self.answer == "missing":
            return [g * outputs[0], grad_not_implemented(self, 1, inputs[1])]
        return [T.dmatrix()] if self.answer == "few" else [T.dmatrix(), None]


def test_an_op_may_say_what_flows_given_its_outputs():
    cost = WithLOp("right")(x, y).sum()
    np.testing.assert_allclose(evaluate(grad(cost, x), VALUES), np.exp(VALUES[x]))
    with pytest.raises(DisconnectedInputError):
        grad(cost, y)
    for answer, text in (
        ("undefined", "input 1 .y. is mathematically not defined: a flag"),
        ("missing", "input 1 .y. is not implemented"),
    ):
        cost = WithLOp(answer)(x, y).sum()
        grad(cost, x)
        with pytest.raises(NullTypeGradError, match=text):
            grad(cost, y)
    with pytest.raises(GraphTypeError, match="for its input 0 does not fit") as caught:
        grad(WithLOp("wrong")(x, y).sum(), x)
    assert __file__ in str(caught.value)
    with pytest.raises(GraphValueError, match="gives 1 gradients for 2 inputs"):
        grad(WithLOp("few")(x, y).sum(), x)


@pytest.mark.parametrize("pattern", [[[True, False]], [[True], [True]], [[]], []])
def test_a_wrong_connection_pattern_is_told(pattern):
    class Loose(Op):
        __props__ = ()

        def infer(self, x):
            return x

        def connection_pattern(self, node):
            return pattern

    with pytest.raises(GraphValueError, match="expected 1 rows"):
        grad(Loose()(x).sum(), x)


def test_gradients_of_any_order():
    s = T.dscalar("s")
    found, values = T.exp(2 * s), {s: np.array(0.3)}
    for order in range(1, 6):
        found = grad(found, s)
        np.testing.assert_allclose(evaluate(found, values), 2**order * np.exp(0.6))


def test_an_op_whose_gradient_has_none_says_so_at_the_second():
    class OnceOnly(Op):
        __props__ = ()

        def infer(self, x):
            return x

        def grad(self, m, g, y, x):
            return Opaque()(g)

    class Opaque(Op):
        __props__ = ()

        def infer(self, x):
            return x

    gradient = grad(OnceOnly()(x).sum(), x)
    assert gradient.type == x.type
    with pytest.raises(NoGradientError, match="Opaque"):
        grad(grad((OnceOnly()(x) * x).sum(), x).sum(), x)


Z = T.zvector("z")
COMPLEX = np.array([1 + 2j, -0.5 + 0.3j, 0.2 - 1j])
COSTS = {
    "abs": lambda z: abs(z).sum(),
    "angle": lambda z: (T.angle(z) * T.angle(z)).sum(),
    "conjugate": lambda z: T.real(z * T.conjugate(z) * z).sum(),
    "exp": lambda z: T.real(T.exp(z) * z).sum(),
    "imag": lambda z: T.imag(T.sin(z) * z * z).sum(),
    "mean": lambda z: abs(z - 1j).mean() + T.real(z**2).sum(),
    "power": lambda z: abs(T.sqrt(z) * T.log(z) / (z + 2)).sum(),
    "product": lambda z: abs(T.dot(T.outer(z, z), z)).sum(),
    "parts": lambda z: T.real(z[1:] * z[:-1]).sum(),
    "sign": lambda z: (T.real(T.sign(z)) ** 3).sum(),
    "twice": lambda z: abs(grad(abs(z * z).sum(), z)).sum(),
}


def slope(cost, values, z, along, step=1e-6):
    ends = [
        evaluate(cost, values | {z: values[z] + sign * step * along})
        for sign in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.parametrize("name", COSTS)
def test_the_gradient_by_complex_numbers_is_the_steepest_ascent(name):
    cost = COSTS[name](Z)
    gradient = grad(cost, Z)
    assert gradient.type == Z.type
    values = {Z: COMPLEX}
    found = evaluate(gradient, values)
    for i, unit in enumerate(np.eye(3)):
        by_parts = slope(cost, values, Z, unit) + 1j * slope(cost, values, Z, 1j * unit)
        np.testing.assert_allclose(found[i], by_parts, rtol=1e-5, atol=1e-7)


def test_real_variables_have_real_gradients_through_complex_numbers():
    cost = abs(T.exp(x * (1 + 2j)) + x).sum()
    gradient = grad(cost, x)
    assert gradient.type == x.type
    values = {x: np.array([0.3, 1.2, -0.7])}
    for i, unit in enumerate(np.eye(3)):
        np.testing.assert_allclose(
            evaluate(gradient, values)[i], slope(cost, values, x, unit), rtol=1e-5
        )


def test_complex_directions_go_forward():

    d = T.zvector("d")
    moved = np.array([0.3 + 1j, 1, -2j])
    for build in (lambda z: T.exp(z) * abs(z), lambda z: T.imag(z * z) + z[::-1]):
        out = build(Z)
        found = evaluate(Rop(out, Z, d), {Z: COMPLEX, d: moved})
        expected = slope(out, {Z: COMPLEX}, Z, moved)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_what_complex_numbers_have_no_gradient_of_is_told():
    with pytest.raises(GraphTypeError, match="take the real part"):
        grad(Z.sum(), Z)
    values, _ = T.nlinalg.eigh(T.zmatrix())
    with pytest.raises(NoGradientError, match="of complex numbers is not offered"):
        grad(values.sum(), values.owner.inputs[0])


def test_a_gradient_that_is_a_variable_of_the_program_keeps_its_name():
    class HalfSquare(Op):
        __props__ = ()

        def infer(self, x):
            return x

        def grad(self, m, g, y, x):
            return x

    s = T.dscalar("s")
    cost = HalfSquare()(s)
    cost.name = "cost"
    assert grad(cost, s) is s
    assert s.name == "s" and not hasattr(s.tag, "derived_from")
