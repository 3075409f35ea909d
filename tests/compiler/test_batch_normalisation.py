"""Batch normalisation: values of any mean, gradients, passes over memory, errors."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.plan import LaunchStep, ReduceStep
from gpuarray.compiler.tensor.nnet import bn

AXES = {
    "per-activation": (0,),
    "spatial": (0, 2, 3),
    (1,): (1,),
    (0, 3): (0, 3),
    (3, 0, 1, 2): (0, 1, 2, 3),
    -3: (1,),
    (0, -1): (0, 3),
}
SHAPE = (6, 3, 4, 5)
RTOL = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def drawn(*shape, seed=0, mean=0.0):
    return np.random.default_rng(seed).normal(mean, 1, shape)


def normalised(x, gamma, beta, axes, epsilon=1e-4):
    x = x.astype("float64")
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    invstd = 1 / np.sqrt(variance + epsilon)
    return (x - mean) * invstd * gamma + beta, mean, variance, invstd


def shape_of_parameters(axes):
    return tuple(1 if i in axes else n for i, n in enumerate(SHAPE))


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", RTOL)
def test_values_and_running_averages(axes, dtype, first_context):
    kept = shape_of_parameters(AXES[axes])
    pattern = tuple(i in AXES[axes] for i in range(4))
    work = "float64" if dtype == "float64" else "float32"
    x = TensorType(dtype, (False,) * 4)("x")
    parameters = [TensorType(work, pattern)(name) for name in "gbmv"]
    results = bn.batch_normalization_train(
        x, *parameters[:2], axes, 1e-3, 0.2, *parameters[2:]
    )
    with config.use(device=str(first_context.name)):
        f = function([x, *parameters], list(results))
    values = drawn(*SHAPE, seed=1, mean=2).astype(dtype)
    given = [drawn(*kept, seed=seed).astype(work) for seed in range(2, 6)]
    for view in (lambda a: a, lambda a: a[::-1, :, ::-1], lambda a: a.swapaxes(2, 3)):
        if np.shape(view(values))[2:] != SHAPE[2:] and len(AXES[axes]) < 3:
            continue
        here = view(values)
        there = view(gpuarray.asarray(values, context=first_context))
        out, mean, variance, invstd = normalised(here, *given[:2], AXES[axes], 1e-3)
        count = values.size / mean.size
        wanted = [
            out,
            mean,
            invstd,
            given[2] * 0.8 + mean * 0.2,
            given[3] * 0.8 + variance * count / (count - 1) * 0.2,
        ]
        found = [np.asarray(each) for each in f(there, *given)]
        assert [str(each.dtype) for each in found] == [dtype, *[work] * 4]
        for index, (got, right) in enumerate(zip(found, wanted, strict=True)):
            rtol = RTOL[dtype if index == 0 else work]
            np.testing.assert_allclose(
                got.astype("float64"), right, rtol=rtol, atol=rtol
            )


def test_every_device_computes_it(context):
    x, g, b = T.ftensor4("x"), T.fvector("g"), T.fvector("b")
    with config.use(device=str(context.name)):
        f = function([x, g, b], list(bn.batch_normalization_train(x, g, b, "spatial")))
    values, gamma, beta = (
        a.astype("f4") for a in (drawn(*SHAPE), drawn(3, seed=1), drawn(3, seed=2))
    )
    scale, shift = (a[:, None, None] for a in (gamma, beta))
    out, mean, _, invstd = normalised(values, scale, shift, (0, 2, 3))
    for got, right in zip(
        f(values, gamma, beta), (out, mean.ravel(), invstd.ravel()), strict=True
    ):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("first", [1e4, 0.0, 2e4])
def test_the_variance_stays_beside_a_large_mean(first, first_context):
    x, g, b = T.ftensor4("x"), T.fvector("g"), T.fvector("b")
    with config.use(device=str(first_context.name)):
        f = function([x, g, b], list(bn.batch_normalization_train(x, g, b, "spatial")))
    values = drawn(8, 2, 30, 30, mean=1e4).astype("f4")
    values[0, :, 0, 0] = first  # an outlier where the sums are shifted to
    out, mean, _, invstd = normalised(values, 1, 0, (0, 2, 3))
    ones, zeros = np.ones(2, "f4"), np.zeros(2, "f4")
    found = f(values, ones, zeros)
    # Beside an outlier the error may be as many times that of a float, 1.2e-7, as there
    # are elements: 7200.
    rtol = 2e-5 if first == 1e4 else 9e-4
    np.testing.assert_allclose(found[2], invstd.ravel(), rtol=rtol)
    np.testing.assert_allclose(found[1], mean.ravel(), rtol=2e-7)
    np.testing.assert_allclose(found[0], out, rtol=rtol, atol=2e-3)  # of 1e4: 1e-3


def test_equal_elements_have_no_variance(first_context):
    x = T.fmatrix("x")
    one, zero = np.float32([1]), np.float32([0])
    with config.use(device=str(first_context.name)):
        f = function([x], list(bn.batch_normalization_train(x, one, zero)))
        out, mean, invstd = f(np.full((7, 1), 0.1, "f4"))
    assert np.all(np.asarray(out) == 0)
    np.testing.assert_allclose(mean, np.float32([0.1]))
    np.testing.assert_allclose(invstd, [100], rtol=1e-6)


def plain(x, gamma, beta, axes, epsilon):
    """The same by the functions of which a program would compose it."""
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    invstd = 1 / T.sqrt(variance + epsilon)
    return (x - mean) * invstd * gamma + beta, mean, invstd


@pytest.mark.parametrize("results", [(0,), (1,), (2,), (0, 1, 2)])
def test_gradients_and_second_gradients_are_those_of_the_formula(
    results, first_context
):
    x, e = T.dtensor3("x"), T.dscalar("e")
    g, b = (TensorType("float64", (True, False, True))(name) for name in "gb")
    arguments = [x, g, b, e]
    of_train = bn.batch_normalization_train(x, g, b, (0, 2), e)
    of_formula = plain(x, g, b, (0, 2), e)
    found = []
    for outputs in (of_train, of_formula):
        cost = sum(T.tanh(outputs[i] * (i + 1.5)).sum() for i in results)
        wrt = arguments if results != (1,) else [x]  # of a mean all else is 0
        first = grad(cost, wrt, disconnected_inputs="ignore")
        norm = sum(T.sqr(each + 1).sum() for each in first)
        second = grad(norm, wrt, disconnected_inputs="ignore")
        with config.use(device=str(first_context.name)):
            f = function(arguments, [*first, *second], on_unused_input="ignore")
        values = drawn(4, 3, 5), drawn(1, 3, 1, seed=1), drawn(1, 3, 1, seed=2), 0.01
        found.append(f(*values))
    for got, right in zip(*found, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-8, atol=1e-9)


def passes(inputs, results):
    """The launches that read or write whole arrays, in order, with what they read."""
    with config.use(device="null"):
        plan = function(inputs, results).plan
    found = []
    for step in plan.steps:
        if isinstance(step, (LaunchStep, ReduceStep)):
            whole = [
                sum(
                    getattr(plan.values[v], "broadcastable", ()) == (False,) * 4
                    for v in values
                )
                for values in (step.ins, step.outs)
            ]
            if any(whole):
                found.append((type(step).__name__, *whole))
    return found


def test_the_passes_over_memory():
    x, w = T.ftensor4("x"), T.ftensor4("w")
    g, b = T.fvector("g"), T.fvector("b")
    out, mean, invstd = bn.batch_normalization_train(x, g, b, "spatial")
    forward = [("ReduceStep", 1, 0), ("LaunchStep", 1, 1)]
    assert passes([x, g, b], [T.nnet.relu(out), mean, invstd]) == forward
    backward = [("ReduceStep", 1, 0), ("ReduceStep", 2, 0), ("LaunchStep", 2, 1)]
    for result in (out, T.nnet.relu(out)):
        slopes = grad((result * w).sum(), [x, g, b])
        assert passes([x, g, b, w], slopes) == backward


def test_inference_is_one_launch():
    x, vectors = T.ftensor4("x"), [T.fvector(name) for name in "gbmv"]
    out = bn.batch_normalization_test(x, *vectors, "spatial")
    assert passes([x, *vectors], T.nnet.relu(out)) == [("LaunchStep", 1, 1)]


X, S, G4 = T.ftensor4("X"), T.fscalar("s"), T.ftensor4("G")
V, M, INTS = T.fvector("v"), T.fmatrix("m"), T.itensor4("i")
TRAIN, TEST = bn.batch_normalization_train, bn.batch_normalization_test
ERRORS = [
    (lambda: TRAIN(INTS, V, V), TypeError, "given inputs i of .*expected floats"),
    (lambda: TRAIN(S, S, S), TypeError, "expected floats of at least 1 axis"),
    (lambda: TRAIN(X, V, V, "channels"), ValueError, "given axes 'channels'"),
    (lambda: TRAIN(X, V, V, (0, 4)), ValueError, r"given axes \(0, 4\).* -4 to 3"),
    (lambda: TRAIN(X, V, V, (0, -5)), ValueError, r"given axes \(0, -5\)"),
    (lambda: TRAIN(X, V, V, (0, -4)), ValueError, r"given axes \(0, -4\).*each once"),
    (lambda: TRAIN(X, V, V, 1.5), TypeError, "axis is 1.5, a float"),
    (lambda: TRAIN(X, V, V, ()), ValueError, r"given axes \(\)"),
    (lambda: TRAIN(X, M, V, "spatial"), TypeError, "given gamma m of 2 axes.*4, or 1"),
    (lambda: TRAIN(X, V, M, "spatial"), TypeError, "given beta m of 2 axes"),
    (lambda: TRAIN(X, V, V, "spatial", 0), ValueError, "given epsilon 0"),
    (lambda: TRAIN(X, V, V, "spatial", V), TypeError, "given epsilon v of"),
    (
        lambda: TRAIN(X, V, V, "spatial", running_mean=V),
        TypeError,
        "one of running_mean and running_var",
    ),
    (lambda: TEST(X, V, V, M, V, "spatial"), TypeError, "given mean m of 2 axes"),
    (lambda: TEST(X, V, V, V, M, "spatial"), TypeError, "given var m of 2 axes"),
    (
        lambda: bn.batch_normalization(X, G4, G4, G4, G4, "fast"),
        ValueError,
        "mode 'fast'.*'low_mem' or 'high_mem'",
    ),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_name_the_argument(number):
    make, kind, message = ERRORS[number]
    with pytest.raises(kind, match=message):
        make()


def test_parameters_of_another_length_are_refused(first_context):
    with config.use(device=str(first_context.name)):
        f = function([X, V], bn.batch_normalization_train(X, V, V, "spatial")[0])
    with pytest.raises(ValueError, match="4"):
        f(np.zeros(SHAPE, "f4"), np.zeros(4, "f4"))


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (6, 3, 0, 5)])
def test_a_batch_without_elements_is_refused(shape, context):
    """Its statistics would be nan, and so the running averages ever after."""
    x, g = T.ftensor4("x"), T.fvector("g")
    out, mean, _ = bn.batch_normalization_train(x * 2, g, g, "spatial")
    with config.use(device=str(context.name)):
        f = function([x, g], [out, mean, grad(out.sum(), x)])
    ones = np.ones(3, "f4")
    with pytest.raises(IndexError, match=r"axis \d with size 0"):
        f(np.ones(shape, "f4"), ones)
    assert np.all(np.isfinite(f(np.ones((2, 3, 1, 1), "f4"), ones)[0]))
    assert f(np.ones((2, 0, 1, 1), "f4"), ones[:0])[0].shape == (2, 0, 1, 1)
    # The phase of inference has no statistics to compute.
    test = bn.batch_normalization_test(x, g, g, g, g, "spatial")
    with config.use(device=str(context.name)):
        infer = function([x, g], test)
    assert infer(np.ones(shape, "f4"), ones).shape == shape
