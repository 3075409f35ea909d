"""Views by axes, reshape, and shapes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphIndexError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import Pattern, TensorType
from gpuarray.compiler.ops.variables.basic import (
    MakeVector as MakeVector,
    as_tensor_variable,
    axis_list,
    is_constant,
    known_integer,
    normalise_axis,
    offered,
)

Order = tuple["int | str", ...]


class DimShuffle(Op):
    """A view with the axes in ``new_order``; ``"x"`` is a new one that broadcasts.

    A dropped axis must broadcast.
    """

    __props__ = ("input_broadcastable", "new_order")

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(
        self, input_broadcastable: Sequence[bool], new_order: Sequence[int | str]
    ) -> None:
        self.input_broadcastable: Pattern = tuple(map(bool, input_broadcastable))
        self.new_order: Order = tuple(
            axis if isinstance(axis, str) else int(axis) for axis in new_order
        )
        self._check()

    def _check(self) -> None:
        ndim = len(self.input_broadcastable)
        remaining = [axis for axis in self.new_order if axis != "x"]
        for axis in remaining:
            if isinstance(axis, str):
                raise GraphArgumentError(
                    f"dimshuffle: {axis!r} is no axis; write 'x' for a new one"
                )
            if not 0 <= axis < ndim:
                raise GraphIndexError(
                    f"dimshuffle: axis {axis} is not among the {ndim} axes"
                )
        if len(set(remaining)) < len(remaining):
            raise GraphValueError(
                f"dimshuffle: an axis stands twice in {self.new_order}"
            )
        for axis in self.dropped:
            if not self.input_broadcastable[axis]:
                raise GraphValueError(
                    f"dimshuffle: {self.new_order} leaves out axis {axis}, which may "
                    "be longer than 1; only axes that broadcast can be dropped"
                )

    @property
    def kept(self) -> list[int]:
        """The input's axes in the order of the output."""
        return [int(axis) for axis in self.new_order if axis != "x"]

    @property
    def dropped(self) -> list[int]:
        """The input's axes that the output lacks."""
        return [
            axis
            for axis in range(len(self.input_broadcastable))
            if axis not in self.new_order
        ]

    @property
    def is_transpose(self) -> bool:
        """True if the op reverses two axes or more and does nothing else."""
        ndim = len(self.input_broadcastable)
        return ndim > 1 and self.new_order == tuple(range(ndim))[::-1]

    def infer(self, x: Any) -> Any:
        """The type of ``x`` with its axes rearranged, in the same memory."""
        if x.broadcastable != self.input_broadcastable:
            raise GraphTypeError(
                f"{self}: given {x}, expected the pattern {self.input_broadcastable}"
            )
        return x.clone(
            broadcastable=tuple(
                True if axis == "x" else x.broadcastable[axis]
                for axis in self.new_order
            )
        )

    def reference(self, x: Any) -> Any:
        """A view of ``x``."""
        moved = np.transpose(x, self.kept + self.dropped)
        moved = moved.reshape(moved.shape[: len(self.kept)])
        new = tuple(i for i, axis in enumerate(self.new_order) if axis == "x")
        return np.expand_dims(moved, new)

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """Return ``g`` with the axes put back."""
        return dimshuffle(
            g,
            *(
                self.new_order.index(axis) if axis in self.new_order else "x"
                for axis in range(len(self.input_broadcastable))
            ),
        )

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The lengths in their new order, 1 for a new axis."""
        one = core.constant(1, "int64")
        return [
            tuple(
                one if axis == "x" else input_shapes[0][axis] for axis in self.new_order
            )
        ]

    def pretty(self, *texts: str) -> str:
        """``x.T`` for a transpose, the operand where axes are only added."""
        (text,) = texts
        if self.is_transpose:
            return f"{text}.T"
        if self.kept == sorted(self.kept) and not self.dropped:
            return text
        return f"DimShuffle{{{','.join(map(str, self.new_order))}}}({text})"

    def __str__(self) -> str:
        return f"InplaceDimShuffle{{{','.join(map(str, self.new_order))}}}"


@offered
def dimshuffle(x: Any, *order: Any) -> Variable:
    """``x`` with its axes in ``order``; ``"x"`` stands for a new axis that broadcasts.

    A variable of a context stays there.
    """
    variable = core.as_variable(x, "dimshuffle")
    axes = (
        order[0] if len(order) == 1 and isinstance(order[0], (list, tuple)) else order
    )
    new_order = tuple(
        axis
        if isinstance(axis, str)
        else normalise_axis("dimshuffle", axis, variable.type.ndim)
        for axis in axes
    )
    if new_order == tuple(range(variable.type.ndim)):
        return variable
    view: Variable = DimShuffle(variable.type.broadcastable, new_order)(variable)
    return view


def transpose(x: Any, axes: Sequence[int] | None = None) -> Variable:
    """``x`` with its axes reversed, or in the order of ``axes``."""
    variable = core.as_variable(x, "transpose")
    ndim = variable.type.ndim
    given = range(ndim)[::-1] if axes is None else axis_list(axes)
    order = tuple(normalise_axis("transpose", axis, ndim) for axis in given)
    if len(order) != ndim:
        raise GraphValueError(f"transpose: axes {order} do not name all {ndim} axes")
    turned = dimshuffle(variable, *order)
    if axes is None and variable.name is not None and turned is not variable:
        turned.name = f"{variable.name}.T"
    return turned


def swapaxes(x: Any, axis1: int, axis2: int) -> Variable:
    """``x`` with two axes exchanged."""
    variable = core.as_variable(x, "swapaxes")
    order = list(range(variable.type.ndim))
    a = normalise_axis("swapaxes", axis1, len(order))
    b = normalise_axis("swapaxes", axis2, len(order))
    order[a], order[b] = order[b], order[a]
    return dimshuffle(variable, *order)


def shape_padleft(x: Any, n_ones: int = 1) -> Variable:
    """``x`` with new axes on its left that broadcast."""
    variable = core.as_variable(x, "shape_padleft")
    count = known_integer("shape_padleft", "n_ones", n_ones)
    if count == 0:
        return variable
    return dimshuffle(variable, *("x",) * count, *range(variable.type.ndim))


def shape_padright(x: Any, n_ones: int = 1) -> Variable:
    """``x`` with new axes on its right that broadcast."""
    variable = core.as_variable(x, "shape_padright")
    count = known_integer("shape_padright", "n_ones", n_ones)
    return dimshuffle(variable, *range(variable.type.ndim), *("x",) * count)


class Shape(Op):
    """The lengths of all axes, as a vector of int64 on the host."""

    __props__ = ()

    gives_lengths = True

    def infer(self, x: Any) -> TensorType:
        """A vector of int64."""
        return TensorType("int64", (x.ndim == 1,))

    def reference(self, x: Any) -> Any:
        """The shape."""
        return np.array(x.shape, dtype="int64")

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> None:
        """Nothing: a shape does not depend on values."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Lengths do not depend on values."""
        return [[False]]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of axes."""
        return [(core.constant(node.inputs[0].type.ndim, "int64"),)]


class Shape_i(Op):
    """The length of axis ``i``, as an int64 scalar on the host."""

    __props__ = ("i",)

    gives_lengths = True

    def __init__(self, i: int) -> None:
        self.i = i

    def infer(self, x: Any) -> TensorType:
        """A scalar of int64."""
        if not 0 <= self.i < x.ndim:
            raise GraphIndexError(f"{self}: given {x}, which has no axis {self.i}")
        return TensorType("int64", ())

    def reference(self, x: Any) -> Any:
        """The length."""
        return np.array(x.shape[self.i], dtype="int64")

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> None:
        """Nothing: a shape does not depend on values."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Lengths do not depend on values."""
        return [[False]]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """No axes."""
        return [()]

    def pretty(self, *texts: str) -> str:
        """The length of an axis as a user writes it."""
        return f"{texts[0]}.shape[{self.i}]"

    def __str__(self) -> str:
        return f"Shape_i{{{self.i}}}"


def shape(x: Any) -> Variable:
    """Return the lengths of all axes of ``x``, as a vector of int64."""
    lengths: Variable = Shape()(core.as_variable(x, "shape"))
    return lengths


def shape_i(x: Any, axis: int) -> Variable:
    """The length of one axis of ``x``; a constant where it broadcasts or is known."""
    variable = core.as_variable(x, "shape_i")
    index = normalise_axis("shape_i", axis, variable.type.ndim)
    if variable.type.broadcastable[index]:
        return core.constant(1, "int64")
    if isinstance(variable, Constant):
        return core.constant(variable.data.shape[index], "int64")
    length: Variable = Shape_i(index)(variable)
    return length


def size(x: Any) -> Variable:
    """The number of elements of ``x``, int64."""
    variable = core.as_variable(x, "size")
    product: Any = core.constant(1, "int64")
    for axis in range(variable.type.ndim):
        length = shape_i(variable, axis)
        product = length if axis == 0 else product * length
    result: Variable = product
    return result


def elements(vector: Variable) -> list[Variable] | None:
    """Return the scalars of a vector, if the graph has them; else None."""
    if isinstance(vector, Constant):
        return [core.constant(number, vector.type.dtype) for number in vector.data]
    if vector.owner is None:
        return None
    if isinstance(vector.owner.op, MakeVector):
        return list(vector.owner.inputs)
    if isinstance(vector.owner.op, Shape):
        x = vector.owner.inputs[0]
        return [shape_i(x, axis) for axis in range(x.type.ndim)]
    return None


def as_shape(name: str, lengths: Any) -> Variable:
    """Return ``lengths`` as a vector of int64. Raises TypeError for other dtypes."""
    if isinstance(lengths, (int, np.integer)):
        lengths = (lengths,)
    if isinstance(lengths, Variable) and lengths.type.ndim == 0:
        lengths = (lengths,)
    if isinstance(lengths, (tuple, list)):
        return _vector_of(name, lengths)
    vector = as_tensor_variable(lengths)
    if vector.type.ndim != 1 or vector.type.dtype[0] not in "iu":
        raise GraphArgumentError(
            f"{name}: the shape is {vector.type}, expected integers or a vector of them"
        )
    return vector


def _vector_of(name: str, lengths: Sequence[Any]) -> Variable:
    scalars = [as_tensor_variable(length) for length in lengths]
    for scalar in scalars:
        if scalar.type.ndim != 0 or scalar.type.dtype[0] not in "iu":
            raise GraphTypeError(
                f"{name}: the shape holds {scalar} of {scalar.type}, expected integers"
            )
    if all(isinstance(scalar, Constant) for scalar in scalars):
        values = [
            scalar.data.item() for scalar in scalars if isinstance(scalar, Constant)
        ]
        return core.constant(np.array(values, dtype="int64"))
    vector: Variable = MakeVector("int64")(*scalars)
    return vector


def known_ones(lengths: Variable, ndim: int) -> Pattern:
    """Return which axes of an array of these lengths have length 1 for sure."""
    scalars = elements(lengths)
    if scalars is None:
        return (False,) * ndim
    return tuple(is_constant(length, 1) for length in scalars)


def lengths_of_result(name: str, shape: Sequence[Any]) -> tuple[Variable, Pattern]:
    """Return the lengths, given as scalars or one vector, as a vector; known ones."""
    vector = as_shape(name, shape[0] if len(shape) == 1 else shape)
    known = elements(vector)
    if known is None:
        raise GraphValueError(f"{name}: the number of lengths in {vector} is not known")
    return vector, known_ones(vector, len(known))


class Reshape(Op):
    """The same elements, in C order, in a shape of ``ndim`` axes; one length may be -1.

    It is a view where the layout allows it, else a copy.
    """

    __props__ = ("ndim",)

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    def make_node(self, x: Any, lengths: Any) -> Apply:
        """A node over ``x`` and its new shape, a vector of int64 on the host."""
        variable = core.as_variable(x, "reshape")
        vector = as_shape("reshape", lengths)
        pattern = known_ones(vector, self.ndim)
        if len(pattern) != self.ndim:
            raise GraphArgumentError(
                f"reshape: the shape has {len(pattern)} lengths, expected "
                f"ndim={self.ndim}"
            )
        _check_lengths(vector)
        output = variable.type.clone(broadcastable=pattern)()
        return Apply(self, [variable, vector], [output])

    def reference(self, x: Any, lengths: Any) -> Any:
        """``x`` reshaped."""
        return np.reshape(x, tuple(int(length) for length in lengths))

    def grad(
        self, m: Any, g: Variable, y: Variable, x: Variable, lengths: Variable
    ) -> tuple[Any, None]:
        """``g`` in the shape of ``x``."""
        return reshape(g, shape(x), ndim=x.type.ndim), None

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return (1,)

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require as many elements in the new shape."""
        new_lengths = elements(node.inputs[1])
        if new_lengths is None or any(length is None for length in input_shapes[0]):
            return []
        one: Any = core.constant(1, "int64")
        new_size = math.prod(_resolve(new_lengths, input_shapes[0]), start=one)
        return equal(math.prod(input_shapes[0], start=one), new_size)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the new lengths, with -1 computed from the others."""
        new_lengths = elements(node.inputs[1])
        if new_lengths is None:
            return [(None,) * self.ndim]
        return [tuple(_resolve(new_lengths, input_shapes[0]))]

    def pretty(self, *texts: str) -> str:
        """``reshape(x, shape)``."""
        return f"reshape({', '.join(texts)})"

    def __str__(self) -> str:
        return f"Reshape{{{self.ndim}}}"


def _check_lengths(vector: Variable) -> None:
    if isinstance(vector, Constant):
        values = vector.data.tolist()
        if values.count(-1) > 1 or any(value < -1 for value in values):
            raise GraphValueError(
                f"reshape: the shape is {tuple(values)}; lengths are not negative, and "
                "at most one is -1"
            )


def _resolve(new_lengths: list[Variable], old_lengths: Sequence[Any]) -> list[Any]:
    """Return ``new_lengths`` with -1 replaced, if ``old_lengths`` are known."""
    if not any(is_constant(length, -1) for length in new_lengths):
        return new_lengths
    if any(length is None for length in old_lengths):
        return [None if is_constant(length, -1) else length for length in new_lengths]
    total: Any = math.prod(old_lengths[1:], start=old_lengths[0]) if old_lengths else 1
    others: Any = 1
    for new in new_lengths:
        if not is_constant(new, -1):
            others = new if isinstance(others, int) else others * new
    return [
        total // others if is_constant(length, -1) else length for length in new_lengths
    ]


def reshape(x: Any, lengths: Any, ndim: int | None = None) -> Variable:
    """Return ``x`` in another shape; a variable shape needs ``ndim``.

    A length may be -1, computed from the others; written as a number, or as an element
    of a whole vector, but not by a scalar variable.
    """
    vector = as_shape("reshape", lengths)
    if ndim is None:
        known = elements(vector)
        if known is None:
            raise GraphValueError(
                f"reshape: the number of lengths in {vector} is not known; give ndim"
            )
        ndim = len(known)
    result: Variable = Reshape(ndim)(x, vector)
    return result


def flatten(x: Any, ndim: int | None = None, outdim: int | None = None) -> Variable:
    """Return ``x`` with its last axes merged into one, so that it has ``ndim`` axes.

    Without ``ndim`` it is a vector; ``outdim`` is an older name of it.
    """
    variable = core.as_variable(x, "flatten")
    if None not in (ndim, outdim):
        raise GraphTypeError("flatten: given ndim and outdim, its older name")
    given = next((number for number in (ndim, outdim) if number is not None), 1)
    ndim = known_integer("flatten", "ndim", given)
    if not 1 <= ndim <= max(variable.type.ndim, 1):
        raise GraphValueError(
            f"flatten: ndim={ndim} is not between 1 and {variable.type.ndim}"
        )
    if ndim == variable.type.ndim:
        return variable
    leading = [shape_i(variable, axis) for axis in range(ndim - 1)]
    return reshape(variable, (*leading, -1), ndim=ndim)
