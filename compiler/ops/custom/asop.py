"""Ops made of Python functions, computed on the host."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.op import declared_types
from gpuarray.compiler.graph.types import Type
from gpuarray.compiler.ops.custom.decorated import another, found
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class FromFunctionOp(Op):
    """The op of a Python function of arrays, as `as_op` makes it.

    It has no gradient: an op with one is a class with ``perform`` and ``grad``.
    """

    __props__ = ("function", "itypes", "otypes", "shapes")

    def __init__(
        self,
        function: Callable[..., Any],
        itypes: tuple[Type, ...],
        otypes: tuple[Type, ...],
        shapes: Callable[..., Any] | None,
    ) -> None:
        self.function = function
        self.itypes = itypes
        self.otypes = otypes
        self.shapes = shapes

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node; its inputs must have the op's types."""
        return super().make_node(*map(as_tensor_variable, inputs))

    def perform(self, node: Apply, inputs: list[Any], outputs: list[list[Any]]) -> None:
        """Store the function's results."""
        result = self.function(*inputs)
        several = isinstance(result, (tuple, list))
        results = list(result) if several else [result]
        if len(results) != len(outputs):
            raise GraphValueError(
                f"{self}: the function gave {len(results)} arrays, expected "
                f"{len(outputs)}"
            )
        for cell, value in zip(outputs, results, strict=True):
            cell[0] = value

    def infer_shape(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """Return the shapes by the ``infer_shape`` of `as_op`."""
        if self.shapes is None:
            return super().infer_shape(node, input_shapes)
        shapes = self.shapes(node, [tuple(shape) for shape in input_shapes])
        return [tuple(shape) for shape in shapes]

    def __str__(self) -> str:
        return f"FromFunctionOp{{{self.function.__name__}}}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by the function's name if the op has it, as a decorated one."""
        module, name = self.function.__module__, self.function.__qualname__
        if getattr(sys.modules.get(module), name, None) == self:
            return found, ("as_op", module, name)
        return FromFunctionOp, tuple(getattr(self, prop) for prop in self.__props__)

    def __copy__(self) -> FromFunctionOp:
        """Return a copy that is not found by the function's name."""
        return another(self)


def as_op(
    itypes: Any, otypes: Any, infer_shape: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """Make an op of the decorated function of NumPy arrays.

    ``itypes`` and ``otypes`` are the types of its inputs and outputs, or constructors
    of variables. ``infer_shape(node, input_shapes)`` gives the outputs' shapes, a list
    of tuples. The result of a call is a variable.

    >>> from gpuarray.compiler import tensor as T
    >>> @as_op(itypes=[T.dvector], otypes=[T.dvector])
    ... def twice(x):
    ...     return 2 * x
    >>> print(twice(T.dvector("x")).owner)
    FromFunctionOp{twice}(x)
    """
    inputs = declared_types("as_op: itypes", itypes)
    outputs = declared_types("as_op: otypes", otypes)

    def make(function: Callable[..., Any]) -> FromFunctionOp:
        return FromFunctionOp(function, inputs, outputs, infer_shape)

    return make
