"""Functions with a profile."""

from __future__ import annotations

import time
from typing import Any

from gpuarray._core.context import Context
from gpuarray.array import Array
from gpuarray.compiler.contexts import context_or_default
from gpuarray.compiler.explain import Explain
from gpuarray.compiler.function.call import Function
from gpuarray.compiler.plan import Plan
from gpuarray.compiler.profiling import Measured, ProfileStats


class ProfiledFunction(Function):
    """A function that waits for each call and adds its time to ``profile``."""

    def __init__(
        self, *args: Any, profile: ProfileStats | None = None, **options: Any
    ) -> None:
        self._profile = ProfileStats() if profile is None else profile
        super().__init__(*args, **options)
        self.profile = self._profile

    def _load(self) -> Any:
        """Load the measuring runner; a mode that looks at each step has its own."""
        if not isinstance(self._place, Context):
            self._place = context_or_default(self._place)
        self._executable = self.maker.load(
            self.plan, self._place, self._interface.is_part, self._measured
        )
        return self._executable

    def _measured(self, plan: Plan, context: Context, explain: Explain) -> Measured:
        fgraph, profile = self.maker.fgraph, self._profile
        return Measured(plan, context, profile, fgraph, self._read, self.name, explain)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run and measure."""
        runner = self._executable or self._load()
        before, start = getattr(runner, "overhead", 0.0), time.perf_counter()
        result = super().__call__(*args, **named)
        spent = time.perf_counter() - start
        spent -= getattr(runner, "overhead", 0.0) - before
        self._profile.add_call(self.name, spent)
        return result

    def _bring(self, index: int, value: Any) -> Array | int:
        runner = self._executable
        if not isinstance(runner, Measured):
            return super()._bring(index, value)
        runner.context.sync()
        start = time.perf_counter()
        brought = super()._bring(index, value)
        runner.context.sync()
        runner.note_input(index, start, time.perf_counter())
        return brought

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._profile = ProfileStats(message=state["name"])
        super().__setstate__(state)
        self.profile = self._profile
