"""Functions of several contexts in files: the names of a program, and devices."""

import subprocess
import sys

import gpuarray
import numpy as np
import pytest
from gpuarray import load_function
from gpuarray._core.context import Context
from gpuarray._files.native_functions import names_in
from gpuarray._native import check, ffi, lib
from gpuarray.compiler import (
    config,
    function,
    grad,
    load,
    scan,
    shared,
    tensor as T,
)
from gpuarray.compiler.printing import Print
from gpuarray.compiler.scan_module import until
from gpuarray.doctor import devices
from loops import loop_steps

RNG = np.random.default_rng(3)
X = RNG.normal(size=(7, 6)).astype("float32")
LABELS = RNG.integers(0, 4, 7).astype("int32")


@pytest.fixture
def names():
    """The names of two devices, which a program calls dev0 and dev1."""
    found = [*devices("cuda")[0], *devices("opencl")[0]]
    if len(found) < 2:
        pytest.skip("there is one device only")
    first, second = found[:2]
    with config.use(
        contexts=f"dev0->{first};dev1->{second}", device=first, floatX="float32"
    ):
        yield first, second


@pytest.fixture
def trained(names, tmp_path):
    """The training step of two layers on two contexts, its weights, and its file."""
    x, labels = T.fmatrix("x"), T.ivector("labels")
    v = shared(RNG.normal(size=(6, 5)).astype("float32") / 2, "v", target="dev0")
    w = shared(RNG.normal(size=(5, 4)).astype("float32") / 2, "w", target="dev1")
    scores = T.dot(T.tanh(T.dot(x, v)).transfer("dev1"), w)
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(scores), labels).mean()
    updates = [(p, p - 0.5 * grad(cost, p)) for p in (v, w)]
    outputs = [cost, scores.transfer("dev1")]
    train = function([x, labels], outputs, updates=updates)
    path = tmp_path / "train.plan"
    train.save(path)
    return train, {"v": v, "w": w}, path


def costs_of(train):
    """Three steps, each of another shape."""
    return [float(train(X[:n], LABELS[:n])[0]) for n in (7, 3, 5)]


def test_a_loaded_function_is_the_function_wherever_its_contexts_are(trained, names):
    train, weights, path = trained
    first, second = names
    chosen = {
        (first, second): {},
        (second, first): {"contexts": {"dev0": second, "dev1": first}},
        (second, second): {"context": second, "contexts": {"dev1": second}},
        (first, first): {"contexts": {"dev1": gpuarray.context(first)}},
    }
    loaded = {places: load(path, **given) for places, given in chosen.items()}
    assert loaded[second, first].context.name == second
    expected = costs_of(train)
    for (own, other), f in loaded.items():
        np.testing.assert_allclose(costs_of(f), expected, rtol=1e-5)
        for name, value in weights.items():
            np.testing.assert_allclose(f[name], value.get_value(), rtol=1e-5, atol=1e-6)
        scores = f(X, LABELS)[1]
        assert scores.context.name == other
        # a call takes an array of any of its contexts
        for place in {own, other}:
            given = gpuarray.asarray(X, context=place)
            assert f(given, LABELS)[1].shape == (7, 4)
        f["w"] = np.zeros((5, 4), "float32")
        assert not np.asarray(f(X, LABELS)[1]).any()


def test_two_contexts_of_one_device(trained, names):
    train, _, path = trained
    pair = ffi.new("gpucontext **")
    check(lib.gpucontext_open(pair, names[0].encode()))
    own, other = gpuarray.context(names[0]), Context(pair[0])
    f = load(path, contexts={"dev0": own, "dev1": other})
    np.testing.assert_allclose(costs_of(f), costs_of(train), rtol=1e-5)
    assert f(X, LABELS)[1].context is other


SCRIPT = """
import sys
import gpuarray, numpy as np
path, first, second = sys.argv[1:]
f = gpuarray.load_function(path, contexts={"dev0": first, "dev1": second})
x, labels = np.ones((7, 6), "float32"), np.zeros(7, "int32")
costs = [float(f(x[:n], labels[:n])[0]) for n in (7, 3, 5)]
compiled = [gpuarray.context(name).cache_info().compiled for name in (first, second)]
print(compiled, "gpuarray.compiler" in sys.modules)
"""


def test_another_process_compiles_nothing(trained, names, tmp_path, monkeypatch):
    train, _, path = trained
    train(X, LABELS)
    train.save(path)
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", str(tmp_path / "kernels"))
    command = [sys.executable, "-c", SCRIPT, str(path), *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["[0,", "0]", "False"], done.stdout


def test_a_loaded_function_is_saved_with_its_names(trained, names, tmp_path):
    train, _, path = trained
    again = tmp_path / "again.plan"
    load(path, contexts={"dev0": names[1], "dev1": names[0]}).save(again)
    np.testing.assert_allclose(costs_of(load(again)), costs_of(train), rtol=1e-5)
    compiled = load(path, trusted=True)
    compiled._compile()  # as for a shape of a step that only Python binds
    compiled.save(again)
    assert names_in(again) == ["dev0", "dev1"]


def test_names_without_a_device(trained, names):
    _, _, path = trained
    listed = "'dev0', 'dev1'"
    with pytest.raises(ValueError, match=f"names 'dev2'; .* contexts {listed}"):
        load(path, contexts={"dev2": names[0]})
    with pytest.raises(ValueError, match="own context is 'dev0', which both"):
        load(path, names[0], contexts={"dev0": names[0]})
    with pytest.raises(ValueError, match=f"contexts {listed}, and nothing .* 'dev1'"):
        gpuarray.load_function(path, names[0])
    with (
        config.use(contexts=f"dev0->{names[0]}"),
        pytest.raises(ValueError, match=f"contexts {listed}, and nothing .* 'dev1'"),
    ):
        load(path)
    x = T.fvector("x")
    one = path.with_name("one.plan")
    function([x], x * 2).save(one)
    with pytest.raises(ValueError, match="'dev0'; the function is of one context"):
        load(one, contexts={"dev0": names[0]})


def test_a_graph_is_of_the_contexts_that_the_program_names(trained, names):
    train, _, path = trained
    f = load(path, trusted=True)
    assert costs_of(f.function()) == pytest.approx(costs_of(train))
    there = {"dev0": names[1], "dev1": names[0]}
    with pytest.raises(ValueError, match="use the setting contexts instead"):
        load(path, contexts=there, trusted=True).function()


def test_lengths_that_are_read_on_another_context(names, tmp_path):
    x = T.fvector("x")
    there = T.exp(x).transfer("dev1")
    chosen = there[(there > 1).nonzero()]
    f = function([x], [(chosen * 2).transfer("dev0").sum(), chosen])
    f.save(tmp_path / "f")
    first, second = names
    for given in ({}, {"contexts": {"dev1": first}}, {"contexts": {"dev0": second}}):
        g = load(tmp_path / "f", **given)
        for values in (X[0], X[:, 1], X[:3].ravel(), X[0, :0]):
            for result, expected in zip(g(values), f(values), strict=True):
                np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_a_loop_whose_body_names_two_contexts(names, tmp_path):
    x = T.fmatrix("x")
    u = shared(np.float32(0.5), target="dev0")
    w = shared(np.full(6, 1.5, "float32"), target="dev1")

    def body(row, state):
        state = (T.tanh(state + row * u).transfer("dev1") * w).transfer("dev0")
        return (state, state.sum()), until(abs(state).max() > 1.2)

    (rows, sums), _ = scan(body, x, outputs_info=[T.zeros_like(x[0]), None])
    outputs = [rows[-1], sums, *grad((rows**2).sum(), [x, w])]
    f = function([x], outputs)
    assert any(step.by_host for step in loop_steps(f))
    f.save(tmp_path / "f", graph=False)
    first, second = names
    loaded = [
        load_function(tmp_path / "f", contexts={"dev0": one, "dev1": other})
        for one, other in [(first, second), (second, first), (first, first)]
    ]
    for given in (X, X[:2], X[:1]):
        for g in loaded:
            for result, expected in zip(g(given), f(given), strict=True):
                np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_a_pickle_has_the_names_of_the_program(names, tmp_path):
    x = T.fvector("x")
    u = shared(np.float32(0.5), target="dev0")
    w = shared(np.float32(2), target="dev1")

    def body(row, state):
        looked = Print("state", attrs=())(state + row * u)
        return (T.tanh(looked).transfer("dev1") * w).transfer("dev0")

    rows, _ = scan(body, sequences=x, outputs_info=T.zeros_like(x[0]))
    f = function([x], rows)
    with pytest.warns(UserWarning, match="its loop scan_fn needs Python in each"):
        f.save(tmp_path / "f")
    with pytest.raises(ValueError, match="this one is a pickle"):
        load(tmp_path / "f", contexts={"dev1": names[0]}, trusted=True)
    np.testing.assert_allclose(load(tmp_path / "f", trusted=True)(X[0]), f(X[0]))
