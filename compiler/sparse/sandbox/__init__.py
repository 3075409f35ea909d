"""Theano's ``sparse.sandbox``: convolutions of flat images, and random matrices."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.sparse.sandbox import sp as sp, sp2 as sp2

_suggest_names(__name__, "sp sp2")
