"""Files that are written whole."""

import io
import os
import stat
import threading

import gpuarray
import numpy as np
import pytest
from gpuarray._core.file_write import whole_file, write_file


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


def test_what_ends_by_an_error_leaves_the_file_as_it_was(tmp_path):
    file = tmp_path / "f"
    write_file(file, b"old")
    with pytest.raises(KeyboardInterrupt), whole_file(file) as opened:
        opened.write(b"half of it")
        raise KeyboardInterrupt
    assert file.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


SAVES = {
    "save": lambda file, a: gpuarray.save(file, a),
    "savez": lambda file, a: gpuarray.savez(file, a),
    "savez_compressed": lambda file, a: gpuarray.savez_compressed(file, a),
}


@pytest.mark.parametrize("kind", SAVES)
def test_saved_arrays_are_whole_for_who_reads_them_meanwhile(kind, tmp_path):
    """Each has one number as often as it says."""
    save, file = SAVES[kind], tmp_path / ("f.npy" if kind == "save" else "f.npz")
    arrays = [gpuarray.asarray(np.full(n, n), context="null") for n in (1, 300, 20_000)]
    threads = [
        threading.Thread(target=lambda a=a: [save(file, a) for _ in range(20)])
        for a in arrays
    ]
    save(tmp_path / "f", arrays[0])  # which gets the suffix
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        read = gpuarray.load(file, context="null")
        found = np.asarray(read if kind == "save" else read["arr_0"])
        assert len(found) == found[0] == found[-1]
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
    with io.BytesIO() as opened:
        save(opened, arrays[1])
        assert opened.tell() > 2400 or kind == "savez_compressed"


def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    file, a = tmp_path / "f.npy", gpuarray.zeros(3, context="null")
    gpuarray.save(file, a)

    def fail(opened, *args, **named):
        opened.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(OSError, match="no space"):
        gpuarray.save(file, a)
    assert len(np.load(file)) == 3
