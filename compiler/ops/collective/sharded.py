"""An optimizer of which each rank keeps its part of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.broadcast.broadcast import patternbroadcast
from gpuarray.compiler.ops.collective.collectives import all_gather, reduce_scatter
from gpuarray.compiler.ops.collective.data_parallel import broadcast_values
from gpuarray.compiler.ops.creation.creation import zeros
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.shape.shape import flatten, reshape

if TYPE_CHECKING:
    from gpuarray.distributed import Communicator

State = Callable[[str], Any]
"""Makes a shared vector of zeros, as long as a rank's part."""
Rule = Callable[[Variable, Variable, State], tuple[Variable, Sequence[tuple[Any, Any]]]]
"""The step of an optimizer: of a part of the parameters, of their gradient and of what
makes its state, to their next values and the updates of the state."""


def sharded_updates(
    params: Sequence[Any],
    gradients: Sequence[Variable],
    rule: Rule,
    comm: Communicator,
    shared: Callable[..., Any],
    root: int | None,
) -> list[tuple[Any, Variable]]:
    """Return the updates by which each rank moves its part of the parameters.

    The gradients are averaged by a reduce_scatter, each rank takes the optimizer's step
    on its part, and an all_gather gives all parts to all ranks. ``shared`` makes the
    state. Parameters become those of the rank ``root``, unless it is None.
    """
    if len(params) != len(gradients) or not params:
        raise GraphValueError(
            f"sharded_updates: given {len(params)} parameters and {len(gradients)} "
            "gradients; expected as many, one at least"
        )
    dtypes = {str(variable.type.dtype) for variable in (*params, *gradients)}
    if len(dtypes) > 1:
        raise GraphTypeError(
            f"sharded_updates: parameters and gradients are of {sorted(dtypes)}; "
            "expected one dtype: call it once for those of each"
        )
    (dtype,) = dtypes
    shapes = [tuple(param.container.value.shape) for param in params]
    # Joined to a vector, parameters in another order would be taken for others.
    comm.agree("sharded_updates", f"{dtype}: {', '.join(map(str, shapes))}")
    if root is not None:
        broadcast_values(params, comm, root)
    sizes = [int(np.prod(shape)) for shape in shapes]
    part = -(-sum(sizes) // comm.size)
    lacking = part * comm.size - sum(sizes)

    def vector(variables: Sequence[Variable]) -> Variable:
        parts = [flatten(variable) for variable in variables]
        return join(0, *parts, zeros((lacking,), dtype)) if lacking else join(0, *parts)

    start = comm.rank * part
    own = index(vector(params), slice(start, start + part))
    mean = reduce_scatter(vector(gradients), comm, "mean")

    def state(name: str) -> Any:
        target = comm.context.name
        return shared(np.zeros(part, dtype), name, target=target)

    moved, of_state = rule(own, mean, state)
    if moved.type != own.type:
        moved = math.cast(moved, dtype)
    every = all_gather(moved, comm, replicated=True)
    ends = np.cumsum(sizes).tolist()
    updates: list[tuple[Any, Variable]] = list(of_state)
    for param, shape, end, size in zip(params, shapes, ends, sizes, strict=True):
        new = reshape(index(every, slice(end - size, end)), shape)
        updates.append((param, patternbroadcast(new, param.type.broadcastable)))
    return updates
