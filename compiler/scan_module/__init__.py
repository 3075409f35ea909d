"""Loops: ``scan``, ``map``, ``reduce`` and folds, under Theano's names."""

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.scan_module import scan_op, scan_utils
from gpuarray.compiler.scan_module.scan import scan
from gpuarray.compiler.scan_module.scan_checkpoints import scan_checkpoints
from gpuarray.compiler.scan_module.scan_utils import until
from gpuarray.compiler.scan_module.scan_views import foldl, foldr, map, reduce

__all__ = [
    "foldl",
    "foldr",
    "map",
    "reduce",
    "scan",
    "scan_checkpoints",
    "scan_op",
    "scan_utils",
    "until",
]

suggest_names(__name__)
