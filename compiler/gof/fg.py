"""Theano's ``gof.fg``: graphs that may be changed."""

from gpuarray.compiler.errors import MissingInputError as MissingInputError
from gpuarray.compiler.graph.fgraph import FunctionGraph as FunctionGraph
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__)
