"""Contexts by the names that a program has for them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from gpuarray._core.context import Context
from gpuarray._core.opening import context
from gpuarray._interop.pickling import unpickles_at_default
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
"""The contexts of functions, which ``launch_blocking`` changes."""
_WAITING: Living[Context, None] = Living()
"""The contexts whose launches wait because of ``launch_blocking`` alone."""


def reg_context(name: str, context: Context) -> None:
    """Register ``name`` for an open context in types and transfers.

    Raises ValueError for a name that is taken, or is a device's; TypeError unless it is
    a context.

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
    """Remove a name that `reg_context` registered."""
    if _REGISTERED.pop(name, None) is None:
        raise _not_defined("unreg_context", name)


def list_contexts() -> list[str]:
    """Return the names that the program registered or the setting ``contexts`` has."""
    return [*_REGISTERED, *context_map(config.contexts)]


def check_name(name: str | None, asked_by: str) -> None:
    """Raise ContextNotDefined unless it is a registered name or a device's."""
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
    """The open context of a name; None: the configured device, or the default one.

    A name that was registered, or that the setting ``contexts`` maps to a device, takes
    precedence. With the setting ``launch_blocking`` each launch on it waits. Raises
    ContextNotDefined, a ValueError, for an unknown name.

    >>> get_context("null")
    <context 'null': null (host memory, runs no kernel)>
    """
    check_name(name, "get_context")
    if name in _REGISTERED:
        opened = _REGISTERED[name]
    else:
        device = context_map(config.contexts).get(name or "", name or config.device)
        opened = processor() if device == "cpu" else context(device or None)
    if opened not in _FOUND:
        _FOUND[opened] = None
        follow_blocking()
    return opened


def follow_blocking() -> None:
    """Let launches on the contexts of functions wait while the setting is on."""
    wait = config.launch_blocking
    for opened in list(_FOUND if wait else _WAITING):
        if opened.closed or opened.launch_blocking == wait:
            continue
        opened.launch_blocking = wait
        if wait:
            _WAITING[opened] = None
    if not wait:
        _WAITING.clear()


FOLLOWERS.append(follow_blocking)


def context_or_default(name: str) -> Context:
    """Return the context of a pickled function that was on one of this name.

    It is the default one on a machine without it, and in a process that has one device
    for all. Raises DeviceNotFound if there is neither.
    """
    if unpickles_at_default():
        return get_context()
    try:
        return context(name)
    except GpuArrayError:
        return get_context()


def processor() -> Context:
    """Return the first context that computes on the host's processor.

    Raises NotImplementedError if no OpenCL runtime has one.
    """
    names, problem = devices("opencl")
    for name in names:
        opened = context(name)
        if opened.is_cpu:
            return opened
    raise NotOfferedError(
        f"device=cpu: no OpenCL runtime for the processor was found ({problem}); "
        "install one with  pip install intel-opencl-rt intel-cmplr-lib-rt"
    )


def sync_all(contexts: Iterable[Context]) -> None:
    """Wait for each context, even if another has raised an error."""
    with ExitStack() as waits:
        for context in contexts:
            waits.callback(context.sync)
