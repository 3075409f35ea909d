"""Pooling by NumPy, the judge: windows are counted one by one, no formula is used."""

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True)
class Windows:
    """A draw: numbers for each of the last axes."""

    window: tuple
    stride: tuple
    before: tuple
    after: tuple
    mode: str = "max"
    ceil: bool = False
    names: tuple = field(default=("window", "stride", "before", "after"), repr=False)

    def spans(self, axis, n):
        """Of each window along an axis of ``n``: start, stop, length with padding."""
        window, stride, before, after = (getattr(self, k)[axis] for k in self.names)
        start, reached, found = -before, None, []
        while True:
            stop = min(start + window, n + after)
            if not self.ceil and start + window > n + after:
                return found
            is_covered = reached is not None and reached >= n + after
            if self.ceil and (start >= n or is_covered):
                return found
            found.append((max(start, 0), min(stop, n), stop - start))
            reached = start + window
            start += stride

    def places(self, shape):
        """Each window: its place, a slice for each axis, its length with padding."""
        nd = len(self.window)
        axes = [self.spans(k, n) for k, n in enumerate(shape[len(shape) - nd :])]
        for place in itertools.product(*map(range, map(len, axes))):
            spans = [axis[k] for axis, k in zip(axes, place, strict=True)]
            inside = tuple(slice(start, stop) for start, stop, _ in spans)
            yield (..., *place), (..., *inside), np.prod([n for *_, n in spans])

    def shape(self, shape):
        nd = len(self.window)
        inner = [len(self.spans(k, n)) for k, n in enumerate(shape[len(shape) - nd :])]
        return (*shape[: len(shape) - nd], *inner)

    def like(self, **numbers):
        """The same with other windows, strides or padding."""
        return replace(self, **numbers)

    def has_only_padding(self, shape):
        """Whether there are windows without an element."""
        nd = len(self.window)
        lengths = shape[len(shape) - nd :]
        return any(n == 0 and self.spans(k, n) for k, n in enumerate(lengths))

    @property
    def axes(self):
        return tuple(range(-len(self.window), 0))

    def along(self, values):
        return np.expand_dims(values, self.axes)

    def pooled(self, x):
        y = np.zeros(self.shape(x.shape), x.dtype)
        for place, inside, count in self.places(x.shape):
            part = x[inside]
            y[place] = {
                "max": lambda part=part: part.max(self.axes),
                "sum": lambda part=part: part.sum(self.axes),
                "average_inc_pad": lambda part=part, n=count: part.sum(self.axes) / n,
                "average_exc_pad": lambda part=part: part.mean(self.axes),
            }[self.mode]()
        return y

    def shares(self, x, y):
        """One over the number of elements that equal their window's maximum."""
        out = np.zeros_like(y)
        for place, inside, _ in self.places(x.shape):
            number = (x[inside] == self.along(y[place])).sum(self.axes)
            out[place] = 1 / np.maximum(number, 1)
        return out

    def size(self, x):
        """The sums of magnitudes that sums and averages are made of; 0 of maxima."""
        of_maxima = self.mode == "max"
        return np.zeros(self.shape(x.shape)) if of_maxima else self.pooled(np.abs(x))

    def gradient(self, x, y, g):
        """The gradient by ``x``, from that of the result ``y``."""
        out = np.zeros_like(x)
        for place, inside, count in self.places(x.shape):
            part, one = x[inside], self.along(g[place])
            if self.mode == "max":
                out[inside] += np.where(part == self.along(y[place]), one, 0)
            elif self.mode == "sum":
                out[inside] += one
            else:
                elements = np.prod([part.shape[k] for k in self.axes])
                out[inside] += one / (
                    count if self.mode == "average_inc_pad" else elements
                )
        return out

    def at_maxima(self, x, y, v):
        """Sums of ``v`` where ``x`` equals the maxima."""
        out = np.zeros_like(y)
        for place, inside, _ in self.places(x.shape):
            is_max = x[inside] == self.along(y[place])
            out[place] = np.where(is_max, v[inside], 0).sum(self.axes)
        return out

    def at_first(self, x, v):
        """Elements of ``v`` where the first maxima are."""
        out = np.zeros(self.shape(x.shape), x.dtype)
        for place, inside, _ in self.places(x.shape):
            part = x[inside]
            outer = part.ndim - len(self.window)
            rows = (*part.shape[:outer], math.prod(part.shape[outer:]))
            first = part.reshape(rows).argmax(-1)[..., None]
            values = v[inside].reshape(rows)
            out[place] = np.take_along_axis(values, first, -1)[..., 0]
        return out


MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def drawn(random, nd, *, is_symmetric=False, most=5):
    """Windows of any size and stride that pad less than they are long."""
    window = [int(n) for n in random.integers(1, most, nd)]
    stride = [int(n) for n in random.integers(1, most, nd)]
    before = [int(random.integers(0, n)) for n in window]
    after = before if is_symmetric else [int(random.integers(0, n)) for n in window]
    mode = MODES[random.integers(len(MODES))]
    numbers = (tuple(part) for part in (window, stride, before, after))
    return Windows(*numbers, mode, bool(random.integers(2)))


def drawn_values(random, shape):
    """Small integers, so that maxima are shared and sums are exact; maybe a nan."""
    x = random.integers(-4, 5, shape).astype("float64")
    if x.size and random.integers(6) == 0:
        x.flat[random.integers(x.size)] = np.nan
    return x
