"""Reductions of elementwise expressions of several inputs, in one pass.

No user writes them: fusion makes them where only a reduction reads the expression, so
that it is never stored, and where several reductions read one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Composite, Elemwise
from gpuarray.compiler.ops.reduce.argmax import Argmax
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.scalars import Scalar


class Mapped(Op):
    """The op ``reduce`` of ``map`` of the inputs, which has one output."""

    __props__ = ("map", "reduce")

    def __init__(self, map: Elemwise, reduce: Any) -> None:
        self.map = map
        self.reduce = reduce

    @property
    def composite(self) -> Scalar | Composite | Cast:
        """The scalar operation that is applied before reducing."""
        return self.map.scalar

    def make_node(self, *inputs: Any) -> Apply:
        """A node over the inputs of the map."""
        inner = self.map.make_node(*inputs)
        outer = self.reduce.make_node(inner.out)
        return Apply(self, inner.inputs, [out.type() for out in outer.outputs])

    def reference(self, *arrays: Any) -> Any:
        """The reduction of the mapped arrays, with NumPy."""
        result = self.map.reference(*arrays)
        return self.reduce.reference(result[0] if isinstance(result, tuple) else result)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the map and the reduction as nodes of their own."""
        return [self.reduce(self.map(*inputs))]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the shape of the map's result without the reduced axes."""
        inner = self.map.make_node(*node.inputs)
        shapes = self.map.infer_shape(inner, input_shapes)
        outer = self.reduce.make_node(inner.out)
        lengths: list[tuple[Any, ...]] = self.reduce.infer_shape(outer, shapes)
        return lengths

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.reduce} of {self.map}}}"


class MapReduce(Mapped):
    """The reduction ``reduce`` of ``map`` of the inputs, which has one output."""

    reduce: Reduce


class MapArgmax(Mapped):
    """The argmax or argmin ``reduce`` of ``map`` of the inputs, which has one output.

    Fusion makes it where the map draws: so a choice by Gumbel noise stores no noise.
    """

    reduce: Argmax


class MapReduces(Op):
    """Several reductions over the same axes, in one pass over the inputs.

    Output ``i`` is the reduction ``reduces[i]`` of output ``i`` of ``map``.
    """

    __props__ = ("map", "reduces")

    def __init__(self, map: Elemwise, reduces: Sequence[Reduce]) -> None:
        self.map = map
        self.reduces = tuple(reduces)

    def make_node(self, *inputs: Any) -> Apply:
        """A node over the inputs of the map."""
        inner = self.map.make_node(*inputs)
        outer = [
            reduce.make_node(output)
            for reduce, output in zip(self.reduces, inner.outputs, strict=True)
        ]
        return Apply(self, inner.inputs, [node.outputs[0].type() for node in outer])

    def reference(self, *arrays: Any) -> Any:
        """The reductions of the mapped arrays, with NumPy."""
        mapped = self.map.reference(*arrays)
        return tuple(
            reduce.reference(array)
            for reduce, array in zip(self.reduces, mapped, strict=True)
        )

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The map and the reductions as nodes of their own."""
        mapped = self.map.make_node(*inputs).outputs
        return [
            reduce(variable)
            for reduce, variable in zip(self.reduces, mapped, strict=True)
        ]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the shape of the map's results without the reduced axes."""
        inner = self.map.make_node(*node.inputs)
        shapes = self.map.infer_shape(inner, input_shapes)
        return [
            self.reduces[0].infer_shape(inner, [shapes[0]])[0] for _ in node.outputs
        ]

    def __str__(self) -> str:
        reduces = ", ".join(map(str, self.reduces))
        return f"{type(self).__name__}{{{reduces} of {self.map}}}"
