"""Binary search, counts, sets, raveled indices, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.broadcast.axes import specify_shape, squeeze
from gpuarray.compiler.ops.control.debugging import Require
from gpuarray.compiler.ops.creation.creation import counted, counts, zeros
from gpuarray.compiler.ops.creation.joining import as_length, join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import elements_of, inc_subtensor, index
from gpuarray.compiler.ops.linalg import linalg
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import (
    as_shape,
    dimshuffle,
    elements,
    flatten,
    reshape,
    shape,
    shape_i,
    shape_padleft,
)
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    known_integer,
    normalise_axis,
)

# ---- binary search ----


class SearchSorted(Op):
    """The insertion point of each value in a sorted vector, int64.

    ``side`` is before (``"left"``) or after elements equal to it. A third input is the
    permutation that sorts the vector.
    """

    __props__ = ("side",)

    def __init__(self, side: str = "left") -> None:
        if side not in ("left", "right"):
            raise GraphValueError(
                f"searchsorted: side is {side!r}, expected 'left' or 'right'"
            )
        self.side = side

    def make_node(self, x: Any, v: Any, sorter: Any = None) -> Apply:
        """Return a node over the vector, the values, and the sorting permutation."""
        inputs = [as_tensor_variable(x), as_tensor_variable(v)]
        if inputs[0].type.ndim != 1:
            raise GraphArgumentError(
                f"searchsorted: given {inputs[0]} of {inputs[0].type}, expected a "
                "sorted vector"
            )
        joint = np.result_type(
            *(np.dtype(variable.type.dtype) for variable in inputs)
        ).name
        inputs = [math.cast(variable, joint) for variable in inputs]
        if sorter is not None:
            places = as_tensor_variable(sorter)
            if places.type.ndim != 1 or places.type.dtype[0] not in "iu":
                raise GraphArgumentError(
                    f"searchsorted: the sorter is {places.type}, expected a vector of "
                    "integers"
                )
            inputs.append(math.cast(places, "int64"))
        pattern = inputs[1].type.broadcastable
        return Apply(self, inputs, [TensorType("int64", pattern)()])

    def reference(self, x: Any, v: Any, *sorter: Any) -> Any:
        """``numpy.searchsorted``."""
        search: Any = np.searchsorted
        return np.asarray(search(x, v, self.side, *sorter), "int64")

    def grad(self, m: Any, g: Variable, y: Variable, *inputs: Variable) -> list[None]:
        """Return None: indices are integers."""
        return [None] * len(inputs)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The shape of the values."""
        return [tuple(input_shapes[1])]


def searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None) -> Variable:
    """The insertion points of ``v`` in the sorted vector ``x``, as NumPy's: int64.

    ``side`` ``"left"`` is before elements equal to it, ``"right"`` after them;
    ``sorter`` is the permutation that sorts an unsorted vector.
    """
    inputs = (x, v) if sorter is None else (x, v, sorter)
    result: Variable = SearchSorted(side)(*inputs)
    return result


# ---- counts and sets ----


_NOT_NEGATIVE = Require("bincount: an element is below 0; expected 0 or more")


def bincount(
    x: Any, weights: Any = None, minlength: Any = None, assert_nonneg: bool = False
) -> Variable:
    """Return the counts of the integers from 0 on in the vector ``x``: int64.

    With ``weights`` the sum of the weights of each, of their dtype. The result has room
    for the largest element, and at least ``minlength`` elements. An element below 0
    raises ValueError when the program runs, with ``assert_nonneg``, Theano's, or not.
    """
    places = as_tensor_variable(x)
    if places.type.ndim != 1 or places.type.dtype[0] not in "iu":
        raise GraphArgumentError(
            f"bincount: given {places} of {places.type}, expected a vector of integers"
        )
    is_checked = places.type.dtype not in ("uint8", "uint16", "uint32")
    places = math.cast(places, "int64")
    least = 0 if minlength is None else counts("bincount: minlength", minlength)
    last = reduce.max(join(0, places, core.constant([-1], "int64")))
    length = math.maximum(last + 1, least)
    if is_checked:
        length = _NOT_NEGATIVE(length, reduce.all(math.ge(places, 0)))
    amounts: Variable = core.constant(1, "int64")
    if weights is not None:
        amounts = as_tensor_variable(weights)
        if amounts.type.ndim != 1:
            raise GraphArgumentError(
                f"bincount: weights are {amounts.type}, expected a vector"
            )
    return inc_subtensor(index(zeros((length,), amounts.type.dtype), places), amounts)


class Unique(Op):
    """The unique elements of an array, sorted; or its parts along ``axis``.

    Further outputs, if asked for: the first index of each, the inverse (the index of
    each element among them), and the counts.
    """

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(
        self,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
        axis: int | None = None,
    ) -> None:
        self.return_index = bool(return_index)
        self.return_inverse = bool(return_inverse)
        self.return_counts = bool(return_counts)
        self.axis = axis

    def make_node(self, x: Any) -> Apply:
        """A node over an array."""
        variable = as_tensor_variable(x)
        ndim = variable.type.ndim
        op, pattern = self, (False,)
        if self.axis is not None:
            axis = normalise_axis("unique", self.axis, ndim)
            op = Unique(
                self.return_index, self.return_inverse, self.return_counts, axis
            )
            flags = variable.type.broadcastable
            pattern = (*flags[:axis], False, *flags[axis + 1 :])
        kinds = [variable.type.clone(broadcastable=pattern)]
        if self.return_index:
            kinds.append(TensorType("int64", (False,)))
        if self.return_inverse:
            rank = ndim if self.axis is None else 1
            kinds.append(TensorType("int64", (False,) * rank))
        if self.return_counts:
            kinds.append(TensorType("int64", (False,)))
        return Apply(op, [variable], [kind() for kind in kinds])

    def reference(self, x: Any) -> tuple[Any, ...]:
        """``numpy.unique``."""
        options = (self.return_index, self.return_inverse, self.return_counts)
        operand = x.astype(np.float32) if x.dtype.kind == "V" else x
        find: Any = np.unique
        results = find(operand, *options, axis=self.axis)
        listed = list(results) if isinstance(results, tuple) else [results]
        values = listed[0].astype(x.dtype, copy=False)
        numbers = [np.asarray(result, "int64") for result in listed[1:]]
        if self.return_inverse:
            which = int(self.return_index)
            rank = x.shape if self.axis is None else (x.shape[self.axis],)
            numbers[which] = numbers[which].reshape(rank)
        return (values, *numbers)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradient of each unique element at its first index."""
        (x,), g = inputs, output_gradients[0]
        if g is None:
            return [None]
        first = Unique(return_index=True, axis=self.axis)(x)[1]
        if self.axis is None:
            flat = index(math.zeros_like(flatten(x)), first)
            return [reshape(inc_subtensor(flat, g), shape(x), ndim=x.type.ndim)]
        key = (slice(None),) * self.axis + (first,)
        return [inc_subtensor(index(math.zeros_like(x), key), g)]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the lengths that do not depend on values."""
        lengths = input_shapes[0]
        values: tuple[Any, ...] = (None,)
        inverse = tuple(lengths)
        if self.axis is not None:
            values = (*lengths[: self.axis], None, *lengths[self.axis + 1 :])
            inverse = (lengths[self.axis],)
        shapes = [values]
        if self.return_index:
            shapes.append((None,))
        if self.return_inverse:
            shapes.append(inverse)
        if self.return_counts:
            shapes.append((None,))
        return shapes


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
) -> Any:
    """Return the unique elements, sorted; or the unique parts along ``axis``.

    If asked for, in a list with the first index of each, the inverse (the index of each
    element among them), and the counts: as ``numpy.unique``.
    """
    along = None if axis is None else known_integer("unique", "axis", axis)
    return Unique(return_index, return_inverse, return_counts, along)(ar)


# ---- raveled indices ----


def _lengths(name: str, dims: Any, count: int | None) -> list[Variable]:
    """The lengths of the axes; ``count`` is their number, or None if ``dims`` has it.

    The number of elements of a vector is checked when the program runs.
    """
    vector = as_shape(name, dims)
    known = elements(vector)
    if known is None and count is None:
        raise GraphValueError(
            f"{name}: the number of lengths in {dims} is not known; give a list of "
            "them, or ndim"
        )
    if known is None:
        vector = specify_shape(vector, (count,))
        known = [index(vector, place) for place in range(count or 0)]
    if not known:
        raise GraphValueError(f"{name}: dims are empty, expected a length at least")
    if count is not None and len(known) != count:
        raise GraphValueError(
            f"{name}: given {len(known)} lengths in dims, expected {count}"
        )
    return known


def _index_arrays(name: str, multi_index: Any, dims: Any) -> list[Any]:
    """The arrays of a multi-index: listed, or along the first axis of a variable."""
    if not isinstance(multi_index, Variable):
        return list(multi_index)
    known = elements(as_shape(name, dims))
    if known is None:
        return list(elements_of(multi_index))
    return [index(multi_index, i) for i in range(len(known))]


def _integers(name: str, indices: Any) -> Variable:
    places = as_tensor_variable(indices)
    if places.type.dtype[0] not in "iu":
        raise GraphTypeError(
            f"{name}: indices are {places} of {places.type}, expected integers"
        )
    return math.cast(places, "int64")


def _check_order(name: str, order: str) -> None:
    if order not in ("C", "F"):
        raise GraphValueError(f"{name}: order is {order!r}, expected 'C' or 'F'")


def _checked(places: Variable, length: Variable) -> Variable:
    """Return the indices; one out of bounds is an error when the program runs."""
    inside = math.where(math.lt(places, 0), length, places)
    return index(counted(length), inside)


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C"
) -> Variable:
    """The flat indices of the elements at ``multi_index``, indices for each axis.

    ``multi_index`` is a sequence of arrays of integers that broadcast, ``dims`` the
    lengths, which may be a vector known only when the program runs. ``mode``, one or
    one for each axis, is for an index out of bounds: ``'raise'`` an error when the
    program runs, ``'wrap'`` takes it modulo the length, ``'clip'`` clips it to the
    ends.
    """
    name = "ravel_multi_index"
    _check_order(name, order)
    arrays = _index_arrays(name, multi_index, dims)
    indices = [_integers(name, array) for array in arrays]
    known = elements(as_shape(name, dims))
    lengths = _lengths(name, dims, len(indices)) if known is None else known
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(mode)
    if len(indices) != len(lengths) or len(modes) != len(lengths):
        raise GraphValueError(
            f"{name}: {len(indices)} index arrays and {len(modes)} modes for "
            f"{len(lengths)} axes"
        )
    if unknown := set(modes) - {"raise", "wrap", "clip"}:
        raise GraphValueError(
            f"{name}: mode is {sorted(unknown)[0]!r}, expected 'raise', 'wrap' or "
            "'clip'"
        )
    entries = list(zip(indices, lengths, modes, strict=True))
    total: Any = None
    for places, length, index_mode in entries if order == "C" else reversed(entries):
        if index_mode == "wrap":
            inside = math.mod(places, length)
        elif index_mode == "clip":
            inside = math.clip(places, 0, length - 1)
        else:
            inside = _checked(places, length)
        total = inside if total is None else total * length + inside
    result: Variable = total
    return result


def unravel_index(
    indices: Any, dims: Any, order: str = "C", ndim: int | None = None
) -> list[Variable]:
    """Return for each axis of ``dims`` the indices of elements at flat ``indices``.

    ``ndim`` is the number of axes, if ``dims`` is a vector whose length is known only
    when the program runs. An index out of bounds is then an error.
    """
    name = "unravel_index"
    count = None if ndim is None else known_integer(name, "ndim", ndim)
    lengths = _lengths(name, dims, count)
    _check_order(name, order)
    total: Any = lengths[0]
    for length in lengths[1:]:
        total = total * length
    rest = _checked(_integers(name, indices), total)
    coordinates = []
    for length in reversed(lengths) if order == "C" else lengths:
        safe = math.maximum(length, 1)
        coordinates.append(math.mod(rest, safe))
        rest = rest // safe
    return coordinates[::-1] if order == "C" else coordinates


# ---- others ----


def bartlett(M: Any) -> Variable:
    """The Bartlett window of ``M`` points: a triangle from 0 to 1 and back, float64."""
    count = as_length("bartlett", M)
    places = counted(count, "float64")
    half = math.cast(math.maximum(count - 1, 1), "float64") / 2.0
    rise = places / half
    window = math.where(math.le(places, half), rise, 2.0 - rise)
    return math.where(math.eq(count, 1), 1.0, window)


def cpu_contiguous(x: Any) -> Variable:
    """Return ``x``: no operation needs contiguous arrays."""
    return as_tensor_variable(x)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Variable:
    """The covariances of variables, each a row of ``m`` and of ``y``, as NumPy's.

    Without ``rowvar`` they are columns. ``bias`` divides by the number of observations
    instead of one less; ``ddof`` is subtracted from it. ``fweights`` are the
    frequencies of observations, ``aweights`` their weights. For one variable, a vector,
    it is a scalar.
    """
    if ddof is not None and not isinstance(ddof, int):
        raise GraphTypeError(f"cov: ddof is {ddof!r}, expected an integer")
    observations = _observations(m, rowvar)
    if y is not None:
        observations = join(0, observations, _observations(y, rowvar))
    lost = (0 if bias else 1) if ddof is None else ddof
    dtype = observations.type.dtype
    weights = [_weights(argument, dtype) for argument in (fweights, aweights)]
    if weights[0] is None and weights[1] is None:
        total = math.cast(shape_i(observations, 1), dtype)
        centred = observations - reduce.mean(observations, axis=1, keepdims=True)
        weighted, divisor = centred, total - core.constant(lost, dtype)
    else:
        present = [factor for factor in weights if factor is not None]
        weight = math.mul(*present) if len(present) == 2 else present[0]
        total = reduce.sum(weight)
        mean = reduce.sum(observations * weight, axis=1, keepdims=True) / total
        centred = observations - mean
        weighted = centred * weight
        shrink: Any = core.constant(lost, dtype)
        if weights[1] is not None:
            shrink = shrink * reduce.sum(weight * weights[1]) / total
        divisor = total - shrink
    return squeeze(linalg.dot(centred, dimshuffle(weighted, 1, 0)) / divisor)


def _observations(data: Any, rowvar: bool) -> Variable:
    """The variables as the rows of a matrix of floats."""
    variable = as_tensor_variable(data)
    if variable.type.ndim > 2:
        raise GraphArgumentError(f"cov: given {variable.type}, expected 2 axes at most")
    matrix = shape_padleft(variable, 2 - variable.type.ndim)
    if not rowvar and variable.type.ndim == 2:
        matrix = dimshuffle(matrix, 1, 0)
    return matrix if core.is_float(matrix) else math.cast(matrix, "float64")


def _weights(argument: Any, dtype: str) -> Variable | None:
    if argument is None:
        return None
    weights = as_tensor_variable(argument)
    if weights.type.ndim != 1:
        raise GraphArgumentError(f"cov: weights are {weights.type}, expected a vector")
    return math.cast(weights, dtype)
