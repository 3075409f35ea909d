"""Writes the C source of the cffi binding from the public headers, at build time.

    python build.py <include folder> <output.c>

Only plain declarations stand between the marks ``cdef: begin`` and ``cdef: end`` of a
header; that text is given to cffi as it stands, so no declaration is ever copied by
hand. The C files beside this one are put behind the headers.
"""

import re
import sys
from pathlib import Path

from cffi import FFI  # type: ignore[import-untyped]

MARKED = re.compile(r"/\* cdef: begin \*/(.*?)/\* cdef: end \*/", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINE = re.compile(r"^#define[ \t]+(\w+)[ \t]+[^\n]*$", re.MULTILINE)
INCLUDE = re.compile(r"^#include <gpuarray/(\w+\.h)>$", re.MULTILINE)

INCLUDED = ("stdatomic", "stdbool", "stdlib", "structmember")
# Each knows those before it.
PARTS = (
    *("helpers", "holder", "memory", "runner", "runner_arguments", "runner_results"),
    *("runner_call", "runner_class", "straight"),
)
SOURCES = [Path(__file__).with_name(f"{part}.c") for part in PARTS]


def headers(include: Path) -> list[Path]:
    """The public headers, each after those that it includes."""
    folder = include / "gpuarray"
    ordered: list[Path] = []
    pending: set[Path] = set()

    def visit(header: Path) -> None:
        if header in pending:
            return
        pending.add(header)
        for name in INCLUDE.findall(header.read_text()):
            visit(folder / name)
        ordered.append(header)

    for header in sorted(folder.glob("*.h")):
        visit(header)
    return ordered


def declarations(source: Path) -> str:
    """The marked text of a file; constants are left to the C compiler to evaluate."""
    text = "\n".join(MARKED.findall(source.read_text()))
    return DEFINE.sub(r"#define \1 ...", COMMENT.sub("", text))


def builder(include: Path) -> FFI:
    """The cffi description of every public header."""
    ffi = FFI()
    public_headers = headers(include)
    for source in (*public_headers, *SOURCES):
        ffi.cdef(declarations(source))
    lines = [f"#include <gpuarray/{header.name}>" for header in public_headers]
    head = [f"#include <{name}.h>" for name in INCLUDED]
    head.insert(0, "#define GPUARRAY_NO_CUDA")
    texts = [path.read_text() for path in SOURCES]
    ffi.set_source("gpuarray._gpuarray", "\n".join([*head, *lines, *texts]))
    return ffi


if __name__ == "__main__":
    builder(Path(sys.argv[1])).emit_c_code(sys.argv[2])
