"""Programs of several processes: ranks with a device each, and collectives among them.

``init()`` joins the processes that MPI, torchrun, Slurm, Dask or Ray has started and
gives their communicator, whose methods exchange arrays::

    comm = gpuarray.distributed.init()
    x = gpuarray.full(3, comm.rank, context=comm.context)
    total = comm.all_reduce(x)  # on every rank
"""

from __future__ import annotations

from gpuarray._checkpoints.loading import load_checkpoint
from gpuarray._checkpoints.saving import save_checkpoint
from gpuarray._checkpoints.state import Checkpoint, Shard
from gpuarray._distributed.clusters import (
    one_device_per_worker,
    run_on_dask,
    run_on_ray,
)
from gpuarray._distributed.communicator import Communicator
from gpuarray._distributed.opening import init
from gpuarray.errors import DistributedError

__all__ = [
    "Checkpoint",
    "Communicator",
    "DistributedError",
    "Shard",
    "init",
    "load_checkpoint",
    "one_device_per_worker",
    "run_on_dask",
    "run_on_ray",
    "save_checkpoint",
]


def __dir__() -> list[str]:
    return __all__
