"""Bits, integers, and the distributions that have functions of their own in C."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._native import lib
from gpuarray._random.drawing import Draws
from gpuarray._random.parameters import Size, broadcast_shape, on_context
from gpuarray._random.seeding import WORD
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue

__all__ = ["Basic"]


class Basic(Draws):
    """Bits, integers, uniform, normal and exponential numbers."""

    __slots__ = ()

    def random(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return uniform numbers in [0, 1).

        ``dtype`` is a float or complex one; ``out`` is filled instead of a new array.

        >>> print(gpuarray.random.default_rng(1).random(3))
        [0.89468472 0.71126808 0.87411194]
        >>> gpuarray.random.default_rng(1).random((2, 2), "float32").dtype
        dtype('float32')
        """
        return self.uniform(0.0, 1.0, size, dtype, out)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return uniform numbers in [low, high), of a float or complex dtype.

        >>> print(gpuarray.random.default_rng(1).uniform(-1.0, 1.0, 3))
        [0.78936943 0.42253615 0.74822387]
        """
        if not (is_number(low) and is_number(high)):
            return self._draw("uniform", [low, high], size, dtype, out)
        target = self._target("uniform", size, dtype, out)
        return self._fill(lib.GpuArray_random_uniform, target, float(low), float(high))

    def standard_normal(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return normal numbers of mean 0 and standard deviation 1.

        >>> a = gpuarray.random.default_rng(1).standard_normal(100_000)
        >>> print(a.std().round(1))
        1.0
        """
        return self.normal(0.0, 1.0, size, dtype, out)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return normal numbers; in a complex dtype both parts have this deviation.

        >>> rng = gpuarray.random.default_rng(1)
        >>> a = rng.normal(10.0, 2.0, 100_000)
        >>> print(a.mean().round(1), a.std().round(1))
        10.0 2.0
        """
        if not (is_number(loc) and is_number(scale)):
            return self._draw("normal", [loc, scale], size, dtype, out)
        target = self._target("normal", size, dtype, out)
        return self._fill(lib.GpuArray_random_normal, target, float(loc), float(scale))

    def standard_exponential(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        method: str = "zig",
        out: Array | None = None,
    ) -> Array:
        """Return exponential numbers of mean 1.

        ``method`` is NumPy's, "zig" or "inv": both are drawn by inversion.

        >>> a = gpuarray.random.default_rng(1).standard_exponential(100_000)
        >>> print(a.mean().round(1))
        1.0
        """
        if method not in ("zig", "inv"):
            raise BadValue(
                f"standard_exponential: method is {method!r}, expected 'zig' or 'inv'"
            )
        return self.exponential(1.0, size, dtype, out)

    def exponential(
        self,
        scale: Any = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return exponential numbers of mean ``scale``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.exponential(2.0, 100) >= 0).all())
        True
        """
        if not (is_number(scale)):
            return self._draw("exponential", [scale], size, dtype, out)
        target = self._target("exponential", size, dtype, out)
        return self._fill(lib.GpuArray_random_exponential, target, float(scale))

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        endpoint: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Return integers from ``low`` up to ``high``, or from 0 up to ``low``.

        ``high`` is excluded unless ``endpoint``. Both may be arrays, which broadcast.

        >>> print(gpuarray.random.default_rng(1).integers(1, 7, 8))
        [6 5 6 4 4 6 1 1]
        """
        first, end = (0, low) if high is None else (low, high)
        if _is_array(first) or _is_array(end):
            drawn = self._integers_between(first, end, size, dtype, endpoint)
            return drawn if out is None else _moved(drawn, out)
        first = _integer("low", first)
        last = _integer("low" if high is None else "high", end) - (not endpoint)
        target = self._target("integers", size, dtype, out)
        if target.dtype.kind == "b" and 0 <= first <= last <= 1:
            return self._fill(lib.GpuArray_random_bernoulli, target, (first + last) / 2)
        if target.dtype.kind not in "iu":
            raise BadType(f"integers: dtype {target.dtype} is not an integer type")
        limits = np.iinfo(target.dtype)
        if first > last:
            raise BadValue(f"integers: low {first} is not below high {end}")
        if first < limits.min or last > limits.max:
            raise BadValue(
                f"integers: {first} to {last} is out of bounds for {target.dtype}"
            )
        signed = first if first < WORD // 2 else first - WORD
        count = (last - first + 1) % WORD
        return self._fill(lib.GpuArray_random_integers, target, signed, count)

    def _integers_between(
        self, low: Any, high: Any, size: Size, dtype: npt.DTypeLike, endpoint: bool
    ) -> Array:
        """Draw between arrays: the high half of 64 bits times the range."""
        result = as_dtype(dtype, "integers")
        if result.kind not in "iu":
            raise BadType(f"integers: dtype {result} is not an integer type")
        if not (isinstance(low, Array) or isinstance(high, Array)):
            _check_bounds(np.asarray(low), np.asarray(high), result, endpoint)
        bounds = [self._words("low", low), self._words("high", high)]
        shape = broadcast_shape("integers", ["low", "high"], bounds, size)
        count = FUNCTIONS["subtract"](bounds[1], bounds[0]) + np.uint64(endpoint)
        bits = self.bits(shape, np.uint64)
        below = FUNCTIONS["where"](count == 0, bits, _high_half(bits, count))
        drawn: Array = (bounds[0] + below).astype(result)
        return drawn

    def _words(self, name: str, bound: Any) -> Array:
        """Return a bound as 64 bits, modulo 2**64."""
        if not isinstance(bound, Array):
            host = np.asarray(bound)
            if host.dtype.kind not in "biu":
                raise BadType(f"integers: got {name} {bound!r}, expected integers")
            return Array.from_host(host.astype(np.uint64), self._context)
        on_context(bound, self._context, "integers", name)
        if bound.dtype.kind not in "biu":
            raise BadType(f"integers: {name} is {bound.dtype}, expected integers")
        return bound.astype(np.uint64)

    def bits(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.uint32,
        out: Array | None = None,
    ) -> Array:
        """Return random bits of an integer dtype, straight from the generator.

        >>> print(gpuarray.random.default_rng(1).bits(3, "uint8"))
        [112 188 192]
        """
        return self._fill(
            lib.GpuArray_random_bits, self._target("bits", size, dtype, out)
        )

    def bernoulli(
        self,
        p: Any,
        size: Size = None,
        dtype: npt.DTypeLike = np.bool_,
        out: Array | None = None,
    ) -> Array:
        """Return ones with probability ``p``, else zeros.

        >>> rng = gpuarray.random.default_rng(1)
        >>> set(rng.bernoulli(0.5, 100).tolist()) == {0, 1}
        True
        """
        if not (is_number(p)):
            return self._draw("bernoulli", [p], size, dtype, out)
        target = self._target("bernoulli", size, dtype, out)
        return self._fill(lib.GpuArray_random_bernoulli, target, float(p))

    def bytes(self, length: int) -> bytes:
        """Return ``length`` random bytes on the host; waits for them.

        >>> len(gpuarray.random.default_rng(1).bytes(3))
        3
        """
        words = self.bits(-(-length // 4)).get()
        return words.astype("<u4", copy=False).tobytes()[:length]


def is_number(value: Any) -> bool:
    """Return whether a parameter is one number on the host.

    >>> is_number(2), is_number(np.float32(2)), is_number([2.0])
    (True, True, False)
    """
    return isinstance(value, int | float | np.integer | np.floating)


def _integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise BadType(f"integers: got {name} {value!r}, expected an integer") from None


def _is_array(value: Any) -> bool:
    return isinstance(value, Array) or np.ndim(value) > 0


def _moved(drawn: Array, out: Array) -> Array:
    out[...] = drawn
    return out


def _check_bounds(low: Any, high: Any, dtype: np.dtype[Any], endpoint: bool) -> None:
    """Refuse bounds on the host that are empty or do not fit the dtype."""
    last = high.astype(object) - (not endpoint)
    is_empty, limits = low > last, np.iinfo(dtype)
    if np.any(is_empty):
        raise BadValue(f"integers: low {low} is not below high {high}")
    for bound in (low, last):
        if np.any(bound < limits.min) or np.any(bound > limits.max):
            raise BadValue(f"integers: {low} to {last} is out of bounds for {dtype}")


def _high_half(a: Any, b: Any) -> Array:
    """Return the high 64 bits of products of 64 bits."""
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & low)
    product: Array = a_high * b_high + (middle >> half) + (other >> half)
    return product
