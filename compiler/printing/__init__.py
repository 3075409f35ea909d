"""Graphs as text and as pictures; printing of values during the run."""

from gpuarray.compiler.graph.printing import (
    FunctionPrinter,
    IgnorePrinter,
    OperatorPrinter,
    PatternPrinter,
    min_informative_str,
    pprint,
)
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.control.debugging import Print
from gpuarray.compiler.printing.dot import pydotprint, pydotprint_variables
from gpuarray.compiler.printing.tree import debugprint
from gpuarray.compiler.printing.view import d3viz, viz

pp = pprint
min_informative = min_informative_str

__all__ = [
    "FunctionPrinter",
    "IgnorePrinter",
    "OperatorPrinter",
    "PatternPrinter",
    "Print",
    "d3viz",
    "debugprint",
    "min_informative",
    "min_informative_str",
    "pp",
    "pprint",
    "pydotprint",
    "pydotprint_variables",
    "viz",
]

suggest_names(__name__)
