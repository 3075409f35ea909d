"""Theano's ``gof``: the parts of graphs, where programs import their names from."""

from gpuarray.compiler.errors import (
    InconsistencyError as InconsistencyError,
    MissingInputError as MissingInputError,
)
from gpuarray.compiler.gof import (
    fg as fg,
    graph as graph,
    op as op,
    type as type,
)
from gpuarray.compiler.graph.core import (
    Apply as Apply,
    Constant as Constant,
    Op as Op,
    Variable as Variable,
)
from gpuarray.compiler.graph.fgraph import FunctionGraph as FunctionGraph
from gpuarray.compiler.graph.types import (
    Generic as Generic,
    Type as Type,
    generic as generic,
)
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__, "fg graph op type")
