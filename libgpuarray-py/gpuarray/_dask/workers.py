"""The device of each worker of a Dask cluster."""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import secrets
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from distributed import WorkerPlugin

from gpuarray._core.devices import device_names
from gpuarray._core.opening import get_default_context, set_default_context
from gpuarray._dask import cuda_ipc
from gpuarray._interop import pickling
from gpuarray.config import settings

_held: dict[str, IO[str]] = {}
"""The lock of this process's device, by the plugin that took it."""


class DevicePlugin(WorkerPlugin):  # type: ignore[misc]
    """Opens a device in each worker, of several on a machine another in each.

    A device is taken by a lock on a file, which ends with the process: a worker that is
    started anew takes the one that is free. Where there are more workers than devices,
    they share them evenly.
    """

    name = "gpuarray-device"

    def __init__(self, devices: Sequence[str] | None) -> None:
        self.devices = devices
        self.token = secrets.token_hex(4)

    def setup(self, worker: Any) -> None:
        """Take a device, unless another worker of this process has."""
        if worker is not None:
            cuda_ipc.install(worker)
        if self.token in _held:
            return
        self.teardown(worker)
        device = self._take(self.devices or _own_devices())
        set_default_context(device)
        pickling.unpickle_at_default(True)

    def _take(self, devices: Sequence[str]) -> str:
        """Return the first device that no other process of the machine has taken."""
        for turn in itertools.count():
            for device in devices:
                lock = _lock(f"{self.token}-{device}-{turn}")
                if lock is not None:
                    _held[self.token] = lock
                    return device
        raise AssertionError  # never reached

    def teardown(self, worker: Any) -> None:
        """Give the device back."""
        for lock in _held.values():
            Path(lock.name).unlink(missing_ok=True)
            lock.close()
        _held.clear()


def _own_devices() -> list[str]:
    """Return the names of the devices that workers of this machine share."""
    if settings().device:
        return [settings().device]
    return device_names("cuda")[0] or device_names("opencl")[0][:1] or ["null"]


def _lock(name: str) -> IO[str] | None:
    """Return an open file that only this process has a lock on; None: another has."""
    file_name = re.sub(r"\W", "-", f"gpuarray-{name}")
    path = Path(tempfile.gettempdir()) / f"{file_name}.lock"
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    try:
        if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return file
    except FileNotFoundError:
        pass
    file.close()  # the process that had it has just removed it
    return _lock(name)


def take_devices(client: Any, devices: Sequence[str] | None) -> dict[str, str]:
    """See ``gpuarray.distributed.one_device_per_worker``."""
    client.register_plugin(DevicePlugin(devices))
    pickling.unpickle_at_default(True)
    if client.run_on_scheduler(_process) != _process():
        client.run_on_scheduler(_hold_on_host)
    names: dict[str, str] = client.run(_name)
    return names


def _process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _hold_on_host() -> None:
    """Have a scheduler unpickle arrays of graphs without a device."""
    set_default_context("null")
    pickling.unpickle_at_default(True)


def _name() -> str:
    return get_default_context().name
