"""Settings of the package; the one place that reads the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpuarray.errors import BadValue

DEVICE_NAME = re.compile(r"cuda\d*|opencl(\d+:\d+)?|null")


@dataclass(frozen=True, slots=True)
class Config:
    """What a user may choose for a process."""

    device: str = ""
    """GPUARRAY_DEVICE: the default context, such as ``cuda0``; empty: the best."""

    def __post_init__(self) -> None:
        if self.device and not DEVICE_NAME.fullmatch(self.device):
            raise BadValue(
                f"GPUARRAY_DEVICE={self.device!r} names no device: expected cuda, "
                "cuda0, opencl, opencl0:0 (platform:device) or null"
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Config:
        """The settings that environment variables give."""
        return cls(device=environment.get("GPUARRAY_DEVICE", ""))


def variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that are set of those that the package or its library reads."""
    return {k: v for k, v in sorted(environment.items()) if k.startswith("GPUARRAY_")}


def cache_folder(environment: Mapping[str, str] = os.environ) -> str | None:
    """Where the library keeps compiled kernels; None if it was told to keep none."""
    chosen = environment.get("GPUARRAY_CACHE_DIR")
    if chosen == "" or environment.get("GPUARRAY_CACHE_SIZE") == "0":
        return None
    if chosen is not None:
        return chosen
    base, home = environment.get("XDG_CACHE_HOME"), environment.get("HOME")
    if not base and not home:
        return None
    return f"{base or f'{home}/.cache'}/gpuarray"


@cache
def settings() -> Config:
    """The settings of this process, read from the environment on the first call."""
    return Config.from_environment(os.environ)
