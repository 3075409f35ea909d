"""Saved functions run at shapes that Python never saw, on devices it was not saved on.

Each is compiled, saved without a call and run in a process without the compiler; NumPy,
or the function itself, is the judge.
"""

import os
import pickle
import subprocess
import sys

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, shared

SIZES = range(1, 11)
F32 = "float32"

CHILD = """
import pickle, sys
import numpy as np
import gpuarray
folder, count = sys.argv[1], 0
for device in sys.argv[2:]:
    context = gpuarray.context(device)
    with open(f"{folder}/calls", "rb") as file:
        calls = pickle.load(file)
    for name, (path, given) in calls.items():
        f = gpuarray.load_function(path, context)
        for arguments, expected in given:
            results = f(*arguments)
            results = results if isinstance(results, list) else [results]
            for result, wanted in zip(results, expected, strict=True):
                found = np.asarray(result)
                assert found.dtype == wanted.dtype, (name, found.dtype)
                np.testing.assert_allclose(
                    found, wanted, rtol=3e-4, atol=2e-5, err_msg=f"{name} on {device}"
                )
                count += 1
    assert "gpuarray.compiler" not in sys.modules
print(count)
"""


@pytest.fixture
def contexts(request, first_context):
    """The devices tested, the first one first."""
    names = request.config.gpuarray_contexts
    return [first_context, *(gpuarray.context(name) for name in names[1:])]


def drawn(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(F32)


def places(count, stop):
    return np.random.default_rng(count + stop).integers(-stop, stop, count)


def cases():
    """For each family a function, and the arguments of a call of some size."""
    x, y, v = T.fmatrix("x"), T.fmatrix("y"), T.fvector("v")
    i, j, k = T.lvector("i"), T.lmatrix("j"), T.lscalar("k")
    t = T.TensorType(F32, (False,) * 3)("t")
    w = shared(np.linspace(-1, 1, 5).astype(F32), name="w")
    scores = T.nnet.softmax(x * w)
    cost = T.nnet.categorical_crossentropy(scores, i).mean()
    centred = x - x.mean(1, keepdims=True)
    normed = centred / T.sqrt(T.sqr(centred).mean(1, keepdims=True) + 1e-5) * w

    def wide(n):
        return [drawn(n, 5)]

    def labelled(n):
        return [drawn(n, 5), places(n, 5)]

    def several(n):
        return [drawn(n, 5), places(4, n)]

    def vector(n):
        return [drawn(n)]

    return {
        "softmax": ([x], T.nnet.softmax(x), wide),
        "logsoftmax": ([x], T.nnet.logsoftmax(x), wide),
        "softmax of columns": ([x], T.nnet.softmax(x, 0), wide),
        "softmax of half precision": ([x], T.nnet.softmax(x.astype("float16")), wide),
        "layer norm": ([x], normed, wide),
        "gradient of a layer norm": ([x], grad(T.sqr(normed).sum(), [w, x]), wide),
        "cost": ([x, i], [cost, T.argmax(scores, 1)], labelled),
        "gradient of a cost": ([x, i], grad(cost, w), labelled),
        "several sums": ([x], [x.sum(), x.std(0), x.max(1), (x * x).sum(0)], wide),
        "sort": ([x], T.sort(x, 0), wide),
        "argsort": ([x], T.argsort(x, 0), wide),
        "topk": ([v], T.topk(v, 1), vector),
        "smallest": ([v], T.topk(v, -1), vector),
        "cumsum": ([x], T.cumsum(x, 0), wide),
        "cumsum of all": ([x], T.cumsum(x), wide),
        "cumprod": ([x], grad(T.cumprod(x, 0).sum(), x), wide),
        "argmax": ([x], [T.argmax(x, 0), T.argmin(x, 1), T.argmax(x)], wide),
        "argmax of axes": ([t], T.argmax(t, (0, 2)), lambda n: [drawn(n, 3, 2)]),
        "extrema": ([x], list(T.max_and_argmax(x, 1)), wide),
        "concatenate": ([x, y], T.concatenate([x, y * 2]), lambda n: wide(n) + wide(2)),
        "stack": ([v], T.stack([v, v + 1]), vector),
        "arange": ([v], v * T.arange(v.shape[0]), vector),
        "arange of floats": ([k], T.arange(k, dtype=F32), lambda n: [n - 1]),
        "take rows": ([x, i], x[i], several),
        "take columns": ([x, i], x[:, i], lambda n: [drawn(n, 5), places(3, 5)]),
        "take by a matrix": ([x, j], x[j], lambda n: [*wide(n), places(4, n)[:, None]]),
        "take apart": ([t, i], t[0, :, i], lambda n: [drawn(n, 3, 2), places(n, 2)]),
        "take pairs": ([x, i], x[T.arange(i.shape[0]), i], labelled),
        "set_subtensor": ([x, v], T.set_subtensor(x[1:, 0], v[1:]),
                          lambda n: [drawn(n, 5), drawn(n)]),
        "inc_subtensor": ([x, v], T.inc_subtensor(x[::-1, 1], v),
                          lambda n: [drawn(n, 5), drawn(n)]),
        "set rows": ([x, i], T.set_subtensor(x[i], 3.0), several),
        "add to rows": ([x, i], T.inc_subtensor(x[i], x[i] * 2), several),
        "gradient of rows": ([x, i], grad(T.sqr(x[i]).sum(), x), several),
        "gradient of pairs": ([x, i], grad(x[T.arange(x.shape[0]), i].sum(), x),
                              labelled),
        "split": ([v], T.split(v, [1, v.shape[0] - 1], 2), vector),
        "diagonal": ([x], [T.diag(x), x.diagonal(-1)], wide),
        "matrix of a diagonal": ([v], T.diag(v), vector),
        "repeat": ([x], T.repeat(x, 2, 0), wide),
        "roll": ([x], T.roll(x, 1, 0), wide),
        "stacks of products": ([t], T.batched_dot(t, t.dimshuffle(0, 2, 1)),
                               lambda n: [drawn(n, 3, 2)]),
        "a stack and a matrix": ([t, x], [t @ x, x[0] @ t.dimshuffle(0, 2, 1)],
                                 lambda n: [drawn(n, 3, 2), drawn(2, 2)]),
        "a stack and a vector": ([t, v], t @ v, lambda n: [drawn(n, 2, 3), drawn(3)]),
        "sum of stacks": ([t], 3 * t + 2 * T.batched_dot(t, t),
                          lambda n: [drawn(n, 2, 2)]),
        "products of integers": ([j], [T.dot(j, j.T), T.dot(j, j[0])],
                                 lambda n: [places(3 * n, 9).reshape(n, 3)]),
        "products of half precision": ([x], T.dot(x.astype("float16"),
                                                  x.T.astype("float16")), wide),
        "complex products": ([x], T.dot(x * (1 + 1j), x.T) * 2j, wide),
        "nonzero": ([x], [*T.nonzero(x > 0.5), T.flatnonzero(x)], wide),
        "masks": ([x, v], [x[x > 0], T.set_subtensor(x[v > 0], 2.0),
                           T.inc_subtensor(x[v > 0, 0], x[v > 0, 1])],
                  lambda n: [drawn(n, 5), drawn(n)]),
        "a mask of later axes": ([t], t[:, t[0] > 0], lambda n: [drawn(n, 3, 2)]),
        "softmax of chosen rows": ([x], T.nnet.softmax(x[x[:, 0] > 0]), wide),
        "contiguous": ([x], T.extra_ops.cpu_contiguous(x.T), wide),
    }  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_saved_functions_run_anywhere(contexts, tmp_path):
    """Saved on one device, run on all, the one it was saved on among them."""
    calls = {}
    first = contexts[0]
    with config.use(floatX=F32, device=first.name), first:
        for name, (inputs, outputs, arguments) in cases().items():
            f = function(inputs, outputs, name="f")
            path = str(tmp_path / str(len(calls)))
            f.save(path, graph=False)  # no call comes before it
            calls[name] = path, [(arguments(n), called(f, arguments(n))) for n in SIZES]
    with (tmp_path / "calls").open("wb") as file:
        pickle.dump(calls, file)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), *(each.name for each in contexts)],
        env={**os.environ, "GPUARRAY_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = sum(len(expected) for _, given in calls.values() for _, expected in given)
    assert int(done.stdout) == results * len(contexts)


def called(f, arguments):
    """The results of a call as NumPy has them, in a list."""
    results = f(*arguments)
    results = results if isinstance(results, list) else [results]
    return [np.asarray(each) for each in results]


def test_lengths_that_do_not_fit_are_told(first_context, tmp_path):
    x, v, i = T.fmatrix("x"), T.fvector("v"), T.lvector("i")
    functions = {
        "mis-match": ([x, v], T.inc_subtensor(x[:, 1], v), [drawn(3, 5), drawn(4)]),
        "topk: kth": ([v], T.topk(v, 7), [drawn(3)]),
        "split: sizes": ([v], T.split(v, [2, 2], 2), [drawn(3)]),
    }
    with config.use(floatX=F32, device=first_context.name):
        for text, (inputs, outputs, arguments) in functions.items():
            function(inputs, outputs).save(tmp_path / "f", graph=False)
            g = gpuarray.load_function(tmp_path / "f", first_context)
            with pytest.raises(ValueError, match=text):
                g(*arguments)
        function([x, i], x[i]).save(tmp_path / "f", graph=False)
        g = gpuarray.load_function(tmp_path / "f", first_context)
        with pytest.raises(IndexError, match="index 9"):
            g(drawn(3, 5), np.array([0, 9]))
            first_context.sync()
