"""Oclgrind, the simulator that finds what kernels do out of bounds."""

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

OCLGRIND = "/usr/lib/oclgrind/liboclgrind-rt.so"
NAMES = ("oclgrind", "oclgrind-gpu")


def simulated_gpu(folder):
    """The simulator under the library that says it is a GPU."""
    library = folder / "simulated_gpu.so"
    simulator = folder / "libOpenCL.so"  # its own name for itself
    simulator.symlink_to(OCLGRIND)
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library]
    command += [Path(__file__).parent / "c" / "simulated_gpu.c", "-Wl,--no-as-needed"]
    command += [simulator, "-Wl,-rpath,$ORIGIN", "-ldl"]
    subprocess.run(command, check=True)
    return str(library)


def simulate(name, folder):
    """Let OpenCL be the simulator, of a processor or of a GPU, in this environment."""
    os.environ["GPUARRAY_OPENCL"] = OCLGRIND
    if name == "oclgrind-gpu":
        os.environ["GPUARRAY_OPENCL"] = simulated_gpu(folder)
        # More makes integers of 128 bits, which it cannot run.
        os.environ["OCLGRIND_BUILD_OPTIONS"] = "-O1"


def log_to(log):
    """Let the simulator write what it finds to a file, races too."""
    os.environ["OCLGRIND_LOG"] = str(log)
    os.environ["OCLGRIND_DATA_RACES"] = "1"


def is_simulated():
    """Whether kernels run under the simulator, which interprets each operation.

    Its groups run in one order, and it finds races: no result there differs from call
    to call.
    """
    return "OCLGRIND_LOG" in os.environ


def is_simulated_gpu():
    """Whether the simulator says that it is a GPU."""
    return is_simulated() and "OCLGRIND_BUILD_OPTIONS" in os.environ


@contextmanager
def context_of(name):
    """The name of a context that may be simulated; RuntimeError for what was found."""
    if name not in NAMES:
        yield name
        return
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        os.environ["GPUARRAY_CACHE_DIR"] = folder
        simulate(name, Path(folder))
        log_to(log)
        yield "opencl0:0"
        said = log.read_text() if log.exists() else ""
    if said:
        raise RuntimeError(f"Oclgrind: {said[:4000]}")
