"""libgpuarray installed as users install it: built with CMake, strict.

It is built in the folder ``GPUARRAY_TEST_BUILD`` where one is named: a run's C tests
have most of it there. What the tests of the installed library share: the fixtures
``installed`` and ``r_places``, and how to run the programs that use it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STRICT = ["-std=c11", *WARNINGS]


@dataclass(frozen=True)
class Installation:
    """Where things were installed."""

    prefix: Path
    libraries: Path

    @property
    def pkg_config(self):
        return self.libraries / "pkgconfig" / "libgpuarray.pc"


def run(*command, **variables):
    """The output of a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def cmake(*arguments):
    """CMake as the extra [test] installs it, else the system's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which("cmake", path=path)
    assert found, "CMake is missing; it is of the extra [test]: pip install '.[test]'"
    return run(found, *arguments)


def flags(installed):
    """What pkg-config says; where there is none, what its file says."""
    if shutil.which("pkg-config"):
        folder = str(installed.pkg_config.parent)
        command = "pkg-config", "--cflags", "--libs", "libgpuarray"
        return run(*command, PKG_CONFIG_PATH=folder).split()
    known = {"pcfiledir": str(installed.pkg_config.parent)}
    found = {}
    for line in installed.pkg_config.read_text().splitlines():
        name, sign, value = re.fullmatch(r"(\w*)([=:]?)\s*(.*)", line).groups()
        value = re.sub(r"\$\{(\w+)\}", lambda match: known[match[1]], value)
        (known if sign == "=" else found)[name] = value
    return [*found["Cflags"].split(), *found["Libs"].split()]


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The library, built and installed once."""
    given = os.environ.get("GPUARRAY_TEST_BUILD")
    build = Path(given) if given else tmp_path_factory.mktemp("build")
    build.mkdir(parents=True, exist_ok=True)
    prefix = tmp_path_factory.mktemp("prefix")
    with (build / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the run's processes share the folder
        cmake("-S", ROOT, "-B", build, "-DGPUARRAY_WERROR=ON")
        cmake("--build", build, "--target", "gpuarray", "--parallel", "2")
        cmake("--install", build, "--prefix", prefix)
    (library,) = prefix.rglob("libgpuarray.so")
    return Installation(prefix, library.parent)


def interpreter(name):
    """The path of a language's program."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="session")
def r_places(installed, tmp_path_factory):
    """The R package, installed, as variables of R's process."""
    folder = tmp_path_factory.mktemp("r")
    package, library = folder / "package", folder / "library"
    shutil.copytree(ROOT / "bindings" / "r", package)
    library.mkdir()
    places = {
        "LD_LIBRARY_PATH": str(installed.libraries),
        "PKG_CONFIG_PATH": str(installed.pkg_config.parent),
        "R_LIBS": str(library),
    }
    run(interpreter("R"), "CMD", "INSTALL", f"--library={library}", package, **places)
    return places
