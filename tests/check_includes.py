"""Checks what each C file may include: vendors end at the table of backends."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "libgpuarray-py"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# What lies under c/backend.h: all that a vendor's folder may use of the core.
FLOOR = {
    "backend.h",
    "backend_guard.h",
    "status.h",
    "strbuf.h",
    "hash.h",
    "dynload.h",
    "dtype.h",
    "buffer.h",
    "complex.h",
    "host_blas.h",
    "pages.h",
}
# Pure files know no device.
PURE = {"shape", "dtype", "strbuf", "hash", "status", "complex"}
PURE_MAY = {"status.h", "dtype.h", "shape.h", "strbuf.h", "hash.h", "complex.h"}


def allowed(folder: str, stem: str, kind: str, target: str) -> bool:
    """Whether a file ``folder/stem`` may include ``target``."""
    head, _, name = target.partition("/")
    if kind == "<":
        return head == "gpuarray" or "/" not in target or head == "sys"
    if target in ("prelude.inc", "complex.inc") or target.startswith("math"):
        return True
    if folder == "c":
        return head == "c" and (stem not in PURE or name in PURE_MAY)
    return head == folder or (head == "c" and name in FLOOR)


def violations() -> list[str]:
    """One line for each include that is not allowed."""
    found = []
    for folder in ("c", "cuda", "opencl"):
        for path in sorted((ROOT / folder).glob("*.[ch]")):
            found += [
                f"{path.relative_to(ROOT)} must not include {target}"
                for kind, target in INCLUDE.findall(path.read_text())
                if not allowed(folder, path.name.partition(".")[0], kind, target)
            ]
    return found


if __name__ == "__main__":
    lines = violations()
    print("\n".join(lines) or "includes: every C file keeps to its floor")
    sys.exit(bool(lines))
