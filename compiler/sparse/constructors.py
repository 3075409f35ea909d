"""Constructors of sparse variables, and their arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.gradient import verify_grad
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.sparse.items import getitem
from gpuarray.compiler.ops.sparse.matrix import (
    CSM,
    as_either,
    as_sparse_variable,
    is_sparse,
    parts,
)
from gpuarray.compiler.ops.sparse.structure import (
    SparseFromDense,
    dense_from_sparse,
)
from gpuarray.compiler.ops.sparse.types import (
    SparseConstant,
    SparseType,
    SparseVariable,
    is_sparse_value,
)
from gpuarray.compiler.shared import (
    SparseSharedVariable,
    shared as shared_variable,
)

as_sparse = as_sparse_variable
as_sparse_or_tensor_variable = as_either


def matrix(format: str, name: str | None = None, dtype: Any = None) -> SparseVariable:
    """Return a sparse variable of a format, ``"csr"`` or ``"csc"``.

    Its dtype is by default floatX.

    >>> matrix("csr", "x", "float32").type
    Sparse[float32, csr]
    """
    kind = SparseType(format, config.floatX if dtype is None else dtype)
    variable: Any = kind(name)
    made: SparseVariable = variable
    return made


def csr_matrix(name: str | None = None, dtype: Any = None) -> SparseVariable:
    """Return a sparse variable in CSR, by default of floatX."""
    return matrix("csr", name, dtype)


def csc_matrix(name: str | None = None, dtype: Any = None) -> SparseVariable:
    """Return a sparse variable in CSC, by default of floatX."""
    return matrix("csc", name, dtype)


def bsr_matrix(name: str | None = None, dtype: Any = None) -> SparseVariable:
    """Raise NotImplementedError: blocks are not offered, CSR and CSC are."""
    return matrix("bsr", name, dtype)


csr_fmatrix, csr_dmatrix = SparseType("csr", "float32"), SparseType("csr", "float64")
csc_fmatrix, csc_dmatrix = SparseType("csc", "float32"), SparseType("csc", "float64")


def constant(x: Any, name: str | None = None) -> SparseConstant:
    """Return a matrix of scipy as a constant."""
    if not is_sparse_value(x):
        raise GraphTypeError(
            f"sparse.constant: given a {type(x).__name__}, expected a sparse matrix of "
            "scipy.sparse"
        )
    made = as_sparse_variable(x, name)
    assert isinstance(made, SparseConstant)
    return made


def shared(value: Any, name: str | None = None, **options: Any) -> SparseSharedVariable:
    """Return a shared variable of a sparse matrix; options as of `compiler.shared`."""
    if not is_sparse_value(value):
        raise GraphTypeError(
            f"sparse.shared: given a {type(value).__name__}, expected a sparse matrix; "
            "for arrays use compiler.shared"
        )
    made = shared_variable(value, name, **options)
    assert isinstance(made, SparseSharedVariable)
    return made


# ---- a matrix of arrays, and its arrays ----

CSR, CSC = CSM("csr"), CSM("csc")
"""Make a matrix of values, indices, indptr and shape."""


def csm_properties(csm: Any) -> tuple[Variable, Variable, Variable, Variable]:
    """Return a matrix's values, indices, indptr (int32) and shape (int64)."""
    own = parts(as_sparse_variable(csm))
    return *own.storage, own.shape


def csm_data(csm: Any) -> Variable:
    """Return the stored values."""
    return csm_properties(csm)[0]


def csm_indices(csm: Any) -> Variable:
    """Return the column (of CSC: the row) of each stored value."""
    return csm_properties(csm)[1]


def csm_indptr(csm: Any) -> Variable:
    """Return where each row (of CSC: column) begins among the values."""
    return csm_properties(csm)[2]


def csm_shape(csm: Any) -> Variable:
    """Return the numbers of rows and columns."""
    return csm_properties(csm)[3]


# ---- items ----


def get_item_2d(x: Any, *key: Any) -> Variable:
    """Return a part by two slices: ``get_item_2d(x, a, b)`` is ``x[a, b]``."""
    return getitem(x, key[0] if len(key) == 1 else tuple(key))


def get_item_scalar(x: Any, row: Any, column: Any) -> Variable:
    """Return the element at a row and a column, a scalar."""
    return getitem(x, (row, column))


def get_item_list(x: Any, index: Any) -> Variable:
    """Return rows by a vector of integers, a matrix."""
    return getitem(x, as_either(index))


def get_item_2lists(x: Any, rows: Any, columns: Any) -> Variable:
    """Return the elements at pairs of rows and columns, a vector."""
    return getitem(x, (as_either(rows), as_either(columns)))


# ---- gradients ----


def verify_grad_sparse(
    op: Callable[..., Variable],
    pt: Sequence[Any],
    structured: bool = False,
    *args: Any,
    **options: Any,
) -> None:
    """Compare the gradient of a function of sparse matrices with finite differences.

    ``pt`` are its arguments, matrices of scipy or arrays. The stored values are moved
    if ``structured``, else all elements. Further arguments are those of `verify_grad`.
    Raises GradientError where they differ.
    """
    points: list[Any] = []
    rebuild: list[Callable[[Variable], Variable]] = []
    for value in pt:
        if not is_sparse_value(value):
            points.append(value)
            rebuild.append(lambda x: x)
            continue
        places = value.copy()
        if structured:
            points.append(np.asarray(value.data))
            rebuild.append(_of_values(places))
        else:
            points.append(value.toarray())
            rebuild.append(_of_dense(places))

    def of_arrays(*arrays: Variable) -> Variable:
        made = [make(x) for make, x in zip(rebuild, arrays, strict=True)]
        result = op(*made)
        return dense_from_sparse(result) if is_sparse(result) else result

    verify_grad(of_arrays, points, *args, **options)


def _of_values(places: Any) -> Callable[[Variable], Variable]:
    def make(data: Variable) -> Variable:
        shape = tuple(map(int, places.shape))
        matrix: Variable = CSM(places.format)(
            data, places.indices, places.indptr, shape
        )
        return matrix

    return make


def _of_dense(places: Any) -> Callable[[Variable], Variable]:
    def make(dense: Variable) -> Variable:
        matrix: Variable = SparseFromDense(places.format)(dense)
        return matrix

    return make
