"""Jacobians of parts, lengths and places that differ by row."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import f64
from evaluate import evaluate
from gpuarray.compiler import Op, grad, jacobian
from gpuarray.compiler.derivatives.batching import over_rows
from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.traverse import toposort
from test_jacobian import Sorted


def test_lengths_that_are_no_list_of_scalars_are_given_to_each_row():
    x, lengths = T.dvector("x"), T.lvector("lengths")
    values = {x: f64(4), lengths: np.array([2, 2])}
    for build in (
        lambda v: T.reshape(v**2, lengths, ndim=2),
        lambda v: T.broadcast_to(v[:2] * v[2:], lengths, ndim=2),
    ):
        matrix = evaluate(jacobian(build(x), x), values)
        step = 1e-6
        for k in range(4):
            ends = [
                evaluate(build(x), values | {x: values[x] + sign * step * np.eye(4)[k]})
                for sign in (1, -1)
            ]
            expected = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(matrix[..., k], expected, atol=1e-7)
        rows = T.dmatrix("rows")
        (result,) = over_rows([build(x)], {x: rows})
        several = np.stack([values[x], 2 * values[x]])
        found = evaluate(result, values | {rows: several})
        alone = [evaluate(build(x), values | {x: row}) for row in several]
        np.testing.assert_allclose(found, alone)
        lengths_of_rows = T.lmatrix("lengths of rows")
        (result,) = over_rows([build(x)], {x: rows, lengths: lengths_of_rows})
        given = {rows: several, lengths_of_rows: np.array([[2, 2], [2, 2]])}
        np.testing.assert_allclose(evaluate(result, given), alone)


INTEGERS_OF_ROWS = {
    "of one length": (lambda x, n, m: x[n:], [0]),
    "of both": (lambda x, n, m: x[n:m], [0, 1]),
    "of the first alone": (lambda x, n, m: x[n:m], [0]),
    "of the second alone": (lambda x, n, m: x[n:m], [1]),
    "of none": (lambda x, n, m: x[n:m], []),
}
LENGTHS_OF_ROWS = {
    "reshaped": lambda x, n: T.reshape(x, [n, 2]),
    "reshaped by its own length": lambda x, n: T.reshape(x, [n, x.shape[0] // n]),
    "reshaped by its shape": lambda x, n: T.reshape(x[:n], T.shape(x[-n:])),
    "repeated": lambda x, n: T.broadcast_to(x[0], [n, 2]),
    "repeated by its own length": lambda x, n: T.broadcast_to(x, [n, x.shape[0]]),
}


@pytest.mark.parametrize("name", LENGTHS_OF_ROWS)
@pytest.mark.parametrize("differs", [False, True])
def test_lengths_that_may_differ_by_row_are_taken_of_each_row(name, differs):
    x, n, xs, ns = T.dvector("x"), T.lscalar("n"), T.dmatrix("xs"), T.lvector("ns")
    build = LENGTHS_OF_ROWS[name]
    (result,) = over_rows([build(x, n)], {x: xs} | ({n: ns} if differs else {}))
    is_by_rule = not [each for each in toposort([result]) if type(each.op) is MapRows]
    assert is_by_rule == (not differs)
    values = {xs: f64(2, 6), n: np.int64(3), ns: np.array([3, 3])}
    alone = [evaluate(build(x, n), {x: row, n: np.int64(3)}) for row in values[xs]]
    np.testing.assert_array_equal(evaluate(result, values), alone)


@pytest.mark.parametrize("name", INTEGERS_OF_ROWS)
def test_a_part_that_differs_by_row_is_taken_of_each_row(name):
    build, by_row = INTEGERS_OF_ROWS[name]
    x, n, m = T.dvector("x"), T.lscalar("n"), T.lscalar("m")
    xs, ns, ms = T.dmatrix("xs"), T.lvector("ns"), T.lvector("ms")
    rows = {x: xs} | {[n, m][i]: [ns, ms][i] for i in by_row}
    (result,) = over_rows([build(x, n, m)], rows)
    is_by_rule = not [each for each in toposort([result]) if type(each.op) is MapRows]
    assert is_by_rule == (not by_row)
    values = {xs: f64(2, 5), n: 1, m: 3, ns: np.array([1, 1]), ms: np.array([3, 3])}
    values |= {n: np.int64(1), m: np.int64(3)}
    found = evaluate(result, values)
    expected = values[xs][:, 1:] if name == "of one length" else values[xs][:, 1:3]
    np.testing.assert_array_equal(found, expected)


PLACES_OF_ROWS = {
    "taken": lambda x, i, j: x[i, j],
    "set": lambda x, i, j: T.set_subtensor(x[i, j], x[0, 0] * 2),
    "added": lambda x, i, j: T.inc_subtensor(x[i, j], x[j, i]),
}


@pytest.mark.parametrize("name", PLACES_OF_ROWS)
@pytest.mark.parametrize("by_row", [(), (0,), (1,), (0, 1)])
def test_places_that_may_differ_by_row_are_taken_of_each_row(name, by_row):
    x, xs = T.dmatrix("x"), T.dtensor3("xs")
    places, of_rows = T.lvectors("i", "j"), T.lmatrices("is", "js")
    output = PLACES_OF_ROWS[name](x, *places)
    given = {places[k]: of_rows[k] for k in by_row}
    (result,) = over_rows([output], {x: xs} | given)
    is_by_rule = not [each for each in toposort([result]) if type(each.op) is MapRows]
    assert is_by_rule == (not by_row)
    i, j = np.array([[0, 2], [1, 0]]), np.array([[1, 1], [2, 0]])
    values = {xs: f64(2, 3, 3)}
    values |= dict(zip(places, (i[0], j[0]), strict=True))
    values |= dict(zip(of_rows, (i, j), strict=True))
    alone = []
    for row in range(2):
        own = [each[row if k in by_row else 0] for k, each in enumerate((i, j))]
        known = {x: values[xs][row]} | dict(zip(places, own, strict=True))
        alone.append(evaluate(output, known))
    np.testing.assert_array_equal(evaluate(result, values), alone)


class Turned(Op):
    """The array as it is; its gradient has the shape of what flows back."""

    def infer(self, x):
        return x

    def reference(self, x):
        return x

    def grad(self, m, g, y, x):
        return m.reshape(g, m.shape(g), ndim=g.type.ndim) + m.broadcast_to(
            0.0, m.shape(g), ndim=g.type.ndim
        )


def test_a_gradient_may_be_shaped_as_what_flows_back():
    x = T.dvector("x")
    matrix = jacobian(Turned()(x**2), x)
    assert not [each for each in toposort([matrix]) if type(each.op) is MapRows]
    found = evaluate(matrix, {x: np.array([1.0, 2.0])})
    np.testing.assert_array_equal(found, [[2.0, 0.0], [0.0, 4.0]])


class Halved(Op):
    """The square root of half of a number: its slope is infinite at 0."""

    def infer(self, x):
        return x

    def reference(self, x):
        return np.sqrt(x / 2)

    def grad(self, m, g, y, x):
        return m.over(g, 4 * y)


def test_a_choice_leaves_zeros_behind_what_runs_for_each_row():
    x = T.dmatrix("x")
    y = T.where(x > 0, MapRows(Halved(), (True,))(x), x)
    values = {x: np.array([[2.0, 0.0], [8.0, 0.5]])}
    found = evaluate(grad(y.sum(), x), values)
    np.testing.assert_allclose(found, [[0.25, 1.0], [0.125, 0.5]])
    every = evaluate(grad(MapRows(Halved(), (True,))(x).sum(), x), values)
    np.testing.assert_array_equal(every, [[0.25, np.inf], [0.125, 0.5]])


def test_map_rows_takes_as_many_inputs_as_it_was_made_for():
    with pytest.raises(GraphTypeError, match="given 2 inputs, expected 1"):
        MapRows(Sorted(), (True,)).make_node(T.dmatrix(), T.dvector())
