"""Continuous distributions, by NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._random.drawing import Draws
from gpuarray._random.parameters import Size, as_parameters, broadcast_shape
from gpuarray._random.table import real_dtype
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import GpuArrayError, renamed

__all__ = ["Continuous"]


class Continuous(Draws):
    """Continuous distributions: results are floats.

    Parameters are numbers or arrays, which broadcast to ``size``, or give the shape if
    it is None. BadValue for one out of range; where an array on the device has such an
    element, or nan, the result is nan.
    """

    __slots__ = ()

    def lognormal(
        self,
        mean: Any = 0.0,
        sigma: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return exponentials of ``rng.normal(mean, sigma)``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.lognormal(size=100) > 0).all())
        True
        """
        return self._draw("lognormal", [mean, sigma], size, dtype, out)

    def laplace(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return numbers of the density exp(-abs(x - loc) / scale) / (2 scale).

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.laplace([0.0, 5.0]).shape
        (2,)
        """
        return self._draw("laplace", [loc, scale], size, dtype, out)

    def logistic(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return logistic numbers: loc + scale log(u / (1 - u)).

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.logistic(size=(2, 3)).shape
        (2, 3)
        """
        return self._draw("logistic", [loc, scale], size, dtype, out)

    def gumbel(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return extreme values of type I: loc - scale log(-log(u)).

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.gumbel(1.0, 2.0, 3).shape
        (3,)
        """
        return self._draw("gumbel", [loc, scale], size, dtype, out)

    def cauchy(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return Cauchy numbers.

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.cauchy(1.0, 2.0, 3).shape
        (3,)
        """
        return self._draw("cauchy", [loc, scale], size, dtype, out)

    def standard_cauchy(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return Cauchy numbers of location 0 and scale 1.

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.standard_cauchy(3).shape
        (3,)
        """
        try:
            return self._draw("cauchy", [0.0, 1.0], size, dtype, out)
        except GpuArrayError as error:
            raise renamed(error, "cauchy", "standard_cauchy") from None

    def weibull(
        self,
        a: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return Weibull numbers of shape ``a`` and scale 1: (-log u)**(1 / a).

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.weibull(2.0, 100) > 0).all())
        True
        """
        return self._draw("weibull", [a], size, dtype, out)

    def rayleigh(
        self,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return Rayleigh numbers: lengths of pairs of normal ones of this scale.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.rayleigh(2.0, 100) >= 0).all())
        True
        """
        return self._draw("rayleigh", [scale], size, dtype, out)

    def pareto(
        self,
        a: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return Pareto numbers of the second kind (Lomax), from 0 on.

        Add 1 for the classical distribution of scale 1.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.pareto(3.0, 100) >= 0).all())
        True
        """
        return self._draw("pareto", [a], size, dtype, out)

    def power(
        self,
        a: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return numbers in [0, 1] of the density a x**(a - 1).

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.power(3.0, 100) <= 1).all())
        True
        """
        return self._draw("power", [a], size, dtype, out)

    def triangular(
        self,
        left: Any,
        mode: Any,
        right: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return numbers in [left, right], whose density is a triangle to ``mode``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.triangular(-1.0, 0.0, 3.0, 100) < 3).all())
        True
        """
        return self._draw("triangular", [left, mode, right], size, dtype, out)

    def gamma(
        self,
        shape: Any,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return gamma numbers: of the density x**(shape - 1) exp(-x / scale).

        By Marsaglia and Tsang, as NumPy.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.gamma(4.0, 0.5, 100_000).mean().round(1))
        2.0
        """
        return self._draw("gamma", [shape, scale], size, dtype, out)

    def standard_gamma(
        self,
        shape: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return gamma numbers of scale 1.

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.standard_gamma([1.0, 2.0]).shape
        (2,)
        """
        try:
            return self._draw("gamma", [shape, 1.0], size, dtype, out)
        except GpuArrayError as error:
            raise renamed(error, "gamma", "standard_gamma") from None

    def chisquare(
        self,
        df: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return chi-square numbers of ``df`` degrees of freedom.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.chisquare(3.0, 100_000).mean().round(1))
        3.0
        """
        return self._draw("chisquare", [df], size, dtype, out)

    def noncentral_chisquare(
        self,
        df: Any,
        nonc: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return noncentral chi-square numbers of mean df + nonc.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.noncentral_chisquare(3.0, 1.0, 100_000).mean().round(1))
        4.0
        """
        return self._draw("noncentral_chisquare", [df, nonc], size, dtype, out)

    def beta(
        self,
        a: Any,
        b: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return beta numbers, in [0, 1], of the density x**(a - 1) (1 - x)**(b - 1).

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.beta(2.0, 2.0, 100_000).mean().round(2))
        0.5
        """
        return self._draw("beta", [a, b], size, dtype, out)

    def f(
        self,
        dfnum: Any,
        dfden: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return numbers of Fisher's F distribution.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.f(2.0, 5.0, 100) >= 0).all())
        True
        """
        return self._draw("f", [dfnum, dfden], size, dtype, out)

    def standard_t(
        self,
        df: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return numbers of Student's t distribution of ``df`` degrees of freedom.

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.standard_t(4.0, 3).shape
        (3,)
        """
        return self._draw("standard_t", [df], size, dtype, out)

    def wald(
        self,
        mean: Any,
        scale: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return inverse Gaussian numbers.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.wald(1.0, 2.0, 100_000).mean().round(1))
        1.0
        """
        return self._draw("wald", [mean, scale], size, dtype, out)

    def vonmises(
        self,
        mu: Any,
        kappa: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return angles in [-pi, pi] of the density exp(kappa cos(x - mu)).

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(rng.vonmises(1.0, 4.0, 100_000).mean().round(1))
        1.0
        """
        return self._draw("vonmises", [mu, kappa], size, dtype, out)

    def truncated_normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        low: Any = -2.0,
        high: Any = 2.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return normal numbers from loc + low scale to loc + high scale.

        Bounds may be infinite. NumPy has none; as ``scipy.stats.truncnorm``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.truncated_normal(1.0, 0.5, size=100) <= 2).all())
        True
        """
        return self._draw("truncated_normal", [loc, scale, low, high], size, dtype, out)

    def noncentral_f(
        self,
        dfnum: Any,
        dfden: Any,
        nonc: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """Return numbers of the noncentral F distribution.

        >>> rng = gpuarray.random.default_rng(1)
        >>> rng.noncentral_f(3.0, 20.0, 1.0, 3).shape
        (3,)
        """
        real = real_dtype(as_dtype(dtype, "noncentral_f"))
        numbers = as_parameters("f", [dfnum, dfden], real, self._context)
        pair = as_parameters("noncentral_chisquare", [1.0, nonc], real, self._context)
        nonc = pair[1]
        names = ["dfnum", "dfden", "nonc"]
        shape = broadcast_shape("noncentral_f", names, [*numbers, nonc], size)
        over = self.noncentral_chisquare(numbers[0], nonc, shape, dtype)
        under = self.chisquare(numbers[1], shape, dtype)
        divide = FUNCTIONS["divide"]
        ratio: Array = divide(divide(over, numbers[0]) * numbers[1], under)
        return ratio.astype(over.dtype)
