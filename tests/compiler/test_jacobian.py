"""Jacobians and Hessians: every op for many rows at once, against one row at a time."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import CASES, f64
from evaluate import evaluate
from gpuarray.compiler import Lop, Op, function, grad, hessian, jacobian
from gpuarray.compiler.derivatives.batching import RULES, over_rows
from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.errors import DisconnectedInputError, GraphTypeError
from gpuarray.compiler.function import host_fallback
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.errors import HostNotice
from test_gradient import assert_gradients_agree

ROWS = 3


def several(array, count=ROWS):
    """The array and others like it, one after the other."""
    if array.dtype.kind != "f":
        return np.stack([np.roll(array, k) for k in range(count)])
    return np.stack([array * (1 + 0.1 * k) for k in range(count)])


def assert_rows_agree(build, arrays, variables, chosen):
    """The graph over rows of the chosen inputs against the graph of each row."""
    built = build(*variables)
    outputs = list(built) if isinstance(built, (list, tuple)) else [built]
    values = dict(zip(variables, arrays, strict=True))
    rows, given = {}, dict(values)
    for each in chosen:
        kind = each.type.clone(broadcastable=(False, *each.type.broadcastable))
        rows[each] = kind(f"all {each}")
        given[rows[each]] = several(values[each])
    alone = []
    for row in range(ROWS):
        one = {each: several(values[each])[row] for each in chosen}
        try:
            alone.append(evaluate(outputs, values | one))
        except ValueError:
            return  # a row of its own does not fit the other inputs
    shapes = [[each.shape for each in results] for results in alone]
    if shapes != [shapes[0]] * ROWS:
        with pytest.raises(ValueError, match="results of the rows have shapes"):
            evaluate(over_rows(outputs, rows), given)
        return
    for all_rows, *single in zip(
        evaluate(over_rows(outputs, rows), given), *alone, strict=True
    ):
        assert all_rows.dtype == single[0].dtype
        np.testing.assert_allclose(all_rows, np.stack(single), rtol=1e-10)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_op_goes_over_rows(case):
    variables = case.variables()
    floats = [each for each in variables if each.dtype.startswith("float")]
    if not floats:
        pytest.skip("rows of integers are of no gradient")
    for chosen in [floats, *([each] for each in floats if len(floats) > 1)]:
        assert_rows_agree(case.build, case.arrays, variables, chosen)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_op_with_a_rule_is_run_for_each_row_only_where_integers_differ(case):
    variables = case.variables()
    floats = [each for each in variables if each.dtype.startswith("float")]
    built = case.build(*variables)
    outputs = list(built) if isinstance(built, (list, tuple)) else [built]
    for chosen in [floats, *([each] for each in floats)] if floats else []:
        rows = {
            each: each.type.clone(broadcastable=(False, *each.type.broadcastable))()
            for each in chosen
        }
        for node in toposort(over_rows(outputs, rows), blockers=rows.values()):
            if isinstance(node.op, MapRows) and has_rule(node.op.op):
                pairs = zip(node.inputs, node.op.by_row, strict=True)
                dtypes = {each.dtype for each, by_row in pairs if by_row}
                assert dtypes & {"bool", "int32", "int64"}, node.op.op


def has_rule(op):
    return any(each in RULES for each in type(op).__mro__)


SMALL = [
    case
    for case in CASES
    if case.has_gradient and {each.dtype.name for each in case.arrays} == {"float64"}
]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_jacobian_of_an_op_is_its_rows(case):
    variables = case.variables()
    built = case.build(*variables)
    output = built[0] if isinstance(built, (list, tuple)) else built
    if output.dtype != "float64":
        pytest.skip("not of float64")
    values = dict(zip(variables, case.arrays, strict=True))
    matrices = evaluate(
        jacobian(output, variables, disconnected_inputs="ignore"), values
    )
    shape = evaluate(output, values).shape
    unit = output.type("unit")
    pulled = Lop(output, variables, unit, disconnected_inputs="ignore")
    for matrix, variable in zip(matrices, variables, strict=True):
        assert matrix.shape == (*shape, *values[variable].shape)
    for place in list(np.ndindex(shape))[:4]:
        one = np.zeros(shape)
        one[place] = 1
        rows = evaluate(pulled, values | {unit: one})
        for matrix, row in zip(matrices, rows, strict=True):
            np.testing.assert_allclose(matrix[place], row, rtol=1e-10, atol=1e-12)


def test_the_jacobian_and_the_hessian_of_the_tutorial():
    x = T.dvector("x")
    values = {x: np.array([1.0, 2, 3])}
    np.testing.assert_allclose(
        evaluate(jacobian(x**2, x), values), np.diag([2.0, 4, 6])
    )
    np.testing.assert_allclose(
        evaluate(hessian(T.sum(x**3), x), values), np.diag([6.0, 12, 18])
    )


def network(x, w, b):
    return T.tanh(T.dot(T.tanh(T.dot(x, w) + b), w.T))


def test_the_jacobian_of_a_network_is_made_of_products_of_matrices():
    x, w, b = T.dvector("x"), T.dmatrix("w"), T.dvector("b")
    y = network(x, w, b)
    matrices = jacobian(y, [x, w, b])
    assert not [n for n in toposort(matrices) if isinstance(n.op, MapRows)]
    values = {x: f64(4), w: f64(4, 3) / 3, b: f64(3)}
    found = evaluate(matrices, values)
    for i in range(4):
        rows = evaluate(grad(y[i], [x, w, b]), values)
        for matrix, row in zip(found, rows, strict=True):
            np.testing.assert_allclose(matrix[i], row, rtol=1e-10)


def test_expressions_of_any_number_of_axes_have_jacobians():
    x, m = T.dvector("x"), T.dmatrix("m")
    y = m * x + T.outer(T.sin(x), x)[:2]
    values = {x: f64(3), m: f64(2, 3)}
    by_x, by_m = evaluate(jacobian(y, (x, m)), values)
    assert by_x.shape == (2, 3, 3)
    assert by_m.shape == (2, 3, 2, 3)
    np.testing.assert_allclose(
        by_m, np.einsum("ik,jl,l->ijkl", np.eye(2), np.eye(3), f64(3)), atol=1e-12
    )
    assert jacobian(x.sum(), x).type == x.type
    hess = evaluate(hessian((T.dot(m, x) ** 2).sum(), [m, x]), values)
    assert [each.shape for each in hess] == [(2, 3, 2, 3), (3, 3)]
    np.testing.assert_allclose(hess[1], 2 * f64(2, 3).T @ f64(2, 3), rtol=1e-10)


def test_a_jacobian_can_be_differentiated():
    w, b = T.dmatrix("w"), T.dvector("b")
    assert_gradients_agree(
        lambda x, w, b: (jacobian(network(x, w, b), x) ** 2).sum(),
        [f64(4) / 3, f64(4, 3) / 3, f64(3)],
        [T.dvector("x"), w, b],
    )


FROM, TO = np.array([[0, 1]]), np.array([[2], [0]])
PICKS = {
    "first": lambda x: x[FROM],
    "behind": lambda x: x[:, :, TO],
    "both": lambda x: x[:, FROM, TO],
    "apart": lambda x: x[FROM, :, TO],
    "apart_from_integer": lambda x: x[1, :, TO],
    "vector": lambda x: x[np.array([1, 0, 1])],
    "mask": lambda x: x[np.array([True, False])],
    "mask_apart": lambda x: x[np.array([True, False]), :, np.array([2])],
}


@pytest.mark.parametrize("name", PICKS)
def test_what_arrays_pick_goes_over_rows_without_a_loop(name):
    x = T.dtensor3("x")
    part = PICKS[name](x)
    y = part.type("y")
    data = f64(2, 3, 4)
    values = f64(*evaluate(part, {x: data}).shape)

    def build(x, y):
        target = PICKS[name](x)
        return [target, T.set_subtensor(target, y), T.inc_subtensor(target, 2 * y)]

    for chosen in ([x], [y], [x, y]):
        assert_rows_agree(build, [data, values], [x, y], chosen)
        rows = {
            each: T.TensorType("float64", (False,) * (each.ndim + 1))()
            for each in chosen
        }
        nodes = toposort(over_rows(build(x, y), rows))
        assert not [each for each in nodes if isinstance(each.op, MapRows)]


class Sorted(Op):
    """An op that no rule knows; its gradient has one, too."""

    __props__ = ()

    def infer(self, x):
        return x

    def reference(self, x):
        return np.sort(x)

    def grad(self, m, g, y, x):
        return Scattered()(g, x)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0]]


class Scattered(Op):
    __props__ = ()

    def infer(self, g, x):
        return x

    def reference(self, g, x):
        result = np.empty_like(g)
        result[np.argsort(x)] = g
        return result

    def grad(self, m, gg, y, g, x):
        return Gathered()(gg, x), None


class Gathered(Op):
    __props__ = ()

    def infer(self, g, x):
        return x

    def reference(self, g, x):
        return g[np.argsort(x)]

    def grad(self, m, gg, y, g, x):
        return Scattered()(gg, x), None


def test_an_op_without_a_rule_is_run_for_each_row():
    x = T.dvector("x")
    y = T.exp(Sorted()(x**2))
    matrix = jacobian(y, x)
    assert [n for n in toposort([matrix]) if isinstance(n.op, MapRows)]
    values = {x: np.array([2.0, -1.0, 0.5])}
    expected = np.zeros((3, 3))
    for row, place in enumerate([2, 1, 0]):
        at = values[x][place]
        expected[row, place] = np.exp(at**2) * 2 * at
    np.testing.assert_allclose(evaluate(matrix, values), expected)
    assert_gradients_agree(
        lambda x: (jacobian(T.exp(Sorted()(x**2)), x) ** 2).sum(),
        [np.array([0.7, -0.3, 0.5])],
        [x],
    )


def test_map_rows_has_shapes_gradients_and_empty_results():
    x, m = T.dmatrix("x"), T.dvector("m")
    op = MapRows(Scattered(), (True, False))
    assert_gradients_agree(op, [f64(2, 3), f64(3)], [x, m])
    assert_gradients_agree(MapRows(Sorted(), (True,)), [f64(2, 3)], [x])
    node = MapRows(Sorted(), (True,)).make_node(x)
    shapes = [constant(2, "int64"), constant(3, "int64")]
    assert node.op.infer_shape(node, [tuple(shapes)]) == [tuple(shapes)]
    assert evaluate(node.out, {x: np.ones((0, 3))}).shape == (0, 3)
    with pytest.raises(ValueError, match=r"have .* rows"):
        both = MapRows(Gathered(), (True, True)).make_node(x, T.dmatrix())
        both.op.evaluate(both, [np.ones((2, 3)), np.ones((1, 3))])
    with pytest.raises(GraphTypeError, match="with rows in one at least"):
        MapRows(Sorted(), (False,))(x)
    with pytest.raises(GraphTypeError, match="which has no rows"):
        MapRows(Sorted(), (True,))(T.dscalar())


def test_what_has_no_jacobian_is_told():
    x, y, n = T.dvector("x"), T.dvector("y"), T.ivector("n")
    with pytest.raises(GraphTypeError, match="integers have no gradient"):
        jacobian(n, x)
    with pytest.raises(GraphTypeError, match="expected variables"):
        jacobian(3.0, x)
    with pytest.raises(DisconnectedInputError, match="y is disconnected"):
        jacobian(x * 2, [x, y])
    with pytest.raises(DisconnectedInputError, match="y is disconnected"):
        hessian(x.sum(), y)
    with pytest.raises(TypeError, match="cost must be a scalar"):
        hessian(x, x)
    zeros = evaluate(
        jacobian(x * 2, y, disconnected_inputs="ignore"), {x: f64(3), y: f64(2)}
    )
    np.testing.assert_array_equal(zeros, np.zeros((3, 2)))


def test_jacobians_and_hessians_run_on_every_context(on_context):
    x, w, b = T.vector("x"), T.matrix("w"), T.vector("b")
    y = network(x, w, b)
    f = function([x, w, b], [jacobian(y, x), hessian((y**2).sum(), x)])
    arrays = [each.astype("f4") for each in (f64(4) / 2, f64(4, 3) / 3, f64(3))]
    values = dict(zip((x, w, b), arrays, strict=True))
    expected = evaluate([jacobian(y, x), hessian((y**2).sum(), x)], values)
    for found, right in zip(f(*arrays), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("count", [3, 1, 0])
def test_ops_without_a_rule_run_on_every_context(on_context, count):
    rows, x = T.matrix("rows"), T.vector("x")
    ordered = MapRows(T.sort(x).owner.op, (True,))(rows)
    scattered = MapRows(T.cumsum(x).owner.op, (True,))(rows)
    f = function([rows], [ordered, scattered])
    data = np.stack([f64(5).astype("f4") * k for k in (1, -1, 2)])[:count]
    first, second = f(data)
    assert first.shape == second.shape == data.shape
    np.testing.assert_allclose(first, np.sort(data, axis=1), rtol=1e-6)
    np.testing.assert_allclose(second, np.cumsum(data, axis=1), rtol=1e-5)
    assert not [each for each in f.plan.steps if not getattr(each, "recorded", True)]


def test_a_jacobian_through_a_sort_runs_on_every_context(on_context):
    x = T.vector("x")
    y = T.exp(T.sort(x**2))
    f = function([x], jacobian(y, x))
    data = np.array([0.7, -0.3, 0.5], "f4")
    np.testing.assert_allclose(
        f(data), evaluate(jacobian(y, x), {x: data}), rtol=1e-5, atol=1e-6
    )


def test_what_has_no_step_function_runs_on_the_host(on_context, monkeypatch):
    monkeypatch.setattr(host_fallback, "told", set())
    rows = T.matrix("rows")
    with pytest.warns(HostNotice, match="Sorted has no device version"):
        f = function([rows], MapRows(Sorted(), (True,))(rows) * 2)
    data = np.stack([f64(5).astype("f4") * k for k in (1, -1, 2)])
    np.testing.assert_allclose(f(data), 2 * np.sort(data, axis=1), rtol=1e-6)
