"""Errors of a device that are told late, by a wait: the lines that they come from."""

from __future__ import annotations

from typing import Any

from gpuarray._native import HINTS
from gpuarray.compiler import plan as p
from gpuarray.compiler.debug.failing import late_text
from gpuarray.compiler.living import Living

_functions: Living[Any, None] = Living()
"""What has a plan whose steps may be told of."""


def remember(function: Any) -> None:
    """Errors that are told late may be of the function's steps."""
    _functions[function] = None


def is_of(error: Exception, plan: p.Plan) -> None:
    """Note on an error that it comes from this plan's steps, if one is named so."""
    text = late_text(plan, error)
    if text:
        error.__notes__ = [text]


def hint(error: Exception) -> str:
    """The lines of all functions' steps that are called as the error says."""
    if ")" not in str(error):
        return ""
    texts = (late_text(function.plan, error) for function in list(_functions))
    lines = dict.fromkeys(line for text in texts for line in text.splitlines())
    return "\n".join(list(lines)[:3])


HINTS.append(hint)
