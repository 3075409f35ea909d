"""Ops written in Python: `perform` on the host, or a thunk on the device's arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.maprows import on_host
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.context import current_context
from gpuarray.creation import asarray


@lowers(Op)
def lower_python(op: Op, node: Apply, k: Lowerer) -> None:
    """A pause in which Python computes the node.

    It is found for ops without a lowering of their own that have `perform`,
    `make_thunk` or a reference. The thunk of an op with ``make_thunk`` gets device
    arrays.
    """
    name = "thunk" if hasattr(op, "make_thunk") else "reference"
    kinds = [each.type for each in (*node.inputs, *node.outputs)]
    types = tuple(kinds if name == "thunk" else map(on_host, kinds))
    k.call(node, name, node.inputs, {"op": op, "types": types}, recorded=False)


class Thunk:
    """What an op's ``make_thunk`` gave for a node, with the cells that it works on."""

    def __init__(self, op: Any, types: tuple[Any, ...], n_inputs: int) -> None:
        variables = [kind() for kind in types]
        self.node = Apply(op, variables[:n_inputs], variables[n_inputs:])
        self.cells: dict[Any, list[Any]] = {each: [None] for each in variables}
        computed = {each: [True] for each in variables[:n_inputs]}
        computed |= {each: [False] for each in self.node.outputs}
        self.run = op.make_thunk(self.node, self.cells, computed, [])

    def __call__(self, values: tuple[Any, ...]) -> tuple[Array, ...]:
        """The outputs for these inputs; the cells keep none of them."""
        for variable, value in zip(self.node.inputs, values, strict=True):
            self.cells[variable][0] = value
        try:
            self.run()
            return tuple(
                device_array(self.node, each.type, self.cells[each][0])
                for each in self.node.outputs
            )
        finally:
            for cell in self.cells.values():
                cell[0] = None


def device_array(node: Apply, kind: Any, value: Any) -> Array:
    """A result on the context. Raises TypeError for what the type does not hold."""
    array: Array = value
    if not isinstance(value, Array):
        array = asarray(np.asarray(value), context=current_context())
    if array.dtype.name != kind.dtype or array.ndim != kind.ndim:
        raise GraphTypeError(
            f"{node.op}: the thunk gave {array.dtype} of {array.ndim} axes, expected "
            f"{kind}"
        )
    return array


@lru_cache(maxsize=256)
def thunk_of(op: Op, types: tuple[Any, ...], n_inputs: int, context: Any) -> Thunk:
    """The thunk of an op for these types; made once a context."""
    return Thunk(op, types, n_inputs)


@step_function("thunk")
def thunk(*arrays: Any, op: Op, types: tuple[Any, ...]) -> tuple[Array, ...]:
    """What the op's thunk makes of the arrays."""
    return thunk_of(op, types, len(arrays), current_context())(arrays)
