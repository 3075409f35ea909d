"""Graphs as text, under the names that users know."""

from gpuarray.compiler.graph.printing import (
    debugprint,
    min_informative_str,
    pprint,
)

pp = pprint
min_informative = min_informative_str

__all__ = ["debugprint", "min_informative", "min_informative_str", "pp", "pprint"]
