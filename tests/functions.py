"""Cases for every function that NumPy has too: how their arguments are drawn.

A case draws host arrays and options; the same call is then made with NumPy on the host
and with the package on a device. What NumPy refuses must be refused, what it gives must
be given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = ("bool", *INTEGERS, *FLOATS)
EVERY = (*REAL, *COMPLEX)
# For products of many, which NumPy rounds to halves at each step and a device does not.
WIDE = tuple(name for name in EVERY if name != "float16")
# Sums of many differ by roundings of the largest term, whatever their own size is.
SUM = 20.0
# Products of many differ by a rounding for each factor.
PRODUCT = 4.0


class Draw:
    """What a case draws its arguments from; the same seed draws the same.

    Choices, lengths and elements are drawn apart: with other ``lengths`` a seed draws
    the same dtypes, options and layouts of other shapes.
    """

    longest: ClassVar[dict[int, int]] = {0: 1, 1: 40, 2: 9}
    """The longest axis by the number of axes; 5 for more."""

    def __init__(self, seed: int, special: bool = True, lengths: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.content = np.random.default_rng((seed, 1))
        self.lengths = np.random.default_rng((seed, 2, lengths))
        self.special = special

    def pick(self, *choices: Any) -> Any:
        """One of the choices."""
        return choices[int(self.random.integers(len(choices)))]

    def number(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return int(self.random.integers(low, high + 1))

    def length(self, low: int, high: int) -> int:
        """The length of an axis, both ends included."""
        return int(self.lengths.integers(low, high + 1))

    def flag(self) -> bool:
        """True or False."""
        return bool(self.random.integers(2))

    def shape(self, low: int = 0, high: int = 4, least: int = 0) -> tuple[int, ...]:
        """A shape of ``low`` to ``high`` axes, most of them short."""
        ndim = self.number(low, high)
        longest = self.longest.get(ndim, 5)
        shape = tuple(self.length(1, longest) for _ in range(ndim))
        if ndim and least == 0 and self.number(0, 11) == 0:
            place = self.number(0, ndim - 1)
            shape = (*shape[:place], 0, *shape[place + 1 :])
        return tuple(max(n, least) for n in shape)

    def values(self, shape: tuple[int, ...], dtype: str, special: bool = True) -> Any:
        """Elements of both signs, with what is peculiar to the dtype among them."""
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return self.content.integers(0, 2, shape).astype(bool)
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            low, high = max(limits.min, -30), min(limits.max, 30)
            found = self.content.integers(low, high, shape, endpoint=True).astype(kind)
            return self._sprinkled(found, (limits.min, limits.max, 0), special)
        found = self.content.normal(0, 3, shape).round(2)
        if kind.kind == "c":
            found = found + 1j * self.content.normal(0, 3, shape).round(2)
        found = np.asarray(found).astype(kind)
        return self._sprinkled(found, (np.inf, -np.inf, np.nan, 0.0, -0.0), special)

    def _sprinkled(self, found: Any, values: tuple[Any, ...], special: bool) -> Any:
        if special and self.special and found.size and self.number(0, 3) == 0:
            flat = found.reshape(-1)
            for place in self.content.integers(0, flat.size, self.number(1, 3)):
                flat[place] = self.pick(*values)
        return found

    def array(
        self,
        dtypes: tuple[str, ...] = EVERY,
        low: int = 0,
        high: int = 4,
        least: int = 0,
        special: bool = True,
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        """An array in one of many layouts."""
        shape = self.shape(low, high, least) if shape is None else shape
        return self.laid_out(self.values(shape, self.pick(*dtypes), special))

    def laid_out(self, values: Any) -> Any:
        """The same elements in another layout."""
        how = self.number(0, 4)
        if how == 0 or values.ndim == 0:
            return values
        if how == 1:
            return np.asfortranarray(values)
        if how == 2:
            return np.ascontiguousarray(values[::-1])[::-1]
        axis = self.number(0, values.ndim - 1)
        wide = np.repeat(values, 2, axis)
        wide = wide[(slice(None),) * axis + (slice(None, None, 2),)]
        if how == 3:
            return wide
        order = self.random.permutation(values.ndim)
        return np.ascontiguousarray(wide.transpose(order)).transpose(np.argsort(order))

    def summands(self, low: int = 0) -> Any:
        """An array of any dtype; halves are whole numbers, whose sums are exact."""
        found = self.array(low=low)
        if found.dtype == np.float16:
            found[...] = np.round(found)
        return found

    def factors(self, low: int = 0) -> Any:
        """An array whose products stay in range in whatever order they are made."""
        found = self.array(WIDE, low=low)
        if found.dtype.kind in "fc":
            with np.errstate(invalid="ignore"):
                size = np.abs(found)
                near = found / size * (1 + np.sin(size) / 10)
            usual = np.isfinite(found) & (size > 0)
            found[usual] = near[usual]
        return found

    def broadcast_to(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts with ``shape``."""
        short = tuple(1 if self.number(0, 4) == 0 else n for n in shape)
        return short[self.number(0, len(short)) if self.flag() else 0 :]

    def axis(self, array: Any, many: bool = True, none: bool = True) -> Any:
        """An axis, several, or None; now and then one that is not there."""
        if none and (self.number(0, 2) == 0 or array.ndim == 0):
            return None
        if self.number(0, 30) == 0:
            return array.ndim + 1
        if many and array.ndim and self.number(0, 2) == 0:
            count = self.number(1, array.ndim)
            chosen = self.random.permutation(array.ndim)[:count]
            return tuple(int(axis) for axis in chosen)
        return self.number(-array.ndim, array.ndim - 1) if array.ndim else 0


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A function and how its arguments are drawn."""

    name: str
    draw: Callable[[Draw], Arguments]
    rtol: float = 1.0
    """How many times the usual tolerance of the result's dtype is allowed."""
    waits: str = ""
    """Why the host waits for the device within a call; empty where it does not.

    The result's shape, or an error that the call itself raises, depends on
    ``"values"``. NumPy is the ``"solver"`` where the vendor has none.
    """
    judge: Callable[..., Any] | None = None
    """Instead of NumPy's function of the name."""

    def numpy(self) -> Callable[..., Any]:
        """What judges."""
        return self.judge or named(np, self.name)


def named(module: Any, name: str) -> Any:
    """``linalg.norm`` of a module."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


CASES: dict[str, Case] = {}


def case(*names: str, **options: Any) -> Callable[[Any], Any]:
    """The decorated function draws the arguments of these functions."""

    def keep(draw: Any) -> Any:
        for name in names:
            CASES[name] = Case(name, draw, **options)
        return draw

    return keep


# ---- elementwise: made from the table ----


def elementwise(name: str, arity: int) -> Case:
    """A row of the table: operands that broadcast."""

    def draw(d: Draw) -> Arguments:
        shape = d.shape()
        shapes = [shape] + [d.broadcast_to(shape) for _ in range(arity - 1)]
        dtypes = [d.pick(*EVERY) for _ in range(arity)]
        if d.flag():
            dtypes = dtypes[:1] * arity
        operands = [
            d.laid_out(d.values(shape, dtype))
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
        if arity > 1 and d.number(0, 3) == 0:
            operands[-1] = d.pick(0, 1, 2, 3, 2.5, True)
        if name in ("power", "pow") and np.result_type(operands[-1]).kind == "i":
            operands[-1] = abs(operands[-1]) % 64  # NumPy looks at them: none below 0
        if name == "reciprocal":
            operands[0] = np.where(operands[0] == 0, operands[0] + 1, operands[0])
        return tuple(operands), {}

    return Case(name, draw, rtol=4)


@case("i0", rtol=16)  # NumPy's own widens integers, and is of halves a few steps off
def _(d):
    return (d.array(("float32", "float64"), special=False),), {}


# ---- reductions, scans, orders ----


@case("ptp")
def _(d):
    a = d.array(EVERY[1:])
    return (a,), {"axis": d.axis(a), "keepdims": d.flag()}


def _where(d, array):
    """Now and then a mask that broadcasts to the array."""
    if d.number(0, 2):
        return {}
    return {"where": d.values(d.broadcast_to(array.shape), "bool")}


def _begun(d, array):
    """Now and then a value to begin a reduction with, and a mask."""
    options = {"axis": d.axis(array), "keepdims": d.flag()}
    options |= {"initial": d.pick(0, 2, 5)} if d.number(0, 2) == 0 else {}
    return options | _where(d, array)


@case("sum", "nansum", rtol=SUM)
def _(d):
    a = d.summands()
    return (a,), _begun(d, a)


@case("prod", "nanprod", rtol=PRODUCT)
def _(d):
    a = d.factors()
    return (a,), _begun(d, a)


@case("max", "min", "amax", "amin", "nanmax", "nanmin")
def _(d):
    a = d.array()
    return (a,), _begun(d, a)


@case("any", "all")
def _(d):
    a = d.array()
    return (a,), {"axis": d.axis(a), "keepdims": d.flag()} | _where(d, a)


@case("mean", "nanmean", rtol=SUM)
def _(d):
    a = d.array()
    return (a,), {"axis": d.axis(a), "keepdims": d.flag()} | _where(d, a)


@case("nanmedian", "median", rtol=SUM)
@case("count_nonzero")
def _(d):
    a = d.array()
    return (a,), {"axis": d.axis(a), "keepdims": d.flag()}


@case("var", "std", "nanvar", "nanstd", rtol=50)
def _(d):
    a = d.array()
    options = {"axis": d.axis(a), "keepdims": d.flag(), "ddof": d.pick(0, 0, 1, 2)}
    options |= _where(d, a)
    if d.number(0, 3) == 0:
        options["correction"] = options.pop("ddof")
    axes = options["axis"]
    if d.number(0, 3) == 0 and np.size(axes or 0) <= a.ndim and "where" not in options:
        options["mean"] = _kept_mean(a, axes)
        options = {k: v for k, v in options.items() if v is not None or k != "mean"}
    return (a,), options


def _kept_mean(array, axes):
    """The mean with the axes kept; None where there is none, or nan among it."""
    try:
        with np.errstate(all="ignore"):
            found = np.mean(array, axes, keepdims=True)
    except (ValueError, TypeError):
        return None
    return found if np.isfinite(found).all() and array.size else None


@case("argmax", "argmin")
@case("nanargmax", "nanargmin", waits="values")
def _(d):
    a = d.array(REAL)
    return (a,), {"axis": d.axis(a, many=False), "keepdims": d.flag()}


@case("cumsum", "nancumsum", rtol=SUM)
def _(d):
    a = d.summands(low=1)
    return (a,), {"axis": d.axis(a, many=False)}


@case("cumprod", "nancumprod", rtol=PRODUCT)
def _(d):
    a = d.factors(low=1)
    return (a,), {"axis": d.axis(a, many=False)}


@case("cumulative_sum", rtol=SUM)
def _(d):
    a = d.summands(low=1)
    return (a,), {"axis": d.axis(a, many=False), "include_initial": d.flag()}


@case("cumulative_prod", rtol=PRODUCT)
def _(d):
    a = d.factors(low=1)
    return (a,), {"axis": d.axis(a, many=False), "include_initial": d.flag()}


@case("sort")
def _(d):
    a = d.array(low=1)
    how = d.pick({}, {"kind": "stable"}, {"stable": True})
    return (a,), {"axis": d.axis(a, many=False), **how}


@case("argsort")
def _(d):
    a = d.array(low=1)
    how = d.pick({"kind": "stable"}, {"stable": True})
    return (a,), {"axis": d.axis(a, many=False), **how}


@case("lexsort")
def _(d):
    a = d.array(REAL, low=2, least=1)
    return (a,), {"axis": d.number(1 - a.ndim, a.ndim - 2)}


@case("searchsorted")
def _(d):
    a = np.sort(d.array(REAL, low=1, high=1, least=1))
    v = d.array((a.dtype.name,))
    options = {"side": d.pick("left", "right")}
    if d.flag():
        options["sorter"] = np.arange(a.size)[::-1].copy()
        a = a[::-1].copy()
    return (a, v), options


@case("digitize", waits="values")
def _(d):
    bins = np.sort(d.array(FLOATS, low=1, high=1, special=False))
    return (d.array(FLOATS), bins[:: d.pick(1, -1)]), {"right": d.flag()}


def _shares(d, scale):
    """An array, shares of it from 0 to ``scale``, and options of quantiles."""
    a = d.array(FLOATS, special=False)
    if a.size and a.ndim and d.number(0, 3) == 0:
        a[..., -1] = np.nan
    # Quarters of a length are exact; of another share a method that steps takes the
    # element before or behind, as halves round, which only NumPy computes with.
    two = (0.25, 0.75) if a.dtype == np.float16 else (0.1, 0.9)
    q = d.pick(0.5, 0, 1, 0.25, list(scale * np.array(two, a.dtype)))
    if isinstance(q, float | int) or a.size == 0:
        q = scale * (0.25 if np.ndim(q) else q)
    methods = ("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull")
    others = ("inverted_cdf", "averaged_inverted_cdf", "median_unbiased")
    method = d.pick("linear", *methods, *others)
    options = {"axis": d.axis(a), "keepdims": d.flag(), "method": method}
    if method == "inverted_cdf" and a.size:
        # Quarters, so that a share is met by no sum but by chance of none.
        options["weights"] = d.content.integers(1, 9, a.shape) / 4
    return (a, q), options


@case("quantile", "nanquantile", rtol=20)
def _(d):
    return _shares(d, 1)


@case("percentile", "nanpercentile", rtol=20)
def _(d):
    return _shares(d, 100)


@case("unique", waits="values")
def _(d):
    options = {f"return_{name}": d.flag() for name in ("index", "inverse", "counts")}
    a = d.array(REAL, low=1)
    how = d.pick({}, {"equal_nan": False}, {"axis": 0}, {"sorted": True})
    if "axis" in how:  # few different rows
        a = d.array(("bool",), low=1, least=1).astype(d.pick(*INTEGERS))
        how["axis"] = d.number(-a.ndim, a.ndim - 1)
        if d.flag():
            a = np.repeat(a[:1], 2, 0)
    return (a,), options | how


@case("angle", rtol=4)
def _(d):
    return (d.array(FLOATS + COMPLEX),), {}


@case("unique_all", "unique_counts", "unique_inverse", waits="values")
@case("unique_values", waits="values", judge=np.unique)
def _(d):
    return (d.array(REAL, low=1, special=False),), {}


@case("union1d", waits="values")
def _(d):
    return _two_sets(d), {}


def _two_sets(d, assume_unique=False):
    """Two arrays of one dtype; each of different elements, if so it is assumed."""
    dtype = d.pick(*REAL)
    both = d.array((dtype,), low=1), d.array((dtype,), low=1)
    return tuple(map(np.unique, both)) if assume_unique else both


@case("setdiff1d", "setxor1d", waits="values")
def _(d):
    options = {"assume_unique": d.flag()}
    return _two_sets(d, **options), options


@case("intersect1d", waits="values")
def _(d):
    options = {"assume_unique": d.flag()}
    return _two_sets(d, **options), options | {"return_indices": d.flag()}


@case("isin")
def _(d):
    options = {"assume_unique": d.flag()}
    how = {"invert": d.flag(), "kind": d.pick(None, "sort")}
    return _two_sets(d, **options), options | how


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
    return (a, kth), {"axis": d.axis(a, many=False)}


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


# ---- products ----


def _factors(d, dtypes=FLOATS[1:] + COMPLEX):
    dtype = d.pick(*dtypes)
    m, k, n = (d.length(1, 6) for _ in range(3))
    return dtype, m, k, n


@case("matmul", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d, (*INTEGERS, *FLOATS, *COMPLEX))
    stack = d.pick((), (3,), (2, 1))
    left = d.pick((*stack, m, k), (m, k), (k,))
    right = d.pick((k, n), (k,), (*stack, k, n))
    one, other = (d.array((dtype,), shape=s, special=False) for s in (left, right))
    return (one, other), {}


@case("dot", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left = d.pick((), (k,), (m, k), (2, m, k))
    right = d.pick((), (k,), (k, n), (3, k, n))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("vdot", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    left, right = d.pick((k,), (m, k)), d.pick((k,), (m, k))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("inner", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left, right = d.pick((), (k,), (m, k), (2, m, k)), d.pick((), (k,), (n, k))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("vecdot", "linalg.vecdot", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    shape = d.pick((k,), (m, k), (2, m, k))
    operands = [d.array((dtype,), shape=shape, special=False) for _ in "ab"]
    return tuple(operands), {"axis": d.number(-len(shape), -1)}


@case("outer", rtol=50)
def _(d):
    dtype, m, _, n = _factors(d)
    left, right = d.pick((m,), (2, m)), d.pick((n,), (n, 2), ())
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("kron", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left, right = d.pick((m,), (m, k)), d.pick((n,), (n, 2), (2, n, 2))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("tensordot", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    a = d.array((dtype,), shape=(m, k, n), special=False)
    b = d.array((dtype,), shape=(k, n, m), special=False)
    return (a, b), {"axes": d.pick(2, ([1, 2], [0, 1]), ([1], [0]), ([0], [2]))}


@case("einsum", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    texts = ("ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,jk->", "ij,jk->ijk")
    a = d.array((dtype,), shape=(m, k), special=False)
    b = d.array((dtype,), shape=(k, n), special=False)
    return (d.pick(*texts), a, b), {"optimize": d.pick(False, True, "greedy")}


@case("linalg.cross", rtol=50)
def _(d):
    dtype, axis = d.pick(*FLOATS[1:]), d.pick(-1, 0, 1)
    shape = (3, 4) if axis == 0 else (4, 3)
    operands = [d.array((dtype,), shape=shape, special=False) for _ in "ab"]
    return tuple(operands), {"axis": axis}


# ---- linear algebra: matrices far from singular ----


def _matrix(d, rows=None, columns=None, dtypes=("float32", "float64", *COMPLEX)):
    dtype, n = d.pick(*dtypes), d.length(1, 6)
    stack = d.pick((), (), (3,), (2, 2))
    shape = (*stack, n if rows is None else rows, n if columns is None else columns)
    found = d.values(shape, dtype, special=False)
    if shape[-1] == shape[-2]:
        found = found + 12 * np.eye(shape[-1], dtype=dtype)
    return found.astype(dtype)


@case("linalg.inv", "linalg.det", "linalg.slogdet", rtol=2000, waits="solver")
@case("linalg.svdvals", rtol=2000, waits="solver")
def _(d):
    return (_matrix(d),), {}


@case("linalg.cond", rtol=2000, waits="solver")
def _(d):
    return (_matrix(d),), {"p": d.pick(None, 2, -2, 1, -1, np.inf, -np.inf, "fro")}


@case("linalg.matrix_norm", rtol=2000)
def _(d):
    orders = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    return (_matrix(d, d.pick(None, 3)),), {
        "ord": d.pick(*orders),
        "keepdims": d.flag(),
    }


def _of_low_rank(d, hermitian):
    """Matrices, some of them with rows that are others' sums."""
    a = _matrix(d, None if hermitian else d.pick(None, 3))
    if hermitian:
        return a + a.swapaxes(-1, -2).conj()
    if d.flag():
        a[..., -1, :] = a[..., 0, :]
    return a


@case("linalg.matrix_rank", rtol=2000, waits="solver")
def _(d):
    hermitian = d.flag()
    how = d.pick({}, {"tol": 0.5}, {"rtol": 0.1}, {"tol": np.array(4.0)})
    return (_of_low_rank(d, hermitian),), {"hermitian": hermitian, **how}


@case("linalg.pinv", rtol=2000, waits="solver")
def _(d):
    hermitian = d.flag()
    a = _matrix(d, None if hermitian else d.pick(None, 3))
    if d.flag():  # its least singular value is one that some limits leave out
        a[..., -1, :] *= a.dtype.type(1e-4)
    a = a + a.swapaxes(-1, -2).conj() if hermitian else a
    how = d.pick({}, {"rcond": 1e-2}, {"rtol": 1e-2})
    return (a,), {"hermitian": hermitian, **how}


@case("linalg.matrix_transpose", rtol=20)
def _(d):
    return (d.array(FLOATS, low=2, special=False),), {}


@case("linalg.diagonal", "linalg.trace", rtol=20)
def _(d):
    return (d.array(FLOATS, low=2, special=False),), {"offset": d.number(-2, 2)}


@case("linalg.outer", rtol=50)
def _(d):
    dtype, m, _, n = _factors(d)
    return tuple(d.array((dtype,), shape=(s,), special=False) for s in (m, n)), {}


@case("linalg.matmul", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    left, right = d.pick((k,), (m, k), (2, m, k)), d.pick((k,), (k, n), (2, k, n))
    return tuple(d.array((dtype,), shape=s, special=False) for s in (left, right)), {}


@case("matvec", "vecmat", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    stack = d.pick((m, m), (m, k), (2, m, k), (2, 1, m, m))
    vector = d.pick((m,), (k,), (2, m), (3, 1, k), (m, m))
    return (stack, vector, dtype), {}


def _drawn_factors(draw, is_left):
    """A stack of matrices and one of vectors, in the order of the function."""

    def both(d):
        (*shapes, dtype), options = draw(d)
        operands = [d.array((dtype,), shape=s, special=False) for s in shapes]
        return tuple(operands if is_left else operands[::-1]), options

    return both


for _name in ("matvec", "vecmat"):
    CASES[_name] = Case(
        _name, _drawn_factors(CASES[_name].draw, _name == "matvec"), rtol=50
    )


@case("linalg.tensordot", rtol=50)
def _(d):
    dtype, m, k, _ = _factors(d)
    a, b = (d.array((dtype,), shape=s, special=False) for s in ((m, k), (k, m)))
    return (a, b), {"axes": d.pick(1, 2, ([1], [0]))}


@case("linalg.multi_dot", rtol=50)
def _(d):
    dtype, m, k, n = _factors(d)
    shapes = ((m, k), (k, n), (n, m))
    return ([d.array((dtype,), shape=s, special=False) for s in shapes],), {}


@case("linalg.tensorinv", rtol=2000, waits="solver")
def _(d):
    a = d.values((6, 2, 3), d.pick("float32", "float64"), special=False)
    eye = np.eye(6, dtype=a.dtype).reshape(6, 2, 3)
    return (a + 12 * eye,), {"ind": 1}


@case("linalg.tensorsolve", rtol=2000, waits="solver")
def _(d):
    a = d.values((6, 2, 3), d.pick("float32", "float64"), special=False)
    a = a + 12 * np.eye(6, dtype=a.dtype).reshape(6, 2, 3)
    b = d.values((6,), a.dtype.name, special=False)
    if d.flag():
        return (a.transpose(1, 0, 2), b), {"axes": (0,)}
    return (a, b), {}


@case("linalg.lstsq", rtol=2000, waits="values")
def _(d):
    a = _matrix(d, dtypes=("float32", "float64"))
    a = a.reshape(-1, *a.shape[-2:])[0]
    a = d.pick(a, a, a, a[:0], a[:, :0])
    b = d.values(d.pick(a.shape[:1], (a.shape[0], 2)), a.dtype.name, special=False)
    if d.number(0, 5) == 0:  # which is refused
        a, b = d.pick((a[None], b), (a, b[..., None, None]))
    return (a, b), d.pick({}, {"rcond": 1e-3}, {"rcond": None})


def _definite(d):
    a = _matrix(d)
    return a @ a.swapaxes(-1, -2).conj()


@case("linalg.cholesky", rtol=2000, waits="solver")
def _(d):
    return (_definite(d),), {"upper": d.flag()}


@case("linalg.eigvalsh", rtol=2000, waits="solver")
def _(d):
    """Of one triangle: in the other is something else."""
    a, part = _definite(d), d.pick("L", "U")
    return ((np.tril if part == "L" else np.triu)(a),), {"UPLO": part}


@case("linalg.solve", rtol=2000, waits="solver")
def _(d):
    a = _matrix(d)
    b = d.values((*a.shape[:-1], 2), a.dtype.name, special=False)
    return (a, b), {}


@case("linalg.matrix_power", rtol=2000, waits="solver")
def _(d):
    return (_matrix(d), d.pick(0, 1, 2, 3, -1)), {}


@case("linalg.norm", rtol=200)
def _(d):
    a = d.array(FLOATS[1:] + COMPLEX, low=1, high=3, special=False, least=1)
    orders = (None, None, 1, np.inf, 2, "fro", -1, -np.inf, 3, 0)
    options = {"ord": d.pick(*orders), "keepdims": d.flag()}
    return (a,), options | d.pick({}, {"axis": d.axis(a)})


@case("linalg.vector_norm", rtol=200)
def _(d):
    a = d.array(FLOATS[1:] + COMPLEX, low=1, special=False, least=1)
    options = {"axis": d.axis(a), "ord": d.pick(2, 1, 0, np.inf, 3, -np.inf)}
    return (a,), options | {"keepdims": d.flag()}


# ---- Fourier transforms ----


@case(*(f"fft.{name}" for name in ("fft", "ifft", "rfft", "hfft", "ihfft")), rtol=200)
@case("fft.irfft", rtol=200)
def _(d):
    real = ("float32", "float64")
    a = d.array(real, low=1, high=3, special=False, least=2)
    options = {"axis": d.axis(a, False, False), "n": d.pick(None, None, 3, 8, 13)}
    return (a,), {**options, "norm": d.pick(None, "ortho", "forward", "backward")}


def _transformed(d, axes):
    """Lengths, axes and the norm of a transform over several axes."""
    options = {"norm": d.pick(None, "ortho", "forward", "backward")}
    if axes is None or not d.flag():
        return options
    options["axes"] = axes
    return options | d.pick({}, {"s": [d.pick(3, 4, 5) for _ in axes]})


@case("fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn", rtol=200)
def _(d):
    a = d.array(("float32", "float64"), low=1, high=3, special=False, least=2)
    count = d.number(1, a.ndim)
    axes = [int(i) for i in d.random.permutation(a.ndim)[:count]]
    return (a,), _transformed(d, axes)


@case("fft.fft2", "fft.ifft2", "fft.rfft2", "fft.irfft2", rtol=200)
def _(d):
    a = d.array(("float32", "float64"), 2, 3, least=2, special=False)
    axes = [int(i) - a.ndim for i in d.random.permutation(a.ndim)[:2]]
    return (a,), _transformed(d, axes)


@case("fft.fftshift", "fft.ifftshift")
def _(d):
    a = d.array(low=1)
    return (a,), {"axes": d.axis(a)}


# ---- what is composed of others ----


@case("isposinf", "isneginf")
def _(d):
    return (d.array(),), {}


@case("spacing")
def _(d):
    return (d.array(FLOATS),), {}


@case("bitwise_count")
def _(d):
    return (d.array(("bool", *INTEGERS)),), {}


@case("ldexp")
def _(d):
    a = d.array(FLOATS)
    return (a, d.values(d.broadcast_to(a.shape), d.pick("int32", "int64", "int8"))), {}


# NumPy 2.5 refuses vectors of two elements, which test_any_argument.py has.
CROSSED = [(3, 3), (3, 3), (2, 3), (3, 2), (2, 2)]
if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    CROSSED = [(3, 3)]


@case("cross", rtol=50)
def _(d):
    dtype, front = d.pick(*INTEGERS, *FLOATS, *COMPLEX), d.pick((), (2,), (3,))
    shapes = ((*front, n) for n in d.pick(*CROSSED))
    a, b = (d.array((dtype,), shape=each, special=False) for each in shapes)
    ends = {"axisa": -1, "axisb": -1, "axisc": d.pick(-1, 0)}
    return (a, b), d.pick({}, ends, {"axis": -1})


@case("block")
def _(d):
    dtype, (m, n) = d.pick(*EVERY), (d.number(1, 4), d.number(1, 4))
    a, b, c = (d.array((dtype,), shape=s) for s in ((m, n), (m, 2), (3, n + 2)))
    vector = d.array((dtype,), shape=(n,))
    return (d.pick([[a, b], [c]], [a, b], [vector, vector], [[vector], [a]], a),), {}


@case("polyval", rtol=50)
def _(d):
    p = d.array(FLOATS[1:], shape=(d.number(0, 5),), special=False)
    return (p, d.array(FLOATS[1:], high=2, special=False)), {}


@case("polyfit", rtol=2000, waits="values")
def _(d):
    dtype, n = d.pick("float32", "float64"), d.number(6, 20)
    x = np.linspace(-1, 2, n).astype(dtype)
    y = d.array((dtype,), shape=d.pick((n,), (n, 2)), special=False)
    weights = np.linspace(1, 2, n).astype(dtype)
    more = {"rcond": 0.3, "full": True}, {"full": True}, {"cov": "unscaled"}
    options = d.pick({}, {"w": weights}, {"cov": True}, *more)
    return (x, y, d.number(0, 3)), options


@case("tril_indices_from", "triu_indices_from")
def _(d):
    return (d.array(low=2, high=2), d.number(-2, 2)), {}


@case("diag_indices_from")
def _(d):
    n = d.number(1, 4)
    return (d.array(shape=d.pick((n, n), (n, n, n), (n, n + 1), (n,))),), {}
