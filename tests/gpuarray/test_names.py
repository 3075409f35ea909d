"""The package's names: which there are, and that most are loaded when asked for."""

import ast
import importlib
import importlib.util
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import gpuarray
import pytest
from gpuarray._names import MODULES, MOVED, PLACE_OF, PLACES
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.errors import UnknownName
from program_of_tools import program_of_tools

ROOT = Path(__file__).parent.parent.parent


def test_dir_has_the_public_names_and_nothing_else():
    names = dir(gpuarray)
    assert names == gpuarray.__all__
    assert set(names) >= {*FUNCTIONS, *PLACE_OF, *MODULES, "pi", "float32", "newaxis"}
    assert not {"np", "numpy", "math", "Any", "sys", "dispatch", "pickling"} & set(
        names
    )
    assert not [name for name in names if name.startswith("_") and name[1] != "_"]


def test_every_public_name_is_there():
    for name in gpuarray.__all__:
        getattr(gpuarray, name)
    scope = {}
    exec("from gpuarray import *", scope)
    assert set(scope) - {"__builtins__"} == set(gpuarray.__all__)


def test_each_name_has_one_place():
    listed = [name for names in PLACES.values() for name in names]
    assert len(listed) == len(set(listed))


SHARED_CLASS_NAMES = {
    "Cast": "ops/elemwise/elemwise.py ops/sparse/elementwise.py",
    "Checkpoint": "_checkpoints/state.py ops/scan/segments.py",
    "Dot": "ops/linalg/linalg.py ops/sparse/dots.py",
    "RandomStreams": "random.py tensor/shared_randomstreams.py",
    "ReductionKernel": "_custom_kernels/reduction_kernel.py reduction.py",
    "Scalar": "cops/params.py scalars/table.py",
}
"""Names of two public classes: the compiler's and Theano's, CuPy's and 0.7's, Theano's
and the scalar table's, of arrays and of sparse matrices, of programs and of loops."""


def test_a_class_name_stands_once():
    places = {}
    roots = ROOT / "compiler", ROOT / "libgpuarray-py/gpuarray"
    for path in (path for root in roots for path in root.rglob("*.py")):
        root = next(root for root in roots if root in path.parents)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                relative = path.relative_to(root).as_posix()
                places.setdefault(node.name, []).append(relative)
    twice = {name: " ".join(sorted(p)) for name, p in places.items() if len(p) > 1}
    assert twice == SHARED_CLASS_NAMES


def test_an_unknown_name_is_an_attribute_error():
    told = "module 'gpuarray' has no attribute 'expp'; did you mean 'exp'?"
    with pytest.raises(AttributeError, match=re.escape(told)) as caught:
        gpuarray.expp  # noqa: B018
    assert caught.value.name == "expp"
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("mean") == 1, "Python suggests the name again"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (UnknownName, told)
    assert not hasattr(gpuarray, "np")


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [
        (gpuarray.linalg, "invv", "inv"),
        (gpuarray.fft, "rffft", "rfft"),
        (gpuarray.random, "default_rnd", "default_rng"),
        (gpuarray, "zzzz", None),
    ],
)
def test_modules_suggest_names(module, name, near):
    told = "" if near is None else f"; did you mean {near!r}?"
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    assert str(caught.value) == (
        f"module {module.__name__!r} has no attribute {name!r}{told}"
    )
    assert getattr(module, name, 3) == 3


def test_python_suggests_the_attributes_of_an_array():
    a = gpuarray.zeros(3, context="null")
    with pytest.raises(AttributeError) as caught:
        a.shpe  # noqa: B018
    assert caught.value.name == "shpe"
    assert caught.value.obj is a
    assert "shape" in dir(a)
    assert len(dir(a)) < 750, "more names than Python looks through"


def test_modules_are_loaded_when_they_are_asked_for():
    program = """
import sys, gpuarray
before = set(sys.modules)
assert not {f"gpuarray.{m}" for m in ("fft", "linalg", "random", "sets")} & before
assert gpuarray.context.__name__ == "context" and callable(gpuarray.array)
gpuarray.sets
assert "gpuarray.sets" in sys.modules and callable(gpuarray.fft.fft)
import gpuarray.fusing, gpuarray.summation, gpuarray.profiling
for name in gpuarray._names.PLACE_OF:
    assert not type(getattr(gpuarray, name)).__name__ == "module", name
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_public_name_is_no_module_that_is_loaded_later():
    """Else the module would stand for it, whoever loads it first."""
    program = """
import sys, gpuarray
late = [m for m in gpuarray._names.PLACES if f"gpuarray.{m}" not in sys.modules]
late += [m for m in gpuarray._names.MOVED if f"gpuarray.{m}" not in sys.modules]
assert not set(late) & set(gpuarray._names.PLACE_OF), late
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("module", MOVED)
def test_a_module_that_moved_is_found_where_it_was(module):
    found = importlib.import_module(f"gpuarray.{module}")
    places = [importlib.import_module(f"gpuarray.{place}") for place in MOVED[module]]
    if len(places) == 1:
        assert found is places[0]
        assert found.__spec__.name == found.__name__ == f"gpuarray.{MOVED[module][0]}"
    for place in places:
        for name in PLACES.get(place.__name__.removeprefix("gpuarray."), ()):
            assert getattr(found, name) is getattr(gpuarray, name)
    assert not hasattr(found, "no_such_name")
    if module not in PLACE_OF:
        assert getattr(gpuarray, module) is found


@pytest.mark.parametrize(
    "path",
    [
        *("base Flags", "base BaseArray", "array Array", "context Device"),
        *("elementwise _by_name", "kernels ElementwiseKernel", "pickling restore"),
        *("random _restore", "raw _restore", "reducing ReductionKernel"),
        *("reduction sum", "sets UniqueAll", "summation einsum"),
        *("decompositions EighResult", "joining split", "creation zeros", "grids tril"),
    ],
)
def test_pickles_of_before_the_packages_are_read(path):
    module, name = path.split()
    found = pickle.loads(f"cgpuarray.{module}\n{name}\n.".encode())
    assert found.__name__ == name


def test_the_list_for_type_checkers_is_current():
    writer = program_of_tools("write_stub")
    said = "write it anew: python tools/write_stub.py --refresh"
    assert writer.STUB.read_text() == writer.stub(), said
