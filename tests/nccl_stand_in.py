"""NCCL where there is no card: its functions, by way of host memory.

What stands above NCCL, dtypes that it does not reduce and calls that only queue, runs
then on any device.
"""

from gpuarray._distributed import nccl, opening
from gpuarray._distributed.host import HostEngine

REDUCED = {"int8", "uint8", "int32", "uint32", "int64", "uint64"}
FOLDING = {"all_reduce", "reduce", "reduce_scatter"}
REDUCED |= {"float16", "bfloat16", "float32", "float64"}


class StandIn:
    """The methods of GpuComm, for one rank of a clique."""

    def __init__(self, engine):
        self.engine = engine
        self.number, self.numbers = 0, []
        self.begun = self.queued = 0

    def mark(self, number):
        self.number = number

    def logged(self):
        numbers, self.numbers = self.numbers, []
        return numbers

    def progress(self):
        return self.begun, self.queued, self.queued

    def __getattr__(self, name):
        call = getattr(self.engine, name)

        def counted(*arguments):
            if self.number:
                self.numbers.append(self.number)
            self.begun += 1
            try:
                if name in FOLDING:
                    src, op, dest, *root = arguments
                    call(reduced(src), dest, op, *root)
                else:
                    call(*arguments)
            finally:
                self.queued += 1

        return counted

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
