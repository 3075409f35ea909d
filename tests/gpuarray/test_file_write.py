"""Files that are written whole."""

import os
import stat
import threading

import pytest
from gpuarray.file_write import write_file


def test_a_file_is_written_anew_or_replaced(tmp_path):
    file = tmp_path / "f"
    for content in (b"one", b"", "zwei \u00fc"):
        write_file(file, content)
    assert file.read_text(encoding="utf-8") == "zwei \u00fc"
    assert [each.name for each in tmp_path.iterdir()] == ["f"]
    write_file(os.fsencode(file), b"bytes")
    assert file.read_bytes() == b"bytes"


def test_writers_at_once_leave_a_whole_file(tmp_path):
    file = tmp_path / "f"
    contents = [bytes([i]) * 100_000 for i in range(4)]
    write_file(file, contents[0])
    failures = []

    def write(content):
        try:
            for _ in range(20):
                write_file(file, content)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(c,)) for c in contents]
    for thread in threads:
        thread.start()
    seen = [file.read_bytes() for _ in range(50)]
    for thread in threads:
        thread.join()
    assert not failures
    assert all(each in contents for each in [*seen, file.read_bytes()])
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_a_name_that_is_taken_is_never_written_to(tmp_path, monkeypatch):
    """Whoever guesses a temporary name, and puts a link there, gains nothing."""
    monkeypatch.setattr("secrets.token_hex", lambda n: "known")
    (tmp_path / "theirs").write_bytes(b"theirs")
    (tmp_path / ".gpuarray-known.tmp").symlink_to(tmp_path / "theirs")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "f", b"ours")
    assert (tmp_path / "theirs").read_bytes() == b"theirs"
    assert not (tmp_path / "f").exists()


def test_links_and_permissions_stay(tmp_path):
    file, link = tmp_path / "f", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_file(link, b"new")
    assert link.is_symlink() and file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"through")
    reader.join()
    assert got == [b"through"] and stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, b"x")
    with pytest.raises(FileNotFoundError, match="none"):
        write_file(tmp_path / "none" / "f", b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]
