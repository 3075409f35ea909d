"""The programs of the slides "GPU Programming made Easy" (HPCS 2011), and exercises."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy
import pytest
from gpuarray.compiler import config

pytestmark = pytest.mark.usefixtures("on_context")


def ops(f):
    """The names of what a function computes with, without the transfers."""
    names = [str(node.op) for node in f.maker.fgraph.toposort()]
    return [n for n in names if not n.startswith(("GpuFromHost", "HostFromGpu"))]


# ---- a simple example ----


def simple_example():
    a = theano.tensor.vector("a")  # declare symbolic variable
    b = a + a**10  # build symbolic expression
    return theano.function([a], b)  # compile function


def test_simple_example():
    assert simple_example()([0, 1, 2]).tolist() == [0, 2, 1026]


def test_simple_example_has_no_pow_and_one_fused_elemwise():
    (name,) = ops(simple_example())
    assert "Composite" in name and "pow" not in name


def test_exercise_1():
    a, b = theano.tensor.vector("a"), theano.tensor.vector("b")
    f = theano.function([a, b], a**2 + b**2 + 2 * a * b)
    assert f([0, 1], [1, 2]).tolist() == [1, 9]
    (name,) = ops(f)
    assert "Composite" in name and "square" in name


def test_broadcasting_as_on_the_numpy_slide():
    whole, row, col, vector = T.matrix(), T.row(), T.col(), T.vector()
    f = theano.function(
        [whole, row, col, vector], [whole * row, whole * col, whole * vector]
    )
    rand = numpy.random.RandomState(0).rand
    given = rand(4, 5), rand(1, 5), rand(4, 1), rand(5)
    for got, other in zip(f(*given), given[1:], strict=True):
        numpy.testing.assert_allclose(got, given[0] * other)


# ---- logistic regression ----


class Logistic:
    """The slides' program; ``dtype`` is what the exercise casts its data to."""

    def __init__(self, steps, rate=0.1, dtype="float64", mode=None):
        rng = numpy.random.RandomState(0)
        N = 400
        feats = 784
        D = (rng.randn(N, feats), rng.randint(size=N, low=0, high=2))
        D = tuple(each.astype(dtype) for each in D)

        # Declare Theano symbolic variables
        x = T.matrix("x")
        y = T.vector("y")
        w = theano.shared(rng.randn(feats).astype(dtype), name="w")
        b = theano.shared(numpy.asarray(0.0, dtype), name="b")

        # Construct Theano expression graph
        p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))  # Probability that target = 1
        prediction = p_1 > 0.5  # The prediction thresholded
        xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)  # Cross-entropy
        cost = xent.mean() + 0.01 * (w**2).sum()  # The cost to minimize
        gw, gb = T.grad(cost, [w, b])

        # Compile
        self.train = theano.function(
            inputs=[x, y],
            outputs=[prediction, xent],
            updates={w: w - rate * gw, b: b - rate * gb},
            name="train",
            mode=mode,
        )
        self.predict = theano.function(
            inputs=[x], outputs=prediction, name="predict", mode=mode
        )
        self.expression, self.w, self.b, self.D = prediction, w, b, D

        # Train
        for _ in range(steps):
            self.pred, self.err = self.train(D[0], D[1])


def test_logistic_regression_learns():
    done = Logistic(steps=1000)
    assert done.w.get_value().shape == (784,) and done.b.get_value().shape == ()
    assert (done.predict(done.D[0]) == done.D[1]).all()
    assert (done.pred == done.D[1]).all()
    assert done.err.mean() == pytest.approx(0.0434, abs=1e-4)


def test_logistic_regression_is_optimized_as_the_slide_says():
    names = ops(Logistic(steps=0).train)
    (fused,) = (n for n in names if "sigmoid" in n)  # all loops in one
    assert "softplus" in fused and "exp" not in fused and "log" not in fused
    assert "sum((i0 * " in fused  # the dot before them, too
    (update,) = (n for n in names if "MultiTensor" in n)  # w's with its dot, and b's
    assert "Sum of Composite{(i0 * i1)}" in update and "[(0, 2), (1, 7)]" in update
    assert not any("Dot" in n or "Gemv" in n for n in names)


@pytest.mark.usefixtures("on_context")
def test_exercises_2_and_3_logistic_regression_in_float32():
    with config.use(floatX="float32"):
        done = Logistic(steps=1000, dtype=theano.config.floatX)
    assert done.w.get_value().dtype == done.err.dtype == numpy.float32
    for node in done.train.maker.fgraph.toposort():
        for each in (*node.inputs, *node.outputs):
            assert each.type.dtype not in ("float64", "complex64"), node
    assert (done.predict(done.D[0]) == done.D[1]).all()
    assert done.err.mean() == pytest.approx(0.0434, abs=1e-3)


# ---- flags ----


def test_int32_with_float32_is_float64_and_how_it_is_avoided():
    i, f = T.ivector(), T.fvector()
    assert (i + f).dtype == "float64"
    assert (T.cast(i, "float32") + f).dtype == "float32"
    for small in ("int8", "int16", "uint8", "uint16"):
        assert (T.tensor(small, (False,)) + f).dtype == "float32"
    assert f.mean().dtype == "float32"
    with config.use(cast_policy="numpy+floatX", floatX="float32"):
        assert (i + f).dtype == "float32"


# ---- symbolic variables ----

DTYPES = {
    "f": "float32",
    "d": "float64",
    "c": "complex64",
    "z": "complex128",
    "b": "int8",
    "w": "int16",
    "i": "int32",
    "l": "int64",
}


@pytest.mark.parametrize(
    ("shape", "ndim"),
    [("scalar", 0), ("vector", 1), ("matrix", 2), ("tensor3", 3), ("tensor4", 4)],
)
def test_creating_symbolic_variables(shape, ndim):
    assert getattr(T, shape)().ndim == ndim
    assert getattr(T, shape)().dtype == config.floatX
    with config.use(floatX="float32"):
        assert getattr(T, shape)().dtype == "float32"
    for prefix, dtype in DTYPES.items():
        made = getattr(T, prefix + shape)()
        assert (made.dtype, made.ndim) == (dtype, ndim)


def test_custom_variables():
    for dtype in ("uint8", "uint16", "uint32", "uint64", config.floatX):
        made = T.tensor(dtype, broadcastable=[False] * 3)
        assert (made.dtype, made.broadcastable) == (dtype, (False,) * 3)


def test_broadcastability_is_declared():
    m, r, c = T.matrix(), T.row(), T.col()
    f = theano.function([m, r, c], [m + r, m + c])
    M, R, C = numpy.ones((2, 3)), numpy.arange(3.0)[None], numpy.arange(2.0)[:, None]
    for got, expected in zip(f(M, R, C), (M + R, M + C), strict=True):
        assert got.tolist() == expected.tolist()
    other = T.matrix()
    g = theano.function([m, other], m + other)
    with pytest.raises(ValueError, match="length"):
        g(M, R)  # not declared to broadcast


# ---- differentiation ----


def test_differentiation_details():
    x, v = T.vector("x"), T.vector("v")
    cost = (x**3).sum()
    (first,) = T.grad(cost, [x])
    second = T.grad(first.sum(), x)
    f = theano.function([x], [first, second])
    numbers = numpy.array([1.0, -2.0, 3.0])
    for got, expected in zip(f(numbers), (3 * numbers**2, 6 * numbers), strict=True):
        numpy.testing.assert_allclose(got, expected)
    with pytest.raises(TypeError, match="scalar"):
        T.grad(x**2, x)
    # vector x Jacobian and vector x Hessian, by the simple recipes
    by_jacobian = T.grad((v * T.sin(x)).sum(), x)
    by_hessian = T.grad((T.grad(cost, x) * v).sum(), x)
    g = theano.function([x, v], [by_jacobian, by_hessian])
    weights = numpy.array([0.5, 2.0, -1.0])
    expected = weights * numpy.cos(numbers), weights * 6 * numbers
    for got, each in zip(g(numbers, weights), expected, strict=True):
        numpy.testing.assert_allclose(got, each)


# ---- printing ----


def test_pretty_printing():
    assert theano.printing.pprint(Logistic(steps=0).expression) == (
        r"gt((TensorConstant{1} / (TensorConstant{1} + exp(((-(x \dot w)) - b)))), "
        "TensorConstant{0.5})"
    )


def test_debug_print_of_an_expression(capsys):
    theano.printing.debugprint(Logistic(steps=0).expression)
    assert [line.partition(" [id")[0] for line in capsys.readouterr().out.split("\n")][
        :-1
    ] == [
        "Elemwise{gt,no_inplace}",
        " |Elemwise{true_div,no_inplace}",
        " | |InplaceDimShuffle{x}",
        " | | |TensorConstant{1}",
        " | |Elemwise{add,no_inplace}",
        " |   |InplaceDimShuffle{x}",
        " |   | |TensorConstant{1}",
        " |   |Elemwise{exp,no_inplace}",
        " |     |Elemwise{sub,no_inplace}",
        " |       |Elemwise{neg,no_inplace}",
        " |       | |dot",
        " |       |   |x",
        " |       |   |w",
        " |       |InplaceDimShuffle{x}",
        " |         |b",
        " |InplaceDimShuffle{x}",
        "   |TensorConstant{0.5}",
    ]


def test_debug_print_of_a_function(capsys):
    theano.printing.debugprint(Logistic(steps=0).predict)
    printed = capsys.readouterr().out
    lines = [line.partition(" [id")[0].strip(" |") for line in printed.splitlines()]
    assert lines == [
        "HostFromGpu(gpuarray)",
        "InplaceDimShuffle{0}",
        "GpuRowwise{gt(sigmoid((sum((i0 * i3)) + i1)), i2)}",  # with the dot in it
        "GpuFromHost<None>",
        "x",
        "InplaceDimShuffle{x,0}",
        "InplaceDimShuffle{x}",
        "b",
        "GpuArrayConstant{(1, 1) of 0.5}",
        "InplaceDimShuffle{x,0}",
        "w",
    ]


def test_pictures_of_graphs(tmp_path):
    done = Logistic(steps=0)
    for place, each in enumerate((done.expression, done.predict, done.train)):
        path = tmp_path / f"{place}.dot"
        draw = theano.printing.pydotprint_variables if place == 0 else None
        (draw or theano.printing.pydotprint)(each, outfile=path)
        text = path.read_text()
        assert text.startswith("digraph") and "->" in text
    assert "MultiTensor" in text and "sigmoid" in text and "UPDATE" in text


# ---- debugging ----


def test_debug_mode_runs_the_example():
    done = Logistic(steps=2, mode="DebugMode")
    fast = Logistic(steps=2)
    numpy.testing.assert_allclose(done.w.get_value(), fast.w.get_value(), rtol=1e-9)
    numpy.testing.assert_allclose(done.err, fast.err, rtol=1e-9)


def test_compute_test_value_finds_a_wrong_shape_where_it_is_written():
    with config.use(compute_test_value="raise"):
        x, w = T.matrix("x"), theano.shared(numpy.zeros(7), name="w")
        with pytest.raises((ValueError, AttributeError, TypeError), match="test"):
            T.dot(x, w)  # x has none
        x.tag.test_value = numpy.random.RandomState(0).rand(5, 10)
        with pytest.raises(ValueError, match=r"10|7"):
            T.dot(x, w)
        good = T.dot(x, theano.shared(numpy.ones(10)))
    assert theano.get_test_value(good).shape == (5,)


def test_fast_compile_gives_the_same():
    a = T.vector("a")
    f = theano.function([a], a + a**10, mode="FAST_COMPILE")
    assert f([0, 1, 2]).tolist() == [0, 2, 1026]
    assert sum("Elemwise" in name for name in ops(f)) >= 1


# ---- ops in Python ----


class DoubleOp(theano.Op):
    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return self.__class__.__name__

    def make_node(self, x):
        x = theano.tensor.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        x = inputs[0]
        z = output_storage[0]
        z[0] = x * 2


class TimesOp(DoubleOp):
    """Exercise 7: x * y."""

    def make_node(self, x, y):
        x, y = map(theano.tensor.as_tensor_variable, (x, y))
        return theano.Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        x, y = inputs
        output_storage[0][0] = x * y

    def infer_shape(self, node, shapes):
        return [shapes[0]]

    def grad(self, inputs, output_gradients):
        x, y = inputs
        (g,) = output_gradients
        return [g * y, g * x]


class SumAndDifferenceOp(TimesOp):
    """Exercise 7: x + y and x - y."""

    def make_node(self, x, y):
        x, y = map(theano.tensor.as_tensor_variable, (x, y))
        return theano.Apply(self, [x, y], [x.type(), x.type()])

    def perform(self, node, inputs, output_storage):
        x, y = inputs
        output_storage[0][0], output_storage[1][0] = x + y, x - y

    def infer_shape(self, node, shapes):
        return [shapes[0], shapes[0]]

    def grad(self, inputs, output_gradients):
        return theano.gradient.Lop(
            [inputs[0] + inputs[1], inputs[0] - inputs[1]],
            inputs,
            [T.zeros_like(inputs[0]) if is_absent(g) else g for g in output_gradients],
        )


def is_absent(g):
    return isinstance(g.type, theano.gradient.DisconnectedType)


def test_double_op():
    x = theano.tensor.matrix()
    f = theano.function([x], DoubleOp()(x))
    inp = numpy.random.RandomState(0).rand(5, 5)
    out = f(inp)
    assert numpy.allclose(inp * 2, out)


def test_exercise_7_a_product():
    x, y = T.matrices("xy")
    f = theano.function([x, y], TimesOp()(x, y))
    a, b = numpy.random.RandomState(0).rand(2, 5, 5)
    assert numpy.allclose(f(a, b), a * b)
    theano.gradient.verify_grad(TimesOp(), [a, b], rng=numpy.random.RandomState(0))


def test_exercise_7_two_outputs():
    x, y = T.matrices("xy")
    total, difference = SumAndDifferenceOp()(x, y)
    f = theano.function([x, y], [total, difference])
    a, b = numpy.random.RandomState(0).rand(2, 5, 5)
    for got, expected in zip(f(a, b), (a + b, a - b), strict=True):
        assert numpy.allclose(got, expected)
    g = theano.function([x, y], T.grad((difference**2).sum(), [x, y]))
    for got, sign in zip(g(a, b), (2, -2), strict=True):
        assert numpy.allclose(got, sign * (a - b))
