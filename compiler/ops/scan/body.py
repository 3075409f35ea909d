"""The body of a loop: the graph of one iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import (
    clone,
    clone_replace,
    evaluated,
    inputs_of,
    same_graph,
    toposort,
)
from gpuarray.compiler.graph.types import ArrayType
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle, Shape, Shape_i
from gpuarray.dtypes import kind_of


class Body:
    """An immutable graph from ``inputs``, variables of its own, to ``outputs``.

    Bodies compare and hash by value: equal if they compute the same outputs from inputs
    of the same types.
    """

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    def on(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the outputs with other variables in place of the inputs."""
        known = dict(zip(self.inputs, inputs, strict=True))
        return clone_replace(self.outputs, known)

    def cloned(self) -> Body:
        """Return a copy of the graph on fresh variables."""
        memo: dict[Variable, Variable] = {x: x.clone() for x in self.inputs}
        outputs = clone(self.outputs, memo)
        return Body([memo[x] for x in self.inputs], outputs)

    @cached_property
    def _copies(self) -> list[Body]:
        return []

    def take_copy(self) -> Body:
        """Return a copy as `cloned` does: one that was given back, or a new one."""
        try:
            return self._copies.pop()
        except IndexError:
            return self.cloned()

    def give_back(self, copy: Body) -> None:
        """Keep a copy that nothing refers to, for the next `take_copy`."""
        self._copies.append(copy)

    def evaluate(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs, computed with NumPy."""
        known = dict(zip(self.inputs, arrays, strict=True))
        return evaluated(self.outputs, known, self.nodes)

    @cached_property
    def graph(self) -> FunctionGraph:
        """The body as a `FunctionGraph`: its order runs readers before overwriters."""
        return FunctionGraph(self.inputs, self.outputs)

    @cached_property
    def nodes(self) -> list[Apply]:
        """The nodes in topological order."""
        return toposort(self.outputs, blockers=self.inputs)

    @cached_property
    def behind(self) -> list[frozenset[int]]:
        """The dependencies of each output: the indices of the inputs that it reads."""
        positions = {x: i for i, x in enumerate(self.inputs)}
        return [
            frozenset(
                positions[x] for x in inputs_of([output], positions) if x in positions
            )
            for output in self.outputs
        ]

    @cached_property
    def on_host(self) -> frozenset[int]:
        """The indices of the inputs that determine shapes: the host must know them."""
        needed = {
            node.inputs[i] for node in self.nodes for i in node.op.host_inputs(node)
        }
        for node in reversed(self.nodes):
            if not needed.isdisjoint(node.outputs) and not is_measured(node):
                needed.update(x for x in node.inputs if is_integer(x))
        return frozenset(
            i for i, x in enumerate(self.inputs) if x in needed and is_integer(x)
        )

    @cached_property
    def is_one_kernel(self) -> bool:
        """True if element i of each output depends on element i of the inputs only.

        And on reductions of all elements of an iteration to one.
        """
        return all(
            isinstance(node.op, Elemwise | DimShuffle | Shape | Shape_i)
            or (isinstance(node.op, Reduce) and node.outputs[0].type.ndim == 0)
            for node in self.nodes
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Body):
            return NotImplemented
        if self._form != other._form:
            return False
        pairs = dict(zip(self.inputs, other.inputs, strict=True))
        return all(
            same_graph(a, b, pairs)
            for a, b in zip(self.outputs, other.outputs, strict=True)
        )

    def __hash__(self) -> int:
        return hash(self._form)

    @cached_property
    def _form(self) -> tuple[Any, ...]:
        kinds = tuple(x.type for x in (*self.inputs, *self.outputs))
        return len(self.inputs), len(self.nodes), kinds

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, v)) for v in (self.inputs, self.outputs))
        return f"Body(({inputs}) -> ({outputs}))"

    def __getstate__(self) -> Mapping[str, Any]:
        return {"inputs": self.inputs, "outputs": self.outputs}


def is_integer(variable: Variable) -> bool:
    """True for an integer scalar that is no constant."""
    kind = variable.type
    if isinstance(variable, Constant) or not isinstance(kind, ArrayType):
        return False
    return kind.ndim == 0 and kind_of(kind.numpy_dtype) in "biu"


def is_measured(node: Apply) -> bool:
    """True if the node reads only the shape of its input, no elements."""
    return isinstance(node.op, Shape | Shape_i)
