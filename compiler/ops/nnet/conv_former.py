"""Convolutions with former arguments of Theano's, and with time before channels."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.nnet import conv_functions as functions
from gpuarray.compiler.ops.nnet.conv import known_shape
from gpuarray.compiler.ops.nnet.conv_shapes import get_conv_output_shape
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


# ---- the former op ----


class ConvOp:
    """`T.nnet.conv2d` as an object, with the arguments of Theano's former op.

    ``imshp`` is what is known of an image, (channels, rows, columns) or (rows,
    columns), ``kshp`` the rows and columns of a filter, ``nkern`` the number of
    filters, ``bsize`` that of images; arrays of others raise ValueError. ``dx`` and
    ``dy`` are the strides along rows and columns; ``output_mode`` is ``"valid"`` or
    ``"full"``. Arguments that chose how Theano computed (``unroll_batch``,
    ``unroll_kern``, ``unroll_patch``, ``version``, ``verbose``, ``direction_hint``,
    ``openmp``) have no effect.

    >>> from gpuarray.compiler import tensor as T
    >>> op = ConvOp((1, 5, 4), (2, 2), nkern=3, bsize=6)
    >>> ConvOp.getOutputShape((5, 4), (2, 2)), op(T.ftensor4(), T.ftensor4()).type
    ((4, 3), TensorType(float32, 4D))
    """

    def __init__(
        self,
        imshp: Any = None,
        kshp: Any = None,
        nkern: Any = None,
        bsize: Any = None,
        dx: int = 1,
        dy: int = 1,
        output_mode: str = "valid",
        **options: Any,
    ) -> None:
        given = [name for name in options if options[name] is not None]
        refused = [name for name in given if name not in _HOW]
        if refused:
            raise GraphTypeError(
                f"ConvOp: got {', '.join(refused)}; images and filters have one shape "
                "here, give it as imshp and kshp"
            )
        if output_mode not in ("valid", "full"):
            raise GraphValueError(
                f"ConvOp: output_mode is {output_mode!r}, expected 'valid' or 'full'"
            )
        image = (None, None, None) if imshp is None else tuple(imshp)
        if len(image) == 2:
            image = (None, *image)
        channels, *lengths = image
        self.imshp, self.kshp = imshp, kshp
        self.nkern, self.bsize = nkern, bsize
        self.dx, self.dy, self.out_mode = dx, dy, output_mode
        of_filters = (None, None) if kshp is None else tuple(kshp)
        self._options = (
            known_shape("ConvOp", "imshp", (bsize, channels, *lengths), 4),
            known_shape("ConvOp", "kshp", (nkern, channels, *of_filters), 4),
            output_mode,
            (dx, dy),
        )

    def __call__(self, inputs: Any, kerns: Any) -> Variable:
        """Return the convolution of images (batch, channels, rows, columns)."""
        return functions.conv2d(inputs, kerns, *self._options)

    @staticmethod
    def getOutputShape(
        inshp: Any, kshp: Any, stride: Any = (1, 1), mode: str = "valid"
    ) -> tuple[Any, ...]:
        """Return rows and columns of the result, from those of image and filters."""
        shapes = (1, 1, *inshp), (1, 1, *kshp)
        return get_conv_output_shape(*shapes, mode, tuple(stride))[2:]


_HOW = (
    "unroll_batch",
    "unroll_kern",
    "unroll_patch",
    "version",
    "verbose",
    "direction_hint",
    "openmp",
)
