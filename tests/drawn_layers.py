"""Layers of networks that are drawn: what they compute on a device, and what is right.

A layer has `results`, by the library's routines or by `gpuarray.nn`; `rights`, by NumPy
in float64; `shapes`, by the formulas; and a `graph` for the compiled language. A layer
that is ``refused`` has no results: all of it raises ValueError.
"""

from __future__ import annotations

import gpuarray.compiler.tensor as T
import numpy as np
import patches
from bounds import Right, sum_of, unit
from drawn_convolutions import Convolution
from drawn_pooling import Pooling
from gpuarray import nn
from gpuarray._native import check, lib
from gpuarray._nn import neighbours
from gpuarray.compiler import grad
from gpuarray.compiler.tensor.nnet import abstract_conv
from gpuarray.compiler.tensor.nnet.neighbours import images2neibs
from gpuarray.dtypes import as_dtype, work_dtype
from layer_base import Graph, Layer, Named, held, lengths_of, variables, whole
from upsampled import interpolated

# ---- neighbourhoods ----


class Neighbours(Layer):
    """Neighbourhoods of images, and back."""

    def __init__(self, rng):
        super().__init__(rng)
        others = ["int8", "int64", "uint16", "complex64", "complex128"]
        if rng.random() < 0.3:
            self.dtype = str(rng.choice(others))
        self.mode = str(rng.choice(patches.MODES))
        for _ in range(6):  # most numbers do not fit
            lengths, self.length, self.step = (
                rng.integers(least, most, 2).tolist()
                for least, most in ((0, 9), (1, 5), (1, 4))
            )
            self.places = [
                patches.places(self.mode, *axis)
                for axis in zip(lengths, self.length, self.step, strict=True)
            ]
            self.refused = any(part is None for part in self.places)
            if not self.refused:
                break
        self.shape = (*map(int, rng.integers(0, 4, 2)), *lengths)
        self.host, self.x = self.values(self.shape)
        if not self.refused:
            rows = patches.matrix(self.x, *self.places)
            self.rows, self.wide_rows = self.values(rows.shape)

    def values(self, shape):
        x = whole(self.rng, shape, 3)
        if self.dtype[0] == "u":
            x = np.abs(x)
        if self.dtype[0] == "c":
            x = x + 1j * whole(self.rng, shape, 3)
        if self.dtype[0] in "iu":
            x = x.astype("int64")  # sums wrap
        return x.astype(as_dtype(self.dtype)), x

    def rights(self):
        value = patches.matrix(self.x, *self.places)
        yield Named("neighbours", Right(value), self.dtype)
        value = patches.images(self.wide_rows, self.shape, *self.places)
        yield Named("images", Right(value), self.dtype)

    def results(self, views):
        numbers = self.length, self.step, self.mode
        x = views.array(self.host)
        if self.refused:
            yield "", neighbours.images_to_neighbours(x, *numbers)
        description = neighbours.description_of("", self.shape[2:], *numbers)
        rows, out = views.array(self.rows), views.out(self.rows.shape, self.dtype)
        check(lib.GpuArray_images_to_neighbours(out.struct, x.struct, description))
        yield "neighbours", out
        out = views.out(self.shape, self.dtype)
        check(lib.GpuArray_neighbours_to_images(out.struct, rows.struct, description))
        yield "images", out

    def graph(self):
        if self.refused or self.dtype[0] != "f":
            return None
        x, g = variables(self.dtype, self.host, self.rows)
        y = images2neibs(x, self.length, self.step, self.mode)
        outputs = [y, grad((y * g).sum(), x), y.shape]
        rights = [*self.rights(), lengths_of(self.rows.shape)]
        return Graph([x, g], [self.host, self.rows], outputs, rights)


# ---- normalisation ----


class Normalisation(Layer):
    """Batch normalisation, with statistics of the batch or with given ones."""

    def __init__(self, rng):
        super().__init__(rng)
        ndim = int(rng.integers(2, 6))
        self.shape = tuple(map(int, rng.integers(1, 6, ndim)))
        count = int(rng.integers(1, ndim))
        picked = sorted(rng.choice(ndim, count, replace=False).tolist())
        self.axes = None if rng.integers(2) else tuple(picked)
        self.places = self.axes or (0, *range(2, ndim))
        self.kept = [1 if i in self.places else n for i, n in enumerate(self.shape)]
        self.is_short = bool(rng.integers(2))
        self.is_given = bool(rng.integers(2))
        self.epsilon = float(rng.choice([1e-4, 1e-3, 0.1, 1]))
        mean = rng.choice([0.0, 1.0, 10.0])
        self.host, self.x = held(rng.normal(mean, 1, self.shape), self.dtype)
        self.work = work_dtype(self.dtype).name
        numbers = [rng.normal(0, 1, self.kept) for _ in "gbm"]
        numbers.append(rng.uniform(0.1, 2, self.kept))
        self.parameters = [held(each, self.work) for each in numbers]

    def rights(self):
        x, u, places = self.x, unit(self.dtype), self.places
        gamma, beta, mean, var = (wide for _, wide in self.parameters)
        n = int(np.prod([self.shape[i] for i in places])) + 4
        off_mean = off_var = np.zeros(self.kept)
        if not self.is_given:
            mean, var = x.mean(places, keepdims=True), x.var(places, keepdims=True)
            off_mean = n * u * np.abs(x).mean(places, keepdims=True)
            squares = (np.abs(x) + np.abs(mean)) ** 2
            off_var = n * u * squares.mean(places, keepdims=True)
        scale = np.abs(gamma) / np.sqrt(var + self.epsilon)
        far = np.abs(x - mean)
        error = scale * (off_mean + 8 * u * (far + np.abs(mean)))
        error = error + scale * far * off_var / (var + self.epsilon) / 2
        value = (x - mean) * gamma / np.sqrt(var + self.epsilon) + beta
        error = 1.5 * error + 2 * u * (np.abs(value) + np.abs(beta))
        yield Named("normal", Right(value, error), self.dtype)
        if not self.is_given:
            yield Named(
                "mean", Right(self.small(mean), self.small(off_mean)), self.work
            )
            yield Named("var", Right(self.small(var), self.small(off_var)), self.work)

    def small(self, array):
        """A parameter as it is given: without the axes, or with length 1 there."""
        if not self.is_short:
            return array
        return array.reshape(
            [n for i, n in enumerate(self.shape) if i not in self.places]
        )

    def results(self, views):
        x = views.array(self.host)
        numbers = [views.array(self.small(host)) for host, _ in self.parameters]
        options = {"axes": self.axes, "epsilon": self.epsilon}
        if self.is_given:
            yield "normal", nn.batch_norm(x, *numbers, **options)
            return
        found = nn.batch_norm(x, *numbers[:2], **options)
        yield from zip(("normal", "mean", "var"), found, strict=True)

    def graph(self):
        rights = list(self.rights())[:2]
        arrays = [self.host, *(self.small(host) for host, _ in self.parameters)]
        x, *numbers = variables(self.dtype, self.host) + variables(
            self.work, *arrays[1:]
        )
        if not self.is_given:
            arrays, numbers = arrays[:3], numbers[:2]
        name = "test" if self.is_given else "train"
        function = getattr(T.nnet, f"batch_normalization_{name}")
        found = function(x, *numbers, axes=self.places, epsilon=self.epsilon)
        outputs = [found] if self.is_given else list(found[:2])
        return Graph([x, *numbers], arrays, outputs, rights)


class Response(Layer):
    """Local response normalisation."""

    def __init__(self, rng):
        super().__init__(rng)
        self.shape = tuple(map(int, rng.integers(0, 6, rng.integers(2, 6))))
        self.n = int(rng.integers(1, 9))
        self.k, self.alpha, self.beta = rng.uniform(0.5, 2, 3).tolist()
        self.host, self.x = held(2 * rng.standard_normal(self.shape), self.dtype)

    def rights(self):
        ends = [(0, 0)] * self.x.ndim
        ends[1] = self.n // 2, (self.n - 1) // 2
        padded = np.pad(self.x**2, ends)
        channels = self.shape[1]
        squares = sum(padded[:, i : i + channels] for i in range(self.n))
        base = self.k + self.alpha / self.n * squares
        value = self.x / base**self.beta
        # A power has up to 16 units, as OpenCL allows; its base n + 4 roundings, and
        # the three numbers are rounded: the exponent's counts times a logarithm.
        ulps = 40 + 2 * (self.n + 6) + 4 * np.abs(np.log(base))
        error = ulps * unit(self.dtype) * np.abs(value)
        yield Named("normal", Right(value, error), self.dtype)

    def results(self, views):
        numbers = {"k": self.k, "alpha": self.alpha, "beta": self.beta}
        x = views.array(self.host)
        yield "normal", nn.local_response_norm(x, self.n, **numbers)

    def graph(self):
        (x,) = variables(self.dtype, self.host)
        numbers = self.n, self.k, self.alpha, self.beta
        y = T.nnet.local_response_normalization(x, *numbers)
        return Graph([x], [self.host], [y], list(self.rights()))


class Upsampling(Layer):
    """Bilinear upsampling, which the compiled language has."""

    def __init__(self, rng):
        super().__init__(rng)
        self.dtype = str(rng.choice(["float32", "float64"]))
        self.shape = tuple(map(int, rng.integers(1, 5, 4)))
        self.pairs = [tuple(map(int, rng.integers(1, 6, 2))) for _ in "rc"]
        self.ratio = None if rng.integers(2) else int(rng.integers(1, 6))
        self.is_apart = bool(rng.integers(2))
        self.host, self.x = held(rng.standard_normal(self.shape), self.dtype)

    def rights(self):
        pairs = self.pairs if self.ratio is None else [(self.ratio, 1)] * 2
        pairs = [tuple(n // np.gcd(*pair) for n in pair) for pair in pairs]
        value, size = (interpolated(a, *pairs) for a in (self.x, np.abs(self.x)))
        yield Named("larger", sum_of(value, size, 24, self.dtype), self.dtype)

    def results(self, views):
        return ()

    def graph(self):
        (x,) = variables(self.dtype, self.host)
        fractions = None if self.ratio else tuple(self.pairs)
        function = abstract_conv.bilinear_upsampling
        y = function(x, self.ratio, fractions, use_1D_kernel=self.is_apart)
        rights = list(self.rights())
        lengths = lengths_of(rights[0].right.value.shape)
        return Graph([x], [self.host], [y, y.shape], [*rights, lengths])


KINDS = {
    Convolution: 0.58,
    Pooling: 0.25,
    Neighbours: 0.08,
    Normalisation: 0.06,
    Response: 0.03,
}
"""What is drawn, and how often."""


def drawn(seed, kinds=None):
    """The layer of a seed."""
    rng = np.random.default_rng(seed)
    shares = kinds or KINDS
    kind = rng.choice(list(shares), p=list(shares.values()))
    return kind(rng)
