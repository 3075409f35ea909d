"""Kernel text of folds: device functions, and the tree of a block's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from gpuarray._kernels.codegen import convert, scalar_expression
from gpuarray.dtypes import work_ctype, work_dtype
from gpuarray.scalars import SCALARS


class Folding(Protocol):
    """A folded expression with an accumulator dtype."""

    @property
    def acc_dtype(self) -> str:
        """The accumulator dtype's name."""
        ...


def accumulator(folding: Folding) -> np.dtype[np.generic]:
    """Return the dtype that a fold is computed in and that blocks store."""
    return work_dtype(np.dtype(folding.acc_dtype))


def fold_function(
    name: str, monoid: str, dtype: np.dtype[np.generic]
) -> tuple[str, str]:
    """Return the device function that folds two accumulators, and its support."""
    made = scalar_expression(SCALARS[monoid], [("a", dtype), ("b", dtype)])
    ctype = work_ctype(dtype)
    text = convert(made.text, made.dtype, dtype)
    function = f"GA_INLINE {ctype} {name}({ctype} a, {ctype} b) {{ return {text}; }}"
    return function, made.support


def lane_function(name: str, dtype: np.dtype[np.generic]) -> str:
    """Return the device function that reads the value of a lane of the warp."""
    ctype, words = work_ctype(dtype), -(-dtype.itemsize // 4)
    return (
        "#ifdef GA_HAS_SHUFFLES\n"
        f"GA_INLINE {ctype} {name}({ctype} value, ga_int lane) {{\n"
        f"  union {{ {ctype} value; ga_uint words[{words}]; }} u;\n"
        "  u.words[0] = 0;\n"
        "  u.value = value;\n"
        f"  for (int w = 0; w < {words}; w++)\n"
        "    u.words[w] = ga_shuffle(u.words[w], lane);\n"
        "  return u.value;\n"
        "}\n"
        "#endif"
    )


def row_tree(folds: Sequence[int], is_alone: bool = True) -> list[str]:
    """Return the tree that folds ``a<fold>`` over the ``lanes`` items of each row.

    It uses ``$name_fold<fold>``: in warps with ``$name_of<fold>``, or else in local
    memory, ``shared<fold>``. All items get the same bits. Without ``is_alone`` the
    block has other folds to come, so it waits for all of its items first. ``lanes`` is
    a power of 2, so no index takes a division.
    """

    def folded(text: str) -> list[str]:
        return [text.replace("@", str(fold)) for fold in folds]

    both = "a@ = $name_fold@(a@, $name_of@(a@, (item ^ s) % 32));"
    half = "shared@[item] = $name_fold@(shared@[item], shared@[item + s]);"
    return [
        "if (lanes > 1) {",
        "#ifdef GA_HAS_SHUFFLES",
        "  const ga_uint wide = (ga_uint)lanes, parts = wide / 32;",
        "  for (ga_uint s = parts > 0 ? 16 : wide / 2; s > 0; s /= 2) {",
        *folded(f"    {both}"),
        "  }",
        "  if (parts > 1) {",
        "    if (item % 32 == 0) {",
        *folded("      shared@[item / 32] = a@;"),
        "    }",
        "    local_barrier();",
        *folded("    a@ = shared@[(item / 32 & -parts) + (item & (parts - 1))];"),
        "    for (ga_uint s = parts / 2; s > 0; s /= 2) {",
        *folded(f"      {both}"),
        "    }",
        *(["    local_barrier();"] if is_alone else []),
        "  }",
        *folded("  a@ = $name_of@(a@, (item & -wide) % 32);"),
        "#else",
        *folded("  shared@[item] = a@;"),
        "  local_barrier();",
        "  for (ga_int s = lanes / 2; s > 0; s /= 2) {",
        "    if (lane < s) {",
        *folded(f"      {half}"),
        "    }",
        "    local_barrier();",
        "  }",
        *folded("  a@ = shared@[item - lane];"),
        "  local_barrier();",
        "#endif",
        "}",
    ]
