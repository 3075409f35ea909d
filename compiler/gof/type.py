"""Theano's ``gof.type``: the base of types."""

from gpuarray.compiler.graph.types import (
    Generic as Generic,
    Type as Type,
    generic as generic,
)
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__)
