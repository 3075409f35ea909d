"""Theano's ``compile.sharedvalue``: shared variables."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.shared import SharedVariable as SharedVariable, shared as shared

_suggest_names(__name__)
