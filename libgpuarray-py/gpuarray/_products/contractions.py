"""Products of vectors and matrices, and stacks of them, made of matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import as_list, axis_number
from gpuarray._core.base import require_all
from gpuarray._manipulation.shaping import moveaxis
from gpuarray._products.matmul import matmul
from gpuarray.errors import BadValue, LinAlgError


def inner(a: Any, b: Any, /) -> Any:
    """Return the sum of products over the last axes of both; of a number, the product.

    Raises BadValue unless the last axes are of one length.

    >>> print(gpuarray.inner(gpuarray.asarray([1, 2]), gpuarray.asarray([3, 4])))
    11
    """
    a, b = require_all("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    length = a.shape[-1]
    if b.shape[-1] != length:
        raise BadValue(
            f"inner: shapes {a.shape} and {b.shape} do not fit: their last axes must "
            "be equally long"
        )
    if a.ndim == 1 and b.ndim == 1:
        return matmul(a, b)
    rows = a.reshape(math.prod(a.shape[:-1]), length)
    columns = b.reshape(math.prod(b.shape[:-1]), length).transpose()
    return matmul(rows, columns).reshape((*a.shape[:-1], *b.shape[:-1]))


def outer(a: Any, b: Any, /) -> Any:
    """Return the outer product of ``a`` and ``b``, both as vectors.

    >>> print(gpuarray.outer(gpuarray.asarray([1, 2]), gpuarray.asarray([3, 4])))
    [[3 4]
     [6 8]]
    """
    a, b = require_all("outer", a, b)
    return a.reshape(a.size, 1) * b.reshape(1, b.size)


def outer_of_vectors(x1: Any, x2: Any, /) -> Any:
    """Return the outer product of vectors; raises BadValue for other arrays.

    >>> a = gpuarray.asarray([1, 2])
    >>> print(gpuarray.linalg.outer(a, a))
    [[1 2]
     [2 4]]
    """
    first, second = require_all("outer", x1, x2)
    if first.ndim != 1 or second.ndim != 1:
        raise BadValue(
            f"outer: shapes {first.shape} and {second.shape}, expected two vectors; "
            "gpuarray.outer takes any"
        )
    return outer(first, second)


def kron(a: Any, b: Any, /) -> Any:
    """The Kronecker product: each element of ``a`` times all of ``b``, as blocks.

    >>> print(gpuarray.kron(gpuarray.asarray([1, 10]), gpuarray.asarray([1, 2, 3])))
    [ 1  2  3 10 20 30]
    """
    a, b = require_all("kron", a, b)
    ndim = max(a.ndim, b.ndim)
    left = (1,) * (ndim - a.ndim) + a.shape
    right = (1,) * (ndim - b.ndim) + b.shape
    blocks = [length for n in left for length in (n, 1)]
    items = [length for n in right for length in (1, n)]
    product = a.reshape(blocks) * b.reshape(items)
    return product.reshape([m * n for m, n in zip(left, right, strict=True)])


def _stack_and_vector(
    operation: str, stack: Any, vector: Any, axis: int
) -> tuple[Any, Any]:
    stack, vector = require_all(operation, stack, vector)
    if stack.ndim < 2 or vector.ndim < 1:
        raise BadValue(
            f"{operation}: shapes {stack.shape} and {vector.shape}, expected matrices "
            "and vectors"
        )
    if stack.shape[axis] != vector.shape[-1]:
        raise BadValue(
            f"{operation}: matrices of shape {stack.shape} and vectors of shape "
            f"{vector.shape} do not fit: {stack.shape[axis]} against "
            f"{vector.shape[-1]} elements"
        )
    return stack, vector


def matvec(x1: Any, x2: Any, /) -> Any:
    """Return the products of matrices and vectors, whose other axes broadcast.

    (..., m, n) and (..., n) give (..., m). Raises BadValue for shapes that do not fit.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> print(gpuarray.matvec(a, gpuarray.asarray([1.0, 1.0])))
    [3. 7.]
    """
    stack, vector = _stack_and_vector("matvec", x1, x2, -1)
    if vector.ndim == 1:
        return matmul(stack, vector)
    return matmul(stack, vector[..., None])[..., 0]


def vecmat(x1: Any, x2: Any, /) -> Any:
    """The products of conjugated vectors and matrices, whose other axes broadcast.

    (..., m) and (..., m, n) give (..., n). Raises BadValue for shapes that do not fit.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> print(gpuarray.vecmat(gpuarray.asarray([1.0, 1.0]), a))
    [4. 6.]
    """
    stack, vector = _stack_and_vector("vecmat", x2, x1, -2)
    vector = vector.conj() if vector.dtype.kind == "c" else vector
    if vector.ndim == 1:
        return matmul(vector, stack)
    return matmul(vector[..., None, :], stack)[..., 0, :]


def _best_split(lengths: Sequence[int]) -> list[list[int]]:
    """Return the cheapest split of the product of matrices i to j, for each i and j.

    Matrix i is (lengths[i], lengths[i + 1]). Cormen et al., Introduction to Algorithms,
    section 15.2.
    """
    n = len(lengths) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            ends = lengths[i] * lengths[j + 1]
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + ends * lengths[k + 1], k)
                for k in range(i, j)
            )
    return split


def multi_dot(arrays: Sequence[Any]) -> Any:
    """Return the product of several matrices, in the cheapest order.

    The first and the last may be vectors.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> print(gpuarray.linalg.multi_dot([a, a, a]))
    [[ 37.  54.]
     [ 81. 118.]]
    """
    operands = require_all("multi_dot", *as_list(arrays, "arrays", "multi_dot"))
    if len(operands) < 2:
        raise BadValue(f"multi_dot: got {len(operands)} arrays, expected at least 2")
    first, last = operands[0], operands[-1]
    chain = list(operands)
    if first.ndim == 1:
        chain[0] = first[None]
    if last.ndim == 1:
        chain[-1] = last[:, None]
    for array in chain:
        if array.ndim != 2:
            raise LinAlgError(
                f"multi_dot: an array of shape {array.shape}, expected 2 axes"
            )
    lengths = [chain[0].shape[0], *(array.shape[1] for array in chain)]
    split = _best_split(lengths)

    def product(i: int, j: int) -> Any:
        if i == j:
            return chain[i]
        k = split[i][j]
        return matmul(product(i, k), product(k + 1, j))

    result = product(0, len(chain) - 1)
    if first.ndim == 1:
        result = result[0]
    return result[..., 0] if last.ndim == 1 else result


def cross(
    a: Any,
    b: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Any:
    """Return the cross products of vectors of 3 elements along ``axisa`` and ``axisb``.

    They lie along ``axisc`` of the result; ``axis`` stands for all three. Vectors of 2
    elements are taken, too, with every NumPy (2.5 refuses its own): their third element
    is 0, and two of them give that element alone. Raises BadValue for other lengths.

    >>> x, y = gpuarray.asarray([1.0, 0.0, 0.0]), gpuarray.asarray([0.0, 1.0, 0.0])
    >>> print(gpuarray.cross(x, y))
    [0. 0. 1.]
    """
    a, b = require_all("cross", a, b)
    at_a, at_b, at_c = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = (
        moveaxis(x, axis_number(at, x.ndim, "cross"), -1)
        for x, at in ((a, at_a), (b, at_b))
    )
    for x in (a, b):
        if x.shape[-1] not in (2, 3):
            raise BadValue(
                f"cross: vectors of {x.shape[-1]} elements, expected 3, or 2"
            )
    product = crossed(a, b)
    is_flat = a.shape[-1] == b.shape[-1] == 2
    return product if is_flat else moveaxis(product, -1, at_c)


def crossed(a: Any, b: Any) -> Any:
    """Return the cross products of vectors of 2 or 3 elements along the last axis.

    Two vectors of 2 elements give the third element alone.
    """
    flat = a.shape[-1] == b.shape[-1] == 2
    parts = [_across(a, b, 0, 1)]
    if not flat:
        parts = [_across(a, b, 1, 2), _across(a, b, 2, 0), *parts]
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    out = a.allocate((*shape, len(parts)), parts[0].dtype, a.context, operation="cross")
    for i, part in enumerate(parts):
        out[..., i] = part
    return out[..., 0] if flat else out


def _across(a: Any, b: Any, i: int, j: int) -> Any:
    """``a[i] * b[j] - a[j] * b[i]``, without products with the third element of two."""
    is_first = i < a.shape[-1] and j < b.shape[-1]
    is_second = j < a.shape[-1] and i < b.shape[-1]
    first = a[..., i] * b[..., j] if is_first else None
    second = a[..., j] * b[..., i] if is_second else None
    if second is None:
        return first
    return -second if first is None else first - second
