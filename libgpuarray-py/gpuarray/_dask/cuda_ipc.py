"""Chunks between workers of one machine by CUDA IPC, without host memory.

Who has a chunk sends a handle of its memory, and who asked for it copies from there
before it answers; until then Dask holds the chunk. Handles are sent to workers alone
that have opened one of this worker's before; all else goes as bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Collection
from typing import Any

import numpy as np
from distributed.protocol import deserialize, serialize
from distributed.protocol.serialize import register_serialization_family

import gpuarray
from gpuarray._core.context import Context
from gpuarray._interop import pickling, pygpu_array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import GpuArrayError

FAMILY = "gpuarray-cuda-ipc"
"""The name of these messages among Dask's serializers."""

LEAST = 1 << 21
"""Bytes of the smallest array that goes so: the driver cuts smaller allocations out of
pages that others share."""

_OPERATION = "gpuarray_open_ipc"
_PATIENCE = 10.0  # seconds for a worker's answer whether it opens handles

_log = logging.getLogger("gpuarray.dask")


def install(worker: Any) -> None:
    """Have a worker send chunks so where it can, and answer those who try."""
    register_serialization_family(FAMILY, _dumps, _loads)
    if _OPERATION not in worker.handlers:
        worker.handlers[_OPERATION] = _opens
        worker.handlers["get_data"] = _Sender(worker).get_data


# ---- messages ----


def _dumps(x: Any) -> tuple[dict[str, Any], list[bytes]]:
    """Return the handle of an array; the next serializer takes all else."""
    if not isinstance(x, gpuarray.Array) or x.nbytes < LEAST:
        raise NotImplementedError("no large array of ours")
    try:
        handle = pygpu_array.get_ipc_handle(x)
    except GpuArrayError as error:
        raise NotImplementedError(str(error)) from None
    x.sync()  # the other process's queue is not in order with ours
    header = {
        "handle": handle,
        "size": x._buffer_size(),
        "offset": x.offset,
        "dtype": x.dtype.name,
        "shape": x.shape,
        "strides": x.strides,
        "context": x.context.name,
    }
    return header, []


def _loads(header: dict[str, Any], frames: Any) -> gpuarray.Array:
    """Return a copy of the array, on this worker's device.

    Dask takes OSError for a broken connection and asks again; the other worker sees
    that it broke, and sends bytes from then on.
    """
    try:
        mine = _opened(header, pickling.place(header["context"])).copy("K")
        mine.sync()
    except GpuArrayError as error:
        _log.warning("an array could not be copied by CUDA IPC: %s", error)
        raise OSError(f"CUDA IPC: {error}") from error
    return mine


def _opened(header: dict[str, Any], where: Context) -> gpuarray.Array:
    """Return the array in the other process's memory."""
    return pygpu_array.from_gpudata(
        gpuarray.Array,
        pygpu_array.open_ipc_handle(where, header["handle"], header["size"]),
        header["offset"],
        as_dtype(header["dtype"], "deserialize"),
        header["shape"],
        where,
        header["strides"],
        writable=False,
    )


# ---- who opens whose handles ----


def _machine() -> str:
    """Return the identity of this boot of the machine, or nothing."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


async def _opens(
    machine: str, process: int, header: dict[str, Any], digest: bytes
) -> bool:
    """Return True if the array of a header could be read here, and is right."""
    if machine != _machine() or process == os.getpid():
        return False
    try:
        found: np.ndarray[Any, Any] = deserialize(header, []).get()
    except OSError:
        return False
    return hashlib.sha256(found.tobytes()).digest() == digest


class _Sender:
    """What a worker sends to others that ask for its chunks."""

    def __init__(self, worker: Any) -> None:
        self._worker, self._send = worker, worker.handlers["get_data"]
        self._opens: dict[str, asyncio.Future[bool]] = {}

    async def get_data(
        self,
        comm: Any,
        keys: Collection[str],
        who: str | None = None,
        serializers: list[str] | None = None,
    ) -> Any:
        """See ``distributed.Worker.get_data``; ``who`` is the worker that asks."""
        if serializers is None and who is not None and await self._asks(who):
            serializers = [FAMILY, "dask", "pickle"]
        try:
            return await self._send(comm, keys=keys, who=who, serializers=serializers)
        except OSError:
            if who is not None and serializers is not None:
                self._opens[who] = asyncio.get_running_loop().create_future()
                self._opens[who].set_result(False)
            raise

    async def _asks(self, who: str) -> bool:
        """Return True if that worker opens handles of this one; it is asked once."""
        if who not in self._opens:
            self._opens[who] = asyncio.ensure_future(self._tries(who))
        return await asyncio.shield(self._opens[who])

    async def _tries(self, who: str) -> bool:
        if not who.startswith(("tcp://", "tls://")):
            return False  # of other protocols each has its own way
        try:
            content = os.urandom(LEAST)
            array = gpuarray.asarray(np.frombuffer(content, np.uint8))
            header, _ = serialize(array, serializers=[FAMILY], on_error="raise")
            answer = getattr(self._worker.rpc(who), _OPERATION)(
                machine=_machine(),
                process=os.getpid(),
                header=header,
                digest=hashlib.sha256(content).digest(),
            )
            return await asyncio.wait_for(answer, _PATIENCE) is True
        except (OSError, GpuArrayError, TypeError, TimeoutError):
            return False  # what is wrong is told where bytes are sent
