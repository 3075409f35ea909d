"""Saving: ranks compare what they save, write, and rank 0 makes it a checkpoint."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpuarray._checkpoints import files
from gpuarray._checkpoints.agreement import Agreement, BackgroundWork, Said, errors_of
from gpuarray._checkpoints.state import (
    Description,
    Flattened,
    Host,
    difference,
    dtype_of,
    extents,
)
from gpuarray._core.base import BaseArray
from gpuarray._distributed.calls import CollectiveCall, user_line
from gpuarray._distributed.communicator import Communicator
from gpuarray.array import Array
from gpuarray.errors import BadValue, GpuArrayError, OutOfMemory


def save_checkpoint(
    comm: Communicator,
    folder: str | os.PathLike[str],
    state: Any,
    *,
    step: int,
    keep: int | None = 2,
    background: bool = False,
) -> None:
    """Save the state of all ranks; on an error the older checkpoints stay.

    ``state`` is a mapping of names to arrays of gpuarray or NumPy, numbers, texts,
    None, and mappings, lists and tuples of them. An array is replicated, and rank 0
    writes its own, or is a ``Shard``, of which each rank writes its part. All ranks
    call this, with the same names, dtypes, shapes and numbers, and see the same folder.
    A program that finds checkpoints there loads from it first: those of another are not
    overwritten.

    The ``keep`` checkpoints saved last stay (None: all). With ``background`` the arrays
    are copied, on their device if it has room, and written behind the program; the next
    save or load of the communicator, and its ``close``, wait for that and raise its
    error. Raises DistributedError on every rank.

    >>> with gpuarray.distributed.init("null") as comm:
    ...     w = gpuarray.arange(3, context="null")
    ...     gpuarray.distributed.save_checkpoint(comm, "saved", {"w": w}, step=1)
    ...     gpuarray.distributed.load_checkpoint(comm, "saved").step
    1
    """
    if type(step) is not int or step < 0:
        raise BadValue(f"save_checkpoint: step is {step!r}, expected 0, 1, ...")
    if keep is not None and (type(keep) is not int or keep < 1):
        raise BadValue(
            f"save_checkpoint: keep is {keep!r}, expected 1 or more, or None for all"
        )
    comm._group.finish(comm.name)
    detail = f"step {step}, keep {keep}"
    call = CollectiveCall("save_checkpoint", detail, line=user_line())
    save = _Save(Agreement(comm, call), Path(folder), step, keep)
    save.begin(state, background)
    if background:
        comm._group.run_behind(comm.name, BackgroundWork(save.run).finish)
    else:
        save.run()


class _Save:
    """One call of save_checkpoint."""

    def __init__(
        self, agreement: Agreement, folder: Path, step: int, keep: int | None
    ) -> None:
        self._agreement, self._comm = agreement, agreement.comm
        self._folder, self._step, self._keep = folder, step, keep
        self._arrays: dict[str, Array | Host] = {}
        self._said: list[Said] = []

    def begin(self, state: Any, copies: bool) -> None:
        """Compare the states of ranks, and take what this one writes."""
        own: Said = {"token": secrets.token_hex(4)}
        problem: GpuArrayError | None = None
        try:
            flat = Flattened(state, "save_checkpoint")
            described = {n: d.as_json() for n, d in flat.descriptions.items()}
            own |= {"state": flat.tree, "arrays": described}
        except GpuArrayError as error:
            problem = error
            own["problem"] = str(error)
        if self._comm.rank == 0:
            own["stranger"] = self._stranger()
        self._said = self._agreement.begin(own)
        if problem is not None:
            raise problem
        self._agreement.fail(list(_differences(self._said)))
        self._agreement.fail([text for text in [self._said[0]["stranger"]] if text])
        every = self._descriptions()
        for name, array in flat.arrays.items():
            axis, rank = flat.descriptions[name].axis, self._comm.rank
            if axis is not None:
                _, length = extents([one[name] for one in every])[rank]
                array = array[(*(slice(None),) * axis, slice(length))]
            if rank == 0 or axis is not None:
                self._arrays[name] = _copy(array) if copies else array

    def run(self) -> None:
        """Write, and make it a checkpoint."""
        written = self._agreement.after(self._write)
        if causes := errors_of(written, "write"):
            self._remove()
            self._agreement.fail([*causes, "no checkpoint has changed"])
        concluded = self._agreement.after(
            lambda: self._conclude([one["done"] for one in written])
        )[0]
        self._agreement.fail(errors_of([concluded], "end"))
        outcome = concluded["done"]
        if cause := outcome.get("error"):
            if not outcome["is_saved"]:
                self._remove()
            self._agreement.fail([cause])

    def _stranger(self) -> str:
        """Return why this program may not save to the folder; empty: it may."""
        try:
            return files.stranger(self._folder)
        except (OSError, files.Damaged, files.OtherFormat) as error:
            return f"rank 0 cannot read {self._folder}: {error}"

    @property
    def _place(self) -> Path:
        return files.step_folder(self._folder, self._step)

    @property
    def _path(self) -> Path:
        token, comm = self._said[0]["token"], self._comm
        return self._place / files.rank_file(comm.rank, comm.size, token)

    def _write(self) -> Said | None:
        """Write this rank's file, if it has anything to write."""
        if not self._arrays:
            return None
        try:
            return files.write_parts(self._path, self._hosts())
        except OSError as error:
            raise OSError(f"{self._path}: {_reason(error)}") from error
        finally:
            self._arrays.clear()

    def _hosts(self) -> Iterator[tuple[str, Host]]:
        """Return the elements of one array after another; each is given up then."""
        for name in list(self._arrays):
            array = self._arrays.pop(name)
            if isinstance(array, BaseArray):
                with array.context.new_queue():
                    array = array.get()
            yield name, array

    def _conclude(self, written: Sequence[Said | None]) -> Said:
        """Write the manifest, then remove old checkpoints; return what to tell."""
        if self._comm.rank:
            return {}
        path = self._place / files.MANIFEST
        if text := self._stranger():
            return {"error": text, "is_saved": False}
        try:
            number = max((n for n, _ in files.whole_steps(self._folder)), default=0)
            files.write_manifest(self._place, self._manifest(number + 1, written))
        except (OSError, files.Damaged, files.OtherFormat) as error:
            text = f"rank 0 cannot write {path}: {_reason(error)}"
            return {"error": text, "is_saved": False}
        try:
            files.remove_others(self._folder, self._step, self._keep)
        except (OSError, files.Damaged, files.OtherFormat) as error:
            text = f"step {self._step} is saved, but rank 0 cannot remove old files"
            return {"error": f"{text}: {error}", "is_saved": True}
        return {}

    def _descriptions(self) -> list[dict[str, Description]]:
        """Return what each rank has of each array."""
        return [
            {n: Description.from_json(d) for n, d in one["arrays"].items()}
            for one in self._said
        ]

    def _manifest(self, number: int, written: Sequence[Said | None]) -> Said:
        every = self._descriptions()
        with_files = [rank for rank, one in enumerate(written) if one is not None]
        arrays = {}
        for name, said in every[0].items():
            parts, all_parts = [], [one[name] for one in every]
            for rank in range(self._comm.size) if said.axis is not None else [0]:
                part = _part(all_parts, rank, with_files.index(rank))
                parts.append(part | written[rank]["parts"][name])  # type: ignore[index]
            whole = said.whole(all_parts)
            arrays[name] = {**whole.as_named(), "parts": parts}
        return {
            "step": self._step,
            "number": number,
            "ranks": self._comm.size,
            "block": files.BLOCK,
            "state": self._said[0]["state"],
            "arrays": arrays,
            "files": [
                {"name": one["name"], "bytes": one["bytes"]} for one in written if one
            ],
        }

    def _remove(self) -> None:
        """Remove this rank's file of a checkpoint that will not be."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            return  # the next checkpoint removes it


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _part(every: Sequence[Description], rank: int, file: int) -> Said:
    """Return what the manifest says of a rank's part, but for its place in the file."""
    said, start, length = every[rank], 0, 0
    shape = list(said.shape)
    if said.axis is not None:
        start, length = extents(every)[rank]
        shape[said.axis] = length
    size = math.prod(shape) * dtype_of(said.dtype).itemsize
    return {"file": file, "start": start, "length": length, "bytes": size}


def _copy(array: Array | Host) -> Array | Host:
    """Return a copy that later work does not change: queued, where memory allows."""
    if not isinstance(array, BaseArray):
        return np.array(array)
    try:
        return array.copy()
    except OutOfMemory:
        return array.get()


def _differences(said: Sequence[Said]) -> Iterator[str]:
    """Return how the states of ranks differ from that of rank 0."""
    problems = {r: one["problem"] for r, one in enumerate(said) if "problem" in one}
    yield from (f"rank {rank}: {text}" for rank, text in problems.items())
    if problems:
        return
    first = said[0]
    for rank, one in enumerate(said):
        if found := difference(first["state"], one["state"]):
            name, here, there = found
            yield (
                f"ranks save other states: {name!r} is {here} on rank 0, {there} on "
                f"rank {rank}; what differs is a Shard"
            )
            continue
        for name, text in first["arrays"].items():
            a = Description.from_json(text)
            b = Description.from_json(one["arrays"][name])
            if not a.fits(b):
                yield f"{name!r} is {a} on rank 0, {b} on rank {rank}"
    for name, text in first["arrays"].items():
        a = Description.from_json(text)
        if a.axis is not None and a.length is not None:
            total = sum(one["arrays"].get(name, text)[1][a.axis] for one in said)
            if total < a.length:
                yield (
                    f"{name!r}: the parts have the length {total} together, expected "
                    f"its length, {a.length}, or more"
                )
