"""Settings of the package; the one place that reads the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpuarray.errors import BadValue

DEVICE_NAME = r"cuda\d*|opencl(\d+:\d+)?|null"


@dataclass(frozen=True, slots=True)
class Config:
    """The settings that a user may choose for a process."""

    device: str = ""
    """GPUARRAY_DEVICE: the default context, such as ``cuda0``; empty: the best."""

    implicit_conversion: bool | None = None
    """GPUARRAY_IMPLICIT_CONVERSION: 0 forbids ``numpy.asarray(x)``, which copies.

    With 1 operators take NumPy's arrays, too.
    """

    def __post_init__(self) -> None:
        if self.device and not re.fullmatch(DEVICE_NAME, self.device):
            raise BadValue(
                f"GPUARRAY_DEVICE={self.device!r} names no device: expected cuda, "
                "cuda0, opencl, opencl0:0 (platform:device) or null"
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Config:
        """Return the settings of the environment variables."""
        implicit = environment.get("GPUARRAY_IMPLICIT_CONVERSION")
        if implicit not in ("0", "1", None):
            raise BadValue(
                f"GPUARRAY_IMPLICIT_CONVERSION={implicit!r}: expected 0 or 1"
            )
        is_implicit = None if implicit is None else implicit == "1"
        return cls(environment.get("GPUARRAY_DEVICE", ""), is_implicit)


def variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the set variables of those that the package or its library reads."""
    return {k: v for k, v in sorted(environment.items()) if k.startswith("GPUARRAY_")}


def cache_folder() -> str | None:
    """The library's folder of compiled kernels; None if it was told to keep none."""
    folder = os.environ.get("GPUARRAY_CACHE_DIR")
    if folder == "" or os.environ.get("GPUARRAY_CACHE_SIZE") == "0":
        return None
    if folder is not None:
        return folder
    base, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    if not base and not home:
        return None
    return f"{base or f'{home}/.cache'}/gpuarray"


def unusable() -> Iterator[str]:
    """Return, in sentences, what is wrong with variables that the library ignores."""
    cache_dir = os.environ.get("GPUARRAY_CACHE_DIR")
    if cache_dir and not _can_be_made(Path(cache_dir)):
        yield (
            f"GPUARRAY_CACHE_DIR={cache_dir!r} cannot be used: expected a folder that "
            "can be made and written, or nothing; compiled kernels are not kept"
        )
    size = os.environ.get("GPUARRAY_HOST_SIZE")
    if size and not re.fullmatch(r"\s*\d+", size):
        yield (
            f"GPUARRAY_HOST_SIZE={size!r} is no size: expected a number of bytes, such "
            "as 1073741824; an eighth of the machine's memory is the limit"
        )
    wheels = os.environ.get("GPUARRAY_WHEEL_PATH")
    if wheels and not any(map(os.path.isdir, wheels.split(os.pathsep))):
        yield (
            f"GPUARRAY_WHEEL_PATH={wheels!r} names no folder: expected site-packages "
            f"of pip, with {os.pathsep!r} between them; no vendor's library is found "
            "there"
        )


def _can_be_made(folder: Path) -> bool:
    """Return True for a folder to write in, or one that can be created."""
    there = next(x for x in (folder, *folder.absolute().parents) if x.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


@cache
def settings() -> Config:
    """The settings of this process, read from the environment on the first call."""
    return Config.from_environment(os.environ)


# ---- implicit conversions between host and device ----

_chosen: dict[str, bool | None] = {}
_within: ContextVar[bool | None] = ContextVar("implicit_conversion", default=None)


def _implicit_conversion() -> bool | None:
    """Return the setting; None: nothing was chosen.

    That of the innermost ``with implicit_conversion(...)``, else of
    ``set_implicit_conversion``, else of GPUARRAY_IMPLICIT_CONVERSION.
    """
    allowed = _within.get()
    if allowed is None:
        allowed = _chosen.get("implicit")
    return settings().implicit_conversion if allowed is None else allowed


def allows_implicit_conversion() -> bool:
    """Return True unless copies to the host by ``numpy.asarray(x)`` are forbidden."""
    return _implicit_conversion() is not False


def takes_host_arrays() -> bool:
    """Return True if operators copy NumPy's arrays to the device; not by default."""
    return _implicit_conversion() is True


def set_implicit_conversion(allowed: bool | None) -> None:
    """Allow or forbid implicit conversions between host and device, in the process.

    Forbidden, ``numpy.asarray(x)`` raises BadType; ``x.get()`` always copies to the
    host. Allowed, operators and elementwise functions of an array and a NumPy array
    copy that to the array's context, and return an array there; ``host += x`` stores it
    back into the NumPy array. None, the default: ``numpy.asarray(x)`` copies, operators
    of both raise BadType.

    >>> gpuarray.set_implicit_conversion(False)
    >>> np.asarray(gpuarray.zeros(2))
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadType: numpy.asarray: copying an array of ...
    >>> gpuarray.set_implicit_conversion(True)
    >>> print(np.arange(2.0) + gpuarray.ones(2))
    [1. 2.]
    >>> gpuarray.set_implicit_conversion(None)
    """
    _chosen["implicit"] = None if allowed is None else bool(allowed)


@contextmanager
def implicit_conversion(allowed: bool) -> Iterator[None]:
    """Allow or forbid implicit conversions within a ``with`` block of this thread.

    As ``set_implicit_conversion`` does it for the process.

    >>> import gpuarray, numpy
    >>> x = gpuarray.asarray(numpy.arange(3), context="null")
    >>> with gpuarray.implicit_conversion(False):
    ...     x.get()
    array([0, 1, 2])
    """
    token = _within.set(bool(allowed))
    try:
        yield
    finally:
        _within.reset(token)
