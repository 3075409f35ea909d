"""Ops that Python computes on a device: what `make_thunk` and `perform` may give."""

import pickle
import threading
import time
import traceback

import gpuarray
import numpy as np
import pytest
from gpuarray._interop.dlpack import device_of
from gpuarray.compiler import Apply, Op, config, function, grad, shared, tensor as T
from gpuarray.compiler.errors import NoGradientError
from gpuarray.compiler.gpukernels.basic_ops import (
    as_gpuarray_variable,
    infer_context_name,
)

X = np.arange(6, dtype="float32").reshape(2, 3)


class Foreign:
    """An array of a library for the device that has nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return device_of(self.array.context)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(dl_device=self.__dlpack_device__(), **options)


class OfTheHost(Foreign):
    """One for the host."""

    def __dlpack_device__(self):
        return (1, 0)


class Triple(Op):
    """Three times the input; ``how`` says what is done differently."""

    __props__ = ("how",)
    seen = None

    def __init__(self, how="plain"):
        self.how = how

    def make_node(self, x):
        x = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [x], [x.type()])

    def computed(self, x):
        assert gpuarray.get_default_context() is x.context
        if self.how == "raise":
            raise ZeroDivisionError("as told")
        if self.how == "nothing":
            return None
        if self.how == "elsewhere":
            return (x * 3).transfer("null")
        if self.how == "host":
            return np.asarray(x) * 3
        if self.how == "host's DLPack":
            return OfTheHost(x * 3)
        Triple.seen = x * 3
        return Foreign(Triple.seen) if self.how == "foreign" else Triple.seen


class ByPerform(Triple):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.computed(*inputs)


class ByThunk(Triple):
    def make_thunk(self, node, storage_map, compute_map, no_recycling):
        if self.how == "missing":
            import no_such_library  # noqa: F401
        x, y = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk():
            assert y[0] is None
            y[0] = self.computed(x[0])

        return thunk

    def grad(self, inputs, gradients):
        return [ByThunk()(gradients[0])]


both = pytest.mark.parametrize("op", [ByPerform, ByThunk])


# ---- what it may give ----


@both
@pytest.mark.parametrize("how", ["plain", "foreign", "host", "host's DLPack"])
def test_arrays_of_whichever_library_are_results(on_context, op, how):
    x = T.fmatrix("x")
    inner = op(how)(x + 1)
    f = function([x], [inner, inner * 2])
    result, doubled = f(X)
    assert result.context is on_context
    np.testing.assert_array_equal(doubled, (X + 1) * 6)
    if not how.startswith("host"):  # it is the memory itself
        Triple.seen += 1
        np.testing.assert_array_equal(np.asarray(result), (X + 1) * 3 + 1)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode"])
def test_a_thunk_in_each_mode(on_context, mode):
    x = T.fmatrix("x")
    f = function([x], ByThunk()(x) + 1, mode=mode)
    np.testing.assert_array_equal(f(X), X * 3 + 1)


def test_a_thunk_on_constants_and_shared_values(on_context):
    value = shared(X)
    f = function([], ByThunk()(T.constant(X)) + 1, updates={value: ByThunk()(value)})
    np.testing.assert_array_equal(f(), X * 3 + 1)
    np.testing.assert_array_equal(value.get_value(), X * 3)


def test_a_function_with_a_thunk_is_pickled(on_context):
    x = T.fmatrix("x")
    f = pickle.loads(pickle.dumps(function([x], ByThunk()(x) + 1)))
    np.testing.assert_array_equal(f(X), X * 3 + 1)


def test_a_thunk_gives_test_values(on_context):
    with config.use(compute_test_value="raise"):
        x = T.fmatrix("x")
        x.tag.test_value = X
        value = ByThunk()(x).tag.test_value
    np.testing.assert_array_equal(np.asarray(value), X * 3)


def test_a_thunk_has_a_gradient_or_says_that_it_has_none(on_context):
    x = T.fmatrix("x")
    f = function([x], grad((ByThunk()(x) ** 2).sum(), x))
    np.testing.assert_array_equal(f(X), 18 * X)
    with pytest.raises(NoGradientError, match=r"ByPerform\{how=plain\}: the operation"):
        grad(ByPerform()(x).sum(), x)


# ---- mistakes ----


@both
@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ("raise", ZeroDivisionError, "as told"),
        ("nothing", TypeError, "was not computed; put it in its cell"),
        ("elsewhere", ValueError, "computed an array on null, expected one on"),
    ],
)
def test_what_fails_names_the_op_and_the_line(on_context, op, how, error, text):
    x = T.fmatrix("x")
    f = function([x], op(how)(x) + 1)  # the line
    with pytest.raises(error, match=text) as caught:
        f(X)
    said = "".join(traceback.format_exception_only(caught.value))
    assert f"{op.__name__}{{how={how}}}" in said and "# the line" in said
    assert len(said.splitlines()) <= 15


def test_a_library_that_is_not_installed_is_told(on_context):
    x = T.fmatrix("x")
    f = function([x], ByThunk("missing")(x))  # the line
    with pytest.raises(ModuleNotFoundError, match="no_such_library") as caught:
        f(X)
    assert "# the line" in caught.value.__notes__[0]


def test_a_thunk_of_host_types_has_nothing_to_be_compared_with(on_context):
    class OnHost(ByThunk):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    x = T.fmatrix("x")
    np.testing.assert_array_equal(function([x], OnHost()(x))(X), X * 3)
    with pytest.raises(NotImplementedError, match="make_thunk takes arrays of a dev"):
        function([x], OnHost()(x), mode="DebugMode")(X)


class Sum(Op):
    """The sum of two inputs; they are brought to one context if it is ``careful``."""

    __props__ = ("careful",)

    def __init__(self, careful):
        self.careful = careful

    def make_node(self, a, b):
        if self.careful:
            name = infer_context_name(a, b)
            a, b = (as_gpuarray_variable(each, name) for each in (a, b))
        return Apply(self, [a, b], [a.type()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling):
        a, b, c = (storage_map[each] for each in (*node.inputs, *node.outputs))

        def thunk():
            c[0] = a[0] + b[0]

        return thunk


def test_an_input_of_another_context(on_context):
    a = T.fmatrix("a").transfer(on_context.name)
    b = T.fmatrix("b").transfer("null")
    inputs = [each.owner.inputs[0] for each in (a, b)]
    f = function(inputs, Sum(careful=True)(a, b))
    np.testing.assert_array_equal(f(X, X), 2 * X)
    with pytest.raises(ValueError, match="its arrays live on the contexts") as caught:
        function(inputs, Sum(careful=False)(a, b))  # the line
    assert "# the line" in str(caught.value)


# ---- several threads, and functions within thunks ----


class Slow(ByThunk):
    """Reads its input again after others had time to write theirs."""

    def make_thunk(self, node, storage_map, compute_map, no_recycling):
        x, y = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk():
            y[0] = x[0] + 1
            time.sleep(0.02)
            y[0] = y[0] + x[0]

        return thunk


def test_threads_do_not_mix_their_values(on_context):
    x = T.fmatrix("x")
    f = function([x], Slow()(x))
    found = {}

    def run(number):
        with config.use(floatX="float32", device=on_context.name):
            found[number] = np.asarray(f(X + number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4
    for number, value in found.items():
        np.testing.assert_array_equal(value, 2 * (X + number) + 1)


class Power(Op):
    """A power by functions of smaller ones, run within the thunk."""

    __props__ = ()
    make_node = Triple.make_node

    def make_thunk(self, node, storage_map, compute_map, no_recycling):
        x, y = storage_map[node.inputs[0]], storage_map[node.outputs[0]]

        def thunk():
            done = float(np.asarray(x[0]).max()) >= 64
            y[0] = x[0] if done else FUNCTIONS["power"](x[0] * 2)
            assert done or float(np.asarray(x[0]).max()) < 64

        return thunk


FUNCTIONS = {}


def test_a_thunk_may_run_itself(on_context):
    x = T.fmatrix("x")
    FUNCTIONS["power"] = function([x], Power()(x) + 0)
    result = FUNCTIONS["power"](np.ones((2, 2), "float32"))
    assert (np.asarray(result) == 64).all()
