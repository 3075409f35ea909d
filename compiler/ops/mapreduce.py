"""MapReduce: a reduction of an elementwise expression of several inputs, in one go.

No user writes it: fusion makes it where nothing but the reduction reads the
expression, so that the expression is never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.ops.elemwise import Cast, Composite, Elemwise
from gpuarray.compiler.ops.reduce import Reduce
from gpuarray.scalars import Scalar


class MapReduce(Op):
    """The reduction ``reduce`` of what ``map``, of one output, makes of the inputs."""

    __props__ = ("map", "reduce")

    def __init__(self, map: Elemwise, reduce: Reduce) -> None:
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

    def pull_back(
        self,
        m: Any,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_gradients: Sequence[Variable | None],
    ) -> list[Variable | None]:
        """What flows back through the reduction and then through the map."""
        unfolded = self.reduce(self.map(*inputs))
        return list(m.known_gradients([unfolded], output_gradients, inputs))

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The shape of the map's result without the axes that are reduced."""
        inner = self.map.make_node(*node.inputs)
        shapes = self.map.infer_shape(inner, input_shapes)
        return self.reduce.infer_shape(self.reduce.make_node(inner.out), shapes)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.reduce} of {self.map}}}"
