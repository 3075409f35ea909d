"""Theano's functions of cuDNN, as other names of the ops of networks.

They run on every device. What chose one of cuDNN's algorithms (``algo``, ``workmem``,
``direction_hint``, ``precision``) must be one of Theano's words and has no effect: the
device times its algorithms and takes one whose results are the same in each call, and
sums are in float32 at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray._nn.vendor import dnn_version
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.graph.core import Variable, is_float
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet import conv_functions as functions
from gpuarray.compiler.ops.nnet.nnet import logsoftmax, softmax
from gpuarray.compiler.ops.nnet.normalisation import (
    Results,
    batch_normalization_test,
    batch_normalization_train,
)
from gpuarray.compiler.ops.nnet.pooling import Pool
from gpuarray.compiler.ops.nnet.spatial_transformer import (
    spatial_grid,
    spatial_sampler,
    spatial_transformer,
)
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import flatten, reshape, shape
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.errors import GpuArrayError

SUPPORTED_DNN_CONV_ALGO_RUNTIME = (
    "guess_once",
    "guess_on_shape_change",
    "time_once",
    "time_on_shape_change",
)
SUPPORTED_DNN_CONV_ALGO_FWD = (
    *("small", "none", "large", "fft", "fft_tiling", "winograd", "winograd_non_fused"),
    *SUPPORTED_DNN_CONV_ALGO_RUNTIME,
)
SUPPORTED_DNN_CONV_ALGO_BWD_DATA = (
    *("none", "deterministic", "fft", "fft_tiling", "winograd", "winograd_non_fused"),
    *SUPPORTED_DNN_CONV_ALGO_RUNTIME,
)
SUPPORTED_DNN_CONV_ALGO_BWD_FILTER = (
    *("none", "deterministic", "fft", "small", "winograd_non_fused", "fft_tiling"),
    *SUPPORTED_DNN_CONV_ALGO_RUNTIME,
)
SUPPORTED_DNN_CONV_PRECISION = (
    "as_input_f32",
    "as_input",
    "float16",
    "float32",
    "float64",
)
_ALGORITHMS = tuple(
    dict.fromkeys(SUPPORTED_DNN_CONV_ALGO_FWD + SUPPORTED_DNN_CONV_ALGO_BWD_DATA)
)
_DIRECTIONS = ("forward", "forward!", "bprop weights", "bprop inputs")


# ---- the library ----


class _Available:
    """Whether convolutions on a context are cuDNN's; ``msg`` says why not."""

    def __init__(self) -> None:
        self.msg = ""

    def __call__(self, context_name: str | None = None) -> bool:
        """Return True for a context of CUDA where cuDNN was found.

        Without a name the context is that of functions, by the setting ``device``.
        Without cuDNN own kernels compute all that is here. Raises ContextNotDefined for
        a name that is none of a context.
        """
        try:
            found, self.msg = dnn_version(get_context(context_name))
        except GpuArrayError as error:
            found, self.msg = 0, str(error)
        return found > 0


class _Present:
    """Whether cuDNN is found on this machine; ``msg`` says why not."""

    def __init__(self) -> None:
        self.msg = ""

    def __call__(self) -> bool:
        """Return True if cuDNN was found, whatever the context computes on."""
        found, self.msg = dnn_version()
        return found > 0


dnn_available = _Available()
dnn_present = _Present()


def version(raises: bool = True) -> int:
    """Return cuDNN's version: 92801 for 9.28.1.

    Raises NotOfferedError, a RuntimeError, without cuDNN; -1 if ``raises`` is False.
    """
    found, reason = dnn_version()
    if found == 0 and raises:
        raise NotOfferedError(
            f"version: no cuDNN is used here; own kernels compute instead: {reason}"
        )
    return found or -1


def _choose(name: str, what: str, value: Any, words: Sequence[str]) -> None:
    """Raise GraphValueError for what is neither None nor one of the words."""
    if value is not None and value not in words:
        raise GraphValueError(
            f"{name}: {what} is {value!r}, expected one of {', '.join(words)}"
        )


def _flips(name: str, conv_mode: str, algo: Any, precision: Any) -> bool:
    """Return True if filters are turned around; check the words."""
    _choose(name, "algo", algo, _ALGORITHMS)
    _choose(name, "precision", precision, SUPPORTED_DNN_CONV_PRECISION)
    if conv_mode not in ("conv", "cross"):
        raise GraphValueError(
            f"{name}: conv_mode is {conv_mode!r}, expected 'conv', where filters are "
            "turned around, or 'cross'"
        )
    return conv_mode == "conv"


# ---- convolution ----


def dnn_conv(
    img: Any,
    kerns: Any,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    dilation: Any = (1, 1),
    conv_mode: str = "conv",
    direction_hint: str | None = None,
    workmem: str | None = None,
    algo: str | None = None,
    precision: str | None = None,
    num_groups: int = 1,
) -> Variable:
    """Return `T.nnet.conv2d` of images (batch, channels, rows, columns) by filters.

    ``kerns`` are (results, channels / groups, rows, columns), turned around unless
    ``conv_mode`` is ``"cross"``; ``dilation`` is ``filter_dilation`` there, the other
    options and the errors are those there. ``direction_hint``, ``workmem`` (a former
    name of ``algo``), ``algo`` and ``precision`` have no effect.
    """
    _choose("dnn_conv", "direction_hint", direction_hint, _DIRECTIONS)
    if workmem is not None and algo is not None:
        raise GraphValueError(
            "dnn_conv: got algo and workmem, its former name; give one"
        )
    words = conv_mode, workmem if algo is None else algo, precision
    flips = _flips("dnn_conv", *words)
    options = {"filter_dilation": dilation, "num_groups": num_groups}
    return functions.conv2d(
        img, kerns, None, None, border_mode, subsample, flips, **options
    )


def dnn_conv3d(
    img: Any,
    kerns: Any,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    dilation: Any = (1, 1, 1),
    conv_mode: str = "conv",
    direction_hint: str | None = None,
    algo: str | None = None,
    precision: str | None = None,
    num_groups: int = 1,
) -> Variable:
    """Return `dnn_conv` of volumes: (batch, channels, depth, rows, columns)."""
    _choose("dnn_conv3d", "direction_hint", direction_hint, _DIRECTIONS)
    flips = _flips("dnn_conv3d", conv_mode, algo, precision)
    options = border_mode, subsample, flips, dilation, num_groups
    return functions.conv3d(img, kerns, None, None, *options)


def dnn_gradweight(
    img: Any,
    topgrad: Any,
    kerns_shp: Any,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    dilation: Any = (1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Variable:
    """Return the gradient of `dnn_conv` by its filters, of shape ``kerns_shp``.

    ``topgrad`` is the gradient by the result. The shape is a sequence or a vector of 4
    lengths, which may be variables.
    """
    flips = _flips("dnn_gradweight", conv_mode, algo, precision)
    options = None, border_mode, subsample, flips, dilation, num_groups
    return functions.conv2d_grad_wrt_weights(img, topgrad, kerns_shp, *options)


def dnn_gradweight3d(
    img: Any,
    topgrad: Any,
    kerns_shp: Any,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    dilation: Any = (1, 1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Variable:
    """Return the gradient of `dnn_conv3d` by its filters, as `dnn_gradweight`."""
    flips = _flips("dnn_gradweight3d", conv_mode, algo, precision)
    options = None, border_mode, subsample, flips, dilation, num_groups
    return functions.conv3d_grad_wrt_weights(img, topgrad, kerns_shp, *options)


def dnn_gradinput(
    kerns: Any,
    topgrad: Any,
    img_shp: Any,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    dilation: Any = (1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Variable:
    """Return the gradient of `dnn_conv` by its images, of shape ``img_shp``.

    ``topgrad`` is the gradient by the result. The shape is a sequence or a vector of 4
    lengths, which may be variables.
    """
    flips = _flips("dnn_gradinput", conv_mode, algo, precision)
    options = None, border_mode, subsample, flips, dilation, num_groups
    return functions.conv2d_grad_wrt_inputs(topgrad, kerns, img_shp, *options)


def dnn_gradinput3d(
    kerns: Any,
    topgrad: Any,
    img_shp: Any,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    dilation: Any = (1, 1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Variable:
    """Return the gradient of `dnn_conv3d` by its images, as `dnn_gradinput`."""
    flips = _flips("dnn_gradinput3d", conv_mode, algo, precision)
    options = None, border_mode, subsample, flips, dilation, num_groups
    return functions.conv3d_grad_wrt_inputs(topgrad, kerns, img_shp, *options)


# ---- pooling and normalisation ----

_POOLINGS = {"max_deterministic": "max", "average": "average_inc_pad"}
"""Words for modes that `Pool` has by another name."""


def dnn_pool(
    img: Any, ws: Any, stride: Any = None, mode: str = "max", pad: Any = None
) -> Variable:
    """Return the maxima, sums or averages of windows that fit into padded images.

    ``img`` is (batch, channels, rows, columns), with a depth before the rows for
    windows of three lengths. ``ws``, ``stride`` (1 by default, not the window) and
    ``pad`` (0 by default) have a length for each of these axes; they may be vectors.
    ``mode`` is ``"max"``, ``"max_deterministic"``, which is the same, ``"sum"``,
    ``"average_inc_pad"`` or ``"average_exc_pad"``, as in `T.signal.pool.pool_2d`.
    """
    x = as_tensor_variable(img)
    if x.type.ndim not in (4, 5):
        raise GraphArgumentError(
            f"dnn_pool: given img {x} of {x.type}, expected 4 axes: batch, channels, "
            "rows, columns; or 5, with a depth before the rows"
        )
    ndim = x.type.ndim - 2
    op = Pool(True, _POOLINGS.get(mode, mode), ndim)
    steps = (1,) * ndim if stride is None else stride
    result: Variable = op(x, ws, steps, (0,) * ndim if pad is None else pad)
    return result


def dnn_batch_normalization_train(
    inputs: Any,
    gamma: Any,
    beta: Any,
    mode: str = "per-activation",
    epsilon: Any = 1e-4,
    running_average_factor: Any = 0.1,
    running_mean: Any = None,
    running_var: Any = None,
) -> Results:
    """Return `T.nnet.bn.batch_normalization_train` of these arguments.

    ``mode``, ``"per-activation"`` or ``"spatial"``, is its ``axes``. Parameters have as
    many axes as ``inputs``, with length 1 along those, as have the statistics.
    """
    _choose("dnn_batch_normalization_train", "mode", mode, _NORMALISATIONS)
    averages = running_average_factor, running_mean, running_var
    return batch_normalization_train(inputs, gamma, beta, mode, epsilon, *averages)


def dnn_batch_normalization_test(
    inputs: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    var: Any,
    mode: str = "per-activation",
    epsilon: Any = 1e-4,
) -> Variable:
    """Return `T.nnet.bn.batch_normalization_test`, with ``mode`` as its ``axes``."""
    _choose("dnn_batch_normalization_test", "mode", mode, _NORMALISATIONS)
    return batch_normalization_test(inputs, gamma, beta, mean, var, mode, epsilon)


_NORMALISATIONS = ("per-activation", "spatial")


# ---- softmax ----


class _Softmax:
    """What softmax and its gradient share: cuDNN's words for how, and along what.

    ``algo`` is ``"fast"``, ``"accurate"``, which is the same, or ``"log"``, the
    logarithm. ``mode`` is ``"channel"``, along axis 1, or ``"instance"``, along all
    axes but the first.
    """

    def __init__(self, algo: str, mode: str) -> None:
        name = type(self).__name__
        _choose(name, "algo", algo, ("fast", "accurate", "log"))
        _choose(name, "mode", mode, ("instance", "channel"))
        self.algo = algo
        self.mode = mode

    def _floats(self, what: str, value: Any) -> Variable:
        x: Variable = as_tensor_variable(value)
        if not is_float(x) or x.type.ndim < 2:
            raise GraphTypeError(
                f"{type(self).__name__}: given {what} {x} of {x.type}, expected floats "
                "of at least 2 axes: batch and channels"
            )
        return x


class GpuDnnSoftmax(_Softmax):
    """``GpuDnnSoftmax(algo, mode)(x)``: softmax of ``x``, or its logarithm.

    ``algo`` is ``"fast"``, ``"accurate"``, which is the same, or ``"log"``. ``mode`` is
    ``"channel"``, along axis 1, or ``"instance"``, along all axes but the first.
    """

    def __call__(self, x: Any) -> Variable:
        """Return an array of the dtype and the shape of ``x``."""
        array = self._floats("x", x)
        function = logsoftmax if self.algo == "log" else softmax
        if self.mode == "channel":
            return function(array, 1)
        rows = function(flatten(array, 2), 1)
        return reshape(rows, shape(array), array.type.ndim)


class GpuDnnSoftmaxGrad(_Softmax):
    """``GpuDnnSoftmaxGrad(algo, mode)(dy, sm)``: the gradient by softmax's input.

    ``sm`` is the result of `GpuDnnSoftmax` with these words, ``dy`` its gradient.
    """

    def __call__(self, dy: Any, sm: Any) -> Variable:
        """Return an array of the dtype and the shape of both."""
        g, y = self._floats("dy", dy), self._floats("sm", sm)
        axes = (1,) if self.mode == "channel" else tuple(range(1, g.type.ndim))
        if self.algo == "log":
            return g - math.exp(y) * reduce.sum(g, axes, keepdims=True)
        return (g - reduce.sum(g * y, axes, keepdims=True)) * y


# ---- spatial transformers ----


def dnn_spatialtf(
    img: Any, theta: Any, scale_width: Any = 1, scale_height: Any = 1
) -> Variable:
    """Return images sampled on a grid that an affine map has moved, bilinearly.

    ``img`` is (batch, channels, rows, columns), ``theta`` (batch, 2, 3). Coordinates go
    from -1, the middle of the first element, to 1, the middle of the last, x before y;
    beyond the image there are zeros. The result has ``ceil(rows * scale_height)`` by
    ``ceil(columns * scale_width)`` elements and the dtype of ``img``. Shapes that do
    not fit raise ValueError.
    """
    return spatial_transformer(img, theta, scale_width, scale_height)


dnn_spatialtf_grid = spatial_grid
dnn_spatialtf_sampler = spatial_sampler


class GpuDnnTransformerGrid:
    """``GpuDnnTransformerGrid()(theta, out_dims)``: the grid of `dnn_spatialtf`."""

    def __call__(self, theta: Any, out_dims: Sequence[Any]) -> Variable:
        """Return (batch, rows, columns, 2); see `dnn_spatialtf_grid`."""
        return spatial_grid(theta, out_dims)


class GpuDnnTransformerSampler:
    """``GpuDnnTransformerSampler()(img, grid)``: images at the places of a grid."""

    def __call__(self, img: Any, grid: Any) -> Variable:
        """Return (batch, channels, rows, columns); see `dnn_spatialtf_sampler`."""
        return spatial_sampler(img, grid)
