"""Kernel text of folds: device functions, and the tree of a block's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from gpuarray._kernels.codegen import convert, scalar_expression
from gpuarray._kernels.texts import kernel_text
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
    expression = scalar_expression(SCALARS[monoid], [("a", dtype), ("b", dtype)])
    ctype = work_ctype(dtype)
    text = convert(expression.text, expression.dtype, dtype)
    function = f"GA_INLINE {ctype} {name}({ctype} a, {ctype} b) {{ return {text}; }}"
    return function, expression.support


def lane_function(name: str, dtype: np.dtype[np.generic]) -> str:
    """Return the device function that reads the value of a lane of the warp."""
    words = {
        "LANE_NAME": name,
        "LANE_T": work_ctype(dtype),
        "LANE_WORDS": str(-(-dtype.itemsize // 4)),
    }
    return kernel_text(__package__, "lane", words)


def row_tree(folds: Sequence[int], is_alone: bool = True) -> list[str]:
    """Return the tree that folds ``a<fold>`` over the ``lanes`` items of each row.

    It uses ``$name_fold<fold>``: in warps with ``$name_of<fold>``, or else in local
    memory, ``shared<fold>``. Without ``is_alone`` the block has other folds to come.
    """
    words = {
        "TREE_FOLDS(F)": " ".join(f"F({fold})" for fold in folds),
        "TREE_FOLD(fold)": "$name_fold##fold",
        "TREE_OF(fold)": "$name_of##fold",
        "TREE_IS_ALONE": str(int(is_alone)),
    }
    return kernel_text(__package__, "row_tree", words).splitlines()
