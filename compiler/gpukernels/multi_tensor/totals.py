"""The totals that parts of a multi-tensor kernel read: C text."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray._kernels.codegen import convert, identity_text, loaded
from gpuarray._kernels.texts import kernel_text
from gpuarray.compiler.gpukernels.folds import accumulator, fold_function, lane_function
from gpuarray.compiler.gpukernels.multi_tensor.inputs import (
    InputText,
    Sources,
    numbers_of,
)
from gpuarray.compiler.gpukernels.source import statements
from gpuarray.compiler.ops.fused.multi_tensor import MappedTotal
from gpuarray.dtypes import work_ctype
from gpuarray.scalars import SCALARS

WARP = 32
AHEAD = 4
"""Rows that an item of a GPU prefetches before it folds them."""
STRIP = 16
"""Elements that an item of a processor folds side by side."""


class TotalText(InputText):
    """Writes totals: ``folds`` are device functions.

    ``shared`` declares the local memory of the ``threads`` items of a GPU's block;
    ``trees`` combine the items' accumulators.
    """

    def __init__(self, name: str, is_cpu: bool, threads: int) -> None:
        super().__init__()
        self.name = name
        self.is_cpu = is_cpu
        self.threads = threads
        self.folds: dict[tuple[str, str], str] = {}
        self.shared: dict[str, str] = {}
        self.trees: dict[str, list[str]] = {}

    def total(self, total: MappedTotal, sources: Sources) -> list[str]:
        """Return the statements of the totals of elements ``first`` to ``last``.

        Without rows the library has computed the totals: then they are an input.
        """
        for index, dtype in enumerate(total.map.inputs):
            is_one = total.is_one[index]
            lines = self.before if is_one else self.mapped
            names = f"m{index}", f"y{index}", self.place(total, index)
            self.load(names, sources[index], dtype, lines)
        named = [operand for _, operand in numbers_of(total.map.inputs, sources, "m")]
        (mapped,) = total.map.output_dtypes
        code = statements(total.map, named, mapped)
        self.supports.update({code.support: None} if code.support else {})
        ((text, dtype),) = code.results
        acc = accumulator(total)
        call = self.fold(total.monoid, acc)
        value = convert(text, np.dtype(dtype), acc)
        lines = [*self.mapped, *code.text.splitlines()]
        if self.is_cpu:
            nothing = identity_text(SCALARS[total.monoid], acc)
            ctype = work_ctype(acc)
            return self.fold_strip(ctype, nothing, lines, call, value)
        walk = self.read_ahead(lines, f"{call}(a, {value})")
        return self.fold_block(total, walk, call)

    def place(self, total: MappedTotal, index: int) -> str:
        """Return the index of an input's element that belongs to the one at ``q``."""
        if total.is_one[index]:
            return "0"
        if not total.is_product or not total.is_row[index]:
            return "q"
        return "q / n" if self.is_cpu else "row"

    def fold(self, monoid: str, acc: np.dtype[Any]) -> str:
        """Return the device function that folds two accumulators."""
        key = monoid, str(acc)
        name = f"{self.name}_fold{len(self.folds)}"
        if key in self.folds:
            name = f"{self.name}_fold{list(self.folds).index(key)}"
        text, support = fold_function(name, monoid, acc)
        if acc.kind != "c":
            text += f"\n{lane_function(f'{name}_of', acc)}"
        self.folds[key] = text
        self.supports.update({support: None} if support else {})
        return name

    def read_ahead(self, lines: list[str], both: str) -> list[str]:
        """Return the loop of an item along its rows, with `AHEAD` rows prefetched.

        Beyond the last row one is read again: so no read is conditional, and there is
        one wait for all of them.
        """
        return [
            f"for (ga_int next = down; next < rows; next += {AHEAD} * step) {{",
            "#pragma unroll",
            f"  for (int j = 0; j < {AHEAD}; j++) {{",
            "    const ga_int at = next + j * step, row = at < rows ? at : next;",
            "    const ga_int q = row * n + column;",
            *(f"    {line}" for line in lines),
            f"    a = at < rows ? {both} : a;",
            "  }",
            "}",
        ]

    def fold_block(self, total: MappedTotal, loop: list[str], call: str) -> list[str]:
        """Return the fold of a block, where items of a column share its rows."""
        acc = accumulator(total)
        kind = list(self.folds).index((total.monoid, str(acc)))
        ctype = work_ctype(acc)
        nothing = identity_text(SCALARS[total.monoid], acc)
        shared = f"shared_{ctype}"
        self.shared[ctype] = f"LOCAL_MEM {ctype} {shared}[{self.threads}];"
        tree = fold_shared(shared, call, self.threads, acc.kind != "c")
        own = f"a{kind}"
        self.shared[own] = f"{ctype} {own} = {nothing};"
        self.trees[call] = [
            f"if (kind == {kind}) {{",
            f"  {ctype} a = {own};",
            *(f"  {line}" for line in tree),
            "}",
        ]
        return [
            f"kind = {kind};",
            "if (column < n) {",
            f"  {ctype} a = {nothing};",
            *(f"  {line}" for line in loop),
            f"  {own} = a;",
            "}",
        ]

    def fold_strip(
        self, ctype: str, nothing: str, lines: list[str], call: str, value: str
    ) -> list[str]:
        """Return the fold of neighbours in one row or several narrow ones."""

        def folded(strip: str, width: str) -> list[str]:
            return [
                f"  for (ga_int j = 0; j < {width}; j++) {{",
                "    const ga_int q = at + j;",
                *(f"    {line}" for line in lines),
                f"    {strip}[j] = {call}({strip}[j], {value});",
                "  }",
            ]

        # The compiler keeps `b` in registers: whole strips index it by constants.
        return [
            f"{ctype} a[{STRIP}];",
            "if (rows >= 0) {",
            f"  const ga_int size = rows * n, narrow = n < {STRIP};",
            f"  const ga_int width = narrow ? {STRIP} / n * n : last - first;",
            "  const ga_int step = narrow ? width : n;",
            "  ga_int at = first;",
            f"  {ctype} b[{STRIP}];",
            "#pragma unroll",
            f"  for (ga_int j = 0; j < {STRIP}; j++) b[j] = {nothing};",
            f"  if (width == {STRIP})",
            f"  for (; size - at >= {STRIP}; at += step) {{",
            "#pragma unroll",
            *(f"  {line}" for line in folded("b", str(STRIP))),
            "  }",
            "#pragma unroll",
            f"  for (ga_int j = 0; j < {STRIP}; j++) a[j] = b[j];",
            "  for (; at < size; at += step) {",
            "    const ga_int left = size - at < width ? size - at : width;",
            *(f"  {line}" for line in folded("a", "left")),
            "  }",
            "  for (ga_int j = width - 1; j >= n; j--)",
            f"    a[j - n] = {call}(a[j - n], a[j]);",
            "}",
        ]

    def folded(self, total: MappedTotal) -> None:
        """Add the total of the element at ``p``."""
        dtype = np.dtype(total.dtype)
        acc = accumulator(total)
        in_registers = "a[p - first]"
        if not self.is_cpu:
            in_registers = f"shared_{work_ctype(acc)}[item]"
        in_registers = convert(in_registers, acc, dtype)
        self.pointer("x0", total.dtype)
        in_memory = loaded("x0[p]", dtype)
        self.each.append(
            f"const {work_ctype(dtype)} i0 = rows < 0 ? {in_memory} : {in_registers};"
        )


def fold_shared(shared: str, call: str, threads: int, has_lanes: bool) -> list[str]:
    """Return the tree over ``a`` of those items of a block that are ``lanes`` apart."""
    words = {
        "TF_SHARED": shared,
        "TF_FOLD": call,
        "TF_OF": f"{call}_of",
        "TF_THREADS": str(threads),
        "TF_HAS_LANES": str(int(has_lanes and threads >= WARP)),
    }
    return kernel_text(__package__, "fold_shared", words).splitlines()
