"""Convolutions by the library's routines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuarray._nn import convolution
from gpuarray._nn.convolution import Geometry
from gpuarray.array import Array
from gpuarray.compiler.config import config
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Composite, CompositeStep, Elemwise
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
    BaseAbstractConv,
)
from gpuarray.scalars import Scalar

Reader = tuple[int, int, int, int, int]
"""What alone reads a result: 1 for a sum, 2 for its relu, and the places of a bias, a
residual, a scale and a centre among what it reads, from 1 on; 0 for none."""
NO_READER: Reader = (0, 0, 0, 0, 0)


@step_function("conv")
def conv(
    image: Array, filters: Array, *, geometry: Geometry, reader: Reader = NO_READER
) -> Array:
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
    options: dict[str, Any] = {"geometry": geometry}
    if name == "conv":
        options["reader"] = reader_of(node.outputs[0], k)
    k.call(node, name, node.inputs, options)


def reader_of(result: Variable, k: Lowerer) -> Reader:
    """Return what alone reads a result, if a vendor's library may compute that, too.

    It is relu of a sum, or a sum, of the result, a bias by channel and a residual; the
    result may be scaled by channel, less a centre by channel.
    """
    clients = tuple(k.clients.get(result, ()))
    if len(clients) != 1 or result in k.results:
        return NO_READER
    node, place = clients[0]
    if not isinstance(node, Apply) or not isinstance(node.op, Elemwise):
        return NO_READER
    kinds = [variable.type for variable in (*node.inputs, *node.outputs)]
    terms = terms_of(node.op.scalar, len(node.inputs), place)
    is_alike = all(
        kind.dtype == result.type.dtype and kind.ndim == result.type.ndim
        for kind in kinds
    )
    if terms is None or not is_alike:
        return NO_READER
    found = {"residual": 0, "bias": 0}
    for other in terms.added:
        role = role_of(kinds[other].broadcastable)
        if role is None or found[role]:
            return NO_READER
        found[role] = 1 + other
    factors = [other for other in (terms.scale, terms.centre) if other is not None]
    if any(role_of(kinds[other].broadcastable) != "bias" for other in factors):
        return NO_READER
    if terms.centre is not None and not found["bias"]:
        return NO_READER
    scale, centre = (0 if n is None else 1 + n for n in (terms.scale, terms.centre))
    kind = 2 if terms.is_relu else 1
    return (kind, found["bias"], found["residual"], scale, centre)


def role_of(pattern: Sequence[bool]) -> str | None:
    """Return whether an array of this pattern is a bias by channel or a residual."""
    if not any(pattern):
        return "residual"
    by_channel = [axis != 1 for axis in range(len(pattern))]
    return "bias" if list(pattern) == by_channel else None


@dataclass(frozen=True, slots=True)
class Terms:
    """``relu((x - centre) * scale + added ...)``, by the places of inputs."""

    is_relu: bool
    added: tuple[int, ...]
    scale: int | None = None
    centre: int | None = None


def terms_of(scalar: Any, count: int, place: int) -> Terms | None:
    """Return the terms of an operation of ``count`` inputs, ``x`` at a place."""
    if isinstance(scalar, Composite):
        steps = {count + i: step for i, step in enumerate(scalar.steps)}
        if len(scalar.outputs) != 1:
            return None
        (last,) = scalar.outputs
    elif isinstance(scalar, Scalar):
        steps = {count: CompositeStep(scalar.name, tuple(range(count)), "")}
        last = count
    else:
        return None
    is_relu = last in steps and steps[last].op == "relu"
    added: list[int] = []
    found: list[tuple[int | None, int | None]] = []
    stack = [steps[last].operands[0] if is_relu else last]
    while stack:
        value = stack.pop()
        factors = scaled(value, steps, place)
        if factors is not None:
            found.append(factors)
        elif value < count:
            added.append(value)
        elif steps[value].op == "add":
            stack += steps[value].operands
        else:
            return None
    if len(found) != 1:
        return None
    return Terms(is_relu, tuple(added), *found[0])


def scaled(
    value: int, steps: Mapping[int, CompositeStep], place: int
) -> tuple[int | None, int | None] | None:
    """Return scale and centre of ``x`` at a place; None for what is not ``x``."""
    if value == place:
        return None, None
    step = steps.get(value)
    if step is None or step.op != "mul":
        return None
    for whole, factor in (step.operands, step.operands[::-1]):
        inner = steps.get(whole)
        if factor in steps or factor == place:
            continue
        if whole == place:
            return factor, None
        if inner is not None and inner.op == "sub" and inner.operands[0] == place:
            centre = inner.operands[1]
            if centre not in steps and centre != place:
                return factor, centre
    return None


@body_of("conv", in_plans=True)
def conv_steps(
    s: Steps,
    image: int,
    filters: int,
    *,
    geometry: Geometry,
    reader: Reader = NO_READER,
) -> int:
    """Add the routine."""
    value = s.array(image)
    numbers = (*geometry.numbers, *reader)
    return s.routine("conv", [image, filters], value.dtype, value.ndim, *numbers)


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
