"""Modes by name."""

from __future__ import annotations

import difflib
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.debug import DebugMode, Mode, NanGuardMode
from gpuarray.compiler.errors import GraphValueError

MODES: dict[str, Mode] = {
    "FAST_RUN": Mode(),
    "FAST_COMPILE": Mode(optimizer="fast_compile"),
    "Mode": Mode(),
    "ProfileMode": Mode(),
    "DebugMode": DebugMode(),
    "DEBUG_MODE": DebugMode(),
    "NanGuardMode": NanGuardMode(),
}
"""The modes by name; `register_mode` adds one."""


def mode_of(mode: Any = None) -> Mode:
    """Return the mode of a name, a mode itself, or, for None, the settings' mode.

    Raises ValueError for an unknown name.
    """
    requested = config.mode if mode is None else mode
    if isinstance(requested, Mode):
        return requested
    if not isinstance(requested, str) or requested not in MODES:
        near = difflib.get_close_matches(str(requested), MODES, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(MODES)}"
        argument = (
            "function" if mode is not None else "function: the setting config.mode"
        )
        raise GraphValueError(f"{argument}: mode={requested!r} is not known; {hint}")
    return MODES[requested]


def get_mode(mode: Any = None) -> Mode:
    """Return `mode_of`, by Theano's name."""
    return mode_of(mode)


def get_default_mode() -> Mode:
    """Return the settings' mode."""
    return mode_of()


def register_mode(name: str, mode: Mode) -> None:
    """Give a mode a name. Raises ValueError for a name that is taken."""
    if name in MODES:
        raise GraphValueError(f"register_mode: {name!r} is a mode already")
    MODES[name] = mode
