"""How one process tells another what to do, and what both tell the reader."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

ORDER = "GPUARRAY_MUTATE"
"""The environment variable that tells the plugin what to do."""
PLUGIN = "tools.mutate.plugin"


def command(contexts: Iterable[str], *more: str) -> list[str]:
    """The call of pytest with the plugin, on contexts."""
    named = [word for each in contexts for word in ("--context", each)]
    start = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN]
    return [*start, "-p", "no:cacheprovider", *named, *more]


def environment(order: dict[str, Any], worker: str) -> dict[str, str]:
    """The environment of a process with an order; a worker brings its own cache."""
    more = {ORDER: json.dumps(order), "PYTEST_XDIST_WORKER": worker}
    return {**os.environ, **more}


def received() -> dict[str, Any]:
    """The order of this process, which those that it starts do not inherit."""
    order: dict[str, Any] = json.loads(os.environ.pop(ORDER))
    return order


def say(text: str) -> None:
    """Print a line at once, whatever captures."""
    assert sys.__stderr__ is not None
    os.write(sys.__stderr__.fileno(), f"{text}\n".encode())


def tell(text: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{text}\n")
