"""NCCL where there is no card: its functions, by way of host memory.

What stands above NCCL, dtypes that it does not reduce and calls that only queue, runs
then on any device.
"""

from gpuarray._distributed import nccl, opening
from gpuarray._distributed.host import HostEngine

REDUCED = {"int8", "uint8", "int32", "uint32", "int64", "uint64"}
REDUCED |= {"float16", "bfloat16", "float32", "float64"}


class StandIn:
    """The methods of GpuComm, for one rank of a clique."""

    def __init__(self, engine):
        self.engine = engine

    def all_reduce(self, src, op, dest):
        self.engine.all_reduce(reduced(src), dest, op)

    def reduce(self, src, op, dest, root):
        self.engine.reduce(reduced(src), dest, op, root)

    def reduce_scatter(self, src, op, dest):
        self.engine.reduce_scatter(reduced(src), dest, op)

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def check_state(self):
        """Nothing fails later."""

    def abort(self):
        """A transport ends by itself."""


def reduced(x):
    """The array, whose dtype NCCL must know."""
    assert x.dtype.name in REDUCED, x.dtype
    assert x.flags.c_contiguous
    return x


def queue_calls():
    """Have communicators of this process use NCCL's engine over the stand-in."""
    made = {}

    def engine(group, launcher, transport):
        host = HostEngine(
            transport("world", range(launcher.size), launcher.rank),
            group.context,
            transport,
        )
        made["transport"] = transport
        made["context"] = group.context
        made["world"] = host
        return nccl.NcclEngine(
            group.member, group.context, "world", range(launcher.size), launcher.rank
        )

    def join(member, context, group, ranks, rank):
        if group == "world":
            return StandIn(made["world"])
        return StandIn(made["world"].part(group, ranks, rank))

    opening._engine = engine
    nccl._join = join
