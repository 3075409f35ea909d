"""Damages saved functions of every family and runs them on a device, under ASan.

    python tests/damage.py PROGRAM COUNT [FIRST [DEVICE]]

``PROGRAM`` is ``test_damaged_files`` of the C tests built with
``-DGPUARRAY_SANITIZE=ON``; it tells what is damaged, and how. The functions are called
before they are saved, so that files have what calls recorded. The suite tries some
hundred files of functions made in C.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from families import all_families
from family_files import write_families
from gpuarray._native import prepare
from gpuarray.compiler import config

SIZE = 5


def main(program: str, count: str, first: str = "0", device: str = "opencl") -> int:
    families = {
        name: replace(family, sizes=(SIZE,)) for name, family in all_families().items()
    }
    with tempfile.TemporaryDirectory() as folder:
        with config.use(floatX="float32", device=device):
            write_families(families, Path(folder), is_called=True)
        prepare()
        command = [program, count, first, folder]
        defaults = {
            "ASAN_OPTIONS": "detect_leaks=0",  # of the device's runtime
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        }
        environment = {**defaults, **os.environ, "GPUARRAY_TEST_DEVICE": device}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
