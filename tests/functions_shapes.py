"""Cases of functions: shapes, joins and picks."""

from __future__ import annotations

import numpy as np
from functions import COMPLEX, EVERY, FLOATS, INTEGERS, REAL, SUM, case

# ---- shapes ----


@case("reshape")
def _(d):
    a = d.array()
    shape = d.pick((-1,), (a.size,), (1, -1), (*a.shape, 1), a.shape[::-1], (7, 3))
    return (a, shape), {"order": d.pick("C", "C", "F"), "copy": d.pick(None, True)}


@case("nan_to_num")
def _(d):
    a = d.array()
    options = {name: d.pick(None, 7, -2.5, [1]) for name in ("posinf", "neginf")}
    shape = (1,) * d.pick(0, 1, a.ndim + 1) + d.broadcast_to(a.shape)
    nan = d.pick(0.0, 3, np.asarray(d.values(shape, "float32", special=False)))
    return (a,), options | {"nan": nan, "copy": d.pick(True, True, False)}


@case("fliplr", "flipud", "atleast_1d", "atleast_2d", "atleast_3d")
@case("matrix_transpose", "real", "imag")
def _(d):
    return (d.array(),), {}


@case("argwhere", "nonzero", "flatnonzero", waits="values")
def _(d):
    return (d.array(low=1),), {}


@case("trim_zeros", waits="values")
def _(d):
    a = d.values((d.length(0, 9),), d.pick(*EVERY))
    a[: d.number(0, 3)] = 0
    a[a.size - d.number(0, min(2, a.size)) :] = 0
    return (a,), {"trim": d.pick("fb", "f", "b"), "axis": d.pick(None, 0, -1)}


@case("transpose")
def _(d):
    a = d.array()
    axes = tuple(int(i) for i in d.random.permutation(a.ndim))
    return (a,), {"axes": d.pick(None, axes, tuple(i - a.ndim for i in axes))}


@case("ravel", "copy")
def _(d):
    return (d.array(),), {"order": d.pick("C", "F")}


@case("ediff1d")
def _(d):
    a = d.array((*INTEGERS, *FLOATS, *COMPLEX))
    ends = [d.pick(None, 1, d.values((2,), a.dtype.name)) for _ in "ab"]
    return (a,), {"to_begin": ends[0], "to_end": ends[1]}


@case("squeeze", "flip")
def _(d):
    a = d.array()
    return (a,), {"axis": d.axis(a)}


@case("expand_dims")
def _(d):
    a = d.array(high=3)
    return (a, d.number(-a.ndim - 2, a.ndim + 1)), {}


@case("swapaxes", "moveaxis")
def _(d):
    a = d.array(low=1)
    return (a, d.axis(a, False, False), d.axis(a, False, False)), {}


@case("rollaxis")
def _(d):
    a = d.array(low=1)
    return (a, d.axis(a, False, False), d.number(0, a.ndim)), {}


@case("roll")
def _(d):
    a = d.array()
    return (a, d.number(-7, 7)), {"axis": d.axis(a, many=False)}


@case("rot90")
def _(d):
    a = d.array(low=2)
    axes = [int(i) for i in d.random.permutation(a.ndim)[:2]]
    return (a, d.number(-3, 5)), {"axes": d.pick((0, 1), axes, (-1, 0))}


@case("repeat")
def _(d):
    a = d.array()
    return (a, d.number(0, 3)), {"axis": d.axis(a, many=False)}


@case("tile")
def _(d):
    return (d.array(), tuple(d.number(0, 2) for _ in range(d.number(0, 3)))), {}


@case("resize")
def _(d):
    return (d.array(), d.shape()), {}


@case("broadcast_to")
def _(d):
    shape = d.shape()
    return (d.array(shape=d.broadcast_to(shape)), shape), {}


@case("broadcast_arrays")
def _(d):
    shape = d.shape()
    return (d.array(shape=shape), d.array(shape=d.broadcast_to(shape))), {}


@case("concatenate", "concat", "stack")
def _(d):
    shape = d.shape(low=1)
    axis = d.pick(0, 0, -1, len(shape) - 1, -len(shape))
    return ([d.array(shape=shape) for _ in range(d.number(1, 3))],), {"axis": axis}


@case("hstack", "vstack", "dstack", "column_stack")
def _(d):
    shape = d.shape(low=1)
    return ([d.array(shape=shape) for _ in range(d.number(1, 3))],), {}


@case("append")
def _(d):
    a = d.array(low=1)
    return (a, d.array(shape=a.shape)), {"axis": d.axis(a, many=False)}


@case("split", "array_split")
def _(d):
    a = d.array(low=1)
    return (a, d.pick(1, 2, 3, [1], [1, 3], [0, 2, 2])), {"axis": d.axis(a, 0, 0)}


@case("hsplit", "vsplit", "dsplit")
def _(d):
    return (d.array(), d.pick(1, 2, [1, 2])), {}


@case("unstack")
def _(d):
    a = d.array(low=1)
    return (a,), {"axis": d.axis(a, False, False)}


@case("pad")
def _(d):
    modes = ("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "mean")
    mode = d.pick(*modes)
    # The sum of the largest integers is rounded, in an order that is nobody's.
    a = d.array(high=3, special=mode != "mean")
    return (a, d.pick(1, 2, (0, 2))), {"mode": mode}


@case("delete")
def _(d):
    a = d.array(low=1)
    return (a, d.pick(0, -1, slice(1, 3), [0, 0])), {"axis": d.axis(a, many=False)}


@case("insert")
def _(d):
    a = d.array(low=1)
    return (a, d.pick(0, 1, -1), d.number(0, 9)), {"axis": d.axis(a, many=False)}


@case("diagonal")
@case("trace", rtol=SUM)
def _(d):
    a = d.summands(low=2)
    one, other = (int(i) for i in d.random.permutation(a.ndim)[:2])
    axes = d.pick({}, {"axis1": one, "axis2": other - a.ndim})
    return (a,), {"offset": d.number(-2, 2), **axes}


@case("diag", "tril", "triu")
def _(d):
    return (d.array(low=1, high=3), d.number(-2, 2)), {}


@case("diagflat")
def _(d):
    return (d.array(high=2), d.number(-2, 2)), {}


@case("vander")
def _(d):
    a = d.array(INTEGERS[4:] + FLOATS, low=1, high=1, special=False)
    return (a, d.pick(3, 3, None, 1)), {"increasing": d.flag()}


@case("meshgrid")
def _(d):
    vectors = [d.array(low=1, high=1) for _ in range(d.number(0, 3))]
    options = {"indexing": d.pick("xy", "ij"), "sparse": d.flag(), "copy": d.flag()}
    return tuple(vectors), options


@case("ix_", waits="values")
def _(d):
    def sequence():
        dtype = d.pick("int64", "bool", "int8")
        return np.abs(d.values((d.length(0, 4),), dtype, special=False))

    return tuple(sequence() for _ in range(d.number(1, 3))), {}


def _ends(d, positive):
    """Where a range begins and ends: numbers or arrays that broadcast."""
    shape = d.pick((), (2,), (2, 3))
    ends = [
        np.asarray(d.content.uniform(0.5, 3.0, s), d.pick("float32", "float64"))
        for s in (shape, d.broadcast_to(shape))
    ]
    ends = ends if positive else [ends[0], -ends[1]]
    options = {"num": d.number(0, 6), "endpoint": d.flag()}
    return tuple(ends), options | {"axis": d.pick(0, 0, -1)}


@case("linspace", rtol=4, waits="values")
def _(d):
    ends, options = _ends(d, False)
    return ends, options | {"retstep": d.number(0, 2) == 0}


@case("logspace", rtol=50, waits="values")
def _(d):
    ends, options = _ends(d, False)
    return ends, options | {"base": d.pick(10.0, 2.0)}


@case("geomspace", rtol=50, waits="values")
def _(d):
    return _ends(d, True)


# ---- picking ----


@case("take")
def _(d):
    a = d.array(low=1, least=1)
    axis = d.axis(a, many=False)
    length = a.size if axis is None else (a.shape[axis] if axis < a.ndim else 1)
    beyond = d.pick(0, 0, 2 * length)
    low, high = -length - beyond, length + beyond
    places = d.content.integers(low, high, d.shape(high=2))
    mode = {"mode": d.pick("clip", "wrap")} if beyond else {}
    return (a, places), {"axis": axis, **mode}


@case("take_along_axis")
def _(d):
    a = d.array(low=1, least=1)
    axis = d.axis(a, many=False, none=False)
    places = np.argsort(np.nan_to_num(a.real), axis=min(axis, a.ndim - 1))
    return (a, places, axis), {}


@case("compress", waits="values")
def _(d):
    a = d.array(low=1, least=1)
    axis = d.axis(a, many=False, none=False)
    length = a.shape[axis] if axis < a.ndim else 1
    return (d.values((length,), "bool"), a), {"axis": axis}


@case("extract", waits="values")
def _(d):
    a = d.array()
    return (d.values(a.shape, "bool"), a), {}


@case("where")
def _(d):
    shape = d.shape()
    dtype = d.pick(*EVERY)
    x, y = (d.array((dtype,), shape=d.broadcast_to(shape)) for _ in range(2))
    return (d.array(("bool",), shape=shape), x, y), {}


@case("select")
def _(d):
    shape, dtype = d.shape(), d.pick(*EVERY)
    masks = [d.array(("bool",), shape=shape) for _ in range(2)]
    default = d.pick({}, {"default": 1})
    return (masks, [d.array((dtype,), shape=shape) for _ in range(2)]), default


@case("partition", "argpartition", judge=None)
def _(d):
    a = d.array(REAL, low=1, least=1)
    kth = d.pick(0, -1, a.shape[0], -a.shape[-1] - 1, [0, 0])
    kind = d.pick(*["introselect"] * 9, "quicksort")
    return (a, kth), {"axis": d.axis(a, many=False), "kind": kind}
