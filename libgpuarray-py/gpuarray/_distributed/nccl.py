"""Collectives on CUDA by NCCL: queued, watched, and aborted when a rank is gone."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuarray._core.context import Context
from gpuarray._core.queues import Event
from gpuarray._distributed.calls import CollectiveCall
from gpuarray._distributed.member import Member
from gpuarray._distributed.operands import DType
from gpuarray._distributed.transport import Broken
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.collectives import GpuComm, GpuCommCliqueId
from gpuarray.dtypes import kind_of
from gpuarray.errors import BackendError, GpuArrayError

_PAUSE = 0.05  # seconds between two looks at what is queued
_PATIENCE = 2.0  # seconds that an abort waits for a call that is being queued
_FOLDS = {"prod": "multiply", "min": "minimum", "max": "maximum"}
_OF_BOOL = {"sum": "max", "prod": "min", "min": "min", "max": "max"}


class NcclEngine:
    """NCCL's collectives, and those of dtypes that it does not reduce."""

    name = "NCCL"
    compares_first = False

    def __init__(
        self,
        member: Member,
        context: Context,
        group: str,
        ranks: Sequence[int],
        rank: int,
    ) -> None:
        self._member, self._context, self._ranks = member, context, len(ranks)
        self._rank, self._group = rank, group
        self._comm = _join(member, context, group, ranks, rank)
        self._watch = _Watch(member, self._comm)

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
        """Queue work; a failure of NCCL's is one of the group."""
        watch = self._watch
        watch.begin()
        try:
            with watch.queuing:
                queue_it()
                if watch.is_watching:
                    watch.has_more = True
                else:
                    watch.watch(self._context.record())
        except BackendError as error:
            raise Broken(str(error)) from None
        finally:
            watch.begun = None

    # ---- parts, and the end ----

    def part(self, group: str, ranks: Sequence[int], rank: int) -> NcclEngine:
        """See Engine."""
        return NcclEngine(self._member, self._context, group, ranks, rank)

    def close(self) -> None:
        """See Engine."""
        self._watch.close()
        if self._member.failure is not None:
            self._watch.abort()
        del self._comm


class _Watch:
    """A thread that looks at what is queued, and ends what waits too long.

    It waits for one event at a time: calls behind it have the next one, which the
    thread records.
    """

    def __init__(self, member: Member, comm: GpuComm) -> None:
        self.queuing = threading.Lock()
        self.begun: float | None = None  # since when a call is being queued
        self.is_watching = self.has_more = False
        self._event: Event | None = None
        self._deadline = 0.0
        self._member, self._comm = member, comm
        self._is_awake = self._is_closed = False
        self._awake = threading.Event()
        member.on_failure(self.abort)
        self._thread = threading.Thread(
            target=self._look, name="gpuarray-distributed-watch", daemon=True
        )
        self._thread.start()

    def begin(self) -> None:
        """Note that a call is about to be queued."""
        self.begun = time.monotonic()
        if not self._is_awake:
            self._is_awake = True
            self._awake.set()

    def watch(self, event: Event) -> None:
        """Wait for an event; the lock is held."""
        self._event, self.is_watching, self.has_more = event, True, False
        self._deadline = time.monotonic() + self._member.timeout

    def abort(self) -> None:
        """End what is queued, as the group has failed."""
        has_lock = self.queuing.acquire(timeout=_PATIENCE)
        try:
            self._comm.abort()
        finally:
            if has_lock:
                self.queuing.release()

    def close(self) -> None:
        """End the thread."""
        self._is_closed = True
        self._awake.set()
        self._thread.join(5)
        self._member.forget(self.abort)

    def _look(self) -> None:
        while not self._is_closed and self._member.failure is None:
            if not self.is_watching and self.begun is None:
                self._is_awake = False
                self._awake.clear()
                if not self.is_watching and self.begun is None and not self._is_closed:
                    self._awake.wait()
                continue
            try:
                self._look_once()
            except GpuArrayError as error:
                self._member.fail(f"rank {self._member.rank}: {error}")
                return
            time.sleep(_PAUSE)

    def _look_once(self) -> None:
        begun, event = self.begun, self._event
        if self.is_watching and event is not None and event.done:
            self._go_on(event)
            return
        self._comm.check_state()
        now, limit = time.monotonic(), self._member.timeout
        is_late = begun is not None and now - begun > limit
        if is_late or (self.is_watching and now > self._deadline):
            self._member.fail(
                f"rank {self._member.rank}: work of NCCL's was queued for {limit:g} s "
                "and is not done: another rank has not queued its part, or its device "
                "is busy or lost"
            )

    def _go_on(self, event: Event) -> None:
        """Watch what was queued behind an event that is done."""
        if not self.queuing.acquire(blocking=False):
            return
        try:
            self.is_watching, self._event = False, None
            if self.has_more:
                self.watch(event.queue.record())
        finally:
            self.queuing.release()


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
