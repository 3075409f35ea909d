"""Who may overwrite what; values are computed with memory really shared."""

import numpy as np
import pytest
from gpuarray.compiler import Op, rewrites, tensor as T
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.linalg.linalg import Gemv
from run_graph import run_graph
from test_fusion import Expression


def inplace(inputs, outputs, destroyable=(), phases=("inplace",)):
    """The graph after the phase; every result checked against the graph before."""
    rng = np.random.default_rng(0)
    values = {v: rng.uniform(0.5, 2, (4,) * v.type.ndim) for v in inputs}
    wanted = run_graph(FunctionGraph(inputs, outputs), values)
    fgraph = FunctionGraph(inputs, outputs)
    rewrites.optimize(fgraph, phases, destroyable=destroyable)
    fgraph.check()
    for left, right in zip(wanted, run_graph(fgraph, values), strict=True):
        np.testing.assert_allclose(right, left, rtol=1e-12)
    return fgraph


def overwriting(fgraph):
    """Which inputs are overwritten, as (op, name or op of what is overwritten)."""
    found = []
    for node in fgraph.toposort():
        for indices in node.op.destroy_map.values():
            for index in indices:
                given = node.inputs[index]
                found.append(given.name or given.owner.op.__class__.__name__)
    return found


def test_a_dying_intermediate_is_overwritten():
    x, y = T.dvectors("x", "y")
    assert overwriting(inplace([x, y], [T.exp(T.dot(x, y) * x)])) == ["Elemwise"]


def test_an_array_that_an_elementwise_node_reads_twice_is_overwritten():
    x = T.dvector("x")
    e = T.exp(x)
    assert overwriting(inplace([x], [e * e])) == ["Elemwise"]


def test_an_input_of_the_user_is_not_overwritten():
    x = T.dvector("x")
    assert overwriting(inplace([x], [T.exp(x)])) == []


def test_a_result_is_not_overwritten():
    x = T.dvector("x")
    e = T.exp(x)
    assert overwriting(inplace([x], [e, T.tanh(e)])) == []


def test_a_view_of_a_result_is_not_overwritten():
    X = T.dmatrix("X")
    e = T.exp(X)
    assert overwriting(inplace([X], [e.T, T.tanh(e)])) == []


def test_a_constant_is_not_overwritten():
    x = T.dvector("x")
    numbers = T.constant(np.arange(4.0))
    assert overwriting(inplace([x], [numbers + x])) == []


def test_an_updated_shared_value_is_overwritten_by_its_new_value():
    w, g = T.dvectors("w", "g")
    assert overwriting(inplace([w, g], [w - g], destroyable=[w])) == ["w"]


def test_another_result_does_not_overwrite_a_shared_value():
    w, g = T.dvectors("w", "g")
    assert overwriting(inplace([w, g], [w - g, g * 2], destroyable={w: 1})) == []


class MayFail(Op):
    """Its operand; it may fail in the middle of a run, or never."""

    __props__ = ("fails_late",)

    def __init__(self, fails_late):
        self.fails_late = fails_late

    def infer(self, x):
        return x

    def reference(self, x):
        return x.copy()


@pytest.mark.parametrize("fails_late", [False, True])
def test_an_old_value_stays_where_a_run_may_fail_late(fails_late):
    w, g = T.dvectors("w", "g")
    outputs = [w - g, MayFail(fails_late)(g)]
    overwritten = overwriting(inplace([w, g], outputs, destroyable={w: 0}))
    assert overwritten == ([] if fails_late else ["w"])


def test_the_new_value_goes_where_the_old_is_not_where_another_array_is():
    a, x = T.dvectors("a", "x")
    for first, second in ((a, T.cumsum(x)), (T.cumsum(x), a)):
        fgraph = inplace([a, x], [first * second], destroyable={a: 0})
        assert overwriting(fgraph) == ["a"]


def test_only_the_new_value_of_a_shared_value_may_overwrite_it():
    w, v = T.dvectors("w", "v")
    updates = [v + w, w * v]
    fgraph = inplace([w, v], updates, destroyable={w: 1, v: 0})
    assert sorted(overwriting(fgraph)) in (["v"], ["w"])
    for node in fgraph.apply_nodes:
        for given in node.op.inplace_pattern.values():
            index = {w: 1, v: 0}[node.inputs[given]]
            assert fgraph.outputs[index].owner is node


def test_an_intermediate_does_not_overwrite_a_shared_value():
    w = T.dvector("w")
    assert "w" not in overwriting(inplace([w], [T.exp(w * 2)], destroyable=[w]))


def test_readers_run_before_what_is_overwritten():
    w, x, y = T.dvector("w"), T.dmatrix("x"), T.dvector("y")
    error = T.dot(x, w) - y
    new = w - 0.1 * T.dot(x.T, error)
    fgraph = inplace(
        [w, x, y], [new, T.sum(w * 2)], destroyable=[w], phases=("blas", "inplace")
    )
    (gemv,) = [node for node in fgraph.apply_nodes if node.op.destroy_map]
    assert isinstance(gemv.op, Gemv)
    before = rewrites.orderings(fgraph)[gemv]
    order = fgraph.toposort()
    assert len(before) == 2
    assert all(order.index(node) < order.index(gemv) for node in before)


def test_no_one_overwrites_what_is_read_after_it():
    x = T.dvector("x")
    e = T.exp(x)
    fgraph = inplace([x], [T.tanh(e) + T.sum(T.tanh(e)) * e])
    assert "Elemwise" in overwriting(fgraph)


def test_two_do_not_overwrite_one_array():
    x = T.dvector("x")
    e = T.exp(x)
    fgraph = inplace([x], [T.tanh(e), T.sqrt(e)])
    assert len(overwriting(fgraph)) == 1


def test_a_result_overwrites_before_what_is_computed_on_the_way():
    x, X = T.dvector("x"), T.dmatrix("X")
    e = T.exp(x)
    for outputs in ([T.sqrt(e), T.dot(X, T.tanh(e))], [T.dot(X, T.tanh(e)), T.sqrt(e)]):
        fgraph = inplace([x, X], outputs)
        (node,) = [node for node in fgraph.apply_nodes if node.op.destroy_map]
        assert node in {out.owner for out in fgraph.outputs}
        assert str(node.op).startswith("Elemwise{sqrt}")


def test_two_results_of_one_node_do_not_overwrite_one_array():
    X = T.dmatrix("X")
    largest = T.max(X, axis=1)
    phases = ("fuse", "inplace")
    fgraph = inplace([X], [T.exp(largest), T.tanh(largest)], phases=phases)
    (node,) = [node for node in fgraph.apply_nodes if len(node.outputs) == 2]
    assert node.op.inplace_pattern == {0: 0}


def test_an_order_that_two_overwritings_ask_of_each_other_is_refused():
    x, y = T.dvectors("x", "y")
    a, b = T.exp(x), T.tanh(y)
    inplace([x, y], [a * T.sum(b), b * T.sum(a)])


def test_an_array_read_through_a_view_by_the_same_node_is_not_overwritten():
    X = T.dmatrix("X")
    e = T.exp(X)
    assert overwriting(inplace([X], [e + e.T])) == []


def test_a_product_does_not_overwrite_its_own_factor():
    X = T.dmatrix("X")
    e = T.exp(X)
    fgraph = inplace([X], [e + T.dot(e, X)], phases=("blas", "inplace"))
    assert overwriting(fgraph) == []


def test_a_repeated_array_is_not_overwritten():
    a = T.dvector("a")
    repeated = T.broadcast_to(T.exp(a), (4, a.shape[0]))
    assert overwriting(inplace([a], [repeated + 1])) == []


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_graphs_keep_their_values_when_memory_is_shared(first):
    for seed in range(first, first + 20):
        given = Expression(seed, dtypes=["float64", "float32"])
        inputs, outputs = given.inputs, given.outputs
        plain = run_graph(FunctionGraph(inputs, outputs), given.values)
        fgraph = FunctionGraph(inputs, outputs)
        rewrites.optimize(fgraph, ["canonicalize", "inplace"], destroyable=inputs[:2])
        for left, right in zip(plain, run_graph(fgraph, given.values), strict=True):
            np.testing.assert_allclose(right, left, rtol=1e-6, err_msg=f"seed {seed}")
