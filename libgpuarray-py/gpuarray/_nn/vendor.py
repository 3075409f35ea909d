"""The vendor's library of layers: cuDNN, which computes convolutions on CUDA."""

from __future__ import annotations

from gpuarray._core.context import Context
from gpuarray._native import check, ffi, lib
from gpuarray.config import variables
from gpuarray.errors import GpuArrayError


def dnn_version(context: Context | None = None) -> tuple[int, str]:
    """Return cuDNN's version, 92801 for 9.28.1; or 0, and why it computes nothing here.

    Without a context, say whether the library is found. It is opened.
    """
    if context is not None and context.kind != "cuda":
        return 0, f"{context.name} is no CUDA device, and cuDNN is for those alone"
    if variables().get("GPUARRAY_DNN") == "own":
        return 0, "GPUARRAY_DNN=own: own kernels compute, and no cuDNN is opened"
    try:
        return opened_version(), ""
    except GpuArrayError as error:
        return 0, str(error)


def opened_version() -> int:
    """Return cuDNN's version. Raises an error that says why it is not opened."""
    version = ffi.new("size_t *")
    check(lib.gpuarray_dnn_version(b"cuda", version))
    return int(version[0])


def why_no_dnn(context: Context) -> str:
    """Return why cuDNN is missed on a context; empty where it is not."""
    if context.kind != "cuda" or variables().get("GPUARRAY_DNN") == "own":
        return ""
    found, reason = dnn_version(context)
    return "" if found else reason
