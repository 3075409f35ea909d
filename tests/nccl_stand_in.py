"""NCCL where there is no card: its functions, by way of host memory.

What stands above NCCL, dtypes that it does not reduce and calls that only queue, runs
then on any device.
"""

import gpuarray.compiler  # noqa: F401  defines what C calls
from gpuarray._distributed import nccl, opening
from gpuarray._distributed.host import HostEngine
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array

REDUCED = {"int8", "uint8", "int32", "uint32", "int64", "uint64"}
FOLDING = {"all_reduce", "reduce", "reduce_scatter"}
REDUCED |= {"float16", "bfloat16", "float32", "float64"}


class StandIn:
    """The methods of GpuComm, for one rank of a clique.

    Called while a plan is bound, they are called by each of its runs.
    """

    def __init__(self, engine):
        self.engine = engine
        self.number, self.numbers = 0, []
        self.begun = self.queued = 0
        self.calls = []  # that plans may make

    def mark(self, number):
        self.number = number

    def logged(self):
        numbers, self.numbers = self.numbers, []
        return numbers

    def progress(self):
        return self.begun, self.queued, self.queued

    def __getattr__(self, name):
        method = getattr(self.engine, name)

        def called(*arguments):
            if name in FOLDING:
                src, op, dest, *root = arguments
                arguments = reduced(src), dest, op, *root
            Call(self, method, arguments).make()

        return called

    def check_state(self):
        """Nothing fails later."""

    def abort(self):
        """A transport ends by itself."""


class Call:
    """A call of the engine, now or in each run of the plan that is being bound."""

    def __init__(self, comm, method, arguments):
        self.comm, self.method, self.arguments = comm, method, arguments
        self.number, self.error = comm.number, None
        self.handle = ffi.new_handle(self)

    def make(self):
        """Make it, or have it made; all arrays may be written."""
        arrays = [x for x in self.arguments if isinstance(x, Array)]
        # While a plan is bound it is the plan's, also if the others are constants.
        arrays.append(Array.allocate((1,), arrays[0].dtype, arrays[0].context))
        outs = ffi.new("GpuArray *[]", [x.struct for x in arrays])
        inputs = ffi.new("const GpuArray *[1]"), ffi.new("long long[1]")
        self.comm.calls.append(self)
        status = lib.GpuPlan_defer(
            lib.plan_function, self.handle, len(arrays), outs, 0, *inputs
        )
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        check(status)

    def record(self, outs, ins, ints):
        """Call the engine on arrays that have memory."""
        places = iter(range(len(self.arguments)))
        found = [
            view(outs[next(places)], x) if isinstance(x, Array) else x
            for x in self.arguments
        ]
        if self.number:
            self.comm.numbers.append(self.number)
        self.comm.begun += 1
        try:
            self.method(*found)
        finally:
            self.comm.queued += 1


def view(source, like):
    """An array of the library's that is lent."""
    struct = ffi.new(ARRAY)
    check(lib.GpuArray_view(struct, source))
    return Array.wrap(struct, like.context, like.dtype, struct.typecode)


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
