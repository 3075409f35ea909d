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

    ``activations`` are (time, batch, classes), before a softmax, floats; ``labels``
    (batch, length) int32 with -1 behind a shorter sequence, class 0 is the blank;
    ``lengths`` (batch) int32 are the times of each. A cost is minus the logarithm of
    the probability of the labels, inf for labels that need more time.

    >>> activations = gpuarray.zeros((2, 1, 3))  # all classes alike
    >>> labels = gpuarray.asarray([[1]], "int32")
    >>> (costs,) = gpuarray.nn.ctc(activations, labels, gpuarray.asarray([2], "int32"))
    >>> print(gpuarray.exp(-costs) * 9)  # of nine paths: 11, 01 and 10
    [3.]
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
