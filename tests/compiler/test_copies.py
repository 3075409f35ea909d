"""Copies of functions, expressions and values: by copy, clone and pickle."""

import copy
import pickle

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import (
    In,
    clone,
    config,
    function,
    function_dump,
    grad,
    rewrites,
    shared,
)
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import ancestors, same_graph, toposort


def vector(n, seed=0):
    return np.random.RandomState(seed).uniform(-2, 2, n).astype("float32")


def trained():
    x, w = T.vector("x"), shared(vector(3), name="w")
    cost = ((x * w) ** 2).sum()
    return w, function([x], cost, updates={w: w - 0.1 * grad(cost, w)}, name="train")


def test_a_copy_swaps_shared_variables_and_optimizes_nothing(on_context, monkeypatch):
    w, train = trained()
    u = shared(vector(3, 1), name="u")
    monkeypatch.setattr(rewrites, "optimize", None)
    other = train.copy(swap={w: u}, name="other")
    assert other.name == "other" and other.get_shared() == [u]
    other(vector(3, 2))
    assert np.array_equal(w.get_value(), vector(3))
    expected = vector(3, 1) * (1 - 0.2 * vector(3, 2) ** 2)
    np.testing.assert_allclose(u.get_value(), expected, rtol=1e-5)
    train(vector(3, 2))
    expected = vector(3) * (1 - 0.2 * vector(3, 2) ** 2)
    np.testing.assert_allclose(w.get_value(), expected, rtol=1e-5)


def test_a_copy_without_updates_changes_nothing(on_context):
    w, train = trained()
    watch = train.copy(delete_updates=True)
    before = w.get_value()
    first = watch(vector(3, 2))
    np.testing.assert_allclose(first, ((before * vector(3, 2)) ** 2).sum(), rtol=1e-5)
    assert watch(vector(3, 2)) == first == train(vector(3, 2))
    assert not np.array_equal(w.get_value(), before)
    assert len(watch.plan.outputs) == 1


def test_a_copy_keeps_what_an_update_overwrites_in_place(on_context):
    w, u = shared(vector(1000)), shared(vector(1000, 1))
    f = function([], [(w + 1).sum()], updates={w: w + 1, u: u})
    g = f.copy(delete_updates=True)
    g()
    g()
    assert np.array_equal(w.get_value(), vector(1000))


def test_the_values_of_a_copy_s_inputs_are_its_own(on_context):
    x, state = T.scalar("x"), T.scalar("state")
    f = function([x, In(state, value=1, update=state + x)], state)
    f(1)
    g = f.copy()
    assert g(5) == 2 and g(0) == 7
    assert f(0) == 2
    still = f.copy(delete_updates=True)
    assert still(3) == 2 and still(3) == 2
    twin = f.copy(share_memory=True)
    assert twin(1) == 2 and f(1) == 2 and twin(1) == 3


def test_what_cannot_be_swapped_is_told(on_context):
    w, train = trained()
    with pytest.raises(ValueError, match="the function does not use it"):
        train.copy(swap={shared(vector(3)): w})
    with pytest.raises(TypeError, match=r"expected a shared variable of TensorType"):
        train.copy(swap={w: shared(np.ones((2, 2)))})
    with pytest.raises(TypeError, match="cannot be swapped for 3"):
        train.copy(swap={w: 3})


def test_a_function_comes_back_from_a_pickle(on_context):
    w, train = trained()
    train(vector(3, 2))
    other = pickle.loads(pickle.dumps(train))
    assert other.name == "train" and str(other.plan) == str(train.plan)
    (v,) = other.get_shared()
    assert v is not w
    assert np.array_equal(v.get_value(), w.get_value())
    assert train(vector(3, 3)) == other(vector(3, 3))
    assert np.array_equal(v.get_value(), w.get_value())
    assert other.context is on_context
    texts = [
        [str(node.op) for node in each.maker.fgraph.toposort()]
        for each in (train, other)
    ]
    assert texts[0] == texts[1]
    third = copy.deepcopy(train)
    third(vector(3, 3))
    assert not np.array_equal(third.get_shared()[0].get_value(), w.get_value())


def test_a_pickled_function_keeps_its_form_and_values(on_context):
    x, n = T.vector("x"), T.lscalar("n")
    f = function([x, In(n, value=2, name="rows")], {"y": x.reshape((n, -1)), "x": x})
    f.trust_input = True
    g = pickle.loads(pickle.dumps(f))
    assert g(vector(6))["y"].shape == (2, 3) and g.trust_input
    g["rows"] = 3
    assert g(vector(6))["y"].shape == (3, 2)
    assert f["rows"] == 2


def test_a_function_is_loaded_without_its_context_and_runs_on_the_default(on_context):
    _, train = trained()
    text = pickle.dumps(train).replace(
        on_context.name.encode(),
        b"cuda7:7"[: len(on_context.name)].ljust(len(on_context.name), b"9"),
    )
    other = pickle.loads(text)
    assert on_context.name not in repr(other)
    expected = train(vector(3, 2))
    np.testing.assert_allclose(other(vector(3, 2)), expected, rtol=1e-5)
    assert other.context is on_context


def test_a_device_variable_is_pickled_as_an_array_of_the_host(on_context):
    w = shared(vector(5), name="w")
    w.default_update = w + 1
    function([], w)()
    assert isinstance(w.container.value, gpuarray.Array)
    other = pickle.loads(pickle.dumps(w))
    assert isinstance(other.container.value, np.ndarray)
    assert np.array_equal(other.get_value(), w.get_value())
    assert other.name == "w" and other.type == w.type
    assert same_graph(other.default_update, w.default_update, {other: w})
    assert other in set(ancestors([other.default_update]))
    function([], other)()
    assert np.array_equal(other.get_value(), w.get_value() + 1)


def test_variables_that_share_a_value_still_do_after_a_pickle():
    w = shared(np.arange(3.0), name="w")
    a, b = pickle.loads(pickle.dumps((w, w.clone("b"))))
    a.set_value(np.zeros(2))
    assert np.array_equal(b.get_value(), [0, 0])


def test_expressions_come_back_from_a_pickle():
    x, w = T.dvector("x"), shared(np.arange(3.0), name="w")
    y = T.exp(x) * w
    z = y.sum() + T.dot(x, y)
    loaded = pickle.loads(pickle.dumps([x, y, z]))
    assert loaded[1] in set(ancestors([loaded[2]]))
    assert loaded[0] in set(ancestors([loaded[2]]))
    values = np.ones(3)
    assert evaluate(loaded[2], {loaded[0]: values}) == evaluate(z, {x: values})
    assert str(loaded[2].owner.trace) == str(z.owner.trace)
    graph = pickle.loads(pickle.dumps(FunctionGraph([x, w], [z])))
    graph.check()
    assert [str(each) for each in graph.inputs] == ["x", "w"]


STEPS = {
    "chain": lambda y, x: T.tanh(y),
    "leaves": lambda y, x: T.tanh(y) + x,
    "residual": lambda y, x: y + T.tanh(y),
    "twice": lambda y, x: T.exp(T.tanh(y) * x) - T.sin(y) * y,
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("count", [16, 17, 32, 1200])
def test_deep_expressions_are_pickled_without_deep_recursion(step, count):
    x = T.dvector("x")
    y = x
    for _ in range(count):
        y = STEPS[step](y, x)
    depth = len(toposort([y]))
    loaded = pickle.loads(pickle.dumps(y))
    assert len(toposort([loaded])) == depth
    assert [each.op for each in toposort([loaded])] == [
        each.op for each in toposort([y])
    ]
    assert len(toposort([copy.deepcopy(y)])) == depth


def test_an_update_by_itself_is_pickled():
    w = shared(0.0, name="w")
    y = w
    for _ in range(200):
        y = T.tanh(y)
    w.default_update = y
    other = pickle.loads(pickle.dumps(y))
    (leaf,) = [each for each in ancestors([other]) if each.owner is None]
    assert leaf.default_update is other


def test_what_a_function_is_made_of_is_written_to_a_file(tmp_path, null):
    x, w = T.dvector("x"), shared(np.arange(3.0), name="w")
    path = tmp_path / "function.pkl"
    function_dump(path, [x], [x * w], updates={w: w + 1}, name="f")
    with path.open("rb") as file, config.use(device="null"):
        f = function(**pickle.load(file))
    assert f.name == "f" and len(f.get_shared()) == 1


def test_a_clone_has_nodes_of_its_own_and_replaces():
    x, y, w = T.dvector("x"), T.dvector("y"), shared(np.arange(3.0), name="w")
    z = T.exp(x * w)
    same = clone(z)
    assert same is not z and same_graph(same, z)
    assert not set(toposort([same])) & set(toposort([z]))
    changed = clone([z, x], replace={x: y + 1, w: y})
    assert y in set(ancestors(changed)) and x not in set(ancestors(changed))
    values = {y: np.ones(3)}
    np.testing.assert_allclose(evaluate(changed[0], values), np.exp([2.0] * 3))
    apart = clone(z, share_inputs=False)
    assert not {x, w} & set(ancestors([apart]))
    assert not {x, w} & set(ancestors([clone(z, copy_inputs=False)]))
    assert clone(None) is None
    with pytest.raises(TypeError, match="does not fit"):
        clone(z, replace={x: T.fvector("f")})
    loose = clone(x + 1, replace={x: T.fvector("f")}, strict=False)
    assert loose.dtype == "float32"
    with pytest.raises(TypeError, match="clone: given 3"):
        clone([3])
