"""What is done after a module is loaded."""

import sys

import pytest
from gpuarray._import_hooks import after_import


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The path of a module that nobody has loaded."""
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "a_module_to_load.py"
    path.write_text("loaded = True\n")
    yield path
    sys.modules.pop(path.stem, None)


def test_a_loaded_module_is_given_at_once():
    seen = []
    after_import("sys", seen.append)
    assert seen == [sys]


def test_a_module_is_given_once_when_it_has_run(module):
    seen = []
    after_import(module.stem, lambda found: seen.append(found.loaded))
    assert seen == []
    loaded = __import__(module.stem)
    assert seen == [True]
    assert loaded.__loader__ is loaded.__spec__.loader
    assert loaded.__loader__.get_source(module.stem) == module.read_text()


def test_a_module_that_fails_fails_as_it_would(module):
    module.write_text("1 / 0\n")
    seen = []
    after_import(module.stem, seen.append)
    with pytest.raises(ZeroDivisionError):
        __import__(module.stem)
    assert seen == []


def test_a_module_that_is_not_there_is_not_found(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    after_import("no_module_of_that_name", print)
    with pytest.raises(ModuleNotFoundError):
        __import__("no_module_of_that_name")
