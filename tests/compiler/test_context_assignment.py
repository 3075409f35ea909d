"""Contexts in programs: names, transfers, and functions over two contexts."""

import pickle

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import (
    Apply,
    GpuArrayType,
    Op,
    config,
    function,
    grad,
    load,
    shared,
    tensor as T,
)
from gpuarray.compiler.gpukernels.basic_ops import (
    GpuContiguous,
    GpuFromHost,
    GpuToGpu,
    HostFromGpu,
    as_gpuarray_variable,
    gpu_contiguous,
    gpu_from_host,
    host_from_gpu,
    infer_context_name,
)
from gpuarray.compiler.gpukernels.type import (
    ContextNotDefined,
    get_context,
    gpu_context_type,
    list_contexts,
    reg_context,
    unreg_context,
)
from gpuarray.compiler.ifelse import ifelse
from gpuarray.doctor import devices

A = np.random.RandomState(0).rand(5, 5)
B = np.random.RandomState(1).rand(5, 5)


@pytest.fixture
def two():
    """Two contexts under names of a program; the first is the default one."""
    names = [*devices("cuda")[0], *devices("opencl")[0]]
    if len(names) < 2:
        pytest.skip("there is one device only")
    chosen = f"dev0->{names[0]};dev1->{names[1]}"
    with config.use(contexts=chosen, device=names[0], floatX="float64"):
        yield tuple(gpuarray.context(name) for name in names[:2])


@pytest.fixture
def helper(null):
    reg_context("helper", null)
    yield null
    if "helper" in list_contexts():
        unreg_context("helper")


# ---- names ----


def test_a_registered_name_stands_for_its_context(helper):
    assert get_context("helper") is helper
    assert "helper" in list_contexts()
    kind = GpuArrayType("float32", (False,), "helper")
    assert kind.context is helper
    assert kind.typecode == 11
    assert gpu_context_type.filter(helper) is helper


@pytest.mark.parametrize("name", ["cuda0", "opencl1:0", "cpu", "", 3])
def test_names_of_devices_are_not_for_contexts(null, name):
    with pytest.raises(ValueError, match="cannot be a context's name"):
        reg_context(name, null)


def test_a_name_is_registered_once(helper):
    with pytest.raises(ValueError, match="'helper' is taken; it stands for null"):
        reg_context("helper", helper)
    with (
        config.use(contexts="mapped->null"),
        pytest.raises(ValueError, match="'mapped' is taken"),
    ):
        reg_context("mapped", helper)


def test_what_is_no_context_is_refused():
    with pytest.raises(TypeError, match="reg_context: given 'null', a str"):
        reg_context("helper", "null")
    with pytest.raises(TypeError, match="gpu_context_type: given 'null', a str"):
        gpu_context_type.filter("null")


@pytest.mark.parametrize(
    "ask",
    [
        get_context,
        unreg_context,
        lambda name: T.fvector("x").transfer(name),
        lambda name: as_gpuarray_variable(T.fvector("x"), name),
        lambda name: GpuArrayType("float32", (), name).context,
        lambda name: function([], T.exp(shared(np.ones(2), target=name))),
    ],
)
def test_a_name_that_was_never_registered(ask):
    with pytest.raises(ContextNotDefined, match="'dev7' names no context") as caught:
        ask("dev7")
    assert isinstance(caught.value, ValueError)
    assert "reg_context(name, context)" in str(caught.value)


# ---- where an op runs ----


def test_the_context_of_an_op_is_that_of_its_first_input_that_has_one(helper):
    x = T.fvector("x")
    there = x.transfer("helper")
    assert infer_context_name(x) is None
    assert infer_context_name() is None
    assert infer_context_name(x, there, x.transfer("null")) == "helper"
    assert infer_context_name(T.exp(there) + 0) is None
    assert infer_context_name(T.exp(host_from_gpu(there))) == "helper"
    assert infer_context_name(shared(np.ones(2), target="helper")) == "helper"
    for tag in ("target", "context_name"):
        tagged = T.fvector("tagged")
        setattr(tagged.tag, tag, "helper")
        assert infer_context_name(x, tagged) == "helper"
    x.tag.target = "cpu"
    assert infer_context_name(x) is None


def test_a_variable_is_brought_to_a_context_once(helper):
    x = T.fvector("x")
    there = as_gpuarray_variable(x, "helper")
    assert there.type == GpuArrayType("float32", (False,), "helper")
    assert isinstance(there.owner.op, GpuFromHost)
    assert as_gpuarray_variable(there, "helper") is there
    back = host_from_gpu(there)
    assert isinstance(back.owner.op, HostFromGpu)
    assert as_gpuarray_variable(back, "helper") is there
    other = as_gpuarray_variable(there, "null")
    assert isinstance(other.owner.op, GpuToGpu)
    assert as_gpuarray_variable(other, "helper") is there
    assert gpu_from_host(there, "helper") is there
    assert as_gpuarray_variable([1.0, 2.0], "helper").type.ndim == 1


def test_contiguous_is_a_view_where_it_can_be(on_context):
    x = T.fmatrix("x")
    assert gpu_contiguous(x).type == x.type
    assert isinstance(gpu_contiguous(x.transfer("null")).owner.op, GpuContiguous)
    f = function([x], gpu_contiguous(x) + 1)
    value = np.arange(6, dtype="float32").reshape(2, 3)
    for given in (value[:0], value.T, value[:, ::-1], value):
        np.testing.assert_array_equal(f(given), given + 1)
    assert f.info()["n_launches"] == 1
    on_device = gpuarray.asarray(value.T, context=on_context)
    f = function([x], gpu_contiguous(x), on_device=True)
    assert f(on_device).flags.c_contiguous
    g = function([x], grad(gpu_contiguous(x).sum(), x))
    np.testing.assert_array_equal(g(value), np.ones((2, 3)))


class Sum(Op):
    """The sum of two arrays of contexts, brought together or not."""

    __props__ = ("together",)

    def __init__(self, together):
        self.together = together

    def make_node(self, a, b):
        if self.together:
            name = infer_context_name(a, b)
            a, b = (as_gpuarray_variable(each, name) for each in (a, b))
        return Apply(self, [a, b], [a.type()])

    def perform(self, node, inputs, output_storage):
        a, b = inputs
        assert a.context is b.context is node.inputs[0].type.context
        output_storage[0][0] = a + b


def test_an_op_brings_its_inputs_to_one_context(two):
    x, y = T.dmatrices("x", "y")
    a, b = x.transfer("dev0"), y.transfer("dev1")
    for op_inputs, place in (((a, b), two[0]), ((b, a), two[1])):
        f = function([x, y], Sum(True)(*op_inputs))
        result = f(A, B)
        assert result.context is place
        np.testing.assert_allclose(np.asarray(result), A + B)


def test_an_op_whose_inputs_live_on_two_contexts_is_refused(two):
    x, y = T.dmatrices("x", "y")
    out = Sum(False)(x.transfer("dev0"), y.transfer("dev1"))
    with pytest.raises(ValueError, match="live on the contexts 'dev0' and 'dev1'") as e:
        function([x, y], out)
    assert "infer_context_name" in str(e.value)


# ---- two contexts in one function ----


def places(f):
    return {step.label: step.place for step in f.plan.steps}


def test_each_operation_runs_where_its_inputs_are(two):
    a, b = shared(A, target="dev0"), shared(B, target="dev1")
    f = function([], [a.sum(0), T.exp(b) + 1])
    assert places(f) == {"sum": None, "exp+add": "dev1"}
    first, second = f()
    np.testing.assert_allclose(first, A.sum(0))
    np.testing.assert_allclose(second, np.exp(B) + 1)
    assert a.container.value.context is two[0]
    assert b.container.value.context is two[1]


def test_values_move_between_contexts_in_order(two):
    x = T.dmatrix("x")
    y = T.exp(host_from_gpu(x.transfer("dev1")))
    z = (host_from_gpu(y.transfer("dev0")) + 1) * x
    back = host_from_gpu(z.transfer("dev1")) * y
    f = function([x], [z, back])
    for value in (A, B, A.T):
        first, second = f(value)
        np.testing.assert_allclose(first, (np.exp(value) + 1) * value)
        np.testing.assert_allclose(second, first * np.exp(value))
    assert [step.label for step in f.plan.steps].count("transfer") >= 2
    assert "transfer" in str(f.plan) and "on dev1" in str(f.plan)


def test_updates_stay_on_their_contexts(two):
    x = T.dscalar("x")
    a, b = shared(A, target="dev0"), shared(B, target="dev1")
    updates = [(a, a * x + b), (b, b * a * x)]
    f = function([x], b + 1, updates=updates)
    first, second = A, B
    for factor in (2.0, 0.5, 3.0):
        np.testing.assert_allclose(f(factor), second + 1)
        first, second = first * factor + second, second * first * factor
    np.testing.assert_allclose(a.get_value(), first)
    np.testing.assert_allclose(b.get_value(), second)
    assert a.container.value.context is two[0]
    assert b.container.value.context is two[1]


def test_outputs_stay_where_they_are_transferred_to(two):
    x = T.dmatrix("x")
    y = T.sqrt(x)
    f = function([x], [y.transfer("dev0"), y.transfer("dev1"), y])
    first, second, third = f(A)
    assert (first.context, second.context) == two
    for each in (first, second, third):
        np.testing.assert_allclose(np.asarray(each), np.sqrt(A))


def test_an_input_is_taken_where_its_tag_says(two):
    x, y = T.dmatrices("x", "y")
    x.tag.target = "dev1"
    f = function([x, y], [T.exp(x), (y.transfer("dev0"))])
    assert f.context is two[1] and places(f)["exp"] is None
    there = gpuarray.asarray(A, context=two[1])
    np.testing.assert_allclose(f(there, B)[0], np.exp(A))
    # What is on another of its contexts is copied, what is on none is refused.
    elsewhere = gpuarray.asarray(A, context=two[0])
    np.testing.assert_allclose(f(elsewhere, B)[0], np.exp(A))
    far = gpuarray.asarray(A, context="null")
    with pytest.raises(ValueError, match=f"on null, the function on {two[1].name}"):
        f(far, B)


def test_shapes_and_branches_over_two_contexts(two):
    n = T.iscalar("n")
    a, b = shared(A, target="dev0"), shared(B, target="dev1")
    f = function([n], [T.exp(a[:n]), b[n:] * (a.shape[0] + b.shape[1])])
    first, second = f(2)
    np.testing.assert_allclose(first, np.exp(A[:2]))
    np.testing.assert_allclose(second, B[2:] * 10)
    g = function([n], ifelse(T.gt(n, 0), T.exp(a), b))
    np.testing.assert_allclose(g(1), np.exp(A))
    np.testing.assert_allclose(g(0), B)


def test_gradients_over_two_contexts(two):
    a, b = shared(A, target="dev0"), shared(B, target="dev1")
    cost = (a * T.tanh(b)).sum()
    f = function([], grad(cost, [a, b]))
    of_a, of_b = f()
    np.testing.assert_allclose(of_a, np.tanh(B))
    np.testing.assert_allclose(of_b, A * (1 - np.tanh(B) ** 2))


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode"])
def test_modes_over_two_contexts(two, mode):
    x = T.dmatrix("x")
    b = shared(B, target="dev1")
    f = function([x], [T.exp(b) + 1, x * 2], mode=mode)
    np.testing.assert_allclose(f(A), [np.exp(B) + 1, A * 2])


def test_a_function_over_two_contexts_is_pickled_and_saved(two, tmp_path):
    x = T.dmatrix("x")
    b = shared(B, target="dev1")
    f = function([x], [T.exp(b), x * 2])
    f.save(tmp_path / "f")
    for again in (pickle.loads(pickle.dumps(f)), load(tmp_path / "f")):
        np.testing.assert_allclose(again(A), [np.exp(B), A * 2])
    f.sync()


def test_one_context_by_two_names_is_one_function(two):
    x = T.dmatrix("x")
    y = T.exp(x.transfer("dev0")) + T.exp(x.transfer(two[0].name))
    f = function([x], y)
    assert f.plan.launches() == len(f.plan.steps)
    np.testing.assert_allclose(np.asarray(f(A)), 2 * np.exp(A))
