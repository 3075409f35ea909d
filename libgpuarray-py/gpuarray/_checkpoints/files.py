"""Files of checkpoints: arrays of a rank in one .npz, and the manifest that counts.

A folder has a folder for each step; there each rank has an uncompressed .npz of its
parts, which ``numpy.load`` reads, too. ``manifest.json``, written last and atomically,
makes it a checkpoint: the state, the place of each part in its whole and in its file,
and a checksum for every 4 MiB. Files of one attempt to save carry its token.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gpuarray._checkpoints.state import Host, dtype_of, row_bytes
from gpuarray._core.file_write import whole_file, write_file

BLOCK = 1 << 22
"""Bytes that have one checksum: what is read of a part at least."""

MANIFEST = "manifest.json"
_FORMAT_OF_ANY = "gpuarray checkpoint, version "
_FORMAT = f"{_FORMAT_OF_ANY}1"
_STEP = re.compile(r"step-\d{10,}")
_OURS = re.compile(r"rank-\d+-of-\d+-[0-9a-f]+\.npz|manifest\.json|\.gpuarray-\w+\.tmp")


class Damaged(Exception):
    """A file of a checkpoint is missing, or not as it was written."""


class OtherFormat(Exception):
    """A manifest of another version."""


# ---- a rank's file ----


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of a step."""
    return folder / f"step-{step:010}"


def rank_file(rank: int, ranks: int, token: str) -> str:
    """Return the name of a rank's file."""
    return f"rank-{rank}-of-{ranks}-{token}.npz"


def write_parts(path: Path, parts: Iterable[tuple[str, Host]]) -> dict[str, Any]:
    """Write arrays to an .npz; return what the manifest says of it.

    The file is on disk when this returns. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    places = {}
    with whole_file(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, host in parts:
                entry = zipfile.ZipInfo(f"{name}.npy")
                with archive.open(entry, "w", force_zip64=True) as member:
                    places[name] = _write_part(file, member, host)
        size = file.tell()
    sync_folder(path.parent)
    return {"name": path.name, "bytes": size, "parts": places}


def _write_part(file: Any, member: Any, host: Host) -> dict[str, Any]:
    """Write an array in NumPy's format; return its offset and checksums."""
    if not host.flags.c_contiguous:
        host = host.copy("C")
    is_named = host.dtype.kind != "V"
    header = {
        "descr": host.dtype.str if is_named else f"|V{host.dtype.itemsize}",
        "fortran_order": False,
        "shape": host.shape,
    }
    np.lib.format.write_array_header_1_0(member, header)
    content = _bytes_of(host)
    offset, sums = file.tell(), []
    for start in range(0, len(content), BLOCK):
        block = content[start : start + BLOCK]
        sums.append(zlib.crc32(block))
        member.write(block)
    return {"offset": offset, "crc32": sums}


def _bytes_of(host: Host) -> memoryview:
    return host.reshape(-1).view(np.uint8).data


def sync_folder(folder: Path) -> None:
    """Have the names of a folder's files on disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---- the manifest ----


def write_manifest(folder: Path, checkpoint: dict[str, Any]) -> None:
    """Make the files in a step's folder a checkpoint. Raises OSError, Damaged."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in checkpoint["files"]:
        check_size(folder / one["name"], one["bytes"])
    head = {"format": _FORMAT, "crc32": _sum_of(checkpoint), "checkpoint": checkpoint}
    write_file(folder / MANIFEST, json.dumps(head))
    _known[folder.parent.resolve()] = _identity(checkpoint)
    sync_folder(folder)
    sync_folder(folder.parent)


def _sum_of(checkpoint: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(checkpoint).encode())


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a step's folder. Raises Damaged, OtherFormat, OSError."""
    path = folder / MANIFEST
    try:
        head = json.loads(path.read_bytes())
        written_as = head["format"]
        if written_as.startswith(_FORMAT_OF_ANY) and written_as != _FORMAT:
            raise OtherFormat(
                f"{path} is of {written_as!r}, expected {_FORMAT!r}: load it with the "
                "gpuarray that saved it"
            )
        found: dict[str, Any] = head["checkpoint"]
        is_whole = head["crc32"] == _sum_of(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise Damaged(
            f"{path} is damaged: its manifest has another checksum than it says"
        )
    return found


def whole_steps(folder: Path) -> list[tuple[int, int]]:
    """Return (number, step) of the checkpoints in a folder, in the order of saving.

    One whose manifest is damaged has the number 0. Raises OtherFormat, OSError.
    """
    found = []
    for one in folder.iterdir() if folder.is_dir() else ():
        if _STEP.fullmatch(one.name) and (one / MANIFEST).is_file():
            try:
                number = read_manifest(one)["number"]
            except Damaged:
                number = 0
            found.append((number, int(one.name[5:])))
    return sorted(found)


_known: dict[Path, tuple[int, int]] = {}
"""The identity of a folder's newest checkpoint when this process used it last."""


def _identity(checkpoint: dict[str, Any]) -> tuple[int, int]:
    return checkpoint["number"], _sum_of(checkpoint)


def _newest(folder: Path) -> tuple[int, dict[str, Any]] | None:
    """Return the step saved last and its manifest; None: none is whole."""
    number, step = max(whole_steps(folder), default=(0, 0))
    return (step, read_manifest(step_folder(folder, step))) if number else None


def know(folder: Path) -> None:
    """Take a folder's newest checkpoint as this program's own. Raises OtherFormat."""
    newest = _newest(folder)
    if newest is not None:
        _known[folder.resolve()] = _identity(newest[1])


def stranger(folder: Path) -> str:
    """Return a sentence if another program has saved a folder's newest checkpoint.

    Empty if this process has saved it, or loaded from the folder since. Raises
    OtherFormat, OSError.
    """
    newest = _newest(folder)
    if newest is None or _identity(newest[1]) == _known.get(folder.resolve()):
        return ""
    return (
        f"{folder} has step {newest[0]}, which this program has neither saved nor "
        "loaded, and saving would remove: load_checkpoint goes on from it, or save to "
        "another folder; a folder is of one program at a time"
    )


def remove_others(folder: Path, step: int, keep: int | None) -> None:
    """Remove checkpoints beyond the ``keep`` latest, and files of no checkpoint.

    What is not a checkpoint's file stays. Raises OSError.
    """
    whole = [one for _, one in whole_steps(folder)]
    kept = set(whole if keep is None else whole[-keep:]) | {step}
    for one in list(folder.iterdir()):
        if not _STEP.fullmatch(one.name):
            continue
        if int(one.name[5:]) not in kept:
            _remove(one, set())
        elif int(one.name[5:]) == step:
            names = {file["name"] for file in read_manifest(one)["files"]}
            _remove(one, {MANIFEST, *names})


def _remove(folder: Path, kept: set[str]) -> None:
    """Remove files of a step's folder, the manifest first."""
    names = [one.name for one in folder.iterdir() if _OURS.fullmatch(one.name)]
    for name in sorted(names, key=lambda name: name != MANIFEST):
        if name not in kept:
            (folder / name).unlink(missing_ok=True)
    if not kept:
        with suppress(OSError):  # a file that is not ours
            folder.rmdir()


# ---- reading ----


def check_size(path: Path, size: int) -> None:
    """Raise Damaged unless a file is there, with so many bytes."""
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise Damaged(f"{path} is missing; do all ranks see the same folder?") from None
    if found != size:
        raise Damaged(f"{path} has {found} bytes, expected {size}")


def read_rows(
    folder: Path,
    manifest: dict[str, Any],
    name: str,
    start: int = 0,
    stop: int | None = None,
) -> Host:
    """Return an array of a checkpoint, or what is from ``start`` to ``stop``.

    Along the axis that is split. Only the blocks with these elements are read, and
    their checksums compared. Raises Damaged, OSError.
    """
    array = manifest["arrays"][name]
    dtype, shape, axis = dtype_of(array["dtype"]), list(array["shape"]), array["axis"]
    if axis is None:
        result: Host = np.empty(shape, dtype)
        _read_part(folder, manifest, name, array["parts"][0], 0, result)
        return result
    stop = shape[axis] if stop is None else stop
    shape[axis] = max(stop - start, 0)
    result = np.empty(shape, dtype)
    before = (slice(None),) * axis
    for part in array["parts"]:
        first = max(start, part["start"])
        last = min(stop, part["start"] + part["length"])
        if first >= last:
            continue
        place = result[(*before, slice(first - start, last - start))]
        if axis == 0:
            row = row_bytes(place.shape, dtype.itemsize)
            skipped = (first - part["start"]) * row
            _read_part(folder, manifest, name, part, skipped, place)
        else:
            shape[axis] = part["length"]
            whole = np.empty(shape, dtype)
            _read_part(folder, manifest, name, part, 0, whole)
            inner = slice(first - part["start"], last - part["start"])
            place[...] = whole[(*before, inner)]
    return result


def _read_part(
    folder: Path,
    manifest: dict[str, Any],
    name: str,
    part: dict[str, Any],
    skipped: int,
    out: Host,
) -> None:
    """Fill a contiguous array with a part's bytes behind the first ``skipped``."""
    file = manifest["files"][part["file"]]
    path = folder / file["name"]
    check_size(path, file["bytes"])
    if not out.size:
        return
    target = _bytes_of(out)
    stop = skipped + len(target)
    with path.open("rb", buffering=0) as opened:
        for index in range(skipped // BLOCK, -(-stop // BLOCK)):
            start = index * BLOCK
            length = min(BLOCK, part["bytes"] - start)
            block = _read_block(opened, part["offset"] + start, length)
            if zlib.crc32(block) != part["crc32"][index]:
                raise Damaged(
                    f"{path} is damaged: the checksum of {name!r} differs, bytes "
                    f"{part['offset'] + start} to {part['offset'] + start + length}"
                )
            first, last = max(skipped, start), min(stop, start + length)
            target[first - skipped : last - skipped] = block[
                first - start : last - start
            ]


def _read_block(opened: Any, offset: int, length: int) -> memoryview:
    block = memoryview(bytearray(length))
    opened.seek(offset)
    done = 0
    while done < length and (count := opened.readinto(block[done:])):
        done += count
    return block[:done]
