"""NumPy, which every other library's results are compared with."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.libraries.base import EPSILON, Plain, Prepared, eager
from benchmarks.rows import Array, Row


class Half(np.ndarray[Any, Any]):
    """float16 whose products are float32's: NumPy's own have no fast way."""

    def __matmul__(self, other: Any) -> Any:
        a, b = self.view(np.ndarray), other.view(np.ndarray)
        return (a.astype("float32") @ b.astype("float32")).astype("float16")


def placed(array: Any) -> Any:
    """An array as it is, or one whose products are not for ever."""
    return array.view(Half) if array.dtype == np.float16 else array


def taps(
    length: Sequence[int], shape: Sequence[int], stride: int
) -> Iterator[tuple[tuple[int, int], tuple[slice, slice]]]:
    """Each place in a window, and what it sees in an image for a result's shape."""
    for i, j in np.ndindex(*length):
        rows, columns = (
            slice(first, first + stride * (count - 1) + 1, stride)
            for first, count in zip((i, j), shape, strict=True)
        )
        yield (i, j), (rows, columns)


def grouped(a: Array, groups: int) -> Array:
    """Batch, groups, channels of a group, places."""
    return a.reshape(len(a), groups, a.shape[1] // groups, -1)


class Layers(Plain):
    """Layers of networks on images, a tap of the window after another."""

    def relu(self, a: Array) -> Array:
        """What is above 0."""
        return np.maximum(a, 0)

    def conv2d(
        self, x: Array, w: Array, stride: int = 1, padding: int = 0, groups: int = 1
    ) -> Array:
        """Filters moved over images, not flipped."""
        x = padded(x, padding)
        count = len(w)
        w = w.reshape(groups, count // groups, *w.shape[1:])
        shape = [
            (n - t) // stride + 1 for n, t in zip(x.shape[2:], w.shape[3:], strict=True)
        ]
        found = np.zeros(
            (len(x), groups, count // groups, shape[0] * shape[1]), x.dtype
        )
        for (i, j), seen in taps(w.shape[3:], shape, stride):
            found += w[..., i, j] @ grouped(x[:, :, *seen], groups)
        return found.reshape(len(x), count, *shape)

    def conv2d_by_images(
        self,
        upstream: Array,
        w: Array,
        shape: Sequence[int],
        stride: int = 1,
        padding: int = 0,
        groups: int = 1,
    ) -> Array:
        """The gradient of a convolution by images of a shape."""
        found = padded(np.zeros(shape, upstream.dtype), padding)
        flowing = grouped(upstream, groups)
        w = w.reshape(groups, len(w) // groups, *w.shape[1:])
        for (i, j), seen in taps(w.shape[3:], upstream.shape[2:], stride):
            part = w[..., i, j].swapaxes(1, 2) @ flowing
            found[:, :, *seen] += part.reshape(*shape[:2], *upstream.shape[2:])
        whole = slice(padding, -padding or None)
        return found[:, :, whole, whole]

    def conv2d_by_filters(
        self,
        x: Array,
        upstream: Array,
        shape: Sequence[int],
        stride: int = 1,
        padding: int = 0,
        groups: int = 1,
    ) -> Array:
        """The gradient of a convolution by filters of a shape."""
        x = padded(x, padding)
        found = np.empty(shape, upstream.dtype)
        flowing = grouped(upstream, groups)
        for (i, j), seen in taps(shape[2:], upstream.shape[2:], stride):
            part = flowing @ grouped(x[:, :, *seen], groups).swapaxes(2, 3)
            found[..., i, j] = part.sum(axis=0).reshape(shape[:2])
        return found

    def max_pool(self, x: Array, window: int, stride: int) -> Array:
        """The largest of each window that lies inside."""
        shape = [(n - window) // stride + 1 for n in x.shape[2:]]
        parts = (x[:, :, *seen] for _, seen in taps((window, window), shape, stride))
        return reduce(np.maximum, parts)

    def max_pool_gradient(
        self, x: Array, pooled: Array, upstream: Array, window: int, stride: int
    ) -> Array:
        """By the images; the largest of a window are told apart."""
        found = np.zeros_like(x)
        for _, seen in taps((window, window), pooled.shape[2:], stride):
            found[:, :, *seen] += upstream * (x[:, :, *seen] == pooled)
        return found

    def batch_norm(self, x: Array, gain: Array, bias: Array) -> Array:
        """Each channel by its mean and variance over the batch and the places."""
        unit, _ = normed(x)
        return unit * channels(gain) + channels(bias)

    def batch_norm_gradient(
        self, x: Array, gain: Array, bias: Array, upstream: Array
    ) -> list[Array]:
        """By the three of them."""
        unit, scale = normed(x)
        slopes = (upstream * unit).sum(AXES), upstream.sum(AXES)
        count = x.size // x.shape[1]
        inner = upstream - (unit * channels(slopes[0]) + channels(slopes[1])) / count
        return [inner * scale * channels(gain), *slopes]

    def sampled(self, a: Any, x: Array, y: Array) -> Array:
        """The values of x @ y where a matrix has its own, some rows at a time."""
        row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
        turned = np.ascontiguousarray(y.T)
        found = np.empty_like(a.data)
        for first in range(0, len(row), 1 << 16):
            part = slice(first, first + (1 << 16))
            terms = x[row[part]] * turned[a.indices[part]]
            found[part] = terms.sum(axis=1)
        return found

    def mrg(self, n: int) -> Array:
        """Other numbers of the same distribution, to compare the mean with."""
        found: Array = self.generator.random(n, "float32")
        return found


def normed(x: Array) -> tuple[Array, Array]:
    """Of mean 0 and variance 1 in each channel, and what it was multiplied by."""
    centred = x - x.mean(AXES, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(AXES, keepdims=True) + EPSILON)
    return centred * scale, scale


def channels(a: Array) -> Array:
    """A number a channel, in the rank of images."""
    return a.reshape(1, -1, 1, 1)


def padded(x: Array, padding: int) -> Array:
    """Zeros around images."""
    around = (padding, padding)
    return np.pad(x, ((0, 0), (0, 0), around, around)) if padding else x


AXES = 0, 2, 3
"""All but the channels."""

NAMES = Layers(np, np.random.default_rng(12345), csr=scipy.sparse.csr_array)


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """On the host."""
    prepared = eager(row, NAMES, placed, lambda: None, np.asarray, False)
    prepared.peak = lambda: peak(row)
    return prepared


def peak(row: Row) -> float:
    """Bytes of operands and temporaries; Python's own allocator counts NumPy's."""
    tracemalloc.start()
    prepared = eager(row, NAMES, placed, lambda: None, np.asarray, False)
    prepared.call()
    tracemalloc.reset_peak()
    prepared.call()
    return tracemalloc.get_traced_memory()[1]
