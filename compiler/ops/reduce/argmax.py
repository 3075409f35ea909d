"""Argmax and argmin, and both results of an extremum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.reduce.reduce import (
    Axis,
    Reduce,
    axes_of,
    has_elements,
    keep_dims,
)
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class Argmax(Op):
    """The index of the first of the greatest elements over ``axes``, int64; nan wins.

    Over several axes the index is counted in C order. With ``smallest`` it is that of
    the least elements.
    """

    __props__ = ("axes", "smallest")

    def __init__(self, axes: Sequence[int], smallest: bool = False) -> None:
        self.axes = tuple(sorted(int(axis) for axis in axes))
        self.smallest = bool(smallest)

    @property
    def name(self) -> str:
        """As NumPy calls it."""
        return "argmin" if self.smallest else "argmax"

    def infer(self, x: Any) -> TensorType:
        """int64, without the axes."""
        if not set(self.axes) <= set(range(x.ndim)):
            raise GraphValueError(f"{self}: given {x}, which lacks some of the axes")
        remaining = [axis for axis in range(x.ndim) if axis not in self.axes]
        return TensorType("int64", tuple(x.broadcastable[axis] for axis in remaining))

    def reference(self, x: Any) -> Any:
        """Return the indices with NumPy. Raises ValueError without elements."""
        remaining = [axis for axis in range(x.ndim) if axis not in self.axes]
        moved = np.transpose(x, [*remaining, *self.axes])
        lengths = moved.shape[: len(remaining)]
        count = math.prod(moved.shape[len(remaining) :])
        if count == 0:
            raise GraphValueError(f"{self}: no elements over axes {self.axes}")
        flat = moved.reshape(*lengths, count)
        indices = flat.argmin(axis=-1) if self.smallest else flat.argmax(axis=-1)
        return np.asarray(indices, dtype="int64")

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> None:
        """Return None: an index is an integer."""

    def infer_shape(self, node: Any, input_shapes: Any) -> list[Any]:
        """The lengths of the axes that stay."""
        (lengths,) = input_shapes
        return [tuple(n for axis, n in enumerate(lengths) if axis not in self.axes)]

    def requirements(self, node: Any, input_shapes: Any) -> list[Requirement]:
        """Require elements."""
        return has_elements(input_shapes[0], self.axes)

    def __str__(self) -> str:
        kind = type(self).__name__.removesuffix("Argmax")
        return f"{kind}{self.name.capitalize()}{{axis={list(self.axes)}}}"


class Extremum(Op):
    """The greatest elements along an axis, or the least, and their first indices.

    No user writes it: fusion merges the two.
    """

    __props__ = ("axis", "smallest")

    def __init__(self, axis: int, smallest: bool = False) -> None:
        self.axis = int(axis)
        self.smallest = bool(smallest)

    @property
    def parts(self) -> tuple[Reduce, Argmax]:
        """The two as ops of their own."""
        monoid = "minimum" if self.smallest else "maximum"
        return Reduce(monoid, (self.axis,)), Argmax((self.axis,), self.smallest)

    def make_node(self, x: Any) -> Apply:
        """A node over ``x``."""
        variable = as_tensor_variable(x)
        outputs = [op.make_node(variable).out.type() for op in self.parts]
        return Apply(self, [variable], outputs)

    def reference(self, x: Any) -> tuple[Any, Any]:
        """Return both with NumPy. Raises ValueError without elements."""
        values, places = self.parts
        return values.reference(x), places.reference(x)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The two as nodes of their own."""
        return [op(*inputs) for op in self.parts]

    def infer_shape(self, node: Any, input_shapes: Any) -> list[Any]:
        """The lengths of the axes that stay, twice."""
        (lengths,) = input_shapes
        return [tuple(n for axis, n in enumerate(lengths) if axis != self.axis)] * 2

    def __str__(self) -> str:
        name = "min" if self.smallest else "max"
        return f"{type(self).__name__}{{{name}, axis={self.axis}}}"


def argmax(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Return the index of the first greatest element over ``axis``, int64; nan wins.

    ``axis`` is a number, several, or None: all. Over several axes the index is counted
    in C order of the axes from the left.
    """
    return _places(x, axis, keepdims, smallest=False)


def argmin(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Return the index of the first least element over ``axis``, int64; nan wins."""
    return _places(x, axis, keepdims, smallest=True)


def _places(x: Any, axis: Axis, keepdims: bool, smallest: bool) -> Variable:
    variable = as_tensor_variable(x)
    axes = axes_of("argmin" if smallest else "argmax", axis, variable.type.ndim)
    places: Variable = Argmax(axes, smallest)(variable)
    return keep_dims(places, axes, variable.type.ndim) if keepdims else places


def max_and_argmax(x: Any, axis: Axis = None, keepdims: bool = False) -> list[Variable]:
    """Return the greatest elements over ``axis`` and the index of the first of them.

    The gradient goes to every element that is greatest.
    """
    return [reduce.max(x, axis, keepdims), argmax(x, axis, keepdims)]
