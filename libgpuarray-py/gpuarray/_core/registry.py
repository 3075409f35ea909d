"""Which contexts are open, and which are the default and the current ones."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuarray._core.context import Context

lock = threading.Lock()
"""Held while contexts are opened and closed."""
opened: dict[str, Context] = {}
"""By the names that they were opened by."""
adopted: dict[int, Context] = {}
"""By the vendor's context."""
process_default: dict[str, Context] = {}
"""The default context of the process under "context", if one was set."""
current: ContextVar[tuple[Context, ...]] = ContextVar("gpuarray_context", default=())
"""The contexts of the blocks that a thread or task is in, the innermost last."""


def forget(closed: Context) -> None:
    """Take a context that is closed out of all of them."""
    listed: tuple[dict[Any, Context], ...] = opened, adopted, process_default
    for known in listed:
        for key in [key for key, one in known.items() if one is closed]:
            del known[key]
