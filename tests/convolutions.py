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


def drawn(rng, ndim=None, most=7, unshared=0.15):
    """A convolution that gives results, with any of its options."""
    ndim = int(ndim or rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 3]))
    numbers = {
        "stride": rng.choice([1, 1, 2, 3], ndim),
        "dilation": rng.choice([1, 1, 2], ndim),
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
    least = [max(1, e - sum(both)) for e, both in zip(extents, pairs, strict=True)]
    image = tuple(int(n + rng.integers(0, most)) for n in least)
    result = tuple(
        (n + sum(both) - e) // s + 1
        for n, both, e, s in zip(image, pairs, extents, stride, strict=True)
    )
    batch, channels, results = (int(n) for n in rng.integers(1, 4, 3))
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


def meetings(d: Drawn):
    """All products: indices of the image, of the filters and of the result."""
    g = d.geometry
    image, filters, result = d.places
    before = [
        {"half": e // 2, "full": e - 1}.get(g.padding, 0)
        if isinstance(g.padding, str)
        else g.padding[axis][0]
        for axis, e in enumerate(
            (n - 1) * dil + 1 for n, dil in zip(filters, g.dilation, strict=True)
        )
    ]
    channels, results = d.image[1] // g.groups, d.filters[0] // g.groups
    for at in itertools.product(*map(range, result)):
        for element in itertools.product(*map(range, filters)):
            place = tuple(
                o * s + f * dil - b
                for o, s, f, dil, b in zip(
                    at, g.stride, element, g.dilation, before, strict=True
                )
            )
            if not all(0 <= p < n for p, n in zip(place, image, strict=True)):
                continue
            of = element
            if g.is_flipped:
                of = tuple(n - 1 - f for n, f in zip(filters, element, strict=True))
            own = at if g.is_unshared else ()
            for group, c, r in itertools.product(
                range(g.groups), range(channels), range(results)
            ):
                row = group * results + r
                yield (
                    (group * channels + c, *place),
                    (row, *own, c, *of),
                    (row, *at),
                )


def judged(d: Drawn, image, filters, grad):
    """The result, and the gradients by image and filters of ``sum(result * grad)``."""
    x, w, g = (a.astype("float64") for a in (image, filters, grad))
    y, dx, dw = np.zeros(d.result), np.zeros(d.image), np.zeros(d.filters)
    for i, f, o in meetings(d):
        y[(slice(None), *o)] += x[(slice(None), *i)] * w[f]
        dx[(slice(None), *i)] += g[(slice(None), *o)] * w[f]
        dw[f] += (x[(slice(None), *i)] * g[(slice(None), *o)]).sum()
    return y, dx, dw


def arrays(d: Drawn, rng, dtype="float32"):
    """Whole numbers: sums of their products are exact in any float that holds them."""
    most = 2 if dtype in ("float16", "bfloat16") else 5
    shapes = d.image, d.filters, d.result
    return [rng.integers(-most, most + 1, s).astype(dtype) for s in shapes]
