"""What rewrites make of functions: launches, values, and what they leave alone."""

import numpy as np
import pytest
from gpuarray.compiler import rewrites, tensor as T
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise.elemwise import Composite, Elemwise
from gpuarray.compiler.ops.fused import mapreduce
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.linalg.linalg import Dot, Gemv
from gpuarray.compiler.rewrites.engine.merging import Interner
from gpuarray.compiler.rewrites.engine.patterns import (
    _DEPTH,
    same,
)
from run_graph import run_graph


def rows_of(fgraph):
    """The names of all rows of a graph, those inside fused nodes included."""
    rows = []
    for node in fgraph.toposort():
        op = node.op.map if isinstance(node.op, mapreduce.MapReduce) else node.op
        if isinstance(op, Rowwise):
            rows += [getattr(step, "op", "") for step in op.program.steps]
        if not isinstance(op, Elemwise):
            continue
        scalar = op.scalar
        is_fused = isinstance(scalar, Composite)
        rows += [step.op for step in scalar.steps] if is_fused else [str(op.key)]
    return rows


def optimized(inputs, outputs, **options):
    """The graph after all phases."""
    fgraph = FunctionGraph(inputs, outputs)
    rewrites.optimize(fgraph, **options)
    fgraph.check()
    return fgraph


def logistic_regression(dtype="float64"):
    """The inputs and outputs of the training function of the logistic regression."""
    x, y = T.matrix("x", dtype=dtype), T.vector("y", dtype=dtype)
    w, b = T.vector("w", dtype=dtype), T.scalar("b", dtype=dtype)
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    prediction = p_1 > 0.5
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    rate, decay = (constant(v, dtype) for v in (0.1, 0.01))
    cost = xent.mean() + decay * (w**2).sum()
    gw, gb = T.grad(cost, [w, b])
    return [x, y, w, b], [prediction, xent, w - rate * gw, b - rate * gb]


def test_a_power_becomes_products_in_one_node():
    a = T.vector("a")
    fgraph = optimized([a], [a + a**10])
    (node,) = fgraph.toposort()
    assert isinstance(node.op.scalar, Composite)
    assert sorted(rows_of(fgraph)) == ["add", "mul", "square", "square", "square"]
    np.testing.assert_array_equal(
        run_graph(fgraph, {a: np.arange(3.0)})[0], [0.0, 2.0, 1026.0]
    )


@pytest.mark.parametrize("exponent", [np.nan, np.inf, -np.inf, 2j, 3 + 0j, 600, -513])
def test_powers_of_any_constant(exponent):
    x = np.array([0.5, 2.0, -1.0, 1.0])
    a = T.vector("a", "float64")
    (found,) = run_graph(optimized([a], [a**exponent]), {a: x})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, x**exponent, 1e-9)


def test_squares_and_products_of_two_vectors_become_one_node():
    a, b = T.vector("a"), T.vector("b")
    fgraph = optimized([a, b], [a**2 + b**2 + 2 * a * b])
    assert len(fgraph.apply_nodes) == 1
    assert "power" not in rows_of(fgraph)
    values = {a: np.array([0.0, 1.0]), b: np.array([1.0, 2.0])}
    np.testing.assert_array_equal(run_graph(fgraph, values)[0], [1.0, 9.0])


def test_logistic_regression_has_no_exponential_or_logarithm_left():
    inputs, outputs = logistic_regression()
    rows = rows_of(optimized(inputs, outputs))
    assert not {"exp", "log", "log1p", "true_div", "power"} & set(rows)
    assert {"sigmoid", "softplus"} <= set(rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logistic_regression_updates_its_weights_in_one_launch(dtype):
    inputs, outputs = logistic_regression(dtype)
    x, _, w, b = inputs
    fgraph = optimized(inputs, outputs, destroyable={w: 2, b: 3})
    order = fgraph.toposort()
    (update,) = [node for node in order if isinstance(node.op, MultiTensor)]
    assert update.outputs == fgraph.outputs[2:]
    overwritten = [update.inputs[i] for _, i in sorted(update.op.inplace_items)]
    assert overwritten == [w, b]
    weights, bias = update.op.parts
    assert weights.total.is_product and update.inputs[0] is x
    assert bias.total is not None
    # The product before them is one program with all that is computed of it.
    (rows,) = [node for node in order if isinstance(node.op, Rowwise)]
    assert x in rows.inputs
    assert not [n for n in order if isinstance(n.op, Elemwise | Dot | Gemv)]


def test_logistic_regression_stays_finite_where_the_formula_overflows():
    inputs, outputs = logistic_regression()
    x = np.array([[1000.0], [-1000.0], [800.0], [0.5]])
    values = [x, np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0]), np.array(0.25)]
    results = run_graph(
        optimized(inputs, outputs), dict(zip(inputs, values, strict=True))
    )
    for result in results:
        assert np.isfinite(result).all()
    np.testing.assert_allclose(results[1][:3], [1000.25, 999.75, 0.0])


def test_logistic_regression_keeps_its_values_in_the_safe_range():
    inputs, outputs = logistic_regression()
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(40, 7)), rng.integers(0, 2, 40).astype("float64")]
    values += [rng.normal(size=7), np.array(0.3)]
    given = dict(zip(inputs, values, strict=True))
    plain = run_graph(FunctionGraph(inputs, outputs), given)
    for left, right in zip(
        plain, run_graph(optimized(inputs, outputs), given), strict=True
    ):
        np.testing.assert_allclose(right, left, rtol=1e-10, atol=1e-12)


def test_the_logarithm_of_one_plus_little_is_little():
    x = T.dvector("x")
    fgraph = optimized([x], [T.log(1 + x)])
    assert run_graph(fgraph, {x: np.array([1e-20])})[0] == [1e-20]


def test_a_bias_is_folded_into_the_product_unless_the_product_is_read_elsewhere():
    x, W, b = T.dvector("x"), T.dmatrix("W"), T.dvector("b")
    product = T.dot(x, W)
    fgraph = optimized([x, W, b], [T.sigmoid(product + b)])
    assert any(isinstance(node.op, Gemv) for node in fgraph.apply_nodes)
    fgraph = optimized([x, W, b], [product, T.sigmoid(product + b)])
    assert not any(isinstance(node.op, Gemv) for node in fgraph.apply_nodes)


def test_the_shape_of_a_product_needs_no_product():
    X, Y = T.dmatrix("X"), T.dmatrix("Y")
    fgraph = optimized([X, Y], [T.dot(X, Y).shape])
    assert [str(node.op) for node in fgraph.toposort()] == [
        "Shape_i{0}",
        "Shape_i{1}",
        "MakeVector{dtype='int64'}",
    ]


def test_equal_expressions_are_computed_once():
    x, y = T.dmatrices("x", "y")
    fgraph = optimized([x, y], [(x + y) * 2, (y + x) * 3], phases=["canonicalize"])
    assert rows_of(fgraph).count("add") == 1


def test_a_node_that_reads_something_else_since_is_not_known_by_what_it_read():
    x, y = T.dvectors("x", "y")
    fgraph = FunctionGraph([x, y], [T.exp(x), y])
    interner = Interner(fgraph)
    node = fgraph.outputs[0].owner
    assert interner.known(node) is None
    assert interner.intern(T.exp(x), []) is node.out
    assert interner.known(T.exp(x).owner) is node
    fgraph.redirect(node, 0, y)
    made = []
    assert interner.intern(T.exp(x), made).owner.inputs == [x]
    assert len(made) == 1
    assert interner.known(T.exp(x).owner) is None


def test_graphs_are_compared_so_many_operations_deep():
    x, y = T.dvectors("x", "y")

    def chain(given, length):
        for _ in range(length):
            given = T.exp(given)
        return given

    for length in range(12):
        assert same(chain(x, length), chain(x, length)) == (length <= _DEPTH)
        assert not same(chain(x, length), chain(y, length))
    assert not same(chain(x, 3), chain(x, 4))
    assert not same(chain(x, 1100), chain(x, 1100))  # without recursion so deep


def test_a_cast_to_a_narrower_dtype_is_kept():
    x = T.dvector("x")
    fgraph = optimized([x], [x.astype("float32").astype("float64")])
    assert rows_of(fgraph).count("cast") == 2


def test_what_fails_on_constants_is_left_to_the_run():
    inverse = T.nlinalg.matrix_inverse(T.constant(np.zeros((2, 2))))
    fgraph = optimized([], [inverse])
    assert [str(node.op) for node in fgraph.toposort()] == ["MatrixInverse"]


def test_negative_powers_of_integers_are_folded_as_a_device_computes_them():
    powers = T.power(T.constant([2, 1, -1, -1, 0]), T.constant([-1, -3, -3, -2, -1]))
    (folded,) = optimized([], [powers]).outputs
    np.testing.assert_array_equal(folded.data, [0, 1, -1, 1, 0])


def test_the_users_line_stays_with_what_replaces_a_node():
    x = T.dvector("x")
    fgraph = optimized([x], [T.log(1 + T.exp(x))])
    (node,) = fgraph.toposort()
    assert node.trace.function == "test_the_users_line_stays_with_what_replaces_a_node"
