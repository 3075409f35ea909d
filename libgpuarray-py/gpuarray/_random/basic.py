"""Bits, integers, and the distributions that have functions of their own in C."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.context import Context
from gpuarray._native import lib
from gpuarray._random.drawing import Draws
from gpuarray._random.parameters import Size, broadcast_shape, on_context
from gpuarray._random.seeding import WORD
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue, GpuArrayError, renamed

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
        try:
            return self.uniform(0.0, 1.0, size, dtype, out)
        except GpuArrayError as error:
            raise renamed(error, "uniform", "random") from None

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
        try:
            return self.normal(0.0, 1.0, size, dtype, out)
        except GpuArrayError as error:
            raise renamed(error, "normal", "standard_normal") from None

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
        try:
            return self.exponential(1.0, size, dtype, out)
        except GpuArrayError as error:
            raise renamed(error, "exponential", "standard_exponential") from None

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

        ``high`` is excluded unless ``endpoint``. Both may be arrays, which broadcast;
        where arrays on the device leave no integer, or have one that is out of the
        dtype's range, the result is -1.

        >>> print(gpuarray.random.default_rng(1).integers(1, 7, 8))
        [6 5 6 4 4 6 1 1]
        """
        first, end = (0, low) if high is None else (low, high)
        if _is_array(first) or _is_array(end):
            if out is not None:
                dtype = self._target("integers", size, dtype, out).dtype
            drawn = self._integers_between(first, end, size, dtype, endpoint)
            return drawn if out is None else _moved(drawn, out)
        first = _integer("low", first)
        last = _integer("low" if high is None else "high", end) - (not endpoint)
        target = self._target("integers", size, dtype, out)
        least, greatest = _limits(target.dtype)
        if first > last:
            raise BadValue(f"integers: low {first} is not below high {end}")
        if first < least or last > greatest:
            raise BadValue(
                f"integers: {first} to {last} is out of bounds for {target.dtype}"
            )
        if target.dtype.kind == "b":
            return self._fill(lib.GpuArray_random_bernoulli, target, (first + last) / 2)
        signed = first if first < WORD // 2 else first - WORD
        count = (last - first + 1) % WORD
        return self._fill(lib.GpuArray_random_integers, target, signed, count)

    def _integers_between(
        self, low: Any, high: Any, size: Size, dtype: npt.DTypeLike, endpoint: bool
    ) -> Array:
        """Draw between arrays: the high half of 64 bits times the range."""
        result = as_dtype(dtype, "integers")
        bounds = [
            _Bound.of("low", low, True, self._context),
            _Bound.of("high", high, endpoint, self._context),
        ]
        _check_order(*bounds)
        for bound in bounds:
            bound.check_fit(result)
        first, last = (bound.words() for bound in bounds)
        shape = broadcast_shape("integers", ["low", "high"], [first, last], size)
        count = FUNCTIONS["subtract"](last, first) + np.uint64(bounds[1].closed)
        bits = self.bits(shape, np.uint64)
        below = FUNCTIONS["where"](count == 0, bits, _high_half(bits, count))
        drawn: Array = (first + below).astype(result)
        allowed = _allowed(bounds, result)
        if allowed is not None:
            drawn = FUNCTIONS["where"](allowed, drawn, np.asarray(-1).astype(result))
        return drawn

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


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the greatest integer of a dtype; BadType for others."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu":
        raise BadType(f"integers: dtype {dtype} is not an integer type")
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


@dataclass(frozen=True)
class _Bound:
    """A bound of integers: Python's integers in an array on the host, or an array.

    ``closed``: it is a result itself; one on the host always.
    """

    name: str
    host: npt.NDArray[Any] | None
    array: Array | None
    closed: bool
    context: Context

    @classmethod
    def of(cls, name: str, given: Any, closed: bool, context: Context) -> _Bound:
        if isinstance(given, Array):
            array = on_context(given, context, "integers", name)
            if array.dtype.kind not in "biu":
                raise BadType(f"integers: {name} is {array.dtype}, expected integers")
            return cls(name, None, array, closed, context)
        host = np.asarray(given)
        values = host.astype(object)
        if host.dtype.kind not in "biu" and not all(
            isinstance(value, int) for value in values.flat
        ):
            raise BadType(f"integers: got {name} {given!r}, expected integers")
        return cls(name, np.asarray(values - (not closed)), None, True, context)

    def check_fit(self, dtype: np.dtype[Any]) -> None:
        """Raise BadValue for a bound on the host that is out of the dtype's range."""
        least, greatest = _limits(dtype)
        host = self.host if self.host is not None and self.host.size else None
        if host is not None and (host.min() < least or host.max() > greatest):
            raise BadValue(
                f"integers: {self.name} is out of bounds for {dtype}, which has "
                f"{least} to {greatest}: results reach {host}"
            )

    def on_device(self) -> Array:
        """Return integers that compare as the bound does."""
        if self.host is None:
            assert self.array is not None
            return self.array
        kind = np.int64 if self.host.size and self.host.min() < 0 else np.uint64
        return Array.from_host(self.host.astype(kind), self.context)

    def words(self) -> Array:
        """Return 64 bits, modulo 2**64."""
        return self.on_device().astype(np.uint64)


def _check_order(low: _Bound, high: _Bound) -> None:
    if low.host is not None and high.host is not None and np.any(low.host > high.host):
        raise BadValue(
            f"integers: low {low.host} is not below high, whose last integers are "
            f"{high.host}"
        )


def _allowed(bounds: Sequence[_Bound], dtype: np.dtype[Any]) -> Array | None:
    """Return where the bounds leave integers of the dtype; None: everywhere."""
    low, high = bounds
    least, greatest = _limits(dtype)
    if low.array is None and high.array is None:
        return None
    compare = FUNCTIONS["less_equal" if high.closed else "less"]
    allowed: Array = compare(low.on_device(), high.on_device())
    if low.array is not None and _limits(low.array.dtype)[0] < least:
        allowed = allowed & (low.array >= low.array.dtype.type(least))
    end = greatest + (not high.closed)
    if high.array is not None and _limits(high.array.dtype)[1] > end:
        allowed = allowed & (high.array <= high.array.dtype.type(end))
    return allowed


def _high_half(a: Any, b: Any) -> Array:
    """Return the high 64 bits of products of 64 bits."""
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & low)
    product: Array = a_high * b_high + (middle >> half) + (other >> half)
    return product
