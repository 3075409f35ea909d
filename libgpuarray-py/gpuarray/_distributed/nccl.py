"""Collectives on CUDA by NCCL: queued, watched, and aborted when a rank is gone."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuarray._core.context import Context
from gpuarray._distributed.calls import CollectiveCall
from gpuarray._distributed.member import Member
from gpuarray._distributed.operands import DType
from gpuarray._distributed.streams import Record, Stream
from gpuarray._distributed.transport import Broken
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.collectives import GpuComm, GpuCommCliqueId
from gpuarray.dtypes import kind_of
from gpuarray.errors import BackendError, GpuArrayError

_PAUSE = 0.05  # seconds between two looks at what is queued
_FOLDS = {"prod": "multiply", "min": "minimum", "max": "maximum"}
_OF_BOOL = {"sum": "max", "prod": "min", "min": "min", "max": "max"}


class NcclEngine:
    """NCCL's collectives, and those of dtypes that it does not reduce."""

    name = "NCCL"
    compares_first = False
    records = True

    def __init__(
        self,
        member: Member,
        context: Context,
        group: str,
        ranks: Sequence[int],
        rank: int,
    ) -> None:
        self._member, self._context, self._ranks = member, context, len(ranks)
        self._group = group
        self._comm = _join(member, context, group, ranks, rank)
        self._log = CallLog(self._comm)
        self._watch = _Watch(member, self._comm)
        member.add_source(self._log.drain)

    # ---- what is told of calls ----

    def mark(self, stream: Stream, record: Record) -> None:
        """See Engine."""
        self._log.mark(stream, record)
        self._watch.begin()

    def drain(self) -> None:
        """See Engine."""
        self._log.drain()

    # ---- reductions ----

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        """See Engine."""
        if _folds_itself(x.dtype, op):
            every = self._every(x)
            self._fold(every, out, op)
            return
        self._reduced(x, out, op, lambda a, b, name: self._comm.all_reduce(a, name, b))

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        """See Engine."""
        if _folds_itself(x.dtype, op):
            every = self._every(x)
            if out is not None:
                self._fold(every, out, op)
            return
        if out is None:
            source, name = _as_nccl(x, op)
            self._run(lambda: self._comm.reduce(source, name, None, root))
            return
        self._reduced(x, out, op, lambda a, b, n: self._comm.reduce(a, n, b, root))

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        """See Engine."""
        if _folds_itself(x.dtype, op):
            exchanged = Array.allocate(x.shape, x.dtype, self._context)
            self._run(lambda: self._comm.all_to_all(x, exchanged))
            self._fold(exchanged.reshape((self._ranks, *out.shape)), out, op)
            return
        self._reduced(
            x, out, op, lambda a, b, name: self._comm.reduce_scatter(a, name, b)
        )

    def _every(self, x: Array) -> Array:
        every = Array.allocate((self._ranks, *x.shape), x.dtype, self._context)
        self._run(lambda: self._comm.all_gather(x, every))
        return every

    @staticmethod
    def _fold(every: Array, out: Array, op: str) -> None:
        """Fold the elements of all ranks on this device, in the order of ranks."""
        function = FUNCTIONS[_FOLDS[op]]
        out[...] = every[0]
        for one in every[1:]:
            function(out, one, out=out)

    def _reduced(
        self, x: Array, out: Array, op: str, call: Callable[[Array, Array, str], object]
    ) -> None:
        """Reduce in a dtype that NCCL knows."""
        source, name = _as_nccl(x, op)
        if source.dtype == out.dtype:
            target = out
        elif source.dtype.itemsize * source.size == x.nbytes:  # another view
            target = _viewed(out, source.dtype)
        else:
            target = Array.allocate(out.shape, source.dtype, self._context)
        self._run(lambda: call(source, target, name))
        if target.dtype.itemsize * target.size != out.nbytes:
            out[...] = target.astype(out.dtype)
        if op == "mean":
            FUNCTIONS["divide"](out, self._ranks, out=out)

    # ---- movements ----

    def broadcast(self, x: Array, root: int) -> None:
        """See Engine."""
        self._run(lambda: self._comm.broadcast(x, root))

    def all_gather(self, x: Array, out: Array) -> None:
        """See Engine."""
        self._run(lambda: self._comm.all_gather(x, out))

    def all_to_all(self, x: Array, out: Array) -> None:
        """See Engine."""
        self._run(lambda: self._comm.all_to_all(x, out))

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        """See Engine."""
        self._run(lambda: self._comm.gather(x, out, root))

    def scatter(self, x: Array | None, out: Array, root: int) -> None:
        """See Engine."""
        self._run(lambda: self._comm.scatter(x, out, root))

    def send(self, x: Array, rank: int) -> None:
        """See Engine."""
        self._run(lambda: self._comm.send(x, rank))

    def receive(self, out: Array, rank: int) -> None:
        """See Engine."""
        self._run(lambda: self._comm.receive(out, rank))

    def _run(self, queue_it: Callable[[], object]) -> None:
        """Queue work, or record it; a failure of NCCL's is one of the group."""
        try:
            queue_it()
        except BackendError as error:
            raise Broken(str(error)) from None

    # ---- parts, and the end ----

    def part(self, group: str, ranks: Sequence[int], rank: int) -> NcclEngine:
        """See Engine."""
        return NcclEngine(self._member, self._context, group, ranks, rank)

    def close(self) -> None:
        """See Engine."""
        self._watch.close()
        self._member.remove_source(self._log.drain)
        if self._member.failure is not None:
            self._comm.abort()
        self._log.close()
        del self._comm, self._watch


class CallLog:
    """What a communicator's calls are told as when they are queued, by the marks that
    the library logs: also of calls that plans have recorded, in each run.
    """

    def __init__(self, comm: GpuComm) -> None:
        self._comm: GpuComm | None = comm
        self._numbers: dict[tuple[Stream, Record], int] = {}
        self._marked: list[tuple[Stream, Record]] = []
        self._lock = threading.Lock()

    def mark(self, stream: Stream, record: Record) -> None:
        """Have the next call added to a stream, as this record, when it is queued."""
        key = stream, record
        number = self._numbers.get(key)
        if number is None:
            self._marked.append(key)
            number = self._numbers[key] = len(self._marked)
        if self._comm is not None:
            self._comm.mark(number)

    def drain(self) -> None:
        """Add to their streams the calls that were queued."""
        with self._lock:
            if self._comm is not None:
                for number in self._comm.logged():
                    stream, record = self._marked[number - 1]
                    stream.append(record)

    def close(self) -> None:
        """Add what is left."""
        self.drain()
        with self._lock:
            self._comm = None


class _Watch:
    """A thread that follows the device's progress, reports calls and ends late ones.

    Runs of plans queue calls without a word to it, so it looks from the first call on.
    """

    def __init__(self, member: Member, comm: GpuComm) -> None:
        self._member, self._comm = member, comm
        self._begun, self._ends = threading.Event(), threading.Event()
        self._latest = 0, 0, 0
        self._since = 0.0  # when something was found to have changed
        member.on_failure(comm.abort)
        self._thread = threading.Thread(
            target=self._look, name="gpuarray-distributed-watch", daemon=True
        )
        self._thread.start()

    def begin(self) -> None:
        """Note that a call is about to be queued or recorded."""
        if not self._begun.is_set():
            self._begun.set()
        self._member.tell_soon()

    def close(self) -> None:
        """End the thread."""
        self._ends.set()
        self._begun.set()
        self._thread.join(5)
        self._member.forget(self._comm.abort)

    def _look(self) -> None:
        self._begun.wait()
        while not self._ends.wait(_PAUSE) and self._member.failure is None:
            try:
                self._look_once(time.monotonic())
            except GpuArrayError as error:
                self._member.fail(f"rank {self._member.rank}: {error}")
                return

    def _look_once(self, now: float) -> None:
        found = begun, _, done = self._comm.progress()
        if begun != self._latest[0]:
            self._member.tell_soon()
        if found != self._latest or done == begun:
            self._latest, self._since = found, now
        self._comm.check_state()
        limit = self._member.timeout
        if now - self._since > limit:
            self._member.fail(
                f"rank {self._member.rank}: work of NCCL's was queued for {limit:g} s "
                "and is not done: another rank has not queued its part, or its device "
                "is busy or lost"
            )


# ---- joining ----


def _join(
    member: Member, context: Context, group: str, ranks: Sequence[int], rank: int
) -> GpuComm:
    """Make the clique of some ranks; rank 0 of them sends its id by the hub."""
    clique = GpuCommCliqueId(context) if rank == 0 else None
    mine = bytes(clique.comm_id) if clique else b""
    number = f"clique of {group}"
    call = CollectiveCall("join a clique of NCCL's")
    answer = member.ask(group, number, call, mine, ranks)
    if clique is None:
        clique = GpuCommCliqueId(context, answer.contents[0])
    several = libraries()
    if len(several) > 1:
        warnings.warn(
            f"two NCCLs are in this process: {', '.join(several)}; their kernels may "
            "wait for each other. Import PyTorch first, or name one in GPUARRAY_NCCL",
            RuntimeWarning,
            stacklevel=2,
        )
    return GpuComm(clique, len(ranks), rank)


def libraries() -> list[str]:
    """Return the files of NCCL in this process."""
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8")
    except OSError:
        return []
    found = re.findall(r"\S*/libnccl\.so[.\d]*$", mapped, re.MULTILINE)
    return sorted({str(Path(name).resolve()) for name in found})


# ---- dtypes ----


def _folds_itself(dtype: DType, op: str) -> bool:
    """Return True for what NCCL cannot reduce: products of complex numbers."""
    return dtype.kind == "c" and op in _FOLDS


def _as_nccl(x: Array, op: str) -> tuple[Array, str]:
    """Return the elements in a dtype that NCCL reduces, and its operation."""
    if op == "mean":
        op = "sum"
    if x.dtype.kind == "b":
        return _viewed(x, "uint8"), _OF_BOOL[op]
    if x.dtype.kind == "c":
        return _viewed(x, f"float{x.dtype.itemsize * 4}"), op
    if x.dtype.itemsize == 2 and kind_of(x.dtype) in "iu":
        return x.astype("int32" if x.dtype.kind == "i" else "uint32"), op
    return x, op


def _viewed(x: Array, dtype: DType | str) -> Array:
    """Return a vector of the same bytes."""
    vector: Array = x.reshape(-1).view(dtype)
    return vector
