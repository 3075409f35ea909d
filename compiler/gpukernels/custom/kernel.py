"""Kernel: the text of an op's own kernel, and the kinds of its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.parameters import QUALIFIERS, declared, pointed_dtypes
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.dtypes import (
    INPUT,
    NAME_TO_DTYPE,
    OF_TYPECODE,
    OFFSET,
    SIZE,
    SSIZE,
    as_dtype,
)
from gpuarray.errors import KernelError

POINTER = "*"
_READ = "input"
POINTERS = frozenset({POINTER, _READ})
"""The kinds of parameters that are pointers."""
_CODES = {INPUT: _READ, OFFSET: "offset", SIZE: "size", SSIZE: "ssize"}
_OF_KIND: dict[str, Any] = {POINTER: Array, **{_CODES[code]: code for code in _CODES}}
_SIZES = {
    "offset": np.dtype(np.uint64),
    "size": np.dtype(np.uint64),
    "ssize": np.dtype(np.int64),
}


def kind_of_param(param: Any) -> str:
    """Return the kind of a parameter: ``*``, ``input``, a size or a dtype's name.

    >>> kind_of_param(gpuarray.GpuArray), kind_of_param(gpuarray.SIZE)
    ('*', 'size')
    >>> kind_of_param("ssize"), kind_of_param(np.float32)
    ('ssize', 'float32')
    """
    if isinstance(param, str) and param in _OF_KIND:
        return param
    if isinstance(param, type) and issubclass(param, Array):
        return POINTER
    if isinstance(param, int) and not isinstance(param, bool):
        known = _CODES.get(param) or OF_TYPECODE.get(param)
        if known is not None:
            return str(known)
    try:
        return as_dtype(param).name
    except (TypeError, ValueError):
        raise GraphTypeError(
            f"Kernel: params holds {param!r}; expected gpuarray.GpuArray, "
            "gpuarray.SIZE, gpuarray.SSIZE or a dtype"
        ) from None


@dataclass(frozen=True)
class Kernel:
    """A kernel in CLUDA: its text, the kinds of its parameters, names for C code.

    ``params`` has for each parameter of the function ``name`` the class
    ``gpuarray.GpuArray`` for a pointer, ``gpuarray.INPUT`` for one that it only reads
    by, ``gpuarray.SIZE``, ``gpuarray.SSIZE``, a dtype, or ``gpuarray.OFFSET`` for the
    offset of the array before it; they are kept as texts: ``*``, ``input``, ``size``,
    ``ssize``, ``offset`` or a dtype's name.
    ``flags`` change nothing: a device that lacks a type says so. ``codevar``,
    ``objvar``, ``fname`` and ``sname`` name, in the op's C code, the text, the compiled
    kernel, and the functions that launch it.

    Raises TypeError where the text declares other parameters than ``params``.

    >>> kernel = Kernel(
    ...     code="KERNEL void k(GLOBAL_MEM ga_float *x, ga_size n) { x[0] = n; }",
    ...     name="k",
    ...     params=[gpuarray.GpuArray, gpuarray.SIZE],
    ...     flags=Kernel.get_flags("float32"),
    ... )
    >>> kernel.params, kernel.objvar, kernel.fname
    (('*', 'size'), 'k_k', 'k_call')
    """

    code: str
    params: Any
    name: str
    flags: Any = field(default=None, compare=False)
    codevar: str | None = None
    objvar: str | None = None
    fname: str | None = None
    sname: str | None = None

    def __post_init__(self) -> None:
        kinds = tuple(kind_of_param(param) for param in self.params)
        object.__setattr__(self, "params", kinds)
        object.__setattr__(self, "flags", dict(self.flags or {}))
        for attribute, default in (
            ("codevar", f"kcode_{self.name}"),
            ("objvar", f"k_{self.name}"),
            ("fname", f"{self.name}_call"),
            ("sname", f"{self.name}_scall"),
        ):
            if getattr(self, attribute) is None:
                object.__setattr__(self, attribute, default)
        check_params(self)

    @staticmethod
    def get_flags(*types: Any) -> dict[str, bool]:
        """Return the device features that kernels over these dtypes need.

        >>> Kernel.get_flags("float64", "int8")["have_double"]
        True
        """
        dtypes = [_dtype_of(source) for source in types]
        return {
            "have_double": any(dtype.name == "float64" for dtype in dtypes),
            "have_small": any(dtype.itemsize < 4 for dtype in dtypes),
            "have_complex": any(dtype.kind == "c" for dtype in dtypes),
            "have_half": any(dtype.name == "float16" for dtype in dtypes),
        }

    @property
    def types(self) -> list[Any]:
        """The parameters' kinds as `gpuarray.GpuKernel` takes them."""
        return [_OF_KIND.get(kind) or as_dtype(kind) for kind in self.params]

    def compiled(self, context: Context, asked_by: str = "Kernel") -> GpuKernel:
        """Return the kernel on a context, compiled at the first request.

        Raises KernelError, which begins with ``asked_by``, if it does not compile.
        """
        key = "op_kernel", self.code, self.name, self.params
        kernel: GpuKernel | None = context._kernels.get(key)
        if kernel is None:
            try:
                kernel = GpuKernel(self.code, self.name, self.types, context)
            except KernelError as error:
                raise KernelError(f"{asked_by}:\n{error.details}") from None
            context._kernels[key] = kernel
        return kernel


def _dtype_of(source: Any) -> np.dtype[Any]:
    """Return the dtype of a variable, a type or a dtype."""
    kind = getattr(source, "type", source)
    return as_dtype(
        getattr(kind, "dtype", kind) if not isinstance(kind, type) else kind,
        "Kernel.get_flags",
    )


# ---- declared parameters ----


def _declared_kind(text: str) -> str | np.dtype[Any] | None:
    """Return a declared parameter's kind; None for a type of the kernel's own."""
    if "*" in text or "[" in text:
        return POINTER
    words = QUALIFIERS.sub(" ", text).split()
    return NAME_TO_DTYPE.get(" ".join(words[:-1]))


@lru_cache(maxsize=256)
def pointed(kernel: Kernel) -> tuple[np.dtype[Any] | None, ...]:
    """Return the dtypes that parameters point to; None where there is no plain type.

    >>> text = "KERNEL void k(GLOBAL_MEM ga_float *x, ga_int n) {}"
    >>> pointed(Kernel(text, ["*", "int32"], "k"))
    (dtype('float32'), None)
    """
    dtypes = pointed_dtypes(kernel.code, kernel.name)
    return (None,) * len(kernel.params) if dtypes is None else dtypes


def _agree(kind: str, declared: str | np.dtype[Any]) -> bool:
    """True if the text takes an argument of a kind; signs of integers may differ."""
    if kind in POINTERS or isinstance(declared, str):
        return kind in POINTERS and declared == POINTER
    param = _SIZES.get(kind) or as_dtype(kind)
    whole = param.kind in "iu" and declared.kind in "iu"
    return param == declared or (whole and param.itemsize == declared.itemsize)


def mistakes(kernel: Kernel, texts: Sequence[str]) -> Iterator[str]:
    """Describe differences between ``params`` and the declared parameters."""
    if len(texts) != len(kernel.params):
        yield (
            f"params has {len(kernel.params)} entries, the text declares "
            f"{len(texts)} parameters"
        )
        return
    for place, (kind, text) in enumerate(zip(kernel.params, texts, strict=True)):
        expected = _declared_kind(text)
        if expected is not None and not _agree(kind, expected):
            yield f"parameter {place} is {kind!r} in params, {text!r} in the text"


def check_params(kernel: Kernel) -> None:
    """Raise if the text declares other parameters, or no such kernel."""
    if not re.search(rf"\b{re.escape(kernel.name)}\b", kernel.code):
        raise GraphValueError(
            f"Kernel {kernel.name!r}: the text holds no function of this name"
        )
    texts = declared(kernel.code, kernel.name)
    wrong = next(mistakes(kernel, texts), None) if texts is not None else None
    if wrong is not None:
        raise GraphTypeError(
            f"Kernel {kernel.name!r}: {wrong}; params names each parameter in order: "
            "gpuarray.GpuArray for a pointer, gpuarray.SIZE, gpuarray.SSIZE, or a dtype"
        )
