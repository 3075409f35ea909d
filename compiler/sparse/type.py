"""Theano's ``sparse.type``: the type of sparse matrices."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.sparse.types import SparseType as SparseType

_suggest_names(__name__)
