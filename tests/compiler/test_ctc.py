"""CTC: against an enumeration of all alignments, drawn sequences, gradients, errors."""

from itertools import product

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._nn.classification import ctc as eager_ctc
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.ops.nnet.ctc import ConnectionistTemporalClassification
from gpuarray.compiler.tensor.nnet.ctc import ctc, ctc_available

RTOL = {"float64": 1e-10, "float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2}
X, L, N = T.ftensor3("X"), T.imatrix("L"), T.ivector("N")


def enumerated(x, labels):
    """Minus the logarithm of the sum over all paths that read as the labels."""
    time, classes = x.shape
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    total = 0.0
    for path in product(range(classes), repeat=time):
        read = [c for i, c in enumerate(path) if i == 0 or path[i - 1] != c]
        if [c for c in read if c] == list(labels):
            total += np.prod(p[np.arange(time), path])
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("labels", [(), (1,), (2, 1), (1, 1), (2, 2, 1), (1, 2, 1)])
def test_costs_are_those_of_all_alignments(labels, first_context):
    x = np.random.default_rng(len(labels)).normal(size=(5, 1, 3))
    rows = np.array([[*labels, *[-1] * (4 - len(labels))]], "int32")
    lengths = np.array([5], "int32")
    arrays = [gpuarray.asarray(a, context=first_context) for a in (x, rows, lengths)]
    (cost,) = eager_ctc(*arrays)
    np.testing.assert_allclose(cost, [enumerated(x[:, 0], labels)], rtol=1e-12)


@pytest.mark.parametrize("dtype", RTOL)
def test_drawn_sequences(dtype, context):
    rng = np.random.default_rng(7)
    judge = ConnectionistTemporalClassification()
    for time, batch, classes, most in (
        (1, 1, 1, 0), (1, 2, 3, 1), (7, 5, 4, 3), (40, 3, 6, 17), (12, 9, 30, 5)
    ):  # fmt: skip
        x = (2 * rng.normal(size=(time, batch, classes))).astype(dtype)
        labels = rng.integers(1, max(2, classes), (batch, most)).astype("int32")
        if most:
            labels[rng.integers(2, size=labels.shape) > rng.random((batch, 1))] = -1
        lengths = rng.integers(0, time + 1, batch).astype("int32")
        arrays = [gpuarray.asarray(a, context=context) for a in (x, labels, lengths)]
        found = eager_ctc(*arrays, has_gradient=True)
        costs, slopes = judge.reference(x, labels, lengths)
        rtol = RTOL[dtype]
        np.testing.assert_allclose(found[0], costs, rtol=max(rtol, 1e-10), atol=rtol)
        got = np.asarray(found[1]).astype("float64")
        np.testing.assert_allclose(got, slopes.astype("float64"), atol=2 * rtol)
        again = eager_ctc(*arrays, has_gradient=True)
        assert np.array_equal(found[1], again[1]), "the same arrays give the same bits"


def test_layouts(first_context):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3, 6)).astype("float32")
    labels, lengths = np.full((3, 4), 2, "int32"), np.full(6, 4, "int32")
    labels[:, 2:] = -1
    arrays = [gpuarray.asarray(a, context=first_context) for a in (x, labels, lengths)]
    views = arrays[0].transpose(2, 1, 0), arrays[1][::-1, ::2], arrays[2][::2]
    found = eager_ctc(*views, has_gradient=True)
    wanted = ConnectionistTemporalClassification().reference(
        x.transpose(2, 1, 0), labels[::-1, ::2], lengths[::2]
    )
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)


def test_what_has_no_alignment_or_no_meaning(first_context):
    x = np.zeros((3, 5, 3), "float32")
    labels = np.array([[1, 1], [1, 2], [3, -1], [0, 1], [1, -1]], "int32")
    lengths = np.array([2, 1, 3, 3, 4], "int32")
    arrays = [gpuarray.asarray(a, context=first_context) for a in (x, labels, lengths)]
    costs, slopes = (np.asarray(a) for a in eager_ctc(*arrays, has_gradient=True))
    np.testing.assert_array_equal(costs, [np.inf, np.inf, np.nan, np.nan, np.nan])
    assert not slopes.any()


def test_a_function_gives_costs_and_scaled_gradients(first_context):
    weights = np.arange(1.0, 4, dtype="float32")
    cost = (ctc(X, L, N) * weights).sum()
    with config.use(device=str(first_context.name)):
        f = function([X, L, N], [cost, grad(cost, X)])
        alone = function([X, L, N], ctc(X, L, N))
    assert str(f.plan).count("ctc") == 1, "costs and gradients are one step"
    assert len(alone.plan.steps[-1].outs) == 1, "no gradient where nothing reads it"
    x = np.random.default_rng(3).normal(size=(6, 3, 4)).astype("float32")
    labels = np.array([[1, 2, -1], [3, 3, 1], [-1, 2, 2]], "int32")
    lengths = np.array([5, 6, 3], "int32")
    costs, slopes = ConnectionistTemporalClassification().reference(x, labels, lengths)
    found = f(x, labels, lengths)
    np.testing.assert_allclose(found[0], (costs * weights).sum(), rtol=1e-5)
    np.testing.assert_allclose(found[1], slopes * weights[:, None], atol=1e-5)
    np.testing.assert_allclose(alone(x, labels, lengths), costs, rtol=1e-5)


ERRORS = [
    (lambda: ctc(T.ltensor3("i"), L, N), "given activations i of .*expected floats"),
    (lambda: ctc(T.fmatrix("m"), L, N), "given activations m of"),
    (lambda: ctc(X, T.fmatrix("m"), N), "given labels m of .*integers of 2 axes"),
    (lambda: ctc(X, N, N), "given labels N of"),
    (lambda: ctc(X, L, L), "given input_lengths L of .*integers of 1 axes"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_name_the_argument(number):
    make, message = ERRORS[number]
    with pytest.raises(TypeError, match=message):
        make()
    assert ctc_available()


def test_another_batch_is_refused(first_context):
    with config.use(device=str(first_context.name)):
        f = function([X, L, N], ctc(X, L, N))
    text = r"expected the shape \(2, 1\), by activations \(4, 2, 3\): time, batch and"
    with pytest.raises(ValueError, match=text):
        f(np.zeros((4, 2, 3), "f4"), np.ones((3, 1), "i4"), np.ones(2, "i4"))
