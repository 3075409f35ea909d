"""Atomic file writes: a reader finds the old content or the new, never half.

As the library's own (c/system/bytes.c), for files written from Python.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file atomically; a text is written as UTF-8.

    As `whole_file`. Raises OSError.
    """
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write; it is replaced when the block ends without an error.

    Several threads, processes and hosts may write it at once: the last one stays. A
    link is followed, and a replaced file keeps its permissions. A file that is not
    regular, such as a pipe, is written into. Raises OSError.
    """
    target = Path(os.fsdecode(os.path.realpath(path)))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is None or stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        with _replacing(target, mode) as file:
            yield file
    else:
        with target.open("wb") as file:
            yield file


@contextmanager
def _replacing(target: Path, mode: int | None) -> Iterator[IO[bytes]]:
    """Open a file of a unique name, which then replaces the target."""
    other = target.with_name(f".gpuarray-{secrets.token_hex(12)}.tmp")
    try:
        descriptor = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            other.chmod(stat.S_IMODE(mode))
        other.replace(target)
    except BaseException:
        with suppress(OSError):
            other.unlink()
        raise
