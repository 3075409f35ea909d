"""The op of loops, by the name of the module that programs import it from."""

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.scan.scan import Scan

__all__ = ["Scan"]

suggest_names(__name__)
