"""Stores on disk between programs: one file an entry, named by a hash of its sources.

Lock-free, as the library's cache of kernels beside it: a temporary file, fsync, atomic
rename. An entry ends with a hash of its bytes and its key, so a damaged or foreign one
is made anew. The folder is one that nobody else can change (gpuarray._core.folders),
and is bounded by GPUARRAY_CACHE_SIZE: the oldest entries go first.
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
        """Where entries are kept, if others cannot change it; None: nowhere."""
        above = cache_folder()
        return None if above is None else Path(above, self.name)

    def find(self, key: str) -> bytes | None:
        """The bytes that are kept for a key, a hash in hexadecimal digits."""
        with self._opened(self.folder()) as kept:
            return None if kept is None else self._held(kept, key)

    def keep(self, key: str, made: bytes) -> None:
        """Keep bytes for a key; what cannot be written is not kept."""
        with self._opened(self.folder(), make=True) as kept:
            if kept is not None:
                with suppress(OSError):
                    self._write(kept, key, made)

    def find_or_make(self, key: str, make: Callable[[], bytes]) -> Path:
        """The file of an entry, which ``make`` gives the bytes of if there is none.

        Where none can be kept it goes with the process. OSError where neither is
        possible.
        """
        made = None
        for each in (self.folder, self.folder_of_process):
            place = each()
            with self._opened(place, make=True) as kept:
                if place is None or kept is None:
                    continue
                if self._held(kept, key) is None:
                    made = make() if made is None else made
                    try:
                        self._write(kept, key, made)
                    except OSError:
                        continue
                return place / f"{key}{self.suffix}"
        raise OSError(f"{self.folder_of_process()}: no file can be written there")

    def folder_of_process(self) -> Path:
        """A folder that goes with the process."""
        return _of_process(self.name)

    @contextmanager
    def _opened(self, place: Path | None, make: bool = False) -> Iterator[int | None]:
        """The descriptor of a folder, if there is one that may be used."""
        if place is None:
            yield None
            return
        with private_folder(str(place), make=make) as opened:
            yield opened

    def _held(self, folder: int, key: str) -> bytes | None:
        """Return the content of a file if it was written for this key."""
        held = read_private(folder, f"{key}{self.suffix}")
        if held is None:
            return None
        made = held[:-DIGEST]
        return made if held[-DIGEST:] == _seal(key, made) else None

    def _write(self, folder: int, key: str, made: bytes) -> None:
        """A new file with this content, safe on disk under its own name."""
        name = f"{TEMPORARY}{secrets.token_hex(8)}{self.suffix}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        handle = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sealed(key, made))
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
        """Remove what nobody finished, and the oldest entries where there are many."""
        entries = sorted(self._entries(folder), key=lambda each: each[1].st_mtime)
        now = time.time()
        kept = []
        for name, found in entries:
            if not name.startswith(TEMPORARY):
                kept.append((name, found.st_size))
            elif now - found.st_mtime > STALE_SECONDS:
                _unlink(folder, name)
        total, limit = sum(size for _, size in kept), _limit()
        if total > limit:
            for name, size in kept:
                if total <= limit - limit // 4:
                    break
                _unlink(folder, name)
                total -= size

    def _entries(self, folder: int) -> Iterator[tuple[str, os.stat_result]]:
        for name in os.listdir(folder):
            if name.endswith(self.suffix):
                with suppress(OSError):  # another process removed it meanwhile
                    yield name, os.stat(name, dir_fd=folder, follow_symlinks=False)


def _unlink(folder: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def sealed(key: str, made: bytes) -> bytes:
    """Return bytes and a seal, which loaders of libraries ignore."""
    return made + _seal(key, made)


def _seal(key: str, made: bytes) -> bytes:
    return hashlib.blake2b(made, digest_size=DIGEST, key=key.encode()[:64]).digest()


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
