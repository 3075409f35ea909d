"""Functions of convolution, with Theano's names and arguments."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
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


# ---- convolutions ----


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
    is the stride. Known shapes, with None for lengths that are not, are checked here;
    ``image_shape`` is a former name of ``input_shape``.
    """
    if image_shape is not None and input_shape is not None:
        raise GraphTypeError(
            "conv2d: got input_shape and image_shape, its former name; give one"
        )
    shape = input_shape if image_shape is None else image_shape
    options = border_mode, subsample, filter_flip, filter_dilation, num_groups
    shapes = shape, filter_shape
    op = op_of(AbstractConv, 2, *shapes, *options, unshared)
    result: Variable = op(input, filters)
    return result


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
    op = op_of(AbstractConv, 3, *shapes, *options)
    result: Variable = op(input, filters)
    return result


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
    op = op_of(AbstractConv, 1, *shapes, *options, unshared)
    result: Variable = op(input, filters)
    return result


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
    lengths = spatial_lengths("conv2d_grad_wrt_inputs", "input_shape", input_shape, 2)
    result: Variable = op(filters, output_grad, lengths)
    return result


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
    lengths = spatial_lengths(
        "conv2d_grad_wrt_weights", "filter_shape", filter_shape, 2
    )
    result: Variable = op(input, output_grad, lengths)
    return result


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
    lengths = spatial_lengths("conv3d_grad_wrt_inputs", "input_shape", input_shape, 3)
    result: Variable = op(filters, output_grad, lengths)
    return result


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
    lengths = spatial_lengths(
        "conv3d_grad_wrt_weights", "filter_shape", filter_shape, 3
    )
    result: Variable = op(input, output_grad, lengths)
    return result


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
