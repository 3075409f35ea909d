"""Random numbers on a device, by NumPy's names: ``gpuarray.random.default_rng(1)``.

The generator is Philox4x32-10. What it makes depends on its seed, its stream and how
far it has come, not on the device or the layout of an array: bits, integers and uniform
numbers are the same on all of them.

>>> import gpuarray
>>> rng = gpuarray.random.default_rng(42, context="null")
>>> rng
Generator(seed=42, stream=0, position=0, context='null')
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._native import check, ffi, lib
from gpuarray.array import Array
from gpuarray.base import as_shape, axis_number
from gpuarray.context import Context
from gpuarray.context import context as find_context
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue, ReadOnly
from gpuarray.fancy import take_at
from gpuarray.sorting import argsort

__all__ = ["Generator", "default_rng"]

Size = int | Sequence[int] | None
_WORD = 2**64


class Generator:
    """A stream of random numbers on a context.

    A seed has 2**64 streams that share nothing. One thread at a time may use it.
    """

    __slots__ = ("_context", "_spawned", "_state")

    def __init__(
        self,
        seed: int | None = None,
        context: Context | str | None = None,
        stream: int = 0,
    ) -> None:
        """``seed`` None: one that nobody knows."""
        self._context = find_context(context)
        self._spawned = 0
        self._state = ffi.new("gpurandom *")
        chosen = secrets.randbits(64) if seed is None else _word(seed, "seed")
        lib.gpurandom_init(self._state, chosen, _word(stream, "stream"))

    @property
    def context(self) -> Context:
        """The context that its arrays are made on."""
        return self._context

    @property
    def state(self) -> tuple[int, int, int]:
        """Seed, stream and position, which may be set to go on from there."""
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

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators that are independent of this one and of each other."""
        children = []
        for _ in range(n_children):
            seed, stream, _ = self.state
            entropy = [seed, stream, self._spawned]
            words = np.random.SeedSequence(entropy).generate_state(2, np.uint64)
            children.append(Generator(int(words[0]), self._context, int(words[1])))
            self._spawned += 1
        return children

    # ---- what it makes ----

    def random(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Uniform numbers in [0, 1)."""
        return self.uniform(0.0, 1.0, size, dtype, out)

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Uniform numbers in [low, high), of a float or complex dtype."""
        made = self._target("uniform", size, dtype, out)
        return self._fill(lib.GpuArray_random_uniform, made, float(low), float(high))

    def standard_normal(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Normal numbers of mean 0 and deviation 1."""
        return self.normal(0.0, 1.0, size, dtype, out)

    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Normal numbers; of a complex dtype both parts have this deviation."""
        made = self._target("normal", size, dtype, out)
        return self._fill(lib.GpuArray_random_normal, made, float(loc), float(scale))

    def standard_exponential(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Exponential numbers of mean 1."""
        return self.exponential(1.0, size, dtype, out)

    def exponential(
        self,
        scale: float = 1.0,
        size: Size = None,
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """Exponential numbers of mean ``scale``."""
        made = self._target("exponential", size, dtype, out)
        return self._fill(lib.GpuArray_random_exponential, made, float(scale))

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: npt.DTypeLike = np.int64,
        endpoint: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Integers from ``low`` up to ``high``, or from 0 up to ``low``.

        ``high`` is left out unless ``endpoint``.
        """
        first, end = (0, low) if high is None else (low, high)
        first = operator.index(first)
        last = operator.index(end) - (not endpoint)
        made = self._target("integers", size, dtype, out)
        if made.dtype.kind == "b" and 0 <= first <= last <= 1:
            return self._fill(lib.GpuArray_random_bernoulli, made, (first + last) / 2)
        if made.dtype.kind not in "iu":
            raise BadType(f"integers: dtype {made.dtype} is not an integer type")
        limits = np.iinfo(made.dtype)
        if first > last:
            raise BadValue(f"integers: low {first} is not below high {end}")
        if first < limits.min or last > limits.max:
            raise BadValue(
                f"integers: {first} to {last} is out of bounds for {made.dtype}"
            )
        signed = first if first < _WORD // 2 else first - _WORD
        count = (last - first + 1) % _WORD
        return self._fill(lib.GpuArray_random_integers, made, signed, count)

    def bits(
        self,
        size: Size = None,
        dtype: npt.DTypeLike = np.uint32,
        out: Array | None = None,
    ) -> Array:
        """Random bits of an integer dtype, straight from the generator."""
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
        """Ones with probability ``p``, else zeros."""
        made = self._target("bernoulli", size, dtype, out)
        return self._fill(lib.GpuArray_random_bernoulli, made, float(p))

    def permutation(self, x: int | Array, axis: int = 0) -> Array:
        """The integers below ``x`` in random order, or an array's parts along ``axis``.

        Random numbers of 64 bits are sorted: the order is the same on every device.
        """
        if isinstance(x, Array):
            order, at = self._order(x, axis, "permutation")
            made: Array = take_at(x, [order], at)
            return made
        length = operator.index(x)
        if length < 0:
            raise BadValue(f"permutation: got {length}, expected 0 or more")
        return self._places(length)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Bring the parts of an array along ``axis`` into random order, in place."""
        if not isinstance(x, Array):
            raise BadType(
                f"shuffle: got {type(x).__name__}, expected a gpuarray array; use "
                "gpuarray.asarray(x)"
            )
        if not x.flags.writeable:
            raise ReadOnly("shuffle: the array is read-only, as broadcast views are")
        order, at = self._order(x, axis, "shuffle")
        moved = take_at(x, [order], at)
        check(lib.GpuArray_move(x._struct, moved._struct), "shuffle")

    def _order(self, x: Array, axis: int, operation: str) -> tuple[Array, int]:
        """Places along ``axis`` in random order, and the axis from the first on."""
        if x.context is not self._context:
            raise BadValue(
                f"{operation}: the array is on {x.context.name}, the generator on "
                f"{self._context.name}; use x.transfer(rng.context)"
            )
        if x.ndim == 0:
            raise BadValue(f"{operation}: a 0-d array has no axis to be reordered")
        at = axis_number(axis, x.ndim, operation)
        return self._places(x.shape[at]), at

    def _places(self, length: int) -> Array:
        places: Array = argsort(self.bits(length, np.uint64))
        return places

    def bytes(self, length: int) -> bytes:
        """``length`` random bytes on the host; waits for them."""
        words = self.bits(-(-length // 4)).get()
        return words.astype("<u4", copy=False).tobytes()[:length]

    def _target(
        self, operation: str, size: Size, dtype: npt.DTypeLike, out: Array | None
    ) -> Array:
        """``out``, or a new array of ``size``; None: of no axes."""
        if out is None:
            shape = () if size is None else as_shape(size, operation)
            wanted = as_dtype(dtype, operation)
            return Array.allocate(shape, wanted, self._context, operation=operation)
        if size is not None and as_shape(size, operation) != out.shape:
            raise BadValue(
                f"{operation}: size {size} is not the shape of out, {out.shape}"
            )
        return out

    def _fill(self, call: Callable[..., int], array: Array, *parameters: Any) -> Array:
        check(call(array._struct, self._state, *parameters))
        return array


def _word(number: Any, name: str) -> int:
    """A number of 64 bits; larger ones are no seeds."""
    value = operator.index(number)
    if not 0 <= value < _WORD:
        raise BadValue(f"Generator: {name} {value} is not in 0 to 2**64 - 1")
    return value


def default_rng(
    seed: int | None = None, context: Context | str | None = None
) -> Generator:
    """A generator; the same seed gives the same numbers on every device."""
    return Generator(seed, context)
