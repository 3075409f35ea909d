"""Kernel texts that are files, in the folder ``kernels`` of a package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def _read(package: str, name: str) -> str:
    return files(package).joinpath("kernels", f"{name}.cl.h").read_text("utf-8")


def kernel_text(package: str, name: str, words: Mapping[str, str]) -> str:
    """The text of ``kernels/<name>.cl.h`` between definitions of its words.

    What they and the text define ends behind it: other texts of a program may have
    words of the same names.
    """
    lines = (
        f"#define {word} {' '.join(value.split())}\n" for word, value in words.items()
    )
    text = "".join(lines) + _read(package, name)
    ends = dict.fromkeys(re.findall(r"#define (\w+)", text))
    return text + "".join(f"#undef {word}\n" for word in ends)
