"""The op ``Scan``, under the module name of Theano."""

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.scan.scan import Scan

__all__ = ["Scan"]

suggest_names(__name__)
