"""Saved functions of every family, run by programs in C, Ruby, R and Python.

`families` has the functions and what NumPy says of them, `family_files` writes both to
a folder, and one small program in each language runs all calls of the folder, on
devices that the functions were not saved for, too, and compares. No function was called
before it was saved. What the first program compiled the others find on disk.
"""

import sys
from pathlib import Path

import pytest
from families import all_families
from family_files import write_families
from gpuarray._native import prepare
from gpuarray.compiler import config
from installation import CC, STRICT, flags, interpreter, run

PROGRAMS = Path(__file__).parent / "clients"


@pytest.fixture(scope="module")
def names(request):
    """The devices tested, of which the first is the one that functions are saved on."""
    found = request.config.gpuarray_contexts
    if not found:
        pytest.skip("no device runs kernels")
    prepare()  # GPUARRAY_WHEEL_PATH, for runtimes from the package index
    return found


@pytest.fixture(scope="module")
def written(names, tmp_path_factory):
    """A folder of functions and their calls, and how many results there are."""
    folder = tmp_path_factory.mktemp("families")
    with config.use(floatX="float32", device=names[0]):
        return folder, write_families(all_families(), folder)


def right(names, written, *command, **places):
    """Whether all results of a program were right, on all devices."""
    folder, results = written
    out = run(*command, folder, *names, **places)
    return int(out.split()[-1]) == results * len(names)


def test_from_c(installed, names, written, tmp_path):
    program, source = tmp_path / "families", PROGRAMS / "families.c"
    run(CC, *STRICT, source, *flags(installed), "-lm", "-o", program)
    places = {"LD_LIBRARY_PATH": str(installed.libraries)}
    assert right(names, written, program, **places)


def test_from_ruby(installed, names, written):
    places = {"LD_LIBRARY_PATH": str(installed.libraries)}
    program = interpreter("ruby"), PROGRAMS / "families.rb"
    assert right(names, written, *program, **places)


def test_from_r(r_places, names, written):
    program = interpreter("Rscript"), PROGRAMS / "families.R"
    assert right(names, written, *program, **r_places)


def test_without_the_compiler(names, written):
    program = sys.executable, PROGRAMS / "families.py"
    assert right(names, written, *program)
