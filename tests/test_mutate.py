"""The command line of mutation testing, as far as it is decided before tests run."""

import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from tools.mutate import __main__ as command  # noqa: E402


def test_a_copy_of_the_package_is_refused(monkeypatch, tmp_path):
    copy = ModuleSpec("gpuarray", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(command, "find_spec", lambda name: copy)
    with pytest.raises(SystemExit, match=r"import gpuarray from .*pip install -e"):
        command.main(["map", "tests/test_mutate.py"])
    own = ROOT / "libgpuarray-py/gpuarray/__init__.py"
    copy.origin = str(own)
    command.check_package()


def test_a_run_collects_the_files_of_the_map(tmp_path):
    path = tmp_path / "map.json"
    with pytest.raises(SystemExit, match=r"map\.json does not exist; `map` the tests"):
        command.mapped_files(path)
    tests = {"tests/b.py::test[x]": [], "tests/a.py::test": [], "tests/b.py::other": []}
    path.write_text(json.dumps({"names": [], "tests": tests}))
    assert command.mapped_files(path) == ["tests/a.py", "tests/b.py"]
