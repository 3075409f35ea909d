"""Loops: ``scan``, ``map``, ``reduce`` and folds, under Theano's names."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.scan_module import scan_op as scan_op, scan_utils as scan_utils
from gpuarray.compiler.scan_module.scan import scan as scan
from gpuarray.compiler.scan_module.scan_checkpoints import (
    scan_checkpoints as scan_checkpoints,
)
from gpuarray.compiler.scan_module.scan_utils import until as until
from gpuarray.compiler.scan_module.scan_views import (
    foldl as foldl,
    foldr as foldr,
    map as map,
    reduce as reduce,
)

_suggest_names(__name__, "scan_op scan_utils")
