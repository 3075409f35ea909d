"""Late errors of a device, raised by a wait, and the lines that made them."""

from __future__ import annotations

from typing import Any

from gpuarray._native import HINTS
from gpuarray.compiler import plan as p
from gpuarray.compiler.debug.failing import late_text
from gpuarray.compiler.living import Living

_functions: Living[Any, None] = Living()
"""The functions with a plan whose steps may have late errors."""


def remember(function: Any) -> None:
    """Register a function whose steps may have late errors."""
    _functions[function] = None


def is_of(error: Exception, plan: p.Plan) -> None:
    """Note on an error that it is from this plan's steps, if it names one."""
    text = late_text(plan, error)
    if text:
        error.__notes__ = [text]


def hint(error: Exception) -> str:
    """Return the lines of all functions' steps that have the error's label."""
    if ")" not in str(error):
        return ""
    texts = (late_text(function.plan, error) for function in list(_functions))
    lines = dict.fromkeys(line for text in texts for line in text.splitlines())
    return "\n".join(list(lines)[:3])


HINTS.append(hint)
