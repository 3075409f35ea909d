"""Contexts that wrap those of other libraries: PyOpenCL's, or by address."""

from __future__ import annotations

from typing import Any

from gpuarray._core import registry
from gpuarray._core.context import Context
from gpuarray._core.folders import warn_if_refused
from gpuarray._native import check, extension, ffi, lib, library_text, prepare
from gpuarray.errors import BadType, BadValue, GpuArrayError


def adopt(handle: Any) -> Context:
    """Return the context that wraps PyOpenCL's cl_context, itself or by its queue.

    The first queue of a cl_context becomes that of our context. A cl_context that is
    ours gives our context.
    """
    kind = type(handle).__name__
    if kind not in ("Context", "CommandQueue"):
        raise BadType(
            f"context: got PyOpenCL's {kind}, expected its Context or CommandQueue"
        )
    native = handle if kind == "Context" else handle.context
    key = native.int_ptr
    with registry.lock:
        wrapped = registry.adopted.get(key) or _owner(key)
        if wrapped is not None:
            return wrapped
        wrapper = _made_on("cl_make_ctx", key)
        if native is not handle:
            _use_queue(wrapper, handle.int_ptr)
        registry.adopted[key] = wrapper
        return wrapper


def _made_on(function: str, key: int) -> Context:
    """Return a context that wraps the vendor's at the address ``key``."""
    prepare()
    warn_if_refused()
    make = extension(function, "gpucontext *(*)(void *, gpucontext_props *)")
    pointer = make(ffi.cast("void *", key), ffi.NULL)
    if not pointer:
        raise BadValue(f"context: {library_text()}")
    return Context(pointer)


def _wrap(function: str, address: int) -> Context:
    with registry.lock:
        wrapped = registry.adopted.get(address)
        if wrapped is None:
            wrapped = registry.adopted[address] = _made_on(function, address)
        return wrapped


def cl_wrap_ctx(ptr: int) -> Context:
    """Return a context that wraps the ``cl_context`` at an address and retains it.

    ``gpuarray.context`` does this for a context or a queue of PyOpenCL.
    """
    return _wrap("cl_make_ctx", ptr)


def cuda_wrap_ctx(ptr: int, own: bool = False) -> Context:
    """Return a context that wraps the ``CUcontext`` at an address, which outlives it.

    Raises BadValue for ``own``, to destroy it in the end: that stays the caller's.
    """
    if own:
        raise BadValue(
            "cuda_wrap_ctx: own is true, but a CUcontext stays its maker's, who "
            "destroys it after the context was closed; expected own=False"
        )
    return _wrap("cuda_make_ctx", ptr)


def _owner(key: int) -> Context | None:
    """Return the context opened by name that has this cl_context, or None."""
    from pyopencl import CommandQueue

    for opened in registry.opened.values():
        if opened.kind == "opencl":
            queue = CommandQueue.from_int_ptr(opened.stream, retain=True)
            if queue.context.int_ptr == key:
                return opened
    return None


def _use_queue(context: Context, queue: int) -> None:
    """Make a queue of PyOpenCL the context's; on failure release the context."""
    use = extension("cl_use_stream", "int (*)(gpucontext *, void *)")
    try:
        check(use(context.pointer, ffi.cast("void *", queue)), "context")
    except GpuArrayError:
        lib.gpucontext_deref(context.pointer)
        raise
