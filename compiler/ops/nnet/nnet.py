"""Ops of neural networks: softmax, its logarithm, and one element of each row.

A classifier's cost picks one element of each row (`Pick`), and its gradient spreads one
over each (`Spread`). The rewrites make these ops stable, and then expand them into rows
and reductions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphIndexError,
    GraphValueError,
)
from gpuarray.compiler.graph.core import Apply, Op, SameShapeOp, Variable, is_float
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import wide
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    is_constant,
    normalise_axis,
)


class Normalised(SameShapeOp):
    """The base of Softmax and LogSoftmax, which work along an axis of floats."""

    __props__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = int(axis)

    def infer(self, x: Any) -> Any:
        """The type of ``x``."""
        if not 0 <= self.axis < x.ndim or not x.is_float:
            raise GraphArgumentError(
                f"{self}: given {x}, expected floats that have axis {self.axis}"
            )
        return x.clone()

    def _shifted(self, x: Any) -> tuple[Any, Any]:
        """Return ``x`` less its maximum, and the sum of the exponentials of that."""
        with np.errstate(all="ignore"):
            floats = wide(x)
            largest = floats.max(axis=self.axis, keepdims=True, initial=-np.inf)
            shifted = floats - largest
            return shifted, np.exp(shifted).sum(axis=self.axis, keepdims=True)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{axis={self.axis}}}"


class Softmax(Normalised):
    """Exponentials divided by their sum along ``axis``, for values of any size."""

    def reference(self, x: Any) -> Any:
        """Return the softmax with NumPy; float16 is computed in float32."""
        shifted, total = self._shifted(x)
        with np.errstate(all="ignore"):
            return (np.exp(shifted) / total).astype(x.dtype)

    def grad(self, m: Any, g: Any, y: Any, x: Variable) -> Variable:
        """Return ``g * y - sum(g * y) * y``: each term may have a mask of its own."""
        shares = m.times(g, y)
        total = m.sum(shares, axis=self.axis, keepdims=True)
        slope: Variable = shares - m.times(total, y)
        return slope


class LogSoftmax(Normalised):
    """The logarithm of Softmax, for values of any size."""

    def reference(self, x: Any) -> Any:
        """The logarithms with NumPy; float16 is computed in float32."""
        shifted, total = self._shifted(x)
        with np.errstate(all="ignore"):
            return (shifted - np.log(total)).astype(x.dtype)

    def grad(self, m: Any, g: Any, y: Variable, x: Variable) -> Variable:
        """``g - softmax(x) * sum(g)``."""
        total = m.sum(g, axis=self.axis, keepdims=True, dtype=g.type.dtype)
        slope: Variable = g - m.times(total, Softmax(self.axis)(x))
        return slope


def softmax(x: Any, axis: int = -1) -> Variable:
    """Return exponentials divided by their sum along ``axis``, by default the last.

    The result has the shape of ``x``: a vector gives a vector, where Theano gives a
    row; ``softmax(x.dimshuffle("x", 0))`` is a row in both.

    Values of any size, of a floating dtype. The gradient is exact for all of them.
    """
    return _normalised(Softmax, "softmax", x, axis)


def logsoftmax(x: Any, axis: int = -1) -> Variable:
    """Return the logarithm of ``softmax``, finite where that underflows."""
    return _normalised(LogSoftmax, "logsoftmax", x, axis)


def _normalised(op: type[Normalised], name: str, x: Any, axis: int) -> Variable:
    variable = as_tensor_variable(x)
    if variable.type.ndim == 0 or not is_float(variable):
        raise GraphArgumentError(
            f"{name}: given {variable} of {variable.type}, expected floats of at least "
            "1 axis"
        )
    result: Variable = op(normalise_axis(name, axis, variable.type.ndim))(variable)
    return result


def softmax_graph(c: Any) -> Variable:
    """Return ``exp(c) / sum``, which the rewrites make stable."""
    powers = math.exp(c)
    shares: Variable = powers / reduce.sum(powers, axis=-1, keepdims=True)
    return shares


def softmax_with_bias(x: Any, b: Any) -> Variable:
    """``softmax(x + b)`` of each row."""
    return softmax(math.add(x, b))


# ---- one element of each row ----


def _labels(op: Op, y: Any, ndim: int) -> Variable:
    labels = as_tensor_variable(y)
    if labels.type.ndim != ndim or labels.type.dtype[0] not in "iu":
        raise GraphArgumentError(
            f"{op}: the places, or classes, are {labels} of {labels.type}, expected "
            f"integers of {ndim} axes"
        )
    return labels


def _within(op: Op, y: Any, length: int) -> Any:
    """Return indices counted from the left. Raises IndexError for others."""
    places = np.asarray(y).astype(np.int64)
    if places.size and (places.min() < -length or places.max() >= length):
        raise GraphIndexError(
            f"{op}: places from {places.min()} to {places.max()} in rows of {length}"
        )
    return np.where(places < 0, places + length, places)


class Pick(Op):
    """``x[..., y[...]]``: the element of each row of ``x`` at the index in ``y``.

    ``y`` holds one integer for each row, negative ones counted from the end.
    """

    reports = True

    __props__ = ()

    def make_node(self, x: Any, y: Any) -> Apply:
        """Return a node over rows and indices."""
        rows = as_tensor_variable(x)
        if rows.type.ndim == 0:
            raise GraphArgumentError(f"{self}: given {rows.type}, expected rows")
        labels = _labels(self, y, rows.type.ndim - 1)
        flags = zip(rows.type.broadcastable, labels.type.broadcastable, strict=False)
        pattern = tuple(of_rows or of_labels for of_rows, of_labels in flags)
        return Apply(self, [rows, labels], [TensorType(rows.type.dtype, pattern)()])

    def reference(self, x: Any, y: Any) -> Any:
        """Return the elements. Raises IndexError for an index out of bounds."""
        if x.shape[:-1] != y.shape:
            raise GraphValueError(
                f"{self}: rows of shape {x.shape} and places of shape {y.shape}; "
                f"expected {x.shape[:-1]}: a place, or a class, in each row"
            )
        places = _within(self, y, x.shape[-1])
        return np.take_along_axis(x, places[..., None], axis=-1)[..., 0]

    def grad(
        self, m: Any, g: Variable, out: Variable, x: Variable, y: Variable
    ) -> tuple[Variable, None]:
        """Return ``g`` at those indices, zeros elsewhere."""
        return spread(g, y, shape_i(x, -1)), None

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require an index for each row."""
        for of_rows, of_labels in zip(*input_shapes, strict=False):
            yield from equal(of_rows, of_labels)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the shape of the indices."""
        return [tuple(input_shapes[1])]


class Spread(Op):
    """Rows of ``n`` zeros with the elements of ``g`` at the indices in ``y``.

    ``n`` is an integer scalar. It is the gradient of `Pick`.
    """

    reports = True

    leaves_zeros = True

    __props__ = ()

    def make_node(self, g: Any, y: Any, n: Any) -> Apply:
        """Return a node over elements, indices and the length."""
        values, length = as_tensor_variable(g), as_length("Spread", n)
        labels = _labels(self, y, values.type.ndim)
        pattern = (*values.type.broadcastable, is_constant(length, 1))
        out = TensorType(values.type.dtype, pattern)()
        return Apply(self, [values, labels, length], [out])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The length."""
        return (2,)

    def reference(self, g: Any, y: Any, n: Any) -> Any:
        """Return the rows. Raises IndexError for an index out of bounds."""
        places = _within(self, y, int(n))
        return np.where(np.arange(int(n)) == places[..., None], g[..., None], 0).astype(
            g.dtype
        )

    def grad(
        self, m: Any, g: Any, out: Variable, values: Any, y: Variable, n: Variable
    ) -> tuple[Variable, None, None]:
        """Return the elements of ``g`` at those indices."""
        return pick(g, y), None, None

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require an index for each element."""
        for of_values, of_labels in zip(*input_shapes[:2], strict=True):
            yield from equal(of_values, of_labels)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of the elements, and the length."""
        return [(*input_shapes[0], node.inputs[2])]


class InBounds(SameShapeOp):
    """The bounds-checked indices ``y`` into ``n`` elements, int64, none negative.

    ``y`` holds integers, negative ones counted from the end. One out of bounds is
    reported as an index error of the operation ``called``.
    """

    reports = True

    __props__ = ("called",)

    def __init__(self, called: str = "within") -> None:
        self.called = called

    def make_node(self, y: Any, n: Any) -> Apply:
        """Return a node over indices and the length."""
        labels, length = as_tensor_variable(y), as_length("InBounds", n)
        labels = _labels(self, labels, labels.type.ndim)
        flags = labels.type.broadcastable
        return Apply(self, [labels, length], [TensorType("int64", flags)()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The length."""
        return (1,)

    def reference(self, y: Any, n: Any) -> Any:
        """Return the indices. Raises IndexError for one out of bounds."""
        return _within(self, y, int(n))

    def grad(self, m: Any, g: Any, out: Any, y: Variable, n: Variable) -> None:
        """Return None: indices are integers."""


class FirstRows(Op):
    """A vector of ``total`` elements: ``x``, repeated to ``n`` of them, then zeros.

    It is ``x`` itself if the lengths agree.
    """

    leaves_zeros = True

    __props__ = ()

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Any, n: Any, total: Any) -> Apply:
        """Return a node over a vector, its number of elements, and the total."""
        vector = as_tensor_variable(x)
        lengths = [as_length("FirstRows", length) for length in (n, total)]
        if vector.type.ndim != 1:
            raise GraphArgumentError(f"{self}: given {vector.type}, expected a vector")
        flag = is_constant(lengths[1], 1)
        out = TensorType(vector.type.dtype, (flag,))()
        return Apply(self, [vector, *lengths], [out])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return (1, 2)

    def reference(self, x: Any, n: Any, total: Any) -> Any:
        """The vector. Raises IndexError where ``n`` is more than ``total``."""
        check_first_rows(int(n), int(total))
        padded = np.zeros(int(total), x.dtype)
        padded[: int(n)] = x
        return padded

    def grad(
        self, m: Any, g: Any, y: Any, x: Variable, n: Variable, total: Variable
    ) -> tuple[Variable, None, None]:
        """Return the first elements of ``g``, summed where ``x`` was repeated."""
        return m.sum_to(FirstOf()(g, n), x), None, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the total length."""
        return [(node.inputs[2],)]


def check_first_rows(n: int, total: int) -> None:
    """Raise IndexError where there are fewer than ``n`` rows."""
    if n > total:
        raise GraphIndexError(
            f"index {n - 1} is out of bounds for axis 0 of length {total}"
        )


class FirstOf(Op):
    """The first ``n`` elements of a vector: a view."""

    __props__ = ()

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Any, n: Any) -> Apply:
        """Return a node over a vector and the number of elements."""
        vector, length = as_tensor_variable(x), as_length("FirstOf", n)
        if vector.type.ndim != 1:
            raise GraphArgumentError(f"{self}: given {vector.type}, expected a vector")
        flag = bool(vector.type.broadcastable[0])
        out = vector.type.clone(broadcastable=(flag or is_constant(length, 1),))()
        return Apply(self, [vector, length], [out])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """Return the number's index."""
        return (1,)

    def reference(self, x: Any, n: Any) -> Any:
        """The elements."""
        return x[: int(n)]

    def grad(
        self, m: Any, g: Any, y: Any, x: Variable, n: Variable
    ) -> tuple[Variable, None]:
        """``g``, then zeros."""
        return FirstRows()(g, n, shape_i(x, 0)), None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the number of elements."""
        return [(node.inputs[1],)]


def pick(x: Any, y: Any) -> Variable:
    """Return ``x[..., y[...]]``, the element of each row at the index in ``y``."""
    elements: Variable = Pick()(x, y)
    return elements


def spread(g: Any, y: Any, n: Any) -> Variable:
    """Return rows of ``n`` zeros with the elements of ``g`` at the indices in ``y``."""
    rows: Variable = Spread()(g, y, n)
    return rows


# ---- expanded ----


def opened_softmax(x: Variable, axis: int) -> Variable:
    """Return `Softmax` expanded into rows and reductions."""
    shifted, total = _parts(x, axis)
    return math.true_div(math.exp(shifted), total)


def opened_logsoftmax(x: Variable, axis: int) -> Variable:
    """Return `LogSoftmax` expanded into rows and reductions."""
    shifted, total = _parts(x, axis)
    return math.sub(shifted, math.log(total))


def _parts(x: Variable, axis: int) -> tuple[Variable, Variable]:
    largest = reduce.Reduce("maximum", [axis], of_none=True)(x)
    shifted = math.sub(x, reduce.keep_dims(largest, [axis], x.type.ndim))
    total = reduce.sum(math.exp(shifted), axis, dtype=x.type.dtype, keepdims=True)
    return shifted, total
