"""The devices of a machine, by their names."""

from __future__ import annotations

from typing import NamedTuple

from gpuarray._native import check, encoded, ffi, lib, prepare
from gpuarray.errors import GpuArrayError

KINDS = "cuda", "opencl"


class Device(NamedTuple):
    """A device of this machine, or why it cannot be used.

    ``context`` is the name for ``gpuarray.context``, ``name`` the vendor's; ``kind`` is
    ``cuda`` or ``opencl``; ``memory`` counts bytes; ``is_cpu``: it is the host's
    processor; ``problem`` is empty if it opens.

    >>> found = gpuarray.devices()
    >>> all(device.problem or device.memory > 0 for device in found)
    True
    """

    context: str
    name: str
    kind: str
    memory: int
    is_cpu: bool
    problem: str = ""


def count_platforms(kind: str) -> int:
    """How many platforms a backend, ``"cuda"`` or ``"opencl"``, has.

    >>> gpuarray.count_platforms("null")
    1
    """
    prepare()
    count, name = ffi.new("unsigned int *"), encoded(kind, "count_platforms")
    check(lib.gpu_get_platform_count(name, count), "count_platforms")
    return int(count[0])


def count_devices(kind: str, platform: int) -> int:
    """How many devices a platform of a backend has.

    Why there is none, if so, is said by ``python -m gpuarray.doctor``.

    >>> gpuarray.count_devices("null", 0)
    1
    """
    prepare()
    count = ffi.new("unsigned int *")
    name = encoded(kind, "count_devices")
    status = lib.gpu_get_device_count(name, platform, count)
    check(status, "count_devices")
    return int(count[0])


def device_names(kind: str) -> tuple[list[str], str]:
    """The names of a backend's contexts, and why there is none if so."""
    prepare()
    count = ffi.new("unsigned int *")
    found: list[str] = []
    try:
        check(lib.gpu_get_platform_count(kind.encode(), count))
        for number in range(count[0]):
            check(lib.gpu_get_device_count(kind.encode(), number, count))
            found += [
                f"opencl{number}:{i}" if kind == "opencl" else f"{kind}{i}"
                for i in range(count[0])
            ]
    except GpuArrayError as error:
        return found, str(error)
    return found, "" if found else "no device"
