"""The library without Python: configured, built, installed, and used from C.

The build is the one that users make, optimised, and has no warning. The program is the
one in the README.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from gpuarray._native import prepare

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "libgpuarray-py" / "include" / "gpuarray"
CC = os.environ.get("CC", "cc")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(twice LANGUAGES C)
find_package(gpuarray 0.1 REQUIRED)
add_executable(twice twice.c)
target_link_libraries(twice PRIVATE gpuarray::gpuarray)
"""


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


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    build = tmp_path_factory.mktemp("build")
    prefix = tmp_path_factory.mktemp("prefix")
    cmake("-S", ROOT, "-B", build, "-DGPUARRAY_WERROR=ON")
    cmake("--build", build, "--parallel", "2")
    cmake("--install", build, "--prefix", prefix)
    (library,) = prefix.rglob("libgpuarray.so")
    return Installation(prefix, library.parent)


@pytest.fixture
def program(tmp_path):
    """The README's program in C, in a folder of its own."""
    (text,) = re.findall(
        r"^```c\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S
    )
    source = tmp_path / "twice.c"
    source.write_text(text)
    return source


def check_output(executable, installed, context):
    """The program doubles three numbers on the context's device."""
    prepare()  # GPUARRAY_WHEEL_PATH, for runtimes from the package index
    out = run(
        executable,
        GPUARRAY_DEVICE=context.name,
        LD_LIBRARY_PATH=str(installed.libraries),
    )
    assert out == f"{context.name}: 2 4 6\n"


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


def test_the_headers_are_installed_and_each_compiles_alone(installed, tmp_path):
    folder = installed.prefix / "include" / "gpuarray"
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(path.name for path in HEADERS.glob("*.h"))
    for name in names:
        source = tmp_path / f"{name}.c"
        source.write_text(f"#include <gpuarray/{name}>\ntypedef int nothing;\n")
        run(CC, *STRICT, "-fsyntax-only", f"-I{folder.parent}", source)


def test_the_library_has_its_versions(installed):
    library = installed.libraries / "libgpuarray.so"
    assert library.resolve().name == "libgpuarray.so.0.1.0"
    assert (installed.libraries / "libgpuarray.so.4").resolve() == library.resolve()


def test_a_program_by_pkg_config(installed, program, context):
    executable = program.with_suffix("")
    run(CC, *STRICT, program, *flags(installed), "-o", executable)
    check_output(executable, installed, context)


def test_a_program_by_cmake(installed, program, context):
    folder = program.parent
    (folder / "CMakeLists.txt").write_text(PROJECT)
    build = folder / "build"
    cmake("-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={installed.prefix}")
    cmake("--build", build)
    check_output(build / "twice", installed, context)
