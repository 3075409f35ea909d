"""Ops of neural networks beside the table's: softmax and its logarithm.

A classifier's cost picks one element of each row (`Pick`), and its gradient spreads one
over each (`Spread`). The rewrites open these ops up into rows and reductions, after
they have made them stable.
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
from gpuarray.compiler.graph.core import Apply, Op, Variable, is_float
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


class Normalised(Op):
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
        """``x`` less its largest, and the sum of the exponentials of that."""
        with np.errstate(all="ignore"):
            shifted = wide(x) - wide(x).max(axis=self.axis, keepdims=True)
            return shifted, np.exp(shifted).sum(axis=self.axis, keepdims=True)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of ``x``."""
        return [tuple(input_shapes[0])]

    def __str__(self) -> str:
        return f"{type(self).__name__}{{axis={self.axis}}}"


class Softmax(Normalised):
    """Exponentials divided by their sum along ``axis``, for values of any size."""

    def reference(self, x: Any) -> Any:
        """The shares with NumPy; float16 is computed in float32."""
        shifted, total = self._shifted(x)
        with np.errstate(all="ignore"):
            return (np.exp(shifted) / total).astype(x.dtype)

    def grad(self, m: Any, g: Any, y: Any, x: Variable) -> Variable:
        """``g * y - sum(g * y) * y``: each term may have a mask of its own."""
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
    """Exponentials divided by their sum along ``axis``, each row's by default.

    The result has the shape of ``x``: of a vector it is a vector, of which Theano makes
    a row; ``softmax(x.dimshuffle("x", 0))`` is a row in both.

    Values of any size, of a floating dtype. The gradient is exact for all of them.
    """
    return _normalised(Softmax, "softmax", x, axis)


def logsoftmax(x: Any, axis: int = -1) -> Variable:
    """The logarithm of ``softmax``, finite where that is not zero but underflows."""
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
    """``softmax(c)`` written out, which the rewrites make stable: ``exp(c) / sum``."""
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
            f"{op}: the places are {labels} of {labels.type}, expected integers of "
            f"{ndim} axes"
        )
    return labels


def _within(op: Op, y: Any, length: int) -> Any:
    """The places counted from the left. Raises IndexError for others."""
    places = np.asarray(y).astype(np.int64)
    if places.size and (places.min() < -length or places.max() >= length):
        raise GraphIndexError(
            f"{op}: places from {places.min()} to {places.max()} in rows of {length}"
        )
    return np.where(places < 0, places + length, places)


class Pick(Op):
    """``x[..., y[...]]``: along the last axis of ``x`` the element whose place is in y.

    ``y`` holds integers, negative ones counted from the end, for each row one.
    """

    reports = True

    __props__ = ()

    def make_node(self, x: Any, y: Any) -> Apply:
        """A node over rows and places."""
        rows = as_tensor_variable(x)
        if rows.type.ndim == 0:
            raise GraphArgumentError(f"{self}: given {rows.type}, expected rows")
        labels = _labels(self, y, rows.type.ndim - 1)
        flags = zip(rows.type.broadcastable, labels.type.broadcastable, strict=False)
        pattern = tuple(mine or its for mine, its in flags)
        return Apply(self, [rows, labels], [TensorType(rows.type.dtype, pattern)()])

    def reference(self, x: Any, y: Any) -> Any:
        """The elements. Raises IndexError for a place that is not in the row."""
        if x.shape[:-1] != y.shape:
            raise GraphValueError(
                f"{self}: rows of shape {x.shape} and places of shape {y.shape}"
            )
        places = _within(self, y, x.shape[-1])
        return np.take_along_axis(x, places[..., None], axis=-1)[..., 0]

    def grad(
        self, m: Any, g: Variable, out: Variable, x: Variable, y: Variable
    ) -> tuple[Variable, None]:
        """``g`` in those places, zeros elsewhere."""
        return spread(g, y, shape_i(x, -1)), None

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """There is a place for each row."""
        for mine, its in zip(*input_shapes, strict=False):
            yield from equal(mine, its)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of the places."""
        return [tuple(input_shapes[1])]


class Spread(Op):
    """Rows of ``n`` zeros, but for the elements of ``g`` in the places in ``y``.

    ``n`` is an integer scalar. The derivative of `Pick`.
    """

    reports = True

    leaves_zeros = True

    __props__ = ()

    def make_node(self, g: Any, y: Any, n: Any) -> Apply:
        """A node over elements, places and the length."""
        values, length = as_tensor_variable(g), as_length("Spread", n)
        labels = _labels(self, y, values.type.ndim)
        pattern = (*values.type.broadcastable, is_constant(length, 1))
        out = TensorType(values.type.dtype, pattern)()
        return Apply(self, [values, labels, length], [out])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The length."""
        return (2,)

    def reference(self, g: Any, y: Any, n: Any) -> Any:
        """The rows. Raises IndexError for a place that is not in the row."""
        places = _within(self, y, int(n))
        return np.where(np.arange(int(n)) == places[..., None], g[..., None], 0).astype(
            g.dtype
        )

    def grad(
        self, m: Any, g: Any, out: Variable, values: Any, y: Variable, n: Variable
    ) -> tuple[Variable, None, None]:
        """The elements of ``g`` in those places."""
        return pick(g, y), None, None

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """There is a place for each element."""
        for mine, its in zip(*input_shapes[:2], strict=True):
            yield from equal(mine, its)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of the elements, and the length."""
        return [(*input_shapes[0], node.inputs[2])]


class InBounds(Op):
    """Places in rows of ``n`` elements, counted from the left: those in ``y``, int64.

    ``y`` holds integers, negative ones counted from the end. What is in no row is told
    as an index out of bounds, of the operation ``called`` so.
    """

    reports = True

    __props__ = ("called",)

    def __init__(self, called: str = "within") -> None:
        self.called = called

    def make_node(self, y: Any, n: Any) -> Apply:
        """A node over places and the length."""
        labels, length = as_tensor_variable(y), as_length("InBounds", n)
        labels = _labels(self, labels, labels.type.ndim)
        flags = labels.type.broadcastable
        return Apply(self, [labels, length], [TensorType("int64", flags)()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The length."""
        return (1,)

    def reference(self, y: Any, n: Any) -> Any:
        """The places. Raises IndexError for one that is not in the row."""
        return _within(self, y, int(n))

    def grad(self, m: Any, g: Any, out: Any, y: Variable, n: Variable) -> None:
        """Nothing: places are integers."""

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The shape of ``y``."""
        return [tuple(input_shapes[0])]


class FirstRows(Op):
    """A vector of ``total`` elements: ``x``, repeated to ``n`` of them, then zeros.

    Where the lengths are those that it has, it is ``x`` itself.
    """

    leaves_zeros = True

    __props__ = ()

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Any, n: Any, total: Any) -> Apply:
        """A node over a vector, how many elements it has, and how many shall be."""
        vector = as_tensor_variable(x)
        lengths = [as_length("FirstRows", each) for each in (n, total)]
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
        made = np.zeros(int(total), x.dtype)
        made[: int(n)] = x
        return made

    def grad(
        self, m: Any, g: Any, y: Any, x: Variable, n: Variable, total: Variable
    ) -> tuple[Variable, None, None]:
        """The first elements of ``g``, added up where ``x`` was repeated."""
        return m.sum_to(FirstOf()(g, n), x), None, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The length that it shall have."""
        return [(node.inputs[2],)]


def check_first_rows(n: int, total: int) -> None:
    """Raise IndexError where a row is asked for that there is not."""
    if n > total:
        raise GraphIndexError(
            f"index {n - 1} is out of bounds for axis 0 of length {total}"
        )


class FirstOf(Op):
    """The first ``n`` elements of a vector: a view."""

    __props__ = ()

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Any, n: Any) -> Apply:
        """A node over a vector and how many there are."""
        vector, length = as_tensor_variable(x), as_length("FirstOf", n)
        if vector.type.ndim != 1:
            raise GraphArgumentError(f"{self}: given {vector.type}, expected a vector")
        flag = bool(vector.type.broadcastable[0])
        out = vector.type.clone(broadcastable=(flag or is_constant(length, 1),))()
        return Apply(self, [vector, length], [out])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """How many."""
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
        """How many."""
        return [(node.inputs[1],)]


def pick(x: Any, y: Any) -> Variable:
    """``x[..., y[...]]``: of each row of ``x`` the element whose place is in ``y``."""
    elements: Variable = Pick()(x, y)
    return elements


def spread(g: Any, y: Any, n: Any) -> Variable:
    """Rows of ``n`` zeros with the elements of ``g`` in the places in ``y``."""
    rows: Variable = Spread()(g, y, n)
    return rows


# ---- opened up ----


def opened_softmax(x: Variable, axis: int) -> Variable:
    """`Softmax` made of rows and reductions."""
    shifted, total = _parts(x, axis)
    return math.true_div(math.exp(shifted), total)


def opened_logsoftmax(x: Variable, axis: int) -> Variable:
    """`LogSoftmax` made of rows and reductions."""
    shifted, total = _parts(x, axis)
    return math.sub(shifted, math.log(total))


def _parts(x: Variable, axis: int) -> tuple[Variable, Variable]:
    shifted = math.sub(x, reduce.max(x, axis, keepdims=True))
    total = reduce.sum(math.exp(shifted), axis, dtype=x.type.dtype, keepdims=True)
    return shifted, total
