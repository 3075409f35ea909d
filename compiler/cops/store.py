"""Compiled C code on disk: one file an entry, named by the hash of what made it.

Lock-free, as the library's cache of kernels beside it: a temporary file, fsync, atomic
rename. An entry ends with a hash of its bytes and its key, so a damaged or foreign one
is compiled anew. The folder belongs to the user alone, and is bounded by
GPUARRAY_CACHE_SIZE: the oldest entries go first.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from gpuarray.config import cache_folder

SUFFIX = ".so"
TEMPORARY = "tmp-"
STALE_SECONDS = 3600
"""After which a temporary file is nobody's any more."""
DEFAULT_LIMIT = 2 << 30
DIGEST = 32


def folder() -> Path | None:
    """The folder for compiled C code, made if need be; None where nothing is kept."""
    above = cache_folder()
    if above is None:
        return None
    place = Path(above, "ops")
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return place if is_private(place) else None


def is_private(place: Path) -> bool:
    """Whether the folder is ours, and nobody else may write to it."""
    found = place.stat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return found.st_uid == os.geteuid() and not found.st_mode & others


def sealed(key: str, made: bytes) -> bytes:
    """What a file holds: the library, whose loader ignores what follows it, a seal."""
    return made + _seal(key, made)


def _seal(key: str, made: bytes) -> bytes:
    return hashlib.blake2b(made, digest_size=DIGEST, key=key.encode()[:64]).digest()


def is_whole(path: Path, key: str) -> bool:
    """Whether the file is there, is ours, and is what was written for this key."""
    try:
        if path.is_symlink() or path.stat().st_uid != os.geteuid():
            return False
        held = path.read_bytes()
    except OSError:
        return False
    return held[-DIGEST:] == _seal(key, held[:-DIGEST])


def find_or_make(key: str, make: Callable[[], bytes]) -> Path:
    """The file of an entry, which ``make`` gives the bytes of if there is none.

    ``key`` is a hash in hexadecimal digits. Where no folder can be had the file goes
    with the process.
    """
    kept = folder() or _of_process()
    path = kept / f"{key}{SUFFIX}"
    if is_whole(path, key):
        with suppress(OSError):
            os.utime(path)  # the entry was of use: it is young again
        return path
    made = _temporary(sealed(key, make()), kept)
    made.replace(path)
    prune(kept)
    return path


@lru_cache(maxsize=1)
def _of_process() -> Path:
    place = tempfile.TemporaryDirectory(prefix="gpuarray-ops-")
    atexit.register(place.cleanup)
    return Path(place.name)


def _temporary(content: bytes, place: Path) -> Path:
    """A new file with this content, safe on disk."""
    handle, name = tempfile.mkstemp(SUFFIX, TEMPORARY, place)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def prune(place: Path) -> None:
    """Remove what nobody finished, and the oldest entries where there are too many."""
    entries = sorted(_entries(place), key=lambda each: each[1].st_mtime)
    now = time.time()
    kept = []
    for path, found in entries:
        if not path.name.startswith(TEMPORARY):
            kept.append((path, found.st_size))
        elif now - found.st_mtime > STALE_SECONDS:
            path.unlink(missing_ok=True)
    total, limit = sum(size for _, size in kept), _limit()
    if total > limit:
        for path, size in kept:
            if total <= limit - limit // 4:
                break
            path.unlink(missing_ok=True)
            total -= size


def _entries(place: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in place.glob(f"*{SUFFIX}"):
        with suppress(OSError):  # another process removed it meanwhile
            yield path, path.stat()


def _limit() -> int:
    text = os.environ.get("GPUARRAY_CACHE_SIZE", "")
    return int(text) if text.isdigit() else DEFAULT_LIMIT
