"""The calls of a communicator: numbered, told to the hub, and run by the engine."""

from __future__ import annotations

from collections.abc import Callable

from gpuarray._core.context import Context
from gpuarray._distributed.calls import CollectiveCall, described, error_of
from gpuarray._distributed.engine import Engine
from gpuarray._distributed.groups import Group
from gpuarray._distributed.member import Answer
from gpuarray._distributed.operands import Shape, Target, check_operand
from gpuarray._distributed.transport import Broken
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype


class OrderedCalls:
    """One rank's calls of a communicator, which are in the same order on all ranks.

    ``calls`` counts them; messages between two ranks are counted for each pair.
    """

    def __init__(
        self, group: Group, engine: Engine, name: str, ranks: list[int], rank: int
    ) -> None:
        self.rank, self.size = rank, len(ranks)
        self.calls = 0
        self._group, self._engine = group, engine
        self._name, self._ranks = name, ranks
        self._parts = 0
        self._pairs: dict[tuple[int, int], int] = {}
        group.member.begin_group(name, ranks)

    @property
    def context(self) -> Context:
        """The context of the arrays."""
        return self._group.context

    # ---- calls ----

    def _ask(self, call: CollectiveCall, content: bytes = b"") -> Answer:
        self.calls += 1
        return self._group.member.ask(self._name, self.calls, call, content)

    def _pair(self, source: int, target: int) -> tuple[str, list[int]]:
        """Return the number of the next message between two ranks, and those."""
        count = self._pairs[source, target] = self._pairs.get((source, target), 0) + 1
        pair = [self._ranks[source], self._ranks[target]]
        return f"{count} from {source} to {target}", pair

    def _run(
        self,
        call: CollectiveCall,
        x: Array,
        move: Callable[[], None],
        shape: Shape | None = None,
    ) -> None:
        """Say what is called, with an array of which dtype and shape, and move it."""
        call = described(call, x.shape if shape is None else shape, x.dtype)
        if self._engine.compares_first:
            self._ask(call)
        else:
            self.calls += 1
            self._group.member.say(self._name, self.calls, call)
        if x.size:
            self._move(self.calls, call, move)

    def _move(
        self, number: int | str, call: CollectiveCall, move: Callable[[], None]
    ) -> None:
        """Move the elements; a failure of it is one of the group."""
        member = self._group.member
        try:
            move()
        except Broken as broken:
            member.wait_for_failure(1.0)
            if member.failure is None:
                member.fail(f"rank {member.rank} in {call} (call {number}): {broken}")
            raise error_of(str(member.failure), member.rank, number, call) from None

    def _arrive(
        self,
        call: CollectiveCall,
        out: Array | None,
        axis: int,
        move: Callable[[Array], None],
        source: int | None = None,
    ) -> Array:
        """Return what comes; without ``out`` the sender says dtype and shape."""
        name = call.operation if source is None else "recv"
        if out is not None:
            check_operand(out, self.context, name)
            call = described(call, out.shape, out.dtype)
        else:
            call = described(call, None, None)
        pair: list[int] | None = None
        number: int | str
        if source is None:
            self.calls += 1
            number = self.calls
        else:
            number, pair = self._pair(source, self.rank)
        member = self._group.member
        if out is not None:
            target = Target.of(out.shape, out.dtype, self.context, out, name, axis)
            if self._engine.compares_first:
                member.ask(self._name, number, call, ranks=pair)
            else:
                member.say(self._name, number, call, pair)
        else:
            said = member.ask(self._name, number, call, ranks=pair).call
            shape = said.shape or ()
            target = Target.of(
                shape, as_dtype(said.dtype), self.context, None, name, axis
            )
        if target.block.size:
            self._move(number, call, lambda: move(target.block))
        return target.finish()
