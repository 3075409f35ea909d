"""Reductions of several folds at once, as objects of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._kernels.codegen import (
    convert,
    identity_text,
    scalar_expression,
    self_contained,
)
from gpuarray._native import check, ffi, lib
from gpuarray.compiler.gpukernels.source import Operand
from gpuarray.compiler.ops.fused.rowwise import Fold
from gpuarray.dtypes import dtype_to_typecode
from gpuarray.scalars import SCALARS


def new_reduction(
    context: Context,
    folds: Sequence[Fold],
    lines: Sequence[str],
    texts: Sequence[Operand],
    support: str,
    arguments: Sequence[tuple[str, int, int]],
) -> Any:
    """Return a ``GpuReduction *`` of several folds, freed with its last reference."""
    kept: list[Any] = []

    def c_text(text: str) -> Any:
        kept.append(ffi.new("char[]", text.encode()))
        return kept[-1]

    supports: Mapping[str, None] = {support: None}
    components = ffi.new("gpureduction_component[]", len(folds))
    results = ffi.new("gpureduction_result[]", len(folds))
    for number, (fold, (text, dtype)) in enumerate(zip(folds, texts, strict=True)):
        accumulator = np.dtype(fold.acc_dtype)
        row = SCALARS[fold.monoid]
        combine = scalar_expression(row, [("a", accumulator), ("b", accumulator)])
        supports = {**supports, combine.support: None}
        each = components[number]
        each.map = c_text(convert(text, np.dtype(dtype), accumulator))
        each.combine = c_text(combine.text)
        each.identity = c_text(identity_text(row, accumulator))
        each.typecode = dtype_to_typecode(accumulator)
        results[number].typecode = dtype_to_typecode(fold.dtype)
    inputs = ffi.new("gpuelemwise_arg[]", len(arguments))
    for slot, (name, typecode, flags) in zip(inputs, arguments, strict=True):
        slot.name, slot.typecode, slot.flags = c_text(name), typecode, flags
    spec = ffi.new("gpureduction_spec *")
    spec.size = ffi.sizeof("gpureduction_spec")
    spec.preamble = c_text(self_contained("\n".join(filter(None, supports))))
    spec.prologue = c_text("\n".join(lines))
    spec.n, spec.inputs = len(arguments), inputs
    spec.n_components = spec.n_results = len(folds)
    spec.components, spec.results = components, results
    status = ffi.new("int *")
    handle = lib.GpuReduction_new(context.pointer, spec, status)
    if not handle:
        check(status[0], "rows")
    return ffi.gc(handle, lib.GpuReduction_free)
