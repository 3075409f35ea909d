"""Cases of functions of numbers: statistics, sums, polynomials, histograms."""

from __future__ import annotations

import numpy as np
from functions import FLOATS, INTEGERS, REAL, case

# ---- numbers ----


@case("round", "around")
def _(d):
    return (d.array(FLOATS + INTEGERS, special=False), d.number(-2, 2)), {}


@case("clip")
def _(d):
    a = d.array(REAL[1:])
    low, high = sorted((d.number(0, 20), d.number(0, 20)))
    limits = [d.pick(low, None), d.pick(high, high, None)]
    limits = d.pick(limits, limits[::-1])
    if d.flag():
        return (a, *limits), {}
    names = d.pick(("min", "max"), ("a_min", "a_max"))
    return (a,), dict(zip(names, limits, strict=True))


@case("diff")
def _(d):
    a = d.array(low=1)
    axis = d.axis(a, many=False, none=False)
    ends = {}
    for name in ("prepend", "append"):
        if d.number(0, 2) == 0 and axis < a.ndim:
            lengths = [*a.shape]
            lengths[axis] = d.number(1, 2)
            ends[name] = d.pick(0, d.values(tuple(lengths), a.dtype.name))
    return (a,), {"n": d.number(0, 3), "axis": axis, **ends}


@case("gradient", rtol=50, waits="values")
def _(d):
    a = d.array(FLOATS[1:], low=1, high=3, least=d.pick(0, 3, 3), special=False)
    axis = d.axis(a, many=False)
    options = {"axis": axis, "edge_order": d.pick(1, 1, 2)}
    if axis is not None and axis < a.ndim and d.flag():
        return (a, np.cumsum(d.content.uniform(0.5, 1.5, a.shape[axis]))), options
    count = a.ndim if axis is None else 1
    spaces = [0.5 + i for i in range(count)]
    return (a, *d.pick((1.0,), (0.5,), (), spaces, spaces)), options


@case("trapezoid", rtol=20)
def _(d):
    a = d.array(FLOATS[1:], low=1, special=False)
    axis = d.axis(a, False, False)
    how = {"dx": d.pick(1.0, 0.5)}
    if d.flag() and axis < a.ndim:
        shape = d.pick((a.shape[axis],), a.shape)
        how = {"x": d.content.uniform(-1, 1, shape).astype(a.dtype)}
    return (a,), {"axis": axis, **how}


@case("interp", rtol=50)
def _(d):
    places = np.cumsum(d.content.uniform(0.1, 1.0, d.length(1, 12)))
    values = d.values(places.shape, d.pick("float64", "complex128"), special=False)
    x = d.content.uniform(-1, 8, d.shape(high=2))
    how = d.pick({}, {"left": -1.0}, {"right": 2.0}, {"period": 3.0})
    return (x, places, values), how


@case("convolve", "correlate", rtol=50)
def _(d):
    one, other = (d.array(FLOATS + INTEGERS[4:], 1, 1, special=False) for _ in "ab")
    return (one, other), {"mode": d.pick("full", "same", "valid")}


@case("average", rtol=20)
def _(d):
    a = d.array(FLOATS[1:] + INTEGERS, least=1, special=False)
    axis = d.axis(a)
    weights = d.pick(None, d.content.uniform(0.5, 2, a.shape))
    options = {"axis": axis, "weights": weights}
    return (a,), options | {"returned": d.flag(), "keepdims": d.flag()}


@case("cov", rtol=200)
def _(d):
    a = d.array(FLOATS[1:], low=1, high=2, least=3, special=False)
    options = {"rowvar": d.flag(), **d.pick({}, {"bias": True}, {"ddof": 2})}
    count = a.shape[-1 if options["rowvar"] or a.ndim == 1 else 0]
    if d.number(0, 2) == 0:
        options["fweights"] = d.content.integers(1, 4, count)
    if d.number(0, 2) == 0:
        options["aweights"] = d.content.uniform(0.5, 2, count)
    if d.number(0, 2) == 0:
        options["y"] = d.values(a.shape, a.dtype.name, special=False)
    return (a,), options


@case("corrcoef", rtol=500)
def _(d):
    a = d.array(FLOATS[1:], low=2, high=2, least=3, special=False)
    y = d.pick(None, d.values(a.shape, a.dtype.name, special=False))
    return (a,), {"rowvar": d.flag(), "y": y}


@case("bincount", waits="values")
def _(d):
    a = d.content.integers(0, 9, d.length(0, 40)).astype(d.pick(*INTEGERS[:7]))
    options = {"minlength": d.pick(0, 5, 20)}
    if d.flag():
        options["weights"] = d.content.normal(size=a.shape)
    return (a,), options


def _weights(d, shape):
    """Now and then weights of points, whose sums are exact."""
    return d.pick({}, {"weights": np.asarray(d.content.integers(-3, 9, shape) / 4)})


@case("histogram", waits="values", rtol=20)
def _(d):
    a = d.array((*FLOATS[1:], *INTEGERS, "bool"), special=False)
    bins = d.pick(5, 10, np.array([-3.0, -1.0, 0.0, 2.0]))
    options = {"range": d.pick(None, (-2.0, 2.0)), "density": d.flag()}
    return (a, bins), options | _weights(d, a.shape)


@case("histogram_bin_edges", waits="values")
def _(d):
    a = d.array(FLOATS[1:], special=False)
    options = {"range": d.pick(None, (-2.0, 2.0)), **_weights(d, a.shape)}
    return (a, d.pick(7, np.array([-3.0, -1.0, 0.0, 2.0]))), options


def _binned(d, n, dimensions):
    """Bins, ranges, weights and density of points of some dimensions."""
    edges = np.array([-3.0, -1.0, 0.0, 2.0])
    bins = d.pick(4, [*range(3, 3 + dimensions)], [edges] * dimensions)
    ranges = d.pick(None, [(-2.0, 2.0 + i) for i in range(dimensions)])
    return {"bins": bins, "range": ranges, "density": d.flag(), **_weights(d, (n,))}


@case("histogram2d", waits="values", rtol=20)
def _(d):
    n = d.length(1, 30)
    points = tuple(d.values((n,), "float64", special=False) for _ in "xy")
    return points, _binned(d, n, 2)


@case("histogramdd", waits="values", rtol=20)
def _(d):
    n = d.length(1, 30)
    return (d.values((n, 3), "float64", special=False),), _binned(d, n, 3)


def _near(d):
    """An array, and one that is equal, near it or not."""
    a = d.array(FLOATS)
    b = a if d.flag() else np.asarray(a + d.pick(0, 1e-7, 1e-3, 1))
    return a, b.astype(a.dtype)


@case("isclose")
@case("allclose", waits="values")
def _(d):
    limits = {"rtol": d.pick(1e-5, 0.0, 0.01), "atol": d.pick(1e-8, 0.0, 0.5)}
    if d.number(0, 3) == 0:  # as far apart as it may be
        a = np.asarray(np.round(d.values(d.shape(), d.pick(*FLOATS), special=False)))
        return (a, np.asarray(a + a.dtype.type(1))), {"rtol": 0.0, "atol": 1.0}
    return _near(d), {"equal_nan": d.flag(), **limits}


@case("array_equal", waits="values")
def _(d):
    return _near(d), {"equal_nan": d.flag()}


@case("array_equiv", waits="values")
def _(d):
    a = d.array(REAL, low=1, least=1)
    return (a, a[:1]), {}
