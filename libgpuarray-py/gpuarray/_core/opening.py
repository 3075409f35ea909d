"""Opening of contexts, and the default context."""

from __future__ import annotations

import re
import sys
from typing import Any

from gpuarray._core import registry
from gpuarray._core.adoption import adopt
from gpuarray._core.context import Context
from gpuarray._core.devices import KINDS, Device, device_names
from gpuarray._core.folders import warn_if_refused
from gpuarray._native import check, encoded, ffi, lib, prepare, text
from gpuarray.config import settings
from gpuarray.errors import (
    BadArgument,
    BadType,
    BadValue,
    DeviceNotFound,
    GpuArrayError,
    LibraryMissing,
)


def context(name: str | Context | Device | Any = None) -> Context:
    """Return the context of a device, which is opened at the first call.

    ``name`` is ``"cuda0"``, ``"cuda"`` (the first), ``"opencl0:1"`` (platform and
    device), ``"opencl"`` or ``"null"`` (host memory; runs no kernel); None: the default
    context. A context is returned itself. A ``pyopencl.CommandQueue`` gives a context
    that works on that queue, in order with PyOpenCL's own work there; one in the
    cl_context of an open context gives that context. A ``pyopencl.Context`` gives a
    context that shares its memory and has a queue of its own.

    >>> gpuarray.context("null")
    <context 'null': null (host memory, runs no kernel)>
    >>> gpuarray.context("null") is gpuarray.context("null")
    True
    >>> gpuarray.context("nowhere")
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadArgument: "nowhere" is not a device name; expected ...
    """
    if isinstance(name, Context):
        return name
    if name is None:
        return get_default_context()
    if isinstance(name, Device):
        name = name.context
    if isinstance(name, str):
        return _open(name)
    if type(name).__module__.partition(".")[0] == "pyopencl":
        return adopt(name)
    raise BadType(
        f"context: got {type(name).__name__}, expected a name such as 'cuda0', or a "
        "context or queue of PyOpenCL"
    )


def _open(name: str) -> Context:
    with registry.lock:
        opened_context = registry.opened.get(name)
        if opened_context is not None:
            return opened_context
        prepare()
        warn_if_refused()
        result = ffi.new("gpucontext **")
        status = lib.gpucontext_open(result, encoded(name, "context"))
        if status:
            _fail_to_open(status)
        canonical = text(lib.gpucontext_name(result[0]))
        opened_context = registry.opened.get(canonical)
        if opened_context is None:
            opened_context = registry.opened[canonical] = Context(result[0])
        else:
            lib.gpucontext_deref(result[0])
        registry.opened[name] = opened_context
        return opened_context


def _fail_to_open(status: int) -> None:
    """Raise the library's error, with the names of the machine's devices."""
    try:
        check(status)
    except (BadArgument, DeviceNotFound, LibraryMissing) as error:
        names = [name for kind in KINDS for name in device_names(kind)[0]]
        if not names:
            raise
        message = str(error).partition(". On a machine without")[0]
        raise type(error)(
            f"{message}; the devices of this machine are {', '.join(names)}; "
            "python -m gpuarray.doctor says why others are not"
        ) from None


def init(
    dev: str,
    sched: str = "default",
    single_stream: bool = False,
    kernel_cache_path: str | None = None,
    max_cache_size: int = sys.maxsize,
    initial_cache_size: int = 0,
) -> Context:
    """Return a device's context: libgpuarray's name for ``context``, with options.

    ``sched`` is ``"default"``, ``"single"`` or ``"multi"``, a hint. ``single_stream``
    forbids other queues. ``kernel_cache_path`` is the folder of compiled kernels.
    The memory pool begins with ``initial_cache_size`` bytes and never holds more than
    ``max_cache_size``; with 0 it keeps nothing. Raises BadValue for options of a device
    that is open already.

    >>> gpuarray.init("null")
    <context 'null': null (host memory, runs no kernel)>
    """
    if sched not in _SCHEDULES:
        raise BadType(f"init: sched is {sched!r}, expected one of {list(_SCHEDULES)}")
    options = (single_stream, kernel_cache_path, max_cache_size, initial_cache_size)
    if options == (False, None, sys.maxsize, 0):
        return context(dev)
    if not isinstance(dev, str) or not re.fullmatch(_NUMBERED, dev):
        raise BadValue(f"init: got {dev!r}, expected a name such as cuda0 or opencl0:0")
    with registry.lock:
        if dev in registry.opened:
            raise BadValue(f"init: {dev} is open already; close it to open it anew")
        created = registry.opened[dev] = _open_with(dev, _SCHEDULES[sched], *options)
        return created


_SCHEDULES = {
    "default": lib.GA_CTX_SCHED_AUTO,
    "single": lib.GA_CTX_SCHED_SINGLE,
    "multi": lib.GA_CTX_SCHED_MULTI,
}
_NUMBERED = r"cuda\d+|opencl\d+:\d+|null"


def _open_with(
    dev: str, schedule: int, single: bool, folder: str | None, most: int, first: int
) -> Context:
    """Return a context with these options."""
    prepare()
    warn_if_refused(folder)
    pair, opened = ffi.new("gpucontext_props **"), ffi.new("gpucontext **")
    check(lib.gpucontext_props_new(pair), "init")
    props = pair[0]
    numbers = [int(number) for number in re.findall(r"\d+", dev)]
    try:
        if dev.startswith("cuda"):
            check(lib.gpucontext_props_cuda_dev(props, *numbers), "init")
        elif dev.startswith("opencl"):
            check(lib.gpucontext_props_opencl_dev(props, *numbers), "init")
        check(lib.gpucontext_props_sched(props, schedule), "init")
        if single:
            check(lib.gpucontext_props_set_single_stream(props), "init")
        if folder is not None:
            place = encoded(folder, "init")
            check(lib.gpucontext_props_kernel_cache(props, place), "init")
        limit = 2**64 - 1 if most == sys.maxsize else most  # SIZE_MAX: none
        check(lib.gpucontext_props_alloc_cache(props, first, limit), "init")
    except GpuArrayError:
        lib.gpucontext_props_del(props)
        raise
    kind = dev.rstrip("0123456789:")
    check(lib.gpucontext_init(opened, encoded(kind, "init"), props), "init")
    return Context(opened[0])


def get_default_context() -> Context:
    """Return the default context.

    It is that of the innermost ``with context:`` or ``with context.as_default():``,
    else of ``set_default_context``, else of GPUARRAY_DEVICE, else of the best device.

    >>> with gpuarray.context("null"):
    ...     gpuarray.get_default_context()
    <context 'null': null (host memory, runs no kernel)>
    """
    default = current_context() or registry.process_default.get("context")
    return default if default is not None else _open(settings().device)


def current_context() -> Context | None:
    """Return the context of the innermost ``with context:`` of this thread, or None."""
    inner = registry.current.get()
    return inner[-1] if inner else None


def set_default_context(chosen: Context | str | None) -> None:
    """Set the default context of the process; None: back to the best device.

    >>> before = gpuarray.get_default_context()
    >>> gpuarray.set_default_context("null")
    >>> gpuarray.zeros(2).context.name
    'null'
    >>> gpuarray.set_default_context(before)
    """
    if chosen is None:
        registry.process_default.pop("context", None)
    else:
        registry.process_default["context"] = context(chosen)


def devices() -> list[Device]:
    """Return the devices of this machine; never fails.

    It opens each, as ``gpuarray.context`` does. ``python -m gpuarray.doctor`` says why
    a device was not found.

    >>> len(gpuarray.devices()) == len(gpuarray.devices())
    True
    """
    return [_describe(name) for kind in KINDS for name in device_names(kind)[0]]


def _describe(name: str) -> Device:
    kind = name.rstrip("0123456789:")
    try:
        c = context(name)
        return Device(name, c.device_name, kind, c.total_memory, c.is_cpu)
    except GpuArrayError as error:
        return Device(name, "", kind, 0, False, str(error))
