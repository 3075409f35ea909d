"""Shapes of sparse arrays: reshaped ones, and ones that lose what is outside."""

from __future__ import annotations

import math
import operator
from typing import Any

from gpuarray._core.arguments import Order, axis_number
from gpuarray._sparse.base import Shape, make, require
from gpuarray._sparse.conversion import asformat, copied, kept, places
from gpuarray._sparse.elementwise import transpose
from gpuarray._sparse.pattern import INT64, Pattern, index_dtype
from gpuarray.errors import BadType, BadValue


def _lengths(operation: str, shape: tuple[Any, ...]) -> Shape:
    given = (
        shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    )
    try:
        lengths = tuple(operator.index(length) for length in given)
    except TypeError:
        raise BadType(f"{operation}: shape {given!r}, expected integers") from None
    if len(lengths) not in (1, 2):
        raise BadValue(f"{operation}: shape {lengths}, expected one axis or two")
    return lengths


def reshape(a: Any, *shape: Any, order: Order = "C", copy: bool = False) -> Any:
    """Return the elements in another shape, read by rows, or by columns ("F"), in COO.

    One length may be -1; the shape that it has gives the array itself.

    >>> A = gpuarray.sparse.csr_array([[0, 1, 2, 0]])
    >>> B = A.reshape(2, -1)
    >>> B.format, B.toarray().tolist()
    ('coo', [[0, 1], [2, 0]])
    """
    require(a, "reshape")
    lengths = _lengths("reshape", shape)
    size = math.prod(a.shape)
    if lengths.count(-1) == 1:
        rest = -math.prod(lengths)
        missing = size // rest if rest else 0
        lengths = tuple(missing if length == -1 else length for length in lengths)
    if min(lengths) < 0 or math.prod(lengths) != size:
        raise BadValue(f"reshape: {a.shape} has {size} elements, not {lengths}")
    if order not in ("C", "F"):
        raise BadValue(f"reshape: order is {order!r}, expected 'C' or 'F'")
    if lengths == a.shape:
        return copied(a) if copy else a
    rows, columns = lengths if len(lengths) == 2 else (1, lengths[0])
    height, width = a._pattern.lengths
    row, column = (index.astype(INT64) for index in places(a))
    index = index_dtype(rows, columns)
    if order == "C":
        number = row * width + column
        row = number // max(columns, 1)
        column = number - row * columns
    else:
        number = column * height + row
        column = number // max(rows, 1)
        row = number - column * rows
    pattern = Pattern("coo", (rows, columns), column.astype(index), row.astype(index))
    values = a._values.copy() if copy else a._values
    return make(values, pattern, lengths)


def resize(a: Any, *shape: Any) -> None:
    """Give the array itself another shape; what is outside of it is lost. Waits.

    >>> A = gpuarray.sparse.csr_array([[1, 2], [3, 4]])
    >>> A.resize(3, 1)
    >>> A.toarray().tolist()
    [[1], [3], [0]]
    """
    require(a, "resize")
    lengths = _lengths("resize", shape)
    if len(lengths) != a.ndim or min(lengths) < 0:
        raise BadValue(f"resize: shape {lengths} of an array of {a.ndim} axes")
    rows, columns = lengths if len(lengths) == 2 else (1, lengths[0])
    height, width = a._pattern.lengths
    row, column = places(a)
    inside = a
    if rows < height or columns < width:
        inside = kept(a, (row < rows) & (column < columns))
        row, column = places(inside)
    index = index_dtype(rows, columns, inside.nnz)
    pattern = Pattern("coo", (rows, columns), column.astype(index), row.astype(index))
    resized = make(inside._values, pattern, lengths)
    resized = asformat(resized, a.format)
    a._set(resized._values, resized._pattern, lengths)


def permute_dims(A: Any, axes: Any = None, copy: bool = False) -> Any:
    """Return the array with its axes in another order, by default the opposite, in COO.

    >>> A = gpuarray.sparse.csr_array([[0, 1, 2]])
    >>> gpuarray.sparse.permute_dims(A).shape
    (3, 1)
    """
    ndim = require(A, "permute_dims").ndim
    given = range(ndim)[::-1] if axes is None else axes
    order = [axis_number(axis, ndim, "permute_dims") for axis in given]
    if sorted(order) != list(range(ndim)):
        raise BadValue(f"permute_dims: axes {axes} of an array of {ndim} axes")
    turned = A if order == sorted(order) else transpose(A)
    return asformat(copied(turned) if copy else turned, "coo")


def swapaxes(A: Any, axis1: int, axis2: int) -> Any:
    """Return the array with two axes exchanged, in COO.

    >>> A = gpuarray.sparse.csr_array([[0, 1, 2]])
    >>> gpuarray.sparse.swapaxes(A, 0, -1).shape
    (3, 1)
    """
    ndim = require(A, "swapaxes").ndim
    first, second = (axis_number(axis, ndim, "swapaxes") for axis in (axis1, axis2))
    return asformat(A if first == second else transpose(A), "coo")


def expand_dims(A: Any, /, *, axis: int = 0) -> Any:
    """Return a sparse vector as a matrix of one row (0) or column (1), in COO.

    >>> v = gpuarray.sparse.coo_array([0, 1, 2])
    >>> gpuarray.sparse.expand_dims(v, axis=1).shape
    (3, 1)
    """
    if require(A, "expand_dims").ndim != 1:
        raise BadValue(f"expand_dims: an array of shape {A.shape}, expected one axis")
    number = axis_number(axis, 2, "expand_dims")
    return reshape(A, (1, -1) if number == 0 else (-1, 1))


def prune(a: Any) -> None:
    """Do nothing: arrays have no room beyond their values.

    >>> gpuarray.sparse.csr_array([[0, 1]]).prune()
    """


def rounded(a: Any, ndigits: int = 0) -> Any:
    """Return the values rounded to decimals, on the same indices."""
    return a._with_values(a._values.round(ndigits))
