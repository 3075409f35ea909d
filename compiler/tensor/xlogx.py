"""The namespace ``T.xlogx``: products with logarithms that are 0 where a factor is."""

from __future__ import annotations

from gpuarray.compiler.ops.elemwise import math

__all__ = ["xlogx", "xlogy0"]

xlogx = math.FUNCTIONS["xlogx"]
xlogy0 = math.FUNCTIONS["xlogy0"]

# In Theano `T.xlogx` is this module; here it is the function as well.
xlogx.xlogx = xlogx  # type: ignore[attr-defined]
xlogx.xlogy0 = xlogy0  # type: ignore[attr-defined]
