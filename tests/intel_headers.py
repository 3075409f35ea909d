"""Intel's OpenCL compiler without the precompiled headers that no test reads.

Before each program it hashes 16 of them, 53 MB, one for each version of OpenCL C and
kind of device: a third of the time that a kernel takes which is not optimised. The
kernels of the tests read one. The others are empty in this process: a program that
needed one would not compile.
"""

import contextlib
import ctypes
import itertools
from importlib import metadata

VERSIONS = [*itertools.product((12, 20, 30, 31), ("SPIR", "SPIR64"), ("", "_FP64"))]
USED = (12, "SPIR64", "_FP64")


def library():
    """The compiler of the wheel, or None."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        for path in metadata.files("intel-opencl-rt") or ():
            if path.name == "libcommon_clang.so":
                return path.locate()
    return None


def hide_unused_headers():
    """Empty them, if the compiler is there and has them by these names."""
    path = library()
    if path is None:
        return
    with contextlib.suppress(OSError, ValueError):
        compiler = ctypes.CDLL(str(path))
        for version in VERSIONS:
            if version != USED:
                name = "PCM_OPENCL_C_{}_{}{}_PCM_size".format(*version)
                ctypes.c_int.in_dll(compiler, name).value = 0
