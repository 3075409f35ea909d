"""Draws whose elements are vectors of real numbers: Dirichlet's, and normal vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray._random.multivariate import covariance_factor
from gpuarray._random.table import real_dtype
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.types import dtype_name
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.linalg.linalg import dot
from gpuarray.compiler.ops.linalg.slinalg import cholesky
from gpuarray.compiler.ops.random.compound import Drawn
from gpuarray.compiler.ops.random.draws import check_kind, draw, lengths_of
from gpuarray.compiler.ops.reduce.reduce import max as max_of, sum as sum_of
from gpuarray.compiler.ops.shape.shape import dimshuffle, reshape, shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.errors import BadValue

METHODS = ("svd", "eigh", "cholesky")


def dirichlet(
    state: Any,
    alpha: Any,
    size: Any = None,
    ndim: int | None = None,
    dtype: Any = "floatX",
) -> Drawn:
    """Return the next state and vectors of shares that add to one.

    The last axis of ``alpha`` are the shares; ``size`` is the shape without it, by
    default that of the other axes. Shares are gamma numbers by their sum, taken from
    logarithms, so that small ones do not underflow.
    """
    kind = dtype_name(dtype)
    check_kind("dirichlet", "f", kind)
    shapes = as_tensor_variable(alpha)
    if shapes.type.ndim == 0:
        raise GraphTypeError(
            f"dirichlet: alpha is {shapes.type}, expected a vector, or rows"
        )
    if isinstance(shapes, Constant) and not (np.asarray(shapes.data) > 0).all():
        wrong = np.asarray(shapes.data)[~(np.asarray(shapes.data) > 0)]
        raise GraphValueError(
            f"dirichlet: alpha has {wrong.flat[0]:g}, expected numbers above 0"
        )
    if size is None:
        lengths = [shape_i(shapes, axis) for axis in range(shapes.type.ndim - 1)]
    else:
        lengths = list(lengths_of("dirichlet", size, ndim, [index(shapes, (..., 0))]))
    count = shape_i(shapes, shapes.type.ndim - 1)
    real = real_dtype(kind).name
    after, logs = draw(
        "loggamma", state, [shapes], [*lengths, count], dtype=real, name="dirichlet"
    )
    parts = math.exp(logs - max_of(logs, -1, keepdims=True))
    return after, math.cast(parts / sum_of(parts, -1, keepdims=True), kind)


def multivariate_normal(
    state: Any,
    mean: Any,
    cov: Any,
    size: Any = None,
    ndim: int | None = None,
    dtype: Any = "floatX",
    method: str | None = None,
) -> Drawn:
    """Return the next state and normal vectors of a mean and a covariance matrix.

    ``size`` is the shape without the vectors' axis. A constant matrix is factored by
    ``method`` on the host: "svd" (the default, as NumPy's), "eigh" or "cholesky"; a
    variable is by "cholesky" only, which has a gradient.
    """
    kind = dtype_name(dtype)
    check_kind("multivariate_normal", "f", kind)
    center, matrix = as_tensor_variable(mean), as_tensor_variable(cov)
    if center.type.ndim != 1 or matrix.type.ndim != 2:
        raise GraphTypeError(
            f"multivariate_normal: mean is {center.type} and cov {matrix.type}, "
            "expected a vector and a matrix"
        )
    real = real_dtype(kind).name
    factor = _factor(center, matrix, method, real)
    lengths = list(
        lengths_of("multivariate_normal", () if size is None else size, ndim, [])
    )
    count = shape_i(center, 0)
    after, numbers = draw("normal", state, (0.0, 1.0), [*lengths, count], dtype=real)
    rows = reshape(numbers, (-1, count))
    turned = dot(rows, factor) + dimshuffle(math.cast(center, real), "x", 0)
    return after, math.cast(reshape(turned, [*lengths, count]), kind)


def _factor(center: Variable, matrix: Variable, method: str | None, real: str) -> Any:
    """Return A of ``A.T @ A`` equal to the covariance matrix."""
    if method is not None and method not in METHODS:
        raise GraphValueError(
            f"multivariate_normal: method is {method!r}, expected svd, eigh or cholesky"
        )
    if not isinstance(matrix, Constant):
        if method not in (None, "cholesky"):
            raise GraphValueError(
                f"multivariate_normal: method is {method!r} and cov a variable, "
                "expected cholesky, or a constant"
            )
        return cholesky(math.cast(matrix, real), lower=False)
    known = np.asarray(matrix.data, "float64")
    size = center.data.shape if isinstance(center, Constant) else known.shape[:1]
    if known.shape != 2 * size:
        raise GraphValueError(
            f"multivariate_normal: mean has shape {size} and cov {known.shape}, "
            "expected (n,) and (n, n)"
        )
    try:
        return constant(covariance_factor(known, "raise", 1e-8, method or "svd"), real)
    except BadValue as error:
        raise GraphValueError(str(error)) from None
