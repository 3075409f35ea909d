"""The table of scalar operations, one row an op: their only list.

The rows are in one module a family; ``table`` defines a row.
"""

from gpuarray.scalars.table import SCALARS as SCALARS, Pair as Pair, Scalar as Scalar

# The order of the rows.
# isort: off
from gpuarray.scalars import arithmetic as arithmetic
from gpuarray.scalars import exponential as exponential
from gpuarray.scalars import trigonometric as trigonometric
from gpuarray.scalars import rounding as rounding
from gpuarray.scalars import choosing as choosing
from gpuarray.scalars import activations as activations
from gpuarray.scalars import erf as erf
from gpuarray.scalars import gammas as gammas
from gpuarray.scalars import incomplete as incomplete
from gpuarray.scalars import bessel as bessel
from gpuarray.scalars import comparing as comparing
from gpuarray.scalars import bits as bits
from gpuarray.scalars import floats as floats
from gpuarray.scalars import complex as complex
# isort: on

import numpy as np

PAIRS = (
    Pair(np.divmod, (arithmetic.floor_divide, arithmetic.mod)),
    Pair(np.modf, (rounding.fractional_part, rounding.integral_part)),
    Pair(np.frexp, (rounding.mantissa, rounding.exponent)),
)
"""Functions with two results."""
