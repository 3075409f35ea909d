"""Data parallel optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.collective import sharded
from gpuarray.compiler.ops.collective.sharded import Rule
from gpuarray.compiler.shared import shared

if TYPE_CHECKING:
    from gpuarray.distributed import Communicator


def sharded_updates(
    params: Sequence[Any],
    gradients: Sequence[Variable],
    rule: Rule,
    comm: Communicator,
    root: int | None = 0,
) -> list[tuple[Any, Variable]]:
    """Return updates of shared variables; each rank keeps a part of the state.

    Gradients are averaged over ranks. ``rule(p, g, state)`` takes this rank's part of
    all parameters and of the averaged gradients, as vectors, and returns the next ``p``
    and a list of updates of its state, which ``state(name)`` makes: a shared vector of
    zeros, as long as ``p``. So an optimizer with two numbers for each parameter needs
    the memory of two numbers for each of this rank's part. The values of the parameters
    become those of the rank ``root`` at once, unless that is None, which is for those
    that begin alike on all ranks; they stay so. All are of one dtype.

    >>> import numpy as np
    >>> from gpuarray import distributed as processes
    >>> from gpuarray.compiler import function, grad, shared
    >>> def momentum(p, g, state):
    ...     velocity = state("velocity")
    ...     step = 0.5 * velocity - g
    ...     return p + step, [(velocity, step)]
    >>> w = shared(np.ones(3))
    >>> with processes.init(by="none") as comm:
    ...     updates = sharded_updates([w], [grad((w**2).sum(), w)], momentum, comm)
    ...     _ = function([], [], updates=updates)()
    >>> print(w.get_value())
    [-1. -1. -1.]
    """
    return sharded.sharded_updates(params, gradients, rule, comm, shared, root)
