"""Convolutions as ops: values, derivatives, shapes, and what is refused."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from convolutions import arrays, drawn, judged
from gpuarray._native import lib
from gpuarray.compiler import Rop, config, function, grad, shared
from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.nnet import conv as ops
from gpuarray.compiler.tensor.nnet import abstract_conv
from judge import assert_same


def compiled(context, *arguments, **options):
    with config.use(device=str(context.name)):
        return function(*arguments, **options)


def op_of(d):
    """The op of a drawn convolution."""
    g = d.geometry
    return ops.AbstractConv(
        g.ndim,
        border_mode=g.padding,
        subsample=g.stride,
        filter_flip=g.is_flipped,
        filter_dilation=g.dilation,
        num_groups=g.groups,
        unshared=g.is_unshared,
    )


def variables(d, dtype="float32"):
    return [
        TensorType(dtype, (False,) * len(shape))(name)
        for name, shape in (("x", d.image), ("w", d.filters), ("g", d.result))
    ]


@pytest.mark.parametrize("seed", range(4))
def test_drawn_convolutions(context, seed):
    rng = np.random.default_rng(seed)
    for _ in range(5):
        d = drawn(rng, most=5)
        x, w, g = variables(d)
        y = op_of(d)(x, w)
        slopes = grad((y * g).sum(), [x, w])
        f = compiled(context, [x, w, g], [y, *slopes])
        hosts = arrays(d, rng)
        for got, host in zip(f(*hosts), judged(d, *hosts), strict=True):
            assert_same(got, host.astype("float32"), exact=True)


@pytest.mark.parametrize("seed", range(6))
def test_references_and_shapes(seed):
    """The NumPy references judge other tests; shapes are inferred without computing."""
    rng = np.random.default_rng(100 + seed)
    for _ in range(10):
        d = drawn(rng, most=4)
        hosts = x, w, g = arrays(d, rng, "float64")
        op = op_of(d)
        image, filters, _ = d.places
        of_image = op.role(ops.AbstractConv_gradInputs)
        of_filters = op.role(ops.AbstractConv_gradWeights)
        got = (
            op.reference(x, w),
            of_image.reference(w, g, *image),
            of_filters.reference(x, g, *filters),
        )
        for one, other in zip(got, judged(d, *hosts), strict=True):
            assert_same(one, other, exact=True)
        a, b, _ = variables(d)
        lengths = function([a, b], op(a, b).shape, mode="FAST_COMPILE")
        assert tuple(lengths(x.astype("f4"), w.astype("f4"))) == d.result


def test_second_derivatives(context):
    """Along drawn directions, against differences of the first ones."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        d = drawn(rng, most=3)
        x, w, _ = variables(d, "float64")
        u, v = (T.tensor("float64", (False,) * a.type.ndim) for a in (x, w))
        y = op_of(d)(x, w)
        cost = (y**3).sum()
        slopes = grad(cost, [x, w])
        along = grad(
            sum((s * t).sum() for s, t in zip(slopes, (u, v), strict=True)), [x, w]
        )
        f = compiled(context, [x, w], slopes)
        g = compiled(context, [x, w, u, v], along)
        at = [rng.standard_normal(s) for s in (d.image, d.filters)]
        by = [rng.standard_normal(s) for s in (d.image, d.filters)]
        step = 1e-5
        ahead = f(*(a + step * b for a, b in zip(at, by, strict=True)))
        behind = f(*(a - step * b for a, b in zip(at, by, strict=True)))
        for got, one, other in zip(g(*at, *by), ahead, behind, strict=True):
            expected = (np.asarray(one) - np.asarray(other)) / (2 * step)
            np.testing.assert_allclose(
                np.asarray(got), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max()
            )


def test_r_op(context):
    rng = np.random.default_rng(6)
    d = drawn(rng, 2)
    x, w, _ = variables(d, "float64")
    u, v = (T.tensor("float64", (False,) * a.type.ndim) for a in (x, w))
    y = op_of(d)(x, w)
    f = compiled(context, [x, w, u, v], Rop(y, [x, w], [u, v]))
    at = [rng.integers(-4, 5, s).astype("float64") for s in (d.image, d.filters)] * 2
    op = op_of(d)
    expected = op.reference(at[2], at[1]) + op.reference(at[0], at[3])
    assert_same(f(*at), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(context, dtype):
    rng = np.random.default_rng(7)
    d = drawn(rng, 2)
    x, w, g = variables(d, dtype)
    y = op_of(d)(x, w)
    assert y.dtype == dtype
    f = compiled(context, [x, w, g], [y, *grad((y * g).sum(), [x, w])])
    hosts = [a.astype(x.type.numpy_dtype) for a in arrays(d, rng, dtype)]
    for got, host in zip(f(*hosts), judged(d, *hosts), strict=True):
        assert_same(got, host.astype(x.type.numpy_dtype))


# ---- Theano's functions ----


def numbers(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def test_flips(context):
    x, w = T.ftensor4("x"), T.ftensor4("w")
    outs = [T.nnet.conv2d(x, w, filter_flip=flip) for flip in (True, False)]
    f = compiled(context, [x, w], outs)
    turned, plain = f(numbers(1, 1, 3, 3), numbers(1, 1, 2, 2))
    assert turned[0, 0].tolist() == [[5, 11], [23, 29]]
    assert plain[0, 0].tolist() == [[19, 25], [37, 43]]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("valid", (5, 6)),
        ("full", (9, 10)),
        ("half", (7, 8)),
        (1, (7, 8)),
        ((1, 2), (7, 10)),
        (((1, 0), (0, 2)), (6, 8)),
    ],
)
def test_border_modes(mode, expected):
    x, w = T.ftensor4("x"), T.ftensor4("w")
    f = function([x, w], T.nnet.conv2d(x, w, border_mode=mode).shape)
    given = numbers(2, 3, 7, 8), numbers(5, 3, 3, 3)
    assert tuple(f(*given)) == (2, 5, *expected)
    shape = abstract_conv.get_conv_output_shape
    assert shape((2, 3, 7, 8), (5, 3, 3, 3), mode, (1, 1)) == (2, 5, *expected)


def test_transposed_of_a_symbolic_shape(context):
    x, w, n = T.ftensor4("x"), T.ftensor4("w"), T.lscalar("n")
    y = T.nnet.conv2d_transpose(
        x, w, (None, None, n, n + 1), border_mode="half", input_dilation=(2, 2)
    )
    f = compiled(context, [x, w, n], y)
    given = numbers(1, 2, 4, 4), numbers(2, 3, 3, 3)
    op = ops.AbstractConv2d_gradInputs(border_mode="half", subsample=(2, 2))
    assert_same(f(*given, 7), op.reference(given[1], given[0], 7, 8))
    with pytest.raises(ValueError, match="expected the shape"):
        f(*given, 20)


def test_gradient_functions(context):
    x, w, g = T.ftensor4("x"), T.ftensor4("w"), T.ftensor4("g")
    y = T.nnet.conv2d(x, w, subsample=(2, 1), border_mode=1)
    options = {"subsample": (2, 1), "border_mode": 1}
    outs = [
        abstract_conv.conv2d_grad_wrt_inputs(g, w, x.shape, **options),
        abstract_conv.conv2d_grad_wrt_weights(x, g, w.shape, **options),
        *grad(None, [x, w], known_grads={y: g}),
    ]
    f = compiled(context, [x, w, g], outs)
    a, b, c, d = f(numbers(2, 2, 5, 4), numbers(3, 2, 3, 3), numbers(2, 3, 3, 4))
    assert_same(a, np.asarray(c), exact=True)
    assert_same(b, np.asarray(d), exact=True)


def test_separable_and_causal(context):
    x, u, w = T.ftensor4("x"), T.ftensor4("u"), T.ftensor4("w")
    y = T.nnet.separable_conv2d(x, u, w, 2, border_mode="half")
    f = compiled(context, [x, u, w], y)
    given = numbers(1, 2, 4, 4), numbers(4, 1, 3, 3) % 5, numbers(3, 4, 1, 1) % 7
    apart = ops.AbstractConv2d(border_mode="half", num_groups=2)
    first = apart.reference(*given[:2])
    assert_same(f(*given), ops.AbstractConv2d().reference(first, given[2]))
    s, v = T.ftensor3("s"), T.ftensor3("v")
    y = T.nnet.causal_conv1d(s, v, (None, None, 3), filter_dilation=2)
    f = compiled(context, [s, v], y)
    got = f(numbers(1, 1, 6), np.ones((1, 1, 3), "float32"))
    assert got.tolist() == [[[0, 1, 2, 4, 6, 9]]]


def test_three_axes(context):
    x, w = (T.tensor("float32", (False,) * 5, name) for name in "xw")
    y = T.nnet.conv3d(x, w, border_mode=(1, 0, 2), subsample=(1, 2, 1))
    f = compiled(context, [x, w], y)
    given = numbers(1, 2, 3, 4, 5) % 7, numbers(3, 2, 2, 3, 2) % 5
    assert_same(f(*given), y.owner.op.reference(*given), exact=True)
    assert isinstance(y.owner.op, abstract_conv.AbstractConv3d)


def test_shared_filters_learn(context):
    """A filter is found by gradient descent."""
    rng = np.random.default_rng(1)
    true = rng.standard_normal((1, 1, 3, 3)).astype("float32")
    image = rng.standard_normal((4, 1, 9, 9)).astype("float32")
    target = ops.AbstractConv2d().reference(image, true)
    x, t = T.ftensor4("x"), T.ftensor4("t")
    w = shared(np.zeros_like(true), "w")
    cost, rate = T.sqr(T.nnet.conv2d(x, w) - t).mean(), np.float32(0.3)
    step = compiled(context, [x, t], cost, updates=[(w, w - rate * grad(cost, w))])
    for _ in range(100):
        step(image, target)
    assert np.abs(w.get_value() - true).max() < 1e-2


# ---- shapes ----


def test_shapes_of_gradients():
    shape = abstract_conv.get_conv_gradweights_shape
    assert shape((2, 3, 7, 8), (2, 5, 9, 10), "full", (1, 1)) == (5, 3, 3, 3)
    assert shape((2, 3, 7, 8), (2, 5, 7, 8), 1, (1, 1)) == (5, 3, 3, 3)
    assert shape((2, 3, 7, 8), (2, 5, 7, 8), "half", (1, 1)) == (5, 3, None, None)
    assert shape((2, 3, 7, 8), (2, 5, 3, 6), "valid", (2, 1)) == (5, 3, None, 3)
    assert shape((2, 4, 7, 8), (2, 6, 5, 6), "valid", (1, 1), (1, 2), 2, True) == (
        *(6, 5, 6, 2),
        *(3, 2),
    )
    shape = abstract_conv.get_conv_gradinputs_shape
    assert shape((5, 3, 3, 3), (2, 5, 9, 10), "full", (1, 1)) == (2, 3, 7, 8)
    assert shape((5, 3, 3, 3), (2, 5, 7, 8), "half", (1, 1)) == (2, 3, 7, 8)
    assert shape((5, 3, 3, 3), (2, 5, 5, 6), "valid", (1, 2)) == (2, 3, 7, None)
    fits = abstract_conv.check_conv_gradinputs_shape
    shapes = (5, 3, 3, 3), (2, 5, 4, 6), "valid", (2, 1)
    assert fits((2, 3, 9, 8), *shapes) and fits((None, 3, 10, 8), *shapes)
    assert not fits((2, 3, 11, 8), *shapes) and not fits((2, 3, 9, 9), *shapes)


def test_lengths_are_checked():
    assert abstract_conv.assert_conv_shape((0, 1, 2)) == (0, 1, 2)
    with pytest.raises(GraphValueError, match="length 0 along axis 2, expected 1"):
        abstract_conv.assert_conv_shape((1, 1, 0))
    n = T.lscalar("n")
    f = function([n], abstract_conv.assert_conv_shape((1, 1, n))[2])
    assert f(3) == 3
    with pytest.raises(AssertionError, match="below 1 along axis 2"):
        f(0)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"border_mode": "same"}, GraphValueError, "border_mode is 'same'"),
        ({"border_mode": (1, 2, 3)}, GraphValueError, "2 integers or pairs"),
        ({"subsample": (0, 1)}, GraphValueError, r"subsample is \(0, 1\)"),
        ({"filter_dilation": (1,)}, GraphValueError, r"filter_dilation is \(1,\)"),
        ({"num_groups": 0}, GraphValueError, "num_groups is 0"),
        ({"filter_shape": (1, 2, 3)}, GraphValueError, r"kshp is \(1, 2, 3\)"),
        (
            {"input_shape": (1, 3, 5, 5), "filter_shape": (2, 4, 3, 3)},
            GraphValueError,
            "filters of 4 channels, expected 3",
        ),
        (
            {"input_shape": (None, None, 5, 5), "filter_shape": (None, None, 6, 3)},
            GraphValueError,
            "filters of extent 6 along spatial axis 0",
        ),
        (
            {"input_shape": (1, 1, 5, 5), "image_shape": (1, 1, 5, 5)},
            GraphTypeError,
            "its former name",
        ),
    ],
)
def test_options_that_do_not_fit(options, error, text):
    x, w = T.ftensor4("x"), T.ftensor4("w")
    with pytest.raises(error, match=text):
        T.nnet.conv2d(x, w, **options)


def test_operands_that_do_not_fit():
    x, w = T.ftensor4("x"), T.ftensor4("w")
    with pytest.raises(
        GraphArgumentError, match=r"the image is x.*expected floats of 4"
    ):
        T.nnet.conv2d(T.fmatrix("x"), w)
    with pytest.raises(GraphArgumentError, match=r"the filters is w.*of 6 axes"):
        T.nnet.conv2d(x, w, unshared=True)
    with pytest.raises(GraphArgumentError, match="int32, expected floats"):
        T.nnet.conv2d(T.itensor4("x"), T.itensor4("w"))
    with pytest.raises(GraphValueError, match="imshp is 5"):
        abstract_conv.conv2d_grad_wrt_inputs(x, w, 5)
    with pytest.raises(GraphValueError, match="expected the last 2 lengths"):
        abstract_conv.conv2d_grad_wrt_inputs(x, w, (1, 1, None, 5))
    given = numbers(1, 3, 5, 5), numbers(1, 2, 2, 2)
    x.tag.test_value, w.tag.test_value = given
    with (
        config.use(compute_test_value="raise"),
        pytest.raises(GraphValueError, match="filters of 2 channels, expected 3"),
    ):
        T.nnet.conv2d(x, w)
    f = function([x, w], T.nnet.conv2d(x, w))
    with pytest.raises(ValueError, match="filters of 2 channels, expected 3"):
        f(numbers(1, 3, 5, 5), numbers(1, 2, 2, 2))
    with pytest.raises(ValueError, match="filters of extent 6 along spatial axis 1"):
        f(numbers(1, 3, 5, 5), numbers(1, 3, 2, 6))


# ---- shapes that a program declares ----


def declared(shapes, *, build=T.nnet.conv2d, **options):
    x, w = T.ftensor4("x"), T.ftensor4("w")
    return [x, w], build(x, w, *shapes, **options)


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        (
            ((9, 3, 5, 6), None),
            r"image by its declared shape: .*\(2, 3, 5, 6\).*\(9, 3",
        ),
        (((None, None, 7, None), None), r"image .*expected \(2, 3, 7, 6\)"),
        ((None, (4, 3, 1, 2)), r"filters by .*\(4, 3, 2, 2\).* expected \(4, 3, 1, 2"),
    ],
)
def test_arrays_of_other_than_declared_shapes_are_refused(context, shapes, text):
    inputs, y = declared(shapes)
    f = compiled(context, inputs, [y, *grad(y.sum(), inputs)])
    given = numbers(2, 3, 5, 6), numbers(4, 3, 2, 2)
    with pytest.raises(ValueError, match=f"conv2d: the {text}"):
        f(*given)
    inputs, y = declared(((2, None, 5, None), given[1].shape))
    f = compiled(context, inputs, [y, *grad(y.sum(), inputs)])
    plain = compiled(context, inputs, T.nnet.conv2d(*inputs))
    assert_same(f(*given)[0], np.asarray(plain(*given)), exact=True)


def test_a_constant_of_another_than_the_declared_shape_is_refused_when_built():
    x, w = numbers(2, 3, 5, 5), T.ftensor4("w")
    with pytest.raises(
        GraphValueError, match=r"image .*\(2, 3, 5, 5\), expected \(2, 4"
    ):
        T.nnet.conv2d(x, w, (2, 4, None, 5))
    with pytest.raises(GraphValueError, match=r"filters .*\(1, None, None, None\)"):
        T.nnet.conv2d(
            x, T.tensor("float32", (True,) + (False,) * 3), None, (2, 3, 3, 3)
        )
    with pytest.raises(GraphValueError, match="expected floats of 4"):
        T.nnet.conv2d(T.fmatrix("m"), w, (2, 4, 5, 5))


def test_a_declared_length_of_1_does_not_change_the_type():
    inputs, y = declared(((1, 1, 5, 5), (1, 1, 3, 3)))
    assert y.type.broadcastable == (False,) * 4
    for slope, x in zip(grad(y.sum(), inputs), inputs, strict=True):
        assert slope.type == x.type


def test_gradients_of_other_than_declared_shapes_are_refused(context):
    g, w, x = T.ftensor4("g"), T.ftensor4("w"), T.ftensor4("x")
    outs = [
        T.nnet.conv2d_transpose(g, w, (None, 2, 5, 6)),
        abstract_conv.conv2d_grad_wrt_weights(x, g, (4, 7, 2, 2)),
        abstract_conv.conv2d_grad_wrt_inputs(g, w, (2, 3, 5, 6), (4, 3, 2, 3)),
    ]
    given = [numbers(2, 4, 4, 5), numbers(4, 3, 2, 2), numbers(2, 3, 5, 6)]
    for out, text in zip(
        outs, (r"\(2, 3, 5, 6\)", r"\(4, 3, 2, 2\)", "the filters by"), strict=True
    ):
        f = compiled(context, [g, w, x], out, on_unused_input="ignore")
        with pytest.raises(ValueError, match=text):
            f(*given)


# ---- names of other packages ----


@pytest.mark.parametrize(
    ("build", "options", "text"),
    [
        (T.nnet.conv2d, {"stride": 2}, "conv2d: got stride, whose name here is subsam"),
        (T.nnet.conv2d, {"padding": 1}, "got padding, whose name here is border_mode"),
        (T.nnet.conv3d, {"dilation": 2}, "conv3d: got dilation, .* filter_dilation"),
        (T.nnet.conv2d, {"groups": 2}, "got groups, whose name here is num_groups"),
        (
            T.nnet.conv2d_transpose,
            {"stride": 2},
            "stride, whose name .* input_dilation",
        ),
        (T.nnet.separable_conv2d, {"padding": 2}, "separable_conv2d: got padding"),
        (T.nnet.causal_conv1d, {"stride": 2}, "causal_conv1d: got stride"),
        (abstract_conv.conv2d_grad_wrt_inputs, {"stride": 2}, "wrt_inputs: got stride"),
    ],
)
def test_names_of_other_packages_are_told_ours(build, options, text):
    with pytest.raises(GraphTypeError, match=text):
        build(T.ftensor4("x"), T.ftensor4("w"), **options)


def test_unknown_names_are_refused_by_python():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        T.nnet.conv2d(T.ftensor4("x"), T.ftensor4("w"), nothing=1)


@pytest.mark.parametrize("channels", [2, 4])
def test_a_gradient_of_other_channels_is_refused(channels, context):
    """The gradient by the image does not read it: only its channels tell."""
    x, w = T.ftensor4("x"), T.ftensor4("w")
    with config.use(device=context.name):
        f = function([x, w], grad(T.nnet.conv2d(x, w).sum(), x))
    image, filters = np.zeros((1, 3, 5, 5), "f4"), np.zeros((2, channels, 3, 3), "f4")
    with pytest.raises(ValueError, match="3"):
        f(image, filters)


def test_an_input_that_another_image_is_transposed_to_is_refused(first_context):
    x, w = T.ftensor4("x"), T.ftensor4("w")
    y = T.nnet.conv2d_transpose(x, w, (None, 4, 20, 20), input_dilation=(2, 2))
    f = compiled(first_context, [x, w], y)
    text = (
        r"which a transposed convolution reads, is .*\(2, 3, 8, 8\), .*\(2, 3, 9, 9\)"
    )
    with pytest.raises(ValueError, match=text + r" of an image of \(2, 4, 20, 20\)"):
        f(np.zeros((2, 3, 8, 8), "f4"), np.zeros((3, 4, 3, 3), "f4"))


@pytest.mark.parametrize("option", ["subsample", "filter_dilation"])
def test_a_stride_or_dilation_of_nothing_is_refused(option):
    for value in (0, [], (0, 0)):
        with pytest.raises(ValueError, match=option):
            ops.AbstractConv(2, **{option: value})


def test_whether_sums_may_be_in_any_order_is_part_of_the_plan(first_context):
    """The setting is that of the compilation, also where a plan is taken from disk."""
    x, w = T.ftensor4("x"), T.ftensor4("w")
    y = T.nnet.conv2d(x, w)
    results = [y, *grad((y**2).sum(), [x, w])]
    for setting in (True, False, True, False):
        with config.use(deterministic=setting):
            f = compiled(first_context, [x, w], results)
        found = [
            not step.params[2] & lib.GA_CONV_ANY_ORDER
            for step in f.plan.steps
            if step.label.startswith("conv")
        ]
        assert found == [setting] * 3
        image, filters = (np.ones((1, 1, n, n), "float32") for n in (3, 2))
        assert_same(f(image, filters)[0], 4 * filters)
