"""Fourier transforms of real arrays; a last axis of length 2 holds complex numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.elemwise import math as rows
from gpuarray.compiler.ops.reduce.reduce import count
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

NORMS = (None, "ortho", "no_norm")


class RFFT(Op):
    """The transforms of real arrays over all axes but the first, not scaled.

    The last axis of ``n`` becomes one of ``n // 2 + 1``, and then one of 2: real and
    imaginary parts.
    """

    __props__ = ()

    def infer(self, x: Any) -> TensorType:
        """Return a type with one more axis, of length 2."""
        return TensorType(x.dtype, (*x.broadcastable[:-1], False, False))

    def reference(self, x: Any) -> Any:
        """The transforms with NumPy."""
        spectrum = np.fft.rfftn(x, axes=range(1, x.ndim))
        return np.stack([spectrum.real, spectrum.imag], axis=-1).astype(x.dtype)

    def grad(self, m: Any, g: Any, y: Variable, x: Variable) -> Variable:
        """Return the inverse transform; terms with a conjugate count half."""
        n = shape_i(x, x.type.ndim - 1)
        halved = g / _multiplicity(g, n)
        total = rows.cast(count(x, range(1, x.type.ndim)), x.type.dtype)
        inverse: Variable = IRFFT()(halved, n) * total
        return inverse

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the shape with the last axis halved, and the parts."""
        *lengths, n = input_shapes[0]
        half = None if n is None else n // 2 + 1
        return [(*lengths, half, core.constant(2, "int64"))]


class IRFFT(Op):
    """The inverse transforms to real arrays whose last axis has length ``n``.

    ``n`` is an integer scalar; the result is divided by its number of elements, so that
    this undoes `RFFT`.
    """

    __props__ = ()

    def make_node(self, x: Any, n: Any) -> Apply:
        """A node over the parts and the length."""
        variable, length = as_tensor_variable(x), as_tensor_variable(n)
        if length.type.ndim != 0 or length.type.dtype[0] not in "iu":
            raise GraphTypeError(
                f"irfft: the length is {length} of {length.type}, expected an integer"
            )
        pattern = (*variable.type.broadcastable[:-2], False)
        inputs = [variable, rows.cast(length, "int64")]
        return Apply(self, inputs, [TensorType(variable.type.dtype, pattern)()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The length."""
        return (1,)

    def reference(self, x: Any, n: Any) -> Any:
        """The inverse transforms with NumPy."""
        spectrum = x[..., 0] + 1j * x[..., 1]
        lengths = (*spectrum.shape[1:-1], int(n))
        result = np.fft.irfftn(spectrum, s=lengths, axes=range(1, spectrum.ndim))
        return result.astype(x.dtype)

    def grad(
        self, m: Any, g: Any, y: Variable, x: Variable, n: Variable
    ) -> tuple[Variable, None]:
        """Return the transform; terms with a conjugate count twice."""
        spectrum: Variable = RFFT()(g)
        total = rows.cast(count(y, range(1, y.type.ndim)), x.type.dtype)
        return spectrum * _multiplicity(spectrum, n) / total, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the shape with the last axis of ``n``, without parts."""
        return [(*input_shapes[0][:-2], node.inputs[1])]


def _multiplicity(spectrum: Variable, n: Any) -> Variable:
    """Return 1 for terms that are their own conjugates, else 2, along the spectrum."""
    ndim = spectrum.type.ndim
    half = rows.floor_divide(n, 2) + 1
    k = counted(half)
    is_single = rows.logical_or(rows.eq(k, 0), rows.eq(k + k, n))
    dtype = spectrum.type.dtype
    one, two = core.constant(1, dtype), core.constant(2, dtype)
    return dimshuffle(rows.where(is_single, one, two), *("x",) * (ndim - 2), 0, "x")


def rfft(inp: Any, norm: str | None = None) -> Variable:
    """Return the transforms of the elements of ``inp`` along its first axis, the batch.

    ``inp`` holds real floats, of at least 2 axes; the others are transformed. Of the
    last, of ``n``, the ``n // 2 + 1`` terms remain that are no conjugates of others; an
    axis of length 2, their real and imaginary parts, is added. ``norm`` is None or
    "no_norm": not scaled, or "ortho": by the root of the number of elements.
    """
    x = _floats("rfft", inp, 2)
    spectrum: Variable = RFFT()(x)
    if _checked("rfft", norm) != "ortho":
        return spectrum
    return spectrum / _root(x, range(1, x.type.ndim))


def irfft(inp: Any, norm: str | None = None, is_odd: bool = False) -> Variable:
    """The real arrays whose transforms `rfft` gives as ``inp``.

    The last axis of the result is of even length, or of odd length with ``is_odd``.
    ``norm`` is None: divided by the number of elements, "ortho": by its root, or
    "no_norm": not scaled.
    """
    x = _floats("irfft", inp, 3)
    if is_odd not in (False, True):
        raise GraphValueError(f"irfft: is_odd is {is_odd!r}, expected a bool")
    n = (shape_i(x, x.type.ndim - 2) - 1) * 2 + int(is_odd)
    result: Variable = IRFFT()(x, n)
    if _checked("irfft", norm) is None:
        return result
    axes = range(1, result.type.ndim)
    if norm == "ortho":
        return result * _root(result, axes)
    return result * rows.cast(count(result, axes), result.type.dtype)


def _root(x: Variable, axes: Sequence[int]) -> Variable:
    """Return the root of the number of elements over axes, in the dtype of ``x``."""
    root: Variable = rows.sqrt(rows.cast(count(x, axes), x.type.dtype))
    return root


def _checked(name: str, norm: str | None) -> str | None:
    if norm not in NORMS:
        raise GraphValueError(f"{name}: norm is {norm!r}, expected one of {NORMS}")
    return norm


def _floats(name: str, x: Any, least: int) -> Variable:
    variable = as_tensor_variable(x)
    if variable.type.ndim < least or variable.type.dtype not in ("float32", "float64"):
        raise GraphArgumentError(
            f"{name}: given {variable} of {variable.type}, expected floats of "
            f"{least} axes or more, of which the first is the batch"
        )
    return variable
