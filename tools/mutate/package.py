"""The files of the package that may be changed, and their modules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"compiler": "gpuarray.compiler", "libgpuarray-py/gpuarray": "gpuarray"}
TABLES = {"libgpuarray-py/gpuarray/scalars/": "SCALARS"}
"""Files that fill a table when imported, and its name in the tests that read it."""


def files_of(paths: Sequence[str]) -> list[str]:
    """The Python files that are named, or lie in the folders that are."""
    found: list[Path] = []
    for each in paths:
        path = ROOT / each
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [str(each.relative_to(ROOT)) for each in found]


def module_of(file: str) -> str:
    """The name of a file's module."""
    (place,) = [each for each in PACKAGES if file.startswith(f"{each}/")]
    parts = Path(file).relative_to(place).with_suffix("").parts
    return ".".join((PACKAGES[place], *(x for x in parts if x != "__init__")))
