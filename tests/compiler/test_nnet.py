"""Networks: what the rewrites make of costs, values of any size, kinks, names."""

import importlib
from types import ModuleType

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import Mode, function, grad, rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from run_graph import run_graph

LARGE = np.array([[1e3, -1e3, 0.0, 30.0], [800.0, 0.0, 801.0, -5.0]])
LABELS = np.array([1, 3])


def exact_cost(x, labels):
    shifted = x - x.max(1, keepdims=True)
    total = np.log(np.exp(shifted).sum(1))
    return total - shifted[np.arange(len(x)), labels]


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


COSTS = {
    "categorical": lambda x, y: T.nnet.categorical_crossentropy(T.nnet.softmax(x), y),
    "fused": lambda x, y: T.nnet.crossentropy_softmax_1hot(x, y)[0],
    "indexed": lambda x, y: -T.log(T.nnet.softmax(x))[T.arange(y.shape[0]), y],
    "one_hot": lambda x, y: T.nnet.categorical_crossentropy(
        T.nnet.softmax(x), T.to_one_hot(y, 4, dtype="float64")
    ),
}


def optimized(inputs, outputs):
    fgraph = FunctionGraph(inputs, outputs)
    rewrites.optimize(fgraph)
    fgraph.check()
    return fgraph


@pytest.mark.parametrize("name", COSTS)
def test_a_classifiers_cost_is_finite_for_values_of_any_size(name):
    x, y = T.dmatrix("x"), T.lvector("y")
    cost = COSTS[name](x, y)
    fgraph = optimized([x, y], [cost, grad(cost.sum(), x)])
    value, slope = run_graph(fgraph, {x: LARGE, y: LABELS})
    np.testing.assert_allclose(value, exact_cost(LARGE, LABELS), rtol=1e-12)
    expected = softmax(LARGE) - np.eye(4)[LABELS]
    np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-300)


def test_the_gradient_of_a_classifier_is_the_softmax_less_one():
    x, y = T.dmatrix("x"), T.lvector("y")
    for name in ("categorical", "fused"):
        fgraph = optimized([x, y], [grad(COSTS[name](x, y).sum(), x)])
        texts = [str(node.op) for node in fgraph.toposort()]
        assert not any("Pick" in text or "log" in text for text in texts)
        assert sum("exp" in text for text in texts) == 1
        assert sum(text.count(" / ") for text in texts) == 1  # a mask needs none


def test_a_classifiers_plan_is_short_and_reads_few_matrices(first_context):
    x, y, w = T.fmatrix("x"), T.ivector("y"), T.fmatrix("w")
    with gpuarray.context(first_context):
        for name in ("categorical", "fused", "indexed"):
            cost = COSTS[name](T.dot(x, w), y).mean()
            f = function([x, y, w], [cost, grad(cost, w)])
            assert [step.label for step in f.plan.steps].count("gemm") == 2
            matrices = [
                step.label.partition(":")[0]
                for step in f.plan.steps
                if type(step).__name__ in ("LaunchStep", "ReduceStep", "Call")
                and any(str(f.plan.values[n]) == "float32[n, n]" for n in step.ins)
            ]
            # Greatest, exponentials, their sum, the label's score and the slope.
            assert matrices == ["rows"]


@pytest.mark.parametrize("optimizer", ["fast_run", None])
def test_of_values_that_saturate_the_first_is_greatest_or_least(context, optimizer):
    x = T.dmatrix("x")
    values = np.array([[-3000.0, -2000.0, 40.0, 2000.0], [900.0, 950.0, 970.0, 970.0]])
    shares = softmax(values)
    with np.errstate(over="ignore"):
        functions = {
            T.nnet.softmax: shares,
            T.nnet.sigmoid: 1 / (1 + np.exp(-values)),
            T.tanh: np.tanh(values),
            T.exp: np.exp(values),
        }
    places = [
        find(apply(x), axis=1) for apply in functions for find in (T.argmax, T.argmin)
    ]
    with gpuarray.context(context):
        found = function([x], places, mode=Mode(optimizer=optimizer))(values)
    expected = [
        find(each, 1) for each in functions.values() for find in (np.argmax, np.argmin)
    ]
    np.testing.assert_array_equal(np.asarray(list(map(np.asarray, found))), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softmax_is_exact_in_every_dtype_on_every_context(dtype, context):
    values = (np.random.default_rng(3).normal(size=(5, 70)) * 6).astype(dtype)
    x = T.matrix("x", dtype=dtype)
    tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}[dtype]
    with gpuarray.context(context):
        f = function([x], [T.nnet.softmax(x), T.nnet.logsoftmax(x)])
        shares, logs = f(values)
    exact = softmax(values.astype("f8"))
    assert shares.dtype == logs.dtype == dtype
    np.testing.assert_allclose(shares, exact, rtol=tolerance, atol=1e-7)
    np.testing.assert_allclose(logs, np.log(exact), rtol=tolerance, atol=tolerance)


def test_labels_out_of_bounds_are_told_by_the_next_wait(context):
    x, y = T.dmatrix("x"), T.lvector("y")
    with gpuarray.context(context):
        f = function([x, y], T.nnet.crossentropy_softmax_1hot(x, y)[0])
        np.testing.assert_allclose(f(LARGE, LABELS), exact_cost(LARGE, LABELS))
        with pytest.raises(IndexError):
            f(LARGE, np.array([0, 4]))


def test_the_slopes_at_kinks():
    x = T.dscalar("x")
    kinks = {
        T.nnet.relu(x): 0.5,
        T.nnet.relu(x, 0.1): 0.55,
        T.nnet.elu(x): 1.0,
        T.max(T.as_tensor_variable([x, x * 1.0])): 2.0,
    }
    for cost, slope in kinks.items():
        assert evaluate(grad(cost, x), {x: np.array(0.0)}) == pytest.approx(slope)


def test_the_gradient_of_the_greatest_goes_to_every_tie():
    x = T.dvector("x")
    slope = grad(T.max_and_argmax(x)[0], x)
    np.testing.assert_array_equal(
        evaluate(slope, {x: np.array([1.0, 3, 3])}), [0, 1, 1]
    )


def test_the_norm_of_zeros_has_no_slope():
    x = T.dvector("x")
    assert np.isnan(evaluate(grad(x.norm(2), x), {x: np.zeros(2)})).all()


def test_a_binary_cost_keeps_small_probabilities():
    x, t = T.dvector("x"), T.dvector("t")
    values = {x: np.array([-800.0, -40.0, 40.0, 800.0]), t: np.array([1.0, 0, 1, 0])}
    expected = np.array([800.0, np.exp(-40.0), np.exp(-40.0), 800.0])
    slope = np.array([-1.0, np.exp(-40.0), -np.exp(-40.0), 1.0])
    for cost in (
        T.nnet.binary_crossentropy(T.nnet.sigmoid(x), t),
        T.nnet.sigmoid_binary_crossentropy(x, t),
    ):
        fgraph = optimized([x, t], [cost, grad(cost.sum(), x)])
        value, found = run_graph(fgraph, values)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(found, slope, rtol=1e-12)


def test_activations_stay_finite_where_their_values_are():
    x = T.dvector("x")
    ends = np.array([-1e4, 1e4])
    for function_ in (T.nnet.elu, T.nnet.selu, T.nnet.relu, T.nnet.softplus):
        value, slope = evaluate([function_(x), grad(function_(x).sum(), x)], {x: ends})
        assert np.isfinite(value).all() and np.isfinite(slope).all()


def test_the_hessian_of_a_classifier_is_the_one_of_its_softmax():
    x = T.dvector("x")
    cost = -T.nnet.logsoftmax(x)[2]
    (slope,) = grad(cost, [x])
    rows = [evaluate(grad(slope[k], x), {x: LARGE[0] / 100}) for k in range(4)]
    p = softmax(LARGE[:1] / 100)[0]
    np.testing.assert_allclose(np.stack(rows), np.diag(p) - np.outer(p, p), atol=1e-15)


def test_the_names_are_modules_too():
    for name in ("fft", "nlinalg", "nnet", "slinalg"):
        module = importlib.import_module(f"gpuarray.compiler.tensor.{name}")
        assert module is getattr(T, name)
        members = [getattr(module, each) for each in module.__all__]
        assert all(callable(m) or isinstance(m, ModuleType) for m in members)
        assert module.__all__ == sorted(module.__all__)


def test_equal_ops_merge_over_stacks_of_matrices(context):
    a, b, c = T.ftensor3("a"), T.ftensor3("b"), T.ftensor3("c")
    values = [np.random.default_rng(k).normal(size=(3, 4, 4)) for k in range(3)]
    values = [each.astype("f4") for each in values]
    with gpuarray.context(context):
        product = T.batched_dot(a, b.dimshuffle(0, 2, 1))
        f = function([a, b, c], c - 2 * product)
        (step,) = [s for s in f.plan.steps if s.label == "scaled_product"]
        assert dict(step.options)["transposed"] == (False, True)
        found = f(*values)
    x, y, z = values
    np.testing.assert_allclose(found, z - 2 * x @ y.swapaxes(1, 2), rtol=2e-5)


SOFTMAX_OF_ANY_SHAPE = {
    "softmax": (T.nnet.softmax, softmax),
    "softmax_graph": (T.nnet.softmax_graph, softmax),
    "softmax_with_bias": (lambda x: T.nnet.softmax_with_bias(x, 1.0), softmax),
    "logsoftmax": (T.nnet.logsoftmax, lambda x: np.log(softmax(x))),
}


@pytest.mark.parametrize("name", SOFTMAX_OF_ANY_SHAPE)
@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4), (2, 3, 4)])
def test_softmax_keeps_the_shape_and_so_do_its_kin(name, shape, on_null):
    ours, judge = SOFTMAX_OF_ANY_SHAPE[name]
    value = np.linspace(-2, 3, int(np.prod(shape))).reshape(shape)
    x = T.TensorType("float64", (False,) * len(shape))("x")
    made = ours(x)
    assert made.type == x.type
    expected = judge(value.reshape(-1, 4)).reshape(shape)
    found = evaluate([made, grad(T.sqr(made).sum(), x)], {x: value})
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    assert found[1].shape == shape


def test_softmax_of_a_vector_as_one_row():
    v = T.dvector("v")
    made = T.nnet.softmax(v.dimshuffle("x", 0))
    assert made.type == T.drow
    value = np.array([1.0, 2.0, 0.5])
    np.testing.assert_allclose(evaluate(made[0], {v: value}), softmax(value[None])[0])


def test_the_cost_of_one_vector_is_a_scalar():
    v, label = T.dvector("v"), T.lscalar("label")
    value = np.array([1.0, 2.0, 0.5])
    expected = exact_cost(value[None], [1])[0]
    nll, shares, best = T.nnet.crossentropy_softmax_argmax_1hot_with_bias(
        v, T.zeros_like(v), label
    )
    costs = [nll, T.nnet.categorical_crossentropy(shares, label)]
    found = evaluate([*costs, best], {v: value, label: 1})
    np.testing.assert_allclose(found, [expected, expected, 1])
