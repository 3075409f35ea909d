"""Folders of compiled code: one that others can change is told of, once, and unused."""

import os
import warnings
from pathlib import Path

import gpuarray
import pytest
from gpuarray import config, doctor
from gpuarray._core import folders
from gpuarray._core.folders import private_folder, read_private


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A cache folder below one that everybody can write to; no context is open."""
    gpuarray.context("null").close()
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o777)
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", str(above / "cache"))
    folders._warn.cache_clear()
    return above


def test_opening_a_context_warns_once(shared):
    with pytest.warns(RuntimeWarning) as told:
        gpuarray.context("null").close()
    assert f"others may write to {shared} (mode 0777)" in str(told[0].message)
    assert f"run chmod go-w {shared}, or choose another" in str(told[0].message)
    assert not (shared / "cache").exists()
    gpuarray.context("null").close()  # a second warning would be an error


def test_the_folder_that_a_context_was_given_is_told_of(shared, monkeypatch):
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", "")
    gpuarray.context("null").close()
    with pytest.warns(RuntimeWarning, match=str(shared)):
        gpuarray.init("null", kernel_cache_path=str(shared)).close()


def test_the_doctor_names_the_folder(shared, monkeypatch):
    said = next(line for line in doctor.versions() if line.startswith("kernel cache"))
    assert f"not used: others may write to {shared}" in said
    shared.chmod(0o755)
    assert f"kernel cache: {shared / 'cache'}" in doctor.versions()


def test_a_folder_that_cannot_be_had_is_not_told_of(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "none"):
        assert folders.why_refused(str(path)) == ""
        with private_folder(str(path)) as opened:
            assert opened is None


def test_the_folder_is_closed_after_its_use(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    with private_folder(str(tmp_path / "a/b"), make=True) as opened:
        os.close(os.open("new", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=opened))
    assert (tmp_path / "a/b/new").is_file()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def make_file(path):
    path.write_bytes(b"held")


def make_open(path):
    path.write_bytes(b"held")
    path.chmod(0o622)


def make_link(path):
    make_file(path.with_name("aim"))
    path.symlink_to("aim")


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (make_file, b"held"),
        (make_open, None),
        (make_link, None),
        (os.mkfifo, None),
        (os.mkdir, None),
        (lambda path: None, None),
    ],
)
def test_only_files_of_the_user_alone_are_read(tmp_path, make, wanted):
    make(tmp_path / "file")
    with private_folder(str(tmp_path)) as opened:
        assert read_private(opened, "file") == wanted


def test_another_users_folder_is_refused(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(tmp_path, 65534, 65534)
    expected = f"{tmp_path} belongs to user 65534, and this process runs as user 0"
    assert expected in folders.why_refused(str(tmp_path / "cache"), make=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with private_folder(str(tmp_path), make=True) as opened:
            assert opened is None


@pytest.mark.parametrize(
    ("variable", "given", "expected"),
    [
        ("GPUARRAY_HOST_SIZE", "1GB", "expected a number of bytes"),
        ("GPUARRAY_HOST_SIZE", "-1", "expected a number of bytes"),
        ("GPUARRAY_WHEEL_PATH", "/no/such/folder", "expected site-packages"),
        ("GPUARRAY_CACHE_DIR", __file__, "expected a folder"),
    ],
)
def test_a_variable_that_cannot_be_used_is_told_once(
    monkeypatch, variable, given, expected
):
    monkeypatch.setenv(variable, given)
    folders._tell.cache_clear()
    with pytest.warns(RuntimeWarning, match=expected) as told:
        gpuarray.context("null").close()
        gpuarray.context("null").close()
    (text,) = (str(one.message) for one in told if "expected" in str(one.message))
    assert text.startswith(f"{variable}={given!r}")


def test_variables_that_can_be_used_are_taken_without_a_word(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUARRAY_HOST_SIZE", "1073741824")
    monkeypatch.setenv("GPUARRAY_WHEEL_PATH", f"/no/such/folder:{tmp_path}")
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", str(tmp_path / "made" / "later"))
    assert list(config.unusable()) == []
