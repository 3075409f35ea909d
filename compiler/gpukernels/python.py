"""Ops written in Python: `perform`, on the host or on device arrays, or a thunk."""

from __future__ import annotations

from functools import lru_cache
from threading import RLock
from typing import Any

import numpy as np
from gpuarray._core.opening import current_context
from gpuarray._creation.conversion import asarray
from gpuarray._interop import cuda_array_interface
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.gpukernels.batching import on_host
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.types import GpuArrayType


@lowers(Op)
def lower_python(op: Op, node: Apply, k: Lowerer) -> None:
    """Lower to a pause in which Python computes the node.

    It serves ops without a lowering of their own that have `perform`, `make_thunk` or a
    reference. The thunk of an op with ``make_thunk`` gets device arrays, and so does
    ``perform`` where the op's node has such types.
    """
    types = own_types(node)
    if hasattr(op, "make_thunk"):
        name = "thunk"
        if not has_own_types(node):
            types = tuple(v.type for v in (*node.inputs, *node.outputs))
    else:
        name = "perform" if has_own_types(node) else "reference"
    k.call(node, name, node.inputs, {"op": op, "types": types}, recorded=False)


def has_own_types(node: Apply) -> bool:
    """True if the op made the node with arrays of a context, which placement keeps."""
    return hasattr(node.outputs[0].tag, "own_types")


def own_types(node: Apply) -> tuple[Any, ...]:
    """Return the types that the op made the node with, inputs before outputs."""
    if has_own_types(node):
        types: tuple[Any, ...] = node.outputs[0].tag.own_types
        return types
    return tuple(on_host(variable.type) for variable in (*node.inputs, *node.outputs))


def as_own(kind: Any, value: Any) -> Any:
    """Return a device array as it is, another value as the type's NumPy array."""
    return value if isinstance(kind, GpuArrayType) else kind.filter(np.asarray(value))


@step_function("perform")
def perform(*values: Any, op: Op, types: tuple[Any, ...]) -> tuple[Array, ...]:
    """Return the results of the op's ``perform`` on device arrays."""
    args = [as_own(kind, value) for kind, value in zip(types, values, strict=False)]
    inputs = [kind() for kind in types[: len(values)]]
    node = Apply(op, inputs, [kind() for kind in types[len(values) :]])
    results = zip(node.outputs, op.performed(node, args), strict=True)
    return tuple(
        device_array(node, variable.type, value) for variable, value in results
    )


class OpThunk:
    """The thunk of an op's ``make_thunk`` for a node, and its cells.

    One thread runs it at a time; it may call a function that runs it again.
    """

    def __init__(self, op: Any, types: tuple[Any, ...], n_inputs: int) -> None:
        variables = [kind() for kind in types]
        self.node = Apply(op, variables[:n_inputs], variables[n_inputs:])
        self.cells: dict[Any, list[Any]] = {variable: [None] for variable in variables}
        computed = {variable: [True] for variable in variables[:n_inputs]}
        computed |= {variable: [False] for variable in self.node.outputs}
        self.run = op.make_thunk(self.node, self.cells, computed, [])
        self.lock = RLock()

    def __call__(self, values: tuple[Any, ...]) -> tuple[Array, ...]:
        """Return the outputs for these inputs; the cells keep none of them."""
        cells = dict.fromkeys(self.node.outputs)
        for variable, value in zip(self.node.inputs, values, strict=True):
            cells[variable] = as_own(variable.type, value)
        with self.lock:
            before = self._exchanged(cells)
            try:
                self.run()
                return tuple(
                    device_array(self.node, output.type, self.cells[output][0])
                    for output in self.node.outputs
                )
            finally:
                self._exchanged(before)

    def _exchanged(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Put values into cells and return what they held before."""
        before = {variable: cell[0] for variable, cell in self.cells.items()}
        for variable, value in values.items():
            self.cells[variable][0] = value
        return before


def device_array(node: Apply, kind: Any, value: Any) -> Array:
    """Return a result as an array of the current context.

    Another library's array on the device is wrapped without a copy. Raises TypeError
    for a value of another type, ValueError for an array of another context.
    """
    if value is None:
        raise GraphTypeError(
            f"{node.op}: an output of {kind} was not computed; put it in its cell, "
            "output_storage[i][0]"
        )
    array = as_array(value)
    here = current_context()
    if array.context is not here:
        raise GraphValueError(
            f"{node.op}: computed an array on {array.context.name}, expected one on "
            f"{here.name if here else None}, where its inputs are; give what makes it "
            "the context of an input"
        )
    if array.dtype.name != kind.dtype or array.ndim != kind.ndim:
        raise GraphTypeError(
            f"{node.op}: computed {array.dtype} of {array.ndim} axes, expected {kind}"
        )
    return array


def as_array(value: Any) -> Array:
    """Return an op's result as an array, host values on the current context."""
    if isinstance(value, Array):
        return value
    if cuda_array_interface.is_foreign(value):
        return asarray(value)
    host = value if hasattr(type(value), "__dlpack__") else np.asarray(value)
    return asarray(host, context=current_context())


@lru_cache(maxsize=256)
def thunk_of(op: Op, types: tuple[Any, ...], n_inputs: int, context: Any) -> OpThunk:
    """Return the op's thunk for these types, cached by context."""
    return OpThunk(op, types, n_inputs)


@step_function("thunk")
def thunk(*arrays: Any, op: Op, types: tuple[Any, ...]) -> tuple[Array, ...]:
    """Return the results of the op's thunk on the arrays."""
    return thunk_of(op, types, len(arrays), current_context())(arrays)
