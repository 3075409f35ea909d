"""The library without Python: configured, built, installed, and used from C.

The build is the one that users make, optimised, and has no warning. The program is the
one in the README.
"""

import json
import re
import shutil

import pytest
from gpuarray._native import prepare
from installation import CC, CXX, ROOT, STRICT, WARNINGS, cmake, flags, run

HEADERS = ROOT / "libgpuarray-py" / "include" / "gpuarray"
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(twice LANGUAGES C)
find_package(gpuarray 0.1 REQUIRED)
add_executable(twice twice.c)
target_link_libraries(twice PRIVATE gpuarray::gpuarray)
"""


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


def test_the_headers_are_installed_and_each_compiles_alone(installed, tmp_path):
    folder = installed.prefix / "include" / "gpuarray"
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(path.name for path in HEADERS.glob("*.h"))
    for name in names:
        source = tmp_path / f"{name}.c"
        source.write_text(f"#include <gpuarray/{name}>\ntypedef int nothing;\n")
        check_syntax(folder.parent, source)


def check_syntax(include, source):
    """Programs of any age may include what is installed."""
    only = ["-fsyntax-only", f"-I{include}"]
    run(CC, *STRICT, *only, source)
    for standard in ("gnu89", "gnu99"):
        run(CC, f"-std={standard}", *WARNINGS, "-Wno-long-long", *only, source)
    if shutil.which(CXX):
        for standard in ("c++98", "c++17"):
            plus = ["-x", "c++", f"-std={standard}", "-Wno-long-long"]
            run(CXX, *plus, *WARNINGS, *only, source)


def test_all_headers_go_together(installed, tmp_path):
    folder = installed.prefix / "include" / "gpuarray"
    source = tmp_path / "all.c"
    names = sorted(path.name for path in folder.iterdir())
    for order in (names, names[::-1]):
        lines = [f"#include <gpuarray/{name}>\n" for name in order]
        source.write_text("".join(lines) + "typedef int nothing;\n")
        check_syntax(folder.parent, source)


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
