"""From the names of contexts in a program to open contexts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from gpuarray._core.context import Context
from gpuarray._core.opening import context
from gpuarray.compiler.config import FOLLOWERS, config, context_map
from gpuarray.compiler.errors import (
    ContextNotDefined,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.flags import DEVICE
from gpuarray.compiler.living import Living
from gpuarray.doctor import devices
from gpuarray.errors import GpuArrayError

_REGISTERED: dict[str, Context] = {}
_FOUND: Living[Context, None] = Living()
"""The contexts of functions, on which launches wait where the setting says so."""
_WAITING: Living[Context, None] = Living()
"""Those on which they do for the setting, and not because the program asked for it."""


def reg_context(name: str, context: Context) -> None:
    """Let ``name`` stand for an open context in types and transfers.

    Raises ValueError for a name that is taken, or is a device's; TypeError for what is
    no context.

    >>> reg_context("helper", gpuarray.context("null"))
    >>> get_context("helper")
    <context 'null': null (host memory, runs no kernel)>
    >>> unreg_context("helper")
    """
    if not isinstance(context, Context):
        raise GraphTypeError(
            f"reg_context: given {context!r}, a {type(context).__name__}, expected a "
            "context: gpuarray.context('opencl0:0')"
        )
    if not isinstance(name, str) or DEVICE.fullmatch(name):
        raise GraphValueError(
            f"reg_context: {name!r} cannot be a context's name; take one that is no "
            "device's, such as 'dev0'"
        )
    if name in list_contexts():
        raise GraphValueError(
            f"reg_context: the name {name!r} is taken; it stands for "
            f"{get_context(name).name}"
        )
    _REGISTERED[name] = context


def unreg_context(name: str) -> None:
    """Forget a name that `reg_context` was given."""
    if _REGISTERED.pop(name, None) is None:
        raise _not_defined("unreg_context", name)


def list_contexts() -> list[str]:
    """The names that the program registered or the setting ``contexts`` has."""
    return [*_REGISTERED, *context_map(config.contexts)]


def check_name(name: str | None, asked_by: str) -> None:
    """Raise ContextNotDefined for what is neither a known name nor a device's."""
    known = name is None or name in list_contexts() or DEVICE.fullmatch(name)
    if not known:
        raise _not_defined(asked_by, name)


def _not_defined(asked_by: str, name: object) -> ContextNotDefined:
    names = ", ".join(map(repr, list_contexts())) or "none"
    return ContextNotDefined(
        f"{asked_by}: {name!r} names no context; registered are {names}. Give a "
        "device's name such as 'opencl0:0', map the name with the setting "
        "contexts=dev0->cuda0, or call reg_context(name, context)"
    )


def get_context(name: str | None = None) -> Context:
    """The open context of a name; None is the configured device, else the default one.

    A name that was registered, or that the setting ``contexts`` maps to a device,
    stands for that. While the setting ``launch_blocking`` is on, each launch on it
    waits. Raises ContextNotDefined, a ValueError, for a name that stands for nothing.

    >>> get_context("null")
    <context 'null': null (host memory, runs no kernel)>
    """
    check_name(name, "get_context")
    if name in _REGISTERED:
        found = _REGISTERED[name]
    else:
        chosen = context_map(config.contexts).get(name or "", name or config.device)
        found = processor() if chosen == "cpu" else context(chosen or None)
    if found not in _FOUND:
        _FOUND[found] = None
        follow_blocking()
    return found


def follow_blocking() -> None:
    """Let launches on the contexts of functions wait while the setting is on."""
    wait = config.launch_blocking
    for each in list(_FOUND if wait else _WAITING):
        if each.closed or each.launch_blocking == wait:
            continue
        each.launch_blocking = wait
        if wait:
            _WAITING[each] = None
    if not wait:
        _WAITING.clear()


FOLLOWERS.append(follow_blocking)


def context_or_default(name: str) -> Context:
    """The context that something came from, the default one where that is not there.

    Raises DeviceNotFound where there is neither.
    """
    try:
        return context(name)
    except GpuArrayError:
        return get_context()


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


def sync_all(contexts: Iterable[Context]) -> None:
    """Wait for each context, also where another has told of something."""
    with ExitStack() as waits:
        for context in contexts:
            waits.callback(context.sync)
