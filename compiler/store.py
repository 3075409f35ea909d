"""What is kept on disk between programs: one file an entry, named by a hash of what
made it.

Lock-free, as the library's cache of kernels beside it: a temporary file, fsync, atomic
rename. An entry ends with a hash of its bytes and its key, so a damaged or foreign one
is made anew. The folder belongs to the user alone, and is bounded by
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

TEMPORARY = "tmp-"
STALE_SECONDS = 3600
"""After which a temporary file is nobody's any more."""
DEFAULT_LIMIT = 2 << 30
DIGEST = 32
WRITES_PER_PRUNE = 64


class Store:
    """The entries of one kind: files that end with ``suffix``, in a folder of theirs.

    Its state is how often this process has written.
    """

    def __init__(self, name: str, suffix: str) -> None:
        self.name = name
        self.suffix = suffix
        self._writes = 0

    def folder(self) -> Path | None:
        """The folder, made if need be; None where nothing is kept."""
        above = cache_folder()
        if above is None:
            return None
        place = Path(above, self.name)
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return None
        return place if is_private(place) else None

    def find(self, key: str) -> bytes | None:
        """The bytes that are kept for a key, a hash in hexadecimal digits."""
        kept = self.folder()
        return None if kept is None else self._held(kept / f"{key}{self.suffix}", key)

    def keep(self, key: str, made: bytes) -> None:
        """Keep bytes for a key; what cannot be written is not kept."""
        kept = self.folder()
        if kept is not None:
            with suppress(OSError):
                self._write(kept, key, made)

    def find_or_make(self, key: str, make: Callable[[], bytes]) -> Path:
        """The file of an entry, which ``make`` gives the bytes of if there is none.

        Where no folder can be had the file goes with the process.
        """
        kept = self.folder() or _of_process(self.name)
        path = kept / f"{key}{self.suffix}"
        if self._held(path, key) is None:
            self._write(kept, key, make())
        return path

    def _held(self, path: Path, key: str) -> bytes | None:
        """What a file holds, if it is ours, and is what was written for this key."""
        try:
            if path.is_symlink() or path.stat().st_uid != os.geteuid():
                return None
            held = path.read_bytes()
        except OSError:
            return None
        made = held[:-DIGEST]
        if held[-DIGEST:] != _seal(key, made):
            return None
        with suppress(OSError):
            os.utime(path)  # the entry was of use: it is young again
        return made

    def _write(self, place: Path, key: str, made: bytes) -> None:
        """A new file with this content, safe on disk under its own name."""
        handle, name = tempfile.mkstemp(self.suffix, TEMPORARY, place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sealed(key, made))
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(place / f"{key}{self.suffix}")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        if self._writes % WRITES_PER_PRUNE == 0:
            self.prune(place)
        self._writes += 1

    def prune(self, place: Path) -> None:
        """Remove what nobody finished, and the oldest entries where there are many."""
        entries = sorted(self._entries(place), key=lambda each: each[1].st_mtime)
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

    def _entries(self, place: Path) -> Iterator[tuple[Path, os.stat_result]]:
        for path in place.glob(f"*{self.suffix}"):
            with suppress(OSError):  # another process removed it meanwhile
                yield path, path.stat()


def is_private(place: Path) -> bool:
    """Whether the folder is ours, and nobody else may write to it."""
    found = place.stat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return found.st_uid == os.geteuid() and not found.st_mode & others


def sealed(key: str, made: bytes) -> bytes:
    """What a file holds: the bytes and a seal; a loader of libraries ignores that."""
    return made + _seal(key, made)


def _seal(key: str, made: bytes) -> bytes:
    return hashlib.blake2b(made, digest_size=DIGEST, key=key.encode()[:64]).digest()


@lru_cache
def _of_process(name: str) -> Path:
    place = tempfile.TemporaryDirectory(prefix=f"gpuarray-{name}-")
    atexit.register(place.cleanup)
    return Path(place.name)


def _limit() -> int:
    text = os.environ.get("GPUARRAY_CACHE_SIZE", "")
    return int(text) if text.isdigit() else DEFAULT_LIMIT
