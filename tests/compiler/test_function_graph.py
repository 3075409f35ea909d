"""The graph under rewriting: clients, replacements, listeners."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import (
    FunctionGraph,
    shared,
)
from gpuarray.compiler.errors import (
    MissingInputError,
)
from gpuarray.compiler.graph.traverse import (
    toposort,
)
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.scalars import SCALARS

# The graph under rewriting.


def example():
    x, y = T.dvector("x"), T.dvector("y")
    a = T.exp(x)
    out = T.log(a) * y
    return x, y, a, out


def test_a_function_graph_leaves_the_users_expression_alone():
    x, y, _, out = example()
    before = str(out.owner)
    fgraph = FunctionGraph([x, y], [out])
    log = fgraph.outputs[0].owner.inputs[0]
    fgraph.replace(log, x, "drop_inverse_pair")
    fgraph.check()
    assert str(out.owner) == before
    assert len(toposort([out])) == 3
    assert len(fgraph.apply_nodes) == 1
    a, b = np.array([1.0, 2]), np.array([3.0, 4])
    np.testing.assert_array_equal(evaluate(fgraph.outputs[0], {x: a, y: b}), a * b)


def test_clients_say_who_uses_a_variable():
    x, y, a, out = example()
    fgraph = FunctionGraph([x, y], [out, out])
    node = fgraph.outputs[0].owner
    assert list(fgraph.clients[fgraph.outputs[0]]) == [("output", 0), ("output", 1)]
    assert list(fgraph.clients[y]) == [(node, 1)]
    assert list(fgraph.clients[fgraph.memo[a]]) == [(node.inputs[0].owner, 0)]


def test_a_replacement_is_logged_and_told_to_listeners():
    x, y, _, out = example()
    fgraph = FunctionGraph([x, y], [out])
    heard = []
    fgraph.listeners.append(heard.append)
    old = fgraph.outputs[0]
    fgraph.replace(old, y, "rule")
    assert fgraph.outputs == [y]
    assert fgraph.apply_nodes == set()
    assert [(c.reason, c.before, c.after) for c in fgraph.log] == [("rule", old, y)]
    assert heard == fgraph.log
    fgraph.check()


def test_a_replacement_has_the_same_type():
    x, y, _, out = example()
    fgraph = FunctionGraph([x, y], [out])
    with pytest.raises(TypeError, match=r"rule.*cannot become") as caught:
        fgraph.replace(fgraph.outputs[0], T.fvector(), "rule")
    assert __file__ in str(caught.value)


def test_a_replacement_may_use_what_it_replaces():
    x, y, a, out = example()
    fgraph = FunctionGraph([x, y], [out])
    old = fgraph.memo[a]
    fgraph.replace(old, T.sqrt(old), "rule")
    fgraph.check()
    assert len(fgraph.apply_nodes) == 4
    values = {x: np.ones(2), y: np.ones(2)}
    np.testing.assert_allclose(evaluate(fgraph.outputs[0], values), [0.5, 0.5])


def test_new_nodes_remember_the_line_of_the_old_one():
    x, y, a, out = example()
    fgraph = FunctionGraph([x, y], [out])
    old = fgraph.memo[a]
    new = T.expm1(x) + 1
    fgraph.replace(old, new, "rule")
    assert new.tag.trace == new.owner.inputs[0].tag.trace == a.tag.trace


def test_nodes_that_nobody_needs_are_dropped():
    x, y = T.dvector("x"), T.dvector("y")
    quotient, rest = T.divmod(x, y)
    fgraph = FunctionGraph([x, y], [T.exp(quotient) + rest])
    assert len(fgraph.apply_nodes) == 4
    exp = fgraph.outputs[0].owner.inputs[0]
    fgraph.replace(exp, y, "rule")
    fgraph.check()
    assert len(fgraph.apply_nodes) == 2
    fgraph.replace(exp, y, "gone already")
    assert len(fgraph.log) == 1


def test_a_leaf_without_value_is_missed():
    x, _y, _, out = example()
    with pytest.raises(MissingInputError, match="y is needed") as caught:
        FunctionGraph([x], [out])
    assert __file__ in str(caught.value)
    w = shared(np.ones(3))
    assert FunctionGraph([w], [w * 2]).inputs == [w]


def test_an_input_that_is_computed_becomes_a_leaf():
    _x, y, a, out = example()
    fgraph = FunctionGraph([a, y], [out])
    assert fgraph.inputs[0].owner is None
    assert fgraph.inputs[0] is not a
    assert len(fgraph.apply_nodes) == 2


def test_who_overwrites_comes_after_who_reads():
    x = T.dvector("x")
    a = T.exp(x)
    overwriting = Elemwise(SCALARS["neg"], {0: 0})(a)
    reading = a.dimshuffle("x", 0) * 2
    fgraph = FunctionGraph([x], [overwriting, reading])
    order = fgraph.toposort()
    names = [str(node.op) for node in order]
    assert names[-1] == "Elemwise{neg}[(0, 0)]"
    a, _b = evaluate(fgraph.outputs, {x: np.zeros(2)})
    assert len(names) == 5
