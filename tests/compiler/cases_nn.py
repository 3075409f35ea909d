"""Rows of the case table: networks."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64, i32
from cases_products import small
from gpuarray.compiler.ops.nnet.nnet import FirstOf, FirstRows, InBounds, pick, spread

# ---- networks ----


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


LABELS = np.array([2, 0, 3], "int32")
ROWS = np.arange(3)
nnet = T.nnet
for axis in (0, 1, -1):
    for shape in ((3, 4), (2, 3, 4)):
        case(
            f"softmax_{axis}_{len(shape)}",
            lambda x, axis=axis: nnet.softmax(x, axis),
            lambda x, axis=axis: softmax(x, axis),
            f64(*shape),
        )
        case(
            f"logsoftmax_{axis}_{len(shape)}",
            lambda x, axis=axis: nnet.logsoftmax(x, axis),
            lambda x, axis=axis: np.log(softmax(x, axis)),
            f64(*shape),
        )
case("softmax_vector", nnet.softmax, softmax, f64(4))
case("softmax_float32", nnet.softmax, softmax, f32(3, 4), has_gradient=False)
case(
    "softmax_float16",
    nnet.softmax,
    lambda x: softmax(x.astype("f4")).astype("f2"),
    f64(3, 4).astype("f2"),
    has_gradient=False,
)
case(
    "softmax_bfloat16",
    nnet.softmax,
    lambda x: softmax(x.astype("f4")).astype("bfloat16"),
    f64(3, 4).astype("bfloat16"),
    has_gradient=False,
)
case("softmax_large", nnet.softmax, softmax, f64(3, 4) * 1e4, has_gradient=False)
case(
    "logsoftmax_large",
    nnet.logsoftmax,
    lambda x: x - x.max(1, keepdims=True),
    f64(3, 4) * 1e4,
    has_gradient=False,
)
case("softmax_of_none", nnet.softmax, lambda x: x, f64(0, 3))
case("softmax_of_no_columns", nnet.softmax, lambda x: x, f64(2, 0))
case("logsoftmax_of_no_columns", nnet.logsoftmax, lambda x: x, f64(2, 0))
case(
    "softmax_of_no_rows",
    lambda x: nnet.softmax(x, axis=0),
    lambda x: x,
    f64(0, 3),
)
case(
    "softmax_with_bias",
    nnet.softmax_with_bias,
    lambda x, b: softmax(x + b),
    f64(3, 4),
    f64(4),
)
case("pick", pick, lambda x, y: x[ROWS, y], f64(3, 4), LABELS)
case("pick_negative", pick, lambda x, y: x[ROWS, y], f64(3, 4), LABELS - 4)
case("pick_unsigned", pick, lambda x, y: x[ROWS, y], f64(3, 4), LABELS.astype("uint8"))
case(
    "pick_3",
    pick,
    lambda x, y: np.take_along_axis(x, y[..., None], -1)[..., 0],
    f64(2, 3, 4),
    np.stack([LABELS, LABELS[::-1]]),
)
case(
    "spread",
    lambda g, y: spread(g, y, 5),
    lambda g, y: np.eye(5)[y] * g[:, None],
    f64(3),
    LABELS - 1,
)
case(
    "likelihood",
    lambda x, y: -T.log(nnet.softmax(x))[T.arange(y.shape[0]), y],
    lambda x, y: -np.log(softmax(x))[ROWS, y],
    f64(3, 4),
    LABELS,
)
case(
    "within",
    lambda y: InBounds()(y, 4),
    lambda y: np.int64(y % 4),
    LABELS - 2,
    has_gradient=False,
)
case("first_of", lambda x: FirstOf()(x, 3), lambda x: x[:3], f64(5))
case("first_of_all", lambda x: FirstOf()(x, 3), lambda x: x, f64(3))
case(
    "first_rows",
    lambda x: FirstRows()(x, x.shape[0], 5),
    lambda x: np.append(x, [0, 0]),
    f64(3),
)
case("first_rows_all", lambda x: FirstRows()(x, 3, 3), lambda x: x, f64(3))
case(
    "first_rows_of_one",
    lambda x: FirstRows()(T.shape_padleft(x), 3, 5),
    lambda x: np.append(x.repeat(3), [0, 0]),
    np.array(1.5),
)
case(
    "first_rows_of_one_all",
    lambda x: FirstRows()(T.shape_padleft(x), 3, 3),
    lambda x: x.repeat(3),
    np.array(1.5),
)


case("sigmoid", nnet.sigmoid, lambda x: 1 / (1 + np.exp(-x)), f64(7))
case("softplus", nnet.softplus, lambda x: np.log1p(np.exp(x)), f64(7))
case("nnet_relu", nnet.relu, lambda x: np.maximum(x, 0), f64(7))
case(
    "relu_alpha",
    lambda x: nnet.relu(x, 0.1),
    lambda x: np.where(x > 0, x, 0.1 * x),
    f64(7),
)
case(
    "relu_alphas",
    nnet.relu,
    lambda x, alpha: np.where(x > 0, x, alpha * x),
    f64(3, 4),
    f64(4),
)
case(
    "relu_float32",
    lambda x: nnet.relu(x, 0.1),
    lambda x: np.where(x > 0, x, np.float32(0.1) * x),
    f32(7),
    has_gradient=False,
)
case("relu_int", nnet.relu, lambda x: np.maximum(x, 0), i32(7), has_gradient=False)
case("elu", nnet.elu, lambda x: np.where(x > 0, x, np.expm1(x)), f64(7))
case(
    "elu_alpha",
    lambda x: nnet.elu(x, 0.3),
    lambda x: np.where(x > 0, x, 0.3 * np.expm1(x)),
    f64(7),
)
case(
    "elu_large",
    lambda x: T.grad(nnet.elu(x).sum(), x),
    lambda x: np.ones_like(x),
    np.array([1e3, 1e5]),
)
case(
    "selu",
    nnet.selu,
    lambda x: (
        1.0507009873554804934193349852946
        * np.where(x > 0, x, 1.6732632423543772848170429916717 * np.expm1(x))
    ),
    f64(7),
)
case("softsign", nnet.softsign, lambda x: x / (1 + abs(x)), f64(7))
case(
    "hard_sigmoid",
    nnet.hard_sigmoid,
    lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    f64(20),
)
case(
    "hard_sigmoid_f4",
    nnet.hard_sigmoid,
    lambda x: np.clip(np.float32(0.2) * x + np.float32(0.5), 0, 1).astype("f4"),
    f32(20),
    has_gradient=False,
)


def fast_sigmoid(x):
    half = 0.5 * abs(x)
    outer = np.where(
        half < 3,
        0.935409070603099 + 0.0458812946797165 * (half - 1.7),
        0.99505475368673,
    )
    return 0.5 * (np.sign(x) * np.where(half < 1.7, 1.5 * half / (1 + half), outer) + 1)


case("ultra_fast_sigmoid", nnet.ultra_fast_sigmoid, fast_sigmoid, f64(30))
PROBABILITIES = softmax(f64(3, 4))
TARGETS = softmax(f64(3, 4)[::-1])
case(
    "binary_crossentropy",
    nnet.binary_crossentropy,
    lambda o, t: -(t * np.log(o) + (1 - t) * np.log(1 - o)),
    PROBABILITIES,
    TARGETS,
)
case(
    "sigmoid_binary_crossentropy",
    nnet.sigmoid_binary_crossentropy,
    lambda x, t: np.log1p(np.exp(x)) - x * t,
    f64(3, 4),
    TARGETS,
)
case(
    "categorical_crossentropy",
    nnet.categorical_crossentropy,
    lambda p, t: -(t * np.log(p)).sum(1),
    PROBABILITIES,
    TARGETS,
)
case(
    "categorical_crossentropy_labels",
    nnet.categorical_crossentropy,
    lambda p, y: -np.log(p[ROWS, y]),
    PROBABILITIES,
    LABELS,
)
case(
    "categorical_crossentropy_of_softmax",
    lambda x, y: nnet.categorical_crossentropy(nnet.softmax(x), y).mean(),
    lambda x, y: -np.log(softmax(x)[ROWS, y]).mean(),
    f64(3, 4),
    LABELS,
)
case(
    "crossentropy_softmax_1hot",
    nnet.crossentropy_softmax_1hot,
    lambda x, y: (-np.log(softmax(x)[ROWS, y]), softmax(x)),
    f64(3, 4),
    LABELS,
)
case(
    "crossentropy_softmax_1hot_with_bias",
    nnet.crossentropy_softmax_1hot_with_bias,
    lambda x, b, y: (-np.log(softmax(x + b)[ROWS, y]), softmax(x + b)),
    f64(3, 4),
    f64(4),
    LABELS,
)
case(
    "crossentropy_softmax_argmax_1hot_with_bias",
    nnet.crossentropy_softmax_argmax_1hot_with_bias,
    lambda x, b, y: (
        -np.log(softmax(x + b)[ROWS, y]),
        softmax(x + b),
        (x + b).argmax(1),
    ),
    f64(3, 4),
    f64(4),
    LABELS,
)
case(
    "crossentropy_softmax_max_and_argmax_1hot",
    nnet.crossentropy_softmax_max_and_argmax_1hot,
    lambda x, y: (
        -np.log(softmax(x)[ROWS, y]),
        softmax(x),
        softmax(x).max(1),
        x.argmax(1),
    ),
    f64(3, 4),
    LABELS,
)
case(
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    nnet.crossentropy_softmax_max_and_argmax_1hot_with_bias,
    lambda x, b, y: (
        -np.log(softmax(x + b)[ROWS, y]),
        softmax(x + b),
        softmax(x + b).max(1),
        (x + b).argmax(1),
    ),
    f64(3, 4),
    f64(4),
    LABELS,
)
case(
    "confusion_matrix",
    nnet.confusion_matrix,
    lambda a, b: (
        np.array([[1, 0, 0], [0, 0, 1], [0, 1, 2]], "int64"),
        np.array([0, 2, 7], "int32"),
    ),
    np.array([2, 0, 7, 7, 7], "int32"),
    np.array([7, 0, 7, 2, 7], "int32"),
    has_gradient=False,
)
case(
    "prepend_0_to_each_row",
    nnet.prepend_0_to_each_row,
    lambda x: np.concatenate([np.zeros((3, 1)), x], 1),
    f64(3, 4),
)
case(
    "prepend_scalar_to_each_row",
    nnet.prepend_scalar_to_each_row,
    lambda a, x: np.concatenate([np.full((3, 1), a), x], 1),
    f64(),
    f64(3, 4),
)


def two_levels(x, w1, b1, w2, b2):
    of_class = softmax(x @ w1 + b1)
    inner = softmax(np.einsum("bi,cio->bco", x, w2) + b2)
    return (of_class[:, :, None] * inner).reshape(len(x), -1)


LEVELS = small(3, 2), small(2, 3), small(3), small(3, 2, 2), small(3, 2)
case(
    "h_softmax",
    lambda x, w1, b1, w2, b2: nnet.h_softmax(x, 3, 5, 3, 2, w1, b1, w2, b2),
    lambda *arrays: two_levels(*arrays)[:, :5],
    *LEVELS,
)
case(
    "h_softmax_target",
    lambda x, w1, b1, w2, b2, y: nnet.h_softmax(x, 3, 5, 3, 2, w1, b1, w2, b2, y),
    lambda *arrays: two_levels(*arrays[:-1])[ROWS, arrays[-1]],
    *LEVELS,
    np.array([4, 0, 3], "int32"),
)
