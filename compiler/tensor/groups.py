"""Groups of names of dtypes: ``if x.dtype in T.float_dtypes``."""

from __future__ import annotations

from gpuarray.dtypes import DTYPES, kind_of

__all__ = [
    "all_dtypes",
    "complex_dtypes",
    "continuous_dtypes",
    "discrete_dtypes",
    "float_dtypes",
    "int_dtypes",
    "integer_dtypes",
    "uint_dtypes",
]


def _of_kinds(kinds: str) -> list[str]:
    return [dtype.name for dtype in DTYPES if kind_of(dtype) in kinds]


int_dtypes = _of_kinds("i")
uint_dtypes = _of_kinds("u")
float_dtypes = _of_kinds("f")
complex_dtypes = _of_kinds("c")
integer_dtypes = _of_kinds("iu")
discrete_dtypes = _of_kinds("biu")
continuous_dtypes = _of_kinds("fc")
all_dtypes = _of_kinds("biufc")
