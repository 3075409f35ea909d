"""The calls of a communicator: numbered, reported to the hub, run by the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import ref

from gpuarray._core.context import Context
from gpuarray._distributed.calls import (
    CollectiveCall,
    described,
    error_of,
    of_group,
    recorded_line,
    summary,
)
from gpuarray._distributed.engine import Engine
from gpuarray._distributed.groups import Group
from gpuarray._distributed.member import Answer
from gpuarray._distributed.operands import DType, Shape, Target, in_order
from gpuarray._distributed.streams import Stream
from gpuarray._distributed.transport import Broken
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import DistributedError

T = TypeVar("T")


class OrderedCalls:
    """One rank's calls of a communicator, which are in the same order on all ranks.

    ``calls`` counts them; messages between two ranks are counted for each pair.
    """

    def __init__(
        self, group: Group, engine: Engine, name: str, ranks: list[int], rank: int
    ) -> None:
        self.rank, self.size = rank, len(ranks)
        self._asked = 0
        self._group, self._engine = group, engine
        self._name, self._ranks = name, ranks
        self._parts = 0
        member = group.member
        member.begin_group(name, ranks)
        self._stream = (
            None
            if engine.compares_first
            else member.stream(name, ranks, of_group(name))
        )
        self._messages: dict[tuple[int, int], _Messages] = {}
        _named[name] = ref(self)

    @property
    def name(self) -> str:
        """Its name, which is the same on all of its ranks."""
        return self._name

    @property
    def context(self) -> Context:
        """The context of the arrays."""
        return self._group.context

    @property
    def calls(self) -> int:
        """How many calls there were: those of plans, too, once they are queued."""
        if self._stream is None:
            return self._asked
        self._engine.drain()
        return self._stream.count

    @property
    def records(self) -> bool:
        """True if a plan that is bound records its work; else its runs call it."""
        return self._engine.records

    def failure(self, operation: str, line: str) -> DistributedError | None:
        """Return the error of a call of a plan, if the group has failed or was left.

        >>> with gpuarray.distributed.init("null") as comm:
        ...     comm.failure("all_reduce", "model.py:12") is None
        True
        """
        call = CollectiveCall(operation, line=line)
        try:
            self._group.member.check(self.calls, call)
        except DistributedError as error:
            return error
        return None

    # ---- calls ----

    def _ask(self, call: CollectiveCall, content: bytes = b"") -> Answer:
        """Say what is called, and wait for all ranks."""
        if self._stream is None:
            self._asked += 1
        else:
            self._engine.drain()
            self._stream.add(call.operation, call.detail, None, None)
        return self._group.member.ask(self._name, self.calls, call, content)

    def _ask_beside(
        self, number: str, call: CollectiveCall, content: bytes
    ) -> list[bytes]:
        """Say something of a call beside the calls that follow it, from any thread."""
        member, name = self._group.member, f"{self._name} beside"
        return member.ask(name, number, call, content, self._ranks).contents

    def _run(
        self,
        operation: str,
        detail: str,
        x: Array,
        move: Callable[[], None],
        shape: Shape | None = None,
    ) -> None:
        """Say what is called, with an array of which dtype and shape, and move it."""
        shape = x.shape if shape is None else shape
        member, stream = self._group.member, self._stream
        if stream is None or not member.is_well:
            call = described(CollectiveCall(operation, detail), shape, x.dtype)
            self._move(None, call, lambda: self._ask(call))
        else:
            call = self._told(stream, operation, detail, x, shape)
        if x.size:
            self._move(None, call, move)

    def _told(
        self, stream: Stream, operation: str, detail: str, x: Array, shape: Shape
    ) -> CollectiveCall:
        """Report a call when it is queued; one that moves nothing is reported now.

        A plan that records one does not tell it: that is to be done in each run.
        """
        record = stream.record(operation, detail, x.dtype, shape)
        if x.size:
            self._engine.mark(stream, record)
        elif not recorded_line():
            self._engine.drain()
            stream.append(record)
            self._group.member.tell_soon()
        return record.call

    def _move(
        self, number: int | str | None, call: CollectiveCall, move: Callable[[], T]
    ) -> T:
        """Ask for a call or move its elements; a failure of it is one of the group.

        The others wait for elements of a rank that has said what it calls, so no error
        there, such as a lack of memory or Ctrl-C, is this rank's alone. ``number`` is
        the call's; that of the latest if None.
        """
        member = self._group.member
        try:
            return move()
        except DistributedError:
            raise
        except Broken as broken:
            number = self.calls if number is None else number
            member.wait_for_failure(1.0)
            if member.failure is None:
                member.fail(f"rank {member.rank} in {call} (call {number}): {broken}")
            raise error_of(str(member.failure), member.rank, number, call) from None
        except BaseException as error:
            if number is None:  # a stream counts a call once it is queued
                number = self.calls + (self._stream is not None)
            text = f"rank {member.rank} ended call {number}, {call}, with "
            member.fail(text + summary(error), all_are_alive=True)
            raise

    # ---- messages ----

    def _between(self, source: int, target: int) -> _Messages:
        """Return the messages from one rank to another, with one more."""
        found = self._messages.get((source, target))
        if found is None:
            pair = [self._ranks[source], self._ranks[target]]
            suffix = f" from {source} to {target}"
            stream = None
            if self._stream is not None:
                stream = self._group.member.stream(
                    self._name + suffix, pair, suffix + of_group(self._name)
                )
            found = _Messages(pair, suffix, stream)
            self._messages[source, target] = found
        self._engine.drain()
        found.begun = found.count + 1
        return found

    def _message(
        self, messages: _Messages, call: CollectiveCall, array: Array
    ) -> CollectiveCall:
        """Say this rank's part of a message; without a stream wait for the other's."""
        if messages.stream is None or not self._group.member.is_well:
            messages.asked += 1
            call = described(call, array.shape, array.dtype)
            self._ask_other(messages, call)
            return call
        return self._told(
            messages.stream, call.operation, call.detail, array, array.shape
        )

    def _ask_other(self, messages: _Messages, call: CollectiveCall) -> Answer:
        """Say this rank's part of a message, and wait for the other rank."""
        number, pair = messages.number, messages.pair
        ask, name = self._group.member.ask, self._name
        return self._move(number, call, lambda: ask(name, number, call, b"", pair))

    def _send(self, x: Array, rank: int) -> None:
        messages = self._between(self.rank, rank)
        call = CollectiveCall("message", f"rank {self.rank} to {rank}")
        call = self._message(messages, call, x)
        if x.size:
            source = in_order(x)
            self._move(messages.number, call, lambda: self._engine.send(source, rank))

    def _receive(self, rank: int, out: Array | None) -> Array:
        messages = self._between(rank, self.rank)
        call = CollectiveCall("message", f"rank {rank} to {self.rank}")
        asked = described(call, None, None)
        if out is None and messages.stream is not None:
            member = self._group.member
            said = member.learn(messages.stream, messages.begun, asked).call
            out = self._new(said)
        elif out is None:
            messages.asked += 1
            said = self._ask_other(messages, asked).call
            target = Target.of(*self._known(said), self.context, None, "recv")
            return self._fill(messages.number, said, target, rank)
        target = Target.of(out.shape, out.dtype, self.context, out, "recv")
        call = self._message(messages, call, out)
        return self._fill(messages.number, call, target, rank)

    def _fill(
        self, number: str, call: CollectiveCall, target: Target, rank: int
    ) -> Array:
        if target.block.size:
            block = target.block
            self._move(number, call, lambda: self._engine.receive(block, rank))
        return target.finish()

    # ---- what other ranks say ----

    def _known(self, said: CollectiveCall) -> tuple[Shape, DType]:
        return said.shape or (), as_dtype(said.dtype)

    def _new(self, said: CollectiveCall) -> Array:
        shape, dtype = self._known(said)
        return Array.allocate(shape, dtype, self.context)

    def _part_of(self, detail: str, root: int, axis: int, out: Array | None) -> Array:
        """Return the part that the root scatters, of which it knows dtype and shape."""
        if out is None and self._stream is not None:
            call = described(CollectiveCall("scatter", detail), None, None)
            member = self._group.member
            out = self._new(member.learn(self._stream, self.calls + 1, call).call)
        if out is not None:
            target = Target.of(out.shape, out.dtype, self.context, out, "scatter", axis)
            block = target.block
            self._run(
                "scatter",
                detail,
                out,
                lambda: self._engine.scatter(None, block, root),
            )
            return target.finish()
        call = described(CollectiveCall("scatter", detail), None, None)
        answer = self._move(None, call, lambda: self._ask(call))
        shape, dtype = self._known(answer.call)
        target = Target.of(shape, dtype, self.context, None, "scatter", axis)
        if target.block.size:
            block = target.block
            self._move(None, call, lambda: self._engine.scatter(None, block, root))
        return target.finish()


_named: dict[str, ref[OrderedCalls]] = {}


def communicator_of(name: str) -> OrderedCalls | None:
    """Return the latest communicator of a name that is still referred to."""
    found = _named.get(name)
    return None if found is None else found()


class _Messages:
    """The messages from one rank to another: their number and their stream.

    ``begun`` is the number of the latest.
    """

    __slots__ = ("asked", "begun", "pair", "stream", "suffix")

    def __init__(self, pair: list[int], suffix: str, stream: Stream | None) -> None:
        self.asked, self.begun = 0, 0
        self.pair, self.suffix, self.stream = pair, suffix, stream

    @property
    def count(self) -> int:
        """How many there were."""
        return self.asked if self.stream is None else self.stream.count

    @property
    def number(self) -> str:
        """The number of the latest, with the two ranks."""
        return f"{self.begun}{self.suffix}"
