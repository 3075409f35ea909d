"""Convolutions by the library's routines."""

from __future__ import annotations

from dataclasses import replace

from gpuarray._nn import convolution
from gpuarray._nn.convolution import Geometry
from gpuarray.array import Array
from gpuarray.compiler.config import config
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
    BaseAbstractConv,
)


@step_function("conv")
def conv(image: Array, filters: Array, *, geometry: Geometry) -> Array:
    """Return the convolution of an image by filters."""
    result: Array = convolution.convolve(image, filters, geometry)
    return result


@step_function("conv_grad_image")
def conv_grad_image(
    filters: Array, grad: Array, *shape: int, geometry: Geometry
) -> Array:
    """Return the gradient by the image."""
    result: Array = convolution.grad_image(grad, filters, shape, geometry)
    return result


@step_function("conv_grad_filters")
def conv_grad_filters(
    image: Array, grad: Array, *shape: int, geometry: Geometry
) -> Array:
    """Return the gradient by the filters."""
    result: Array = convolution.grad_filters(image, grad, shape, geometry)
    return result


NAMES = {
    AbstractConv: "conv",
    AbstractConv_gradInputs: "conv_grad_image",
    AbstractConv_gradWeights: "conv_grad_filters",
}
"""The step function, and the library's routine, of each role."""


@lowers(*NAMES)
def lower_conv(op: BaseAbstractConv, node: Apply, k: Lowerer) -> None:
    """Lower to a library step, of any order of sums if the settings allow it."""
    geometry = replace(op.geometry, is_deterministic=config.deterministic)
    name = next(NAMES[cls] for cls in type(op).__mro__ if cls in NAMES)
    k.call(node, name, node.inputs, {"geometry": geometry})


@body_of("conv", in_plans=True)
def conv_steps(s: Steps, image: int, filters: int, *, geometry: Geometry) -> int:
    """Add the routine."""
    value = s.array(image)
    ins = [image, filters]
    return s.routine("conv", ins, value.dtype, value.ndim, *geometry.numbers)


@body_of("conv_grad_image", in_plans=True)
def grad_image_steps(
    s: Steps, filters: int, grad: int, *shape: int, geometry: Geometry
) -> int:
    """Add the routine."""
    value = s.array(grad)
    ins = [grad, filters, *shape]
    return s.routine("conv_grad_image", ins, value.dtype, value.ndim, *geometry.numbers)


@body_of("conv_grad_filters", in_plans=True)
def grad_filters_steps(
    s: Steps, image: int, grad: int, *shape: int, geometry: Geometry
) -> int:
    """Add the routine."""
    value = s.array(image)
    ins = [image, grad, *shape]
    ndim = geometry.filter_ndim
    return s.routine("conv_grad_filters", ins, value.dtype, ndim, *geometry.numbers)
