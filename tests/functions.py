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
    return (d.array(FLOATS + COMPLEX),), {"deg": d.pick(False, False, True)}


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


import functions_choices  # noqa: E402, F401  (its cases join the table)
import functions_linalg  # noqa: E402, F401
import functions_numbers  # noqa: E402, F401
import functions_shapes  # noqa: E402, F401
