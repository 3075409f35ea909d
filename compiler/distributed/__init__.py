"""Collectives in expressions, and data parallel training.

A function of each rank has the same collectives in the same order; ``comm`` is what
`gpuarray.distributed.init` gives. `data_parallel` averages the gradients of updates
over ranks.

>>> from gpuarray import distributed as processes
>>> from gpuarray.compiler import distributed, function, tensor as T
>>> comm = processes.init("null")
>>> x = T.fvector("x")
>>> print(distributed.all_reduce(x, comm).type)
TensorType(float32, vector)
>>> comm.close()
"""

from gpuarray.compiler.distributed.optimizers import (
    sharded_updates as sharded_updates,
)
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.collective.collectives import (
    AllGather as AllGather,
    AllReduce as AllReduce,
    AllToAll as AllToAll,
    BroadcastFrom as BroadcastFrom,
    ReduceScatter as ReduceScatter,
    ReduceTo as ReduceTo,
    all_gather as all_gather,
    all_reduce as all_reduce,
    all_to_all as all_to_all,
    broadcast as broadcast,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
)
from gpuarray.compiler.ops.collective.data_parallel import (
    broadcast_values as broadcast_values,
    data_parallel as data_parallel,
    shard as shard,
)
from gpuarray.compiler.ops.collective.messages import (
    ReceiveFrom as ReceiveFrom,
    SendTo as SendTo,
    recv as recv,
    send as send,
)

_suggest_names(__name__)
