"""float16 and bfloat16: layers and steps of networks as in float32 but for rounding."""

import zlib

import cases_convolution
import cases_layers
import cases_nn
import cases_pooling
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import CASES
from gpuarray.compiler import function, grad
from gpuarray.compiler.tensor.signal.pool import pool_2d
from gpuarray.dtypes import as_dtype

EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
LARGEST = 65504
"""The largest number of float16."""
TABLES = {
    m.__name__ for m in (cases_convolution, cases_layers, cases_nn, cases_pooling)
}
# Their rows hold arrays of float64.
OF_ONE_TYPE = {"pool_grad_max", "pool_at_maxima", "pool_at_first"}


def is_layer(case):
    parts = (case.build, case.expected)
    is_of_tables = any(getattr(part, "__module__", None) in TABLES for part in parts)
    return (
        (is_of_tables or case.name.startswith("conv"))
        and case.has_gradient
        and case.name not in OF_ONE_TYPE
        and any(array.dtype == np.float64 and array.size for array in case.arrays)
    )


def values_of(build, arrays, dtype, rounded_to, patterns=()):
    """What is built of the arrays, and the gradients by those that were of float64."""
    patterns = patterns or tuple((False,) * array.ndim for array in arrays)
    is_wide = [array.dtype == np.float64 for array in arrays]
    hosts = [
        array.astype(as_dtype(rounded_to)).astype(as_dtype(dtype)) if wide else array
        for array, wide in zip(arrays, is_wide, strict=True)
    ]
    variables = [
        T.tensor(dtype if wide else array.dtype, pattern)
        for array, wide, pattern in zip(arrays, is_wide, patterns, strict=True)
    ]
    built = build(*variables)
    outputs = list(built) if isinstance(built, list | tuple) else [built]
    cost = 0
    for out in outputs:
        if "float" in out.dtype:
            weights = T.cos(T.arange(out.size)).astype(out.dtype).reshape(out.shape)
            cost = cost + (out * weights).sum()
    by = [v for v, wide in zip(variables, is_wide, strict=True) if wide]
    slopes = grad(cost, by, disconnected_inputs="ignore")
    assert [slope.dtype for slope in slopes] == [dtype] * len(by)
    f = function(variables, [*outputs, *slopes], on_unused_input="ignore")
    return [np.asarray(value).astype("float64") for value in f(*hosts)]


def check(build, arrays, dtype, times, patterns=()):
    """Each value is within `times` roundings of the largest, or of 1."""
    found = values_of(build, arrays, dtype, dtype, patterns)
    expected = values_of(build, arrays, "float32", dtype, patterns)
    for value, right in zip(found, expected, strict=True):
        most = max(1, np.abs(right).max(initial=0))
        np.testing.assert_allclose(
            value, right, rtol=0, atol=times * most * EPSILON[dtype]
        )


@pytest.mark.parametrize(
    "case", list(filter(is_layer, CASES)), ids=lambda case: case.name
)
def test_a_layer_is_rounded_once(case, on_context):
    """Each row in one of the types, which holds its numbers."""
    dtype = list(EPSILON)[zlib.crc32(case.name.encode()) % 2]
    if any(np.abs(array).max(initial=0) > LARGEST for array in case.arrays):
        dtype = "bfloat16"
    check(case.build, case.arrays, dtype, 8, case.patterns)


# ---- networks ----


def drawn(*shape, scale=None):
    rng = np.random.default_rng(shape)
    return rng.standard_normal(shape) * (scale or np.prod(shape[1:]) ** -0.5)


def lenet(x, w, b, v, d, labels):
    """By averages: gradients of maxima turn on which rounded number is larger."""
    for filters in (w, v):
        x = T.tanh(
            pool_2d(T.nnet.conv2d(x, filters), (2, 2), True, mode="average_exc_pad")
        )
        x = x + b.dimshuffle("x", 0, "x", "x")
    shares = T.nnet.softmax(x.flatten(2).dot(d))
    return T.nnet.categorical_crossentropy(shares, labels).mean()


def residual(x, w, v, gammas, betas):
    out = x
    for i, filters in enumerate((w, v)):
        out = T.nnet.conv2d(out, filters, border_mode="half")
        out, *_ = T.nnet.bn.batch_normalization_train(
            out, gammas[i], betas[i], "spatial"
        )
        out = T.nnet.softplus(out) if i == 0 else out
    return T.tanh(out + x)


def recogniser(x, w, labels, times):
    """Columns of images, of which a sequence of labels is read."""
    h = T.nnet.conv2d(x, w, border_mode="half")
    h = T.nnet.local_response_normalization(h, 3)
    return T.nnet.ctc.ctc(h.mean(2).dimshuffle(2, 0, 1), labels, times)


LABELS = np.array([1, 0, 3, 2, 2], "int32")
NETWORKS = {
    "lenet": (
        lenet,
        [
            drawn(5, 1, 14, 14, scale=1),
            drawn(4, 1, 3, 3),
            drawn(4, scale=0.1),
            drawn(4, 4, 3, 3),
            drawn(16, 4),
            LABELS,
        ],
    ),
    "residual": (
        residual,
        [
            drawn(6, 3, 5, 4, scale=1),
            drawn(3, 3, 3, 3),
            drawn(3, 3, 3, 3) / 2,
            1 + drawn(2, 3, scale=0.1),
            drawn(2, 3, scale=0.1),
        ],
    ),
    "recogniser": (
        recogniser,
        [
            drawn(3, 1, 5, 7, scale=1),
            drawn(5, 1, 3, 3),
            np.array([[1, 2, -1], [3, 3, 1], [4, 2, 2]], "int32"),
            np.array([5, 7, 6], "int32"),
        ],
    ),
}


@pytest.mark.parametrize("dtype", EPSILON)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_of_a_network_is_within_rounding(name, dtype, on_context):
    build, arrays = NETWORKS[name]
    check(build, arrays, dtype, 32)
