"""The library without Python: configured, built, installed, and used from C.

The build is the one that users make, optimised, and has no warning. The program is the
one in the README.
"""

import json
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
CXX = os.environ.get("CXX", "c++")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STRICT = ["-std=c11", *WARNINGS]
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
        if shutil.which(CXX):
            plus = ["-x", "c++", "-std=c++17", *WARNINGS]
            run(CXX, *plus, "-fsyntax-only", f"-I{folder.parent}", source)


DLPACKS = {
    # DLPack's own header, as far as it matters: its guard, its version, and how it
    # declares what ours declares too.
    "1.3 before ours": ("1", "3", "typedef struct DLManagedTensorVersioned"),
    "1.1 before ours": ("1", "1", "struct DLManagedTensorVersioned"),
}


@pytest.mark.parametrize("version", DLPACKS)
def test_our_dlpack_header_stands_beside_dlpacks_own(installed, tmp_path, version):
    major, minor, declared = DLPACKS[version]
    end = "DLManagedTensorVersioned;" if declared.startswith("typedef") else ";"
    theirs = tmp_path / "dlpack.h"
    theirs.write_text(f"""
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define DLPACK_MAJOR_VERSION {major}
#define DLPACK_MINOR_VERSION {minor}
#include <stdint.h>
typedef struct {{ uint32_t major, minor; }} DLPackVersion;
typedef enum {{ kDLCPU = 1, kDLCUDA = 2 }} DLDeviceType;
typedef struct {{ DLDeviceType device_type; int32_t device_id; }} DLDevice;
typedef struct {{ uint8_t code, bits; uint16_t lanes; }} DLDataType;
typedef struct {{
  void *data; DLDevice device; int32_t ndim; DLDataType dtype;
  int64_t *shape, *strides; uint64_t byte_offset;
}} DLTensor;
typedef struct DLManagedTensor {{ DLTensor dl_tensor; }} DLManagedTensor;
{declared} {{ DLPackVersion version; DLTensor dl_tensor; }} {end}
{EXCHANGE if minor == "3" else ""}
#endif
""")
    for first, second in (("theirs", "ours"), ("ours", "theirs")):
        names = {"theirs": '"dlpack.h"', "ours": "<gpuarray/dlpack.h>"}
        source = tmp_path / f"{first}.c"
        source.write_text(
            f"#include {names[first]}\n#include {names[second]}\n"
            "DLManagedTensorVersioned *made; DLPackExchangeAPI *table;\n"
        )
        include = f"-I{installed.prefix / 'include'}"
        run(CC, *STRICT, "-fsyntax-only", include, f"-I{tmp_path}", source)


EXCHANGE = "typedef struct DLPackExchangeAPI { int x; } DLPackExchangeAPI;"


def test_the_interface_is_installed_as_data(installed):
    described = json.loads(
        (installed.prefix / "share" / "gpuarray" / "api.json").read_text()
    )
    assert described["soversion"] == 4
    assert described["functions"]["GpuArray_read"]["result"] == "int"


def test_the_library_has_its_versions(installed):
    library = installed.libraries / "libgpuarray.so"
    assert library.resolve().name == "libgpuarray.so.0.1.0"
    assert (installed.libraries / "libgpuarray.so.4").resolve() == library.resolve()
    read = shutil.which("readelf")
    if read is None:
        pytest.skip("binutils' readelf is not installed")
    assert "[libgpuarray.so.4]" in run(read, "-d", library)
    assert "Name: GPUARRAY_4.0" in run(read, "-V", library)


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
