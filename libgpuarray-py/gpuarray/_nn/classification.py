"""Connectionist temporal classification: costs of sequences, and their gradients."""

from __future__ import annotations

from typing import Any

from gpuarray._core.base import require_all
from gpuarray._native import check, ffi, lib
from gpuarray.dtypes import work_dtype
from gpuarray.errors import BadValue


def ctc(
    activations: Any, labels: Any, lengths: Any, has_gradient: bool = False
) -> tuple[Any, ...]:
    """Return the costs of sequences, and the gradients by the activations if wanted.

    ``activations`` are (time, batch, classes), ``labels`` (batch, length) and
    ``lengths`` (batch) int32, as `GpuArray_ctc` of the library says.
    """
    require_all("ctc", activations, labels, lengths)
    if activations.ndim != 3:
        raise BadValue(
            f"ctc: activations of shape {activations.shape}, expected time, batch and "
            "classes"
        )
    dtype, context = activations.dtype, activations.context
    shape, work = activations.shape, work_dtype(activations.dtype)
    outs = [activations.allocate((shape[1],), work, context, operation="ctc")]
    if has_gradient:
        outs.append(activations.allocate(shape, dtype, context, operation="ctc"))
    structs = [out.struct for out in outs] + [ffi.NULL] * (2 - len(outs))
    ins = [array.struct for array in (activations, labels, lengths)]
    check(lib.GpuArray_ctc(*structs, *ins))
    return tuple(outs)
