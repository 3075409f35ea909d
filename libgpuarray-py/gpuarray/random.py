"""Random numbers on a device, by NumPy's names: ``gpuarray.random.default_rng(1)``.

The generator is Philox4x32-10. Its numbers depend on its seed, stream and position, not
on the device or the layout of an array: bits, integers and uniform numbers are the same
on all devices.

>>> import gpuarray
>>> rng = gpuarray.random.default_rng(42, context="null")
>>> rng
Generator(seed=42, stream=0, position=0, context='null')
"""

from __future__ import annotations

import math
import operator
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_shape, axis_number
from gpuarray._core.base import asnumpy
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._indexing.advanced_indexing import take_at
from gpuarray._interop import pickling
from gpuarray._manipulation.take_put import count_nonzero
from gpuarray._math.statistics import clip
from gpuarray._native import check, ffi, lib
from gpuarray._sorting.searching import searchsorted
from gpuarray._sorting.sorting import argsort
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.scanning import cumsum
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue, ReadOnly, suggest_names

__all__ = ["Generator", "default_rng"]


def __dir__() -> list[str]:
    return __all__


suggest_names(__name__)


Size = int | Sequence[int] | None
_WORD = 2**64


class Generator:
    """A stream of random numbers on a context.

    A seed has 2**64 streams that share nothing. One thread at a time may use it.

    >>> rng = gpuarray.random.default_rng(1)
    >>> a = rng.normal(size=(2, 3))
    >>> a.shape, a.dtype
    ((2, 3), dtype('float64'))
    """

    __slots__ = ("_context", "_spawned", "_state")

    def __init__(
        self,
        seed: int | None = None,
        context: Context | str | None = None,
        stream: int = 0,
    ) -> None:
        """``seed`` None: one from the system."""
        self._context = find_context(context)
        self._spawned = 0
        self._state = ffi.new("gpurandom *")
        key = secrets.randbits(64) if seed is None else _word(seed, "seed")
        lib.gpurandom_init(self._state, key, _word(stream, "stream"))

    @property
    def context(self) -> Context:
        """The context of its arrays."""
        return self._context

    @property
    def state(self) -> tuple[int, int, int]:
        """Seed, stream and position; setting them continues from there."""
        state = self._state
        return int(state.seed), int(state.stream), int(state.position)

    @state.setter
    def state(self, value: tuple[int, int, int]) -> None:
        seed, stream, position = (_word(number, "state") for number in value)
        lib.gpurandom_init(self._state, seed, stream)
        self._state.position = position

    def __repr__(self) -> str:
        seed, stream, position = self.state
        return (
            f"Generator(seed={seed}, stream={stream}, position={position}, "
            f"context={self._context.name!r})"
        )

    def __reduce__(self) -> Any:
        return _restore, (self.state, self._spawned, self._context.name)

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators that are independent of this one and of each other.

        >>> first, second = gpuarray.random.default_rng(1).spawn(2)
        >>> bool((first.random(3) == second.random(3)).any())
        False
        """
        children = []
        for _ in range(n_children):
            seed, stream, _ = self.state
            entropy = [seed, stream, self._spawned]
            words = np.random.SeedSequence(entropy).generate_state(2, np.uint64)
            children.append(Generator(int(words[0]), self._context, int(words[1])))
            self._spawned += 1
        return children

    # ---- distributions ----

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
        low: float = 0.0,
        high: float = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return uniform numbers in [low, high), of a float or complex dtype.

        >>> print(gpuarray.random.default_rng(1).uniform(-1.0, 1.0, 3))
        [0.78936943 0.42253615 0.74822387]
        """
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
        loc: float = 0.0,
        scale: float = 1.0,
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
        target = self._target("normal", size, dtype, out)
        return self._fill(lib.GpuArray_random_normal, target, float(loc), float(scale))

    def standard_exponential(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return exponential numbers of mean 1.

        >>> a = gpuarray.random.default_rng(1).standard_exponential(100_000)
        >>> print(a.mean().round(1))
        1.0
        """
        return self.exponential(1.0, size, dtype, out)

    def exponential(
        self,
        scale: float = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Return exponential numbers of mean ``scale``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> bool((rng.exponential(2.0, 100) >= 0).all())
        True
        """
        target = self._target("exponential", size, dtype, out)
        return self._fill(lib.GpuArray_random_exponential, target, float(scale))

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        endpoint: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Return integers from ``low`` up to ``high``, or from 0 up to ``low``.

        ``high`` is excluded unless ``endpoint``.

        >>> print(gpuarray.random.default_rng(1).integers(1, 7, 8))
        [6 5 6 4 4 6 1 1]
        """
        first, end = (0, low) if high is None else (low, high)
        first = operator.index(first)
        last = operator.index(end) - (not endpoint)
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
        signed = first if first < _WORD // 2 else first - _WORD
        count = (last - first + 1) % _WORD
        return self._fill(lib.GpuArray_random_integers, target, signed, count)

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
        p: float,
        size: Size = None,
        dtype: npt.DTypeLike = np.bool_,
        out: Array | None = None,
    ) -> Array:
        """Return ones with probability ``p``, else zeros.

        >>> rng = gpuarray.random.default_rng(1)
        >>> set(rng.bernoulli(0.5, 100).tolist()) == {0, 1}
        True
        """
        target = self._target("bernoulli", size, dtype, out)
        return self._fill(lib.GpuArray_random_bernoulli, target, float(p))

    def choice(
        self,
        a: int | Array,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Array:
        """Return random parts of an array along ``axis``, or integers below ``a``.

        ``p`` are their probabilities. Without ``replace`` none is drawn twice; their
        order is random, with or without ``shuffle``.

        >>> rng = gpuarray.random.default_rng(1)
        >>> sorted(rng.choice(3, 3, replace=False).tolist())
        [0, 1, 2]
        """
        at, count = 0, 0
        if isinstance(a, Array):
            self._same_context(a, "choice")
            at = axis_number(axis, a.ndim, "choice")
            count = a.shape[at]
        else:
            count = operator.index(a)
        shape = () if size is None else as_shape(size, "choice")
        number = math.prod(shape)
        if count < 1 and number:
            raise BadValue("choice: there is nothing to draw from")
        weights = None if p is None else self._weights(p, count)
        if replace:
            places = self._drawn(number, count, weights)
        else:
            places = self._drawn_once(number, count, weights)
        if isinstance(a, Array):
            drawn: Array = take_at(a, [places.reshape(shape)], at)
            return drawn
        return places.reshape(shape)

    def _weights(self, p: Any, count: int) -> Array:
        """Return probabilities on the context; waits to check them."""
        host = asnumpy(p).astype(np.float64)
        if host.shape != (count,):
            raise BadValue(f"choice: p has shape {host.shape}, expected ({count},)")
        if not (host >= 0).all() or abs(host.sum() - 1) > 1e-8:
            raise BadValue("choice: p is no distribution: numbers from 0 that add to 1")
        return Array.from_host(host.astype(self._wide()), self._context)

    def _wide(self) -> npt.DTypeLike:
        return np.float64 if self._context.has_double else np.float32

    def _drawn(self, number: int, count: int, weights: Array | None) -> Array:
        if weights is None:
            return self.integers(0, max(count, 1), number)
        below = cumsum(weights)
        shares = self.uniform(0, 1, number, self._wide()) * below[-1]
        places: Array = clip(searchsorted(below, shares, "right"), 0, count - 1)
        return places

    def _drawn_once(self, number: int, count: int, weights: Array | None) -> Array:
        if weights is None:
            if number > count:
                raise BadValue(f"choice: {number} of {count} without replacement")
            every: Array = self._places(count)[:number]
            return every
        possible = int(count_nonzero(weights))
        if number > possible:
            raise BadValue(
                f"choice: {number} without replacement, but only {possible} "
                "probabilities are not 0"
            )
        # The shortest waiting times with these rates are draws in order.
        times = FUNCTIONS["divide"](
            self.standard_exponential(count, self._wide()), weights
        )
        first: Array = argsort(times)[:number]
        return first

    def permutation(self, x: int | Array, axis: int = 0) -> Array:
        """Return the integers below ``x``, or an array's parts, in random order.

        Random numbers of 64 bits are sorted: the order is the same on every device.
        Raises BadValue for an array of another context.

        >>> print(gpuarray.random.default_rng(1).permutation(5))
        [4 3 1 2 0]
        """
        if isinstance(x, Array):
            order, at = self._order(x, axis, "permutation")
            permuted: Array = take_at(x, [order], at)
            return permuted
        length = operator.index(x)
        if length < 0:
            raise BadValue(f"permutation: got {length}, expected 0 or more")
        return self._places(length)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Shuffle the parts of an array along ``axis``, in place.

        Raises ReadOnly for a read-only view.

        >>> a = gpuarray.arange(5)
        >>> gpuarray.random.default_rng(1).shuffle(a)
        >>> print(gpuarray.sort(a))
        [0 1 2 3 4]
        """
        if not isinstance(x, Array):
            raise BadType(
                f"shuffle: got {type(x).__name__}, expected a gpuarray array; use "
                "gpuarray.asarray(x)"
            )
        if not x.flags.writeable:
            raise ReadOnly(
                "shuffle: the array is read-only, as broadcast views and elements are"
            )
        order, at = self._order(x, axis, "shuffle")
        moved = take_at(x, [order], at)
        check(lib.GpuArray_move(x._struct, moved._struct), "shuffle")

    def _order(self, x: Array, axis: int, operation: str) -> tuple[Array, int]:
        """A random permutation of ``axis``, and the axis counted from the first."""
        self._same_context(x, operation)
        if x.ndim == 0:
            raise BadValue(f"{operation}: a 0-d array has no axis to be reordered")
        at = axis_number(axis, x.ndim, operation)
        return self._places(x.shape[at]), at

    def _same_context(self, x: Array, operation: str) -> None:
        if x.context is not self._context:
            raise BadValue(
                f"{operation}: the array is on {x.context.name}, the generator on "
                f"{self._context.name}; use x.transfer(rng.context)"
            )

    def _places(self, length: int) -> Array:
        places: Array = argsort(self.bits(length, np.uint64))
        return places

    def bytes(self, length: int) -> bytes:
        """Return ``length`` random bytes on the host; waits for them.

        >>> len(gpuarray.random.default_rng(1).bytes(3))
        3
        """
        words = self.bits(-(-length // 4)).get()
        return words.astype("<u4", copy=False).tobytes()[:length]

    def _target(
        self, operation: str, size: Size, dtype: npt.DTypeLike, out: Array | None
    ) -> Array:
        """Return ``out``, or a new array of ``size``; None: a 0-d one."""
        if out is None:
            shape = () if size is None else as_shape(size, operation)
            out_dtype = as_dtype(dtype, operation)
            return Array.allocate(shape, out_dtype, self._context, operation=operation)
        if size is not None and as_shape(size, operation) != out.shape:
            raise BadValue(
                f"{operation}: size {size} is not the shape of out, {out.shape}"
            )
        return out

    def _fill(self, call: Callable[..., int], array: Array, *parameters: Any) -> Array:
        check(call(array._struct, self._state, *parameters))
        return array


def _restore(state: tuple[int, int, int], spawned: int, name: str) -> Generator:
    """The generator of a pickle, on the context that an array's pickle goes to."""
    generator = Generator(0, pickling.place(name))
    generator.state, generator._spawned = state, spawned
    return generator


def _word(number: Any, name: str) -> int:
    """Return a number of 64 bits; larger ones are no seeds."""
    try:
        value = operator.index(number)
    except TypeError:
        raise BadType(
            f"Generator: {name} is {number!r}, expected an integer from 0 to 2**64 - 1"
        ) from None
    if not 0 <= value < _WORD:
        raise BadValue(f"Generator: {name} {value} is not in 0 to 2**64 - 1")
    return value


def default_rng(
    seed: int | None = None, context: Context | str | None = None
) -> Generator:
    """Return a generator; the same seed gives the same numbers on every device.

    ``seed`` is an integer from 0 to 2**64 - 1 (BadValue for another); None: one from
    the system.

    >>> rng = gpuarray.random.default_rng(1)
    >>> print(rng.random(3))
    [0.89468472 0.71126808 0.87411194]
    """
    return Generator(seed, context)
