"""Disk caches: one file an entry, named by a hash of its sources.

Lock-free, as the library's cache of kernels: a temporary file, fsync, atomic rename. An
entry ends with a hash of its bytes and its key, so a damaged or foreign one is rebuilt.
Only the user can change the folder (gpuarray._core.folders). GPUARRAY_CACHE_SIZE bounds
it: the oldest entries are evicted first.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from gpuarray._core.folders import private_folder, read_private, why_refused
from gpuarray.config import cache_folder

TEMPORARY = "tmp-"
STALE_SECONDS = 3600
"""The age at which a temporary file counts as abandoned."""
DEFAULT_LIMIT = 2 << 30
DIGEST = 32
WRITES_PER_PRUNE = 64


class Store:
    """The cache of one kind: files that end with ``suffix``, in their own folder.

    Its state counts how often this process has written.
    """

    def __init__(self, name: str, suffix: str) -> None:
        self.name = name
        self.suffix = suffix
        self._writes = 0

    def folder(self) -> Path | None:
        """Return the folder of the entries; None if others can change it."""
        above = cache_folder()
        return None if above is None else Path(above, self.name)

    def find(self, key: str) -> bytes | None:
        """Return the entry of a key, a hash in hexadecimal digits."""
        with self._opened(self.folder()) as folder:
            return None if folder is None else self._held(folder, key)

    def keep(self, key: str, content: bytes) -> None:
        """Store bytes for a key, if they can be written."""
        with self._opened(self.folder(), make=True) as folder:
            if folder is not None:
                with suppress(OSError):
                    self._write(folder, key, content)

    def find_or_make(self, key: str, make: Callable[[], bytes]) -> Path:
        """Return the file of an entry; ``make`` returns the bytes of a missing one.

        Where none can be stored, its file is this process's. Raises OSError if neither
        is possible.
        """
        content = None
        for folder_of in (self.folder, self.folder_of_process):
            place = folder_of()
            with self._opened(place, make=True) as folder:
                if place is None or folder is None:
                    continue
                if self._held(folder, key) is None:
                    content = make() if content is None else content
                    try:
                        self._write(folder, key, content)
                    except OSError:
                        continue
                return place / f"{key}{self.suffix}"
        raise OSError(f"{self.folder_of_process()}: no file can be written there")

    def folder_of_process(self) -> Path:
        """Return a folder that is deleted with the process."""
        return _of_process(self.name)

    @contextmanager
    def _opened(self, place: Path | None, make: bool = False) -> Iterator[int | None]:
        """Return the descriptor of a folder, if there is one that may be used."""
        if place is None:
            yield None
            return
        with private_folder(str(place), make=make) as opened:
            yield opened

    def _held(self, folder: int, key: str) -> bytes | None:
        """Return the content of a file if it was written for this key."""
        stored = read_private(folder, f"{key}{self.suffix}")
        if stored is None:
            return None
        content = stored[:-DIGEST]
        return content if stored[-DIGEST:] == _seal(key, content) else None

    def _write(self, folder: int, key: str, content: bytes) -> None:
        """Write a new file with this content, safe on disk under its own name."""
        name = f"{TEMPORARY}{secrets.token_hex(8)}{self.suffix}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        handle = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sealed(key, content))
                file.flush()
                os.fsync(handle)
            final = f"{key}{self.suffix}"
            os.replace(name, final, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _unlink(folder, name)
            raise
        if self._writes % WRITES_PER_PRUNE == 0:
            self.prune(folder)
        self._writes += 1

    def prune(self, folder: int) -> None:
        """Remove abandoned files, and the oldest entries where there are many."""
        entries = sorted(self._entries(folder), key=lambda entry: entry[1].st_mtime)
        now = time.time()
        sizes = []
        for name, status in entries:
            if not name.startswith(TEMPORARY):
                sizes.append((name, status.st_size))
            elif now - status.st_mtime > STALE_SECONDS:
                _unlink(folder, name)
        total, limit = sum(size for _, size in sizes), _limit()
        if total > limit:
            for name, size in sizes:
                if total <= limit - limit // 4:
                    break
                _unlink(folder, name)
                total -= size

    def _entries(self, folder: int) -> Iterator[tuple[str, os.stat_result]]:
        for name in os.listdir(folder):
            if name.endswith(self.suffix):
                with suppress(OSError):  # another process removed it
                    yield name, os.stat(name, dir_fd=folder, follow_symlinks=False)


def _unlink(folder: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def sealed(key: str, content: bytes) -> bytes:
    """Return bytes and a seal, which loaders of libraries ignore."""
    return content + _seal(key, content)


def _seal(key: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST, key=key.encode()[:64]).digest()


@lru_cache
def _of_process(name: str) -> Path:
    place = tempfile.TemporaryDirectory(prefix=f"gpuarray-{name}-")
    atexit.register(place.cleanup)
    if refused := why_refused(place.name):
        raise OSError(f"TMPDIR: {refused}")
    return Path(place.name)


def _limit() -> int:
    text = os.environ.get("GPUARRAY_CACHE_SIZE", "")
    return int(text) if text.isdigit() else DEFAULT_LIMIT
