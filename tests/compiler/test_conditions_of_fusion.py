"""Which nodes may be one: what is asked of each node, both sides of each condition."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import rewrites
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.fused.mapreduce import MapReduces
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor
from gpuarray.compiler.ops.linalg.linalg import Gemm, Gemv
from gpuarray.compiler.ops.linalg.products import BatchedGemm
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle
from gpuarray.compiler.rewrites.fusion import fusion, siblings, together, transposes
from gpuarray.compiler.rewrites.memory.guarded_updates import has_shape, unchanging
from rule_conditions import PAIR, TWICE
from run_graph import run_graph

X, Y, F, K = T.dmatrix("X"), T.dmatrix("Y"), T.fmatrix("F"), T.lmatrix("K")
Q, r, s = T.dtensor3("Q"), T.drow("r"), T.dcol("s")
x, u, k, a, n = (
    T.dvector("x"),
    T.dvector("u"),
    T.lvector("k"),
    T.dscalar("a"),
    T.lscalar("n"),
)
p = T.tensor("float64", (True,), "p")
w = T.tensor("float64", (True, True), "w")
c = T.zvector("c")
ones, number = constant(np.arange(3.0)), constant([2.0])


def maximum(v, axes, of_none):
    return Reduce("maximum", axes, of_none=of_none)(v)


TOTALS = {
    "over the first axis": (T.sum(X, 0), True),
    "over the last axis": (T.sum(X, 1), False),
    "over all": (T.sum(X), True),
    "over none": (Reduce("add", ())(X), False),
    "over the first two": (T.sum(Q, (0, 1)), True),
    "over the first and the last": (T.sum(Q, (0, 2)), False),
    "integers to a number": (T.sum(K), False),
    "integers to a vector": (T.sum(K, 0), True),
    "a maximum of some": (maximum(X, [0], False), False),
    "a maximum of any": (maximum(X, [0], True), True),
    "a product": (T.prod(X, 0), True),
    "of a row": (T.sum(r, 0), True),
    "of a number": (T.sum(p), False),
    "of a constant": (T.sum(ones), False),
    "a turned matrix by a vector": (T.dot(X.T, u), True),
    "a vector by a matrix": (T.dot(u, X), True),
    "a matrix by a vector": (T.dot(X, u), False),
    "a vector by a turned matrix": (T.dot(u, X.T), False),
    "integers multiplied": (T.dot(k, K), False),
    "two dtypes": (T.dot(u, T.cast(F, "float64")), True),
    "matrices": (T.dot(X, Y), False),
    "vectors": (T.dot(x, u), False),
    "by a row": (T.dot(u, s), False),
    "by a constant": (T.dot(ones, X), False),
    "elementwise": (T.exp(x), False),
}


@pytest.mark.parametrize("name", TOTALS)
def test_a_node_is_a_total_of_the_first_axes(name):
    variable, wanted = TOTALS[name]
    assert together.is_total(variable.owner) is wanted


RESULTS = {
    "of a vector": (T.exp(x), True),
    "of two": (X + Y, True),
    "of a number beside": (X * w, True),
    "of a constant number beside": (x * number, True),
    "of a row beside": (X + r, False),
    "of a constant beside": (x + ones, False),
    "of a constant": (T.exp(ones), False),
    "of a number": (T.exp(a), True),
    "of an integer number": (n + n, False),
    "of integers": (k + k, True),
    "a product": (T.dot(X, Y), False),
    "a total": (T.sum(X, 0), False),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_node_is_an_elementwise_result(name):
    variable, wanted = RESULTS[name]
    assert together.is_result(variable.owner) is wanted


SUITED = [
    (X, u, True), (F, T.fvector("f"), True), (F, u, False), (K, k, False),
    (r, u, False), (X, p, False), (X, ones, False), (constant(np.eye(3)), u, False),
    (T.zmatrix("Z"), c, False),
]  # fmt: skip


@pytest.mark.parametrize(("matrix", "vector", "wanted"), SUITED)
def test_rows_of_a_matrix_are_summed(matrix, vector, wanted):
    assert together.suits(matrix, vector) is wanted


UPDATES = [
    (Gemv(1, 1, True)(x, X, u), True),
    (Gemv(1, 1, False)(x, X, u), False),
    (Gemv(1, 0, True)(x, X, u), False),
    (Gemv(1, 1, True, True)(x, X, u), False),
    (Gemv(1, 1, True)(ones, X, u), False),
    (Gemv(1, 1, True)(x, X, ones), False),
    (T.exp(x), False),
]


@pytest.mark.parametrize("place", range(len(UPDATES)))
def test_a_product_is_added_to_an_array(place):
    variable, wanted = UPDATES[place]
    assert together.is_update(variable.owner) is wanted


def test_the_matrix_of_a_transpose():
    assert together.turned(X.T) is X
    for other in (X, T.exp(X), x.dimshuffle("x", 0), Q.dimshuffle(1, 0, 2)):
        assert together.turned(other) is None


def test_numbers_that_a_node_reads_are_computed_in_its_kernel():
    total = T.exp(w)
    assert together.number_owners((X * total).owner) == [total.owner]
    assert together.number_owners((s * total).owner) == [total.owner]
    assert together.number_owners((total * total + 1).owner) == []
    assert together.number_owners((X * T.sum(X, keepdims=True)).owner) == []
    assert together.number_owners((X * T.exp(r)).owner) == []
    assert together.number_owners((X * w).owner) == []


R = T.dtensor3("R")
ARRAYS = {
    X: (3, 3), Y: (3, 3), x: (3,), u: (3,), Q: (2, 3, 3), R: (2, 3, 3), s: (3, 1),
    r: (1, 3), a: (), w: (1, 1), p: (1,),
}  # fmt: skip


def drawn():
    rng = np.random.default_rng(3)
    return {variable: rng.normal(size=shape) for variable, shape in ARRAYS.items()}


FLAGS = [(False, False), (True, False), (False, True), (True, True)]
PRODUCTS = [Gemv(0.5, -2, flag)(x, X, u) for flag in (False, True)]
PRODUCTS += [Gemm(0.5, -2, *flags)(X, Y, X) for flags in FLAGS]
PRODUCTS += [BatchedGemm(0.5, -2, *flags)(Q, R, Q) for flags in FLAGS]


@pytest.mark.parametrize("place", range(len(PRODUCTS)))
def test_a_product_added_to_an_array_is_an_elementwise_node_that_reads_the_product(
    place,
):
    out = PRODUCTS[place]
    made = together.opened(out.owner)
    assert isinstance(made.op, Elemwise) and made.out.type == out.type
    values = drawn()
    wanted, found = run_graph(FunctionGraph(list(values), [out, made.out]), values)
    np.testing.assert_allclose(found, wanted)


TOGETHER = {
    "elementwise": [T.exp(x), u * 2],
    "with numbers": [X * T.exp(w), x - T.exp(p) * u],
    "totals": [T.sum(X, 0), T.sum(Q, (0, 1)), T.dot(X.T, u), T.dot(x, Y)],
    "totals of a map": [T.sum(T.exp(X) * Y, 0), T.prod(Q * 2, (0, 1))],
    "with a total": [x - 0.1 * T.sum(X, 0), u - 0.1 * T.dot(Y.T, x)],
    "a total that is read twice": [(v := T.sum(X, 0)) * v + x, T.exp(u)],
    "a product that is added": [Gemv(2, 3, True)(x, X, u), T.exp(u)],
    "of one that is a number": [T.sum(x), T.sum(Y) * 2, T.exp(a)],
}


@pytest.mark.parametrize("name", TOGETHER)
def test_results_that_are_computed_together_are_what_they_were(name):
    values = drawn()
    plain, fgraph = (FunctionGraph(list(values), TOGETHER[name]) for _ in range(2))
    rewrites.optimize(fgraph, phases=["fuse"])
    fgraph.check()
    assert any(isinstance(node.op, MultiTensor) for node in fgraph.apply_nodes)
    for wanted, found in zip(
        run_graph(plain, values), run_graph(fgraph, values), strict=True
    ):
        np.testing.assert_allclose(found, wanted)


def test_the_greatest_element_and_its_place_are_found_at_once():
    def kinds(*outputs):
        return {type(node.op).__name__ for node in fused([X, Y], outputs).apply_nodes}

    assert kinds(T.max(X, 0), T.argmax(X, 0)) == {"Extremum"}
    assert kinds(T.min(X, 1), T.argmin(X, 1)) >= {"Extremum"}
    assert "Extremum" not in kinds(T.max(X, 1), T.argmax(X, 0))
    assert "Extremum" not in kinds(T.min(X, 0), T.argmax(X, 0))
    assert "Extremum" not in kinds(T.max(X, 0), T.argmax(Y, 0))
    assert "Extremum" not in kinds(T.max(X), T.argmax(X))
    assert "Extremum" not in kinds(T.argmax(X, 0))


# ---- transposes ----

TRANSPOSES = [
    (X.T, True),
    (DimShuffle((False, False), (0, 1))(X), False),
    (x.dimshuffle("x", 0), False),
    (r.dimshuffle(1), False),
    (Q.dimshuffle(2, 0, 1), True),
    (T.exp(X), False),
]


@pytest.mark.parametrize("place", range(len(TRANSPOSES)))
def test_a_node_moves_axes_and_no_more(place):
    variable, wanted = TRANSPOSES[place]
    assert transposes.is_transpose(variable.owner) is wanted


def test_views_of_views_are_one_view_and_numbers_need_none():
    assert transposes.moved_axes(w, (1, 0)) is w
    assert transposes.moved_axes(X.T, (1, 0)) is X
    found = transposes.moved_axes(Q.dimshuffle(2, 0, 1), (1, 0, 2)).owner
    assert found.inputs == [Q] and found.op.new_order == (0, 2, 1)
    found = transposes.moved_axes(x.dimshuffle("x", 0), (1, 0)).owner
    assert found.inputs == [x] and found.op.new_order == (0, "x")


def moved(*outputs):
    """The nodes after the phase of fusion that still move axes of computed arrays."""
    fgraph = FunctionGraph([X, Y], list(outputs))
    rewrites.optimize(fgraph, phases=["fuse"])
    kept = [node for node in fgraph.toposort() if transposes.is_transpose(node)]
    return [node for node in kept if node.inputs[0].owner is not None]


def test_axes_are_moved_before_all_that_is_computed():
    assert not moved(T.exp(T.exp(T.exp(X)).T) + Y)
    assert not moved(T.sum(T.exp(X).T, 0))
    assert len(moved(T.exp(X).T)) == 1
    product = T.exp(X)
    assert len(moved(T.exp(product.T), product)) == 1
    assert len(moved(T.exp(T.dot(X, Y).T))) == 1
    assert len(moved(T.dot(T.exp(X).T, Y))) == 1


# ---- fusion ----

CHEAP = [
    (x + u, True),
    (x * 2, True),
    (T.exp(x), False),
    (T.exp(a), True),
    (T.cast(x, "float32"), True),
    (Elemwise(PAIR)(x, u)[0], True),
    (Elemwise(TWICE)(x)[0], False),
]


@pytest.mark.parametrize("place", range(len(CHEAP)))
def test_a_node_is_cheap_where_it_calls_no_function(place):
    variable, wanted = CHEAP[place]
    assert fusion.is_cheap(variable.owner) is wanted


def fused(inputs, outputs):
    fgraph = FunctionGraph(inputs, outputs)
    rewrites.optimize(fgraph, phases=["fuse"])
    fgraph.check()
    return fgraph


def test_a_reduction_of_one_of_two_results_stands_alone():
    first, second = Elemwise(PAIR)(x, u)
    fgraph = fused([x, u], [T.sum(first), second])
    found = run_graph(fgraph, {x: np.array([1.0, 2.0]), u: np.array([3.0, 4.0])})
    np.testing.assert_array_equal(found[0], 10)
    np.testing.assert_array_equal(found[1], [3, 8])


def test_at_most_four_reductions_are_one():
    monoids = ["add", "mul", "maximum", "minimum", "logical_and", "logical_or"]
    outputs = [Reduce(each, [0])(X) for each in monoids]
    fgraph = fused([X], outputs)
    counts = [len(v.owner.outputs) for v in fgraph.outputs]
    assert max(counts) == 4
    assert sum(isinstance(each.op, MapReduces) for each in fgraph.apply_nodes) == 2


REDUCTIONS = [(T.sum(X, 0), True), (T.sum(c), False), (T.exp(x), False)]


@pytest.mark.parametrize("place", range(len(REDUCTIONS)))
def test_real_numbers_are_reduced_with_others(place):
    variable, wanted = REDUCTIONS[place]
    assert siblings.is_reduction(variable.owner) is wanted


# ---- shapes that the graph tells ----

SHAPES = [
    (x, x, True),
    (x, u, False),
    (T.exp(x), x, True),
    (T.exp(u), x, False),
    (x + u, x, True),
    (X + r, r, False),
    (X + r, X, True),
    (p, T.exp(p), True),
    (T.dot(X, Y), X, False),
    (Gemv(1, 1)(x, X, u), x, True),
    (Gemv(1, 1)(u, X, x), x, False),
    (T.inc_subtensor(x[0], a), x, True),
    (T.inc_subtensor(u[0], a), x, False),
    (ifelse(a, x, T.exp(x)), x, True),
    (ifelse(a, x, u), x, False),
    (ifelse(a, [u, x], [u, x])[1], x, True),
    (T.sum(X, 0), x, False),
]


@pytest.mark.parametrize("place", range(len(SHAPES)))
def test_a_value_has_the_shape_of_another_as_far_as_the_graph_tells(place):
    value, old, wanted = SHAPES[place]
    assert has_shape(value, old) is wanted


@pytest.mark.parametrize("variable", [x, F, c, k, T.vector("b", "bool")])
def test_a_number_changes_none_to_which_it_is_added(variable):
    number = unchanging(variable)
    assert number == 0
    dtype = np.dtype(variable.type.dtype)
    zeros = np.array([0.0, -0.0], dtype)
    found = zeros + np.asarray(number, dtype)
    np.testing.assert_array_equal(np.signbit(found.real), np.signbit(zeros.real))
    np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(zeros.imag))
