"""Drawn convolutions, and plain loops of Python that judge them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from gpuarray._nn.convolution import Geometry


@dataclass(frozen=True)
class Drawn:
    """A convolution and the shapes of its three arrays."""

    geometry: Geometry
    image: tuple[int, ...]
    filters: tuple[int, ...]
    result: tuple[int, ...]

    @property
    def places(self):
        """The spatial lengths of image, filters and result."""
        n = self.geometry.ndim
        return self.image[2:], self.filters[-n:], self.result[2:]


def drawn(rng, ndim=None, most=7, unshared=0.15, odd=0.0):
    """A convolution that gives results, with any of its options.

    The share ``odd`` has strides or dilations longer than images, or axes of length 0.
    """
    ndim = int(ndim or rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 3]))
    is_odd = odd > 0 and rng.random() < odd
    numbers = {
        "stride": rng.choice([1, 2, 9, 300] if is_odd else [1, 1, 2, 3], ndim),
        "dilation": rng.choice([1, 2, 24 // ndim] if is_odd else [1, 1, 2], ndim),
        "filters": rng.integers(1, 4, ndim),
    }
    stride, dilation, filters = (tuple(map(int, v)) for v in numbers.values())
    extents = [(n - 1) * d + 1 for n, d in zip(filters, dilation, strict=True)]
    padding = rng.choice(["half", "full", "pairs"], p=[0.2, 0.2, 0.6])
    if padding == "half":
        pairs = [(e // 2, e // 2) for e in extents]
    elif padding == "full":
        pairs = [(e - 1, e - 1) for e in extents]
    else:
        pairs = [tuple(map(int, both)) for both in rng.integers(0, 3, (ndim, 2))]
    shortest = 0 if is_odd else 1
    least = [
        max(shortest, e - sum(both)) for e, both in zip(extents, pairs, strict=True)
    ]
    image = tuple(int(n + rng.integers(0, most)) for n in least)
    result = tuple(
        (n + sum(both) - e) // s + 1
        for n, both, e, s in zip(image, pairs, extents, stride, strict=True)
    )
    batch, channels, results = (int(n) for n in rng.integers(0 if is_odd else 1, 4, 3))
    geometry = Geometry(
        stride,
        dilation,
        str(padding) if padding != "pairs" else tuple(pairs),
        groups,
        bool(rng.integers(2)),
        bool(rng.random() < unshared),
    )
    places = result if geometry.is_unshared else ()
    return Drawn(
        geometry,
        (batch, groups * channels, *image),
        (groups * results, *places, channels, *filters),
        (batch, groups * results, *result),
    )


def before(geometry, filters):
    """The zeros before each spatial axis, by the filters' spatial lengths."""
    extents = [(n - 1) * d + 1 for n, d in zip(filters, geometry.dilation, strict=True)]
    if geometry.padding == "half":
        return [extent // 2 for extent in extents]
    if geometry.padding == "full":
        return [extent - 1 for extent in extents]
    return [first for first, _ in geometry.padding]


def met(element, stride, dilation, zeros, image, result):
    """The results of an axis that an element of a filter has a part in, and with what.

    Both are slices; padding has no part in anything.
    """
    first = element * dilation - zeros
    start = max(0, -(first // stride))
    stop = max(start, min(result, (image - 1 - first) // stride + 1))
    at = first + start * stride
    end = at + (stop - start - 1) * stride + 1 if stop > start else at
    return slice(start, stop), slice(at, end, stride)


def meetings(d: Drawn):
    """Each element of the filters: its place, and the images and results that meet."""
    g, (image, filters, result) = d.geometry, d.places
    zeros = before(g, filters)
    for element in itertools.product(*map(range, filters)):
        axes = zip(element, g.stride, g.dilation, zeros, image, result, strict=True)
        slices = [met(*axis) for axis in axes]
        if g.is_flipped:
            element = [n - 1 - f for n, f in zip(filters, element, strict=True)]
        outs, ins = zip(*slices, strict=True)
        yield (..., *element), (..., *ins), (..., *outs)


def grouped(a, groups, axis):
    """A view with an axis split into groups."""
    lengths = groups, a.shape[axis] // groups
    return a.reshape(*a.shape[:axis], *lengths, *a.shape[axis + 1 :])


def judged(d: Drawn, image, filters, grad):
    """The result, and the gradients by image and filters of ``sum(result * grad)``."""
    wide = [a.astype("float64") for a in (image, filters, grad)]
    groups, spatial = d.geometry.groups, "xyz"[: d.geometry.ndim]
    x, w, g = (
        grouped(a, groups, axis) for a, axis in zip(wide, (1, 0, 1), strict=True)
    )
    y, dx, dw = (np.zeros_like(a) for a in (g, x, w))
    own = spatial if d.geometry.is_unshared else ""
    names = f"ngr{spatial}", f"ngc{spatial}", f"gr{own}c"

    def products(of, a, b, out):
        return np.einsum(f"{names[a]},{names[b]}->{names[out]}", *of)

    for of_filters, ins, outs in meetings(d):
        here = of_filters
        if own:
            here = (slice(None), slice(None), *outs[1:], slice(None), *of_filters[1:])
        y[outs] += products((x[ins], w[here]), 1, 2, 0)
        dx[ins] += products((g[outs], w[here]), 0, 2, 1)
        dw[here] += products((x[ins], g[outs]), 1, 0, 2)
    return y.reshape(d.result), dx.reshape(d.image), dw.reshape(d.filters)


def arrays(d: Drawn, rng, dtype="float32"):
    """Whole numbers: sums of their products are exact in any float that holds them."""
    most = 2 if dtype in ("float16", "bfloat16") else 5
    shapes = d.image, d.filters, d.result
    return [rng.integers(-most, most + 1, s).astype(dtype) for s in shapes]
