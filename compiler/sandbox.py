"""Where older programs of Theano find what moves arrays between host and device.

>>> import gpuarray.compiler.tensor as T
>>> from gpuarray.compiler import sandbox
>>> sandbox.gpuarray.basic_ops.gpu_from_host is T.gpu_from_host
True
"""

from __future__ import annotations

from types import SimpleNamespace

from gpuarray.compiler.ops.transfer import gpu_from_host, host_from_gpu

_basic_ops = SimpleNamespace(gpu_from_host=gpu_from_host, host_from_gpu=host_from_gpu)

cuda = SimpleNamespace(basic_ops=_basic_ops)
gpuarray = SimpleNamespace(basic_ops=_basic_ops)

__all__ = ["cuda", "gpuarray"]
