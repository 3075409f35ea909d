"""The registry of open contexts, with the default and the current ones."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuarray._core.context import Context

lock = threading.Lock()
"""Held while contexts are opened and closed."""
opened: dict[str, Context] = {}
"""The open contexts by the names that they were opened by."""
adopted: dict[int, Context] = {}
"""The wrapping contexts by the vendor's context."""
process_default: dict[str, Context] = {}
"""The default context of the process under "context", if one was set."""
current: ContextVar[tuple[Context, ...]] = ContextVar("gpuarray_context", default=())
"""The contexts of a thread's or task's blocks, the innermost last."""


def forget(closed: Context) -> None:
    """Remove a closed context from all of them."""
    listed: tuple[dict[Any, Context], ...] = opened, adopted, process_default
    for contexts in listed:
        for key in [key for key, context in contexts.items() if context is closed]:
            del contexts[key]
