"""Theano's functions of cuDNN: the same results as the ops they name."""

import inspect

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._nn import vendor
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.errors import (
    ContextNotDefined,
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.gpuarray import dnn
from gpuarray.compiler.tensor.nnet import abstract_conv, bn
from gpuarray.compiler.tensor.signal.pool import pool_2d, pool_3d
from gpuarray.errors import LibraryMissing


def drawn(*shape, dtype="float64"):
    """Small integers, so that sums are exact."""
    return np.random.default_rng(7).integers(-5, 6, shape).astype(dtype)


def tensors(*arrays):
    return [T.tensor(str(a.dtype), (False,) * a.ndim) for a in arrays]


def assert_equal(context, arrays, build, expected, rtol=0):
    """Two ways to build a result give the same one."""
    inputs = tensors(*arrays)
    with config.use(device=str(context.name)):
        results = [build(*inputs), expected(*inputs)]
        f = function(inputs, results, on_unused_input="ignore")
    got, right = (np.asarray(each) for each in f(*arrays))
    assert got.dtype == right.dtype
    np.testing.assert_allclose(got, right, rtol=rtol, atol=rtol)


OPTIONS = [
    {},
    {"border_mode": "half", "subsample": (2, 1), "algo": "time_once"},
    {"border_mode": (1, 0), "conv_mode": "cross", "precision": "as_input_f32"},
    {"dilation": (2, 1), "num_groups": 2, "algo": "deterministic"},
]


def ours(options):
    """The options under their names of `T.nnet.conv2d`."""
    names = {"dilation": "filter_dilation"}
    found = {names.get(key, key): value for key, value in options.items()}
    found["filter_flip"] = found.pop("conv_mode", "conv") == "conv"
    return {k: v for k, v in found.items() if k not in ("algo", "precision")}


def wider(options):
    """The options of three axes."""
    pairs = ("subsample", "dilation", "border_mode")
    return {
        k: (*v, 1) if k in pairs and isinstance(v, tuple) else v
        for k, v in options.items()
    }


@pytest.mark.parametrize("options", OPTIONS)
def test_convolutions(context, options):
    x, w = drawn(2, 4, 7, 6), drawn(4, 4 // options.get("num_groups", 1), 3, 2)
    assert_equal(
        context,
        [x, w],
        lambda x, w: dnn.dnn_conv(x, w, **options),
        lambda x, w: T.nnet.conv2d(x, w, **ours(options)),
    )
    assert_equal(
        context,
        [x[..., None].repeat(2, -1), w[..., None].repeat(2, -1)],
        lambda x, w: dnn.dnn_conv3d(x, w, **wider(options)),
        lambda x, w: T.nnet.conv3d(x, w, **ours(wider(options))),
    )


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients_of_convolutions(context, options):
    x, w = drawn(2, 4, 7, 6), drawn(4, 4 // options.get("num_groups", 1), 3, 2)
    for shapes, given, forward, by_image, by_filters in (
        ((x, w), options, dnn.dnn_conv, dnn.dnn_gradinput, dnn.dnn_gradweight),
        (
            (x[..., None].repeat(2, -1), w[..., None].repeat(2, -1)),
            wider(options),
            dnn.dnn_conv3d,
            dnn.dnn_gradinput3d,
            dnn.dnn_gradweight3d,
        ),
    ):
        a, b = tensors(*shapes)
        y = forward(a, b, **given)
        g = y.type("g")
        outs = [
            *grad(None, [a, b], known_grads={y: g}),
            by_image(b, g, shapes[0].shape, **given),
            by_filters(a, g, b.shape, **given),
        ]
        with config.use(device=str(context.name)):
            shape = function([a, b], y)(*shapes).shape
            found = function([a, b, g], outs)(*shapes, drawn(*shape))
        for right, got in zip(found[:2], found[2:], strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(right))


@pytest.mark.parametrize(
    ("mode", "same"),
    [
        ("max", "max"),
        ("max_deterministic", "max"),
        ("sum", "sum"),
        ("average_inc_pad", "average_inc_pad"),
        ("average_exc_pad", "average_exc_pad"),
    ],
)
def test_pooling(context, mode, same):
    x = drawn(2, 3, 7, 6)
    assert_equal(
        context,
        [x],
        lambda x: dnn.dnn_pool(x, (3, 2), mode=mode),
        lambda x: pool_2d(x, (3, 2), True, (1, 1), mode=same),
    )
    assert_equal(
        context,
        [x[..., None].repeat(4, -1)],
        lambda x: dnn.dnn_pool(x, (3, 2, 2), (2, 2, 1), mode, (1, 0, 1)),
        lambda x: pool_3d(x, (3, 2, 2), True, (2, 2, 1), (1, 0, 1), same),
    )
    assert_equal(
        context,
        [x, np.array([3, 2])],
        lambda x, n: dnn.dnn_pool(x, n, n, mode, n - 1),
        lambda x, n: pool_2d(x, n, True, None, n - 1, same),
    )


@pytest.mark.parametrize("mode", ["per-activation", "spatial"])
def test_batch_normalisation(context, mode):
    x, p = drawn(5, 3, 2, 4), drawn(1, 3, 1, 1)
    if mode == "per-activation":
        p = drawn(1, 3, 2, 4)
    numbers = [p + 1, p - 2, p, p**2]

    def joined(results):
        return T.concatenate([each.flatten() for each in results])

    for count in (2, 4):
        assert_equal(
            context,
            [x, *numbers],
            lambda x, g, b, m, v, n=count: (
                joined(
                    dnn.dnn_batch_normalization_train(
                        x, g, b, mode, 1e-3, 0.2, *(m, v)[: n - 2]
                    )
                )
                + 0 * (m + v).sum()
            ),
            lambda x, g, b, m, v, n=count: joined(
                bn.batch_normalization_train(x, g, b, mode, 1e-3, 0.2, *(m, v)[: n - 2])
            ),
        )
    assert_equal(
        context,
        [x, *numbers],
        lambda *a: dnn.dnn_batch_normalization_test(*a, mode, 1e-3),
        lambda *a: bn.batch_normalization_test(*a, mode, 1e-3),
    )


@pytest.mark.parametrize("mode", ["channel", "instance"])
@pytest.mark.parametrize("algo", ["fast", "accurate", "log"])
def test_softmax(context, algo, mode):
    x = drawn(2, 3, 2, 4) / 3
    axes = 1 if mode == "channel" else (1, 2, 3)

    def formula(x):
        p = T.exp(x) / T.exp(x).sum(axes, keepdims=True)
        return T.log(p) if algo == "log" else p

    op = dnn.GpuDnnSoftmax(algo, mode)
    assert_equal(context, [x], op, formula, rtol=1e-10)
    assert_equal(
        context,
        [drawn(2, 3, 2, 4), x],
        lambda g, x: dnn.GpuDnnSoftmaxGrad(algo, mode)(g, op(x)),
        lambda g, x: grad((formula(x) * g).sum(), x),
        rtol=1e-10,
    )


def test_spatial_transformers(context):
    x, t = drawn(2, 3, 4, 5), drawn(2, 2, 3) / 4

    def parts(x, t):
        shape = x.shape[0], x.shape[1], 2, 10
        grid = dnn.GpuDnnTransformerGrid()(t, shape)
        return dnn.GpuDnnTransformerSampler()(x, grid)

    given = {"scale_width": 2, "scale_height": 0.5}
    assert_equal(
        context, [x, t], lambda x, t: dnn.dnn_spatialtf(x, t, **given), parts, 1e-10
    )


def test_what_does_not_fit_is_refused():
    x, w, v = T.dtensor4("x"), T.dtensor4("w"), T.dvector("v")
    for build, error, text in (
        (
            lambda: dnn.dnn_conv(x, w, algo="best"),
            GraphValueError,
            "algo is 'best', ex",
        ),
        (lambda: dnn.dnn_conv(x, w, workmem="x"), GraphValueError, "algo is 'x'"),
        (
            lambda: dnn.dnn_conv(x, w, workmem="small", algo="small"),
            GraphValueError,
            "algo and workmem",
        ),
        (
            lambda: dnn.dnn_conv(x, w, direction_hint="back"),
            GraphValueError,
            "direction_hint is 'back'",
        ),
        (lambda: dnn.dnn_conv(x, w, conv_mode="full"), GraphValueError, "'cross'"),
        (lambda: dnn.dnn_conv(x, w, precision="f8"), GraphValueError, "precision is"),
        (lambda: dnn.dnn_conv(x, v), GraphArgumentError, "filters is v"),
        (
            lambda: dnn.dnn_gradweight(x, w, (1, 1, 2)),
            GraphValueError,
            "expected 4 lengths",
        ),
        (lambda: dnn.dnn_pool(v, (2, 2)), GraphArgumentError, "img v .* 4 axes"),
        (lambda: dnn.dnn_pool(x, (2, 2), mode="min"), GraphValueError, "mode is 'min'"),
        (lambda: dnn.dnn_pool(x, (2,)), GraphValueError, "ws has 1 numbers"),
        (
            lambda: dnn.dnn_batch_normalization_train(x, v, v, (0, 1)),
            GraphValueError,
            "mode is .* per-activation, spatial",
        ),
        (lambda: dnn.GpuDnnSoftmax("slow", "channel"), GraphValueError, "algo is 'slo"),
        (lambda: dnn.GpuDnnSoftmax("fast", "c"), GraphValueError, "mode is 'c'"),
        (lambda: dnn.GpuDnnSoftmax("fast", "channel")(v), GraphTypeError, "2 axes"),
    ):
        with pytest.raises(error, match=text):
            build()


# ---- the library ----


@pytest.fixture
def cudnn(monkeypatch):
    """A machine on which the library has a version, or is not opened for a reason."""
    monkeypatch.delenv("GPUARRAY_DNN", raising=False)

    def found(version, reason=""):
        def opened():
            if reason:
                raise LibraryMissing(reason)
            return version

        monkeypatch.setattr(vendor, "opened_version", opened)

    return found


def test_cudnn_is_there_where_it_was_found(cudnn):
    cudnn(92801)
    assert dnn.version() == 92801 and dnn.dnn_present() and not dnn.dnn_present.msg
    assert not dnn.dnn_available("null")
    assert "null is no CUDA device" in dnn.dnn_available.msg
    assert not dnn.dnn_available("cuda97") and "cuda" in dnn.dnn_available.msg
    with pytest.raises(ContextNotDefined, match="'nothing' names no context"):
        dnn.dnn_available("nothing")


def test_why_cudnn_is_not_there_is_told(cudnn, monkeypatch):
    cudnn(0, "libcudnn.so.9: not opened")
    assert not dnn.dnn_present() and "not opened" in dnn.dnn_present.msg
    assert dnn.version(raises=False) == -1
    with pytest.raises(
        RuntimeError, match=r"own kernels compute instead: .*not opened"
    ):
        dnn.version()
    cudnn(92801)
    monkeypatch.setenv("GPUARRAY_DNN", "own")
    assert not dnn.dnn_present() and "GPUARRAY_DNN=own" in dnn.dnn_present.msg


def test_the_doctor_and_dnn_available_agree(context):
    found, reason = vendor.dnn_version(context)
    assert (found > 0) == (dnn.dnn_available(context.name) is True)
    assert (found > 0) != bool(reason)
    assert found == 0 or (context.kind == "cuda" and found == dnn.version() > 90000)


# ---- places ----


def test_programs_find_the_names_where_theano_has_them():
    assert theano.gpuarray.dnn is dnn and theano.sandbox.gpuarray.dnn is dnn
    assert theano.sandbox.cuda.dnn is dnn and not theano.sandbox.cuda.cuda_enabled
    assert theano.gpuarray.pygpu_activated
    assert theano.gpuarray.basic_ops.gpu_from_host is T.gpu_from_host
    assert theano.gpuarray.type.GpuArrayType is theano.gpuarray.GpuArrayType
    assert theano.gpuarray.fp16_help.work_dtype("float16") == "float32"
    for space in (dnn, theano.gpuarray, *vars(theano.gpuarray).values()):
        if inspect.ismodule(space):
            assert not [name for name in space.__all__ if not hasattr(space, name)]
    with pytest.raises(AttributeError, match="did you mean 'dnn_conv'"):
        _ = dnn.dnn_cnv
    assert abstract_conv.conv2d is T.nnet.conv2d


# ---- classes ----


@pytest.mark.parametrize("ndim", [2, 3])
def test_classes_of_convolutions(first_context, ndim):
    image, filters = drawn(2, 4, *(5,) * ndim), drawn(6, 2, *(3,) * ndim)
    top, out = drawn(2, 6, *(3,) * ndim), drawn(2, 6, *(3,) * ndim)
    many = (1,) * ndim
    desc = dnn.GpuDnnConvDesc("valid", many, many, "cross", num_groups=2)(None)
    options = {"filter_flip": False, "num_groups": 2}
    convolve = {2: T.nnet.conv2d, 3: T.nnet.conv3d}[ndim]

    def by_classes(x, w, g, y):
        return [
            dnn.GpuDnnConv(algo="none")(x, w, y, desc, 2, 3),
            dnn.GpuDnnConvGradW()(x, g, w, desc),
            dnn.GpuDnnConvGradI(num_groups=2)(w, g, x, desc, alpha=0.5),
        ]

    def by_functions(x, w, g, y):
        result = convolve(x, w, **options)
        by_image, by_filters = grad((result * g).sum(), [x, w])
        return [2 * result + 3 * y, by_filters, by_image / 2]

    arrays = (image, filters, top, out)
    for place in range(3):
        pick = [
            lambda *v, f=f, place=place: f(*v)[place]
            for f in (by_classes, by_functions)
        ]
        assert_equal(first_context, arrays, *pick)


def test_classes_of_pooling_and_normalisation(first_context):
    x = drawn(2, 3, 4, 5)
    numbers = [np.abs(drawn(1, 3, 1, 1)) + 1 for _ in range(4)]
    window = (2, 2), (1, 2), (0, 1)
    assert_equal(
        first_context,
        (x,),
        lambda v: dnn.GpuDnnPool("max")(v, *window),
        lambda v: dnn.dnn_pool(v, *window[:2], pad=window[2]),
    )
    broadcast = [lambda v: T.addbroadcast(v, 0, 2, 3)] * 4
    assert_equal(
        first_context,
        (x, *numbers),
        lambda v, *p: dnn.GpuDnnBatchNormInference("spatial")(
            v, *(f(each) for f, each in zip(broadcast, p, strict=True))
        ),
        lambda v, *p: bn.batch_normalization_test(
            v, *(f(each) for f, each in zip(broadcast, p, strict=True)), "spatial"
        ),
    )
    assert_equal(
        first_context,
        (x, *numbers[:2]),
        lambda v, *p: dnn.GpuDnnBatchNorm("spatial")(
            v, *(f(each) for f, each in zip(broadcast, p, strict=False))
        )[0],
        lambda v, *p: bn.batch_normalization_train(
            v, *(f(each) for f, each in zip(broadcast, p, strict=False)), "spatial"
        )[0],
    )


REDUCED = {
    "add": np.sum,
    "mul": np.prod,
    "maximum": np.max,
    "minimum": np.min,
    "absmax": lambda x, axis: np.abs(x).max(axis),
    "avg": np.mean,
    "norm1": lambda x, axis: np.abs(x).sum(axis),
    "norm2": lambda x, axis: np.sqrt((x * x).sum(axis)),
}


def test_reductions(first_context):
    x = drawn(3, 4)
    variable = T.dmatrix("x")
    results = [dnn.GpuDnnReduction(op, (1,), None, None)(variable) for op in REDUCED]
    results += dnn.GpuDnnReduction("minimum", 0, None, None, True)(variable)
    with config.use(device=str(first_context.name)):
        f = function([variable], results)
    *found, least, places = (np.asarray(each) for each in f(x))
    for name, value in zip(REDUCED, found, strict=True):
        np.testing.assert_allclose(value, REDUCED[name](x, 1), rtol=1e-14)
    np.testing.assert_array_equal(least, x.min(0))
    np.testing.assert_array_equal(places, x.argmin(0))


def test_classes_refuse():
    x = T.tensor4("x")
    with pytest.raises(GraphValueError, match="conv_mode is 'corr'"):
        dnn.GpuDnnConvDesc("valid", conv_mode="corr")
    with pytest.raises(GraphValueError, match=r"expected what GpuDnnConvDesc"):
        dnn.GpuDnnConv()(x, x, x, None)
    with pytest.raises(GraphValueError, match="4 axes and a description of 3"):
        desc = dnn.GpuDnnConvDesc("valid", (1, 1, 1), (1, 1, 1))(None)
        dnn.GpuDnnConv()(x, x, x, desc)
    with pytest.raises(GraphValueError, match="red_op is 'median'"):
        dnn.GpuDnnReduction("median", None, None, None)
    with pytest.raises(GraphValueError, match="return_indices of 'add'"):
        dnn.GpuDnnReduction("add", None, None, None, True)
    for call in (dnn.dropout, dnn.RNNBlock):
        with pytest.raises(NotImplementedError, match="is not offered: write"):
            call(x)
