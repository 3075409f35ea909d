"""The devices of a machine, by their names."""

from __future__ import annotations

from typing import NamedTuple

from gpuarray._core.arguments import as_integer
from gpuarray._native import check, encoded, ffi, lib, prepare
from gpuarray.errors import BadValue, GpuArrayError

KINDS = "cuda", "opencl"


class Device(NamedTuple):
    """A device of this machine, or the reason why it cannot be used.

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
    """Return the number of platforms of a backend, ``"cuda"`` or ``"opencl"``.

    >>> gpuarray.count_platforms("null")
    1
    """
    prepare()
    count, name = ffi.new("unsigned int *"), encoded(kind, "count_platforms")
    check(lib.gpu_get_platform_count(name, count), "count_platforms")
    return int(count[0])


def count_devices(kind: str, platform: int) -> int:
    """Return the number of devices of a backend's platform.

    If there is none, ``python -m gpuarray.doctor`` says why.

    >>> gpuarray.count_devices("null", 0)
    1
    """
    prepare()
    count = ffi.new("unsigned int *")
    name = encoded(kind, "count_devices")
    number = as_integer(platform, "platform", "count_devices")
    if number not in range(2**32):
        raise BadValue(f"count_devices: there is no platform {number}")
    status = lib.gpu_get_device_count(name, number, count)
    check(status, "count_devices")
    return int(count[0])


def device_names(kind: str) -> tuple[list[str], str]:
    """Return the names of a backend's contexts, and the reason if there is none."""
    prepare()
    count = ffi.new("unsigned int *")
    names: list[str] = []
    try:
        check(lib.gpu_get_platform_count(kind.encode(), count))
        for number in range(count[0]):
            check(lib.gpu_get_device_count(kind.encode(), number, count))
            names += [
                f"opencl{number}:{i}" if kind == "opencl" else f"{kind}{i}"
                for i in range(count[0])
            ]
    except GpuArrayError as error:
        return names, str(error)
    return names, "" if names else "no device"
