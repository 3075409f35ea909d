"""Functions of convolution, with Theano's names and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.nnet.arguments import called_elsewhere, declared
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
    BaseAbstractConv,
    known_shape,
)
from gpuarray.compiler.ops.variables.basic import known_integer


def op_of(role: type[BaseAbstractConv], convdim: int, *options: Any) -> Any:
    """Return the op of a role over so many axes, of Theano's class if it has one.

    The options are in the order of the class's arguments.
    """
    cls = role.of_axes.get(convdim)
    return role(convdim, *options) if cls is None else cls(*options)


_named = called_elsewhere(
    stride="subsample",
    strides="subsample",
    padding="border_mode",
    pad="border_mode",
    dilation="filter_dilation",
    groups="num_groups",
    kernel="filters",
    weight="filters",
)


def _convolved(name: str, convdim: int, arrays: Sequence[Any], *options: Any) -> Any:
    """Return the convolution of an image and filters, of the shapes in the options."""
    op = op_of(AbstractConv, convdim, *options)
    image, filters = arrays
    return op(
        declared(name, "image", image, op.imshp),
        declared(name, "filters", filters, op.kshp),
    )


# ---- convolutions ----


@_named
def conv2d(
    input: Any,
    filters: Any,
    input_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    image_shape: Any = None,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Variable:
    """The convolution of images (batch, channels, rows, columns) by filters.

    ``filters`` are (results, channels / groups, rows, columns), or unshared with the
    result's rows and columns behind the results; they are turned around unless
    ``filter_flip`` is False. ``border_mode`` is ``"valid"``, ``"full"``, ``"half"``, a
    number of zeros, or for each axis a number or those before and after. ``subsample``
    is the stride. ``input_shape`` and ``filter_shape`` are known shapes, with None for
    lengths that are not; ``image_shape`` is a former name of ``input_shape``.

    The arrays and the result are of one dtype: float16, bfloat16, float32 or float64.
    Shapes that do not fit together, and arrays of other shapes than are declared, raise
    ValueError: here where lengths are known, else when the program runs.
    """
    if image_shape is not None and input_shape is not None:
        raise GraphTypeError(
            "conv2d: got input_shape and image_shape, its former name; give one"
        )
    shape = input_shape if image_shape is None else image_shape
    options = border_mode, subsample, filter_flip, filter_dilation, num_groups
    shapes = shape, filter_shape
    arrays = input, filters
    result: Variable = _convolved("conv2d", 2, arrays, *shapes, *options, unshared)
    return result


@_named
def conv3d(
    input: Any,
    filters: Any,
    input_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Variable:
    """`conv2d` of volumes: (batch, channels, depth, rows, columns)."""
    options = border_mode, subsample, filter_flip, filter_dilation, num_groups
    shapes = input_shape, filter_shape
    arrays = input, filters
    result: Variable = _convolved("conv3d", 3, arrays, *shapes, *options)
    return result


@_named
def causal_conv1d(
    input: Any,
    filters: Any,
    filter_shape: Any,
    input_shape: Any = None,
    subsample: int = 1,
    filter_flip: bool = True,
    filter_dilation: int = 1,
    num_groups: int = 1,
    unshared: bool = False,
) -> Variable:
    """The convolution of series (batch, channels, time) that sees nothing to come.

    Zeros are put before, so that an element of the result depends on that element of
    the input and those before it. The last length of ``filter_shape`` must be known.
    """
    shape = known_shape("causal_conv1d", "filter_shape", filter_shape, 3)
    if shape is None or shape[2] is None:
        raise GraphValueError(
            f"causal_conv1d: filter_shape is {filter_shape!r}, expected the length of "
            "the filters as its last"
        )
    dilation = known_integer("causal_conv1d", "filter_dilation", filter_dilation)
    options = (
        (((shape[2] - 1) * dilation, 0),),
        (subsample,),
        filter_flip,
        (dilation,),
        num_groups,
    )
    shapes = input_shape, None if unshared else shape
    result: Variable = _convolved(
        "causal_conv1d", 1, (input, filters), *shapes, *options, unshared
    )
    return result


@_named
def separable_conv2d(
    input: Any,
    depthwise_filters: Any,
    pointwise_filters: Any,
    num_channels: int,
    input_shape: Any = None,
    depthwise_filter_shape: Any = None,
    pointwise_filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
) -> Variable:
    """A convolution of each channel by itself, then one of all channels of a place.

    ``depthwise_filters`` are (channels * multiplier, 1, rows, columns),
    ``pointwise_filters`` (results, channels * multiplier, ...) with lengths of 1.
    ``border_mode``, ``subsample`` and ``filter_dilation`` are of the first.
    """
    channels = known_integer("separable_conv2d", "num_channels", num_channels)
    apart = conv2d(
        input,
        depthwise_filters,
        input_shape,
        depthwise_filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation=filter_dilation,
        num_groups=channels,
    )
    return conv2d(
        apart,
        pointwise_filters,
        filter_shape=pointwise_filter_shape,
        filter_flip=filter_flip,
    )


@_named
def separable_conv3d(
    input: Any,
    depthwise_filters: Any,
    pointwise_filters: Any,
    num_channels: int,
    input_shape: Any = None,
    depthwise_filter_shape: Any = None,
    pointwise_filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
) -> Variable:
    """A convolution of each channel by itself, then one of all channels of a place.

    ``depthwise_filters`` are (channels * multiplier, 1, depth, rows, columns),
    ``pointwise_filters`` (results, channels * multiplier, ...) with lengths of 1.
    ``border_mode``, ``subsample`` and ``filter_dilation`` are of the first.
    """
    channels = known_integer("separable_conv3d", "num_channels", num_channels)
    apart = conv3d(
        input,
        depthwise_filters,
        input_shape,
        depthwise_filter_shape,
        border_mode,
        subsample,
        filter_flip,
        filter_dilation=filter_dilation,
        num_groups=channels,
    )
    return conv3d(
        apart,
        pointwise_filters,
        filter_shape=pointwise_filter_shape,
        filter_flip=filter_flip,
    )


# ---- gradients ----


def spatial_lengths(name: str, what: str, shape: Any, convdim: int) -> list[Any]:
    """Return the last lengths of a shape, a vector or a sequence."""
    if isinstance(shape, Variable) and shape.type.ndim == 1:
        return [shape[i] for i in range(-convdim, 0)]
    if not isinstance(shape, (list, tuple)) or len(shape) < convdim:
        raise GraphTypeError(
            f"{name}: {what} is {shape!r}, expected a sequence of lengths, or a vector "
            "of integers"
        )
    lengths = list(shape[-convdim:])
    if None in lengths:
        raise GraphValueError(
            f"{name}: {what} is {shape!r}, expected the last {convdim} lengths"
        )
    return lengths


def _grad_image(
    name: str, op: BaseAbstractConv, filters: Any, grad: Any, shape: Any
) -> Variable:
    lengths = spatial_lengths(name, "input_shape", shape, op.convdim)
    result = op(declared(name, "filters", filters, op.kshp), grad, lengths)
    return declared(name, "result", result, op.imshp)


def _grad_filters(
    name: str, op: BaseAbstractConv, image: Any, grad: Any, shape: Any
) -> Variable:
    lengths = spatial_lengths(name, "filter_shape", shape, op.convdim)
    result = op(declared(name, "image", image, op.imshp), grad, lengths)
    return declared(name, "result", result, op.kshp)


@_named
def conv2d_grad_wrt_inputs(
    output_grad: Any,
    filters: Any,
    input_shape: Any,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Variable:
    """The gradient of `conv2d` by its input, whose shape may be of variables.

    ``output_grad`` is the gradient by the result. Of ``input_shape`` the last 2
    lengths are needed.
    """
    options = border_mode, subsample, filter_flip, filter_dilation, num_groups
    shapes = input_shape, filter_shape
    op = op_of(AbstractConv_gradInputs, 2, *shapes, *options, unshared)
    return _grad_image("conv2d_grad_wrt_inputs", op, filters, output_grad, input_shape)


@_named
def conv2d_grad_wrt_weights(
    input: Any,
    output_grad: Any,
    filter_shape: Any,
    input_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Variable:
    """The gradient of `conv2d` by its filters, whose shape may be of variables.

    ``output_grad`` is the gradient by the result. Of ``filter_shape`` the last 2
    lengths are needed.
    """
    options = border_mode, subsample, filter_flip, filter_dilation, num_groups
    shapes = input_shape, filter_shape
    op = op_of(AbstractConv_gradWeights, 2, *shapes, *options, unshared)
    return _grad_filters(
        "conv2d_grad_wrt_weights", op, input, output_grad, filter_shape
    )


@_named
def conv3d_grad_wrt_inputs(
    output_grad: Any,
    filters: Any,
    input_shape: Any,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Variable:
    """The gradient of `conv3d` by its input, whose shape may be of variables.

    ``output_grad`` is the gradient by the result. Of ``input_shape`` the last 3
    lengths are needed.
    """
    options = border_mode, subsample, filter_flip, filter_dilation, num_groups
    shapes = input_shape, filter_shape
    op = op_of(AbstractConv_gradInputs, 3, *shapes, *options)
    return _grad_image("conv3d_grad_wrt_inputs", op, filters, output_grad, input_shape)


@_named
def conv3d_grad_wrt_weights(
    input: Any,
    output_grad: Any,
    filter_shape: Any,
    input_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1, 1),
    num_groups: int = 1,
) -> Variable:
    """The gradient of `conv3d` by its filters, whose shape may be of variables.

    ``output_grad`` is the gradient by the result. Of ``filter_shape`` the last 3
    lengths are needed.
    """
    options = border_mode, subsample, filter_flip, filter_dilation, num_groups
    shapes = input_shape, filter_shape
    op = op_of(AbstractConv_gradWeights, 3, *shapes, *options)
    return _grad_filters(
        "conv3d_grad_wrt_weights", op, input, output_grad, filter_shape
    )


@called_elsewhere(
    stride="input_dilation",
    strides="input_dilation",
    subsample="input_dilation",
    padding="border_mode",
    pad="border_mode",
    dilation="filter_dilation",
    groups="num_groups",
)
def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    input_dilation: Any = (1, 1),
    filter_flip: bool = True,
    filter_dilation: Any = (1, 1),
    num_groups: int = 1,
    unshared: bool = False,
) -> Variable:
    """The transposed convolution: the gradient of `conv2d` by its input.

    ``filters`` are (channels of ``input``, results / groups, rows, columns);
    ``output_shape`` is that of the result, ``input_dilation`` the stride of the
    convolution that it is the transpose of.
    """
    return conv2d_grad_wrt_inputs(
        input,
        filters,
        output_shape,
        filter_shape,
        border_mode,
        input_dilation,
        filter_flip,
        filter_dilation,
        num_groups,
        unshared,
    )
