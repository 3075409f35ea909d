"""A report of the libraries and devices found: ``python -m gpuarray.doctor``.

With ``--distributed``, as each rank of a launcher, it tries the collectives instead:
``mpiexec -n 2 python -m gpuarray.doctor --distributed``. With ``--dask ADDRESS`` the
ranks are the workers of a Dask scheduler.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import version

import numpy as np

from gpuarray import distributed
from gpuarray._core.command_line import exit_with
from gpuarray._core.context import Context
from gpuarray._core.devices import device_names
from gpuarray._core.folders import why_refused
from gpuarray._core.opening import context, get_default_context
from gpuarray._distributed import trial
from gpuarray._native import lib, text
from gpuarray.config import cache_folder, settings, variables
from gpuarray.errors import GpuArrayError

ADVICE = {
    "cuda": (
        "For NVIDIA cards: the driver comes with the system, the compiler and the BLAS",
        "with  pip install nvidia-cuda-nvrtc nvidia-cublas",
    ),
    "opencl": (
        "For a machine without a card, an OpenCL runtime for its processor:",
        "  pip install intel-opencl-rt intel-cmplr-lib-rt",
        "For other cards, the vendor's OpenCL driver, listed in /etc/OpenCL/vendors.",
    ),
}


def versions() -> Iterator[str]:
    """Return a line for each version and each setting of the environment."""
    yield f"gpuarray {version('gpuarray')}, libgpuarray API {lib.GPUARRAY_API_VERSION}"
    yield f"Python {platform.python_version()}, NumPy {np.__version__}"
    yield platform.platform()
    folder = cache_folder()
    refused = why_refused(folder) if folder else ""
    yield f"kernel cache: {folder or 'off'}{refused and f', not used: {refused}'}"
    yield from (f"{name}={value}" for name, value in variables().items())


def devices(backend: str) -> tuple[list[str], str]:
    """Return the names of a backend's devices, and why there is none if so."""
    return device_names(backend)


def describe(context: Context) -> str:
    """Return a line on an open device."""
    kind = "processor" if context.is_cpu else "card"
    double = "float64" if context.has_double else "no float64"
    size = context.total_memory / 2**30
    return (
        f"{context.name}: {context.device_name} ({kind}, {context.processors} units, "
        f"{size:.1f} GiB, {double})"
    )


def report() -> Iterator[str]:
    """Return the lines of the whole report."""
    yield from versions()
    for backend, advice in ADVICE.items():
        names, problem = devices(backend)
        yield ""
        yield f"{backend}: {len(names)} device{'' if len(names) == 1 else 's'}"
        for name in names:
            try:
                yield f"  {describe(context(name))}"
            except GpuArrayError as error:
                yield f"  {name}: cannot be opened: {error}"
        searched = text(lib.gpuarray_search_report(backend.encode()))
        yield from (f"    {line}" for line in searched.splitlines())
        if problem:
            yield f"  {problem}"
        if not names:
            yield from (f"  {line}" for line in advice)
    yield ""
    yield from _default()


def _default() -> Iterator[str]:
    try:
        device = settings().device
    except GpuArrayError as error:
        yield f"default context: none: {error}"
        return
    reason = (
        f"GPUARRAY_DEVICE={device}"
        if device
        else "the first of: CUDA, a discrete OpenCL card, any OpenCL card, a processor"
    )
    try:
        yield f"default context: {get_default_context().name} ({reason})"
    except GpuArrayError as error:
        yield f"default context: none ({reason}): {error}"


def collectives_lines(device: str | None = None) -> list[tuple[str, bool]]:
    """Try the collectives as a rank; return the table's lines, each with "is right"."""
    with distributed.init(device, timeout=60) as comm:
        return list(trial.report(comm))


def try_workers(address: str, device: str | None = None) -> int:
    """Try the collectives among a Dask cluster's workers. Return 1 if one is wrong."""
    itself = import_module("gpuarray.doctor")  # this may run as __main__
    try:
        from distributed import Client

        with Client(address) as client:
            every = distributed.run_on_dask(client, itself.collectives_lines, device)
    except (GpuArrayError, ImportError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    for line, _ in every[0]:
        print(line)
    return 0 if all(is_right for lines in every for _, is_right in lines) else 1


def try_collectives(device: str | None = None, by: str | None = None) -> int:
    """Try the collectives; rank 0 prints a table. Return 1 if one is wrong."""
    status = 0
    try:
        with distributed.init(device, by=by, timeout=60) as comm:
            for line, is_right in trial.report(comm):
                if comm.rank == 0:
                    print(line, flush=True)
                if not is_right:
                    status = 1
    except GpuArrayError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return status


def main(arguments: Sequence[str] = ()) -> int:
    """Print the report; return 1 if no device can be used."""
    parser = argparse.ArgumentParser(
        "python -m gpuarray.doctor",
        description="Which devices there are, and what is missing for others.",
    )
    parser.add_argument(
        "--distributed",
        action="store_true",
        help="try the collectives, as one of the ranks that a launcher has started",
    )
    parser.add_argument("--by", help="the launcher, for gpuarray.distributed.init")
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="of a Dask scheduler, whose workers are the ranks",
    )
    parser.add_argument("--context", help="the device of this rank")
    options = parser.parse_args(arguments)
    if options.dask:
        return try_workers(options.dask, options.context)
    if options.distributed:
        return try_collectives(options.context, options.by)
    for line in report():
        print(line)
    try:
        get_default_context()
    except GpuArrayError:
        return 1
    return 0


if __name__ == "__main__":
    exit_with(lambda: main(sys.argv[1:]))
