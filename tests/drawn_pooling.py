"""Drawn pooling and its gradients, see `drawn_layers`."""

from __future__ import annotations

import math

import numpy as np
import pooled
from bounds import Right, is_exact, sum_of
from gpuarray import nn
from gpuarray._native import check, ffi, lib
from gpuarray._nn import pooling
from gpuarray.compiler import grad
from gpuarray.compiler.tensor.signal.pool import Pool
from gpuarray.dtypes import as_dtype
from layer_base import Graph, Layer, Named, held, lengths_of, variables, whole
from theano_shapes import pool_length


class Pooling(Layer):
    """Pooling in any mode, and what gradients are made of."""

    def __init__(self, rng):
        super().__init__(rng)
        nd = int(rng.integers(1, 4))
        self.judge = pooled.drawn(rng, nd, is_symmetric=bool(rng.integers(2)))
        if rng.random() < 0.08:  # windows or strides longer than the data
            most = tuple(map(int, rng.choice([1, 2, 30, 400], nd)))
            judge = self.judge
            if rng.integers(2):
                self.judge = judge.like(stride=most)
            else:
                pads = [tuple(int(rng.integers(n)) % 5 for n in most) for _ in "ba"]
                self.judge = judge.like(window=most, before=pads[0], after=pads[1])
        shortest = 0 if rng.random() < 0.05 else 1
        lengths = rng.integers(shortest, {1: 20, 2: 9, 3: 6}[nd], nd)
        outer = rng.integers(shortest, 4, rng.integers(0, 3))
        self.shape = (*map(int, outer), *map(int, lengths))
        if self.judge.mode in ("max", "sum") and rng.random() < 0.15:
            self.dtype = str(rng.choice(["int8", "uint8", "int32", "int64", "uint16"]))
        self.draw_values()
        self.refused = self.judge.has_only_padding(self.shape)

    def draw_values(self):
        rng = self.rng
        if self.is_whole:
            info = np.iinfo(self.dtype)
            low, high = max(info.min, -(2**31)), min(info.max, 2**31)
            self.host = rng.integers(low, high, self.shape).astype(self.dtype)
            self.x = self.host.astype("int64")  # sums wrap
            return
        x = pooled.drawn_values(rng, self.shape)
        if rng.random() < 0.25:
            x = rng.standard_normal(self.shape)
        if rng.random() < 0.06:
            x = np.full(self.shape, rng.choice([-np.inf, np.inf, np.nan, -0.0]))
        self.host, self.x = held(x, self.dtype)

    @property
    def is_whole(self):
        return np.dtype(as_dtype(self.dtype)).kind in "iu"

    def like(self, shape):
        return held(whole(self.rng, shape, 3), self.dtype)

    def rights(self):
        if not hasattr(self, "g"):
            self.draw_others()
        judge, x, y = self.judge, self.x, self.y
        inner = self.shape[len(self.shape) - len(judge.window) :]
        terms = math.prod(map(min, inner, judge.window)) + 3
        yield Named("pool", self.near(y, judge.size(x), terms), self.dtype)
        if self.is_whole:
            return
        value = judge.gradient(x, y, self.g)
        size = judge.gradient(x, y, np.abs(self.g))
        yield Named("gradient", self.near(value, size, terms), self.dtype)
        if judge.mode == "max":
            value, size = (judge.at_maxima(x, y, v) for v in (self.v, np.abs(self.v)))
            yield Named("at maxima", self.near(value, size, terms), self.dtype)
            yield Named("at first", Right(judge.at_first(x, self.v)), self.dtype)

    def near(self, value, size, terms):
        """A result of so many roundings; averages are never exact."""
        if self.is_whole or (size is None):
            return Right(value)
        is_whole = all(np.all(a == np.rint(a)) for a in (value, size))
        is_sum = self.judge.mode in ("max", "sum")
        if is_sum and is_whole and is_exact(size, self.dtype):
            return Right(value)
        return sum_of(value, np.nan_to_num(size, posinf=0), terms, self.dtype)

    def draw_others(self):
        with np.errstate(all="ignore"):
            self.y = self.judge.pooled(self.x)
        if not self.is_whole:
            self.top, self.g = self.like(self.y.shape)
            self.direction, self.v = self.like(self.shape)

    def windows(self):
        judge = self.judge
        numbers = (getattr(judge, name) for name in judge.names)
        return pooling.Windows(*numbers, judge.mode, judge.ceil)

    def results(self, views):
        judge, windows = self.judge, self.windows()
        struct = windows.struct("pool")
        if self.refused or self.rng.random() < 0.4:
            x = views.array(self.host)
            yield "pool", self.by_function(x)
        else:
            out, x = self.two(views, self.y.shape, self.host)
            check(lib.GpuArray_pool(out.struct, x.struct, struct))
            yield "pool", out
        if self.is_whole:
            return
        y = self.y.astype(as_dtype(self.dtype))
        if judge.mode != "max":
            out, g = self.two(views, self.shape, self.top)
            check(lib.GpuArray_pool_grad(out.struct, *[ffi.NULL] * 2, g.struct, struct))
            yield "gradient", out
            return
        x, maxima, g, v = map(views.array, (self.host, y, self.top, self.direction))
        out = views.out(self.shape, self.dtype)
        operands = [a.struct for a in (out, x, maxima, g)]
        check(lib.GpuArray_pool_grad(*operands, struct))
        yield "gradient", out
        yield "at maxima", pooling.pool_at_maxima(x, maxima, v, windows)
        yield "at first", pooling.pool_at_first(x, v, windows)

    def two(self, views, shape, host):
        """An array to write to, and another; sometimes they share memory."""
        if self.rng.random() < 0.8:
            return views.out(shape, self.dtype), views.array(host)
        return views.overlapping(shape, host)

    def by_function(self, x):
        judge = self.judge
        padding = list(zip(judge.before, judge.after, strict=True))
        arguments = x, judge.window, judge.stride, padding
        if judge.mode in ("max", "sum"):
            function = nn.max_pool if judge.mode == "max" else nn.sum_pool
            return function(*arguments, ceil=judge.ceil)
        includes = judge.mode == "average_inc_pad"
        return nn.avg_pool(*arguments, ceil=judge.ceil, include_padding=includes)

    def shapes(self):
        judge, nd = self.judge, len(self.judge.window)
        expected = judge.shape(self.shape)
        if judge.before != judge.after or (judge.ceil and any(judge.before)):
            return
        inner = self.shape[len(self.shape) - nd :]
        if judge.ceil and 0 in inner:
            return
        axes = zip(inner, judge.window, judge.stride, judge.before, strict=True)
        by_theano = tuple(pool_length(*axis, not judge.ceil) for axis in axes)
        numbers = judge.window, not judge.ceil, judge.stride, judge.before, nd
        found = {"Theano": (*self.shape[: len(self.shape) - nd], *by_theano)}
        found["Pool.out_shape"] = Pool.out_shape(self.shape, *numbers)
        for name, shape in found.items():
            if tuple(shape) != expected:
                yield f"{name} gives {shape}, expected {expected}"

    def graph(self):
        judge, nd = self.judge, len(self.judge.window)
        if judge.before != judge.after or self.refused:
            return None
        rights = list(self.rights())[: 1 if self.is_whole else 2]
        (x,) = variables(self.dtype, self.host)
        op = Pool(not judge.ceil, judge.mode, nd)
        y = op(x, judge.window, judge.stride, judge.before)
        lengths = lengths_of(self.y.shape)
        if self.is_whole:
            return Graph([x], [self.host], [y, y.shape], [*rights, lengths])
        (g,) = variables(self.dtype, self.top)
        slope = grad(None, x, known_grads={y: g})
        outputs, arrays = [y, slope, y.shape], [self.host, self.top]
        return Graph([x, g], arrays, outputs, [*rights, lengths])
