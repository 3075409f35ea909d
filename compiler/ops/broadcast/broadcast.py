"""Broadcasting: repeated axes, and declared broadcastable axes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import Pattern, pattern_name
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import as_shape, elements, known_ones
from gpuarray.compiler.ops.variables.basic import normalise_axis


class BroadcastTo(Op):
    """A view of ``x`` in a larger shape: axes that broadcast and new ones repeat.

    New axes stand on the left. An axis that does not broadcast keeps its length.
    """

    __props__ = ("ndim",)

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    def make_node(self, x: Any, lengths: Any) -> Apply:
        """A node over ``x`` and the shape, a vector of int64 on the host."""
        variable = core.as_variable(x, "broadcast_to")
        vector = as_shape("broadcast_to", lengths)
        pattern = known_ones(vector, self.ndim)
        if len(pattern) != self.ndim or variable.type.ndim > self.ndim:
            raise GraphArgumentError(
                f"broadcast_to: given {variable.type} and {len(pattern)} lengths, "
                f"expected ndim={self.ndim} lengths and no more axes than that"
            )
        output = variable.type.clone(broadcastable=pattern)()
        return Apply(self, [variable, vector], [output])

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """``x`` repeated. Raises ValueError for axes that do not broadcast."""
        x, lengths = arrays
        flags = node.inputs[0].type.broadcastable
        target = [int(length) for length in lengths]
        for axis in range(1, x.ndim + 1):
            if not flags[-axis] and x.shape[-axis] != target[-axis]:
                raise GraphValueError(
                    f"broadcast_to: axis {x.ndim - axis} has length {x.shape[-axis]}, "
                    f"expected {target[-axis]}: it does not broadcast"
                )
        return [self.reference(x, lengths)]

    def reference(self, x: Any, lengths: Any) -> Any:
        """``x`` repeated."""
        return np.broadcast_to(x, tuple(int(length) for length in lengths))

    def grad(
        self, m: Any, g: Variable, y: Variable, x: Variable, lengths: Variable
    ) -> tuple[Any, None]:
        """Return ``g`` summed over the repeated axes."""
        return m.sum_to(g, x), None

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return (1,)

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require that other axes keep their lengths, and that none is negative."""
        x, new_lengths = node.inputs[0], elements(node.inputs[1])
        extra = self.ndim - x.type.ndim
        zero = core.constant(0, "int64")
        for axis, length in enumerate(new_lengths or ()):
            if axis >= extra and not x.type.broadcastable[axis - extra]:
                yield from equal(length, input_shapes[0][axis - extra])
            elif not isinstance(length, core.Constant) or length.data < 0:
                yield from equal(math.minimum(length, zero), zero)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the new lengths."""
        new_lengths = elements(node.inputs[1])
        return [(None,) * self.ndim if new_lengths is None else tuple(new_lengths)]

    def __str__(self) -> str:
        return f"BroadcastTo{{{self.ndim}}}"


def broadcast_to(x: Any, lengths: Any, ndim: int | None = None) -> Variable:
    """Return a view of ``x`` in a larger shape; a variable shape needs ``ndim``."""
    vector = as_shape("broadcast_to", lengths)
    if ndim is None:
        known = elements(vector)
        if known is None:
            raise GraphValueError(
                f"broadcast_to: the number of lengths in {vector} is not known; give "
                "ndim"
            )
        ndim = len(known)
    result: Variable = BroadcastTo(ndim)(x, vector)
    return result


class Rebroadcast(Op):
    """The same array with other axes declared broadcastable: they have length 1."""

    __props__ = ("broadcastable",)

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, broadcastable: Sequence[bool]) -> None:
        self.broadcastable: Pattern = tuple(map(bool, broadcastable))

    def infer(self, x: Any) -> Any:
        """The type of ``x`` with the op's pattern."""
        if x.ndim != len(self.broadcastable):
            raise GraphArgumentError(
                f"{self}: given {x}, expected {len(self.broadcastable)} axes"
            )
        return x.clone(broadcastable=self.broadcastable)

    def reference(self, x: Any) -> Any:
        """``x``. Raises ValueError where an axis should have length 1."""
        for axis, flag in enumerate(self.broadcastable):
            if flag and x.shape[axis] != 1:
                raise GraphValueError(
                    f"{self}: axis {axis} has length {x.shape[axis]}, expected 1"
                )
        return x

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """``g`` with the pattern of ``x``."""
        return patternbroadcast(g, x.type.broadcastable)

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require length 1 of axes declared broadcastable."""
        one = core.constant(1, "int64")
        input_flags = node.inputs[0].type.broadcastable
        for axis, flag in enumerate(self.broadcastable):
            if flag and not input_flags[axis]:
                yield from equal(input_shapes[0][axis], one)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of the input, 1 where the axis broadcasts."""
        one = core.constant(1, "int64")
        lengths = zip(input_shapes[0], self.broadcastable, strict=True)
        return [tuple(one if flag else length for length, flag in lengths)]

    def pretty(self, *texts: str) -> str:
        """The operand."""
        return texts[0]

    def __str__(self) -> str:
        return f"Rebroadcast{{{pattern_name(self.broadcastable)}}}"


def patternbroadcast(x: Any, broadcastable: Sequence[bool]) -> Variable:
    """Return ``x`` with exactly these axes declared broadcastable."""
    variable = core.as_variable(x, "patternbroadcast")
    if variable.type.broadcastable == tuple(broadcastable):
        return variable
    result: Variable = Rebroadcast(broadcastable)(variable)
    return result


def _with_flags(name: str, x: Any, axes: Sequence[int], flag: bool) -> Variable:
    variable = core.as_variable(x, name)
    pattern = list(variable.type.broadcastable)
    for axis in axes:
        pattern[normalise_axis(name, axis, len(pattern))] = flag
    return patternbroadcast(variable, pattern)


def addbroadcast(x: Any, *axes: int) -> Variable:
    """Return ``x`` with ``axes`` declared broadcastable: they must have length 1."""
    return _with_flags("addbroadcast", x, axes, True)


def unbroadcast(x: Any, *axes: int) -> Variable:
    """Return ``x`` with ``axes`` declared not broadcastable."""
    return _with_flags("unbroadcast", x, axes, False)
