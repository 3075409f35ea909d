"""Repeated and rolled arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.ops.broadcast.axes import moveaxis
from gpuarray.compiler.ops.broadcast.broadcast import broadcast_to, unbroadcast
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.creation.joining import as_length, join, part, product, split
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import inc_subtensor, index
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import (
    as_shape,
    dimshuffle,
    elements,
    flatten,
    reshape,
    shape,
    shape_i,
    shape_padleft,
)
from gpuarray.compiler.ops.sorting.extra_ops import searchsorted
from gpuarray.compiler.ops.sorting.scanning import cumsum
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    axis_list,
    is_constant,
    known_integer,
    normalise_axis,
)


def repeated(x: Variable, times: Mapping[int, Variable], inner: bool) -> Variable:
    """Return ``x`` repeated along each axis of ``times``.

    ``inner`` repeats each element, otherwise the axis as a whole is repeated.
    """
    order: list[Any] = []
    wide: list[Variable] = []
    final: list[Variable] = []
    for axis in range(x.type.ndim):
        length = shape_i(x, axis)
        count = times.get(axis)
        if count is None or is_constant(count, 1):
            order, wide = [*order, axis], [*wide, length]
            final.append(length)
            continue
        order += [axis, "x"] if inner else ["x", axis]
        wide += [length, count] if inner else [count, length]
        final.append(product(length, count))
    if len(order) == x.type.ndim:
        return x
    spread = broadcast_to(dimshuffle(x, *order), wide)
    return reshape(spread, final)


def _no_negative(name: str, count: Variable) -> Variable:
    if isinstance(count, Constant) and count.data.item() < 0:
        raise GraphValueError(f"{name}: {count.data.item()} times, expected 0 or more")
    return count


def tile(x: Any, reps: Any, ndim: int | None = None) -> Variable:
    """Return ``x`` repeated as a whole along each axis, as ``numpy.tile``.

    ``reps`` is an integer, a list of integers and scalars, or a vector of integers,
    which needs ``ndim``, the rank of the result. Fewer numbers than axes repeat the
    last axes.
    """
    variable = as_tensor_variable(x)
    if ndim is not None:
        ndim = known_integer("tile", "ndim", ndim)
    vector = as_shape("tile", reps)
    counts = elements(vector)
    if counts is None:
        if ndim is None:
            raise GraphValueError(
                f"tile: the number of repeats in {vector} is not known; give ndim"
            )
        counts = [part(vector, 0, i, 1).dimshuffle() for i in range(ndim)]
    axes = max(len(counts), variable.type.ndim) if ndim is None else ndim
    if axes < max(len(counts), variable.type.ndim):
        raise GraphValueError(
            f"tile: ndim={ndim}, expected at least the {variable.type.ndim} axes of "
            f"{variable} and the {len(counts)} repeats"
        )
    missing = axes - len(counts)
    times = {missing + i: _no_negative("tile", n) for i, n in enumerate(counts)}
    aligned = shape_padleft(variable, axes - variable.type.ndim)
    return repeated(aligned, times, inner=False)


class Repeat(Op):
    """Each element of ``axis`` repeated by the count in a vector.

    ``total`` is the sum of the counts, or below 0 if one is below 0.
    """

    __props__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def make_node(self, x: Any, repeats: Any, total: Any) -> Apply:
        """A node over ``x``, the vector of integers, and the resulting length."""
        variable = as_tensor_variable(x)
        axis = normalise_axis("repeat", self.axis, variable.type.ndim)
        counts = math.cast(repeats, "int64")
        length = as_length("repeat", total)
        pattern = list(variable.type.broadcastable)
        pattern[axis] = is_constant(length, 1)
        output = variable.type.clone(broadcastable=tuple(pattern))()
        return Apply(Repeat(axis), [variable, counts, length], [output])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The length of the result."""
        return (2,)

    def reference(self, x: Any, repeats: Any, total: Any) -> Any:
        """``numpy.repeat``. Raises ValueError unless each element has its number."""
        if repeats.size != x.shape[self.axis] or total < 0:
            raise GraphValueError(
                f"repeat: repeats {repeats.tolist()} for axis {self.axis} of length "
                f"{x.shape[self.axis]}; expected a number, 0 or more, for each element"
            )
        return np.repeat(x, repeats, axis=self.axis)

    def grad(
        self,
        m: Any,
        g: Variable,
        y: Variable,
        x: Variable,
        repeats: Variable,
        total: Variable,
    ) -> tuple[Any, None, None]:
        """The sum of ``g`` over the copies of each element."""
        places = searchsorted(cumsum(repeats), counted(total), side="right")
        empty = unbroadcast(moveaxis(m.zeros_like(x), self.axis, 0), 0)
        sums = inc_subtensor(index(empty, places), moveaxis(g, self.axis, 0))
        back = m.patternbroadcast(moveaxis(sums, 0, self.axis), x.type.broadcastable)
        return back, None, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The lengths of the input, the total along the axis."""
        lengths = list(input_shapes[0])
        lengths[self.axis] = node.inputs[2]
        return [tuple(lengths)]


def repeat(x: Any, repeats: Any, axis: Any = None) -> Variable:
    """Return elements repeated ``repeats`` times along ``axis``, as ``numpy.repeat``.

    ``repeats`` is an integer, a scalar, or a vector with a count for each element of
    the axis. Without an axis the elements are read as a vector.
    """
    variable = as_tensor_variable(x)
    counts = as_tensor_variable(repeats)
    if counts.type.dtype[0] not in "iu" or counts.type.ndim > 1:
        raise GraphArgumentError(
            f"repeat: repeats are {counts} of {counts.type}, expected an integer or a "
            "vector of them"
        )
    if axis is None:
        variable, axis = flatten(variable), 0
    along = normalise_axis(
        "repeat", known_integer("repeat", "axis", axis), variable.type.ndim
    )
    if counts.type.ndim == 1 and counts.type.broadcastable[0]:
        counts = (
            core.constant(counts.data[0], counts.type.dtype)
            if isinstance(counts, Constant)
            else dimshuffle(counts)
        )
    if counts.type.ndim == 0:
        count = _no_negative("repeat", as_length("repeat", counts))
        return repeated(variable, {along: count}, inner=True)
    none_negative = reduce.all(math.ge(counts, 0))
    total = math.where(none_negative, reduce.sum(counts, dtype="int64"), -1)
    if isinstance(counts, Constant):
        if (counts.data < 0).any():
            raise GraphValueError("repeat: a negative number of repeats")
        total = core.constant(int(counts.data.sum()), "int64")
    result: Variable = Repeat(along)(variable, counts, total)
    return result


def roll(x: Any, shift: Any, axis: Any = None) -> Variable:
    """Return the elements shifted cyclically by ``shift``, as ``numpy.roll``.

    ``shift`` is an integer or a scalar; without an axis the array is rolled as a
    vector. Of several axes each has its shift, or all have one.
    """
    variable = as_tensor_variable(x)
    if axis is None:
        if variable.type.ndim == 1:
            return roll(variable, shift, 0)
        flat = roll(flatten(variable), shift, 0)
        return reshape(flat, shape(variable), ndim=variable.type.ndim)
    axes = axis_list(axis)
    shifts = list(shift) if isinstance(shift, (list, tuple)) else [shift] * len(axes)
    if len(axes) == 1 and len(shifts) > 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise GraphValueError(
            f"roll: {len(shifts)} shifts for {len(axes)} axes; give one for each"
        )
    for along, step in zip(axes, shifts, strict=True):
        variable = _rolled(variable, as_length("roll", step, "shift"), along)
    return variable


def _rolled(x: Variable, shift: Variable, axis: Any) -> Variable:
    along = normalise_axis("roll", known_integer("roll", "axis", axis), x.type.ndim)
    if x.type.broadcastable[along] or is_constant(shift, 0):
        return x
    length = shape_i(x, along)
    period = math.maximum(length, core.constant(1, "int64"))
    step = shift - period * (shift // period)
    head, tail = split(x, [length - step, step], 2, along)
    return join(along, tail, head)
