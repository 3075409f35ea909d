"""Graphs as text and as pictures; printing of values during the run."""

from gpuarray.compiler.graph.printing import (
    FunctionPrinter as FunctionPrinter,
    IgnorePrinter as IgnorePrinter,
    OperatorPrinter as OperatorPrinter,
    PatternPrinter as PatternPrinter,
    min_informative_str as min_informative_str,
    pprint as pprint,
)
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.control.debugging import Print as Print
from gpuarray.compiler.printing.dot import (
    pydotprint as pydotprint,
    pydotprint_variables as pydotprint_variables,
)
from gpuarray.compiler.printing.tree import debugprint as debugprint
from gpuarray.compiler.printing.view import d3viz as d3viz, viz as viz

pp = pprint
min_informative = min_informative_str

_suggest_names(__name__)
