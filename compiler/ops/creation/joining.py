"""Joins, stacks and splits of arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.control.anyaxis import for_axis
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import (
    as_shape,
    dimshuffle,
    elements,
    known_ones,
    shape_i,
)
from gpuarray.compiler.ops.variables.basic import (
    MakeVector,
    as_tensor_variable,
    is_constant,
    known_integer,
    normalise_axis,
    offered,
)


def common_dtype(variables: Sequence[Variable]) -> str:
    """Return the common dtype of variables, by NumPy's promotion.

    Under the cast policy ``numpy+floatX`` with floatX=float32, float64 that NumPy
    promotes to without need is float32.
    """
    dtypes = [variable.type.dtype for variable in variables]
    joint = np.result_type(*map(np.dtype, dtypes)).name
    widened = joint == "float64" and "float64" not in dtypes
    if widened and config.cast_policy == "numpy+floatX" and config.floatX == "float32":
        return "float32"
    return joint


def as_length(name: str, value: Any, what: str = "a length") -> Variable:
    """Return ``value`` as a scalar of int64; errors name the operation."""
    scalar = as_tensor_variable(value)
    if scalar.type.ndim != 0 or scalar.type.dtype[0] not in "iu":
        raise GraphTypeError(
            f"{name}: {what} is {scalar} of {scalar.type}, expected an integer"
        )
    if isinstance(scalar, Constant):
        return core.constant(scalar.data.item(), "int64")
    return math.cast(scalar, "int64")


def product(a: Variable, b: Variable) -> Variable:
    """Return the product of two lengths, a constant if both are."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        return core.constant(a.data.item() * b.data.item(), "int64")
    return b if is_constant(a, 1) else math.mul(a, b)


# ---- joins ----


class Join(Op):
    """The inputs joined along ``axis``, in their common dtype."""

    __props__ = ("axis",)

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def make_node(self, *arrays: Any) -> Apply:
        """Return a node over arrays whose shapes differ on ``axis`` only."""
        operands = [as_tensor_variable(array) for array in arrays]
        if not operands:
            raise GraphValueError("join: given no arrays, expected one or more")
        ndim = _joint_ndim(operands)
        op = Join(normalise_axis("join", self.axis, ndim))
        dtype = common_dtype(operands)
        inputs = [math.cast(operand, dtype) for operand in operands]
        patterns = [operand.type.broadcastable for operand in inputs]
        pattern = [any(flags) for flags in zip(*patterns, strict=True)]
        pattern[op.axis] = len(inputs) == 1 and patterns[0][op.axis]
        return Apply(op, inputs, [TensorType(dtype, tuple(pattern))()])

    def reference(self, *arrays: Any) -> Any:
        """The arrays concatenated. Raises ValueError where other lengths differ."""
        return np.concatenate(arrays, axis=self.axis)

    def grad(self, m: Any, g: Variable, y: Variable, *arrays: Variable) -> list[Any]:
        """Return the part of ``g`` that belongs to each array."""
        if len(arrays) == 1:
            return [g]
        sizes = [shape_i(array, self.axis) for array in arrays]
        parts = split(g, sizes, len(arrays), self.axis)
        return [
            patternbroadcast(part, array.type.broadcastable)
            for part, array in zip(parts, arrays, strict=True)
        ]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """Require equal lengths on the other axes."""
        for axis, lengths in enumerate(zip(*input_shapes, strict=True)):
            if axis != self.axis:
                for length in lengths[1:]:
                    yield from equal(lengths[0], length)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The lengths of the inputs, summed along the axis."""
        lengths: list[Any] = []
        for axis, sides in enumerate(zip(*input_shapes, strict=True)):
            if axis != self.axis:
                flags = [v.type.broadcastable[axis] for v in node.inputs]
                lengths.append(sides[flags.index(True) if any(flags) else 0])
            elif any(length is None for length in sides):
                lengths.append(None)
            else:
                total = sides[0]
                for length in sides[1:]:
                    total = total + length
                lengths.append(total)
        return [tuple(lengths)]


def join(axis: Any, *tensors: Any) -> Variable:
    """Return the arrays joined along ``axis``, as ``numpy.concatenate``.

    They have one rank and the same lengths but on ``axis``; the result has their common
    dtype. One array is returned itself. Raises TypeError for other ranks. ``axis`` may
    be a scalar variable of integers: then no length is known before the program runs,
    which waits for the axis.
    """
    if not tensors:
        raise GraphValueError("join: given no arrays, expected one or more")
    arrays = [as_tensor_variable(tensor) for tensor in tensors]
    ndim = _joint_ndim(arrays)
    joined: Variable = for_axis("join", axis, ndim, lambda k: _joined(k, arrays))
    return joined


def _joint_ndim(arrays: Sequence[Variable]) -> int:
    """Return the rank of the arrays. Raises TypeError where ranks differ."""
    ndim = arrays[0].type.ndim
    if ndim == 0 or any(array.type.ndim != ndim for array in arrays):
        types = ", ".join(str(array.type) for array in arrays)
        raise GraphArgumentError(
            f"join: given {types}; expected arrays of as many axes each, at least "
            "one: add axes with dimshuffle, or use stack"
        )
    return int(ndim)


def _joined(axis: int, arrays: list[Variable]) -> Variable:
    if len(arrays) == 1:
        return arrays[0]
    lengths = _known_lengths(arrays)
    result: Variable = Join(axis)(*arrays) if lengths is None else lengths
    return result


def _known_lengths(vectors: Sequence[Variable]) -> Variable | None:
    """Return the join of integer vectors, such as shapes, as a vector of scalars."""
    scalars: list[Variable] = []
    for vector in vectors:
        is_integer = vector.type.ndim == 1 and vector.type.dtype[0] in "iu"
        known = elements(vector) if is_integer else None
        if known is None:
            return None
        scalars += known
    if not scalars or all(isinstance(vector, Constant) for vector in vectors):
        return None
    joined: Variable = MakeVector(common_dtype(vectors))(*scalars)
    return joined


def _listed(name: str, tensors: Any) -> list[Any]:
    if not isinstance(tensors, (list, tuple)):
        raise GraphTypeError(
            f"{name}: given {tensors!r}, a {type(tensors).__name__}; expected a list "
            "or tuple of arrays"
        )
    if not tensors:
        raise GraphValueError(f"{name}: given no arrays, expected one or more")
    return list(tensors)


def concatenate(tensor_list: Sequence[Any], axis: Any = 0) -> Variable:
    """Return the arrays of a list joined along ``axis``: ``join`` in NumPy's form."""
    return join(axis, *_listed("concatenate", tensor_list))


def stack(*tensors: Any, axis: Any = 0) -> Variable:
    """Return the arrays of a list stacked along a new ``axis``, as ``numpy.stack``.

    They have one shape. ``stack(a, b)`` without a list stacks along the first axis.
    """
    if tensors and isinstance(tensors[0], (list, tuple)):
        if len(tensors) > 2:
            raise GraphArgumentError("stack: expected a list of arrays and an axis")
        if len(tensors) == 2:
            axis = tensors[1]
        tensors = tuple(tensors[0])
    arrays = [as_tensor_variable(tensor) for tensor in _listed("stack", tensors)]
    ndim = arrays[0].type.ndim
    if any(array.type.ndim != ndim for array in arrays):
        types = ", ".join(str(array.type) for array in arrays)
        raise GraphArgumentError(f"stack: given {types}; expected as many axes each")
    along = normalise_axis("stack", known_integer("stack", "axis", axis), ndim + 1)
    if ndim == 0:
        vector: Variable = MakeVector(common_dtype(arrays))(*arrays)
        return vector
    order: list[Any] = list(range(ndim))
    order.insert(along, "x")
    return join(along, *(dimshuffle(array, *order) for array in arrays))


@offered
def stacklists(arg: Any) -> Variable:
    """Return nested lists of arrays as one array: each level is a new axis.

    >>> from gpuarray.compiler import tensor as T
    >>> a, b, c, d = T.dscalars("abcd")
    >>> print(stacklists([[a, b], [c, d]]).type)
    TensorType(float64, matrix)
    """
    if isinstance(arg, (list, tuple)):
        return stack([stacklists(item) for item in _listed("stacklists", arg)])
    return as_tensor_variable(arg)


def _matrices(name: str, arrays: Sequence[Any]) -> list[Variable]:
    matrices = [as_tensor_variable(array) for array in _listed(name, arrays)]
    for matrix in matrices:
        if matrix.type.ndim != 2:
            raise GraphArgumentError(
                f"{name}: given {matrix} of {matrix.type}, expected matrices"
            )
    return matrices


def horizontal_stack(*args: Any) -> Variable:
    """Return matrices joined along their rows."""
    return join(1, *_matrices("horizontal_stack", args))


def vertical_stack(*args: Any) -> Variable:
    """Return matrices joined along their columns."""
    return join(0, *_matrices("vertical_stack", args))


# ---- splits ----


class Split(Op):
    """``n_splits`` views of the input, one after the other along ``axis``.

    The second input is their lengths along the axis, which sum up to its length.
    """

    __props__ = ("n_splits", "axis")

    def __init__(self, n_splits: int, axis: int = 0) -> None:
        self.n_splits = n_splits
        self.axis = axis
        self.view_map: Mapping[int, Sequence[int]] = {i: [0] for i in range(n_splits)}

    def make_node(self, x: Any, sizes: Any) -> Apply:
        """A node over ``x`` and the lengths, a vector of int64 on the host."""
        variable = as_tensor_variable(x)
        axis = normalise_axis("split", self.axis, variable.type.ndim)
        vector = as_shape("split", sizes)
        known = elements(vector)
        if known is not None and len(known) != self.n_splits:
            raise GraphValueError(
                f"split: given {len(known)} sizes, expected n_splits={self.n_splits}"
            )
        if isinstance(vector, Constant) and any(size < 0 for size in vector.data):
            raise GraphValueError(f"split: negative sizes in {vector.data.tolist()}")
        outputs = []
        for flag in known_ones(vector, self.n_splits):
            pattern = list(variable.type.broadcastable)
            pattern[axis] = flag
            outputs.append(variable.type.clone(broadcastable=tuple(pattern))())
        return Apply(Split(self.n_splits, axis), [variable, vector], outputs)

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return (1,)

    def reference(self, x: Any, sizes: Any) -> tuple[Any, ...]:
        """The views. Raises ValueError unless the sizes sum up to the length."""
        length = x.shape[self.axis]
        if len(sizes) != self.n_splits or (sizes < 0).any() or sizes.sum() != length:
            raise GraphValueError(
                f"split: sizes {sizes.tolist()} for axis {self.axis} of length "
                f"{length}; expected {self.n_splits} that sum up to it"
            )
        return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=self.axis))

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradients joined, zeros for those that are missing."""
        pairs = zip(outputs, output_gradients, strict=True)
        parts = [math.zeros_like(out) if g is None else g for out, g in pairs]
        whole: Variable = join(self.axis, *parts)
        return [whole, None]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """Require that the sizes sum up to the length."""
        known, length = elements(node.inputs[1]), input_shapes[0][self.axis]
        if not known:
            return []
        total = known[0]
        for size in known[1:]:
            total = math.add(total, size)
        return equal(total, length)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the input's lengths, with the sizes along the axis."""
        known = elements(node.inputs[1])
        sizes: Sequence[Any] = [None] * self.n_splits if known is None else known
        lengths = list(input_shapes[0])
        return [
            (*lengths[: self.axis], size, *lengths[self.axis + 1 :]) for size in sizes
        ]


def split(
    x: Any, splits_size: Any, n_splits: int | None = None, axis: Any = 0
) -> list[Variable]:
    """Return ``x`` split into ``n_splits`` views along ``axis``, of the given lengths.

    The lengths are a vector of integers or a list of scalars and sum up to the length
    of the axis; with a list ``n_splits`` may be left out. ``axis`` may be a variable,
    as in `join`.
    """
    vector = as_shape("split", splits_size)
    known = elements(vector)
    if n_splits is None and known is None:
        raise GraphValueError(
            f"split: the number of sizes in {vector} is not known; give n_splits"
        )
    count = len(known or ()) if n_splits is None else n_splits
    op = Split(known_integer("split", "n_splits", count), 0)
    if op.n_splits < 1:
        raise GraphValueError(f"split: n_splits is {op.n_splits}, expected 1 or more")
    variable = as_tensor_variable(x)
    parts: list[Variable] = for_axis(
        "split",
        axis,
        variable.type.ndim,
        lambda along: list(
            Split(op.n_splits, along).make_node(variable, vector).outputs
        ),
    )
    return parts


def part(x: Variable, axis: int, start: Any, length: Any) -> Variable:
    """Return the view of ``length`` elements of an axis from ``start`` on.

    The elements must exist: nothing is cut off at the end.
    """
    first, count = as_length("part", start), as_length("part", length)
    rest = shape_i(x, axis) - first - count
    return split(x, [first, count, rest], 3, axis)[1]
