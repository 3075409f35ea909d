"""Configurations that do not fit, one mistake in each: arrays and graphs must refuse.

What is of the wrong kind raises TypeError, what does not fit ValueError, and both are
errors of the package: of `gpuarray.errors` from arrays, of the compiler from graphs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import convolutions
import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray import nn
from gpuarray._native import check, lib
from gpuarray._nn import convolution
from gpuarray._nn.neighbours import images_to_neighbours
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.nnet import conv as ops
from gpuarray.compiler.tensor.nnet.neighbours import images2neibs
from gpuarray.compiler.tensor.signal.pool import Pool
from gpuarray.errors import GpuArrayError

HUGE = [2**63, 2**64, 2**70]


@dataclass
class Refusal:
    """What is called with arrays, what with variables, and the errors of each.

    ``eager`` is given a function that makes arrays, from a shape and a dtype.
    """

    name: str
    kind: Any
    eager: Any
    graph: Any = None
    graph_kind: Any = None

    def differences(self, context):
        """What is not refused, or by another error."""

        def array(shape, dtype="float32"):
            return gpuarray.zeros(tuple(map(int, shape)), dtype, device=context)

        calls = [("eager", partial(self.eager, array), GpuArrayError, self.kind)]
        if self.graph is not None:
            kind = self.graph_kind or self.kind
            calls.append(("graph", self.graph, CompilerError, kind))
        for where, call, base, kind in calls:
            try:
                call()
            except Exception as error:
                if isinstance(error, base) and isinstance(error, kind):
                    continue
                text = f"{type(error).__name__}: {error}"
            else:
                text = "it is taken"
            kinds = kind if isinstance(kind, tuple) else (kind,)
            expected = " or ".join(each.__name__ for each in kinds)
            yield f"refused {where}", f"{self.name}: {text}, expected {expected}"


# ---- convolution ----


def without_fit(rng, d):
    """A convolution whose shapes do not fit, and how."""
    g, n = d.geometry, d.geometry.ndim
    filters, image = list(d.filters), list(d.image)
    way = str(rng.choice(["channels", "groups", "extent", "empty", "places"]))
    axis = int(rng.integers(n))
    if way == "channels":
        filters[-1 - n] += int(rng.integers(1, 3))
    elif way == "groups":
        g = replace(g, groups=max(image[1], filters[0], 1) + 1)
        image[1] += int(image[1] == filters[0] == 0)
    elif way == "extent":
        pairs = tuple(map(tuple, rng.integers(0, 3, (n, 2)).tolist()))
        g = replace(g, padding=pairs)
        room = image[2 + axis] + sum(pairs[axis])
        filters[axis - n] = -(-room // g.dilation[axis]) + 1
    elif way == "empty":
        filters[axis - n] = 0
    elif g.is_unshared:
        filters[1 + axis] += int(rng.choice([-1, 1]))
    else:
        filters[1] += 1
    return way, convolutions.Drawn(g, tuple(image), tuple(filters), d.result)


def shapes_of_convolution(rng):
    way, d = without_fit(rng, convolutions.drawn(rng, unshared=0.3))
    g = d.geometry
    options = {"stride": g.stride, "padding": g.padding, "dilation": g.dilation}
    options |= {"groups": g.groups, "unshared": g.is_unshared}

    def eager(array):
        return nn.conv(array(d.image), array(d.filters), **options)

    def graph():
        return op_of(d.geometry, d.image, d.filters)

    return Refusal(
        f"conv {way} {d}", ValueError, eager, None if g.is_unshared else graph
    )


def when_run(seed, context):
    """What a compiled convolution of shapes that do not fit does when it is called."""
    rng = np.random.default_rng(seed)
    way, d = without_fit(rng, convolutions.drawn(rng, unshared=0.3))
    shapes = d.image, d.filters
    x, w = (TensorType("float32", (False,) * len(shape))() for shape in shapes)
    y = op_of(d.geometry)(x, w)
    if rng.integers(2):
        y = grad(y.sum(), x)
    with config.use(device=context.name):
        f = function([x, w], y)
    try:
        f(*(np.zeros(shape, "float32") for shape in shapes))
    except ValueError:
        return ""
    return f"conv {way} {d}: it is taken, expected ValueError"


def op_of(g, image=None, filters=None):
    shapes = image, filters
    options = g.padding, g.stride, g.is_flipped, g.dilation, g.groups, g.is_unshared
    return ops.AbstractConv(g.ndim, *shapes, *options)


def shapes_of_gradients(rng):
    """A gradient by the result of another shape than the result."""
    d = convolutions.drawn(rng)
    g, (image, filters, _) = d.geometry, d.places
    shape = list(d.result)
    shape[rng.integers(0 if rng.integers(2) else 2, len(shape))] += 1

    def by_image(array):
        return convolution.grad_image(array(shape), array(d.filters), image, g)

    def by_filters(array):
        grad = array(shape)
        return convolution.grad_filters(array(d.image), grad, filters, g)

    if shape[0] != d.result[0] or (g.is_unshared and shape[2:] != [*d.result[2:]]):
        call = by_filters if shape[0] != d.result[0] else by_image
    elif shape[1] != d.result[1]:
        call = by_image
    else:
        call = (by_image, by_filters)[rng.integers(2)]
    return Refusal(f"{call.__name__} {shape} {d}", ValueError, call)


def shapes_of_transposed(rng):
    d = convolutions.drawn(rng, unshared=0)
    g = d.geometry
    more = [0] * g.ndim
    axis = int(rng.integers(g.ndim))
    more[axis] = g.stride[axis] + int(rng.integers(2))
    padding = g.padding
    if rng.integers(2):  # it would have less than no elements
        more = [0] * g.ndim
        pairs = [(0, 0)] * g.ndim
        pairs[axis] = (10**3, 10**3)
        padding = tuple(pairs)
    options = {"stride": g.stride, "padding": padding, "dilation": g.dilation}
    options |= {"groups": g.groups, "output_padding": more}

    def eager(array):
        return nn.conv_transpose(array(d.result), array(d.filters), **options)

    return Refusal(f"conv_transpose {options} {d}", ValueError, eager)


def options_of_convolution(rng):
    d = convolutions.drawn(rng, unshared=0)
    n = d.geometry.ndim
    each = [-1, -(2**40), 1.5, "2", (1,) * (n + 1), [1] * (n - 1), *HUGE, 2**41]
    each += [(1,) * (n - 1) + (-3,), (1,) * (n - 1) + (2.0,)]
    values = {
        "stride": [0, *each],
        "dilation": [0, *each],
        "groups": [0, -1, 1.5, "2", (1, 1), 2**32, *HUGE],
        "padding": [*each, "same", "Half", ((0, 0),) * (n + 1), ((0, 0, 0),) * n],
    }
    values["padding"] += [((0, -1),) * n, ((0,),) * n, ((0, 0.5),) * n]
    name = str(rng.choice(list(values)))
    value = values[name][rng.integers(len(values[name]))]
    theano = {"stride": "subsample", "dilation": "filter_dilation"}
    theano |= {"groups": "num_groups", "padding": "border_mode"}

    def eager(array):
        return nn.conv(array(d.image), array(d.filters), **{name: value})

    def graph():
        return ops.AbstractConv(n, **{theano[name]: value})

    return Refusal(f"conv {name}={value!r} of {n} axes", ValueError, eager, graph)


def kinds_of_convolution(rng):
    """Arrays of other dtypes, other numbers of axes, or of NumPy."""
    d = convolutions.drawn(rng, unshared=0.2)
    g = d.geometry
    way = str(rng.choice(["two dtypes", "dtype", "axes", "image", "numpy"]))
    dtype = str(rng.choice(["int32", "complex64", "bool", "uint8", "complex128"]))
    options = {"stride": g.stride, "padding": g.padding, "dilation": g.dilation}
    options |= {"groups": g.groups, "unshared": g.is_unshared}
    kind: Any = ValueError if way in ("axes", "image") else TypeError
    image_axes = int(rng.choice([0, 1, 2, 6, 7]))

    def variables(dtype, axes):
        return TensorType(dtype, (False,) * axes)()

    def eager(array):
        x, w = array(d.image), array(d.filters)
        if way == "two dtypes":
            w = array(d.filters, "float64")
        elif way == "dtype":
            x, w = array(d.image, dtype), array(d.filters, dtype)
        elif way == "axes":
            w = w[0] if rng.integers(2) else array((*d.filters, 1))
        elif way == "image":
            x = array((2,) * image_axes)
        else:
            w = np.zeros(d.filters, "float32")
        return nn.conv(x, w, **options)

    def graph():
        floats = dtype if way == "dtype" else "float32"
        axes = image_axes if way == "image" else len(d.image)
        more = rng.integers(1, 3) if way == "axes" else 0
        x, w = variables(floats, axes), variables(floats, len(d.filters) + more)
        return op_of(g)(x, w)

    has_graph = way in ("axes", "image", "dtype")
    name = f"conv {way} {dtype} {image_axes} {d}"
    return Refusal(name, kind, eager, graph if has_graph else None)


def memory_of_convolution(rng):
    """A result in the memory of an operand."""
    d = convolutions.drawn(rng)
    which = int(rng.integers(2))

    def eager(array):
        n_in, n_out = (int(np.prod(s)) for s in ((d.image, d.filters)[which], d.result))
        memory = array((n_in + n_out,))
        first = int(rng.integers(0, n_in))
        out = memory[first : first + n_out].reshape(d.result)
        arrays = [array(d.image), array(d.filters)]
        arrays[which] = memory[:n_in].reshape(arrays[which].shape)
        structs = [a.struct for a in (out, *arrays)]
        check(lib.GpuArray_conv(*structs, d.geometry.struct()))

    return Refusal(f"conv to its operand {which} {d}", ValueError, eager)


# ---- others ----


def pooling(rng):
    nd = int(rng.integers(1, 4))
    shape = rng.integers(1, 6, nd + rng.integers(0, 2)).tolist()
    good = {"window": (2,) * nd, "stride": (1,) * nd, "padding": (0,) * nd}
    axis = int(rng.integers(nd))

    def one(value, other=1):
        return tuple(value if i == axis else other for i in range(nd))

    cases = [
        ("window", one(0, 2), ValueError),
        ("window", one(-1, 2), ValueError),
        ("window", one(1.5, 2), TypeError),
        ("window", one(2**31, 2), ValueError),
        ("window", (2,) * (len(shape) + 1), ValueError),
        ("window", (2,) * 4, ValueError),
        ("window", (), ValueError),
        ("stride", one(0), ValueError),
        ("stride", one(-2), ValueError),
        ("stride", one("1"), TypeError),
        ("stride", (1,) * (nd + 1), ValueError),
        ("padding", one(2, 0), ValueError),
        ("padding", one((0, 2), 0), ValueError),
        ("padding", one(-1, 0), ValueError),
        ("padding", (0,) * (nd + 1), ValueError),
        ("padding", one(0.5, 0), TypeError),
        *((name, one(n), ValueError) for name in good for n in HUGE),
    ]
    name, value, kind = cases[rng.integers(len(cases))]
    options = good | {name: value}
    if name == "window" and len(value) != nd:
        options |= {"stride": None, "padding": 0}
    function = (nn.max_pool, nn.sum_pool, nn.avg_pool)[rng.integers(3)]

    def eager(array):
        return function(array(shape), **options)

    def graph():
        x = TensorType("float32", (False,) * len(shape))()
        return Pool(ndim=nd)(x, *options.values())

    is_pair = name == "padding" and isinstance(value[min(axis, len(value) - 1)], tuple)
    takes = max(map(len, filter(None, good.values()))) == nd and options["stride"]
    in_graph = takes and not is_pair and not has_huge(value)
    text = f"{function.__name__} {options} of {shape}"
    return Refusal(
        text, kind, eager, graph if in_graph else None, (TypeError, ValueError)
    )


def has_huge(value):
    return any(isinstance(n, int) and n >= 2**31 for n in value)


def dtypes_of_pooling(rng):
    dtype, function = [
        ("bool", nn.max_pool),
        ("complex64", nn.max_pool),
        ("complex128", nn.sum_pool),
        ("int32", nn.avg_pool),
        ("uint8", nn.avg_pool),
    ][rng.integers(5)]
    mode = {"max_pool": "max", "sum_pool": "sum", "avg_pool": "average_inc_pad"}

    def graph():
        x = TensorType(dtype, (False, False))()
        return Pool(mode=mode[function.__name__])(x, (2, 2))

    name = f"{function.__name__} of {dtype}"
    return Refusal(
        name, TypeError, lambda array: function(array((3, 4), dtype), 2), graph
    )


def neighbours(rng):
    image, step = rng.integers(1, 6, 4).tolist(), [1, 1]
    bad = [0, -1, *HUGE]
    number = bad[rng.integers(len(bad))]
    cases = [
        (image, (number, 1), step, "valid", ValueError),
        (image, (1, 1), (1, number), "valid", ValueError),
        (image, (1, 1, 1), step, "valid", ValueError),
        (image, (1, 1), step, "same", ValueError),
        (image[1:], (1, 1), step, "valid", ValueError),
        (image, (image[2] + 1, 1), step, "valid", ValueError),
        (image, (2, 1), step, "wrap_centered", ValueError),
    ]
    index = int(rng.integers(len(cases)))
    shape, length, step, mode, kind = cases[index]

    def graph():
        x = TensorType("float32", (False,) * len(shape))()
        return images2neibs(x, length, step, mode)

    def eager(array):
        return images_to_neighbours(array(shape), length, step, mode)

    in_graph = graph if index in (2, 3, 4) else None
    name = f"images_to_neighbours {length} {step} {mode} of {shape}"
    return Refusal(name, kind, eager, in_graph, (TypeError, ValueError))


def normalisation(rng):
    shape = rng.integers(2, 5, rng.integers(2, 5)).tolist()
    n, ndim = shape[1], len(shape)
    options: dict[str, Any] = {}
    wrong, dtype, kind, mean = (n,), "float32", ValueError, None
    way = int(rng.integers(6))
    if way == 0:
        wrong = (n + 1,)
    elif way == 1:
        wrong = (1,) * (ndim + 1)
    elif way == 2:
        dtype, kind = "int32", TypeError
    elif way == 3:
        # Of a matrix the rank of its parameters fits, and their length may.
        options["axes"] = [(ndim,), (-1,) if ndim > 2 else (), ()][rng.integers(3)]
    elif way == 4:
        mean = (n,)
    else:
        shape = shape[:1]

    def eager(array):
        x, gamma, beta = array(shape, dtype), array(wrong), array((n,))
        if way == 5:
            return nn.local_response_norm(x)
        numbers = () if mean is None else (array(mean),)
        return nn.batch_norm(x, gamma, beta, *numbers, **options)

    def graph():
        x = TensorType(dtype, (False,) * len(shape))()
        gamma = TensorType("float32", (False,) * len(wrong))()
        if way == 5:
            return T.nnet.local_response_normalization(x)
        function = T.nnet.batch_normalization_train
        return function(x, gamma, T.fvector(), options.get("axes", "spatial"))

    in_graph = graph if way in (1, 2, 3, 5) else None
    name = f"normalisation {way} {options} of {shape} {dtype}"
    return Refusal(name, kind, eager, in_graph, (TypeError, ValueError))


MISTAKES = [
    *[shapes_of_convolution] * 4,
    *[options_of_convolution] * 4,
    *[kinds_of_convolution] * 2,
    *[shapes_of_gradients] * 2,
    *[shapes_of_transposed] * 2,
    memory_of_convolution,
    *[pooling] * 4,
    dtypes_of_pooling,
    *[neighbours] * 2,
    *[normalisation] * 2,
]


def drawn_refusal(seed):
    """The mistake of a seed."""
    rng = np.random.default_rng(seed)
    return MISTAKES[rng.integers(len(MISTAKES))](rng)
