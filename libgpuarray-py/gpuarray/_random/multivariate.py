"""Distributions whose draws are vectors, made of draws from the table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_shape
from gpuarray._core.base import asnumpy
from gpuarray._products.matmul import matmul
from gpuarray._random.drawing import Draws
from gpuarray._random.parameters import Size
from gpuarray._random.table import real_dtype
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue

__all__ = ["Multivariate"]


class Multivariate(Draws):
    """Draws of vectors: the last axis of a result has their elements."""

    __slots__ = ()

    def multinomial(
        self, n: Any, pvals: Any, size: Size = None, dtype: npt.DTypeLike = np.int64
    ) -> Array:
        """Return how often each of the outcomes with probabilities ``pvals`` occurs.

        ``n`` trials, a number or an array; the last axis of ``pvals`` adds up to one.
        Each outcome is a binomial number of the trials that are left. Waits, where
        ``pvals`` is on a device.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.multinomial(20, [0.5, 0.25, 0.25]).sum())
        20
        """
        shares = _probabilities("multinomial", pvals)
        trials = _whole_numbers("multinomial", "n", n)
        rows = _rows("multinomial", size, trials.shape, shares.shape[:-1])
        rest = np.cumsum(shares[..., ::-1], axis=-1)[..., ::-1]
        with np.errstate(invalid="ignore", divide="ignore"):
            given = np.where(rest > 0, np.minimum(shares / rest, 1), 0)
        left = self._full(rows, trials)
        columns = []
        for k in range(shares.shape[-1] - 1):
            columns.append(self._binomial(left, given[..., k]))
            left = FUNCTIONS["subtract"](left, columns[-1])
        return self._joined([*columns, left], rows, shares.shape[-1], dtype)

    def _binomial(self, n: Array, p: Any) -> Array:
        return self._draw("binomial", [n, p], n.shape, n.dtype, None)

    def _full(self, shape: tuple[int, ...], values: npt.NDArray[Any]) -> Array:
        """Return an array of a shape, of the type that integers are computed in."""
        real = np.dtype(np.float64 if self._context.has_double else np.float32)
        host = np.broadcast_to(values.astype(real), shape)
        return Array.from_host(np.ascontiguousarray(host).reshape(shape), self._context)

    def _joined(
        self,
        columns: list[Array],
        rows: tuple[int, ...],
        count: int,
        dtype: npt.DTypeLike,
    ) -> Array:
        """Return the columns as the last axis of an array of integers."""
        result = as_dtype(dtype, "multinomial")
        joined = Array.allocate((*rows, count), result, self._context)
        for k, column in enumerate(columns):
            joined[..., k] = column.astype(result)
        return joined

    def multivariate_hypergeometric(
        self,
        colors: Any,
        nsample: int,
        size: Size = None,
        method: str = "marginals",
        dtype: npt.DTypeLike = np.int64,
    ) -> Array:
        """Return how many of each color ``nsample`` drawn without replacement have.

        ``colors`` has the number that there are of each. ``method`` is NumPy's,
        "marginals" or "count": both draw one color after the other.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.multivariate_hypergeometric([3, 5, 8], 6).sum())
        6
        """
        operation = "multivariate_hypergeometric"
        if method not in ("marginals", "count"):
            raise BadValue(
                f"{operation}: method is {method!r}, expected 'marginals' or 'count'"
            )
        counts = _whole_numbers(operation, "colors", colors)
        sample = _whole_numbers(operation, "nsample", nsample)
        if counts.ndim != 1 or sample.ndim != 0:
            raise BadValue(
                f"{operation}: colors is of shape {counts.shape}, nsample of "
                f"{sample.shape}, expected a sequence and a number"
            )
        if sample > counts.sum():
            raise BadValue(
                f"{operation}: nsample {sample:g} is above the sum of colors, "
                f"{counts.sum():g}"
            )
        rows = _rows(operation, size)
        rest = np.cumsum(counts[::-1])[::-1]
        left = self._full(rows, sample)
        columns = []
        for k in range(len(counts) - 1):
            good, bad = float(counts[k]), float(rest[k + 1])
            columns.append(self._hypergeometric(good, bad, left))
            left = FUNCTIONS["subtract"](left, columns[-1])
        return self._joined([*columns, left][: len(counts)], rows, len(counts), dtype)

    def _hypergeometric(self, good: float, bad: float, sample: Array) -> Array:
        parameters = [good, bad, sample]
        return self._draw(
            "hypergeometric", parameters, sample.shape, sample.dtype, None
        )

    def dirichlet(
        self, alpha: Any, size: Size = None, dtype: npt.DTypeLike = np.float64
    ) -> Array:
        """Return vectors of shares that add up to one.

        They are gamma numbers of shapes ``alpha`` by their sum, taken from logarithms,
        so that small shapes do not underflow.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.dirichlet([1.0, 2.0, 3.0]).sum().round(6))
        1.0
        """
        real = real_dtype(as_dtype(dtype, "dirichlet"))
        host = _reals("dirichlet", "alpha", alpha)
        if host.ndim != 1 or not (host > 0).all():
            raise BadValue(
                f"dirichlet: alpha is {alpha!r}, expected a sequence of numbers above 0"
            )
        shapes = Array.from_host(host.astype(real), self._context)
        rows = _rows("dirichlet", size)
        logs = self._draw("loggamma", [shapes], (*rows, *shapes.shape), real, None)
        if not logs.size:
            return logs.astype(dtype)
        parts = FUNCTIONS["exp"](logs - logs.max(axis=-1, keepdims=True))
        shares: Array = parts / parts.sum(axis=-1, keepdims=True)
        return shares.astype(dtype)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """Return normal vectors of a mean and a covariance matrix.

        ``method`` says how the matrix is factored, on the host: "svd", "eigh" or
        "cholesky". ``check_valid``: "warn", "raise" or "ignore" where it is not
        symmetric positive semidefinite to ``tol``. Waits, where ``cov`` is on a device.

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.multivariate_normal([0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]], 5).shape
        (5, 2)
        """
        center = _reals("multivariate_normal", "mean", mean)
        matrix = _reals("multivariate_normal", "cov", cov)
        if center.ndim != 1 or matrix.shape != (center.size, center.size):
            raise BadValue(
                f"multivariate_normal: mean has shape {center.shape} and cov "
                f"{matrix.shape}, expected (n,) and (n, n)"
            )
        result = as_dtype(dtype, "multivariate_normal")
        real = real_dtype(result)
        factor = covariance_factor(matrix, check_valid, tol, method).astype(real)
        rows = _rows("multivariate_normal", size)
        numbers = self._draw("normal", [0.0, 1.0], (*rows, center.size), real, None)
        turned = matmul(numbers, Array.from_host(factor, self._context))
        moved: Array = turned + Array.from_host(center.astype(real), self._context)
        return moved.astype(result)


def covariance_factor(
    matrix: npt.NDArray[Any], check_valid: str, tol: float, method: str
) -> npt.NDArray[Any]:
    """Return A of ``A.T @ A = matrix``.

    >>> covariance_factor(np.eye(2) * 4, "raise", 1e-8, "cholesky")
    array([[2., 0.],
           [0., 2.]])
    """
    operation = "multivariate_normal"
    if check_valid not in ("warn", "raise", "ignore"):
        raise BadValue(
            f"{operation}: check_valid is {check_valid!r}, expected warn, raise or "
            "ignore"
        )
    if method == "cholesky":
        try:
            return np.linalg.cholesky(matrix).T
        except np.linalg.LinAlgError:
            raise BadValue(f"{operation}: cov is not positive definite") from None
    if method == "svd":
        left, values, right = np.linalg.svd(matrix)
        signs = (left * right.T).sum(0) >= -tol
    elif method == "eigh":
        values, vectors = np.linalg.eigh(matrix)
        signs, right = values >= -tol, vectors.T
    else:
        raise BadValue(
            f"{operation}: method is {method!r}, expected svd, eigh or cholesky"
        )
    factor: npt.NDArray[Any] = np.sqrt(np.maximum(values, 0))[:, None] * right
    is_valid = signs.all() and np.allclose(factor.T @ factor, matrix, tol, tol)
    if not is_valid and check_valid == "raise":
        raise BadValue(f"{operation}: cov is not symmetric positive semidefinite")
    if not is_valid and check_valid == "warn":
        warnings.warn(
            f"{operation}: cov is not symmetric positive semidefinite",
            RuntimeWarning,
            stacklevel=3,
        )
    return factor


def _rows(operation: str, size: Size, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a result's vectors: ``size``, to which shapes broadcast."""
    try:
        common = np.broadcast_shapes(*shapes)
        asked = common if size is None else as_shape(size, operation)
        if np.broadcast_shapes(common, asked) == asked:
            return asked
    except ValueError:
        asked = () if size is None else as_shape(size, operation)
    listed = " and ".join(str(shape) for shape in shapes)
    raise BadValue(
        f"{operation}: parameters of shapes {listed} do not broadcast to size {asked}"
    )


def _reals(operation: str, name: str, value: Any) -> npt.NDArray[Any]:
    """Return finite numbers on the host."""
    try:
        host: npt.NDArray[Any] = asnumpy(value).astype(np.float64)
    except (TypeError, ValueError):
        raise BadType(f"{operation}: got {name} {value!r}, expected numbers") from None
    if not np.isfinite(host).all():
        wrong = host[~np.isfinite(host)].flat[0]
        raise BadValue(f"{operation}: got {name} {wrong}, expected finite numbers")
    return host


def _whole_numbers(operation: str, name: str, value: Any) -> npt.NDArray[Any]:
    host = _reals(operation, name, value)
    allowed = (host >= 0) & (host == np.floor(host)) & (host <= 2.0**53)
    if not allowed.all():
        wrong = host[~allowed].flat[0]
        raise BadValue(
            f"{operation}: got {name} {wrong:g}, expected an integer from 0 to 2**53"
        )
    return host


def _probabilities(operation: str, pvals: Any) -> npt.NDArray[Any]:
    """Return probabilities, which add up to one along the last axis."""
    shares = _reals(operation, "pvals", pvals)
    if shares.ndim < 1 or shares.shape[-1] == 0:
        raise BadValue(
            f"{operation}: pvals has shape {shares.shape}, expected a probability for "
            "each outcome"
        )
    if not ((shares >= 0) & (shares <= 1)).all():
        wrong = shares[(shares < 0) | (shares > 1)].flat[0]
        raise BadValue(
            f"{operation}: got pvals {wrong:g}, expected numbers from 0 to 1"
        )
    sums = shares.sum(axis=-1)
    if not np.allclose(sums, 1, rtol=0, atol=1e-6):
        wrong = sums[np.abs(sums - 1) > 1e-6].flat[0]
        raise BadValue(f"{operation}: pvals add up to {wrong:g}, expected 1")
    return shares
