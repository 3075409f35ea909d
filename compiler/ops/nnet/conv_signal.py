"""Convolution of images of one channel, without an axis for it."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.errors import GraphArgumentError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.nnet import conv_functions as functions
from gpuarray.compiler.ops.nnet.conv import known_shape
from gpuarray.compiler.ops.shape.shape import dimshuffle
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

_CHANNEL = {2: ("x", "x", 0, 1), 3: (0, "x", 1, 2)}
"""The axes of images or filters of one channel, by the number of those given."""


def conv2d(
    input: Any,
    filters: Any,
    image_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
) -> Variable:
    """The convolution of one or many images of one channel by one or many filters.

    ``input`` is (rows, columns) or (batch, rows, columns), ``filters`` (rows, columns)
    or (filters, rows, columns); the result is ([batch,] [filters,] rows, columns), with
    the axes that were given. Shapes and ``border_mode`` are as in `T.nnet.conv2d`.
    """
    x, image_lengths = _of_one_channel("input", input, "image_shape", image_shape)
    w, filter_lengths = _of_one_channel(
        "filters", filters, "filter_shape", filter_shape
    )
    result = functions.conv2d(
        dimshuffle(x, *_CHANNEL[x.type.ndim]),
        dimshuffle(w, *_CHANNEL[w.type.ndim]),
        image_lengths,
        filter_lengths,
        border_mode,
        subsample,
    )
    outer = [axis for axis, each in enumerate((x, w)) if each.type.ndim == 3]
    return dimshuffle(result, *outer, 2, 3)


def _of_one_channel(
    what: str, value: Any, what_shape: str, shape: Any
) -> tuple[Variable, Any]:
    """Return an array of 2 or 3 axes, and what is known of its shape, of 4 lengths."""
    x: Variable = as_tensor_variable(value)
    ndim = x.type.ndim
    if ndim not in _CHANNEL:
        raise GraphArgumentError(
            f"conv2d: the {what} is {x} of {x.type}, expected 2 or 3 axes; "
            "T.nnet.conv2d takes 4"
        )
    known = known_shape("conv2d", what_shape, shape, ndim)
    if known is None:
        return x, None
    return x, (1 if ndim == 2 else known[0], 1, *known[-2:])
