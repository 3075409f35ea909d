"""Creation of arrays from lengths: filled, ranges, grids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphStepError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.types import TensorType, dtype_name
from gpuarray.compiler.ops.broadcast.broadcast import broadcast_to
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import (
    as_shape,
    dimshuffle,
    elements,
    lengths_of_result,
    shape_i,
)
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, is_constant

# ---- filled ----


def alloc(value: Any, *shape: Any) -> Variable:
    """Return ``value`` repeated to a shape: integers, scalars or one vector.

    Axes of ``value`` that broadcast are repeated, and new ones on the left. The result
    is a view of ``value``: no memory is filled before it is needed.
    """
    lengths = shape[0] if len(shape) == 1 else shape
    filled = as_tensor_variable(value)
    vector = as_shape("alloc", lengths)
    known = elements(vector)
    if isinstance(vector, Constant) and any(length < 0 for length in vector.data):
        raise GraphValueError(f"alloc: negative lengths in {vector.data.tolist()}")
    if known is not None and len(known) < filled.type.ndim:
        raise GraphArgumentError(
            f"alloc: given {filled.type} and {len(known)} lengths, expected a length "
            "for each axis at least"
        )
    if known == []:
        return filled
    return broadcast_to(filled, vector)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Variable:
    """An array of ``fill_value``, in its dtype or another."""
    value = as_tensor_variable(fill_value)
    return alloc(value if dtype is None else math.cast(value, dtype), shape)


def zeros(shape: Any, dtype: Any = None) -> Variable:
    """An array of zeros, of floatX if no dtype is given."""
    return alloc(core.constant(0, dtype_name(dtype or "floatX")), shape)


def ones(shape: Any, dtype: Any = None) -> Variable:
    """An array of ones, of floatX if no dtype is given."""
    return alloc(core.constant(1, dtype_name(dtype or "floatX")), shape)


def full_like(model: Any, fill_value: Any, dtype: Any = None) -> Variable:
    """``fill_value`` in the shape of ``model``, in its dtype or another."""
    variable = as_tensor_variable(model)
    result_dtype = variable.type.dtype if dtype is None else dtype_name(dtype)
    return math.second(variable, math.cast(fill_value, result_dtype))


class AllocEmpty(Op):
    """An array of a dtype with uninitialized elements."""

    __props__ = ("dtype",)

    undetermined = (0,)

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype_name(dtype)

    def make_node(self, *shape: Any) -> Apply:
        """A node over the lengths, scalars or one vector."""
        vector, pattern = lengths_of_result("AllocEmpty", shape)
        return Apply(self, [vector], [TensorType(self.dtype, pattern)()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return (0,)

    def reference(self, lengths: Any) -> Any:
        """Zeros, so that two runs agree."""
        return np.zeros(tuple(int(length) for length in lengths), self.dtype)

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: a constant would keep memory."""
        return False

    def grad(self, m: Any, g: Variable, y: Variable, lengths: Variable) -> None:
        """Nothing: lengths are integers."""

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the lengths."""
        return [tuple(elements(node.inputs[0]) or ())]


def empty(shape: Any, dtype: Any = None) -> Variable:
    """An array with undefined elements, of floatX if no dtype is given."""
    result: Variable = AllocEmpty(dtype or "floatX")(as_shape("empty", shape))
    return result


# ---- ranges ----


class ARange(Op):
    """The integers 0, 1, 2, ... below the input, in a dtype."""

    __props__ = ("dtype",)

    def __init__(self, dtype: Any = "int64") -> None:
        self.dtype = dtype_name(dtype)

    def make_node(self, length: Any) -> Apply:
        """A node over the length, a scalar of int64 on the host."""
        count = as_length("arange", length)
        flag = is_constant(count, 1)
        return Apply(self, [count], [TensorType(self.dtype, (flag,))()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The length."""
        return (0,)

    def reference(self, length: Any) -> Any:
        """The integers; none for a length below 0."""
        return np.arange(int(length)).astype(self.dtype)

    def grad(self, m: Any, g: Variable, y: Variable, length: Variable) -> None:
        """Nothing: a length is an integer."""

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The length."""
        return [(node.inputs[0],)]


def counted(length: Any, dtype: Any = "int64") -> Variable:
    """Return the integers from 0 on below ``length``, which is 0 or more."""
    result: Variable = ARange(dtype)(length)
    return result


def arange_dtype(arguments: Sequence[Variable]) -> str:
    """Return the dtype of ``arange``: 64 bits for integers, else the common dtype."""
    joint = np.result_type(*(np.dtype(variable.type.dtype) for variable in arguments))
    if joint.kind in "biu":
        return "uint64" if joint.kind == "u" else "int64"
    is_widened = joint.name == "float64" and not any(
        variable.type.dtype == "float64" for variable in arguments
    )
    if is_widened and config.cast_policy == "numpy+floatX":
        return str(config.floatX)
    return joint.name


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Variable:
    """The numbers from ``start`` (0, if it is alone) up to ``stop``, by ``step``.

    The arguments are numbers or scalars. Integers give int64 (or uint64), floats the
    dtype that holds the arguments, unless ``dtype`` says otherwise. The gradient flows
    to a float ``start`` and ``step``. Raises ValueError for a step of 0.
    """
    first, last = (0, start) if stop is None else (start, stop)
    ends = [as_tensor_variable(end) for end in (first, last, step)]
    for end in ends:
        if end.type.ndim != 0:
            raise GraphArgumentError(f"arange: given {end} of {end.type}, not a scalar")
    if is_constant(ends[2], 0):
        raise GraphStepError("arange: the step is 0")
    result_dtype = arange_dtype(ends) if dtype is None else dtype_name(dtype)
    begin, _, by = ends
    count = _count(*ends)
    is_by_one = is_constant(by, 1)
    if is_by_one and is_constant(begin, 0):
        return counted(count, result_dtype)
    work = (
        result_dtype
        if by.type.dtype[0] in "iu"
        else common_float(result_dtype, by, begin)
    )
    numbers = counted(count, work)
    if not is_by_one:
        numbers = numbers * math.cast(by, work)
    if not is_constant(begin, 0):
        numbers = numbers + math.cast(begin, work)
    return math.cast(numbers, result_dtype)


def common_float(wanted: str, *arguments: Variable) -> str:
    """Return the float dtype to compute in, for the arguments and the result."""
    dtypes = [wanted, *(variable.type.dtype for variable in arguments)]
    return np.result_type(*map(np.dtype, dtypes)).name


def _count(start: Variable, stop: Variable, step: Variable) -> Variable:
    """Return the number of elements from ``start`` to ``stop``, int64."""
    if all(isinstance(variable, Constant) for variable in (start, stop, step)):
        ends = [variable.data.item() for variable in (start, stop, step)]  # type: ignore[attr-defined]
        return core.constant(len(np.arange(*ends)), "int64")
    if all(variable.type.dtype[0] in "iu" for variable in (start, stop, step)):
        begin, end, by = (
            as_length("arange", variable) for variable in (start, stop, step)
        )
        span = end if is_constant(begin, 0) else end - begin
        steps = span if is_constant(by, 1) else -(-span // by)
    else:
        ends = [math.cast(variable, "float64") for variable in (start, stop, step)]
        steps = math.cast(math.ceil((ends[1] - ends[0]) / ends[2]), "int64")
    return math.maximum(steps, core.constant(0, "int64"))


def counts(name: str, length: Any) -> Variable:
    """Return a number of elements. Raises ValueError for a constant below 0."""
    count = as_length(name, length)
    if isinstance(count, Constant) and int(count.data) < 0:
        raise GraphValueError(f"{name}: given the length {int(count.data)}, below 0")
    return count


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None
) -> Variable:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``, floats.

    Without ``endpoint`` the interval excludes ``stop``.
    """
    ends = [as_tensor_variable(start), as_tensor_variable(stop)]
    for scalar in ends:
        if scalar.type.ndim != 0:
            raise GraphArgumentError(
                f"linspace: given {scalar.type}, expected a scalar"
            )
    work = common_float(str(config.floatX), *ends)
    begin, end = (math.cast(limit, work) for limit in ends)
    count = counts("linspace", num)
    parts = count - 1 if endpoint else count
    parts = math.maximum(parts, core.constant(1, "int64"))
    step = (end - begin) / math.cast(parts, work)
    return math.cast(counted(count, work) * step + begin, dtype or work)


def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Variable:
    """The matrix of zeros with ones on diagonal ``k``, of floatX; square without ``m``.

    All of ``n``, ``m`` and ``k`` are integers or integer scalars.
    """
    rows = counts("eye", n)
    columns = rows if m is None else counts("eye", m)
    down = dimshuffle(counted(rows), 0, "x")
    right = dimshuffle(counted(columns), "x", 0)
    return math.cast(math.eq(down + as_length("eye", k, "k"), right), dtype or "floatX")


def identity(n: Any, dtype: Any = None) -> Variable:
    """The square matrix of zeros with ones on the diagonal, of floatX."""
    return eye(n, dtype=dtype)


def identity_like(x: Any) -> Variable:
    """The matrix of zeros with ones on the diagonal, in the shape of ``x``."""
    variable = as_tensor_variable(x)
    if variable.type.ndim != 2:
        raise GraphArgumentError(
            f"identity_like: given {variable} of {variable.type}, expected a matrix"
        )
    return eye(shape_i(variable, 0), shape_i(variable, 1), dtype=variable.type.dtype)


# ---- grids ----


class Grid:
    """The class of ``mgrid`` and ``ogrid``: slices give arrays of coordinates.

    Each slice is the arguments of ``arange``, numbers or scalars.
    """

    def __init__(self, name: str, is_sparse: bool) -> None:
        self.name = name
        self.is_sparse = is_sparse

    def __getitem__(self, key: Any) -> list[Variable]:
        slices = key if isinstance(key, tuple) else (key,)
        for entry in slices:
            if not isinstance(entry, slice) or entry.stop is None:
                raise GraphTypeError(
                    f"{self.name}: given {entry!r}, expected slices with an end"
                )
            if isinstance(entry.step, complex):
                raise GraphValueError(
                    f"{self.name}: a step of {entry.step} counts points; use linspace"
                )
        lines = [
            arange(
                0 if span.start is None else span.start,
                span.stop,
                1 if span.step is None else span.step,
            )
            for span in slices
        ]
        ndim = len(lines)
        sparse = [
            dimshuffle(line, *("x",) * i, 0, *("x",) * (ndim - i - 1))
            for i, line in enumerate(lines)
        ]
        if self.is_sparse:
            return sparse
        lengths = [shape_i(line, 0) for line in lines]
        return [broadcast_to(line, lengths) for line in sparse]


mgrid: Any = Grid("mgrid", is_sparse=False)
ogrid: Any = Grid("ogrid", is_sparse=True)


def to_one_hot(y: Any, nb_class: Any, dtype: Any = None) -> Variable:
    """Return one-hot rows of floatX: a one at each integer's index, zeros elsewhere.

    The result has an axis of length ``nb_class`` at its end; an integer out of its
    range has a row of zeros.
    """
    labels = as_tensor_variable(y)
    if labels.type.dtype[0] not in "iu":
        raise GraphTypeError(
            f"to_one_hot: given {labels} of {labels.type}, expected integers"
        )
    places = counted(as_length("to_one_hot", nb_class))
    spread = dimshuffle(labels, *range(labels.type.ndim), "x")
    return math.cast(math.eq(spread, places), dtype or "floatX")
