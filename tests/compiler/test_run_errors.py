"""What a user reads when a compiled function fails: node, inputs, the user's line."""

import re
import traceback

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import DebugMode, Op, config
from gpuarray.compiler.compile import as_op
from gpuarray.compiler.errors import HostOpError
from gpuarray.compiler.function import host_fallback
from gpuarray.errors import HostNotice

x, y, m = T.dvector("x"), T.dvector("y"), T.dmatrix("m")


@pytest.fixture(autouse=True)
def on(context):
    with gpuarray.context(context):
        yield


def told(function, *values, **options):
    """The text of the error that a call ends in, as Python prints it."""
    with pytest.raises(Exception) as caught:
        function(*values, **options)
    return "".join(traceback.format_exception_only(caught.value))


def test_an_error_names_the_node_its_inputs_and_the_line():
    f = theano.function([x, y], T.exp(x) + y * 2, name="f")  # the line
    text = told(f, [1, 2, 3], [1, 2])
    assert "shapes (3,) and (2,) do not broadcast" in text
    assert "in f: GpuElemwise{add," in text
    assert "input 0, GpuElemwise{exp,no_inplace}.0: float64 of shape (3,)" in text
    assert "input 1, GpuElemwise{mul,no_inplace}.0: float64 of shape (2,)" in text
    assert "# the line" in text
    assert len(text.splitlines()) <= 15


def test_shapes_of_what_was_computed_on_the_way_are_told():
    f = theano.function([m, x], T.tanh(T.dot(m, m)) - x.dimshuffle(0, "x"))
    text = told(f, np.ones((2, 2)), [1, 2, 3])
    assert "tanh,no_inplace}.0: float64 of shape (2, 2), strides (16, 8)" in text
    assert "float64 of shape (3, 1)" in text


a, b = T.exp(x), T.tanh(y) * 3
total = a + b  # a sum in the middle
share = T.nnet.softmax(m) * x  # a factor of rows
product = T.dot(m, x)  # a product of rows


@pytest.mark.parametrize(
    ("outputs", "given", "op", "line"),
    [
        (T.sin(total) - 1, (np.ones((2, 3)), np.ones(3), np.ones(4)), "add", "middle"),
        (share.sum() + y, (np.ones((2, 3)), np.ones(4), np.ones(1)), "mul", "factor"),
        (T.tanh(product) + y, (np.ones((2, 3)), np.ones(4), np.ones(2)), "Dot", "prod"),
    ],
)
def test_of_operations_in_one_launch_the_one_that_minds_is_told(
    outputs, given, op, line
):
    f = theano.function([m, x, y], outputs, on_unused_input="ignore")
    text = told(f, *given)
    assert re.search(rf"in function: Gpu\w*{{?{op}", text), text
    assert re.search(rf"made at .*# a \w+ .*{line}|made at .*# a {line}", text), text


def test_of_updates_in_one_launch_the_one_that_minds_is_told():
    w, v = theano.shared(np.zeros(3), name="w"), theano.shared(np.zeros(2), name="v")
    first = w - 0.1 * x
    second = v - 0.1 * y  # this one
    f = theano.function([x, y], [], updates=[(w, first), (v, second)])
    text = told(f, np.ones(3), np.ones(4))
    assert "shapes (2,) and (4,) do not broadcast" in text and "# this one" in text
    assert not w.get_value().any() and not v.get_value().any()


def test_an_error_does_not_change_shared_variables():
    w = theano.shared(np.ones(3), name="w")
    f = theano.function([x, y], x + y, updates={w: w * 2 + 1})
    told(f, [1, 2], [1, 2, 3])
    np.testing.assert_array_equal(w.get_value(), np.ones(3))


def test_many_inputs_are_listed_in_part():
    many = [T.dmatrix(f"x{i}") for i in range(12)]
    f = theano.function(many, T.concatenate(many))
    text = told(f, *[np.ones((2, 2))] * 11, np.ones((2, 4)))
    assert "input 6, x6" in text and "input 7" not in text
    assert "and 5 inputs more" in text
    assert len(text.splitlines()) <= 15


def test_integers_are_told_as_they_are():
    i = T.lscalar("i")
    text = told(theano.function([x, i], x.reshape((i, 2))), [1, 2, 3], 7)
    assert "input 1, i: 7" in text and "float64 of shape (3,)" in text
    text = told(theano.function([x, i], x[i]), [1, 2, 3], 7)
    assert "index 7 is out of bounds" in text and "input 1, i: 7" in text


@pytest.mark.parametrize("mode", [None, "FAST_COMPILE"])
@pytest.mark.parametrize("pauses", [False, True])
def test_a_length_that_is_divided_by_zero_is_told_with_its_line(pauses, mode, recwarn):
    i = T.lscalar("i")
    for length, text in (10 % i, "10 % 0"), (10 // i, "10 // 0"):  # the line
        given = T.unique(x) if pauses else x
        f = theano.function([x, i], given[:length], mode=mode)
        assert np.array_equal(f([1, 2, 3], 4), [1, 2])
        said = told(f, [1, 2, 3], 0)
        assert f"{text} in a shape" in said and "input 1, i: 0" in said
        assert "# the line" in said
    assert not [each for each in recwarn if each.category is RuntimeWarning]


def test_long_errors_show_stack_graph_values_and_memory():
    def layer(x, y):
        return T.exp(x) + y

    def network(x, y):
        return layer(x, y)  # the caller

    with config.use(exception_verbosity="high"):
        f = theano.function([x, y], network(x, y))
        text = told(f, [1, 2, 3], [0.25, 2])
    assert "called at" in text and "# the caller" in text
    assert "the graph:" in text
    assert re.search(r"\|x \[id \w\] <TensorType\(float64, vector\)>", text)
    assert "input 1: [0.25 2.  ]" in text
    assert "x: float64 (3,), 24 bytes" in text and "together 64 bytes" in text


def test_the_stack_is_as_long_as_asked_for():
    with config.use(**{"exception_verbosity": "high", "traceback.limit": 2}):
        assert len(T.exp(x).tag.trace.outer) == 2
    assert T.exp(x).tag.trace.outer == ()


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NanGuardMode", DebugMode()])
def test_other_modes_tell_as_much(mode):
    f = theano.function([x, y], T.exp(x) + y, mode=mode)  # the line
    text = told(f, [1, 2, 3], [1, 2])
    assert "float64 of shape (2,), strides (8,)" in text
    assert text.count("# the line") == 1


def test_a_part_of_the_outputs_and_a_pause_tell_too():
    f = theano.function([x, y], [T.exp(x), T.exp(y) + x])
    text = told(f, [1, 2, 3], [1, 2], output_subset=[1])
    assert "float64 of shape (2,), strides (8,)" in text
    f = theano.function([x, y], T.unique(x) * 2 + y)  # the line
    text = told(f, [1, 2, 2], [1, 2, 3])
    assert "shape (2,)" in text and "input 1, y: float64 of shape (3,)" in text
    assert "# the line" in text


def test_an_error_of_a_kernel_is_told_by_the_read_that_waits():
    i = T.lvector("i")
    f = theano.function([x, i], x[i] * 2)  # the line
    text = told(f, [1, 2, 3], [7])
    assert "index 7 is out of bounds" in text and "# the line" in text


def test_an_op_in_python_raises_what_it_raises():
    @as_op(itypes=[T.dvector], otypes=[T.dvector])
    def fails(a):
        raise LookupError("of the program")

    f = theano.function([x], fails(T.exp(x)))  # the line
    with pytest.raises(LookupError, match="of the program") as caught:
        f([1, 2])
    text = "".join(traceback.format_exception_only(caught.value))
    assert "# the line" in text and "float64 of shape (2,)" in text


class Cumulate(Op):
    """Sums up to each element; the op has no device version."""

    __props__ = ()

    def infer(self, given):
        return given

    def reference(self, array):
        return np.cumsum(array)


class Wrong(Op):
    """Twice a vector; ``how`` says in what way the op is wrong."""

    __props__ = ("how",)

    def __init__(self, how):
        self.how = how

    def make_node(self, a):
        if self.how == "node":
            return a
        return theano.Apply(self, [a], [a.type()])

    def perform(self, node, inputs, output_storage):
        (a,) = inputs
        if self.how == "axes":
            output_storage[0][0] = a[None]
        elif self.how == "wide":
            output_storage[0][0] = a.astype("complex128")
        elif self.how == "text":
            output_storage[0][0] = "a"


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ("axes", TypeError, "output 0, as computed: .* has 2 axes, expected 1"),
        ("wide", TypeError, "complex128 does not fit float64"),
        ("text", TypeError, "given str of dtype <U1"),
        ("nothing", TypeError, r"output 0 was not computed; put it in output_storage"),
    ],
)
def test_an_op_that_gives_another_type_is_told(how, error, text):
    f = theano.function([x], Wrong(how)(T.exp(x)) + 1)  # the line
    with pytest.raises(error, match=text) as caught:
        f([1, 2])
    lines = "".join(traceback.format_exception_only(caught.value))
    assert "Wrong{how=" in lines and "# the line" in lines
    assert "float64 of shape (2,)" in lines
    assert len(lines.splitlines()) <= 15


def test_an_op_without_a_node_or_with_too_few_results_is_told(monkeypatch):
    monkeypatch.setattr(host_fallback, "told", set())
    with pytest.raises(TypeError, match="make_node gave x, expected Apply"):
        Wrong("node")(x)

    class Two(Cumulate):
        def infer(self, given):
            return [given, given]

    with pytest.warns(HostNotice, match="Two"):
        f = theano.function([x], Two()(x))
    with pytest.raises(ValueError, match="computed 1 results, its node announces 2"):
        f([1, 2])


# Operations that run on the host.


class Nothing(Op):
    """An op that nothing computes."""

    __props__ = ()

    def infer(self, given):
        return given


def test_an_op_without_a_device_version_runs_on_the_host_and_says_so_once(monkeypatch):
    monkeypatch.setattr(host_fallback, "told", set())
    with pytest.warns(HostNotice, match="Cumulate has no device version"):
        f = theano.function([x], Cumulate()(x) * 2)
    np.testing.assert_array_equal(f([1, 2, 3]), [2, 6, 12])
    assert "pauses" in str(f.plan)
    theano.function([x], Cumulate()(x))  # any warning would be an error
    with pytest.raises(NotImplementedError, match="nothing computes Nothing"):
        theano.function([x], Nothing()(x))


def test_host_ops_can_be_refused():
    @as_op(itypes=[T.dvector], otypes=[T.dvector])
    def doubled(a):
        return 2 * a

    theano.function([x], doubled(x))
    with config.use(assert_no_cpu_op="warn"), pytest.warns(HostNotice, match="doubled"):
        theano.function([x], doubled(x))
    with config.use(assert_no_cpu_op="raise"):
        theano.function([x], T.exp(x) + 1)
        with pytest.raises(HostOpError, match=r"doubled.* runs on the host") as caught:
            theano.function([x], doubled(x))  # the line
    assert isinstance(caught.value, AssertionError)
    assert "# the line" in str(caught.value)


def test_out_of_memory_names_the_operation_whose_result_finds_no_room(context):
    given = np.ones((100, 100))
    h = T.dot(m, m)
    middle = T.tanh(h)  # the line
    f = theano.function([m], T.dot(middle, h).sum(0), name="big")
    array, limit = gpuarray.asarray(given), context.limit
    texts = []
    try:
        for room in (0, 100_000, 200_000):
            context.sync()
            context.limit = context.memory_info().live + room
            texts.append(told(f, array))
            context.limit = context.memory_info().live
            texts.append(told(f, given))
    finally:
        context.limit = limit
    for text in texts[::2]:
        assert re.search(r"in big: Gpu\w+", text) and "made at" in text, text
    for text in texts[1::2]:
        assert f"in big: its inputs are brought to {context.name}" in text, text
    assert "# the line" in "".join(texts)
    np.testing.assert_allclose(f(given), np.full(100, 1e6))


@pytest.mark.parametrize("other", [-1, 3, -(2**63), 2**63 - 1])
def test_integers_of_the_host_wrap(on_context, other):
    x, i, j = T.fvector("x"), T.lscalar("i"), T.lscalar("j")
    made = [i // j, i % j, i + j, i - j, i * j, abs(i), -i]
    # What a slice is made of is the host's to compute.
    f = theano.function([x, i, j], [x[: 1 + n % 4] for n in made])
    value, low = np.arange(9, dtype="float32"), np.int64(-(2**63))
    with np.errstate(over="ignore"):
        k = np.int64(other)
        found = [low // k, low % k, low + k, low - k, low * k, abs(low), -low]
        expected = [value[: 1 + int(n % 4)] for n in found]
    for mine, its in zip(f(value, low, k), expected, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_a_sum_over_more_elements_than_can_be_counted(on_context):
    x, y = T.fvector("x"), T.fvector("y")
    f = theano.function([x, y], (x.dimshuffle(0, "x") * y).sum())
    one = gpuarray.ones(1, "float32", context=on_context)
    long = gpuarray.broadcast_to(one, (2**32,))
    with pytest.raises(gpuarray.errors.TooLarge, match="more elements than can"):
        f(long, long)
    np.testing.assert_array_equal(f(np.ones(2, "f"), np.ones(3, "f")), 6)
