"""Contexts on those of other libraries: PyOpenCL's, and by address."""

from __future__ import annotations

from typing import Any

from gpuarray._core import registry
from gpuarray._core.context import Context
from gpuarray._core.folders import warn_if_refused
from gpuarray._native import check, extension, ffi, lib, library_text, prepare
from gpuarray.errors import BadType, BadValue, GpuArrayError


def adopt(given: Any) -> Context:
    """The context in a cl_context that PyOpenCL made, itself or by its queue.

    The first queue of a cl_context becomes that of our context. A cl_context that is
    ours gives our context.
    """
    kind = type(given).__name__
    if kind not in ("Context", "CommandQueue"):
        raise BadType(
            f"context: got PyOpenCL's {kind}, expected its Context or CommandQueue"
        )
    native = given if kind == "Context" else given.context
    key = native.int_ptr
    with registry.lock:
        found = registry.adopted.get(key) or _owner(key)
        if found is not None:
            return found
        made = _made_on("cl_make_ctx", key)
        if native is not given:
            _use_queue(made, given.int_ptr)
        registry.adopted[key] = made
        return made


def _made_on(function: str, key: int) -> Context:
    """A context on the vendor's own, whose address is ``key``."""
    prepare()
    warn_if_refused()
    make = extension(function, "gpucontext *(*)(void *, gpucontext_props *)")
    pointer = make(ffi.cast("void *", key), ffi.NULL)
    if not pointer:
        raise BadValue(f"context: {library_text()}")
    return Context(pointer)


def _wrap(function: str, address: int) -> Context:
    with registry.lock:
        found = registry.adopted.get(address)
        if found is None:
            found = registry.adopted[address] = _made_on(function, address)
        return found


def cl_wrap_ctx(ptr: int) -> Context:
    """The context in a ``cl_context``, whose address is given; it is retained.

    ``gpuarray.context`` does this for a context or a queue of PyOpenCL.
    """
    return _wrap("cl_make_ctx", ptr)


def cuda_wrap_ctx(ptr: int, own: bool = False) -> Context:
    """The context in a ``CUcontext``, whose address is given and which outlives it.

    BadValue where ``own`` asks to destroy it in the end: that stays the caller's.
    """
    if own:
        raise BadValue(
            "cuda_wrap_ctx: own is true, but a CUcontext stays its maker's, who "
            "destroys it after the context was closed; expected own=False"
        )
    return _wrap("cuda_make_ctx", ptr)


def _owner(key: int) -> Context | None:
    """The context that was opened by its name and has this cl_context, if any."""
    from pyopencl import CommandQueue

    for opened in registry.opened.values():
        if opened.kind == "opencl":
            queue = CommandQueue.from_int_ptr(opened.stream, retain=True)
            if queue.context.int_ptr == key:
                return opened
    return None


def _use_queue(made: Context, queue: int) -> None:
    """Make a queue of PyOpenCL the context's; else give the context up."""
    use = extension("cl_use_stream", "int (*)(gpucontext *, void *)")
    try:
        check(use(made.pointer, ffi.cast("void *", queue)), "context")
    except GpuArrayError:
        lib.gpucontext_deref(made.pointer)
        raise
