"""Where extrema are: one reduction."""

from __future__ import annotations

import math

from gpuarray import reduction
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.argmax import Argmax


@step_function("argmax")
def places(x: Array, *, axes: tuple[int, ...], smallest: bool) -> Array:
    """Places over axes, counted in C order."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    lengths = [x.shape[axis] for axis in kept]
    count = math.prod(x.shape[axis] for axis in axes)
    axis = axes[0] if len(axes) == 1 else len(kept)
    moved = x if len(axes) == 1 else x.transpose(*kept, *axes).reshape(*lengths, count)
    function = reduction.argmin if smallest else reduction.argmax
    found: Array = function(moved, axis)
    return found


@lowers(Argmax)
def argmax(op: Argmax, node: Apply, k: Lowerer) -> None:
    """One launch; a copy before it where several axes are no one axis in memory."""
    k.call(node, "argmax", node.inputs, {"axes": op.axes, "smallest": op.smallest})
