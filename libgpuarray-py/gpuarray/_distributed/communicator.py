"""The communicator: collectives of arrays, checked and compared."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Any, Self

from gpuarray._core.base import may_share_memory
from gpuarray._core.context import Context
from gpuarray._distributed.calls import CollectiveCall, summary, user_line
from gpuarray._distributed.groups import groups_of
from gpuarray._distributed.operands import (
    DType,
    Shape,
    Target,
    block_of,
    check_axis,
    check_operand,
    check_operation,
    divided,
    finished,
    in_order,
    joined,
)
from gpuarray._distributed.ordered_calls import OrderedCalls
from gpuarray.array import Array
from gpuarray.errors import BadArgument, BadValue, DistributedError, NotPicklable


class Communicator(OrderedCalls):
    """One rank of a group of processes that exchange arrays.

    ``gpuarray.distributed.init()`` makes the first one; ``split`` and ``duplicate``
    make others of it. All ranks call the same methods in the same order, with arrays of
    one dtype and shape: each call has a number (``calls`` counts them), and ranks whose
    calls of one number differ all raise DistributedError.

    ``rank`` is this one's number of ``size``; arrays are on ``context``. Results are
    new arrays, or go to ``out``. Any layout will do; arrays that are not contiguous in
    C order are copied first. On CUDA the work is queued, by NCCL; elsewhere a call
    returns when it is done.

    >>> comm = gpuarray.distributed.init("null")
    >>> comm.rank, comm.size
    (0, 1)
    >>> comm.close()
    """

    # ---- what it is ----

    @property
    def context(self) -> Context:
        """The context of the arrays."""
        return self._group.context

    @property
    def local_rank(self) -> int:
        """The number of this process among those of its machine."""
        return self._group.local_rank

    @property
    def timeout(self) -> float:
        """Seconds after which a call that waits for another rank fails."""
        return self._group.member.timeout

    @property
    def engine(self) -> str:
        """What moves the elements, such as ``NCCL`` or ``MPI over host memory``."""
        return self._engine.name

    def __repr__(self) -> str:
        return (
            f"<communicator {self._name!r}: rank {self.rank} of {self.size}, found by "
            f"{self._group.launcher}, {self.engine}, on {self.context.name!r}>"
        )

    def __reduce__(self) -> Any:
        raise NotPicklable("a communicator cannot be pickled: each rank has its own")

    # ---- reductions ----

    def all_reduce(self, x: Array, op: str = "sum", out: Array | None = None) -> Array:
        """Return the elementwise fold of all ranks' ``x``, on every rank.

        ``op`` is "sum", "prod", "min", "max" or, of floats and complex numbers, "mean".

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.all_reduce(x))
        [1. 2.]
        """
        self._check(x, "all_reduce")
        check_operation(op, x.dtype, "all_reduce")
        target = self._target(x.shape, x.dtype, out, "all_reduce")
        self._run(
            "all_reduce",
            op,
            x,
            lambda: self._engine.all_reduce(in_order(x), target.block, op),
        )
        return target.finish()

    def reduce(
        self, x: Array, op: str = "sum", root: int = 0, out: Array | None = None
    ) -> Array | None:
        """Return the fold of all ranks' ``x`` on the rank ``root``, None on others.

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.reduce(x, "max"))
        [1. 2.]
        """
        self._check(x, "reduce")
        check_operation(op, x.dtype, "reduce")
        self._check_rank(root, "reduce")
        target = self._target_on(root, x.shape, x.dtype, out, "reduce")
        self._run(
            "reduce",
            f"{op}, root {root}",
            x,
            lambda: self._engine.reduce(in_order(x), block_of(target), op, root),
        )
        return finished(target)

    def reduce_scatter(
        self, x: Array, op: str = "sum", axis: int = 0, out: Array | None = None
    ) -> Array:
        """Return this rank's part, along ``axis``, of the fold of all ranks' ``x``.

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.reduce_scatter(x))
        [1. 2.]
        """
        self._check(x, "reduce_scatter")
        check_operation(op, x.dtype, "reduce_scatter")
        axis = check_axis(x, axis, "reduce_scatter")
        shape = divided(x.shape, axis, self.size, "reduce_scatter")
        target = self._target(shape, x.dtype, out, "reduce_scatter", axis)
        self._run(
            "reduce_scatter",
            f"{op}, axis {axis}",
            x,
            lambda: self._engine.reduce_scatter(in_order(x, axis), target.block, op),
        )
        return target.finish()

    # ---- movements ----

    def broadcast(self, x: Array, root: int = 0) -> Array:
        """Copy the root's elements into every rank's ``x``; return ``x``.

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.broadcast(x))
        [1. 2.]
        """
        self._check(x, "broadcast")
        self._check_rank(root, "broadcast")
        if self.rank == root:
            target = Target(x, in_order(x))
        else:
            target = self._target(x.shape, x.dtype, x, "broadcast")
        self._run(
            "broadcast",
            f"root {root}",
            x,
            lambda: self._engine.broadcast(target.block, root),
        )
        return target.finish()

    def all_gather(self, x: Array, axis: int = 0, out: Array | None = None) -> Array:
        """Return all ranks' ``x``, joined along ``axis`` in the order of ranks.

        Scalars become a vector.

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.all_gather(x))
        [1. 2.]
        """
        self._check(x, "all_gather")
        axis = check_axis(x, axis, "all_gather")
        shape = joined(x.shape, axis, self.size)
        target = self._target(shape, x.dtype, out, "all_gather", axis)
        self._run(
            "all_gather",
            f"axis {axis}",
            x,
            lambda: self._engine.all_gather(in_order(x, axis), target.block),
        )
        return target.finish()

    def all_to_all(self, x: Array, axis: int = 0, out: Array | None = None) -> Array:
        """Return part ``rank`` of each rank's ``x``, split and joined along ``axis``.

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.all_to_all(x))
        [1. 2.]
        """
        self._check(x, "all_to_all")
        axis = check_axis(x, axis, "all_to_all")
        divided(x.shape, axis, self.size, "all_to_all")
        target = self._target(x.shape, x.dtype, out, "all_to_all", axis)
        source = in_order(x, axis)
        if out is not None and may_share_memory(source, target.block):
            source = source.copy()
        self._run(
            "all_to_all",
            f"axis {axis}",
            x,
            lambda: self._engine.all_to_all(source, target.block),
        )
        return target.finish()

    def gather(
        self, x: Array, root: int = 0, axis: int = 0, out: Array | None = None
    ) -> Array | None:
        """Return all ranks' ``x``, joined along ``axis``, on the rank ``root``.

        None on other ranks.

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.gather(x))
        [1. 2.]
        """
        self._check(x, "gather")
        self._check_rank(root, "gather")
        axis = check_axis(x, axis, "gather")
        shape = joined(x.shape, axis, self.size)
        target = self._target_on(root, shape, x.dtype, out, "gather", axis)
        self._run(
            "gather",
            f"root {root}, axis {axis}",
            x,
            lambda: self._engine.gather(in_order(x, axis), block_of(target), root),
        )
        return finished(target)

    def scatter(
        self,
        x: Array | None = None,
        root: int = 0,
        axis: int = 0,
        out: Array | None = None,
    ) -> Array:
        """Return this rank's part of the root's ``x``, split along ``axis``.

        Other ranks give no ``x``. Without ``out`` they learn dtype and shape from the
        root, for which they wait.

        >>> x = gpuarray.asarray([1.0, 2.0], context="null")
        >>> with gpuarray.distributed.init("null") as comm:
        ...     print(comm.scatter(x))
        [1. 2.]
        """
        self._check_rank(root, "scatter")
        if (self.rank == root) == (x is None):
            raise BadArgument(
                f"scatter: rank {self.rank} gave {'no' if x is None else 'an'} array, "
                f"expected one from the root, rank {root}, and from no other"
            )
        if axis < 0:
            raise BadValue(f"scatter: got axis {axis}, expected 0 or more")
        detail = f"root {root}, axis {axis}"
        if x is None:
            if out is not None:
                self._check(out, "scatter")
            return self._part_of(detail, root, axis, out)
        self._check(x, "scatter")
        check_axis(x, axis, "scatter")
        shape = divided(x.shape, axis, self.size, "scatter")
        target = self._target(shape, x.dtype, out, "scatter", axis)
        self._run(
            "scatter",
            detail,
            x,
            lambda: self._engine.scatter(in_order(x, axis), target.block, root),
            shape,
        )
        return target.finish()

    def send(self, x: Array, rank: int) -> None:
        """Send ``x`` to a rank, which calls ``recv``.

        Where the engine does not queue it waits for that rank: two ranks that both send
        first wait for each other until the timeout.
        """
        self._check(x, "send")
        self._check_other(rank, "send")
        self._send(x, rank)

    def recv(self, rank: int, out: Array | None = None) -> Array:
        """Return what a rank sends by ``send``.

        Without ``out`` it waits for the dtype and shape.
        """
        self._check_other(rank, "recv")
        if out is not None:
            self._check(out, "recv")
        return self._receive(rank, out)

    def barrier(self) -> None:
        """Wait for the work of this context, then for all ranks.

        >>> with gpuarray.distributed.init("null") as comm:
        ...     comm.barrier()
        """
        call = CollectiveCall("barrier", line=user_line())
        self._group.member.check(self.calls + 1, call)
        self.context.sync()
        self._ask(call)

    def agree(self, what: str, detail: str) -> None:
        """Wait for all ranks; raise DistributedError where their ``detail`` differs.

        >>> with gpuarray.distributed.init("null") as comm:
        ...     comm.agree("dataset", "50,000 images")
        """
        self._ask(CollectiveCall(what, detail, line=user_line()))

    # ---- communicators of some ranks ----

    def split(self, color: int, key: int = 0) -> Communicator | None:
        """Return a communicator of the ranks with the same ``color``.

        Its ranks are in the order of ``key``, then of this communicator's ranks. None
        for a negative color.

        >>> with gpuarray.distributed.init("null") as comm:
        ...     comm.split(0).size
        1
        """
        said = f"{int(color)},{int(key)}".encode()
        call = CollectiveCall("split", line=user_line())
        answer = self._ask(call, said)
        colors = [tuple(map(int, one.split(b","))) for one in answer.contents]
        self._parts += 1
        found: Communicator | None = None
        for number, ranks in enumerate(groups_of(colors)):
            if self.rank in ranks:
                found = self._part(f"{self._name}/{self._parts}.{number}", ranks)
        return found

    def duplicate(self) -> Communicator:
        """Return a communicator of the same ranks, whose calls are counted apart.

        >>> with gpuarray.distributed.init("null") as comm:
        ...     comm.duplicate().size
        1
        """
        self._ask(CollectiveCall("duplicate", line=user_line()))
        self._parts += 1
        return self._part(f"{self._name}/{self._parts}", list(range(self.size)))

    def _part(self, name: str, ranks: list[int]) -> Communicator:
        world = [self._ranks[rank] for rank in ranks]
        rank = ranks.index(self.rank)
        self._group.member.begin_group(name, world)
        engine = self._engine.part(name, world, rank)
        made = Communicator(self._group, engine, name, world, rank)
        self._group.add(made._engine)
        return made

    # ---- its end ----

    def close(self) -> None:
        """End it. That of the first communicator ends all, and leaves the group.

        Rank 0 waits there until the other ranks have left, too. A checkpoint that is
        saved in the background is waited for; its error is raised here.

        >>> comm = gpuarray.distributed.init("null", by="none")
        >>> comm.close()
        """
        self._group.close_one(self._engine, self._name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            with contextlib.suppress(DistributedError):
                self._group.finish(self._name)
        if error is not None and self._group.member.failure is None:
            rank = self._group.member.rank
            self._group.member.fail(f"rank {rank} ended with {summary(error)}", True)
        self.close()

    # ---- checks of arguments ----

    def _check(self, x: Any, operation: str) -> None:
        check_operand(x, self.context, operation)

    def _check_rank(self, rank: int, operation: str) -> None:
        if not 0 <= rank < self.size:
            raise BadValue(
                f"{operation}: got rank {rank}, expected 0 to {self.size - 1}"
            )

    def _check_other(self, rank: int, operation: str) -> None:
        self._check_rank(rank, operation)
        if rank == self.rank:
            raise BadValue(f"{operation}: rank {rank} is this rank, expected another")

    def _target(
        self,
        shape: Shape,
        dtype: DType,
        out: Array | None,
        operation: str,
        axis: int = 0,
    ) -> Target:
        return Target.of(shape, dtype, self.context, out, operation, axis)

    def _target_on(
        self,
        root: int,
        shape: Shape,
        dtype: DType,
        out: Array | None,
        operation: str,
        axis: int = 0,
    ) -> Target | None:
        """Return the target on the root; others may not give ``out``."""
        if self.rank == root:
            return self._target(shape, dtype, out, operation, axis)
        if out is not None:
            raise BadArgument(
                f"{operation}: rank {self.rank} gave out, which only the root, rank "
                f"{root}, may"
            )
        return None
