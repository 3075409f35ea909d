"""The profiles printed at the end of the program."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import Any, TextIO

from gpuarray.compiler.config import config
from gpuarray.compiler.profiling.report import (
    destination,
    headline,
    times,
    write_summary,
)
from gpuarray.compiler.profiling.stats import ProfileStats

_PROFILES: list[ProfileStats] = []
"""The profiles to print at the end of the program."""


def at_exit(stats: ProfileStats) -> None:
    """Print a profile at the end of the program."""
    if not _PROFILES:
        atexit.register(print_profiles)
    _PROFILES.append(stats)


def forget() -> None:
    """Print no profile at the end of the program."""
    _PROFILES.clear()
    atexit.unregister(print_profiles)


def print_profiles(file: TextIO | None = None) -> None:
    """Print the profiles of all functions, and their sum if there are several.

    It is called when the program ends.
    """
    used = [stats for stats in _PROFILES if stats.fct_callcount or stats.compile.parts]
    for stats in used:
        write_summary(stats, file)
    if len(used) > 1:
        write_summary(summed(used), file)


def summed(profiles: Sequence[ProfileStats]) -> ProfileStats:
    """Return the sum of profiles."""
    whole = ProfileStats(message=f"Sum of all ({len(profiles)}) profiles")
    whole.add(profiles)
    return whole


def print_global_stats(file: TextIO | None = None) -> None:
    """Print the time since the import, and that of compiling and calling functions."""
    with destination(file) as stream:
        stream.write("\n".join([*headline("Global stats"), *times(summed(_PROFILES))]))
        stream.write("\n")


def profile_of(profile: Any, name: str) -> ProfileStats | None:
    """The profile that ``function(profile=...)`` and the settings ask for, if any.

    ``True`` creates one that the end of the program prints, a text one with that
    headline; a `ProfileStats` is the one to add to.
    """
    if isinstance(profile, ProfileStats):
        if profile.atexit_print and profile not in _PROFILES:
            at_exit(profile)
        return profile
    setting = config.profile if profile is None else profile
    if setting is False or setting is None:
        return None
    stats = ProfileStats(True, setting if isinstance(setting, str) else name)
    at_exit(stats)
    return stats
