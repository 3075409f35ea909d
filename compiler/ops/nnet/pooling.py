"""Pooling over the last axes, its gradients, and its forward derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import wide
from gpuarray.compiler.ops.nnet.arguments import called_elsewhere
from gpuarray.compiler.ops.nnet.windows import Windowed
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class Pool(Windowed):
    """The maximum, sum or average of each window.

    Averages count padding as zeros (``"average_inc_pad"``) or not at all.
    """

    takes_integers = True

    def reference(self, x: Any, *numbers: Any) -> Any:
        """Pool window by window."""
        y, source = self.empty_result(x, numbers), wide(x)
        for place, elements_, count in self.windows(x.shape, numbers):
            part = source[elements_]
            if self.mode == "max":
                y[place] = part.max(self.axes)
            elif self.mode == "sum":
                y[place] = part.sum(self.axes, dtype=y.dtype)
            else:
                y[place] = part.sum(self.axes) / count
        return y.astype(x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient: of maxima to all elements that equal them."""
        x, g = inputs[0], output_gradients[0]
        if g is None:
            return self.with_integers(None)
        if self.mode == "max":
            return self.with_integers(
                self.again(MaxPoolGrad, (x, outputs[0], g), inputs)
            )
        return self.with_integers(self.again(AveragePoolGrad, (x, g), inputs))

    def R_op(self, inputs: Variables, eval_points: Gradients) -> list[Any]:
        """Return the direction, pooled; of maxima that of the first."""
        direction = eval_points[0]
        if direction is None:
            return [None]
        if self.mode == "max":
            return [self.again(MaxPoolRop, (inputs[0], direction), inputs)]
        return [self.again(Pool, (direction,), inputs)]


class MaxPoolGrad(Windowed):
    """The gradient of maxima: each element gets that of the windows it is maximal in.

    The inputs are what was pooled, the result, and the result's gradient.
    """

    arrays = ("x", "maxout", "gz")
    like_result = ("maxout", "gz")
    gives_result = False

    def __init__(
        self, ignore_border: bool = False, mode: str = "max", ndim: int = 2
    ) -> None:
        super().__init__(ignore_border, mode, ndim)
        self.check_max()

    def reference(self, x: Any, y: Any, g: Any, *numbers: Any) -> Any:
        """Add to the elements window by window."""
        result, gradients = np.zeros_like(wide(x)), wide(g)
        for place, elements_, _ in self.windows(x.shape, numbers):
            is_max = x[elements_] == self.spread(y[place])
            result[elements_] += np.where(is_max, self.spread(gradients[place]), 0)
        return result.astype(x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return that of the third input, in which it is linear."""
        return _by_third(self, DownsampleFactorMaxGradGrad, inputs, output_gradients)


class AveragePoolGrad(Windowed):
    """The gradient of sums and averages: each element gets its windows' shares.

    The inputs are what was pooled, which gives the shape, and the result's gradient.
    """

    arrays = ("x", "gz")
    like_result = ("gz",)
    gives_result = False

    def __init__(
        self,
        ignore_border: bool = False,
        mode: str = "average_inc_pad",
        ndim: int = 2,
    ) -> None:
        super().__init__(ignore_border, mode, ndim)
        if mode == "max":
            raise GraphValueError(
                "AveragePoolGrad: mode is 'max', whose gradient is MaxPoolGrad"
            )

    def reference(self, x: Any, g: Any, *numbers: Any) -> Any:
        """Add to the elements window by window."""
        result, gradients = np.zeros_like(wide(x)), wide(g)
        for place, elements_, count in self.windows(x.shape, numbers):
            share = gradients[place] / (1 if self.mode == "sum" else count)
            result[elements_] += self.spread(share)
        return result.astype(x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return that of the second input, in which it is linear: it is pooled."""
        again = output_gradients[0]
        if again is None:
            return self.with_integers(None, None)
        pooled = self.again(Pool, (again,), inputs)
        return self.with_integers(math.zeros_like(inputs[0]), pooled)


class DownsampleFactorMaxGradGrad(Windowed):
    """For each window the sum of another array's elements where the maxima are.

    The inputs are what was pooled, the result, and that array: the gradient of the
    gradient of maxima.
    """

    arrays = ("x", "maxout", "ggx")
    like_result = ("maxout",)

    def __init__(
        self, ignore_border: bool = False, mode: str = "max", ndim: int = 2
    ) -> None:
        super().__init__(ignore_border, mode, ndim)
        self.check_max()

    def reference(self, x: Any, y: Any, v: Any, *numbers: Any) -> Any:
        """Sum window by window."""
        result, source = self.empty_result(x, numbers), wide(v)
        for place, elements_, _ in self.windows(x.shape, numbers):
            is_max = x[elements_] == self.spread(y[place])
            result[place] = np.where(is_max, source[elements_], 0).sum(self.axes)
        return result.astype(x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return that of the third input, in which it is linear."""
        return _by_third(self, MaxPoolGrad, inputs, output_gradients)


def _by_third(
    op: Windowed, kind: type[Windowed], inputs: Variables, output_gradients: Gradients
) -> Gradients:
    """Return the gradient of the third input by an op of ``kind``; zero for others."""
    (x, y, _), _ = op.split(inputs)
    (g,) = output_gradients
    if g is None:
        return op.with_integers(None, None, None)
    linear = op.again(kind, (x, y, g), inputs)
    return op.with_integers(math.zeros_like(x), math.zeros_like(y), linear)


class MaxPoolRop(Windowed):
    """For each window the element of another array where the first maximum is.

    The inputs are what is pooled, and that array: the derivative of maxima along it.
    """

    arrays = ("x", "eval_point")

    def __init__(
        self, ignore_border: bool = False, mode: str = "max", ndim: int = 2
    ) -> None:
        super().__init__(ignore_border, mode, ndim)
        self.check_max()

    def reference(self, x: Any, v: Any, *numbers: Any) -> Any:
        """Take from window by window."""
        result, source = self.empty_result(x, numbers), wide(x)
        for place, elements_, _ in self.windows(x.shape, numbers):
            part = source[elements_]
            rows = (*part.shape[: part.ndim - self.ndim], -1)
            first = part.reshape(rows).argmax(-1)
            values = wide(v)[elements_].reshape(rows)
            result[place] = np.take_along_axis(values, first[..., None], -1)[..., 0]
        return result.astype(x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return that of the direction: of equal maxima, all get it."""
        (x, _), _ = self.split(inputs)
        g = output_gradients[0]
        if g is None:
            return self.with_integers(None, None)
        maxima = self.again(Pool, (x,), inputs)
        spread = self.again(MaxPoolGrad, (x, maxima, g), inputs)
        return self.with_integers(math.zeros_like(x), spread)


# ---- functions ----

_named = called_elsewhere(
    kernel_size="ws",
    pool_size="ws",
    window="ws",
    kernel_shape="ws",
    size="ws",
    strides="stride",
    pads="pad",
    ceil_mode="ignore_border, which is its contrary",
)


@_named
def pool_2d(
    input: Any,
    ws: Any = None,
    ignore_border: bool | None = None,
    stride: Any = None,
    pad: Any = (0, 0),
    mode: str = "max",
    ds: Any = None,
    st: Any = None,
    padding: Any = None,
) -> Variable:
    """Return the maxima, sums or averages of windows over the last two axes.

    ``ws`` is the window, rows and columns, ``stride`` the distance between windows, by
    default the window, ``pad`` the padding on both sides of each axis, less than the
    window: integers, or vectors of them that are known when the program runs. With
    ``ignore_border`` a window that the end cuts short is left out. ``mode`` is
    ``'max'``, ``'sum'``, ``'average_inc_pad'``, which counts padding as zeros, or
    ``'average_exc_pad'``, which does not count it. ``ds``, ``st`` and ``padding`` are
    former names of ``ws``, ``stride`` and ``pad``.

    ``input`` has at least two axes, of floats, or of integers for maxima and sums; the
    result has its dtype. Windows and paddings that do not fit raise ValueError.
    """
    return _pooled(
        "pool_2d", 2, input, (ws, ds), ignore_border, (stride, st), (pad, padding), mode
    )


@_named
def pool_3d(
    input: Any,
    ws: Any = None,
    ignore_border: bool | None = None,
    stride: Any = None,
    pad: Any = (0, 0, 0),
    mode: str = "max",
    ds: Any = None,
    st: Any = None,
    padding: Any = None,
) -> Variable:
    """Return the maxima, sums or averages of windows over the last three axes.

    Arguments are those of `pool_2d`, of three numbers each.
    """
    return _pooled(
        "pool_3d", 3, input, (ws, ds), ignore_border, (stride, st), (pad, padding), mode
    )


def _pooled(
    name: str,
    ndim: int,
    x: Any,
    windows: tuple[Any, Any],
    ignore_border: bool | None,
    strides: tuple[Any, Any],
    pads: tuple[Any, Any],
    mode: str,
) -> Variable:
    ws = _renamed(name, "ws", "ds", *windows)
    if ws is None:
        raise GraphTypeError(f"{name}: given no ws, expected a window of {ndim} axes")
    stride = _renamed(name, "stride", "st", *strides)
    is_default = isinstance(pads[0], tuple) and pads[0] == (0,) * ndim
    pad = _renamed(name, "pad", "padding", None if is_default else pads[0], pads[1])
    op = Pool(bool(ignore_border), mode, ndim)
    result: Variable = op(x, ws, stride, pad)
    return result


def _renamed(name: str, new: str, old: str, value: Any, former: Any) -> Any:
    if value is not None and former is not None:
        raise GraphValueError(
            f"{name}: given both {new} and {old}, its former name; expected {new}"
        )
    return former if value is None else value


def max_pool_2d_same_size(input: Any, patch_size: Any) -> Variable:
    """Return ``input`` with zeros for all but the maxima of patches.

    ``patch_size`` has the rows and columns of a patch; patches do not overlap.
    """
    x = as_tensor_variable(input)
    maxima = Pool(ignore_border=True)(x, patch_size)
    result: Variable = MaxPoolGrad(ignore_border=True)(x, maxima, maxima, patch_size)
    return result
