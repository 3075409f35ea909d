"""Gradients against finite differences in float64: rows, cases, programs."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import CASES, f64
from evaluate import evaluate, finite_differences
from gpuarray.compiler import Lop, Op, config, grad, shared
from gpuarray.compiler.derivatives.node import carries, fitted, is_complex
from gpuarray.compiler.derivatives.reverse import gradients_within
from gpuarray.compiler.errors import (
    DisconnectedInputError,
    GraphTypeError,
    GraphValueError,
    NoGradientError,
)
from gpuarray.compiler.graph.core import sources_of
from gpuarray.compiler.graph.disconnected import DisconnectedType, NullType
from gpuarray.compiler.graph.traverse import ancestors, toposort
from gpuarray.compiler.graph.types import GpuArrayType, TensorType, generic
from gpuarray.compiler.ops.elemwise.elemwise import Composite, CompositeStep, Elemwise
from gpuarray.scalars import SCALARS

WITHOUT = {"gcd", "lcm", "exponent"}  # no gradient, or of integers


def assert_gradients_agree(build, arrays, variables, rtol=1e-5, atol=1e-6):
    """`build(*variables)` may be of any shape: it is weighted and summed to a cost."""
    built = build(*variables)
    outputs = list(built) if isinstance(built, (list, tuple)) else [built]
    outputs = [each for each in outputs if each.dtype == "float64"]
    values = dict(zip(variables, arrays, strict=True))
    weights = [
        np.random.default_rng(7).uniform(0.5, 1.5, evaluate(each, values).shape)
        for each in outputs
    ]
    cost = sum((each * w).sum() for each, w in zip(outputs, weights, strict=True))
    floats = [each for each in variables if each.dtype == "float64"]
    gradients = evaluate(grad(cost, floats, disconnected_inputs="ignore"), values)
    numeric = finite_differences(
        lambda *moved: evaluate(
            cost, {**values, **dict(zip(floats, moved, strict=True))}
        ),
        [values[each] for each in floats],
    )
    for variable, found, expected in zip(floats, gradients, numeric, strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol, atol, err_msg=str(variable))


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.has_gradient], ids=lambda case: case.name
)
def test_the_gradient_of_an_op_agrees_with_finite_differences(case):
    variables = case.variables()
    if "float64" not in {each.dtype for each in variables}:
        pytest.skip("no float64 input to differentiate by")
    assert_gradients_agree(case.build, case.arrays, variables)


def points(name):
    """Values in the row's domain, away from its kinks."""
    row = SCALARS[name]
    low, high = max(row.domain[0], -2.3), min(row.domain[1], 2.7)
    margin = (high - low) / 20
    inner = np.linspace(low + margin, high - margin, 7)
    return inner + 0.0123


def operands(name):
    row = SCALARS[name]
    base = points(name)
    arrays = [np.roll(base, 2 * k) * (1 + 0.01 * k) for k in range(row.arity)]
    if name == "power":
        arrays[0] = np.abs(arrays[0])
    return arrays


# By orders and shapes no gradient is offered.
OTHER_OPERANDS = {
    "where": (0, "bool"),
    "ldexp": (1, "int32"),
    **{
        name: (0, "int8") for name in ("jv", "iv", "gammainc", "gammaincc", "polygamma")
    },
}


def row_case(name, dtype="float64"):
    """Operands of a row and variables for them, of real numbers where it takes them."""
    arrays = operands(name)
    dtypes = [dtype] * len(arrays)
    if name in OTHER_OPERANDS:
        place, dtypes[place] = OTHER_OPERANDS[name]
        arrays[place] = (arrays[place] > 0).astype(dtypes[place])
    variables = [T.vector(f"x{i}", dtype=each) for i, each in enumerate(dtypes)]
    return arrays, variables


FLOAT_ROWS = sorted(
    name
    for name, row in SCALARS.items()
    if row.result != "bool"
    and not row.gives_complex
    and not name.startswith(("bitwise", "left", "right", "inv"))
)


@pytest.mark.parametrize("name", [n for n in FLOAT_ROWS if n not in WITHOUT])
def test_the_gradient_of_a_row_agrees_with_finite_differences(name):
    arrays, variables = row_case(name)
    assert_gradients_agree(Elemwise(SCALARS[name]), arrays, variables, rtol=2e-5)


@pytest.mark.parametrize(
    "name", [n for n in FLOAT_ROWS if n not in {*WITHOUT, "float_power"}]
)
def test_the_gradient_of_a_row_stays_in_float32(name):
    _, variables = row_case(name, "float32")
    out = Elemwise(SCALARS[name])(*variables)
    floats = [each for each in variables if each.dtype == "float32"]
    gradients = grad(out.sum(), floats, disconnected_inputs="ignore")
    for gradient in gradients:
        for variable in ancestors([gradient]):
            assert variable.dtype != "float64", (variable, variable.owner)


def test_a_gradient_takes_the_dtype_of_its_variable_through_a_cast():
    x = T.dvector("x")
    gradient = grad(T.square(T.cast(x, "float32")).sum(), x)
    assert gradient.type == x.type
    np.testing.assert_allclose(evaluate(gradient, {x: f64(3)}), 2 * f64(3), rtol=1e-6)
    assert grad(T.exp(T.cast(T.ivector(), "floatX")).sum() + x.sum(), x).type == x.type


def test_what_was_broadcast_is_summed():
    m, r, c, s = T.dmatrix("m"), T.drow("r"), T.dcol("c"), T.dscalar("s")
    arrays = [f64(3, 4), f64(1, 4), f64(3, 1), f64()]
    assert_gradients_agree(
        lambda m, r, c, s: T.tanh(m * r + c) * s, arrays, [m, r, c, s]
    )
    gradients = grad((m * r + c * s).sum(), [m, r, c, s])
    assert [g.type for g in gradients] == [v.type for v in (m, r, c, s)]


def test_logistic_regression_has_the_gradients_that_numpy_finds():
    rng = np.random.default_rng(0)
    data, target = rng.standard_normal((20, 5)), rng.integers(0, 2, 20).astype(float)
    x, y = T.matrix("x"), T.vector("y")
    w, b = shared(rng.standard_normal(5), name="w"), shared(0.3, name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = grad(cost, [w, b])
    prediction = p_1 > 0.5
    values = {x: data, y: target}
    w0, b0 = w.get_value(), b.get_value()
    p = 1 / (1 + np.exp(-data @ w0 - b0))
    np.testing.assert_allclose(evaluate(p_1, values), p)
    np.testing.assert_array_equal(evaluate(prediction, values), p > 0.5)
    np.testing.assert_allclose(
        evaluate(xent, values), -target * np.log(p) - (1 - target) * np.log(1 - p)
    )
    expected = data.T @ (p - target) / 20 + 0.02 * w0
    np.testing.assert_allclose(evaluate(gw, values), expected, rtol=1e-10)
    np.testing.assert_allclose(evaluate(gb, values), (p - target).mean(), rtol=1e-10)
    assert gw.type == w.type
    assert gb.type == b.type


def test_logistic_regression_in_float32_stays_in_float32():
    with config.use(floatX="float32"):
        x, y = T.matrix("x"), T.vector("y")
        w, b = shared(np.ones(5, "f4"), name="w"), shared(np.float32(0), name="b")
        p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
        xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
        cost = xent.mean() + 0.01 * (w**2).sum()
        gradients = grad(cost, [w, b])
        updates = [w - 0.1 * gradients[0], b - 0.1 * gradients[1]]
    for variable in ancestors(updates):
        assert variable.dtype != "float64", variable


def test_gradients_can_be_differentiated_again():
    x = T.dscalar("x")
    first = grad(x**4, x)
    second = grad(first, x)
    third = grad(second, x)
    values = {x: np.array(1.5)}
    np.testing.assert_allclose(evaluate(second, values), 12 * 1.5**2)
    np.testing.assert_allclose(evaluate(third, values), 24 * 1.5)


def test_a_composite_has_the_gradient_of_its_rows():
    steps = (
        CompositeStep("mul", (0, 1), "float64"),
        CompositeStep("exp", (2,), "float64"),
        CompositeStep("sin", (2,), "float64"),
    )
    composite = Composite(("float64", "float64"), steps, (3, 4))
    arrays = [f64(3, 4) / 3, f64(1, 4) / 3]
    variables = [T.dmatrix("x"), T.drow("y")]
    assert_gradients_agree(Elemwise(composite), arrays, variables)


def test_ties_share_the_gradient_of_max_and_the_first_operand_takes_that_of_maximum():
    x, y = T.dvector("x"), T.dvector("y")
    tie = {x: np.array([1.0, 3.0, 3.0]), y: np.array([1.0, 3.0, 3.0])}
    np.testing.assert_array_equal(evaluate(grad(x.max(), x), tie), [0, 1, 1])
    both = evaluate(grad(T.maximum(x, y).sum(), [x, y]), tie)
    np.testing.assert_array_equal(both, [[1, 1, 1], [0, 0, 0]])


def test_the_gradient_of_abs_at_zero_is_zero():
    x = T.dvector("x")
    found = evaluate(grad(abs(x).sum(), x), {x: np.array([-2.0, 0.0, 3.0])})
    np.testing.assert_array_equal(found, [-1, 0, 1])


def test_derivatives_of_a_standard_deviation_of_equal_elements_are_zero():
    X, D = T.dmatrices("X", "D")
    y = T.std(X, axis=1)
    slope = T.grad(y.sum(), X)
    second = T.grad((slope * D).sum(), X)
    values = np.array([[2.0, 2, 2], [1, 2, 3]])
    for given in (values, values[:, :1]):
        for found in evaluate([y, slope, second, T.Rop(y, X, D)], {X: given, D: given}):
            assert np.isfinite(found).all() and not found[0].any()
    std, by_x = evaluate([y, slope], {X: values})
    np.testing.assert_allclose(std, values.std(axis=1))
    np.testing.assert_allclose(
        by_x[1], np.array([-1, 0, 1]) / 3 / values[1].std(), atol=1e-15
    )


def test_the_gradient_of_a_product_with_zeros_is_exact():
    x = T.dvector("x")
    gradient = grad(x.prod(), x)
    np.testing.assert_array_equal(
        evaluate(gradient, {x: np.array([0.0, 2, 3])}), [6, 0, 0]
    )
    np.testing.assert_array_equal(
        evaluate(gradient, {x: np.array([0.0, 0, 3])}), [0, 0, 0]
    )


def test_the_result_is_shaped_as_wrt():
    x, y = T.dscalar("x"), T.dscalar("y")
    assert grad(x * y, x).type == x.type
    assert isinstance(grad(x * y, [x, y]), list)
    assert isinstance(grad(x * y, (x, y)), tuple)
    (of_cost,) = grad(x, [x])
    assert evaluate(of_cost, {x: np.array(3.0)}) == 1


def test_nothing_flows_through_what_is_considered_constant():
    x = T.dscalar("x")
    square = x**2
    gradient = grad(square * x, x, consider_constant=[square])
    assert evaluate(gradient, {x: np.array(3.0)}) == 9


def test_known_gradients_start_the_flow():
    x, y = T.dvector("x"), T.dvector("y")
    square = x**2
    values = {x: np.array([1.0, 2.0]), y: np.array([3.0, 4.0])}
    gradient = grad(None, x, known_grads={square: y})
    np.testing.assert_array_equal(evaluate(gradient, values), [6, 16])
    np.testing.assert_array_equal(evaluate(Lop(square, x, y), values), [6, 16])


def test_a_variable_used_twice_gets_both_parts():
    x = T.dvector("x")
    y = T.exp(x)
    gradient = grad((y * y + y).sum(), x)
    a = f64(3)
    np.testing.assert_allclose(
        evaluate(gradient, {x: a}), 2 * np.exp(2 * a) + np.exp(a)
    )


def test_gradients_remember_the_line_of_the_forward_node():
    x = T.dvector("x")
    y = T.exp(x)
    for node in toposort([grad(y.sum(), x)]):
        assert node.trace is not None
        assert node.trace.file == __file__


def test_a_cost_that_is_no_scalar_is_refused():
    x = T.dvector("x")
    with pytest.raises(TypeError, match="cost must be a scalar") as caught:
        grad(x * 2, x)
    assert __file__ in str(caught.value)
    with pytest.raises(GraphTypeError, match="real numbers"):
        grad(T.zscalar(), x)
    with pytest.raises(GraphTypeError, match="expected a variable"):
        grad(3.0, x)
    with pytest.raises(GraphValueError, match="cost is None"):
        grad(None, x)


def test_a_disconnected_input_is_an_error_unless_it_is_ignored():
    x, y, n = T.dvector("x"), T.dvector("y"), T.ivector("n")
    cost = (x * n).sum()
    with pytest.raises(DisconnectedInputError, match="y is disconnected"):
        grad(cost, [x, y])
    with pytest.raises(DisconnectedInputError, match="no gradient flows to it"):
        grad(x.sum() + n[0], n[1:])
    with pytest.warns(UserWarning, match="y is disconnected"):
        grad(cost, y, disconnected_inputs="warn")
    zero = grad(cost, y, disconnected_inputs="ignore")
    np.testing.assert_array_equal(evaluate(zero, {y: f64(3)}), [0, 0, 0])
    with pytest.raises(DisconnectedInputError):
        grad(x.shape[0] * 0.5, x)
    with pytest.raises(GraphValueError, match="disconnected_inputs"):
        grad(cost, x, disconnected_inputs="maybe")


def test_an_op_without_gradient_says_so_by_name():
    class Opaque(Op):
        __props__ = ()

        def infer(self, x):
            return x

    x = T.dvector("x")
    with pytest.raises(NoGradientError, match=r"Opaque.*no gradient") as caught:
        grad(Opaque()(x).sum(), x)
    assert isinstance(caught.value, NotImplementedError)
    assert __file__ in str(caught.value)


def test_an_op_of_several_outputs_gets_none_for_those_not_used():
    class SumAndDifference(Op):
        __props__ = ()

        def infer(self, x, y):
            return [x, x]

        def reference(self, x, y):
            return x + y, x - y

        def lop(self, inputs, outputs, output_gradients):
            s, d = output_gradients
            assert s is None
            return [d, -d]

    x, y = T.dvector("x"), T.dvector("y")
    _, difference = SumAndDifference()(x, y)
    both = grad((difference * 3).sum(), [x, y])
    values = {x: f64(3), y: f64(3)}
    np.testing.assert_array_equal(evaluate(both, values), [[3] * 3, [-3] * 3])


def test_a_gradient_comes_home_from_a_context():
    x = T.dvector("x")
    y = (x.transfer("null") * 2).sum()
    gradient = grad(y, x)
    assert gradient.type == x.type
    np.testing.assert_array_equal(evaluate(gradient, {x: f64(3)}), [2, 2, 2])


def test_a_repeated_input_of_a_fused_expression_counts_once_for_each_place():
    steps = (
        CompositeStep("exp", (1,), "float64"),
        CompositeStep("mul", (0, 2), "float64"),
    )
    fused = Elemwise(Composite(("float64", "float64"), steps, (3,)))
    a, values = T.dvector("a"), np.arange(3.0)
    found = evaluate(grad(fused(a, a).sum(), a), {a: values})
    np.testing.assert_allclose(found, np.exp(values) * (1 + values))
    found = evaluate(grad(fused(a, T.sin(a)).sum(), a), {a: values})
    expected = np.exp(np.sin(values)) * (1 + values * np.cos(values))
    np.testing.assert_allclose(found, expected)


def test_gradients_flow_through_numbers_with_fractions_alone():
    carrying = ["float16", "float32", "float64", "complex64", "complex128"]
    for dtype in ("bool", "int8", "uint64", *carrying):
        for kind in (TensorType(dtype, (False,)), GpuArrayType(dtype, (), "cuda0")):
            assert carries(kind()) == (dtype in carrying)
            assert is_complex(kind()) == dtype.startswith("complex")
    for other in (generic(), NullType("why")(), DisconnectedType()()):
        assert not carries(other) and not is_complex(other)


def test_a_gradient_of_the_type_is_taken_as_it_is():
    for kind in (
        TensorType("float64", (False,)),
        TensorType("float32", (True, False)),
        GpuArrayType("float32", (False, False), "null"),
    ):
        term = kind("term")
        assert fitted(term, kind("variable")) is term
    wide, narrow = T.dmatrix("wide"), T.frow("narrow")
    made = fitted(wide, narrow)
    assert made.type == narrow.type
    found = evaluate(made, {wide: np.ones((3, 2))})
    np.testing.assert_array_equal(found, np.full((1, 2), 3, "f4"))


def test_a_gradient_that_the_program_gives_stays_as_it_is():
    x, g = T.dvector("x"), T.dvector("g")
    y = x * 2
    for given in (g, T.constant(np.ones(3)), g + 1):
        found = grad(None, y, known_grads={y: given})
        assert found is given and sources_of(found) == ()
    made = grad(None, x, known_grads={y: T.constant(np.ones(3))})
    assert list(sources_of(made)) == [y]


def test_each_input_of_a_graph_is_a_variable_of_its_own_but_integers_that_are_known():
    x, g, n = T.dvector("x"), T.dvector("g"), T.lscalar("n")
    two, half = T.constant(2), T.constant(0.5)
    seen = []

    def graph(places):
        seen.extend(places)
        first, second, power, factor, _ = places
        return [first * second ** T.cast(power, "float64") * factor]

    found = gradients_within(graph, [g], [x, x, two, half, n])
    assert seen[2] is two and not {*seen} & {x, half, n}
    values = {x: f64(3), g: np.ones(3)}
    for gradient, times in zip(found[:2], (0.5, 1.0), strict=True):
        np.testing.assert_allclose(evaluate(gradient, values), times * f64(3) ** 2)
