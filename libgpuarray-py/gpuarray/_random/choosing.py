"""Random choices, permutations and shuffles."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_shape, axis_number
from gpuarray._core.base import asnumpy
from gpuarray._indexing.advanced_indexing import take_at
from gpuarray._manipulation.take_put import count_nonzero, take_along_axis
from gpuarray._math.statistics import clip
from gpuarray._native import check, lib
from gpuarray._random.basic import Basic
from gpuarray._random.parameters import Size
from gpuarray._sorting.searching import searchsorted
from gpuarray._sorting.sorting import argsort, argsort_random
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.scanning import cumsum
from gpuarray.array import Array
from gpuarray.errors import BadType, BadValue, ReadOnly

__all__ = ["Choosing"]


class Choosing(Basic):
    """Parts of arrays in random order, by sorting random numbers."""

    __slots__ = ()

    def choice(
        self,
        a: Any,
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
        values = self._values(a, "choice")
        at = 0 if values is None else axis_number(axis, values.ndim, "choice")
        count = operator.index(a) if values is None else values.shape[at]
        shape = () if size is None else as_shape(size, "choice")
        number = math.prod(shape)
        if count < 1 and number:
            raise BadValue("choice: there is nothing to draw from")
        weights = None if p is None else self._weights(p, count)
        if replace:
            places = self._drawn(number, count, weights)
        else:
            places = self._drawn_once(number, count, weights)
        if values is None:
            return places.reshape(shape)
        drawn: Array = take_at(values, [places.reshape(shape)], at)
        return drawn

    def _values(self, a: Any, operation: str) -> Array | None:
        """Return an array on the context, or None for a number."""
        if isinstance(a, Array):
            self._same_context(a, operation)
            return a
        if np.ndim(a) > 0:
            return Array.from_host(np.asarray(a), self._context)
        try:
            operator.index(a)
        except TypeError:
            raise BadType(
                f"{operation}: got {a!r}, expected an integer or an array"
            ) from None
        return None

    def _weights(self, p: Any, count: int) -> Array:
        """Return probabilities on the context; waits to check them."""
        host = asnumpy(p).astype(np.float64)
        if host.shape != (count,):
            raise BadValue(f"choice: p has shape {host.shape}, expected ({count},)")
        wrong = host[~(host >= 0)]
        if wrong.size:
            raise BadValue(f"choice: got p {wrong[0]:g}, expected numbers from 0 to 1")
        if abs(host.sum() - 1) > 1e-8:
            raise BadValue(f"choice: p adds up to {host.sum():.9g}, expected 1")
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

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """Return the integers below ``x``, or an array's parts, in random order.

        Random numbers of 64 bits are sorted: the order is the same on every device.
        Raises BadValue for an array of another context.

        >>> print(gpuarray.random.default_rng(1).permutation(5))
        [4 3 1 2 0]
        """
        values = self._values(x, "permutation")
        if values is not None:
            order, at = self._order(values, axis, "permutation")
            permuted: Array = take_at(values, [order], at)
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

    def permuted(
        self, x: Any, axis: int | None = None, out: Array | None = None
    ) -> Array:
        """Return an array whose lines along ``axis`` are shuffled, each by itself.

        None: all elements are shuffled. ``out`` may be ``x`` itself.

        >>> rng = gpuarray.random.default_rng(1)
        >>> print(gpuarray.sort(rng.permuted([[1, 2], [3, 4]], axis=1), axis=1))
        [[1 2]
         [3 4]]
        """
        values = self._values(x, "permuted")
        if values is None:
            raise BadType(f"permuted: got {x!r}, expected an array")
        if axis is None:
            order = self._places(values.size)
            drawn = take_at(values.reshape(-1), [order], 0).reshape(values.shape)
        else:
            at = axis_number(axis, values.ndim, "permuted")
            orders = argsort_random(self.bits(values.shape, np.uint64), at)
            drawn = take_along_axis(values, orders, at)
        if out is None:
            result: Array = drawn
            return result
        if out.shape != drawn.shape:
            raise BadValue(f"permuted: out is {out.shape}, expected {drawn.shape}")
        check(lib.GpuArray_move(out._struct, drawn._struct), "permuted")
        return out

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
        places: Array = argsort_random(self.bits(length, np.uint64), 0)
        return places
