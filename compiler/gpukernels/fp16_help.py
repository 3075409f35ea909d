"""Load, store and work types of float16 and bfloat16, which are storage types.

Reads go through the function of `load_w`, writes through that of `write_w`, and values
between have the type of `work_dtype`. Other dtypes need no conversion.

>>> from gpuarray.compiler.gpukernels.fp16_help import load_w, work_dtype, write_w
>>> load_w("float16"), work_dtype("float16"), write_w("bfloat16")
('ga_half2float', 'float32', 'ga_float2bfloat16')
>>> load_w("float64"), work_dtype("float64"), write_w("float64")
('', 'float64', '')
"""

from __future__ import annotations

from typing import Any

from gpuarray import dtypes
from gpuarray.dtypes import dtype_to_ctype, dtype_to_typecode

__all__ = ["dtype_to_ctype", "dtype_to_typecode", "load_w", "work_dtype", "write_w"]

_LOADS = {"float16": "ga_half2float", "bfloat16": "ga_bfloat162float"}
_WRITES = {"float16": "ga_float2half", "bfloat16": "ga_float2bfloat16"}


def load_w(dtype: Any) -> str:
    """Return the function that converts an element to its work type on a read.

    >>> f"{load_w('float16')}(x[i])", f"{load_w('float32')}(x[i])"
    ('ga_half2float(x[i])', '(x[i])')
    """
    return _LOADS.get(dtypes.as_dtype(dtype).name, "")


def write_w(dtype: Any) -> str:
    """Return the function that converts a work value to its storage type.

    >>> write_w("float16"), write_w("int8")
    ('ga_float2half', '')
    """
    return _WRITES.get(dtypes.as_dtype(dtype).name, "")


def work_dtype(dtype: Any) -> str:
    """Return the name of the dtype that elements are computed in.

    >>> work_dtype("bfloat16"), work_dtype("int8")
    ('float32', 'int8')
    """
    return dtypes.work_dtype(dtype).name
