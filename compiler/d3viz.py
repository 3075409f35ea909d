"""Theano's name of the pages that show graphs in a browser."""

from gpuarray.compiler.printing import d3viz

__all__ = ["d3viz"]
