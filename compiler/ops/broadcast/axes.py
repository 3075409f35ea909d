"""Axes: moved, added and dropped; broadcasting of arrays; declared shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphValueError,
    SpecifiedShapeError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.ops.broadcast.broadcast import addbroadcast, broadcast_to
from gpuarray.compiler.ops.shape.shape import (
    Reshape,
    as_shape,
    dimshuffle,
    elements,
    shape_i,
    shape_padleft,
    shape_padright,
)
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    axis_list,
    is_constant,
    known_integer,
    normalise_axis,
)

Axes = int | Sequence[int]


def listed_axes(name: str, axis: Any, ndim: int) -> list[int]:
    """Return one axis or several, counted from the left, none of them twice."""
    listed = axis_list(axis)
    axes = [normalise_axis(name, number, ndim) for number in listed]
    if len(set(axes)) < len(axes):
        raise GraphValueError(f"{name}: an axis stands twice in {listed}")
    return axes


def moveaxis(a: Any, source: Axes, destination: Axes) -> Variable:
    """``a`` with axes moved to other places, the rest in order, as NumPy's."""
    variable = core.as_variable(a, "moveaxis")
    ndim = variable.type.ndim
    moved_axes = listed_axes("moveaxis", source, ndim)
    places = listed_axes("moveaxis", destination, ndim)
    if len(moved_axes) != len(places):
        raise GraphValueError(
            f"moveaxis: {len(moved_axes)} axes for {len(places)} places; give one for "
            "each"
        )
    order = [axis for axis in range(ndim) if axis not in moved_axes]
    for place, axis in sorted(zip(places, moved_axes, strict=True)):
        order.insert(place, axis)
    return dimshuffle(variable, *order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Variable:
    """Return ``a`` with ``axis`` moved back to stand before ``start``, as NumPy's."""
    variable = core.as_variable(a, "rollaxis")
    ndim = variable.type.ndim
    moved_axis = normalise_axis("rollaxis", axis, ndim)
    place = normalise_axis("rollaxis", start, ndim + 1)
    if start < 0:
        place = normalise_axis("rollaxis", start, ndim)
    order = [other for other in range(ndim) if other != moved_axis]
    order.insert(place - (place > moved_axis), moved_axis)
    return dimshuffle(variable, *order)


def expand_dims(a: Any, axis: Axes) -> Variable:
    """``a`` with new axes that broadcast at the places ``axis`` of the result."""
    variable = core.as_variable(a, "expand_dims")
    count = len(axis_list(axis))
    places = listed_axes("expand_dims", axis, variable.type.ndim + count)
    rest = iter(range(variable.type.ndim))
    total = variable.type.ndim + count
    return dimshuffle(
        variable, *("x" if i in places else next(rest) for i in range(total))
    )


def shape_padaxis(t: Any, axis: int) -> Variable:
    """``t`` with one new axis that broadcasts, at the place ``axis`` of the result."""
    return expand_dims(t, axis)


def squeeze(x: Any, axis: Any = None) -> Variable:
    """``x`` without the axes that broadcast, or without those of ``axis``.

    An axis that is named but not known to broadcast must have length 1 when the program
    runs.
    """
    variable = core.as_variable(x, "squeeze")
    ndim = variable.type.ndim
    if axis is None:
        flags = variable.type.broadcastable
        return dimshuffle(variable, *(i for i, flag in enumerate(flags) if not flag))
    dropped = listed_axes("squeeze", axis, ndim)
    narrow = addbroadcast(variable, *dropped)
    return dimshuffle(narrow, *(i for i in range(ndim) if i not in dropped))


def atleast_nd(x: Any, n: int = 1, left: bool = True) -> Variable:
    """``x`` with new axes that broadcast, on its left or right, until it has ``n``."""
    variable = core.as_variable(x, "atleast_nd")
    missing = max(known_integer("atleast_nd", "n", n) - variable.type.ndim, 0)
    pad = shape_padleft if left else shape_padright
    return pad(variable, missing) if missing else variable


def _each(function: Any, arrays: Sequence[Any]) -> Any:
    results = [function(core.as_variable(array)) for array in arrays]
    return results[0] if len(results) == 1 else results


def atleast_1d(*arrays: Any) -> Any:
    """Each array with one axis at least; a list where several are given."""
    return _each(lambda x: atleast_nd(x, 1), arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Each array with two axes at least, new ones on the left."""
    return _each(lambda x: atleast_nd(x, 2), arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Each array with three axes at least, a vector in the middle, as NumPy's."""

    def at_least(x: Variable) -> Variable:
        if x.type.ndim == 1:
            return dimshuffle(x, "x", 0, "x")
        if x.type.ndim == 2:
            return dimshuffle(x, 0, 1, "x")
        return atleast_nd(x, 3)

    return _each(at_least, arrays)


# ---- agreeing on a shape ----


def broadcast_lengths(arrays: Sequence[Variable]) -> list[Variable]:
    """Return the lengths of an elementwise result of arrays of one rank."""
    lengths = []
    for axis in range(arrays[0].type.ndim):
        wide = [array for array in arrays if not array.type.broadcastable[axis]]
        lengths.append(shape_i((wide or arrays)[0], axis))
    return lengths


def broadcast_arrays(*args: Any) -> list[Variable]:
    """Views of the arrays in the shape that they broadcast to."""
    arrays = [as_tensor_variable(arg) for arg in args]
    ndim = max((array.type.ndim for array in arrays), default=0)
    aligned = [shape_padleft(array, ndim - array.type.ndim) for array in arrays]
    if all(
        array.type.broadcastable == aligned[0].type.broadcastable for array in aligned
    ):
        return aligned
    lengths = broadcast_lengths(aligned)
    return [broadcast_to(array, lengths) for array in aligned]


def broadcast_like(value: Any, template: Any) -> Variable:
    """``value`` repeated to the shape of ``template``."""
    variable, model = as_tensor_variable(value), as_tensor_variable(template)
    if variable.type.ndim > model.type.ndim:
        raise GraphArgumentError(
            f"broadcast_like: given {variable.type}, expected at most the axes of "
            f"{model.type}"
        )
    if variable.type.broadcastable == model.type.broadcastable:
        return variable
    return broadcast_to(variable, broadcast_lengths([model]))


def makeKeepDims(x: Any, y: Any, axis: Any) -> Variable:
    """``y``, a reduction of ``x`` over ``axis``, with the reduced axes of length 1."""
    variable = core.as_variable(x, "makeKeepDims")
    ndim = variable.type.ndim
    axes = list(range(ndim)) if axis is None else listed_axes("axis", axis, ndim)
    rest = iter(range(ndim))
    order = ("x" if i in axes else next(rest) for i in range(ndim))
    return dimshuffle(y, *order)


def get_vector_length(v: Any) -> int:
    """Return a vector's length, if the graph has it. Raises ValueError."""
    variable = core.as_variable(v, "get_vector_length")
    if variable.type.ndim != 1:
        raise GraphArgumentError(
            f"get_vector_length: given {variable} of {variable.type}, expected a vector"
        )
    if variable.type.broadcastable[0]:
        return 1
    known = elements(variable)
    if known is None:
        raise GraphValueError(
            f"get_vector_length: the length of {variable} is known only when the "
            "program runs"
        )
    return len(known)


def is_flat(var: Any, ndim: int = 1) -> bool:
    """True if ``var`` is the result of flattening to ``ndim`` axes, as written."""
    variable = core.as_variable(var, "is_flat")
    if variable.type.ndim != ndim:
        return False
    if ndim == 1 and variable.owner is None:
        return True
    if variable.owner is None or not isinstance(variable.owner.op, Reshape):
        return False
    known = elements(variable.owner.inputs[1])
    return known is not None and is_constant(known[-1], -1)


class SpecifyShape(Op):
    """The same array, whose shape is declared to be a vector's elements.

    ``called`` is what errors begin with: who declares the shape, and of what.
    """

    __props__ = ("called",)

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, called: str = "specify_shape") -> None:
        self.called = called

    def make_node(self, x: Any, lengths: Any) -> Apply:
        """A node over ``x`` and its lengths, a vector of int64 on the host."""
        variable = core.as_variable(x, self.called)
        vector = as_shape(self.called, lengths)
        known = elements(vector)
        flags = list(variable.type.broadcastable)
        if known is not None and len(known) != len(flags):
            raise GraphValueError(
                f"{self.called}: given {len(known)} lengths, expected one for each "
                f"axis of {variable.type}"
            )
        for axis, length in enumerate(known or ()):
            flags[axis] = flags[axis] or is_constant(length, 1)
        output = variable.type.clone(broadcastable=tuple(flags))()
        return Apply(self, [variable, vector], [output])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return (1,)

    def reference(self, x: Any, lengths: Any) -> Any:
        """``x``. Raises ValueError where its shape is another."""
        expected = tuple(int(length) for length in lengths)
        if tuple(x.shape) != expected:
            raise SpecifiedShapeError(
                f"{self.called}: given shape {x.shape}, expected {expected}"
            )
        return x

    def grad(
        self, m: Any, g: Variable, y: Variable, x: Variable, lengths: Variable
    ) -> tuple[Any, None]:
        """Return ``g``, declared to have the same lengths."""
        gradient = m.unbroadcast(g, *range(g.type.ndim)) if g.type.ndim else g
        return m.patternbroadcast(gradient, x.type.broadcastable), None

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require the declared lengths."""
        known = elements(node.inputs[1]) or ()
        for length, declared in zip(input_shapes[0], known, strict=False):
            yield from equal(length, declared)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the declared lengths."""
        known = elements(node.inputs[1])
        return [tuple(input_shapes[0]) if known is None else tuple(known)]

    def __str__(self) -> str:
        return type(self).__name__


def specify_shape(x: Any, lengths: Any) -> Variable:
    """Return ``x``, which must have these lengths when the program runs.

    Rewrites and computed shapes may rely on them. Raises ValueError (an AssertionError,
    too), when the program runs, for another shape.
    """
    result: Variable = SpecifyShape()(x, lengths)
    return result
