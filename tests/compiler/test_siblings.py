"""Reductions of one array in one pass."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import Composite, CompositeStep, Elemwise
from gpuarray.compiler.ops.fused.mapreduce import MapReduces
from gpuarray.compiler.ops.reduce.argmax import Extremum
from gpuarray.compiler.ops.reduce.reduce import Reduce
from run_graph import run_graph


def statistics(x, y, axes):
    return [
        x.sum(axis=axes),
        T.sqr(x - y).sum(axis=axes),
        x.max(axis=axes),
        T.any(x > 1, axis=axes),
    ]


def numpy_statistics(x, y, axes):
    wide = x.astype("float64")
    return [
        wide.sum(axis=axes),
        ((wide - y) ** 2).sum(axis=axes),
        x.max(axis=axes),
        (x > 1).any(axis=axes),
    ]


@pytest.mark.parametrize("axes", [(0,), (0, 1), (0, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_reductions_of_one_array_are_one_launch(axes, dtype, first_context):
    x = TensorType(dtype, (False, False, False))("x")
    y = TensorType(dtype, (False, True, False))("y")
    with config.use(device=str(first_context.name)):
        f = function([x, y], statistics(x, y, axes))
        assert f.plan.launches() == 1
        values = np.random.default_rng(0).normal(size=(6, 40, 7)).astype(dtype)
        for view in (lambda a: a, lambda a: a[::-2, ::3], lambda a: a.T):
            here, there = (
                view(values),
                view(gpuarray.asarray(values, context=first_context)),
            )
            means = here[:, :1]
            found = f(there, np.ascontiguousarray(means))
            wanted = numpy_statistics(here, means.astype("float64"), axes)
            for got, right in zip(found, wanted, strict=True):
                assert np.asarray(got).shape == right.shape
                rtol = 1e-5 if dtype == "float32" else 4e-3
                np.testing.assert_allclose(np.asarray(got), right, rtol=rtol, atol=rtol)


def test_columns_on_every_context(context):
    x = T.fmatrix("x")
    with config.use(device=str(context.name)):
        f = function([x], [x.sum(0), T.sqr(x).sum(0), T.exp(x).max(0)])
        assert f.plan.launches() == 1
        values = np.random.default_rng(0).normal(size=(700, 33)).astype("float32")
        for got, right in zip(
            f(values),
            [values.sum(0), (values**2).sum(0), np.exp(values).max(0)],
            strict=True,
        ):
            np.testing.assert_allclose(np.asarray(got), right, rtol=1e-5, atol=1e-4)


def test_no_elements_are_an_error_only_where_one_has_no_identity(first_context):
    x = T.fmatrix("x")
    with config.use(device=str(first_context.name)):
        f = function([x], [x.sum(0), T.sqr(x).sum(0)])
        assert np.asarray(f(np.zeros((0, 3), "float32"))[1]).tolist() == [0, 0, 0]
        with pytest.raises(ValueError, match="no elements"):
            function([x], [x.sum(0), x.max(0)])(np.zeros((0, 3), "float32"))


def test_one_that_needs_the_other_stays_apart():
    x = T.fmatrix("x")
    with config.use(device="null"):
        first = x.sum(0)
        f = function([x], [first, T.sqr(x - first).sum(0), x.sum((0, 1))])
    assert [step.label for step in f.plan.steps].count("sum") == 2
    assert f.plan.launches() == 3


def test_reductions_together_by_reference_and_their_gradient():
    square = Composite(
        ("float64",), (CompositeStep("square", (0,), "float64"),), (0, 1)
    )
    op = MapReduces(Elemwise(square), [Reduce("maximum", (0,)), Reduce("add", (0,))])
    x = T.dmatrix("x")
    greatest, total = op(x)
    cost = (greatest * total).sum()
    plain = (x.max(0) * T.sqr(x).sum(0)).sum()
    graph = FunctionGraph([x], [greatest, total, grad(cost, x), grad(plain, x)])
    values = np.array([[1.0, 5], [3, 2]])
    found = run_graph(graph, {graph.inputs[0]: values})
    np.testing.assert_array_equal(found[0], [3, 5])
    np.testing.assert_array_equal(found[1], [10, 29])
    np.testing.assert_allclose(found[2], found[3])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16"])
def test_the_greatest_and_their_places_are_found_at_once(dtype, first_context):
    x = TensorType(dtype, (False, False))("x")
    with config.use(device=str(first_context.name)):
        f = function([x], [*T.max_and_argmax(x, axis=1), T.min(x, 0), T.argmin(x, 0)])
        assert f.plan.launches() == 2
        values = np.random.default_rng(0).integers(-5, 5, (30, 40)).astype(dtype)
        if dtype == "float32":
            values[3, 5] = np.nan
        for view in (lambda a: a, lambda a: a[::-1, ::3].T):
            here, there = (
                view(values),
                view(gpuarray.asarray(values, context=first_context)),
            )
            wanted = here.max(1), here.argmax(1), here.min(0), here.argmin(0)
            for got, right in zip(f(there), wanted, strict=True):
                np.testing.assert_array_equal(np.asarray(got), right)


def test_the_greatest_that_a_softmax_needs_stays_in_it():
    x = T.fmatrix("x")
    with config.use(device="null"):
        f = function([x], [T.nnet.softmax(x), T.argmax(x, 1)])
    assert f.plan.launches() == 2
    assert any(step.label.startswith("rows") for step in f.plan.steps)


def test_extrema_by_reference_and_their_gradient():
    x = T.dmatrix("x")
    values, places = Extremum(1, smallest=True)(x)
    graph = FunctionGraph([x], [values, places, grad(values.sum(), x)])
    found = run_graph(graph, {graph.inputs[0]: [[3.0, 1, 2], [0, 5, 0]]})
    assert [each.tolist() for each in found] == [
        [1, 0], [1, 0], [[0, 1, 0], [1, 0, 1]],
    ]  # fmt: skip


def test_extrema_are_compiled_with_the_plan(context):
    x = TensorType("uint16", (False,) * 3)("x")
    with config.use(device=str(context.name)):
        f = function([x], T.max_and_argmax(x, axis=1))
    made = context.cache_info()
    for shape in ((2, 3, 4), (1, 70, 1)):
        value = np.arange(np.prod(shape), dtype="uint16").reshape(shape) * 7 % 5
        greatest, place = f(value)
        np.testing.assert_array_equal(greatest, value.max(1))
        np.testing.assert_array_equal(place, value.argmax(1))
        if context.kind == "cuda" and shape == (2, 3, 4):
            made = context.cache_info()  # the first call has the rest compiled
    after = context.cache_info()
    assert (after.compiled, after.disk_hits) == (made.compiled, made.disk_hits)
