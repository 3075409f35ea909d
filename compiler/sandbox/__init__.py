"""Theano's ``sandbox``: former names of transfers, and random streams by MRG31k3p.

>>> import gpuarray.compiler.tensor as T
>>> from gpuarray.compiler import sandbox
>>> sandbox.gpuarray.basic_ops.gpu_from_host is T.gpu_from_host
True

Theano's first arrays of a device had one dtype, float32:

>>> sandbox.cuda.CudaNdarray.zeros((2, 3)).dtype
dtype('float32')
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from gpuarray._creation.filled import zeros
from gpuarray.array import Array
from gpuarray.compiler import gpuarray as gpuarray
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.variables import transfer
from gpuarray.compiler.sandbox import rng_mrg as rng_mrg


def _as_cuda_ndarray_variable(x: Any) -> Variable:
    """Return ``x`` on its context, or on the default one."""
    return transfer.as_gpuarray_variable(x, transfer.infer_context_name(x))


def _zeros(shape: Sequence[int]) -> Array:
    """Return zeros of float32; within an op on the op's context."""
    return zeros(shape, "float32")


_basic_ops = SimpleNamespace(
    as_cuda_ndarray_variable=_as_cuda_ndarray_variable,
    **{
        name: value
        for name, value in vars(gpuarray.basic_ops).items()
        if not name.startswith("_")
    },
)

cuda = SimpleNamespace(
    CudaNdarray=SimpleNamespace(zeros=_zeros),
    basic_ops=_basic_ops,
    cuda_available=False,
    cuda_enabled=False,
    dnn=gpuarray.dnn,
)
"""Theano's first way to a GPU. It says that it is not there: `gpuarray` is."""

__all__ = ["cuda", "gpuarray", "rng_mrg"]

suggest_names(__name__)
