"""Theano's ``scalar``: functions of one element, and the dtypes that come of others.

A function of scalars is that of arrays, of which a scalar has no axes.

>>> from gpuarray.compiler import scalar
>>> scalar.upcast("int32", "float32")
'float64'
>>> print(scalar.exp(scalar.float32("x")).type)
TensorType(float32, scalar)
"""

import sys as _sys
from typing import Any as _Any

from gpuarray.compiler.graph.types import (
    TensorType as _TensorType,
    promoted as _promoted,
)
from gpuarray.compiler.names import unknown_name as _unknown_name
from gpuarray.compiler.ops.elemwise import math as _math
from gpuarray.compiler.tensor.groups import all_dtypes as _all_dtypes
from gpuarray.errors import public_names as _public_names

all_types = _all_dtypes
basic = _sys.modules[__name__]
upcast = _promoted
globals().update({name: _TensorType(name, ()) for name in all_types})
globals().update(
    {name: made for name, made in _math.FUNCTIONS.items() if name not in globals()}
)


identity = _math.FUNCTIONS["positive"]


def __getattr__(name: str) -> _Any:
    raise _unknown_name(__name__, name)


__all__ = _public_names(__name__, "basic")
