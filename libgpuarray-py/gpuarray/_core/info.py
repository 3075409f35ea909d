"""Properties of dtypes and of the package, by the array API standard's names."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuarray import dtypes
from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.devices import device_names
from gpuarray._core.opening import context as find_context
from gpuarray.dtypes import as_dtype, as_numpy_knows, kind_of, parts_dtype
from gpuarray.errors import BadType, BadValue, GpuArrayError, host_errors

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the array API standard that the package follows."""
DType = np.dtype[Any]
Place = str | Context | None

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
_STANDARD = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
    *("uint64", "float32", "float64", "complex64", "complex128"),
)


# ---- dtypes ----


class FloatInfo(NamedTuple):
    """The result of ``finfo``: the limits of a dtype of floats, as Python numbers."""

    dtype: DType
    bits: int
    eps: float
    epsneg: float
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float
    resolution: float
    precision: int
    nmant: int
    nexp: int

    @property
    def tiny(self) -> float:
        """The smallest normal number, by NumPy's older name."""
        return self.smallest_normal


def _dtype_of(source: Any, operation: str) -> DType:
    return (
        source.dtype if isinstance(source, BaseArray) else as_dtype(source, operation)
    )


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a dtype of floats, or of an array's; of a complex one's parts.

    >>> gpuarray.finfo("float32").bits
    32
    """
    dtype = _dtype_of(type, "finfo")
    if kind_of(dtype) not in "fc":
        raise BadValue(f"finfo: {dtype} is no dtype of floats; use iinfo")
    dtype = parts_dtype(dtype)
    limits: Any = _ml_finfo(dtype) if dtype.kind != "f" else np.finfo(dtype)
    return FloatInfo(
        dtype=dtype,
        bits=int(limits.bits),
        eps=float(limits.eps),
        epsneg=float(limits.epsneg),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        smallest_subnormal=float(limits.smallest_subnormal),
        resolution=float(limits.resolution),
        precision=int(limits.precision),
        nmant=int(limits.nmant),
        nexp=int(limits.nexp),
    )


def _ml_finfo(dtype: DType) -> Any:
    from ml_dtypes import finfo as of_dtype

    make: Any = of_dtype
    return make(dtype)


def iinfo(type: Any, /) -> np.iinfo[Any]:
    """The limits of a dtype of integers, or of an array's.

    >>> gpuarray.iinfo("int8").max
    127
    """
    dtype = _dtype_of(type, "iinfo")
    if dtype.kind not in "iu":
        raise BadValue(f"iinfo: {dtype} is no dtype of integers; use finfo")
    return np.iinfo(dtype)


def isdtype(dtype: npt.DTypeLike, kind: Any) -> builtins.bool:
    """Return whether a dtype is of a kind, or of one of several.

    >>> gpuarray.isdtype("float32", ("integral", "real floating"))
    True
    """
    checked = as_dtype(dtype, "isdtype")
    for member in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(member, str) and member in _KINDS:
            is_of_kind = kind_of(checked) in _KINDS[member]
        else:
            is_of_kind = checked == _named(member)
        if is_of_kind:
            return True
    return False


def _named(kind: Any) -> DType:
    try:
        return as_dtype(kind, "isdtype")
    except BadType:
        names = ", ".join(map(repr, _KINDS))
        raise BadValue(
            f"isdtype: got {kind!r}, expected a dtype, or one of {names}"
        ) from None


def can_cast(from_: Any, to: npt.DTypeLike, casting: str = "safe") -> builtins.bool:
    """Return True if a dtype, or an array's, may be cast to another by a rule.

    >>> gpuarray.can_cast("int32", "float64")
    True
    """
    source, target = _dtype_of(from_, "can_cast"), as_dtype(to, "can_cast")
    dtypes.check_casting(casting, "can_cast")
    if source == target:
        return True
    known, back = as_numpy_knows((source, target))
    if back or known != (source, target):
        return _can_cast_bfloat16(source, target, casting)
    return np.can_cast(source, target, casting)  # type: ignore[arg-type]


def _can_cast_bfloat16(source: DType, target: DType, casting: str) -> builtins.bool:
    """Return whether bfloat16 casts: as float16, and safely to neither of the two."""
    if casting == "same_kind":
        return dtypes.can_cast(source, target)
    if casting == "unsafe":
        return True
    half = np.dtype(np.float16)
    if half in (source, target) or casting in ("no", "equiv"):
        return False
    source, target = (half if kind_of(x) != x.kind else x for x in (source, target))
    return np.can_cast(source, target, "safe")


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the promoted dtype of arrays, dtypes and Python numbers.

    >>> gpuarray.result_type("int32", "float32", 1.5)
    dtype('float64')
    """
    if not arrays_and_dtypes:
        raise BadValue("result_type: got nothing, expected arrays or dtypes")
    return dtypes.result_type(*(_operand(operand) for operand in arrays_and_dtypes))


def promote_types(type1: npt.DTypeLike, type2: npt.DTypeLike) -> DType:
    """Return the smallest dtype to which two dtypes may be cast safely.

    >>> gpuarray.promote_types("int8", "uint8")
    dtype('int16')
    """
    pair = (as_dtype(one, "promote_types") for one in (type1, type2))
    return dtypes.result_type(*pair)


def common_type(*arrays: Any) -> type:
    """Return the scalar type of floats in which arrays, also of integers, compute.

    >>> gpuarray.common_type(gpuarray.arange(2), gpuarray.zeros(2, "float32")).__name__
    'float64'
    """
    with host_errors("common_type"):
        return np.common_type(*(np.empty(0, _kept(x)) for x in arrays))


def _kept(x: Any) -> DType:
    return x.dtype if hasattr(x, "dtype") else as_dtype(x, "common_type")


def min_scalar_type(a: Any, /) -> DType:
    """Return the smallest dtype that holds a number; of an array with axes its own.

    Of an array of no axes that is on a device the element is waited for.

    >>> gpuarray.min_scalar_type(300), gpuarray.min_scalar_type(gpuarray.zeros(2))
    (dtype('uint16'), dtype('float64'))
    """
    if not isinstance(a, BaseArray):
        return np.min_scalar_type(a)
    return a.dtype if a.ndim else np.min_scalar_type(a.get())


def _operand(value: Any) -> Any:
    if isinstance(value, BaseArray | np.ndarray | np.generic):
        return value.dtype
    if isinstance(value, builtins.bool):
        return np.dtype(np.bool_)
    for number in (int, float, complex):
        if isinstance(value, number):
            return number
    return as_dtype(value, "result_type")


def astype(
    x: Any,
    dtype: npt.DTypeLike,
    *,
    copy: builtins.bool = True,
    device: Place = None,
) -> Any:
    """Return the elements cast to a dtype, on another context if ``device`` names one.

    It is the array itself if ``copy`` is false and nothing is to be done.

    >>> gpuarray.astype(gpuarray.arange(2), "float32").dtype
    dtype('float32')
    """
    if not isinstance(x, BaseArray):
        raise BadType(
            f"astype: got {type(x).__name__}, expected a gpuarray array; use "
            "gpuarray.asarray(x)"
        )
    converted = x.astype(dtype, copy=copy)
    return converted if device is None else converted.transfer(find_context(device))


# ---- the package ----


class NamespaceInfo:
    """The result of ``__array_namespace_info__()``: devices, dtypes, capabilities."""

    __module__ = "gpuarray"

    def capabilities(self) -> dict[str, Any]:
        """Return the optional features of the standard: masks as indices, and so on."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 32,
        }

    def default_device(self) -> Context:
        """Return the context where arrays are made by default."""
        return find_context(None)

    def devices(self) -> tuple[Context, ...]:
        """Return the contexts of all devices found, which it opens."""
        return tuple(dict.fromkeys((self.default_device(), *_opened())))

    def default_dtypes(self, *, device: Place = None) -> dict[str, DType]:
        """Return the default dtypes of new arrays on a context."""
        double = find_context(device).has_double
        floats = np.dtype(np.float64 if double else np.float32)
        return {
            "real floating": floats,
            "complex floating": np.result_type(floats, 1j),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(
        self, *, device: Place = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes of a context by name, of a kind if given."""
        context = find_context(device)
        offered = {
            name: np.dtype(name)
            for name in _STANDARD
            if context.has_double or np.dtype(name) not in dtypes.DOUBLES
        }
        if kind is None:
            return offered
        return {name: dtype for name, dtype in offered.items() if isdtype(dtype, kind)}


def _opened() -> list[Context]:
    """Return the contexts of the devices found, without those that do not open."""
    contexts = []
    for kind in ("cuda", "opencl"):
        for name in device_names(kind)[0]:
            try:
                contexts.append(find_context(name))
            except GpuArrayError:
                continue
    return contexts


def __array_namespace_info__() -> NamespaceInfo:
    """Return the package's devices, dtypes and capabilities.

    >>> info = gpuarray.__array_namespace_info__()
    >>> info.default_device() in info.devices()
    True
    """
    return NamespaceInfo()
