"""Ops over windows: their inputs, their shapes, and the windows themselves.

Nodes have, behind their arrays, a window, a stride and a padding for each axis: integer
scalars, which may be known only when the program runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.op import Variables
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.linalg.linalg import wide
from gpuarray.compiler.ops.shape.shape import elements
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")
MOST_AXES = 3


class Windowed(Op):
    """The base of ops over windows: ``ndim`` axes, cut short at the end or left out.

    With ``ignore_border`` a window that is cut short by the end is left out.
    """

    __props__ = ("ignore_border", "mode", "ndim")

    arrays: ClassVar[tuple[str, ...]] = ("x",)
    """The names of the arrays, of which the first is what is pooled."""

    like_result: ClassVar[tuple[str, ...]] = ()
    """The inputs that have the shape of the pooled array."""

    gives_result: ClassVar[bool] = True
    """True if the output has the shape of the pooled array, else of the first."""

    takes_integers: ClassVar[bool] = False
    """True if maxima and sums may be of integers."""

    def __init__(
        self, ignore_border: bool = False, mode: str = "max", ndim: int = 2
    ) -> None:
        if mode not in MODES:
            raise GraphValueError(
                f"{type(self).__name__}: mode is {mode!r}, expected one of {MODES}"
            )
        if ndim not in range(1, MOST_AXES + 1):
            raise GraphValueError(
                f"{type(self).__name__}: ndim is {ndim!r}, expected 1 to {MOST_AXES}"
            )
        self.ignore_border = bool(ignore_border)
        self.mode = mode
        self.ndim = int(ndim)

    def check_max(self) -> None:
        """Raise GraphValueError unless the op is one of maxima."""
        if self.mode != "max":
            raise GraphValueError(
                f"{type(self).__name__}: mode is {self.mode!r}, expected 'max'"
            )

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over the arrays, ``ws``, and maybe ``stride`` and ``pad``.

        The inputs of a node, all numbers one by one, give such a node again.
        """
        n = len(self.arrays)
        if self.ndim > 1 and len(inputs) == n + 3 * self.ndim:
            count, numbers = self.ndim, inputs[n:]
            parts = [numbers[i : i + count] for i in range(0, 3 * count, count)]
            inputs = (*inputs[:n], *parts)
        if not n < len(inputs) <= n + 3:
            raise GraphTypeError(
                f"{self}: given {len(inputs)} inputs, expected "
                f"{', '.join(self.arrays)}, ws and at most stride and pad"
            )
        arrays = self._arrays(inputs[:n])
        ws, stride, pad = [*inputs[n:], None, None][:3]
        windows = self._numbers("ws", ws, 1)
        strides = windows if stride is None else self._numbers("stride", stride, 1)
        pads = self._numbers("pad", (0,) * self.ndim if pad is None else pad, 0)
        self._check_pads(windows, pads)
        kind = arrays[0].type
        flags = kind.broadcastable
        if self.gives_result:
            flags = (*flags[: kind.ndim - self.ndim], *(False,) * self.ndim)
        inputs = (*arrays, *windows, *strides, *pads)
        return Apply(self, list(inputs), [TensorType(kind.dtype, flags)()])

    def _arrays(self, values: Sequence[Any]) -> list[Variable]:
        arrays = [as_tensor_variable(value) for value in values]
        takes_integers = self.takes_integers and self.mode in ("max", "sum")
        for name, array in zip(self.arrays, arrays, strict=True):
            if array.type.ndim < self.ndim:
                raise GraphArgumentError(
                    f"{self}: {name} is {array} of {array.type}, expected {self.ndim} "
                    "axes or more"
                )
            if not (array.type.is_float or (takes_integers and is_integer(array))):
                raise GraphTypeError(
                    f"{self}: {name} is {array} of {array.type}, expected "
                    f"{'real numbers' if takes_integers else 'floats; cast it'}"
                )
            if array.type.dtype != arrays[0].type.dtype or (
                array.type.ndim != arrays[0].type.ndim
            ):
                raise GraphTypeError(
                    f"{self}: {name} is {array} of {array.type}, expected the dtype "
                    f"and number of axes of {arrays[0]}, {arrays[0].type}"
                )
        return arrays

    def _numbers(self, name: str, value: Any, least: int) -> list[Variable]:
        """Return an integer scalar for each axis."""
        if isinstance(value, (tuple, list)):
            scalars = list(value)
        else:
            vector = as_tensor_variable(value)
            if vector.type.ndim != 1 or not is_integer(vector):
                raise GraphTypeError(
                    f"{self}: {name} is {vector} of {vector.type}, expected "
                    f"{self.ndim} integers or a vector of them"
                )
            known = elements(vector)
            scalars = known or [index(vector, i) for i in range(self.ndim)]
        if len(scalars) != self.ndim:
            raise GraphValueError(
                f"{self}: {name} has {len(scalars)} numbers, expected {self.ndim}, one "
                "for each axis"
            )
        numbers = [as_length(str(self), scalar, name) for scalar in scalars]
        for axis, number in enumerate(numbers):
            if isinstance(number, Constant) and number.data.item() < least:
                raise GraphValueError(
                    f"{self}: {name} is {number.data.item()} for axis {axis} of "
                    f"{self.ndim}, expected {least} or more"
                )
        return numbers

    def _check_pads(self, windows: Sequence[Any], pads: Sequence[Any]) -> None:
        for axis, (window, pad) in enumerate(zip(windows, pads, strict=True)):
            both = isinstance(window, Constant) and isinstance(pad, Constant)
            if both and pad.data.item() >= window.data.item():
                raise GraphValueError(
                    f"{self}: pad is {pad.data.item()} for axis {axis} of {self.ndim}, "
                    f"expected less than the window there, {window.data.item()}"
                )

    def split(self, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the arrays and the numbers among the inputs."""
        return list(inputs[: len(self.arrays)]), list(inputs[len(self.arrays) :])

    def groups(self, numbers: Sequence[Any]) -> list[list[Any]]:
        """Return windows, strides and paddings."""
        ends = range(0, 4 * self.ndim, self.ndim)
        return [list(numbers[a:b]) for a, b in itertools.pairwise(ends)]

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The integers."""
        return range(len(self.arrays), len(node.inputs))

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The shape of the first array, or of the pooled one by Theano's formulas."""
        if not self.gives_result:
            return [tuple(input_shapes[0])]
        return [self._result_shape(node, input_shapes[0])]

    def _result_shape(self, node: Apply, lengths: Sequence[Any]) -> tuple[Any, ...]:
        numbers = [_known(number) for number in self.split(node.inputs)[1]]
        known = [_known(length) for length in lengths]
        shape = self._pooled_shape(known, numbers)
        return tuple(
            core.constant(n, "int64") if isinstance(n, int) else n for n in shape
        )

    def _pooled_shape(
        self, lengths: Sequence[Any], numbers: Sequence[Any]
    ) -> tuple[Any, ...]:
        ws, stride, pad = self.groups(numbers)
        return self.out_shape(lengths, ws, self.ignore_border, stride, pad, self.ndim)

    @staticmethod
    def out_shape(
        imgshape: Sequence[Any],
        ws: Sequence[Any],
        ignore_border: bool = False,
        stride: Sequence[Any] | None = None,
        pad: Sequence[Any] | None = None,
        ndim: int = 2,
    ) -> tuple[Any, ...]:
        """Return the pooled shape of ``imgshape``, numbers or variables.

        An axis of v elements, padding included, has ``(v - ws) // stride + 1``; if the
        border is not ignored rounded up, less windows that begin behind the data.
        """
        strides = ws if stride is None else stride
        pads = (0,) * ndim if pad is None else pad
        outer = len(imgshape) - ndim
        axes = zip(imgshape[outer:], ws, strides, pads, strict=True)
        pooled = [_pooled_length(*axis, ignore_border) for axis in axes]
        return (*imgshape[:outer], *pooled)

    def requirements(self, node: Apply, input_shapes: Any) -> list[Requirement]:
        """The shapes of the arrays, by that of the first."""
        pooled = input_shapes[0]
        if self.like_result:
            pooled = self._result_shape(node, input_shapes[0])
        found: list[Requirement] = []
        for name, lengths in zip(self.arrays, input_shapes, strict=False):
            expected = pooled if name in self.like_result else input_shapes[0]
            for left, right in zip(lengths, expected, strict=True):
                found += equal(left, right)
        return found

    # ---- references ----

    def windows(
        self, shape: Sequence[int], numbers: Sequence[Any]
    ) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...], int]]:
        """Return each window's place in the result, its elements, and their number."""
        integers = [int(number) for number in numbers]
        lengths = shape[len(shape) - self.ndim :]
        pooled = self._pooled_shape(lengths, integers)
        for place in itertools.product(*map(range, pooled)):
            count, parts = 1, []
            axes = zip(place, lengths, *self.groups(integers), strict=True)
            for o, n, window, stride, pad in axes:
                start, end = o * stride, min(o * stride + window, n + 2 * pad)
                inside = slice(max(start - pad, 0), min(end - pad, n))
                is_padded = self.mode == "average_inc_pad"
                count *= end - start if is_padded else inside.stop - inside.start
                parts.append(inside)
            yield (..., *place), (..., *parts), count

    def empty_result(self, x: Any, numbers: Sequence[Any]) -> Any:
        """Return zeros of the pooled shape, in the dtype to sum in."""
        shape = self._pooled_shape(x.shape, [int(number) for number in numbers])
        return np.zeros(shape, wide(x).dtype)

    @property
    def axes(self) -> tuple[int, ...]:
        """The pooled axes, counted from the last."""
        return tuple(range(-self.ndim, 0))

    def spread(self, values: Any) -> Any:
        """Return values of windows with axes behind theirs for the elements."""
        return values[(..., *(None,) * self.ndim)]

    # ---- gradients ----

    def with_integers(self, *gradients: Variable | None) -> list[Variable | None]:
        """Return the gradients of all inputs: none of the integers."""
        return [*gradients, *(None,) * (3 * self.ndim)]

    def again(
        self, kind: type[Windowed], arrays: Sequence[Any], inputs: Variables
    ) -> Any:
        """Apply an op of this class to other arrays, over the same windows."""
        op = kind(self.ignore_border, self.mode, self.ndim)
        return op(*arrays, *self.groups(self.split(inputs)[1]))


def is_integer(variable: Variable) -> bool:
    """True if the variable has an integer dtype."""
    return variable.type.dtype[0] in "iu"


def _known(number: Any) -> Any:
    return int(number.data.item()) if isinstance(number, Constant) else number


def _pooled_length(
    length: Any, window: Any, stride: Any, pad: Any, ignore_border: bool
) -> Any:
    inside = length + pad
    whole = inside + pad - window
    if ignore_border:
        return _larger(whole + stride, 0) // stride
    is_known = all(isinstance(number, int) for number in (window, stride, pad))
    if is_known and pad == 0 and stride >= window:
        return (length + stride - 1) // stride
    rounded = (_larger(whole, 0) + stride - 1) // stride + 1
    return _smaller(rounded, (inside + stride - 1) // stride)


def _larger(a: Any, b: int) -> Any:
    return math.maximum(a, b) if isinstance(a, Variable) else max(a, b)


def _smaller(a: Any, b: Any) -> Any:
    if isinstance(a, Variable) or isinstance(b, Variable):
        return math.minimum(a, b)
    return min(a, b)
