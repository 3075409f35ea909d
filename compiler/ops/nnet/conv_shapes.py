"""Formulas of the shapes of convolutions, with Theano's names.

A length is an integer, an integer variable, or None where it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.control.debugging import Assert
from gpuarray.compiler.ops.elemwise import math


def _ends(border_mode: Any, extent: Any) -> Any:
    """Return the zeros at both ends of an axis together."""
    if border_mode in ("half", "full", "valid"):
        ends = {"half": extent // 2 * 2, "full": (extent - 1) * 2, "valid": 0}
        return ends[border_mode]
    if isinstance(border_mode, tuple):
        return sum(border_mode)
    return border_mode * 2


def _extent(filters: Any, dilation: int) -> Any:
    return filters if dilation == 1 else (filters - 1) * dilation + 1


def get_conv_shape_1axis(
    image_shape: Any,
    kernel_shape: Any,
    border_mode: Any,
    subsample: Any,
    dilation: Any = 1,
) -> Any:
    """Return the length of an axis of a convolution; None if one is not known.

    ``border_mode`` is a word, a number, or the zeros before and after.
    """
    if None in (image_shape, kernel_shape, border_mode, subsample, dilation):
        return None
    extent = _extent(kernel_shape, dilation)
    room = image_shape + _ends(border_mode, extent) - extent
    return room // subsample + 1


def get_conv_gradweights_shape_1axis(
    image_shape: Any,
    top_shape: Any,
    border_mode: Any,
    subsample: Any,
    dilation: Any,
) -> Any:
    """Return the length of the filters' axis; None if it is not determined.

    A stride makes filters of several lengths alike, and half padding depends on it.
    """
    if None in (image_shape, top_shape, border_mode, subsample, dilation):
        return None
    if subsample != 1 or border_mode == "half":
        return None
    if border_mode == "full":
        return (top_shape - image_shape) // dilation + 1
    return (image_shape + _ends(border_mode, 1) - top_shape) // dilation + 1


def get_conv_gradinputs_shape_1axis(
    kernel_shape: Any,
    top_shape: Any,
    border_mode: Any,
    subsample: Any,
    dilation: Any,
) -> Any:
    """Return the length of the image's axis; None if it is not determined."""
    if None in (kernel_shape, top_shape, border_mode, subsample, dilation):
        return None
    if subsample != 1:
        return None
    extent = _extent(kernel_shape, dilation)
    return top_shape + extent - 1 - _ends(border_mode, extent)


def _axes(
    border_mode: Any, subsample: Sequence[Any], filter_dilation: Any
) -> list[tuple[Any, Any, Any]]:
    """Return padding, stride and dilation of each axis."""
    ndim = len(subsample)
    modes = border_mode if isinstance(border_mode, tuple) else (border_mode,) * ndim
    dilations = (1,) * ndim if filter_dilation is None else filter_dilation
    return list(zip(modes, subsample, dilations, strict=True))


def get_conv_output_shape(
    image_shape: Sequence[Any],
    kernel_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Return the shape of a convolution: batch, results, and spatial axes.

    >>> get_conv_output_shape((2, 3, 7, 8), (5, 3, 3, 3), "half", (1, 1))
    (2, 5, 7, 8)
    >>> get_conv_output_shape((None, 3, 7, 8), (5, 3, 3, 3), ((1, 0), 2), (1, 2))
    (None, 5, 6, 5)
    """
    axes = _axes(border_mode, subsample, filter_dilation)
    lengths = (
        get_conv_shape_1axis(image, kernel, *axis)
        for image, kernel, axis in zip(
            image_shape[2:], kernel_shape[-len(axes) :], axes, strict=True
        )
    )
    return (image_shape[0], kernel_shape[0], *lengths)


def get_conv_gradweights_shape(
    image_shape: Sequence[Any],
    top_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
    num_groups: int = 1,
    unshared: bool = False,
) -> tuple[Any, ...]:
    """Return the shape of the filters, with None for lengths that are not determined.

    >>> get_conv_gradweights_shape((2, 3, 7, 8), (2, 5, 5, 6), "valid", (1, 1))
    (5, 3, 3, 3)
    """
    axes = _axes(border_mode, subsample, filter_dilation)
    lengths = (
        get_conv_gradweights_shape_1axis(image, top, *axis)
        for image, top, axis in zip(image_shape[2:], top_shape[2:], axes, strict=True)
    )
    channels = image_shape[1]
    if channels is not None and num_groups > 1:
        channels = channels // num_groups
    places = tuple(top_shape[2:]) if unshared else ()
    return (top_shape[1], *places, channels, *lengths)


def get_conv_gradinputs_shape(
    kernel_shape: Sequence[Any],
    top_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
    num_groups: int = 1,
) -> tuple[Any, ...]:
    """Return the shape of the image, with None for lengths that are not determined.

    >>> get_conv_gradinputs_shape((5, 3, 3, 3), (2, 5, 5, 6), "valid", (1, 1))
    (2, 3, 7, 8)
    """
    axes = _axes(border_mode, subsample, filter_dilation)
    kernels = kernel_shape[-len(axes) :]
    lengths = (
        get_conv_gradinputs_shape_1axis(kernel, top, *axis)
        for kernel, top, axis in zip(kernels, top_shape[2:], axes, strict=True)
    )
    channels = kernel_shape[-1 - len(axes)]
    if channels is not None and num_groups > 1:
        channels = channels * num_groups
    return (top_shape[0], channels, *lengths)


def check_conv_gradinputs_shape(
    image_shape: Sequence[Any],
    kernel_shape: Sequence[Any],
    output_shape: Sequence[Any],
    border_mode: Any,
    subsample: Sequence[Any],
    filter_dilation: Sequence[Any] | None = None,
) -> bool:
    """True if an image of this shape may give this output; unknown lengths fit.

    >>> shapes = (2, 3, 7, 8), (5, 3, 3, 3), (2, 5, 5, 6)
    >>> check_conv_gradinputs_shape(*shapes, "valid", (1, 1))
    True
    """
    expected = get_conv_output_shape(
        image_shape, kernel_shape, border_mode, subsample, filter_dilation
    )
    if len(expected) != len(output_shape):
        return False
    pairs = zip(expected, output_shape, strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


def assert_conv_shape(shape: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shape, checked: no length is negative, spatial ones are not 0.

    Raises GraphValueError for a number; a variable is checked when the program runs.
    """
    checked = []
    for axis, length in enumerate(shape):
        least = 0 if axis < 2 else 1
        if isinstance(length, Variable):
            text = f"the convolution has a length below {least} along axis {axis}"
            length = Assert(text)(length, math.ge(length, least))
        elif length is not None and length < least:
            raise GraphValueError(
                f"the convolution has the length {length} along axis {axis}, expected "
                f"{least} or more"
            )
        checked.append(length)
    return tuple(checked)
