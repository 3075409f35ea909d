"""Drawn convolutions and their gradients, see `drawn_layers`."""

from __future__ import annotations

import convolutions
import gpuarray.compiler.tensor as T
import numpy as np
from bounds import Right, is_exact, sum_of
from gpuarray import nn
from gpuarray._native import check, lib
from gpuarray._nn import convolution
from gpuarray.compiler import grad
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.nnet import conv as ops
from gpuarray.compiler.tensor.nnet import abstract_conv
from layer_base import SHORT, Graph, Layer, Named, held, lengths_of, variables, whole
from theano_shapes import conv_length

ROUTINES = {
    "conv": lib.GpuArray_conv,
    "by image": lib.GpuArray_conv_grad_image,
    "by filters": lib.GpuArray_conv_grad_filters,
}


class Convolution(Layer):
    """A convolution and its two gradients.

    Where inf or nan are, the zeros of padding are not multiplied by them in what is
    checked: they are in the image, in filters without padding, or in the gradient by
    the result for that by the image.
    """

    def __init__(self, rng):
        super().__init__(rng)
        large = rng.random() < 0.02
        self.drawn = convolutions.drawn(rng, most=24 if large else 6, odd=0.1)
        if large:
            self.widen()
        self.roles = list(ROUTINES)
        self.hosts = self.draw_values()

    def widen(self):
        """More channels and results, as blocks of kernels have; shared filters."""
        d = self.drawn
        if d.geometry.is_unshared or d.geometry.ndim == 3:
            return
        inner, results = self.rng.integers(4, 40, 2).tolist()
        groups, n = d.geometry.groups, d.geometry.ndim
        self.drawn = convolutions.Drawn(
            d.geometry,
            (d.image[0], groups * inner, *d.image[2:]),
            (groups * results, inner, *d.filters[-n:]),
            (d.image[0], groups * results, *d.result[2:]),
        )

    def draw_values(self):
        rng, d = self.rng, self.drawn
        shapes = d.image, d.filters, d.result
        kind = rng.choice(["whole", "real", "not finite"], p=[0.6, 0.3, 0.1])
        most = 2 if self.dtype in SHORT else 5
        arrays = [
            rng.standard_normal(s) if kind == "real" else whole(rng, s, most)
            for s in shapes
        ]
        if kind == "not finite":
            self.put_infinities(arrays)
        hosts = [held(a, self.dtype)[0] for a in arrays]
        if rng.random() < 0.1:  # the same along an axis: a stride of 0
            which = int(rng.integers(3))
            axis = int(rng.integers(hosts[which].ndim))
            if kind != "not finite" and hosts[which].shape[axis]:
                one = hosts[which].take([0], axis)
                hosts[which] = np.broadcast_to(one, hosts[which].shape)
        return hosts

    def put_infinities(self, arrays):
        geometry = self.drawn.geometry
        roles = [(0, ["conv", "by filters"]), (2, ["by image"])]
        if geometry.padding == ((0, 0),) * geometry.ndim:
            roles.append((1, ["conv"]))
        which, self.roles = roles[self.rng.integers(len(roles))]
        array = arrays[which]
        for _ in range(int(self.rng.integers(1, 3)) if array.size else 0):
            array.flat[self.rng.integers(array.size)] = self.rng.choice(
                [np.nan, np.inf, -np.inf]
            )

    def rights(self):
        with np.errstate(all="ignore"):
            values = convolutions.judged(self.drawn, *self.hosts)
            sizes = convolutions.judged(self.drawn, *map(np.abs, self.hosts))
        is_whole = all(np.all(a == np.rint(a)) for a in self.wide())
        terms = self.terms()
        for name, value, size, n in zip(ROUTINES, values, sizes, terms, strict=True):
            if name in self.roles:
                is_same = is_whole and is_exact(size, self.dtype)
                right = sum_of(value, None if is_same else size, n, self.dtype)
                yield Named(name, right, self.dtype)

    def wide(self):
        return [np.nan_to_num(a.astype("float64")) for a in self.hosts]

    def terms(self):
        """The most products of each sum."""
        d, ndim = self.drawn, self.drawn.geometry.ndim
        taps = int(np.prod(d.filters[-ndim:]))
        channels, results = d.filters[-1 - ndim], d.filters[0] // d.geometry.groups
        places = d.image[0] * int(np.prod(d.result[2:]))
        return channels * taps + 1, results * taps + 1, places + 1

    def results(self, views):
        arrays = dict(zip("xwg", map(views.array, self.hosts), strict=True))
        d, g = self.drawn, self.drawn.geometry
        shapes = dict(zip(ROUTINES, (d.result, d.image, d.filters), strict=True))
        operands = {"conv": "xw", "by image": "gw", "by filters": "xg"}
        if self.rng.random() < 0.3:
            yield from self.by_functions(*arrays.values())
            return
        for role in self.roles:
            out = views.out(shapes[role], self.dtype)
            structs = [arrays[name].struct for name in operands[role]]
            check(ROUTINES[role](out.struct, *structs, g.struct()))
            yield role, out

    def by_functions(self, x, w, g):
        d, geometry = self.drawn, self.drawn.geometry
        image, filters, _ = d.places
        options = {"stride": geometry.stride, "dilation": geometry.dilation}
        options |= {"padding": self.padding(), "groups": geometry.groups}
        options["flip"] = geometry.is_flipped
        if "conv" in self.roles:
            yield "conv", nn.conv(x, w, **options, unshared=geometry.is_unshared)
        if "by image" in self.roles:
            least = [
                convolution.transposed_length(geometry, axis, *both)
                for axis, both in enumerate(zip(d.result[2:], filters, strict=True))
            ]
            more = [n - m for n, m in zip(image, least, strict=True)]
            if min(more) >= 0 and not geometry.is_unshared:
                yield (
                    "by image",
                    nn.conv_transpose(g, w, **options, output_padding=more),
                )
            else:
                yield "by image", convolution.grad_image(g, w, image, geometry)
        if "by filters" in self.roles:
            yield "by filters", convolution.grad_filters(x, g, filters, geometry)

    def padding(self):
        """One of the ways to say it."""
        padding = self.drawn.geometry.padding
        if isinstance(padding, str):
            return padding
        if any(a != b for a, b in padding):
            is_short = bool(self.rng.integers(2))
            return tuple(a if is_short and a == b else (a, b) for a, b in padding)
        numbers = [a for a, _ in padding]
        if not any(numbers) and self.rng.integers(2):
            return "valid"
        return tuple(numbers) if len(set(numbers)) > 1 else numbers[0]

    def shapes(self):
        d, g = self.drawn, self.drawn.geometry
        image, filters, _ = d.places
        padding = (g.padding,) * g.ndim if isinstance(g.padding, str) else g.padding
        axes = list(zip(padding, g.stride, g.dilation, strict=True))
        by_theano = [
            conv_length(*both, *axis)
            for both, axis in zip(zip(image, filters, strict=True), axes, strict=True)
        ]
        options = self.padding(), g.stride, g.dilation
        get = abstract_conv.get_conv_output_shape(d.image, d.filters, *options)
        found = {"Theano": (*d.result[:2], *by_theano), "get_conv_output_shape": get}
        found["result_shape"] = g.result_shape(d.image, d.filters)
        for name, shape in found.items():
            if tuple(shape) != d.result:
                yield f"{name} gives {shape}, expected {d.result}"
        backwards = {
            "get_conv_gradinputs_shape": (
                d.image,
                abstract_conv.get_conv_gradinputs_shape(
                    d.filters, d.result, *options, g.groups
                ),
            ),
            "get_conv_gradweights_shape": (
                d.filters,
                abstract_conv.get_conv_gradweights_shape(
                    d.image, d.result, *options, g.groups, g.is_unshared
                ),
            ),
        }
        for name, (expected, shape) in backwards.items():
            pairs = zip(shape, expected, strict=True)
            if any(n not in (None, m) for n, m in pairs):
                yield f"{name} gives {shape}, expected {expected}"

    def graph(self):
        d, g = self.drawn, self.drawn.geometry
        options = {"border_mode": self.padding(), "subsample": g.stride}
        options |= {"filter_dilation": g.dilation, "filter_flip": g.is_flipped}
        options["num_groups"] = g.groups
        x, w, top = variables(self.dtype, *self.hosts)
        shapes = (d.image, d.filters) if self.rng.integers(2) else (None, None)
        if g.ndim == 2:
            y = T.nnet.conv2d(x, w, *shapes, **options, unshared=g.is_unshared)
        elif g.ndim == 3 and not g.is_unshared:
            y = T.nnet.conv3d(x, w, *shapes, **options)
        else:
            op = ops.AbstractConv(g.ndim, *shapes, **options, unshared=g.is_unshared)
            y = op(x, w)
        slopes = grad((y * top).sum(), [x, w])
        by_name = dict(zip(ROUTINES, (y, *slopes), strict=True))
        rights = list(self.rights())
        graph = Graph([x, w, top], list(self.hosts), [], [])
        for role, right in zip(self.roles, rights, strict=True):
            self.read(graph, by_name[role], right)
        graph.outputs.append(y.shape)
        graph.rights.append(lengths_of(d.result))
        return graph

    def read(self, graph, result, named):
        """Add a result, or one time in two its negative where a mask is true."""
        value, error = named.right
        if self.rng.integers(2) or value.ndim != result.ndim:
            graph.outputs.append(result)
            graph.rights.append(named)
            return
        kept = self.rng.integers(0, 2, value.ndim) == 1
        shape = [n if keep else 1 for n, keep in zip(value.shape, kept, strict=True)]
        host = self.rng.integers(0, 2, shape).astype(bool)
        mask = TensorType("bool", tuple(not keep for keep in kept))()
        graph.inputs.append(mask)
        graph.arrays.append(host)
        graph.outputs.append(T.switch(mask, -result, 1))
        right = Right(np.where(host, -value, 1.0), np.where(host, error, 0.0))
        graph.rights.append(Named(f"{named.name}, read", right, named.dtype))
