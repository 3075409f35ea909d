"""Theano's ``compile.profiling``: the statistics of calls."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.profiling.stats import ProfileStats as ProfileStats

_suggest_names(__name__)
