"""From the names of contexts in a program to open contexts."""

from __future__ import annotations

from collections.abc import Iterable

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import NotOfferedError
from gpuarray.context import Context, context


def open_context(name: str | None = None) -> Context:
    """The open context of a name; None is the configured device, else the default one."""
    return context(name or config.device or None)


def joint_context(names: Iterable[str | None]) -> Context:
    """The one context that all the names mean. Raises NotImplementedError if they differ."""
    contexts = {open_context(name).name: open_context(name) for name in names}
    if len(contexts) > 1:
        raise NotOfferedError(
            f"function: variables live on {', '.join(sorted(contexts))}; a function runs on "
            "one context: transfer its inputs to one of them first"
        )
    return next(iter(contexts.values())) if contexts else open_context()
