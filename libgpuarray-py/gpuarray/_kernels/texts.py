"""Kernel texts in files, in the folder ``kernels`` of a package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def _read(package: str, name: str) -> str:
    return files(package).joinpath("kernels", f"{name}.cl.h").read_text("utf-8")


def kernel_text(package: str, name: str, words: Mapping[str, str]) -> str:
    """Return the text of ``kernels/<name>.cl.h`` between definitions of its words.

    Its definitions and those of the text are undone after it: other texts of a program
    may use the same names.
    """
    lines = (
        f"#define {word} {' '.join(value.split())}\n" for word, value in words.items()
    )
    text = "".join(lines) + _read(package, name)
    ends = dict.fromkeys(re.findall(r"#define (\w+)", text))
    return text + "".join(f"#undef {word}\n" for word in ends)
