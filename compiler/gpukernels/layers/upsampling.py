"""Bilinear upsampling and its gradient: routines of the library."""

from __future__ import annotations

from gpuarray._nn import upsampling
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.nnet.upsampling import (
    BilinearUpsampling,
    BilinearUpsamplingGrad,
    Fraction,
)

Fractions = tuple[Fraction, Fraction]


@step_function("upsample")
def upsample(images: Array, *, fractions: Fractions) -> Array:
    """Return the images interpolated."""
    result: Array = upsampling.bilinear_upsampling(images, fractions)
    return result


@lowers(BilinearUpsampling)
def lower_upsampling(op: BilinearUpsampling, node: Apply, k: Lowerer) -> None:
    """Lower to a library step."""
    k.call(node, "upsample", node.inputs, {"fractions": (op.rows, op.columns)})


@body_of("upsample")
def upsample_steps(s: Steps, images: int, *, fractions: Fractions) -> int:
    """Add the routine."""
    dtype = s.array(images).dtype
    return s.routine("upsample", [images], dtype, 4, *_numbers(fractions))


@step_function("upsample_grad")
def upsample_grad(grad: Array, *lengths: int, fractions: Fractions) -> Array:
    """Return the gradient by the images."""
    result: Array = upsampling.upsampling_grad(grad, lengths, fractions)
    return result


@lowers(BilinearUpsamplingGrad)
def lower_gradient(op: BilinearUpsamplingGrad, node: Apply, k: Lowerer) -> None:
    """Lower to a library step."""
    k.call(node, "upsample_grad", node.inputs, {"fractions": (op.rows, op.columns)})


@body_of("upsample_grad")
def gradient_steps(s: Steps, grad: int, *lengths: int, fractions: Fractions) -> int:
    """Add the routine."""
    dtype = s.array(grad).dtype
    ins = [grad, *lengths]
    return s.routine("upsample_grad", ins, dtype, 4, *_numbers(fractions))


def _numbers(fractions: Fractions) -> list[int]:
    """Return numerators, then denominators."""
    (p, q), (r, s) = fractions
    return [p, r, q, s]
