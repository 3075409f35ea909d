"""Each module of lowerings is imported with the compiler; else ops run on the host."""

import subprocess
import sys

ALL = """
import importlib, pkgutil
import gpuarray.compiler
from gpuarray.compiler import gpukernels
from gpuarray.compiler.gpukernels import LOWERINGS, STEP_FUNCTIONS

before = [*LOWERINGS, *STEP_FUNCTIONS]
prefix = f"{gpukernels.__name__}."
for _, name, _ in pkgutil.walk_packages(gpukernels.__path__, prefix):
    importlib.import_module(name)
print(*(each for each in [*LOWERINGS, *STEP_FUNCTIONS] if each not in before))
"""


def test_every_lowering_is_registered_when_the_compiler_is_imported():
    run = [sys.executable, "-c", ALL]
    found = subprocess.run(run, check=True, capture_output=True, text=True)
    assert found.stdout == "\n", "name the module in compiler/gpukernels/__init__.py"
