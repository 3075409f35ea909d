"""Functions of single elements that keep zero, and parts of complex ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuarray._sparse.base import make, require
from gpuarray._sparse.conversion import canonical, copied
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType

KEEP_ZERO = (
    *("arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1", "floor"),
    *("log1p", "rad2deg", "rint", "sign", "sin", "sinh", "sqrt", "square", "tan"),
    *("tanh", "trunc", "cbrt"),
)
"""The functions of one element with f(0) = 0 that are methods."""


def keeping_zero(name: str) -> Callable[[Any], Any]:
    """Return the method of a function of the table with f(0) = 0."""
    function = FUNCTIONS[name]

    def method(a: Any) -> Any:
        a = canonical(a)
        return a._with_values(function(a._values))

    method.__name__ = name
    method.__qualname__ = f"sparray.{name}"
    method.__doc__ = (
        f"Return ``{name}`` of each element, sparse; duplicates are summed first.\n\n"
        f">>> A = gpuarray.sparse.csr_array([[0.0, 0.0], [0.5, 0.0]])\n"
        f">>> A.{name}().nnz\n"
        "1\n"
    )
    return method


def absolute(a: Any) -> Any:
    """Return the absolute values; duplicates are summed first."""
    a = canonical(a)
    return a._with_values(abs(a._values))


def negative(a: Any) -> Any:
    """Return the negated array; BadType of bool."""
    if a.dtype.kind == "b":
        raise BadType("negative: an array of bool; convert it: A.astype('int8')")
    return a._with_values(-a._values)


def conjugate(a: Any, copy: bool = True) -> Any:
    """Return the complex conjugates; with ``copy=False`` real arrays themselves.

    >>> gpuarray.sparse.csr_array([[0, 1 + 2j]]).conj().data.tolist()
    [(1-2j)]
    """
    require(a, "conjugate")
    if a.dtype.kind != "c":
        return copied(a) if copy else a
    return a._with_values(a._values.conj())


def astype(a: Any, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
    """Return the values cast to a dtype; with ``copy=False`` itself, if it has that.

    >>> gpuarray.sparse.csr_array([[0, 1]]).astype("float32").dtype
    dtype('float32')
    """
    target = as_dtype(dtype, "astype")
    if a.dtype == target:
        return copied(a) if copy else a
    a = canonical(a) if _merges(a.dtype, target) else a
    return a._with_values(a._values.astype(target, casting=casting))


def _merges(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Return True if sums of duplicates may differ from sums of what they become."""
    return not np.can_cast(source, target, "safe") if source.kind != "V" else True


def real(a: Any) -> Any:
    """Return the real parts, on the same indices; real arrays themselves."""
    if a.dtype.kind != "c":
        return a
    return a._with_values(a._values.real.copy())


def imag(a: Any) -> Any:
    """Return the imaginary parts, on the same indices."""
    return a._with_values(a._values.imag.copy())


def transpose(a: Any, axes: Any = None, copy: bool = False) -> Any:
    """Return the transposed array, a view: CSR becomes CSC.

    >>> A = gpuarray.sparse.csr_array([[0, 1, 2]])
    >>> A.transpose().shape, A.T.format
    ((3, 1), 'csc')
    """
    if axes not in (None, (1, 0), (-1, -2)) and a.ndim == 2:
        raise BadType(f"transpose: axes {axes}, expected None or (1, 0)")
    if a.ndim == 1:
        return copied(a) if copy else a
    turned = make(a._values, a._pattern.turned())
    return copied(turned) if copy else turned
