"""Caches that another user of the machine has prepared: nothing planted there runs."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from gpuarray.compiler.cops.module import LIBRARIES
from gpuarray.compiler.function.plan_cache import PLANS
from gpuarray.compiler.store import sealed

IS_ROOT = os.geteuid() == 0
OTHER = 65534 if IS_ROOT else os.geteuid()
"""Who plants. A process that is not root can be no other user."""

PROGRAM = """
import sys
import numpy as np
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
from gpuarray.compiler import Apply
from gpuarray.compiler.cops import COp

class Twice(COp):
    __props__ = ()
    def make_node(self, x):
        return Apply(self, [x], [x.type()])
    def c_code(self, node, name, inp, out, sub):
        return '''
        %s = (PyArrayObject *)PyArray_NewCopy(%s, NPY_CORDER);
        if (%s == NULL) %s
        *(float *)PyArray_DATA(%s) *= 2;''' % (
            *out, *inp, *out, sub["fail"], *out)

x = T.fvector("x")
print(theano.function([x], T.exp(x))([0.0]), theano.function([x], Twice()(x))([4.0]))
"""
WANTED = "[1.] [8.]\n"

EVIL = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void run(void) {{
  close(open("{marker}", O_CREAT | O_WRONLY, 0600));
}}
"""


class Evil:
    """Unpickled, it leaves a mark."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def place():
    """A folder that other users can pass through, unlike tmp_path."""
    made = Path(tempfile.mkdtemp(prefix="gpuarray-planting-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def as_other(does):
    """Have the other user do something."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if IS_ROOT:
                os.setgid(OTHER)
                os.setuid(OTHER)
            does()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def run(context):
    """Runs the program under some variables; what it said besides its results."""

    def run_it(fails=False, **changes):
        kept = {k: v for k, v in os.environ.items() if k != "GPUARRAY_CACHE_DIR"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**kept, "GPUARRAY_FLAGS": f"device={context.name}", **changes},
            capture_output=True,
            text=True,
        )
        wanted = (1, "") if fails else (0, WANTED)
        assert (done.returncode, done.stdout) == wanted, done.stderr
        return done.stderr

    return run_it


@pytest.fixture
def prepared(place, run):
    """Folders of what the user has, as an unpacked archive: plans and libraries that
    the program would look for, and that leave a mark when they run."""
    cache = place / "first"
    assert "RuntimeWarning" not in run(GPUARRAY_CACHE_DIR=str(cache))
    archive, marks = place / "archive", place / "marks"
    for folder in (archive, marks, archive / "plans", archive / "ops"):
        folder.mkdir(mode=0o700)
    library = place / "evil.so"
    source = place / "evil.c"
    source.write_text(EVIL.format(marker=marks / "library"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    contents = {
        PLANS: pickle.dumps(Evil(marks / "plan")),
        LIBRARIES: library.read_bytes(),
    }
    for store, content in contents.items():
        found = list((cache / store.name).glob(f"*{store.suffix}"))
        assert found, "nothing was kept"
        for each in found:
            planted = archive / store.name / each.name
            planted.write_bytes(sealed(each.stem, content))
    return archive, marks


def link_to(archive, cache):
    """Have a cache's folders be those of the archive."""
    cache.mkdir(parents=True, exist_ok=True)
    for name in ("plans", "ops"):
        (cache / name).symlink_to(archive / name)


def said_of(errors, folder, reason):
    told = [line for line in errors.splitlines() if "RuntimeWarning" in line]
    assert len(told) == 1, errors
    assert str(folder) in told[0] and reason in told[0]


def test_a_folder_that_everybody_can_write_to(place, prepared, run):
    archive, marks = prepared
    cache = place / "open"
    cache.mkdir()
    cache.chmod(0o777)
    as_other(lambda: link_to(archive, cache))
    said_of(run(GPUARRAY_CACHE_DIR=str(cache)), cache, f"run chmod go-w {cache},")
    assert not list(marks.iterdir())


def test_a_folder_above_that_everybody_can_write_to(place, prepared, run):
    archive, marks = prepared
    above = place / "above"
    above.mkdir()
    above.chmod(0o777)
    as_other(lambda: link_to(archive, above / "cache"))
    said_of(run(GPUARRAY_CACHE_DIR=str(above / "cache")), above, "others may write")
    assert not list(marks.iterdir())


@pytest.mark.skipif(not IS_ROOT, reason="only root can be another user, too")
@pytest.mark.parametrize("home", [False, True])
def test_a_folder_of_another_user(place, prepared, run, home):
    archive, marks = prepared
    theirs = place / "theirs"
    theirs.mkdir()
    os.chown(theirs, OTHER, OTHER)
    cache = theirs / ".cache/gpuarray"
    as_other(lambda: link_to(archive, cache))
    if home:
        chosen = {"HOME": str(theirs), "XDG_CACHE_HOME": ""}
    else:
        chosen = {"GPUARRAY_CACHE_DIR": str(cache)}
    said_of(run(**chosen), theirs, f"belongs to user {OTHER}")
    assert not list(marks.iterdir())


def test_the_users_own_folders_are_used(place, prepared, run):
    """The judge of the tests above: a library that is planted would run; a pickle in
    place of a plan is not read."""
    archive, marks = prepared
    cache = place / "own"
    link_to(archive, cache)
    errors = run(GPUARRAY_CACHE_DIR=str(cache), fails=True)  # it has no gpuarray_op_run
    assert "RuntimeWarning" not in errors
    assert {each.name for each in marks.iterdir()} == {"library"}


def test_files_that_others_could_write_are_not_read(place, prepared, run):
    archive, marks = prepared
    for each in archive.glob("*/*"):
        each.chmod(0o666)
    run(GPUARRAY_CACHE_DIR=str(archive))
    assert not list(marks.iterdir())


def test_fifos_in_the_cache_do_not_block(place, prepared, run):
    archive, _ = prepared
    for each in archive.glob("*/*"):
        each.unlink()
        os.mkfifo(each)
    run(GPUARRAY_CACHE_DIR=str(archive))
    assert all(each.is_file() for each in archive.glob("*/*"))  # made anew
