"""Checks what each C file may include: folders stand one above the other.

A file of ``c/`` includes what lies in its folder and in those below; a vendor's file
what lies in its vendor's folders and what the table of backends is made of. What a
header declares is defined in its own folder, and no files name functions of one
another, by whatever way.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "libgpuarray-py"
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
NAME = re.compile(r"\b(?:ga__|Gpu|gpu)\w+")
FUNCTION = re.compile(
    r"^(?!static|#)\w[^;{}=/]*?\b((?:ga__|Gpu|gpu)\w+)\([^;{}]*\)\s*([;{])",
    re.MULTILINE,
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

FLOORS = (
    "base",
    "system",
    "backend",
    "device",
    "ranks",
    "program",
    "tape",
    "array",
    "elemwise",
    "reduce",
    "scan",
    "sort",
    "index",
    "sparse",
    "random",
    "blas",
    "dnn",
    "convolution",
    "loop",
    "library",
    "routines",
    "plan",
    "function",
    "saving",
)
"""The folders of ``c/``, from the lowest one up."""
VENDORS = ("cuda", "cuda/library", "opencl", "opencl/library", "null")
"""The vendors' folders; what calls a vendor's libraries lies apart."""
OF_VENDORS = {"base", "system", "backend"}
"""The folders of ``c/`` that a vendor's may include, besides ``OF_DEVICES``."""
OF_DEVICES = {"c/device/buffer.h", "c/device/context.h"}


def allowed(folder: str, kind: str, target: str) -> bool:
    """Whether a file of a folder may include ``target``."""
    if kind == "<":
        return "/" not in target or target.split("/")[0] in ("gpuarray", "sys")
    if target.endswith(".inc") or (target.endswith(".cl.h") and "/" not in target):
        return True  # a text that the build embeds, or a part of one beside it
    head, *rest = target.split("/")
    if folder in VENDORS:
        return (
            head == folder.split("/")[0]
            or target in OF_DEVICES
            or (head == "c" and rest[0] in OF_VENDORS)
        )
    is_below = head == "c" and FLOORS.index(rest[0]) <= FLOORS.index(folder)
    return is_below and len(rest) == 2


def folders() -> dict[str, Path]:
    """All folders with C files of the library, by their names."""
    found = {name: ROOT / name for name in VENDORS}
    vendors = (ROOT / name for name in VENDORS if "/" not in name)
    inner = [path for vendor in vendors for path in vendor.iterdir() if path.is_dir()]
    found |= {str(path.relative_to(ROOT)): path for path in inner}
    return found | {path.name: path for path in (ROOT / "c").iterdir() if path.is_dir()}


def violations() -> list[str]:
    """One line for each folder without a floor, and each include that goes up."""
    found = [f"{name}/ has no floor" for name in folders() if name not in known()]
    found += [f"{path} is in no folder" for path in (ROOT / "c").glob("*.[ch]")]
    for name, folder in folders().items():
        for path in sorted(folder.glob("*.[ch]")) if name in known() else []:
            found += [
                f"{path.relative_to(ROOT)} must not include {target}"
                for kind, target in INCLUDE.findall(path.read_text())
                if not allowed(name, kind, target)
            ]
    return found


def turned() -> list[str]:
    """One line for each function of ``c/`` that is defined above its header."""
    declared: dict[str, str] = {}
    defined: dict[str, str] = {}
    for name, folder in folders().items():
        for path in sorted(folder.glob("*.[ch]")):
            found = FUNCTION.findall(path.read_text())
            if path.suffix == ".h":
                declared |= {each: name for each, end in found if end == ";"}
            else:
                defined |= {each: name for each, end in found if end == "{"}
    return [
        f"{each} is declared in {declared[each]}/ and defined in {name}/"
        for each, name in defined.items()
        if declared.get(each, name) != name
    ]


def uses() -> dict[Path, set[Path]]:
    """For each C file of the library those whose functions it names."""
    files = {
        path: COMMENT.sub(" ", path.read_text())
        for folder in folders().values()
        for path in folder.glob("*.c")
    }
    place = {
        name: path
        for path, text in files.items()
        for name, end in FUNCTION.findall(text)
        if end == "{"
    }
    return {
        path: {place[name] for name in set(NAME.findall(text)) & place.keys()} - {path}
        for path, text in files.items()
    }


def circles() -> list[str]:
    """One line for each circle of files: those that are reached from one another."""
    below = uses()
    reached: dict[Path, set[Path]] = {}
    for path in below:
        found, stack = set[Path](), [path]
        while stack:
            new = below[stack.pop()] - found
            found |= new
            stack += new
        reached[path] = found
    groups = {
        frozenset(other for other in found if path in reached[other])
        for path, found in reached.items()
        if path in found
    }
    return [
        "a circle: " + ", ".join(sorted(str(each.relative_to(ROOT)) for each in group))
        for group in groups
    ]


def known() -> tuple[str, ...]:
    """The folders that have a place."""
    return (*FLOORS, *VENDORS)


if __name__ == "__main__":
    lines = violations() + turned() + circles()
    print("\n".join(lines) or "includes: every C file keeps to its floor")
    sys.exit(bool(lines))
