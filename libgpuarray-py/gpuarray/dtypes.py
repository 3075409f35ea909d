"""The dtypes that a device holds: NumPy dtype, typecode, C name, work dtype.

Half is a storage type: kernels load it as float, compute in float and round when they
store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuarray.errors import BadType


@dataclass(frozen=True, slots=True)
class TypeRow:
    """An element type: its NumPy dtype, the library's code, its name in kernels."""

    dtype: np.dtype[Any]
    typecode: int
    c_name: str


# A test holds these rows against the library's own table.
TYPES = tuple(
    TypeRow(np.dtype(name), typecode, c_name)
    for name, typecode, c_name in (
        ("bool", 0, "ga_bool"),
        ("int8", 1, "ga_byte"),
        ("uint8", 2, "ga_ubyte"),
        ("int16", 3, "ga_short"),
        ("uint16", 4, "ga_ushort"),
        ("int32", 5, "ga_int"),
        ("uint32", 6, "ga_uint"),
        ("int64", 7, "ga_long"),
        ("uint64", 8, "ga_ulong"),
        ("float32", 11, "ga_float"),
        ("float64", 12, "ga_double"),
        ("float16", 23, "ga_half"),
    )
)
DTYPES = tuple(row.dtype for row in TYPES)
OF_TYPECODE = {row.typecode: row.dtype for row in TYPES}
_ROW_OF_DTYPE = {row.dtype: row for row in TYPES}

SIZE = 24
"""The typecode of a kernel's ``ga_size`` argument."""
SSIZE = 25
"""The typecode of a kernel's ``ga_ssize`` argument."""


def as_dtype(dtype: Any, operation: str = "dtype") -> np.dtype[Any]:
    """The NumPy dtype that ``dtype`` means, if a device can hold it; else BadType.

    >>> as_dtype("f4")
    dtype('float32')
    """
    try:
        found = _ROW_OF_DTYPE.get(dtype := np.dtype(dtype))
    except TypeError as error:
        raise BadType(f"{operation}: {error}") from None
    if found is None:
        found = _ROW_OF_DTYPE.get(dtype.newbyteorder("="))
    if found is None:
        names = ", ".join(str(row.dtype) for row in TYPES)
        raise BadType(
            f"{operation}: dtype {dtype} is not offered; these are: {names}. "
            "Convert on the host first: numpy.asarray(x).astype(...)"
        )
    return found.dtype


def dtype_to_typecode(dtype: Any) -> int:
    """The library's code of a dtype; a code passes through.

    >>> dtype_to_typecode("float32")
    11
    """
    return dtype if isinstance(dtype, int) else _ROW_OF_DTYPE[as_dtype(dtype)].typecode


def dtype_to_ctype(dtype: Any) -> str:
    """The name of a dtype in kernels.

    >>> dtype_to_ctype("int64")
    'ga_long'
    """
    return _ROW_OF_DTYPE[as_dtype(dtype)].c_name


def work_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype in which kernels compute with values of this one.

    >>> work_dtype("float16")
    dtype('float32')
    """
    dtype = as_dtype(dtype)
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def work_ctype(dtype: Any) -> str:
    """The name in kernels of the type that values of a dtype are computed in.

    >>> work_ctype("float16")
    'ga_float'
    """
    return dtype_to_ctype(work_dtype(dtype))
