"""The namespace ``T.opt``."""

from __future__ import annotations

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.control.debugging import Assert, assert_op

assert_ = assert_op

__all__ = ["Assert", "assert_", "assert_op"]

suggest_names(__name__)
