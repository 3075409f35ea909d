"""Polynomials by their coefficients, the highest power first: values and fits."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from gpuarray._core.arguments import as_integer
from gpuarray._core.base import BaseArray, on_host, require, require_all
from gpuarray._core.info import finfo
from gpuarray._creation.twodim_base import vander
from gpuarray._linalg.decompositions import inv
from gpuarray._linalg.norms import lstsq
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.errors import BadType, BadValue

sqrt = FUNCTIONS["sqrt"]


def polyval(p: Any, x: Any) -> Any:
    """Return the polynomial of coefficients ``p``, an array or a list, at ``x``.

    >>> print(gpuarray.polyval([1, 0, 2], gpuarray.asarray([1.0, 2.0])))
    [3. 6.]
    """
    source = require(x, "polyval")
    coefficients: Any = p if isinstance(p, BaseArray) else on_host(p, "p", "polyval")
    if coefficients.ndim == 0 or coefficients.dtype.kind not in "biufcV":
        raise BadType(f"polyval: p is {p!r:.60}, expected a vector of numbers")
    shape, dtype = source.shape, source.dtype
    value = source.allocate(shape, dtype, source.context, 0, True, "polyval")
    for coefficient in coefficients:
        value = value * source + coefficient
    return value


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | Literal["unscaled"] = False,
) -> Any:
    """The coefficients of the polynomial of degree ``deg`` that fits ``y`` at ``x``.

    By least squares, for each column of ``y``; ``w`` are weights. ``full`` adds the
    other results of ``linalg.lstsq``; ``cov`` the coefficients' covariance. Waits.

    >>> x = gpuarray.asarray([0.0, 1.0, 2.0])
    >>> print(gpuarray.polyfit(x, x * x + 1, 2).round(6) + 0.0)
    [1. 0. 1.]
    """
    x, y = _points(x, y, deg)
    order = int(deg) + 1
    powers, values = vander(x, order), y
    if w is not None:
        weights = require(w, "polyfit") + 0.0
        if weights.shape != x.shape:
            raise BadType(f"polyfit: w has shape {weights.shape}, expected {x.shape}")
        if weights.dtype.kind == "c" and not x.dtype.kind == y.dtype.kind == "c":
            raise BadType("polyfit: complex weights of real points")
        powers = powers * weights[:, None]
        values = y * (weights if y.ndim == 1 else weights[:, None])
    limit = x.size * finfo(x.dtype).eps if rcond is None else rcond
    scale = sqrt((powers * powers).sum(0))
    powers = powers / scale
    fitted, rest, rank, singular = lstsq(powers, values, limit)
    fitted = (fitted.T / scale).T
    if rank != order and not full:
        warnings.warn(
            f"polyfit: of {order} coefficients the points decide {rank}",
            np.exceptions.RankWarning,
            stacklevel=2,
        )
    if full:
        return fitted, rest, rank, singular, limit
    if not cov:
        return fitted
    spread = inv(powers.T @ powers) / (scale[:, None] * scale)
    if cov != "unscaled":
        if x.size <= order:
            raise BadValue(
                f"polyfit: {x.size} points leave no freedom to scale the covariance of "
                f"{order} coefficients"
            )
        rest = rest / (x.size - order)
        return fitted, spread[:, :, None] * rest if y.ndim == 2 else spread * rest
    return fitted, spread if y.ndim == 1 else spread[:, :, None]


def _points(x: Any, y: Any, deg: int) -> tuple[Any, Any]:
    """Return the points to fit, of a float or a complex dtype."""
    x, y = require_all("polyfit", x, y)
    if as_integer(deg, "deg", "polyfit") < 0:
        raise BadValue(f"polyfit: deg is {deg}, expected 0 or more")
    if x.ndim != 1 or x.size == 0 or y.ndim not in (1, 2):
        raise BadType(
            f"polyfit: x has shape {x.shape}, y {y.shape}; expected a vector that is "
            "not empty, and a vector or a matrix"
        )
    if x.shape[0] != y.shape[0]:
        raise BadType(f"polyfit: x has {x.size} elements, y has {y.shape[0]}")
    return x + 0.0, y + 0.0
