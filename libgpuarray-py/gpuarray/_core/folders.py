"""Private folders for compiled code: only those that no other user can change.

The library checks the path (gpuarray/util.h has the rule) and opens the folder; from
then on its descriptor is used, and no path.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from gpuarray._native import ffi, lib, library_text
from gpuarray.config import cache_folder, unusable
from gpuarray.dtypes import callers_level

OTHERS = stat.S_IWGRP | stat.S_IWOTH
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def why_refused(path: str, *, make: bool = False) -> str:
    """The folder of a path that others can change, with a remedy; "" for none."""
    with _walked(path, make) as (status, _):
        return library_text() if status == lib.GA_VALUE_ERROR else ""


@contextmanager
def private_folder(path: str, *, make: bool = False) -> Iterator[int | None]:
    """Open a folder and yield its descriptor; None if it may not be used.

    With ``make`` a missing one is made. One that others can change gives a warning,
    once for each reason.
    """
    with _walked(path, make) as (status, folder):
        if status == lib.GA_VALUE_ERROR:
            _warn(library_text())
        yield None if status else folder


@contextmanager
def _walked(path: str, make: bool) -> Iterator[tuple[int, int]]:
    """Yield the library's status, and the descriptor on success."""
    folder = ffi.new("int *")
    status = lib.gpuarray_private_folder(folder, os.fsencode(path), make)
    try:
        yield status, folder[0]
    finally:
        if status == 0:
            os.close(folder[0])


@cache
def _warn(reason: str) -> None:
    warnings.warn(
        f"no compiled code is read from disk, or kept there: {reason} "
        "(GPUARRAY_CACHE_DIR names the folder; empty, nothing is kept)",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _tell(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=callers_level())


def warn_if_refused(path: str | None = None) -> None:
    """Warn once if the folder of kernels, or another one, is refused.

    Without an argument also of environment variables that cannot be used.
    """
    if path is None:
        for message in unusable():
            _tell(message)
    path = cache_folder() if path is None else path
    reason = why_refused(path) if path else ""
    if reason:
        _warn(reason)


def read_private(folder: int, name: str) -> bytes | None:
    """Return the content of a file that only the user can change, or None.

    Its modification time becomes now: the oldest files of a cache are evicted first.
    Fifos and devices are no files, and are not waited for.
    """
    try:
        opened = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return None
    try:
        info = os.fstat(opened)
        is_own = info.st_uid == os.geteuid() and not info.st_mode & OTHERS
        if not (stat.S_ISREG(info.st_mode) and is_own):
            return None
        with os.fdopen(opened, "rb", closefd=False) as file:
            content = file.read()
        os.utime(opened)
        return content
    except OSError:
        return None
    finally:
        os.close(opened)
