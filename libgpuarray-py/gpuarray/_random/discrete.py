"""Discrete distributions, by NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._random.drawing import Draws
from gpuarray._random.parameters import Size
from gpuarray.array import Array

__all__ = ["Discrete"]


class Discrete(Draws):
    """Discrete distributions: results are integers, or floats that are integers.

    Parameters are numbers or arrays, which broadcast to ``size``, or give the shape if
    it is None. BadValue for one out of range; where an array on the device has such an
    element, or nan, the result is nan, or -1 in
    integer dtypes.
    """

    __slots__ = ()

    def poisson(
        self,
        lam: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        out: Array | None = None,
    ) -> Array:
        """Return the numbers of events of which ``lam`` are expected.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.poisson(3.0, 100_000).mean().round(1))
        3.0
        """
        return self._draw("poisson", [lam], size, dtype, out)

    def binomial(
        self,
        n: Any,
        p: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        out: Array | None = None,
    ) -> Array:
        """Return the numbers of successes in ``n`` trials of probability ``p``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.binomial(10, 0.3, 100_000).mean().round(1))
        3.0
        """
        return self._draw("binomial", [n, p], size, dtype, out)

    def negative_binomial(
        self,
        n: Any,
        p: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        out: Array | None = None,
    ) -> Array:
        """Return the numbers of failures before ``n`` successes of probability ``p``.

        ``n`` need not be an integer.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.negative_binomial(3, 0.5, 100_000).mean().round(1))
        3.0
        """
        return self._draw("negative_binomial", [n, p], size, dtype, out)

    def geometric(
        self,
        p: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        out: Array | None = None,
    ) -> Array:
        """Return the numbers of trials up to the first success of probability ``p``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.geometric(0.5, 100_000).mean().round(1))
        2.0
        """
        return self._draw("geometric", [p], size, dtype, out)

    def hypergeometric(
        self,
        ngood: Any,
        nbad: Any,
        nsample: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        out: Array | None = None,
    ) -> Array:
        """Return the numbers of good ones among ``nsample`` drawn without replacement.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.hypergeometric(10, 30, 8, 100_000).mean().round(1))
        2.0
        """
        return self._draw("hypergeometric", [ngood, nbad, nsample], size, dtype, out)

    def zipf(
        self,
        a: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        out: Array | None = None,
    ) -> Array:
        """Return integers of probabilities proportional to k**-a.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.zipf(2.0, 100) >= 1).all())
        True
        """
        return self._draw("zipf", [a], size, dtype, out)

    def logseries(
        self,
        p: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        out: Array | None = None,
    ) -> Array:
        """Return integers of probabilities proportional to p**k / k.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.logseries(0.5, 100) >= 1).all())
        True
        """
        return self._draw("logseries", [p], size, dtype, out)
