"""libgpuarray 0.7's functions that split and join arrays."""

from __future__ import annotations

from gpuarray._manipulation.joining import (
    array_split,
    concatenate,
    dsplit,
    dstack,
    hsplit,
    hstack,
    split,
    vsplit,
    vstack,
)
from gpuarray._manipulation.shaping import atleast_1d, atleast_2d, atleast_3d

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "vsplit",
    "vstack",
]


def __dir__() -> list[str]:
    return __all__
