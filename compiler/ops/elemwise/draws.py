"""Rows of random draws: an element is a function of seed, stream, position and place.

They are made of the C library's table of distributions, and stand beside the table of
scalar operations: a draw has no eager function that takes places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from gpuarray._native import lib
from gpuarray._random.table import DISTRIBUTIONS, Distribution, device_code
from gpuarray.compiler.errors import NotOfferedError
from gpuarray.compiler.graph.disconnected import NullType
from gpuarray.compiler.ops.elemwise.gamma_slope import GAMMA_SLOPE
from gpuarray.scalars import SCALARS, Scalar

PREFIX = "draw_"
PLACE = 4
"""The operands before the parameters: seed, stream, position, and the element's number
in the draw, all uint64."""


_ANY = "uniform"  # whose device code has the generator's, and the caps of numbers


class DrawRow(Scalar):
    """The row of a distribution; its parameters have the dtype of its result."""

    __slots__ = ()

    @property
    def is_ours(self) -> bool:
        """True."""
        return True

    def device_functions(self, kind: str, words: Mapping[str, str]) -> str:
        """Return the library's device code, for float or double."""
        dtype = "float64" if words["t"] == "ga_double" else "float32"
        name = self.name.removeprefix(PREFIX)
        return device_code(name if name in DISTRIBUTIONS else _ANY, dtype)

    def __reduce__(self) -> tuple[Callable[..., Scalar], tuple[str, ...]]:
        return row_named, (self.name,)


def row_named(name: str) -> Scalar:
    """Return a row of the scalar table, or of a draw."""
    return SCALARS[name] if name in SCALARS else _BESIDE[name]


def is_row(name: str) -> bool:
    """True for the name of a row of either kind."""
    return name in SCALARS or name in _BESIDE


# ---- with NumPy ----


def philox(position: Any, stream: Any, seed: Any) -> list[Any]:
    """Return the four words of Philox4x32-10 at positions, as uint64.

    >>> words = philox(np.uint64(0), np.uint64(0), np.uint64(0))
    >>> [hex(int(word)) for word in words]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    counters = (np.asarray(position, "uint64"), np.asarray(stream, "uint64"))
    c0, c1, c2, c3 = (half for c in counters for half in (c & low, c >> shift))
    key = np.asarray(seed, "uint64")
    k0, k1 = key & low, key >> shift
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ k0, p1 & low, (p0 >> shift) ^ c3 ^ k1, p0
        c3 = c3 & low
        k0 = (k0 + np.uint64(0x9E3779B9)) & low
        k1 = (k1 + np.uint64(0xBB67AE85)) & low
    return [c0, c1, c2, c3]


def words(seed: Any, stream: Any, position: Any, place: Any, dtype: Any) -> Any:
    """Return the random bits of elements: 32 for float32, else 64, as uint64."""
    place = np.asarray(place, "uint64")
    is_double = dtype == np.float64
    per_count = np.uint64(2 if is_double else 4)
    with np.errstate(over="ignore"):
        at = np.asarray(position, "uint64") + place // per_count
        w = philox(at, stream, seed)
    if is_double:
        pairs = [w[0] | w[1] << np.uint64(32), w[2] | w[3] << np.uint64(32)]
        return np.where(place & np.uint64(1), pairs[1], pairs[0])
    return np.choose((place & np.uint64(3)).astype("int64"), np.broadcast_arrays(*w))


def unit(bits: Any, dtype: Any) -> Any:
    """Return numbers in [0, 1)."""
    drop, scale = (11, 2.0**-53) if dtype == np.float64 else (8, 2.0**-24)
    return (bits >> np.uint64(drop)).astype(dtype) * dtype.type(scale)


def open_unit(bits: Any, dtype: Any) -> Any:
    """Return numbers in (0, 1]."""
    count = 64 if dtype == np.float64 else 32
    wide = bits.astype(np.longdouble if count == 64 else np.float64)
    return ((wide + 0.5) * 2.0**-count).astype(dtype)


def _uniform(bits: Any, low: Any, high: Any) -> Any:
    u = unit(bits, low.dtype)
    wide = np.longdouble if low.dtype == np.float64 else np.float64
    v = (u.astype(wide) * (high - low) + low).astype(low.dtype)
    below = np.nextafter(high, low.dtype.type(-np.inf))
    return np.minimum(v, np.where(below > low, below, low))


def _normal(radius: Any, angle: Any, is_second: Any, *parameters: Any) -> Any:
    loc, scale = parameters
    count = 64 if loc.dtype == np.float64 else 32
    r = np.sqrt(-2 * np.log(open_unit(radius, loc.dtype))).astype(loc.dtype)
    turn = angle.astype(np.longdouble) * 2.0**-count * (2 * np.pi)
    part = np.where(is_second, np.sin(turn), np.cos(turn)).astype(loc.dtype)
    return (r * part * scale + loc).astype(loc.dtype)


_INVERSES: dict[str, Callable[..., Any]] = {
    "uniform": _uniform,
    "exponential": lambda bits, scale: scale * -np.log(open_unit(bits, scale.dtype)),
    "bernoulli": lambda bits, p: bits < np.ceil(p.astype("float64") * 2.0**32),
}


def _allowed(row: Distribution, parameters: Sequence[Any]) -> Any:
    """Return where all parameters are in range."""
    allowed = [p.allows(v) for p, v in zip(row.parameters, parameters, strict=True)]
    if row.relation == lib.GA_RANDOM_RISING:
        allowed += [a <= b for a, b in pairwise(parameters[-row.related :])]
    return reduce(np.logical_and, allowed)


def _reference(row: Distribution) -> Callable[..., Any]:
    """Return the row with NumPy, where an element is a formula of its bits."""

    def reference(*operands: Any) -> Any:
        seed, stream, position, place, *given = operands
        dtype = np.dtype(np.result_type(*given))
        parameters = [np.asarray(value, dtype) for value in given]
        if row.name == "normal":
            one = np.uint64(1)
            place = np.asarray(place, "uint64")
            radius, angle = (
                words(seed, stream, position, at, dtype)
                for at in (place & ~one, place | one)
            )
            drawn = _normal(radius, angle, place & one, *parameters)
            return np.where(_allowed(row, parameters), drawn, np.nan).astype(dtype)
        if row.name not in _INVERSES:
            raise NotOfferedError(
                f"{row.name}: there is no reference of its draws with NumPy: devices "
                "compute them"
            )
        of_word = row.name == "bernoulli"
        bits = words(
            seed, stream, position, place, np.dtype("float32") if of_word else dtype
        )
        drawn = _INVERSES[row.name](bits, *parameters)
        return np.where(_allowed(row, parameters), drawn, np.nan).astype(dtype)

    return reference


# ---- gradients ----

_UNIT: dict[str, tuple[float, ...]] = {
    "uniform": (0, 1),
    "normal": (0, 1),
    "exponential": (1,),
    "laplace": (0, 1),
    "logistic": (0, 1),
    "gumbel": (0, 1),
    "cauchy": (0, 1),
    "rayleigh": (1,),
}
"""Families by location and scale, and the parameters of their units."""


def _of_unit(m: Any, g: Any, y: Any, name: str, inputs: Any) -> list[Any]:
    """Return the gradients by location and scale, of the same draw of the unit."""
    place, parameters = inputs[:PLACE], inputs[PLACE:]
    numbers = [m.cast(number, y.type.dtype) for number in _UNIT[name]]
    drawn = m.draw(name, *place, *numbers)
    if name == "uniform":
        return [m.times(g, 1 - drawn), m.times(g, drawn)]
    return [g, m.times(g, drawn)][-len(parameters) :]


def _of_result(m: Any, g: Any, y: Any, name: str, inputs: Any) -> list[Any]:
    """Return the gradients that are formulas of the draw and its parameters."""
    first = inputs[PLACE]
    if name == "lognormal":
        normal = m.draw("normal", *inputs[:PLACE], *_units(m, y, 0, 1))
        return [g * y, g * y * normal]
    if name == "pareto":
        return [-g * (1 + y) * m.log1p(y) / first]
    # Weibull and power: the first parameter is the exponent's inverse.
    return [-m.times(g, y * m.log(y)) / first]


def _gamma_terms(m: Any, y: Any, name: str, inputs: Any) -> list[Any]:
    """Return slopes of draws made of gamma numbers, whose probabilities are held fixed.

    The logarithms of these numbers are draws of their own from the same places.
    """
    place, parameters = inputs[:PLACE], inputs[PLACE:]
    first, zero = parameters[0], m.cast(0, y.type.dtype)
    if name == "gamma":
        (one,) = _units(m, y, 1)
        unit = m.draw("gamma", *place, first, one)
        # A number of a small shape may be 0, as are its slopes.
        slope = m.where(unit > 0, unit * m.gamma_slope(first, m.log(unit)), zero)
        return [parameters[1] * slope, unit]
    if name == "loggamma":
        return [m.gamma_slope(first, y)]
    if name in ("chisquare", "standard_t"):
        shape = first * m.cast(0.5, y.type.dtype)
        number = m.draw("loggamma", *place, shape)
        slope = m.gamma_slope(shape, number) / 2
        if name == "standard_t":  # a normal number times sqrt(shape / gamma)
            return [y * (1 / first - slope) / 2]
        return [m.where(y > 0, y * slope, zero)]
    over, under = _two_slopes(m, y, place, parameters, name == "f")
    if name == "beta":
        spread = y * (1 - y)
        return [spread * under, -spread * over]
    numerator, denominator = parameters
    return [y * (over - 1 / numerator), y * (1 / denominator - under)]


def _two_slopes(
    m: Any, y: Any, place: Sequence[Any], parameters: Sequence[Any], is_f: bool
) -> tuple[Any, Any]:
    """Return slopes of the logarithms of the gamma numbers of a ratio.

    The ratio is that of the second half of the counts to the first. Of an F number it
    is that of halves of the first parameter to those of the second.
    """
    *state, number = place
    half = m.cast(0.5 if is_f else 1.0, y.type.dtype)
    over, under = parameters if is_f else parameters[::-1]
    slopes = []
    for shape, offset in ((over, 1), (under, 0)):
        there = number * m.cast(2, "uint64") + m.cast(offset, "uint64")
        drawn = m.draw("loggamma", *state, there, shape * half)
        slopes.append(m.gamma_slope(shape * half, drawn) * half)
    return slopes[0], slopes[1]


def _units(m: Any, y: Any, *numbers: float) -> list[Any]:
    return [m.cast(number, y.type.dtype) for number in numbers]


_BY_RESULT = ("lognormal", "pareto", "weibull", "power")
_OF_GAMMAS = ("gamma", "loggamma", "chisquare", "standard_t", "beta", "f")


def _refusal(row: Distribution, parameter: str) -> str:
    kind = "is an integer" if row.kind != "f" else "is no smooth function of it here"
    return (
        f"a draw of {row.name} has no gradient by {parameter}: its result {kind}; stop "
        "the gradient with consider_constant, or take another distribution"
    )


def _gradient(row: Distribution) -> Callable[..., Any]:
    """Return the gradient of a draw by its parameters, its place held fixed."""

    def gradient(m: Any, g: Any, y: Any, *inputs: Any) -> tuple[Any, ...]:
        if row.name in _UNIT:
            terms = _of_unit(m, g, y, row.name, inputs)
        elif row.name in _BY_RESULT:
            terms = _of_result(m, g, y, row.name, inputs)
        elif row.name in _OF_GAMMAS:
            slopes = _gamma_terms(m, y, row.name, inputs)
            terms = [m.times(g, slope) for slope in slopes]
        else:
            terms = [NullType(_refusal(row, p.name))() for p in row.parameters]
        return *(None,) * PLACE, *terms

    gradient.__doc__ = f"A random number of the distribution {row.name}."
    return gradient


def _row(row: Distribution) -> DrawRow:
    operands = PLACE + len(row.parameters)
    texts = ", ".join(f"{{{i}}}" for i in range(operands))
    return DrawRow(
        name=f"{PREFIX}{row.name}",
        expression=f"ga_draw_{row.name}({texts})",
        reference=_reference(row),
        gradient=_gradient(row),
        arity=operands,
        joins=tuple(range(PLACE, operands)),
        public=False,
    )


def _bits_reference(seed: Any, stream: Any, position: Any, place: Any) -> Any:
    return words(seed, stream, position, place, np.dtype("float64"))


def _integers_reference(
    seed: Any, stream: Any, position: Any, place: Any, count: Any, low: Any
) -> Any:
    bits = _bits_reference(seed, stream, position, place)
    high = _high_half(bits, np.asarray(count, "uint64"))
    return (np.asarray(low, "int64").astype("uint64") + high).astype("int64")


def _high_half(bits: Any, count: Any) -> Any:
    """Return the upper 64 bits of products."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    parts = [
        (a, b)
        for a in (bits & mask, bits >> half)
        for b in (count & mask, count >> half)
    ]
    ll, lh, hl, hh = (a * b for a, b in parts)
    middle = hl + (ll >> half)
    carried = lh + (middle & mask)
    return hh + (middle >> half) + (carried >> half)


def _wide_integers_reference(
    seed: Any, stream: Any, position: Any, place: Any, count: Any, low: Any
) -> Any:
    place, one = np.asarray(place, "uint64"), np.uint64(1)
    with np.errstate(over="ignore"):
        fine, coarse = (
            _bits_reference(seed, stream, position, place * 2 + half)
            for half in (0 * one, one)
        )
        count = np.asarray(count, "uint64")
        begun = coarse * count
        carry = begun + _high_half(fine, count) < begun
        below = np.where(count == 0, coarse, _high_half(coarse, count) + carry)
        return (np.asarray(low, "int64").astype("uint64") + below).astype("int64")


def _no_gradient(m: Any, g: Any, y: Any, *operands: Any) -> tuple[None, ...]:
    """A random integer."""
    return (None,) * len(operands)


BITS = DrawRow(
    name=f"{PREFIX}bits",
    expression="ga_philox_pair({2}, {3}, {1}, {0})",
    reference=_bits_reference,
    gradient=_no_gradient,
    arity=PLACE,
    joins=(PLACE - 1,),
    public=False,
)
"""64 random bits."""

INTEGERS = DrawRow(
    name=f"{PREFIX}integers",
    expression="(ga_long)((ga_ulong)({5}) + "
    "ga_random_high(ga_philox_pair({2}, {3}, {1}, {0}), {4}))",
    reference=_integers_reference,
    gradient=_no_gradient,
    arity=PLACE + 2,
    joins=(PLACE + 1,),
    public=False,
)
"""An int64 from the last operand on, of as many as the uint64 before it says."""


_FINE, _COARSE = (
    f"ga_philox_pair({{2}}, (ga_ulong)({{3}}) * 2 + {half}, {{1}}, {{0}})"
    for half in (0, 1)
)

WIDE_INTEGERS = DrawRow(
    name=f"{PREFIX}wide_integers",
    expression=f"(ga_long)((ga_ulong)({{5}}) + ({{4}} == 0 ? {_COARSE} : "
    f"ga_random_high({_COARSE}, {{4}}) + ({_COARSE} * {{4}} + "
    f"ga_random_high({_FINE}, {{4}}) < {_COARSE} * {{4}})))",
    reference=_wide_integers_reference,
    gradient=_no_gradient,
    arity=PLACE + 2,
    joins=(PLACE + 1,),
    public=False,
)
"""The same of 128 random bits, a count for each; as many as 0 says are 2**64."""


def _cap_reference(dropped: int, finest: float) -> Callable[..., Any]:
    """Return the cap with NumPy; see the device's ``ga_capped``."""

    def capped(v: Any, low: Any, high: Any) -> Any:
        lost = np.uint32((1 << dropped) - 1)
        below = np.nextafter(np.asarray(high, "float32"), np.float32(-np.inf))
        bits = np.where(below < 0, below.view("uint32") + lost, below.view("uint32"))
        last = (bits & ~lost).astype("uint32").view("float32")
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.floor(below * finest) / np.float32(finest)
            last = np.where(np.abs(below) * finest < 1024, small, last)
        return np.minimum(v, np.maximum(last, low)).astype("float32")

    return capped


def _cap_gradient(m: Any, g: Any, y: Any, v: Any, low: Any, high: Any) -> Any:
    """A uniform number below its end also when it is rounded to fewer bits."""
    return g, None, None


def _cap(dtype: str, dropped: int, finest: float, text: str) -> DrawRow:
    return DrawRow(
        name=f"{PREFIX}capped_{dtype}",
        expression=f"ga_capped({{0}}, {{1}}, {{2}}, {dropped}u, {text})",
        reference=_cap_reference(dropped, finest),
        gradient=_cap_gradient,
        arity=3,
        joins=(0, 1, 2),
        public=False,
    )


CAPS = {
    "float16": _cap("float16", 13, 2.0**24, "16777216.0f"),
    "bfloat16": _cap("bfloat16", 16, np.inf, "INFINITY"),
}
"""By the dtypes whose numbers have fewer bits than they are drawn with: a uniform
number, low and high."""

_ROWS = [
    BITS,
    INTEGERS,
    WIDE_INTEGERS,
    *CAPS.values(),
    *map(_row, DISTRIBUTIONS.values()),
]

DRAWS: dict[str, Scalar] = {row.name: row for row in _ROWS}
"""The rows of all distributions, by name."""

_BESIDE = {**DRAWS, GAMMA_SLOPE.name: GAMMA_SLOPE}
