"""Loading: rank 0 chooses the checkpoint, and each rank reads its parts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpuarray._checkpoints import files
from gpuarray._checkpoints.agreement import Agreement, Said, errors_of
from gpuarray._checkpoints.state import (
    Checkpoint,
    Description,
    Flattened,
    Host,
    Shard,
    decoded,
    even_lengths,
    extents,
)
from gpuarray._distributed.calls import CollectiveCall, user_line
from gpuarray._distributed.communicator import Communicator
from gpuarray.array import Array
from gpuarray.errors import GpuArrayError


def load_checkpoint(
    comm: Communicator,
    folder: str | os.PathLike[str],
    step: int | None = None,
    like: Any = None,
) -> Checkpoint | None:
    """Return the checkpoint saved last, or that of ``step``; None if there is none.

    Its ``step`` and ``state``, as it was saved: NumPy's arrays are NumPy's, others are
    on ``comm.context``, and shards are cut anew for the ranks at hand, as evenly as may
    be. ``like`` is a state whose arrays must have the same names, dtypes and shapes;
    then shards are cut into the lengths that those of ``like`` have.

    Raises DistributedError on every rank for a missing or damaged file, which it names.

    >>> with gpuarray.distributed.init("null") as comm:
    ...     part = gpuarray.distributed.Shard(np.arange(4))
    ...     gpuarray.distributed.save_checkpoint(comm, "parts", {"w": part}, step=7)
    ...     gpuarray.distributed.load_checkpoint(comm, "parts").state["w"]
    <shard of int64 (4,) along axis 0>
    """
    comm._group.finish(comm.name)
    detail = f"step {step}{'' if like is None else ', like'}"
    call = CollectiveCall("load_checkpoint", detail, line=user_line())
    return _Load(Agreement(comm, call), Path(folder)).run(step, like)


class _Load:
    """One call of load_checkpoint."""

    def __init__(self, agreement: Agreement, folder: Path) -> None:
        self._agreement, self._comm = agreement, agreement.comm
        self._folder = folder
        self._arrays: dict[str, Array | Host | Shard] = {}

    def run(self, step: int | None, like: Any) -> Checkpoint | None:
        """Choose the checkpoint, and read what this rank has of it."""
        own: Said = _chosen(self._folder, step) if self._comm.rank == 0 else {}
        problem: GpuArrayError | None = None
        if like is not None:
            try:
                flat = Flattened(like, "load_checkpoint")
                own["like"] = {n: d.as_json() for n, d in flat.descriptions.items()}
            except GpuArrayError as error:
                problem = error
                own["problem"] = str(error)
        said = self._agreement.begin(own)
        if problem is not None:
            raise problem
        problems = [
            f"rank {r}: {p['problem']}" for r, p in enumerate(said) if "problem" in p
        ]
        self._agreement.fail([*problems, *errors_of(said[:1], "load:")])
        if said[0].get("manifest") is None:
            return None
        manifest = json.loads(said[0]["manifest"])
        likes = None
        if like is not None:
            likes = [
                {n: Description.from_json(d) for n, d in one["like"].items()}
                for one in said
            ]
            self._agreement.fail(list(_misfits(manifest, likes)))
        read = self._agreement.after(lambda: self._read(manifest, likes))
        self._agreement.fail(errors_of(read, "load:"))
        return Checkpoint(
            manifest["step"], decoded(manifest["state"], self._arrays.get)
        )

    def _read(
        self, manifest: Said, likes: Sequence[dict[str, Description]] | None
    ) -> None:
        place = files.step_folder(self._folder, manifest["step"])
        rank, ranks = self._comm.rank, self._comm.size
        for name, array in manifest["arrays"].items():
            axis, length = array["axis"], None
            if axis is None:
                part = files.read_rows(place, manifest, name)
            elif likes is None:
                lengths = even_lengths(array["shape"][axis], ranks)
                start = sum(lengths[:rank])
                part = files.read_rows(
                    place, manifest, name, start, start + lengths[rank]
                )
            else:
                own, length = likes[rank][name], likes[rank][name].length
                start, count = extents([one[name] for one in likes])[rank]
                part = files.read_rows(place, manifest, name, start, start + count)
                part = _padded(part, axis, own.shape[axis])
            found: Array | Host = part
            if array["on"] == "device":
                found = Array.from_host(part, self._comm.context)
            self._arrays[name] = found if axis is None else Shard(found, axis, length)


def _padded(part: Host, axis: int, length: int) -> Host:
    """Return a part with zeros behind it, up to a length."""
    if part.shape[axis] == length:
        return part
    result = np.zeros((*part.shape[:axis], length, *part.shape[axis + 1 :]), part.dtype)
    result[(*(slice(None),) * axis, slice(part.shape[axis]))] = part
    return result


def _chosen(folder: Path, step: int | None) -> Said:
    """Return the manifest to load, or why there is none; neither: no checkpoint.

    Where one is damaged, nobody knows which was saved last.
    """
    steps: list[int] = []
    try:
        files.know(folder)
        numbered = files.whole_steps(folder)
        steps = [one for _, one in numbered]
        damaged = [one for number, one in numbered if not number]
        if step is None and not steps:
            return {}
        chosen = step if step is not None else [*damaged, steps[-1]][0]
        if chosen in steps:
            manifest = files.read_manifest(files.step_folder(folder, chosen))
            return {"manifest": json.dumps(manifest)}
        cause = f"step {step} in {folder}"
    except (OSError, files.Damaged, files.OtherFormat) as error:
        cause = str(error)
    there = ", ".join(map(str, steps)) or "none"
    return {"error": f"{cause}; the steps there are: {there}"}


def _misfits(manifest: Said, likes: Sequence[dict[str, Description]]) -> Iterator[str]:
    """Return how a checkpoint's arrays differ from those that ranks expect."""
    arrays = manifest["arrays"]
    for rank, like in enumerate(likes):
        for name in [*arrays, *(name for name in like if name not in arrays)]:
            if name not in like:
                yield f"the checkpoint has {name!r}, which rank {rank} does not expect"
            elif name not in arrays:
                yield f"the checkpoint has no {name!r}, which rank {rank} expects"
    if any(one.keys() != arrays.keys() for one in likes):
        return
    for name, array in arrays.items():
        saved = Description.named(array)
        wanted = [one[name] for one in likes]
        if saved.axis is not None and all(map(wanted[0].fits, wanted)):
            wanted = [one.whole(wanted) for one in wanted]
        for rank, one in enumerate(wanted):
            place = replace(one, is_on_device=saved.is_on_device)
            if place != saved:
                yield f"{name!r} is {saved}; rank {rank} expects {one}"
