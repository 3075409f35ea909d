"""Reductions over axes: folds by the associative rows of the scalar table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod as product
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphIndexError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import (
    TensorType,
    dtype_name,
    is_integer_name,
)
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    axis_list,
    normalise_axis,
)
from gpuarray.scalars import SCALARS

Axis = int | Sequence[int] | None

NAMES = {name: row.reduction.title() for name, row in SCALARS.items() if row.reduction}
"""The name of each reduction, by the row that it folds."""


def result_dtype(monoid: str, dtype: str) -> str:
    """Return the dtype of a reduction, as NumPy's: sums of integers have 64 bits.

    >>> result_dtype("add", "int8")
    'int64'
    """
    if SCALARS[monoid].result == "bool":
        return "bool"
    if monoid in ("add", "mul") and is_integer_name(dtype):
        return "uint64" if dtype.startswith("uint") else "int64"
    return dtype


def has_elements(lengths: Sequence[Any], axes: Sequence[int]) -> list[Requirement]:
    """Require elements to reduce, if the result has elements."""
    one: Any = core.constant(1, "int64")
    remaining = (length for axis, length in enumerate(lengths) if axis not in axes)
    whole = math.minimum(product(lengths, start=one), one)
    return equal(whole, math.minimum(product(remaining, start=one), one))


class Reduce(Op):
    """The fold of row ``monoid`` over ``axes``, which are dropped.

    ``dtype`` is the result's and ``acc_dtype`` the accumulator's; None depends on the
    input: NumPy's result, and float32 for sums of float16 and bfloat16. With
    ``of_none`` the maximum of no floats is -inf, and the minimum inf.
    """

    __props__ = ("monoid", "axes", "dtype", "acc_dtype", "of_none")

    def __init__(
        self,
        monoid: str,
        axes: Sequence[int],
        dtype: str | None = None,
        acc_dtype: str | None = None,
        of_none: bool = False,
    ) -> None:
        if monoid not in NAMES:
            raise GraphValueError(
                f"Reduce: no reduction folds {monoid!r}; there are {sorted(NAMES)}"
            )
        self.monoid = monoid
        self.axes = tuple(sorted(int(axis) for axis in axes))
        self.dtype = None if dtype is None else dtype_name(dtype)
        self.acc_dtype = None if acc_dtype is None else dtype_name(acc_dtype)
        self.of_none = of_none

    def make_node(self, x: Any) -> Apply:
        """Return a node over ``x``, by an op with definite dtypes."""
        variable = as_tensor_variable(x)
        ndim = variable.type.ndim
        if not set(self.axes) <= set(range(ndim)):
            raise GraphIndexError(f"{self}: axes {self.axes} are not among {ndim} axes")
        dtype = self.dtype or result_dtype(self.monoid, variable.type.dtype)
        acc_dtype = self._accumulator(dtype)
        op = type(self)(self.monoid, self.axes, dtype, acc_dtype, self.of_none)
        remaining = [i for i in range(ndim) if i not in self.axes]
        pattern = tuple(variable.type.broadcastable[axis] for axis in remaining)
        return Apply(op, [variable], [TensorType(dtype, pattern)()])

    def _accumulator(self, dtype: str) -> str:
        if self.acc_dtype is not None:
            return self.acc_dtype
        is_half = dtype in ("float16", "bfloat16") and self.monoid in ("add", "mul")
        return "float32" if is_half else dtype

    def reference(self, x: Any) -> Any:
        """The fold with NumPy. Raises ValueError for the maximum of no elements."""
        ufunc: Any = SCALARS[self.monoid].reference
        dtype = self.dtype or result_dtype(self.monoid, x.dtype.name)
        accumulator = np.dtype(self._accumulator(dtype))
        with np.errstate(all="ignore"):
            operand = x.astype(accumulator, copy=False)
            start = {"initial": SCALARS[self.monoid].identity} if self.of_none else {}
            folded = ufunc.reduce(operand, axis=self.axes, dtype=accumulator, **start)
        return np.asarray(folded).astype(dtype)

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable | None:
        """Return ``g`` for the elements that contribute to the result."""
        g, y = self._expand(g, x), self._expand(y, x)
        if self.monoid == "add":
            spread: Variable = m.second(x, g)
            return spread
        if self.monoid == "mul":
            return self._grad_of_product(m, g, y, x)
        if SCALARS[self.monoid].result == "bool":
            return None
        masked: Variable = m.where(m.eq(x, y), g, m.zeros_like(g))
        return masked

    def _grad_of_product(self, m: Any, g: Any, y: Any, x: Any) -> Variable:
        """Return the product of the others: exact also with elements that are 0."""
        is_zero = m.eq(x, 0)
        without = m.where(is_zero, m.ones_like(x), x)
        others = self._expand(m.prod(without, axis=self.axes), x)
        zeros = self._expand(m.sum(m.cast(is_zero, "int64"), axis=self.axes), x)
        at_zero = m.where(m.eq(zeros, 1), others, m.zeros_like(others))
        elsewhere = m.where(m.eq(zeros, 0), others, m.zeros_like(others)) / without
        slope = m.slope_of_product(m.where(is_zero, at_zero, elsewhere), x, self.axes)
        product: Variable = m.times(g, slope)
        return product

    def _expand(self, reduced: Variable, x: Variable) -> Variable:
        return keep_dims(reduced, self.axes, x.type.ndim)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the lengths of the other axes."""
        (lengths,) = input_shapes
        return [tuple(n for axis, n in enumerate(lengths) if axis not in self.axes)]

    def requirements(
        self, node: Apply, input_shapes: Sequence[Sequence[Any]]
    ) -> Iterable[Requirement]:
        """Require elements, if the fold has no identity."""
        ufunc: Any = SCALARS[self.monoid].reference
        if self.of_none or getattr(ufunc, "identity", None) is not None:
            return []
        return has_elements(input_shapes[0], self.axes)

    def pretty(self, *texts: str) -> str:
        """``Sum{axes}(x)``."""
        return f"{NAMES[self.monoid]}{{{list(self.axes)}}}({', '.join(texts)})"

    def __str__(self) -> str:
        kind = type(self).__name__.removesuffix("Reduce")
        acc = "" if self.acc_dtype is None else f", acc_dtype={self.acc_dtype}"
        return f"{kind}{NAMES[self.monoid]}{{axis={list(self.axes)}{acc}}}"


def keep_dims(reduced: Variable, axes: Sequence[int], ndim: int) -> Variable:
    """Return a reduction's result with the reduced axes put back, of length 1."""
    rest = iter(range(ndim))
    return dimshuffle(reduced, *("x" if i in axes else next(rest) for i in range(ndim)))


def axes_of(name: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes to reduce, counted from the left: all if ``axis`` is None."""
    if axis is None:
        return tuple(range(ndim))
    listed = axis_list(axis)
    axes = tuple(sorted(normalise_axis(name, number, ndim) for number in listed))
    if len(set(axes)) < len(axes):
        raise GraphValueError(f"{name}: an axis stands twice in {listed}")
    return axes


def reduced(
    monoid: str,
    x: Any,
    axis: Axis,
    keepdims: bool,
    dtype: Any = None,
    acc_dtype: Any = None,
) -> Variable:
    """``x`` folded over ``axis`` by the row ``monoid``."""
    variable = as_tensor_variable(x)
    axes = axes_of(NAMES[monoid].lower(), axis, variable.type.ndim)
    result: Variable = Reduce(monoid, axes, dtype, acc_dtype)(variable)
    return keep_dims(result, axes, variable.type.ndim) if keepdims else result


def sum(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
) -> Variable:
    """The sum over ``axis``, all axes by default; int64 or uint64 for integers."""
    return reduced("add", x, axis, keepdims, dtype, acc_dtype)


def prod(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
) -> Variable:
    """The product over ``axis``; int64 or uint64 for integers."""
    return reduced("mul", x, axis, keepdims, dtype, acc_dtype)


def max(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """The greatest element over ``axis``; nan wins. Its gradient goes to every tie."""
    return reduced("maximum", x, axis, keepdims)


def min(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """The least element over ``axis``; nan wins. Its gradient goes to every tie."""
    return reduced("minimum", x, axis, keepdims)


def any(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Return whether any element over ``axis`` is not zero."""
    return reduced("logical_or", x, axis, keepdims)


def all(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Return whether all elements over ``axis`` are not zero."""
    return reduced("logical_and", x, axis, keepdims)


def count(x: Variable, axes: Sequence[int]) -> Variable:
    """Return the number of elements reduced into one, int64."""
    lengths = [shape_i(x, axis) for axis in axes]
    if not lengths:
        return core.constant(1, "int64")
    return lengths[0] if len(lengths) == 1 else math.mul(*lengths)


def mean(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
) -> Variable:
    """The mean over ``axis``: of ``x``'s dtype, or float64 for integers."""
    variable = as_tensor_variable(x)
    own = variable.type.dtype
    target = dtype_name(dtype or ("float64" if is_integer_name(own) else own))
    if is_integer_name(target):
        raise GraphTypeError(
            f"mean: dtype {target} has no fractions; cast the mean instead"
        )
    work = "float32" if target in ("float16", "bfloat16") else target
    axes = axes_of("mean", axis, variable.type.ndim)
    total = reduced("add", variable, axes, keepdims, work, acc_dtype)
    return math.cast(total / math.cast(count(variable, axes), work), target)


def var(x: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """The variance over ``axis``, with ``count - ddof`` in the denominator, or 0.

    For complex numbers it is that of their distance to the mean, and real.
    """
    variable = as_tensor_variable(x)
    if is_integer_name(variable.type.dtype):
        variable = math.cast(variable, "float64")
    axes = axes_of("var", axis, variable.type.ndim)
    centred = variable - mean(variable, axes, keepdims=True)
    squared = math.square(abs(centred) if variable.type.is_complex else centred)
    if ddof == 0:
        return mean(squared, axes, keepdims=keepdims)
    free = math.maximum(count(variable, axes) - ddof, 0)
    divisor = math.cast(free, squared.type.dtype)
    return sum(squared, axes, keepdims=keepdims) / divisor


def std(x: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """The standard deviation over ``axis``: the root of ``var``.

    Where all elements are equal, as where there is one, its derivatives are 0.
    """
    squared = var(x, axis, ddof, keepdims)
    return math.where(math.FUNCTIONS["eq"](squared, 0), 0, math.sqrt(squared))


def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """The greatest minus the least element over ``axis``."""
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def sum_to(x: Variable, like: Variable) -> Variable:
    """Return ``x`` summed over the axes along which ``like`` would broadcast to it."""
    extra = x.type.ndim - like.type.ndim
    flags = zip(x.type.broadcastable[extra:], like.type.broadcastable, strict=True)
    repeated = [
        extra + i for i, (of_x, of_like) in enumerate(flags) if of_like and not of_x
    ]
    if repeated:
        x = sum(x, repeated, dtype=x.type.dtype, keepdims=True)
    if extra:
        x = sum(x, range(extra), dtype=x.type.dtype)
    return x


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Variable:
    """Return whether all elements are equal within ``atol + rtol * |b|``, a scalar."""
    return all(math.isclose(a, b, rtol, atol, equal_nan))
