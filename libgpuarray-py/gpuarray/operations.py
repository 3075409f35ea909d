"""libgpuarray 0.7's functions that split and join arrays."""

from __future__ import annotations

from gpuarray._manipulation.joining import concatenate, dstack, hstack, vstack
from gpuarray._manipulation.shaping import atleast_1d, atleast_2d, atleast_3d
from gpuarray._manipulation.splitting import array_split, dsplit, hsplit, split, vsplit

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
