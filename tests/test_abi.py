"""What a release promises: the interface against its baseline, and its description."""

import copy
import json
import re
import shutil
import subprocess
from pathlib import Path

import gpuarray
import pytest
from program_of_tools import program_of_tools

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tool():
    """The module that reads the headers."""
    return program_of_tools("describe_api")


@pytest.fixture(scope="module")
def api(tool):
    return tool.describe()


@pytest.fixture(scope="module")
def baseline(tool):
    return json.loads(tool.BASELINE.read_text())


# ---- what is there ----


def test_nothing_of_the_baseline_is_broken(tool, api, baseline):
    broken, added = tool.compare(baseline, tool.baseline_of(api))
    assert not broken, "programs linked to the library would break:\n" + "\n".join(
        broken
    )
    assert not added, (
        "the baseline lacks what was added: "
        + ", ".join(added)
        + f"\nrun {tool.REFRESH}"
    )


def test_the_library_exports_the_public_functions_and_nothing_else(api):
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("binutils' nm is not installed")
    library = Path(gpuarray.__path__[0], "libgpuarray.so")
    listed = subprocess.run(
        [nm, "-D", "--defined-only", library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    symbols = [line.split()[-1] for line in listed.splitlines()]
    assert set(symbols) - {"GPUARRAY_4.0"} == {
        f"{name}@@GPUARRAY_4.0" for name in api["functions"]
    }


def test_every_function_says_what_it_does(api):
    silent = [name for name, about in api["functions"].items() if not about["text"]]
    assert not silent, "no comment stands right before: " + ", ".join(silent)


def test_every_header_says_who_owns_waits_and_fails(tool):
    missing = {
        header.name: absent
        for header in tool.read_headers()
        if (absent := [word for word in tool.PROMISES if word not in header.text])
    }
    assert not missing, "the first comment of a header lacks: " + str(missing)


def test_the_reference_is_current(tool):
    pages = {path.name: path.read_text() for path in tool.REFERENCE.iterdir()}
    expected = tool.reference()
    old = [name for name in pages | expected if pages.get(name) != expected.get(name)]
    assert not old, f"not as the headers say: {', '.join(old)}\nrun {tool.REFRESH}"


def test_the_description_has_what_c_says(api):
    function = api["functions"]["GpuArray_empty"]
    assert function["result"] == "int"
    assert function["parameters"][0] == {"name": "a", "type": "GpuArray *"}
    assert api["constants"]["GA_MAX_NDIM"] == 32
    assert api["constants"]["GA_BUFFER"] == -1
    offsets = {about["name"]: about["offset"] for about in _fields(api, "GpuArray")}
    assert offsets["data"] == 0
    assert offsets["dimensions"] == 32


def _fields(api, name):
    return api["structs"][name]["fields"]


# ---- what is noticed ----


@pytest.fixture
def changed(tool, api):
    """A description to be changed, and what the comparison then says."""
    old = tool.baseline_of(api)
    new = copy.deepcopy(old)
    return new, lambda: tool.compare(old, new)


def test_the_same_is_the_same(changed):
    _, compare = changed
    assert compare() == ([], [])


def test_a_function_that_was_removed(changed):
    new, compare = changed
    del new["functions"]["GpuArray_read"]
    assert compare() == (["function GpuArray_read was removed"], [])


def test_a_function_that_takes_something_else(changed):
    new, compare = changed
    new["functions"]["GpuArray_read"]["parameters"][1] = "unsigned int"
    ((line,), added) = compare()
    assert re.match(
        r"function GpuArray_read changed:\n    was .*size_t.*\n    is  ", line
    )
    assert not added


def test_a_constant_of_another_value(changed):
    new, compare = changed
    new["constants"]["GA_FLOAT"] += 1
    ((line,), _) = compare()
    assert "constant GA_FLOAT changed" in line


def test_a_struct_whose_fields_moved(changed):
    new, compare = changed
    _fields(new, "GpuArray")[1]["offset"] += 8
    ((line,), _) = compare()
    assert "struct GpuArray changed" in line


def test_a_struct_may_grow_only_where_it_has_its_size(changed):
    new, compare = changed
    for name in ("GpuArray", "gpureduction_spec"):
        _fields(new, name).append({"name": "x", "type": "int", "offset": 0, "size": 4})
        new["structs"][name]["size"] += 8
    broken, added = compare()
    assert len(broken) == 1
    assert "struct GpuArray changed" in broken[0]
    assert added == ["struct gpureduction_spec grew"]


def test_what_is_new_is_an_addition(changed):
    new, compare = changed
    new["functions"]["GpuArray_new"] = {"result": "int", "parameters": []}
    new["constants"]["GA_NEW"] = 1
    assert compare() == ([], ["function GpuArray_new", "constant GA_NEW"])
