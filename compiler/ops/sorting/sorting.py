"""Sort, argsort, the largest elements of an axis, indexing along an axis."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphIndexKindError,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, SameShapeOp, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType, dtype_name
from gpuarray.compiler.ops.control.anyaxis import for_axis
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index, set_subtensor
from gpuarray.compiler.ops.shape.shape import dimshuffle, flatten, shape_i
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    is_constant,
    known_integer,
    normalise_axis,
)

KINDS = ("quicksort", "mergesort", "heapsort", "stable", None)


class Sort(SameShapeOp):
    """The elements in order along ``axis``; nan comes last."""

    __props__ = ("axis",)

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def make_node(self, x: Any) -> Apply:
        """A node over an array of one axis or more."""
        variable = as_tensor_variable(x)
        op = type(self)(normalise_axis(str(self), self.axis, variable.type.ndim))
        return Apply(op, [variable], [op.output_type(variable.type)()])

    def output_type(self, input_type: Any) -> TensorType:
        """Return the type of the result for an input type."""
        kind: TensorType = input_type.clone()
        return kind

    def reference(self, x: Any) -> Any:
        """The sorted array."""
        return np.sort(x, self.axis, kind="stable")

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Any:
        """Return ``g`` with each element at its element's original index."""
        order = argsort(x, self.axis)
        return put_along_axis(m.zeros_like(g), order, g, self.axis)


class ArgSort(Sort):
    """The indices, int64, that sort the elements along ``axis``.

    Equal elements keep their order.
    """

    def output_type(self, input_type: Any) -> TensorType:
        """int64."""
        kind: TensorType = input_type.clone(dtype="int64")
        return kind

    def reference(self, x: Any) -> Any:
        """Return the indices."""
        return np.argsort(x, self.axis, kind="stable").astype("int64")

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> None:
        """Return None: indices are integers."""


class ArgSortRandom(ArgSort):
    """The same for random bits, uint64, hardly two of which have equal upper halves."""


def _sorted(
    name: str, op: type[Sort], a: Any, axis: Any, kind: Any, order: Any
) -> Variable:
    """Return the op's node over ``a``, for an axis, None or a scalar variable."""
    variable = as_tensor_variable(a)
    if kind not in KINDS:
        raise GraphValueError(f"{name}: kind is {kind!r}, expected one of {KINDS}")
    if order is not None:
        raise NotOfferedError(
            f"{name}: order={order!r} is for dtypes with fields, which are not offered"
        )
    if axis is None:
        variable, axis = flatten(variable), 0
    ndim = variable.type.ndim
    result: Variable = for_axis(name, axis, ndim, lambda along: op(along)(variable))
    return result


def sort(
    a: Any, axis: Any = -1, kind: Any = "quicksort", order: Any = None
) -> Variable:
    """Return the elements in order along ``axis`` (None: all of them); nan comes last.

    ``kind`` is one of NumPy's names; any kind keeps the order of equal elements.
    ``axis`` may be a scalar variable of integers, which the program waits for.
    """
    return _sorted("sort", Sort, a, axis, kind, order)


def argsort(
    a: Any, axis: Any = -1, kind: Any = "quicksort", order: Any = None
) -> Variable:
    """Return the indices (int64) that sort ``a`` along ``axis`` (None: as a vector)."""
    return _sorted("argsort", ArgSort, a, axis, kind, order)


# ---- the largest elements ----


class TopK(Op):
    """The ``k`` largest elements along ``axis``, largest first, and their indices.

    For ``k`` below 0 the ``-k`` smallest. nan counts as largest; of equal elements
    those with the smallest indices are selected.
    """

    __props__ = ("axis", "idx_dtype")

    def __init__(self, axis: int = -1, idx_dtype: Any = "int64") -> None:
        self.axis = axis
        self.idx_dtype = dtype_name(idx_dtype)
        if self.idx_dtype[0] not in "iu":
            raise GraphTypeError(
                f"topk: idx_dtype is {self.idx_dtype}, expected integers"
            )

    def make_node(self, x: Any, k: Any) -> Apply:
        """A node over an array and an integer scalar on the host."""
        variable = as_tensor_variable(x)
        count = as_length("topk", k, "kth")
        axis = normalise_axis("topk", self.axis, variable.type.ndim)
        if is_constant(count, 0):
            raise GraphValueError("topk: kth is 0, expected another integer")
        pattern = list(variable.type.broadcastable)
        pattern[axis] = isinstance(count, Constant) and abs(count.data.item()) == 1
        values = variable.type.clone(broadcastable=tuple(pattern))
        op = type(self)(axis, self.idx_dtype)
        places = values.clone(dtype=self.idx_dtype)
        return Apply(op, [variable, count], [values(), places()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The number of elements."""
        return (1,)

    def reference(self, x: Any, k: Any) -> tuple[Any, Any]:
        """Return values and indices. Raises ValueError for more than the axis has."""
        count, length = abs(int(k)), x.shape[self.axis]
        if not 1 <= count <= length:
            raise GraphValueError(
                f"topk: kth is {int(k)} for axis {self.axis} of length {length}"
            )
        places = np.arange(length)
        if k > 0:  # stable from the end, so that equal elements keep their order
            back = np.flip(x, self.axis)
            order = np.flip(np.argsort(back, self.axis, kind="stable"), self.axis)
            order = places[::-1][order]
        else:
            order = np.argsort(x, self.axis, kind="stable")
        order = np.take(order, places[:count], axis=self.axis)
        values = np.take_along_axis(x, order, self.axis)
        return values, order.astype(self.idx_dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradient of the values at their indices, zeros elsewhere."""
        g, x = output_gradients[0], inputs[0]
        if g is None:
            return [None, None]
        zeros = math.zeros_like(x)
        return [put_along_axis(zeros, outputs[1], g, self.axis), None]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The shape of the input, with ``k`` elements along the axis."""
        lengths, count = list(input_shapes[0]), node.inputs[1]
        if isinstance(count, Constant):
            lengths[self.axis] = core.constant(abs(count.data.item()), "int64")
        else:
            lengths[self.axis] = math.maximum(count, 0 - count)
        return [tuple(lengths), tuple(lengths)]


def topk_and_argtopk(
    x: Any, kth: Any, axis: Any = -1, sorted: bool = True, idx_dtype: Any = "int64"
) -> list[Variable]:
    """The ``kth`` largest elements along ``axis`` (None: of all) and their indices.

    The largest comes first; for a negative ``kth`` they are the smallest, smallest
    first. ``kth`` is an integer or an integer scalar, not 0. They are in order whatever
    ``sorted`` is.
    """
    variable = as_tensor_variable(x)
    if axis is None:
        variable, axis = flatten(variable), 0
    along = known_integer("topk", "axis", axis)
    results: list[Variable] = TopK(along, idx_dtype)(variable, kth)
    return results


def topk(
    x: Any, kth: Any, axis: Any = -1, sorted: bool = True, idx_dtype: Any = "int64"
) -> Variable:
    """The ``kth`` largest elements along ``axis``, as ``topk_and_argtopk``."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[0]


def argtopk(
    x: Any, kth: Any, axis: Any = -1, sorted: bool = True, idx_dtype: Any = "int64"
) -> Variable:
    """Return the indices of the ``kth`` largest elements, as ``topk_and_argtopk``."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[1]


# ---- indices along an axis ----


def along_axis(x: Variable, places: Variable, axis: int) -> tuple[Variable, ...]:
    """Return an index: ``places`` along an axis, and each position along the others."""
    ndim = x.type.ndim
    key = []
    for dimension in range(ndim):
        order: list[Any] = ["x"] * ndim
        order[dimension] = 0
        line = places if dimension == axis else counted(shape_i(x, dimension))
        key.append(line if dimension == axis else dimshuffle(line, *order))
    return tuple(key)


def take_along_axis(x: Any, indices: Any, axis: Any = -1) -> Variable:
    """Return elements at ``indices`` along ``axis``, for each position on other axes.

    ``indices`` have the rank of ``x``, and its lengths but on ``axis``.
    """
    variable, places = as_tensor_variable(x), as_tensor_variable(indices)
    if places.type.dtype[0] not in "iu" or places.type.ndim != variable.type.ndim:
        raise GraphIndexKindError(
            f"take_along_axis: indices are {places} of {places.type}, expected "
            f"integers of {variable.type.ndim} axes"
        )
    along = normalise_axis("take_along_axis", axis, variable.type.ndim)
    return index(variable, along_axis(variable, places, along))


def put_along_axis(x: Any, indices: Any, values: Any, axis: Any = -1) -> Variable:
    """Return ``x`` with ``values`` at ``indices``, as ``take_along_axis``."""
    return set_subtensor(take_along_axis(x, indices, axis), values)
