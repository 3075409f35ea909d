"""From the names of contexts in a program to open contexts."""

from __future__ import annotations

from collections.abc import Iterable

from gpuarray.compiler.config import config, context_map
from gpuarray.compiler.errors import NotOfferedError
from gpuarray.context import Context, context
from gpuarray.doctor import devices
from gpuarray.errors import GpuArrayError


def open_context(name: str | None = None) -> Context:
    """The open context of a name; None is the configured device, else the default one.

    A name that the setting ``contexts`` maps to a device stands for it. With the
    setting ``launch_blocking`` each launch on it waits from now on.
    """
    chosen = context_map(config.contexts).get(name or "", name or config.device)
    found = processor() if chosen == "cpu" else context(chosen or None)
    if config.launch_blocking:
        found.launch_blocking = True
    return found


def context_or_default(name: str) -> Context:
    """The context that something came from, the default one where that is not there.

    Raises DeviceNotFound where there is neither.
    """
    try:
        return context(name)
    except GpuArrayError:
        return open_context()


def processor() -> Context:
    """The first context that computes on the host's processor.

    Raises NotImplementedError if no OpenCL runtime offers one.
    """
    names, problem = devices("opencl")
    for name in names:
        found = context(name)
        if found.is_cpu:
            return found
    raise NotOfferedError(
        f"device=cpu: no OpenCL runtime for the processor was found ({problem}); "
        "install one with  pip install intel-opencl-rt intel-cmplr-lib-rt"
    )


def joint_context(names: Iterable[str | None]) -> Context:
    """The one context that all the names mean, the default one if there are none.

    Raises NotImplementedError if they mean several.
    """
    contexts = {open_context(name) for name in names} or {open_context()}
    if len(contexts) > 1:
        listed = ", ".join(sorted(each.name for each in contexts))
        raise NotOfferedError(
            f"function: variables live on {listed}; a function runs on one context: "
            "transfer its inputs to one of them first"
        )
    return contexts.pop()
