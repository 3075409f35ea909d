"""Correlations under the names of Theano's ops that computed them by products.

They are the ops of convolution, with filters that are not turned around and fewer
arguments. Their gradients are those ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
    BaseAbstractConv,
    spatial_shape,
)
from gpuarray.compiler.ops.nnet.conv_shapes import (
    get_conv_gradinputs_shape_1axis,
    get_conv_gradweights_shape_1axis,
)


class _Correlation2(BaseAbstractConv):
    __props__ = (
        "border_mode",
        "subsample",
        "filter_dilation",
        "num_groups",
        "unshared",
    )

    def __init__(
        self,
        border_mode: Any = "valid",
        subsample: Any = (1, 1),
        filter_dilation: Any = (1, 1),
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        options = (subsample, False, filter_dilation, num_groups, unshared)
        super().__init__(2, None, None, border_mode, *options)


class _Correlation3(BaseAbstractConv):
    __props__ = ("border_mode", "subsample", "filter_dilation", "num_groups")

    def __init__(
        self,
        border_mode: Any = "valid",
        subsample: Any = (1, 1, 1),
        filter_dilation: Any = (1, 1, 1),
        num_groups: int = 1,
    ) -> None:
        options = (subsample, False, filter_dilation, num_groups)
        super().__init__(3, None, None, border_mode, *options)


def _lengths(
    op: BaseAbstractConv, formula: Callable[..., Any], *arrays: tuple[str, Any, int]
) -> Any:
    """Return the spatial lengths that follow from those of two operands."""
    variables = op.operands(*arrays)
    mode = op.border_mode
    modes = (mode,) * op.convdim if isinstance(mode, str) else mode
    lengths = [
        formula(*axis)
        for axis in zip(
            *(spatial_shape(variable, op) for variable in variables),
            modes,
            op.subsample,
            op.filter_dilation,
            strict=True,
        )
    ]
    if None in lengths:
        raise GraphValueError(
            f"{type(op).__name__}: the spatial lengths do not follow from border_mode "
            f"{mode!r} and subsample {op.subsample}; give them as shape"
        )
    return lengths


class _OfWeights(AbstractConv_gradWeights):
    def make_node(self, img: Any, topgrad: Any, shape: Any = None) -> Apply:
        """Return a node; the shape is needed for a stride, and half padding."""
        if shape is None:
            ndim = 2 + self.convdim
            arrays = ("image", img, ndim), ("gradient", topgrad, ndim)
            shape = _lengths(self, get_conv_gradweights_shape_1axis, *arrays)
        return super().make_node(img, topgrad, shape)


class _OfInputs(AbstractConv_gradInputs):
    def make_node(self, kern: Any, topgrad: Any, shape: Any = None) -> Apply:
        """Return a node; the shape is needed for a stride."""
        if shape is None:
            arrays = (
                ("filters", kern, self.geometry.filter_ndim),
                ("gradient", topgrad, 2 + self.convdim),
            )
            shape = _lengths(self, get_conv_gradinputs_shape_1axis, *arrays)
        return super().make_node(kern, topgrad, shape)


class CorrMM(_Correlation2, AbstractConv):
    """The correlation of images (batch, channels, rows, columns) by filters."""


class CorrMM_gradWeights(_Correlation2, _OfWeights):
    """The gradient of `CorrMM` by the filters, of an image and the result's gradient.

    ``shape``, the filters' rows and columns, may be left out where they follow.
    """


class CorrMM_gradInputs(_Correlation2, _OfInputs):
    """The gradient of `CorrMM` by the image, of filters and the result's gradient.

    ``shape``, the image's rows and columns, may be left out where they follow.
    """


class Corr3dMM(_Correlation3, AbstractConv):
    """The correlation of volumes (batch, channels, depth, rows, columns) by filters."""


class Corr3dMM_gradWeights(_Correlation3, _OfWeights):
    """`CorrMM_gradWeights` over three spatial axes."""


class Corr3dMM_gradInputs(_Correlation3, _OfInputs):
    """`CorrMM_gradInputs` over three spatial axes."""
