"""Theano's ``sandbox``: former names of transfers, and random streams by MRG31k3p.

>>> import gpuarray.compiler.tensor as T
>>> from gpuarray.compiler import sandbox
>>> sandbox.gpuarray.basic_ops.gpu_from_host is T.gpu_from_host
True
"""

from gpuarray.compiler import gpuarray as gpuarray
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.sandbox import cuda as cuda, rng_mrg as rng_mrg

_suggest_names(__name__, "cuda gpuarray rng_mrg")
