"""Gradients of loops with checkpoints: those of the same loops in segments."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler.derivatives.loops import Gradients, moved
from gpuarray.compiler.derivatives.node import M
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.scan.segments import with_checkpoints


def through_segments(
    loop: Scan,
    inputs: Sequence[Variable],
    gradients: Gradients,
) -> list[Variable | None]:
    """Return the gradient of each input of a loop; None for no gradient.

    They read the states before each segment and none of the loop's own traces.
    """
    finals, traces = moved(loop, gradients[: loop.n_states], gradients[loop.n_states :])
    return list(
        M.gradients_within(
            lambda operands: with_checkpoints(loop, operands),
            [*finals, *traces],
            inputs,
        )
    )


M.through_segments = through_segments
