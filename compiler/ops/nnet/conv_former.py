"""Convolutions with former arguments of Theano's, and with time before channels."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.nnet import conv_functions as functions
from gpuarray.compiler.ops.nnet.conv import known_shape
from gpuarray.compiler.ops.shape.shape import dimshuffle
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

_TIME_THIRD = (0, 2, 1, 3, 4)
"""Axes with time and channels exchanged."""


def conv2d(
    input: Any,
    filters: Any,
    image_shape: Any = None,
    filter_shape: Any = None,
    border_mode: Any = "valid",
    subsample: Any = (1, 1),
    **kargs: Any,
) -> Variable:
    """`T.nnet.conv2d` with the arguments that it had before.

    The arguments in ``kargs`` chose how Theano computed; they are refused.
    """
    if kargs:
        raise GraphTypeError(
            f"conv2d: got {', '.join(kargs)}; leave out what says how to compute, the "
            "device chooses that. Other options are those of T.nnet.conv2d"
        )
    return functions.conv2d(
        input, filters, image_shape, filter_shape, border_mode, subsample
    )


def conv3d(
    signals: Any,
    filters: Any,
    signals_shape: Any = None,
    filters_shape: Any = None,
    border_mode: Any = "valid",
) -> Variable:
    """`T.nnet.conv3d` with time before the channels.

    ``signals`` are (batch, time, channels, rows, columns), ``filters`` (results, time,
    channels, rows, columns), the result (batch, time, results, rows, columns).
    ``border_mode`` is as there, or a tuple of ``"valid"``, ``"half"`` and ``"full"``
    for time, rows and columns, where those lengths of ``filters_shape`` are known.
    """
    shapes = (
        known_shape("conv3d", name, shape, 5)
        for name, shape in (
            ("signals_shape", signals_shape),
            ("filters_shape", filters_shape),
        )
    )
    of_signals, of_filters = (
        None if each is None else tuple(each[axis] for axis in _TIME_THIRD)
        for each in shapes
    )
    x, w = (_five_axes(*each) for each in (("signals", signals), ("filters", filters)))
    result = functions.conv3d(
        dimshuffle(x, *_TIME_THIRD),
        dimshuffle(w, *_TIME_THIRD),
        of_signals,
        of_filters,
        _padding(border_mode, of_filters),
    )
    return dimshuffle(result, *_TIME_THIRD)


def _five_axes(what: str, value: Any) -> Variable:
    x: Variable = as_tensor_variable(value)
    if x.type.ndim != 5:
        raise GraphArgumentError(
            f"conv3d: the {what} are {x} of {x.type}, expected 5 axes: time is the "
            "second, channels the third"
        )
    return x


def _padding(border_mode: Any, filters: Any) -> Any:
    """Return the zeros that a tuple of words stands for; other modes as they are."""
    words = ("valid", "half", "full")
    if not isinstance(border_mode, tuple) or any(m not in words for m in border_mode):
        return border_mode
    if len(border_mode) == 3 and len(set(border_mode)) == 1:
        return border_mode[0]
    lengths = (None,) if filters is None else filters[2:]
    if None in lengths or len(border_mode) != 3:
        raise GraphValueError(
            f"conv3d: border_mode is {border_mode}; expected 3 words, and "
            "filters_shape with the lengths of time, rows and columns"
        )
    return tuple(
        {"valid": 0, "half": length // 2, "full": length - 1}[mode]
        for mode, length in zip(border_mode, lengths, strict=True)
    )
