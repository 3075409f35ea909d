"""The dtypes that a device holds: NumPy dtype, typecode, C name, work dtype.

float16 and bfloat16 are storage types: kernels load them as float, compute in float and
round when they store, and before they compare or count. NumPy's bfloat16 comes from the
package ml_dtypes, which arrays of it need.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gpuarray.errors import BadArgument, BadType, BadValue, LibraryMissing

# What is public; the package itself uses more.
__all__ = [
    "INPUT",
    "OFFSET",
    "SIZE",
    "SSIZE",
    "bfloat16",
    "dtype_to_ctype",
    "dtype_to_typecode",
    "get_common_dtype",
    "get_np_obj",
    "parse_c_arg_backend",
    "register_dtype",
    "upcast",
]


def __dir__() -> list[str]:
    return __all__


try:
    from ml_dtypes import bfloat16 as _bfloat16
except ImportError:
    _bfloat16 = None


class TypeRow(NamedTuple):
    """An element type: its NumPy dtype, the library's code, its name in kernels."""

    dtype: np.dtype[Any]
    typecode: int
    c_name: str


# A test compares these rows with the library's own table.
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
        (_bfloat16, 17, "ga_bfloat16"),
        ("complex64", 14, "ga_cfloat"),
        ("complex128", 15, "ga_cdouble"),
    )
    if name is not None
)
DTYPES = tuple(row.dtype for row in TYPES)
OF_TYPECODE = {row.typecode: row.dtype for row in TYPES}
_ROW_OF_DTYPE = {row.dtype: row for row in TYPES}
_OF_NAME = {row.dtype.name: row.dtype for row in TYPES}
_BFLOAT16 = OF_TYPECODE.get(17, np.dtype("V2"))  # V2: the dtype of no array
_HALF, _FLOAT = np.dtype(np.float16), np.dtype(np.float32)
_WORK = {_HALF: _FLOAT, _BFLOAT16: _FLOAT}
DOUBLES = frozenset({np.dtype(np.float64), np.dtype(np.complex128)})
"""The dtypes that need a device with double precision."""
_PARTS = {np.dtype(c): np.dtype(f) for c, f in (("c8", "f4"), ("c16", "f8"))}

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
CASTINGS: tuple[str, ...] = get_args(Casting)
"""NumPy's casting rules."""

INPUT = -3
"""The typecode of a kernel's pointer argument through which it does not write."""
OFFSET = -2
"""The typecode of a ``ga_size`` argument: the ``offset`` of the array before it."""
SIZE = 24
"""The typecode of a kernel's ``ga_size`` argument."""
SSIZE = 25
"""The typecode of a kernel's ``ga_ssize`` argument."""


def as_dtype(dtype: Any, operation: str = "dtype") -> np.dtype[Any]:
    """Return the NumPy dtype of a dtype or a typecode; else raise BadType.

    >>> as_dtype("f4")
    dtype('float32')
    """
    if isinstance(dtype, str):
        if dtype in _OF_NAME:
            return _OF_NAME[dtype]
        if dtype == "bfloat16":
            dtype = bfloat16()
    elif isinstance(dtype, int) and not isinstance(dtype, bool):
        dtype = OF_TYPECODE.get(dtype, dtype)
    try:
        row = _ROW_OF_DTYPE.get(dtype := np.dtype(dtype))
    except (TypeError, ValueError) as error:
        raise BadType(f"{operation}: {error}; dtypes are: {_names()}") from None
    if row is None:
        row = _ROW_OF_DTYPE.get(dtype.newbyteorder("="))
    if row is None:
        raise BadArgument(
            f"{operation}: dtype {dtype} is not offered; these are: {_names()}. "
            "Convert on the host first: numpy.asarray(x).astype(...)"
        )
    return row.dtype


def _names() -> str:
    return ", ".join(str(row.dtype) for row in TYPES)


def bfloat16() -> Any:
    """Return the scalar type of bfloat16; LibraryMissing without the package ml_dtypes.

    >>> np.dtype(gpuarray.dtypes.bfloat16()).itemsize
    2
    """
    if _bfloat16 is None:
        raise LibraryMissing(
            "bfloat16: NumPy has no such dtype without the package ml_dtypes: "
            "pip install ml_dtypes"
        )
    return _bfloat16


def of_typecode(typecode: int) -> np.dtype[Any]:
    """Return the dtype of a code of the library; LibraryMissing as in ``bfloat16``.

    >>> of_typecode(11)
    dtype('float32')
    """
    dtype = OF_TYPECODE.get(typecode)
    return np.dtype(bfloat16()) if dtype is None else dtype


def kind_of(dtype: np.dtype[Any]) -> str:
    """Return NumPy's letter of a dtype's kind; bfloat16, to NumPy a void, is a float.

    >>> kind_of(np.dtype("uint8"))
    'u'
    """
    return "f" if dtype == _BFLOAT16 else dtype.kind


def parts_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a complex number's parts; of any other dtype itself.

    >>> parts_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    return _PARTS.get(dtype, dtype)


def as_numpy_knows(
    operands: tuple[Any, ...],
) -> tuple[tuple[Any, ...], dict[Any, np.dtype[Any]]]:
    """Return the operands of a promotion with bfloat16 replaced, and the way back.

    NumPy promotes bfloat16 with few dtypes, and with a Python float not to itself. Here
    it promotes as float16 does, and with float16 to float32.
    """
    if not any(_is_bfloat16(operand) for operand in operands):
        return operands, {}
    if _HALF in operands:
        return tuple(_FLOAT if _is_bfloat16(x) else x for x in operands), {}
    known = tuple(_HALF if _is_bfloat16(x) else x for x in operands)
    return known, {_HALF: _BFLOAT16}


def _is_bfloat16(operand: Any) -> bool:
    return isinstance(operand, np.dtype) and operand == _BFLOAT16


def result_type(*operands: Any) -> np.dtype[Any]:
    """Return NumPy's ``result_type`` of dtypes and weak Python types, with bfloat16.

    >>> result_type(np.dtype("float32"), complex)
    dtype('complex64')
    """
    known, back = as_numpy_knows(operands)
    promoted: np.dtype[Any] = np.result_type(
        *(x(0) if isinstance(x, type) else x for x in known)
    )
    return back.get(promoted, promoted)


def check_casting(casting: Any, operation: str) -> None:
    """Raise BadArgument unless it is one of NumPy's casting rules."""
    if not isinstance(casting, str) or casting not in CASTINGS:
        raise BadArgument(
            f"{operation}: casting is {casting!r:.60}, expected one of "
            f"{', '.join(map(repr, CASTINGS))}"
        )


def can_cast(
    source: np.dtype[Any], target: np.dtype[Any], casting: Casting = "same_kind"
) -> bool:
    """Return True if NumPy's rule lets ``source`` be stored as ``target``."""
    source, target = (_HALF if x == _BFLOAT16 else x for x in (source, target))
    return np.can_cast(source, target, casting)


def warn_of_lost_parts(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Give NumPy's ComplexWarning if complex numbers are stored as real ones."""
    if source.kind == "c" and target.kind not in "cb":
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=callers_level(),
        )


def callers_level() -> int:
    """Return the stack level of the package's caller, as ``warnings.warn`` counts."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(frame: FrameType) -> bool:
    module: str = frame.f_globals.get("__name__", "")
    return module.partition(".")[0] == "gpuarray"


def dtype_to_typecode(dtype: Any) -> int:
    """Return the library's code of a dtype; a code passes through.

    >>> gpuarray.dtypes.dtype_to_typecode("float32")
    11
    """
    return dtype if isinstance(dtype, int) else _ROW_OF_DTYPE[as_dtype(dtype)].typecode


def dtype_to_ctype(dtype: Any) -> str:
    """Return the name of a dtype in kernels.

    >>> gpuarray.dtypes.dtype_to_ctype("int64")
    'ga_long'
    """
    return _ROW_OF_DTYPE[as_dtype(dtype)].c_name


def work_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype in which kernels compute with values of this one.

    >>> work_dtype("float16")
    dtype('float32')
    """
    stored = as_dtype(dtype)
    return _WORK.get(stored, stored)


def work_ctype(dtype: Any) -> str:
    """Return the name in kernels of the type that values of a dtype are computed in.

    >>> work_ctype("float16")
    'ga_float'
    """
    return _ROW_OF_DTYPE[work_dtype(dtype)].c_name


# ---- libgpuarray 0.7's names ----

_SPELLINGS = {
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
    "size_t": "uint64",
    "ssize_t": "int64",
    "ptrdiff_t": "int64",
    "ga_size": "uint64",
    "ga_ssize": "int64",
}
NAME_TO_DTYPE: dict[str, np.dtype[Any]] = {
    **{row.c_name: row.dtype for row in TYPES},
    **{str(row.dtype): row.dtype for row in TYPES},
    **{name: np.dtype(dtype) for name, dtype in _SPELLINGS.items()},
}
"""The dtype of a type's name, as C, the kernel language or NumPy has it."""


def get_np_obj(obj: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Return a NumPy array of one element with the dtype of an array or a number.

    >>> gpuarray.dtypes.get_np_obj(np.float32(3)).dtype
    dtype('float32')
    """
    return np.ones(1, obj.dtype if hasattr(obj, "dtype") else np.asarray(obj).dtype)


def get_common_dtype(obj1: Any, obj2: Any, allow_double: bool) -> np.dtype[Any]:
    """Return the dtype of NumPy's sum of two arrays or numbers.

    Without ``allow_double`` float64 becomes float32 and complex128 complex64.

    >>> gpuarray.dtypes.get_common_dtype(np.float32(1), 2.0, allow_double=True)
    dtype('float32')
    """
    weak = int, float, complex
    operands = tuple(
        type(x) if type(x) in weak else as_dtype(get_np_obj(x).dtype)
        for x in (obj1, obj2)
    )
    common = result_type(*operands)
    single = {"d": "float32", "D": "complex64"}
    return common if allow_double else np.dtype(single.get(common.char, common))


def upcast(*args: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy promotes dtypes to.

    >>> gpuarray.dtypes.upcast("int8", "uint8")
    dtype('int16')
    """
    return result_type(*(as_dtype(argument, "upcast") for argument in args))


def register_dtype(dtype: Any, c_names: str | Iterable[str]) -> None:
    """Register further C names of a dtype, for declarations.

    >>> gpuarray.dtypes.register_dtype("float32", ["weight"])
    >>> gpuarray.dtypes.parse_c_arg_backend("weight x", lambda dtype, name: dtype, None)
    dtype('float32')
    """
    known = as_dtype(dtype, "register_dtype")
    names = [c_names] if isinstance(c_names, str) else c_names
    NAME_TO_DTYPE.update(dict.fromkeys(names, known))


def parse_c_arg_backend(
    c_arg: str, scalar_arg_class: Callable[..., Any], vec_arg_class: Callable[..., Any]
) -> Any:
    """An argument of a C declaration: ``class(dtype, name)`` of one of two classes.

    >>> parse = gpuarray.dtypes.parse_c_arg_backend
    >>> parse("const float *x", list, lambda dtype, name: (name, dtype))
    ('x', dtype('float32'))
    """
    is_array = "*" in c_arg or "[" in c_arg
    plain = re.sub(r"[*]|\[\s*\]|\b(const|volatile)\b", " ", c_arg)
    *words, name = plain.split() or [""]
    dtype = NAME_TO_DTYPE.get(" ".join(words))
    if dtype is None:
        raise BadValue(f"{c_arg!r}: the type {' '.join(words)!r} is not known")
    return (vec_arg_class if is_array else scalar_arg_class)(dtype, name)
