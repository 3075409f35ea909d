"""The vendor's library of layers: cuDNN, which computes convolutions on CUDA."""

from __future__ import annotations

from itertools import dropwhile, takewhile

from gpuarray._core.context import Context
from gpuarray._native import lib, text
from gpuarray.config import variables


def dnn_version(context: Context | None = None) -> tuple[int, str]:
    """Return cuDNN's version, 92801 for 9.28.1; or 0, and why it computes nothing here.

    Without a context, say whether the library is found. It is opened, as the others of
    the doctor's report are.
    """
    if context is not None and context.kind != "cuda":
        return 0, f"{context.name} is no CUDA device, and cuDNN is for those alone"
    if variables().get("GPUARRAY_DNN") == "own":
        return 0, "GPUARRAY_DNN=own: own kernels compute, and no cuDNN is opened"
    report = text(lib.gpuarray_search_report(b"cuda")).splitlines()
    behind = list(dropwhile(lambda line: not line.startswith("cuDNN"), report))[1:]
    lines = [line.strip() for line in takewhile(lambda x: x.startswith(" "), behind)]
    for line in lines:
        if line.startswith("version "):
            numbers = line.split()[1].rstrip(",").split(".")
            major, minor, patch = map(int, numbers)
            return 10000 * major + 100 * minor + patch, ""
    return 0, "\n".join(lines)


def why_no_dnn(context: Context) -> str:
    """Return why cuDNN is missed on a context; empty where it is not."""
    if context.kind != "cuda" or variables().get("GPUARRAY_DNN") == "own":
        return ""
    found, reason = dnn_version(context)
    return "" if found else reason
