"""Pooling, its gradients and its forward derivative: routines of the library."""

from __future__ import annotations

from typing import Any

from gpuarray._native import lib
from gpuarray._nn import pooling
from gpuarray._nn.pooling import MODES, Windows
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.nnet.pooling import (
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    MaxPoolRop,
    Pool,
)
from gpuarray.compiler.ops.nnet.windows import Windowed

ROUTINES = {
    Pool: "pool",
    MaxPoolGrad: "pool_grad",
    AveragePoolGrad: "pool_grad",
    DownsampleFactorMaxGradGrad: "pool_at_maxima",
    MaxPoolRop: "pool_at_first",
}
"""The library's routines, which the step functions are named after."""


def _windows(numbers: tuple[int, ...], mode: str, ceil: bool) -> Windows:
    nd = len(numbers) // 3
    window, stride, pad = numbers[:nd], numbers[nd : 2 * nd], numbers[2 * nd :]
    return Windows(window, stride, pad, pad, mode, ceil)


@step_function("pool")
def pool(x: Array, *numbers: int, mode: str, ceil: bool) -> Any:
    """Return maxima, sums or averages of windows."""
    return pooling.pool(x, _windows(numbers, mode, ceil))


@step_function("pool_grad")
def pool_grad(x: Array, *rest: Any, mode: str, ceil: bool) -> Any:
    """Return the gradient of maxima, sums or averages."""
    n = 2 if mode == "max" else 1
    windows = _windows(rest[n:], mode, ceil)
    return pooling.pool_grad(x, *rest[:n], windows=windows)


@step_function("pool_at_maxima")
def pool_at_maxima(
    x: Array, y: Array, v: Array, *numbers: int, mode: str, ceil: bool
) -> Any:
    """Return sums of an array where the maxima are."""
    return pooling.pool_at_maxima(x, y, v, _windows(numbers, mode, ceil))


@step_function("pool_at_first")
def pool_at_first(x: Array, v: Array, *numbers: int, mode: str, ceil: bool) -> Any:
    """Return elements of an array where the first maxima are."""
    return pooling.pool_at_first(x, v, _windows(numbers, mode, ceil))


@lowers(*ROUTINES)
def lower_windowed(op: Windowed, node: Apply, k: Lowerer) -> None:
    """Lower to a library step of one launch."""
    routine = next(ROUTINES[cls] for cls in type(op).__mro__ if cls in ROUTINES)
    options = {"mode": op.mode, "ceil": not op.ignore_border}
    k.call(node, routine, node.inputs, options)


def _routine(
    s: Steps, name: str, ins: tuple[int, ...], arrays: int, mode: str, ceil: bool
) -> int:
    """Add the routine, which takes the padding on both sides."""
    nd = (len(ins) - arrays) // 3
    value = s.array(ins[0])
    flags = lib.GA_POOL_CEIL if ceil else 0
    inputs = [*ins, *ins[len(ins) - nd :]]
    return s.routine(name, inputs, value.dtype, value.ndim, MODES[mode], flags)


@body_of("pool")
def pool_steps(s: Steps, *ins: int, mode: str, ceil: bool) -> int:
    """Add the pool routine."""
    return _routine(s, "pool", ins, 1, mode, ceil)


@body_of("pool_grad")
def pool_grad_steps(s: Steps, *ins: int, mode: str, ceil: bool) -> int:
    """Add the pool_grad routine."""
    return _routine(s, "pool_grad", ins, 3 if mode == "max" else 2, mode, ceil)


@body_of("pool_at_maxima")
def pool_at_maxima_steps(s: Steps, *ins: int, mode: str, ceil: bool) -> int:
    """Add the pool_at_maxima routine."""
    return _routine(s, "pool_at_maxima", ins, 3, mode, ceil)


@body_of("pool_at_first")
def pool_at_first_steps(s: Steps, *ins: int, mode: str, ceil: bool) -> int:
    """Add the pool_at_first routine."""
    return _routine(s, "pool_at_first", ins, 2, mode, ceil)
