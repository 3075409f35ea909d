"""Pickles and deep copies of deep graphs: of the graph's size, without recursion."""

import copy
import io
import pickle
import threading

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, shared
from gpuarray.compiler.graph import variable
from gpuarray.compiler.graph.core import Op
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import ancestors, toposort

X = T.dvector("x")
W = shared(np.ones(4), name="w")


def steps(n, step=T.tanh):
    """The values of ``n`` steps from one to the next, the input first."""
    values = [X]
    for _ in range(n):
        values.append(step(values[-1]))
    return values


def with_shallow_inputs(n):
    return steps(n, lambda z: T.tanh(z * 1.01 + W))[-1]


def of_weights(n):
    """The gradients of a network by its weights: as many roots as it has layers."""
    weights = [T.dvector() for _ in range(n)]
    h = X
    for w in weights:
        h = T.tanh(h * w + 1)
    return grad(h.sum(), weights)


def recurrence(n):
    """The last state of layers of recurrence: each state has two deep ways to it."""
    states = [X, X + 1, X + 2, X + 3]
    for _ in range(n):
        for k in range(4):
            states[k] = T.tanh(states[k] + states[k - 1] * 0.5)
    return states[-1]


DEEP = {
    "a chain": lambda n: steps(n)[-1],
    "a residual": lambda n: steps(n, lambda z: z + T.tanh(z))[-1],
    "shallow inputs": with_shallow_inputs,
    "a gradient": lambda n: grad(with_shallow_inputs(n).sum(), X),
    "gradients": of_weights,
    "recurrence": recurrence,
    "every step": steps,
    "every step, the last one first": lambda n: steps(n)[::-1],
}


def dumped_in_python(value):
    file = io.BytesIO()
    pickle._Pickler(file).dump(value)
    return file.getvalue()


COPIES = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "pickle in Python": lambda value: pickle.loads(dumped_in_python(value)),
    "oldest protocol": lambda value: pickle.loads(pickle.dumps(value, 0)),
    "deepcopy": copy.deepcopy,
}


def ops_of(value):
    return [each.op for each in toposort(value if isinstance(value, list) else [value])]


@pytest.mark.parametrize("dump", [pickle.dumps, dumped_in_python])
@pytest.mark.parametrize("name", DEEP)
def test_a_pickle_grows_with_the_graph_and_not_with_its_depth(name, dump):
    short, long = (len(dump(DEEP[name](n))) for n in (60, 240))
    assert long < 4.5 * short


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", DEEP)
def test_each_node_is_listed_once(name, way, monkeypatch):
    listed = []

    def noted(node, all_of_them=False, of=variable.nodes_below):
        listed.extend([node, *of(node, all_of_them)])
        return of(node, all_of_them)

    monkeypatch.setattr(variable, "nodes_below", noted)
    value = DEEP[name](150)
    COPIES[way](value)
    assert len(listed) == len(ops_of(value))


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", DEEP)
def test_deep_graphs_come_back_without_deep_recursion(name, way):
    value = DEEP[name](100 if name == "recurrence" else 400)
    assert ops_of(COPIES[way](value)) == ops_of(value)


@pytest.mark.parametrize("way", COPIES)
def test_a_graph_of_thousands_of_steps_comes_back(way):
    z = with_shallow_inputs(3500)
    assert ops_of(COPIES[way](z)) == ops_of(z)


@pytest.mark.parametrize("way", COPIES)
def test_what_variables_share_stays_shared(way):
    first = with_shallow_inputs(300)
    second, third = T.exp(first) * W, first.sum()
    for order in ([0, 1, 2, 3], [2, 1, 0, 3], [3, 1, 2, 0]):
        values = [[first, second, third, X][k] for k in order]
        back = dict(zip(order, COPIES[way](values), strict=True))
        below, old = set(ancestors([back[1]])), set(ancestors(values))
        assert back[0] in below and back[3] in below
        assert back[2].owner.inputs[0] is back[0]
        leaves = [v for v in ancestors([back[1], back[2]]) if v.name == "w"]
        assert len(leaves) == 1
        assert len(ops_of(list(back.values()))) == len(ops_of(values))
        assert all(v.owner.outputs[v.index] is v for v in below if v.owner)
        assert not below & old


def test_a_pickler_goes_on_with_what_it_knows():
    z = with_shallow_inputs(300)
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.dump(z)
    size = file.tell()
    pickler.dump(T.exp(z))
    assert file.tell() < size + 2000
    pickler.clear_memo()
    pickler.dump(T.exp(z))
    assert file.tell() > 2 * size
    file.seek(0)
    unpickler = pickle.Unpickler(file)
    first, second = unpickler.load(), unpickler.load()
    assert second.owner.inputs[0] is first
    third = pickle.load(file)
    assert ops_of(second) == ops_of(third)


@pytest.mark.parametrize("start", [600, 599, 300, 1])
def test_a_pickle_is_whole_while_another_one_is_kept(start):
    """What a kept pickler wrote, another one and a copy must write again."""
    values = steps(600)
    kept = pickle.Pickler(io.BytesIO())
    kept.dump(values[start])
    other = pickle.Pickler(io.BytesIO())
    for value in (values[-1], T.exp(values[start]), values[100], values[::-7]):
        for dump in (pickle.dumps, dumped_in_python):
            assert ops_of(pickle.loads(dump(value))) == ops_of(value)
        assert ops_of(copy.deepcopy(value)) == ops_of(value)
        other.dump(value)
        kept.dump(value)


class Unpicklable(Op):
    """An op that no pickle can hold."""

    def infer(self, x):
        return x

    def __reduce__(self):
        raise TypeError("not this one")


def test_a_pickle_that_failed_is_no_hindrance():
    values = steps(400)
    bad = steps(2, T.exp)[-1] + Unpicklable()(values[-1])
    for dump in (pickle.dumps, dumped_in_python, copy.deepcopy):
        with pytest.raises(TypeError, match="not this one") as kept:
            dump([bad])
        for value in (values[-1], values[150], T.exp(values[-1])):
            assert ops_of(pickle.loads(pickle.dumps(value))) == ops_of(value)
        del kept


class Holds(Op):
    """An op with a graph in it; its pickle has that graph pickled by itself."""

    def __init__(self, inner, apart=False):
        self.inner = inner
        self.apart = apart

    def infer(self, x):
        return x

    def __reduce__(self):
        if not self.apart:
            return Holds, (self.inner,)
        return pickle.loads, (pickle.dumps(Holds(self.inner)),)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("way", COPIES)
def test_an_op_may_hold_a_deep_graph(way, apart):
    values = steps(700)
    z = steps(700, lambda z: T.tanh(Holds(values[-1], apart)(z)) if z is X else z + X)
    back = COPIES[way]([z[-1], values[-1]])
    (holder,) = [each for each in ops_of(back) if isinstance(each, Holds)]
    assert ops_of(holder.inner) == ops_of(values[-1])
    assert (holder.inner is back[1]) != apart


def test_an_update_may_be_deep():
    w = shared(np.zeros(3), name="state")
    w.default_update = steps(900, lambda z: T.tanh(z + w))[-1]
    for value in (w, w.default_update, T.exp(w) + X, [T.exp(X), w * 2]):
        back = pickle.loads(pickle.dumps(value))
        roots = back if isinstance(back, list) else [back]
        (leaf,) = {v for v in ancestors(roots) if v.name == "state"}
        assert ops_of(leaf.default_update) == ops_of(w.default_update)
        assert leaf in set(ancestors([leaf.default_update]))


def test_threads_pickle_one_graph_at_the_same_time():
    values, found = steps(500), []

    def work(value):
        found.append(ops_of(pickle.loads(dumped_in_python(value))) == ops_of(value))

    threads = [threading.Thread(target=work, args=(v,)) for v in values[-4:]]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [True] * 4


def test_functions_of_deep_graphs_come_back(null):
    z = with_shallow_inputs(500)
    graph = FunctionGraph([X, W], [z, T.exp(z)])
    assert ops_of(pickle.loads(pickle.dumps(graph)).outputs) == ops_of(graph.outputs)
    with config.use(device="null"):
        f = function([X], z, mode="FAST_COMPILE")
    back = pickle.loads(pickle.dumps(f))
    assert str(back.plan) == str(f.plan)
    assert ops_of(back.maker.fgraph.outputs) == ops_of(f.maker.fgraph.outputs)
