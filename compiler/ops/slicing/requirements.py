"""Requirements of lengths that rewriting would have lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Apply, SameShapeOp, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.requirements import Requirement
from gpuarray.compiler.ops.slicing.subtensor import check_range


class OfIntegers(SameShapeOp):
    """The base of views of an array that fail unless two integers fit."""

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def infer(self, x: Any, left: Any, right: Any) -> Any:
        """The type of the array."""
        return x

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The integers."""
        return (1, 2)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """The gradient itself."""
        return [*output_gradients, None, None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Disconnect the integers."""
        return [[True], [False], [False]]


class Requires(OfIntegers):
    """An array; raises unless a relation of two integers holds.

    No user writes it: rewriting puts it at an output for a node of the original graph
    that would have raised. It is a view; its relation depends on lengths, so a call
    with known lengths does not check again. ``called`` is the operation that would have
    raised.
    """

    __props__ = ("relation", "called")

    def __init__(self, relation: str, called: str) -> None:
        self.relation = relation
        self.called = called

    def reference(self, x: Any, left: Any, right: Any) -> Any:
        """The array. Raises IndexError or ValueError."""
        if self.relation == "within":
            check_range(int(left), int(left), 0, int(right))
        elif int(left) != int(right):
            raise GraphValueError(
                f"{self.called}: lengths {int(left)} and {int(right)} do not fit"
            )
        return x

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.relation}}}"


def required(x: Variable, wanted: Requirement, called: str) -> Variable:
    """Return ``x``, with a requirement of the operation ``called``."""
    result: Variable = Requires(wanted.relation, called)(x, wanted.left, wanted.right)
    return result
