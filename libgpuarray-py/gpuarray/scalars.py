"""The table of scalar operations: one row an op, and nothing lists ops anywhere else.

A row is a decorated function. Its decorator gives the C expression and the NumPy
reference; the function itself is the gradient: given the math namespace ``m``, the
gradient ``g`` of the output ``y`` and the inputs, it returns what flows to each input
(``None``: nothing).
"""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Result = Literal["same", "bool", "float"]


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A scalar operation: what it is in C, in NumPy and under differentiation.

    ``expression`` holds ``{0}``, ``{1}``, ... for the operands; ``{t}``, the C type
    that is computed in (of the last operand); ``{r}``, the C type of the result;
    ``{f}``, the suffix that makes a literal of that type (``f`` or nothing); ``{p}``,
    the C type of the parts of a complex ``{t}``. ``by_kind`` overrides it for operands
    of a kind (``b i u f c``, NumPy's letters; ``iu`` where the operands are of two
    kinds; ``f16`` and ``bf16`` where the stored type matters); a row is defined for
    complex numbers where it has a text for ``c``. ``support`` is the text of the device
    functions the expression calls, by kind (``""``: every kind), with ``{t}``, ``{p}``
    and ``{f}`` as above; C's other braces stand as they are.

    Which dtypes come in and out is NumPy's to say: the loops of ``reference``, or of
    ``typed_as`` where the reference is no ufunc. Where there is neither, the operands
    in ``joins`` are promoted to the result's dtype and the others are taken as they
    come. ``gives_parts``: where that dtype is complex, the result has its parts' dtype.
    ``output``: which of the ufunc's results this row is.

    ``operator`` is the Python operator of this meaning (``add`` for ``__add__``);
    ``aliases`` are further names of the function, as in the array API standard.
    ``undone_by`` names the row that inverts this one for every input of its ``domain``,
    which is the interval in which all operands of a float op give a finite result and
    gradient. There is one row of a name: rows compare by identity, and a pickled row is
    found again by its name.
    """

    name: str
    expression: str
    reference: Callable[..., Any]
    gradient: Callable[..., Any]
    arity: int
    result: Result = "same"
    by_kind: Mapping[str, str] = field(default_factory=dict)
    support: Mapping[str, str] = field(default_factory=dict)
    typed_as: np.ufunc | None = None
    joins: tuple[int, ...] = ()
    gives_parts: bool = False
    output: int = 0
    operator: str | None = None
    aliases: tuple[str, ...] = ()
    identity: float | None = None
    commutes: bool = False
    associates: bool = False
    undone_by: str | None = None
    domain: tuple[float, float] = (-np.inf, np.inf)

    def c_text(self, kind: str) -> str:
        """The C expression for operands of ``kind``."""
        return self.by_kind.get(kind, self.expression)

    def support_text(self, kind: str) -> str:
        """The device functions that the C expression for ``kind`` calls."""
        return self.support.get(kind, self.support.get("", ""))

    @property
    def ufunc(self) -> np.ufunc | None:
        """NumPy's ufunc that this row stands for, if there is one."""
        known = self.reference, getattr(np, self.name, None)
        return next((one for one in known if isinstance(one, np.ufunc)), None)

    @property
    def loops(self) -> np.ufunc | None:
        """The ufunc whose loops say which dtypes this row takes and gives."""
        return self.reference if isinstance(self.reference, np.ufunc) else self.typed_as

    def __reduce__(self) -> tuple[Callable[[str], Scalar], tuple[str]]:
        return _row, (self.name,)


@dataclass(frozen=True, slots=True)
class Pair:
    """A function of NumPy with two results, by the row of each."""

    reference: np.ufunc
    rows: tuple[Scalar, Scalar]


SCALARS: dict[str, Scalar] = {}


def _row(name: str) -> Scalar:
    return SCALARS[name]


def scalar(
    expression: str,
    reference: Callable[..., Any],
    *,
    kinds: Mapping[str, str] | None = None,
    support: str | Mapping[str, str] = "",
    **properties: Any,
) -> Callable[[Callable[..., Any]], Scalar]:
    """Register the decorated gradient function as a row.

    A key of ``kinds`` may stand for several kinds: ``"i|u"``.
    """

    def register(gradient: Callable[..., Any]) -> Scalar:
        arity = len(inspect.signature(gradient).parameters) - 3
        row = Scalar(
            name=gradient.__name__.rstrip("_"),
            expression=expression,
            reference=reference,
            gradient=gradient,
            arity=arity,
            by_kind=_split_kinds(kinds or {}),
            support=_split_kinds(
                {"": support} if isinstance(support, str) else support
            ),
            **properties,
        )
        SCALARS[row.name] = row
        return row

    return register


def _split_kinds(texts: Mapping[str, str]) -> dict[str, str]:
    return {kind: text for kinds, text in texts.items() for kind in kinds.split("|")}


# ---- arithmetic ----


@scalar(
    "{0} + {1}",
    np.add,
    kinds={"b": "{0} | {1}", "c": "ga_cadd({0}, {1})"},
    operator="add",
    identity=0,
    commutes=True,
    associates=True,
)
def add(m, g, y, a, b):
    return g, g


@scalar("{0} - {1}", np.subtract, kinds={"c": "ga_csub({0}, {1})"}, operator="sub")
def sub(m, g, y, a, b):
    return g, -g


@scalar(
    "{0} * {1}",
    np.multiply,
    kinds={"b": "{0} & {1}", "c": "ga_cmul({0}, {1})"},
    operator="mul",
    identity=1,
    commutes=True,
    associates=True,
)
def mul(m, g, y, a, b):
    return g * b, g * a


@scalar(
    "({r}){0} / ({r}){1}",
    np.true_divide,
    kinds={"c": "ga_cdiv({0}, {1})"},
    result="float",
    operator="truediv",
    aliases=("true_divide",),
)
def true_div(m, g, y, a, b):
    return g / b, -g * y / b


# Python's floor division and modulus: the quotient is rounded down, the modulus has the
# divisor's sign. An integer divided by 0 gives 0, as in NumPy. A divisor of -1 is kept
# from the processor, which traps on the smallest number.
FLOOR_DIVIDE = """
GA_INLINE {t} ga_floor_divide({t} a, {t} b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return ({t})(-a);
  return ({t})(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
"""
FLOOR_DIVIDE_FLOAT = """
GA_INLINE {t} ga_floor_divide({t} a, {t} b) {
  if (b == 0 || fabs(a) == INFINITY || fabs(b) == INFINITY)
    return a / b;
  {t} m = fmod(a, b);
  {t} q = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0))
    q -= 1;
  if (q == 0)
    return copysign(({t})0, a / b);
  m = floor(q);
  return q - m > 0.5{f} ? m + 1 : m;
}
"""
MOD = """
GA_INLINE {t} ga_mod({t} a, {t} b) {
  if (b == 0 || b == -1)
    return 0;
  const {t} m = ({t})(a % b);
  return ({t})(m != 0 && (m < 0) != (b < 0) ? m + b : m);
}
"""
MOD_FLOAT = """
GA_INLINE {t} ga_mod({t} a, {t} b) {
  const {t} m = fmod(a, b);
  if (b == 0)
    return m;
  if (m == 0)
    return copysign(({t})0, b);
  return (b < 0) != (m < 0) ? m + b : m;
}
"""


def _floor_divide(a, b):
    """NumPy's, but for infinite operands, where the array API standard divides."""
    result = np.floor_divide(a, b)
    if result.dtype.kind != "f":
        return result
    quotient = np.true_divide(a, b, dtype=result.dtype)
    return np.where(np.isinf(a) | np.isinf(b), quotient, result)


@scalar(
    "ga_floor_divide({0}, {1})",
    _floor_divide,
    kinds={"u": "{1} == 0 ? ({t})0 : ({t})({0} / {1})"},
    support={"i": FLOOR_DIVIDE, "f": FLOOR_DIVIDE_FLOAT},
    typed_as=np.floor_divide,
    operator="floordiv",
)
def floor_divide(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "ga_mod({0}, {1})",
    np.remainder,
    kinds={"u": "{1} == 0 ? ({t})0 : ({t})({0} % {1})"},
    support={"i": MOD, "f": MOD_FLOAT},
    operator="mod",
)
def mod(m, g, y, a, b):
    return g, -g * m.floor_divide(a, b)


# C's remainder has the sign of the first operand.
FMOD = """
GA_INLINE {t} ga_fmod({t} a, {t} b) {
  return b == 0 || b == -1 ? ({t})0 : ({t})(a % b);
}
"""


@scalar(
    "fmod({0}, {1})",
    np.fmod,
    kinds={"i": "ga_fmod({0}, {1})", "u": "{1} == 0 ? ({t})0 : ({t})({0} % {1})"},
    support={"i": FMOD},
)
def fmod(m, g, y, a, b):
    return g, -g * m.trunc(a / b)


# The greatest common divisor and the least common multiple, by Euclid; of the smallest
# number, which has no opposite, it is the number itself, as in NumPy.
GCD = """
GA_INLINE {t} ga_gcd({t} a, {t} b) {
  while (b != 0) {
    const {t} rest = b == -1 ? ({t})0 : ({t})(a % b);
    a = b;
    b = rest;
  }
  return a < 0 ? ({t})-a : a;
}
"""
GCD_UNSIGNED = """
GA_INLINE {t} ga_gcd({t} a, {t} b) {
  while (b != 0) {
    const {t} rest = ({t})(a % b);
    a = b;
    b = rest;
  }
  return a;
}
"""
LCM = """
GA_INLINE {t} ga_lcm({t} a, {t} b) {
  const {t} common = ga_gcd(a, b);
  if (common == 0)
    return 0;
  a = a < 0 ? ({t})-a : a;
  b = b < 0 ? ({t})-b : b;
  return ({t})((ga_ulong)(a / common) * (ga_ulong)b);
}
"""
LCM_UNSIGNED = """
GA_INLINE {t} ga_lcm({t} a, {t} b) {
  return a == 0 && b == 0 ? ({t})0 : ({t})(a / ga_gcd(a, b) * b);
}
"""


@scalar(
    "ga_gcd({0}, {1})",
    np.gcd,
    support={"i": GCD, "u": GCD_UNSIGNED},
    commutes=True,
    associates=True,
)
def gcd(m, g, y, a, b):
    return None, None  # integers only


@scalar(
    "ga_lcm({0}, {1})",
    np.lcm,
    # Under another name, so that both rows' functions may stand in one program.
    support={
        kind: text.replace("ga_gcd", "ga_lcm_gcd")
        for kind, text in (("i", GCD + LCM), ("u", GCD_UNSIGNED + LCM_UNSIGNED))
    },
    commutes=True,
)
def lcm(m, g, y, a, b):
    return None, None  # integers only


# By squaring, with wrap-around. NumPy refuses negative integer exponents; an array of
# them cannot be looked at before the launch, so they give the quotient 1 / a**-b
# rounded to zero.
POWER = """
GA_INLINE {t} ga_power({t} a, {t} b) {
  if (b < 0)
    return ({t})(a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0);
  ga_ulong result = 1, square = (ga_ulong)a;
  for (; b != 0; b = ({t})(b >> 1)) {
    if (b & 1)
      result *= square;
    square *= square;
  }
  return ({t})result;
}
"""
POWER_UNSIGNED = """
GA_INLINE {t} ga_power({t} a, {t} b) {
  ga_ulong result = 1, square = (ga_ulong)a;
  for (; b != 0; b = ({t})(b >> 1)) {
    if (b & 1)
      result *= square;
    square *= square;
  }
  return ({t})result;
}
"""


@scalar(
    "pow({0}, {1})",
    np.power,
    kinds={"i|u": "ga_power({0}, {1})", "c": "ga_cpow({0}, {1})"},
    support={"i": POWER, "u": POWER_UNSIGNED},
    operator="pow",
    aliases=("pow",),
)
def power(m, g, y, a, b):
    slope = m.where(m.eq(b, 0), 0, b * m.power(a, b - 1))
    return g * slope, g * m.where(m.eq(a, 0), 0, y * m.log(a))


@scalar("{0}", np.positive, kinds={"c": "{0}"}, operator="pos")
def positive(m, g, y, x):
    return g


@scalar(
    "-{0}",
    np.negative,
    kinds={"c": "ga_cneg({0})"},
    operator="neg",
    undone_by="neg",
)
def neg(m, g, y, x):
    return -g


@scalar(
    "fabs({0})",
    np.absolute,
    kinds={"i": "{0} < 0 ? -{0} : {0}", "b|u": "{0}", "c": "ga_cabs({0})"},
    operator="abs",
)
def abs_(m, g, y, x):
    return g * m.sign(x)


# The number of length 1 that points the same way.
SIGN_COMPLEX = """
GA_INLINE {t} ga_csign({t} z) {
  const {p} length = ga_cabs(z);
  if (length < INFINITY)
    return length == 0 ? ga_complex(({p})0, ({p})0)
                       : ga_complex(z.x / length, z.y / length);
  if (length != length || fabs(z.x) == fabs(z.y))
    return ga_complex(({p})NAN, ({p})NAN);
  if (fabs(z.x) == INFINITY)
    return ga_complex(copysign(({p})1, z.x), ({p})0);
  return ga_complex(({p})0, copysign(({p})1, z.y));
}
"""


@scalar(
    "{0} != {0} ? {0} : ({t})(({0} > 0) - ({0} < 0))",
    np.sign,
    kinds={
        "i": "({0} > 0) - ({0} < 0)",
        "u": "{0} != 0",
        "c": "ga_csign({0})",
    },
    support={"c": SIGN_COMPLEX},
)
def sign(m, g, y, x):
    return None  # piecewise constant


@scalar("{0} * {0}", np.square, kinds={"c": "ga_cmul({0}, {0})"})
def square(m, g, y, x):
    return g * 2 * x


@scalar(
    "sqrt({0})",
    np.sqrt,
    kinds={"c": "ga_csqrt({0})"},
    result="float",
    undone_by="square",
    domain=(0, np.inf),
)
def sqrt(m, g, y, x):
    return g * 0.5 / y


# As a division, but of 0 it is nan in both parts.
RECIPROCAL_COMPLEX = """
GA_INLINE {t} ga_creciprocal({t} z) {
  if (!ga_ctrue(z))
    return ga_complex(({p})NAN, ({p})NAN);
  return ga_cdiv(ga_complex(({p})1, ({p})0), z);
}
"""


@scalar(
    "1 / {0}",
    np.reciprocal,
    kinds={
        "i": "({0} == 1) - ({0} == -1)",
        "u": "{0} == 1",
        "c": "ga_creciprocal({0})",
    },
    support={"c": RECIPROCAL_COMPLEX},
    undone_by="reciprocal",
    domain=(0, np.inf),
)
def reciprocal(m, g, y, x):
    return -g * y * y


@scalar(
    "pow({0}, {1})",
    np.float_power,
    kinds={"c": "ga_cpow({0}, {1})"},
    result="float",
    domain=(0, np.inf),
)
def float_power(m, g, y, a, b):
    slope = m.where(m.eq(b, 0), 0, b * m.power(a, b - 1))
    return g * slope, g * m.where(m.eq(a, 0), 0, y * m.log(a))


@scalar("cbrt({0})", np.cbrt, result="float", domain=(0, np.inf))
def cbrt(m, g, y, x):
    return g / (3 * y * y)


@scalar("fabs({0})", np.fabs, result="float")
def fabs(m, g, y, x):
    return g * m.sign(x)


@scalar(
    "{0} != {0} ? {0} : {0} == 0 ? {1} : ({t})({0} > 0)", np.heaviside, result="float"
)
def heaviside(m, g, y, a, b):
    return None, m.where(m.eq(a, 0), g, 0)


@scalar("hypot({0}, {1})", np.hypot, result="float", commutes=True, associates=True)
def hypot(m, g, y, a, b):
    return g * a / y, g * b / y


# ---- exponentials and logarithms ----


@scalar(
    "exp({0})", np.exp, kinds={"c": "ga_cexp({0})"}, result="float", undone_by="log"
)
def exp(m, g, y, x):
    return g * y


@scalar(
    "exp2({0})",
    np.exp2,
    kinds={"c": "ga_cexp(ga_cscale({0}, 0.693147180559945309417232121458{f}))"},
    result="float",
    undone_by="log2",
)
def exp2(m, g, y, x):
    return g * y * math.log(2)


@scalar(
    "expm1({0})",
    np.expm1,
    kinds={"c": "ga_cexpm1({0})"},
    result="float",
    undone_by="log1p",
)
def expm1(m, g, y, x):
    return g * (y + 1)


@scalar(
    "log({0})",
    np.log,
    kinds={"c": "ga_clog({0})"},
    result="float",
    undone_by="exp",
    domain=(0, np.inf),
)
def log(m, g, y, x):
    return g / x


@scalar(
    "log2({0})",
    np.log2,
    kinds={"c": "ga_cscale(ga_clog({0}), 1.44269504088896340735992468100{f})"},
    result="float",
    undone_by="exp2",
    domain=(0, np.inf),
)
def log2(m, g, y, x):
    return g / (x * math.log(2))


@scalar(
    "log10({0})",
    np.log10,
    kinds={"c": "ga_cscale(ga_clog({0}), 0.434294481903251827651128918917{f})"},
    result="float",
    domain=(0, np.inf),
)
def log10(m, g, y, x):
    return g / (x * math.log(10))


@scalar(
    "log1p({0})",
    np.log1p,
    kinds={"c": "ga_clog1p({0})"},
    result="float",
    undone_by="expm1",
    domain=(-1, np.inf),
)
def log1p(m, g, y, x):
    return g / (x + 1)


LOGADDEXP = """
GA_INLINE {t} ga_logaddexp({t} a, {t} b) {
  if (a == b)
    return a + 0.693147180559945309417232121458{f};
  return (a > b ? a : b) + log1p(exp(-fabs(a - b)));
}
"""


@scalar(
    "ga_logaddexp({0}, {1})",
    np.logaddexp,
    support=LOGADDEXP,
    result="float",
    identity=-np.inf,
    commutes=True,
    associates=True,
)
def logaddexp(m, g, y, a, b):
    return g * m.exp(a - y), g * m.exp(b - y)


LOGADDEXP2 = """
GA_INLINE {t} ga_logaddexp2({t} a, {t} b) {
  if (a == b)
    return a + 1;
  const {t} more = log1p(exp2(-fabs(a - b)));
  return (a > b ? a : b) + more * 1.44269504088896340735992468100{f};
}
"""


@scalar(
    "ga_logaddexp2({0}, {1})",
    np.logaddexp2,
    support=LOGADDEXP2,
    result="float",
    identity=-np.inf,
    commutes=True,
    associates=True,
)
def logaddexp2(m, g, y, a, b):
    return g * m.exp2(a - y), g * m.exp2(b - y)


# ---- trigonometry ----


@scalar("sin({0})", np.sin, kinds={"c": "ga_csin({0})"}, result="float")
def sin(m, g, y, x):
    return g * m.cos(x)


@scalar("cos({0})", np.cos, kinds={"c": "ga_ccos({0})"}, result="float")
def cos(m, g, y, x):
    return -g * m.sin(x)


@scalar("tan({0})", np.tan, kinds={"c": "ga_ctan({0})"}, result="float")
def tan(m, g, y, x):
    return g * (y * y + 1)


@scalar(
    "asin({0})",
    np.arcsin,
    kinds={"c": "ga_casin({0})"},
    result="float",
    undone_by="sin",
    domain=(-1, 1),
    aliases=("asin",),
)
def arcsin(m, g, y, x):
    return g / m.sqrt(1 - x * x)


@scalar(
    "acos({0})",
    np.arccos,
    kinds={"c": "ga_cacos({0})"},
    result="float",
    undone_by="cos",
    domain=(-1, 1),
    aliases=("acos",),
)
def arccos(m, g, y, x):
    return -g / m.sqrt(1 - x * x)


@scalar(
    "atan({0})",
    np.arctan,
    kinds={"c": "ga_catan({0})"},
    result="float",
    undone_by="tan",
    aliases=("atan",),
)
def arctan(m, g, y, x):
    return g / (x * x + 1)


@scalar("atan2({0}, {1})", np.arctan2, result="float", aliases=("atan2",))
def arctan2(m, g, y, a, b):
    scale = g / (a * a + b * b)
    return scale * b, -scale * a


@scalar(
    "sinh({0})",
    np.sinh,
    kinds={"c": "ga_csinh({0})"},
    result="float",
    undone_by="arcsinh",
)
def sinh(m, g, y, x):
    return g * m.cosh(x)


@scalar("cosh({0})", np.cosh, kinds={"c": "ga_ccosh({0})"}, result="float")
def cosh(m, g, y, x):
    return g * m.sinh(x)


@scalar(
    "tanh({0})",
    np.tanh,
    kinds={"c": "ga_ctanh({0})"},
    result="float",
    undone_by="arctanh",
)
def tanh(m, g, y, x):
    return g * (1 - y * y)


@scalar(
    "asinh({0})",
    np.arcsinh,
    kinds={"c": "ga_casinh({0})"},
    result="float",
    undone_by="sinh",
    aliases=("asinh",),
)
def arcsinh(m, g, y, x):
    return g / m.sqrt(x * x + 1)


@scalar(
    "acosh({0})",
    np.arccosh,
    kinds={"c": "ga_cacosh({0})"},
    result="float",
    undone_by="cosh",
    domain=(1, np.inf),
    aliases=("acosh",),
)
def arccosh(m, g, y, x):
    return g / (m.sqrt(x - 1) * m.sqrt(x + 1))


@scalar(
    "atanh({0})",
    np.arctanh,
    kinds={"c": "ga_catanh({0})"},
    result="float",
    undone_by="tanh",
    domain=(-1, 1),
    aliases=("atanh",),
)
def arctanh(m, g, y, x):
    return g / (1 - x * x)


@scalar(
    "{0} * 0.0174532925199432957692369076849{f}",
    np.deg2rad,
    result="float",
    undone_by="rad2deg",
    aliases=("radians",),
)
def deg2rad(m, g, y, x):
    return g * (math.pi / 180)


@scalar(
    "{0} * 57.2957795130823208767981548141{f}",
    np.rad2deg,
    result="float",
    undone_by="deg2rad",
    aliases=("degrees",),
)
def rad2deg(m, g, y, x):
    return g * (180 / math.pi)


# ---- rounding ----


@scalar("ceil({0})", np.ceil, kinds={"b|i|u": "{0}"})
def ceil(m, g, y, x):
    return None  # piecewise constant


@scalar("floor({0})", np.floor, kinds={"b|i|u": "{0}"})
def floor(m, g, y, x):
    return None  # piecewise constant


@scalar("trunc({0})", np.trunc, kinds={"b|i|u": "{0}"})
def trunc(m, g, y, x):
    return None  # piecewise constant


@scalar(
    "rint({0})",
    np.rint,
    kinds={"c": "ga_complex(rint({0}.x), rint({0}.y))"},
    result="float",
)
def rint(m, g, y, x):
    return None  # piecewise constant


# ---- the larger, the smaller, and between ----

# maximum and minimum hand on a nan, fmax and fmin the number beside it. Where both
# operands are equal, the gradient goes to the first.


@scalar(
    "({0} >= {1} || {0} != {0}) ? {0} : {1}",
    np.maximum,
    kinds={
        "c": "(ga_cle({1}, {0}) || ga_cisnan({0})) ? {0} : {1}",
        "b|i|u": "{0} > {1} ? {0} : {1}",
    },
    identity=-np.inf,
    commutes=True,
    associates=True,
)
def maximum(m, g, y, a, b):
    first = m.ge(a, b)
    return m.where(first, g, 0), m.where(first, 0, g)


@scalar(
    "({0} <= {1} || {0} != {0}) ? {0} : {1}",
    np.minimum,
    kinds={
        "c": "(ga_cle({0}, {1}) || ga_cisnan({0})) ? {0} : {1}",
        "b|i|u": "{0} < {1} ? {0} : {1}",
    },
    identity=np.inf,
    commutes=True,
    associates=True,
)
def minimum(m, g, y, a, b):
    first = m.le(a, b)
    return m.where(first, g, 0), m.where(first, 0, g)


@scalar(
    "fmax({0}, {1})",
    np.fmax,
    kinds={
        "c": "(ga_cle({1}, {0}) || ga_cisnan({1})) ? {0} : {1}",
        "b|i|u": "{0} > {1} ? {0} : {1}",
    },
    identity=-np.inf,
    commutes=True,
    associates=True,
)
def fmax(m, g, y, a, b):
    first = m.logical_or(m.ge(a, b), m.isnan(b))
    return m.where(first, g, 0), m.where(first, 0, g)


@scalar(
    "fmin({0}, {1})",
    np.fmin,
    kinds={
        "c": "(ga_cle({0}, {1}) || ga_cisnan({1})) ? {0} : {1}",
        "b|i|u": "{0} < {1} ? {0} : {1}",
    },
    identity=np.inf,
    commutes=True,
    associates=True,
)
def fmin(m, g, y, a, b):
    first = m.logical_or(m.le(a, b), m.isnan(b))
    return m.where(first, g, 0), m.where(first, 0, g)


CLIP = """
GA_INLINE {t} ga_clip({t} x, {t} low, {t} high) {
  const {t} v = x != x || x > low ? x : low;
  return v != v || v < high ? v : high;
}
"""
CLIP_COMPLEX = """
GA_INLINE {t} ga_clip({t} x, {t} low, {t} high) {
  const {t} v = ga_cle(low, x) || ga_cisnan(x) ? x : low;
  return ga_cle(v, high) || ga_cisnan(v) ? v : high;
}
"""


@scalar(
    "ga_clip({0}, {1}, {2})",
    np.clip,
    kinds={
        # Nothing of the limits alone: of the lesser one of two numbers ptxas 13.0 keeps
        # 16 bits when it takes it out of a loop.
        "b|i|u": "({0} < {1} ? {1} : {0}) < {2} ? ({0} < {1} ? {1} : {0}) : {2}",
        "c": "ga_clip({0}, {1}, {2})",
    },
    support={"f": CLIP, "c": CLIP_COMPLEX},
    joins=(0, 1, 2),
)
def clip(m, g, y, x, low, high):
    below, above = m.lt(x, low), m.gt(x, high)
    inside = m.logical_not(m.logical_or(below, above))
    return m.where(inside, g, 0), m.where(below, g, 0), m.where(above, g, 0)


@scalar("copysign({0}, {1})", np.copysign, result="float")
def copysign(m, g, y, a, b):
    return g * m.sign(a) * m.copysign(1, b), None


# ---- what neural networks and statistics use ----

SIGMOID = """
GA_INLINE {t} ga_sigmoid({t} x) {
  const {t} e = exp(-fabs(x));
  return (x >= 0 ? ({t})1 : e) / (1 + e);
}
"""


def _real_only(x):
    """``x``, unless it is complex: then TypeError, as of a ufunc without that loop."""
    if x.dtype.kind == "c":
        raise TypeError("it is not defined for complex numbers")
    return x


def _floating(function):
    """A NumPy reference that takes any real dtype and gives the dtype exp would."""

    def reference(x):
        x = _real_only(np.asarray(x))
        dtype = np.exp.resolve_dtypes((x.dtype, None))[-1]
        work = np.float32 if dtype.itemsize == 2 else dtype
        return np.asarray(function(x.astype(work))).astype(dtype)

    return reference


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, np.ones_like(e), e) / (1 + e)


@scalar(
    "ga_sigmoid({0})",
    _floating(_sigmoid),
    support=SIGMOID,
    result="float",
    typed_as=np.exp,
)
def sigmoid(m, g, y, x):
    return g * y * (1 - y)


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@scalar(
    "fmax({0}, ({t})0) + log1p(exp(-fabs({0})))",
    _floating(_softplus),
    result="float",
    typed_as=np.exp,
)
def softplus(m, g, y, x):
    return g * m.sigmoid(x)


@scalar(
    "({0} > 0 || {0} != {0}) ? {0} : ({t})0",
    lambda x: np.maximum(_real_only(x), x.dtype.type(0)),
    kinds={"i": "{0} > 0 ? {0} : ({t})0", "b|u": "{0}"},
    typed_as=np.absolute,
)
def relu(m, g, y, x):
    return m.where(m.gt(x, 0), g, 0)


def _by_element(function):
    """A NumPy reference that takes one Python float at a time."""
    each = np.frompyfunc(function, 1, 1)
    return _floating(lambda x: each(x.astype(np.float64)))


def _gamma(x):
    if x == 0:
        return math.copysign(math.inf, x)
    if x < 0 and (math.isinf(x) or x == math.floor(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def _gammaln(x):
    if x <= 0 and not math.isinf(x) and x == math.floor(x):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _psi(x):
    """Digamma: by reflection and recurrence to x >= 10, then the asymptotic series."""
    if math.isnan(x) or x == math.inf:
        return x
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x < 0:
        return _psi(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return shift + math.log(x) - 0.5 / x - series


def _tri_gamma(x):
    """The derivative of digamma, computed the same way."""
    if math.isnan(x):
        return x
    if x == math.inf:
        return 0.0
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x < 0:
        return (math.pi / math.sin(math.pi * x)) ** 2 - _tri_gamma(1 - x)
    shift = 0.0
    while x < 10:
        shift += 1 / (x * x)
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * 5 / 66))))
    return shift + (1 + 0.5 / x + series) / x


@scalar("erf({0})", _by_element(math.erf), result="float", typed_as=np.exp)
def erf(m, g, y, x):
    return g * m.exp(-(x * x)) * (2 / math.sqrt(math.pi))


@scalar("erfc({0})", _by_element(math.erfc), result="float", typed_as=np.exp)
def erfc(m, g, y, x):
    return -g * m.exp(-(x * x)) * (2 / math.sqrt(math.pi))


@scalar(
    "tgamma({0})",
    _by_element(_gamma),
    result="float",
    typed_as=np.exp,
    domain=(0, np.inf),
)
def gamma(m, g, y, x):
    return g * y * m.psi(x)


@scalar(
    "lgamma({0})",
    _by_element(_gammaln),
    result="float",
    typed_as=np.exp,
    domain=(0, np.inf),
)
def gammaln(m, g, y, x):
    return g * m.psi(x)


PSI = """
GA_INLINE {t} ga_psi({t} x) {
  {t} sum = 0;
  if (x <= 0) {
    if (x == floor(x))
      return NAN;
    const {t} pi = 3.14159265358979323846264338328{f};
    sum = -pi / tan(pi * (x - floor(x)));
    x = 1 - x;
  }
  if (x > 1e30{f})
    return sum + log(x);
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  const {t} z = 1 / (x * x);
  const {t} series =
      z * (1 / 12.0{f} -
           z * (1 / 120.0{f} -
                z * (1 / 252.0{f} - z * (1 / 240.0{f} - z / 132.0{f}))));
  return sum + log(x) - 0.5{f} / x - series;
}
"""
TRI_GAMMA = """
GA_INLINE {t} ga_tri_gamma({t} x) {
  {t} sum = 0, scale = 1;
  if (x <= 0) {
    if (x == floor(x))
      return NAN;
    const {t} pi = 3.14159265358979323846264338328{f};
    const {t} s = pi / sin(pi * (x - floor(x)));
    sum = s * s;
    scale = -1;
    x = 1 - x;
  }
  while (x < 10) {
    sum += scale / (x * x);
    x += 1;
  }
  const {t} z = 1 / x / x;
  const {t} series =
      z * (1 / 6.0{f} -
           z * (1 / 30.0{f} -
                z * (1 / 42.0{f} - z * (1 / 30.0{f} - z * (5 / 66.0{f})))));
  return sum + scale * (1 + 0.5{f} / x + series) / x;
}
"""


@scalar(
    "ga_psi({0})",
    _by_element(_psi),
    support=PSI,
    result="float",
    typed_as=np.exp,
    domain=(0, np.inf),
)
def psi(m, g, y, x):
    return g * m.tri_gamma(x)


@scalar(
    "ga_tri_gamma({0})",
    _by_element(_tri_gamma),
    support=TRI_GAMMA,
    result="float",
    typed_as=np.exp,
    domain=(0, np.inf),
)
def tri_gamma(m, g, y, x):
    raise NotImplementedError("tri_gamma has no gradient: polygamma(2, x) is not a row")


# ---- comparisons; a signed beside an unsigned number is compared by value ----


@scalar(
    "{0} == {1}",
    np.equal,
    kinds={
        "c": "ga_ceq({0}, {1})",
        "iu": "{0} >= 0 && (ga_ulong){0} == {1}",
        "ui": "{1} >= 0 && {0} == (ga_ulong){1}",
    },
    result="bool",
    operator="eq",
    commutes=True,
)
def eq(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "{0} != {1}",
    np.not_equal,
    kinds={
        "c": "ga_cne({0}, {1})",
        "iu": "{0} < 0 || (ga_ulong){0} != {1}",
        "ui": "{1} < 0 || {0} != (ga_ulong){1}",
    },
    result="bool",
    operator="ne",
    commutes=True,
)
def ne(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "{0} < {1}",
    np.less,
    kinds={
        "c": "ga_clt({0}, {1})",
        "iu": "{0} < 0 || (ga_ulong){0} < {1}",
        "ui": "{1} >= 0 && {0} < (ga_ulong){1}",
    },
    result="bool",
    operator="lt",
)
def lt(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "{0} <= {1}",
    np.less_equal,
    kinds={
        "c": "ga_cle({0}, {1})",
        "iu": "{0} < 0 || (ga_ulong){0} <= {1}",
        "ui": "{1} >= 0 && {0} <= (ga_ulong){1}",
    },
    result="bool",
    operator="le",
)
def le(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "{0} > {1}",
    np.greater,
    kinds={
        "c": "ga_clt({1}, {0})",
        "iu": "{0} >= 0 && (ga_ulong){0} > {1}",
        "ui": "{1} < 0 || {0} > (ga_ulong){1}",
    },
    result="bool",
    operator="gt",
)
def gt(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "{0} >= {1}",
    np.greater_equal,
    kinds={
        "c": "ga_cle({1}, {0})",
        "iu": "{0} >= 0 && (ga_ulong){0} >= {1}",
        "ui": "{1} < 0 || {0} >= (ga_ulong){1}",
    },
    result="bool",
    operator="ge",
)
def ge(m, g, y, a, b):
    return None, None  # piecewise constant


# ---- logic and bits ----


@scalar(
    "{0} != 0 && {1} != 0",
    np.logical_and,
    kinds={"c": "ga_ctrue({0}) && ga_ctrue({1})"},
    result="bool",
    identity=1,
    commutes=True,
    associates=True,
)
def logical_and(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "{0} != 0 || {1} != 0",
    np.logical_or,
    kinds={"c": "ga_ctrue({0}) || ga_ctrue({1})"},
    result="bool",
    identity=0,
    commutes=True,
    associates=True,
)
def logical_or(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar("{0} == 0", np.logical_not, kinds={"c": "!ga_ctrue({0})"}, result="bool")
def logical_not(m, g, y, x):
    return None  # piecewise constant


@scalar(
    "({0} != 0) != ({1} != 0)",
    np.logical_xor,
    kinds={"c": "ga_ctrue({0}) != ga_ctrue({1})"},
    result="bool",
    identity=0,
    commutes=True,
    associates=True,
)
def logical_xor(m, g, y, a, b):
    return None, None  # piecewise constant


@scalar(
    "{0} & {1}",
    np.bitwise_and,
    operator="and",
    identity=-1,
    commutes=True,
    associates=True,
)
def bitwise_and(m, g, y, a, b):
    return None, None  # integers only


@scalar(
    "{0} | {1}",
    np.bitwise_or,
    operator="or",
    identity=0,
    commutes=True,
    associates=True,
)
def bitwise_or(m, g, y, a, b):
    return None, None  # integers only


@scalar(
    "{0} ^ {1}",
    np.bitwise_xor,
    operator="xor",
    identity=0,
    commutes=True,
    associates=True,
)
def bitwise_xor(m, g, y, a, b):
    return None, None  # integers only


@scalar(
    "~{0}",
    np.invert,
    kinds={"b": "!{0}"},
    operator="invert",
    undone_by="invert",
    aliases=("bitwise_invert", "bitwise_not"),
)
def invert(m, g, y, x):
    return None  # integers only


# A shift by the width or more gives what shifting one by one would, as in NumPy.


@scalar(
    "(ga_ulong){1} < sizeof({t}) * 8 ? ({t})({0} << {1}) : ({t})0",
    np.left_shift,
    operator="lshift",
    aliases=("bitwise_left_shift",),
)
def left_shift(m, g, y, a, b):
    return None, None  # integers only


@scalar(
    "(ga_ulong){1} < sizeof({t}) * 8 ? ({t})({0} >> {1}) : ({t})({0} < 0 ? -1 : 0)",
    np.right_shift,
    kinds={"u": "{1} < sizeof({t}) * 8 ? ({t})({0} >> {1}) : ({t})0"},
    operator="rshift",
    aliases=("bitwise_right_shift",),
)
def right_shift(m, g, y, a, b):
    return None, None  # integers only


# ---- neighbours of floats ----

# Of the narrow types {bits} is the mantissa's, and {low} the smallest normal exponent.
NEXT_NARROW = """
GA_INLINE {t} ga_next_{name}({t} x, {t} to) {
  if (x != x || to != to || x == to)
    return x != x ? x : to;
  if (x == 0)
    return copysign(ldexp(({t})1, {low} - {bits}), to);
  if (fabs(x) == INFINITY)
    return copysign(ldexp(({t})2 - ldexp(({t})1, -{bits}), 1 - {low}), x);
  int e;
  const int outward = (x < to) == (x > 0);
  const int inward = frexp(fabs(x), &e) == ({t})0.5 && !outward;
  e -= 1 + inward;
  const {t} step = ldexp(({t})1, (e < {low} ? {low} : e) - {bits});
  return x < to ? x + step : x - step;
}
"""


def _next(name, bits, low):
    words = {"{name}": name, "{bits}": str(bits), "{low}": f"({low})"}
    text = NEXT_NARROW
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


@scalar(
    "nextafter({0}, {1})",
    np.nextafter,
    kinds={"f16": "ga_next_half({0}, {1})", "bf16": "ga_next_bfloat16({0}, {1})"},
    support={
        "f16": _next("half", 10, -14),
        "bf16": _next("bfloat16", 7, -126),
    },
    result="float",
)
def nextafter(m, g, y, a, b):
    return g, None


# ---- questions about floats ----


@scalar(
    "{0} != {0}", np.isnan, kinds={"b|i|u": "0", "c": "ga_cisnan({0})"}, result="bool"
)
def isnan(m, g, y, x):
    return None  # piecewise constant


@scalar(
    "fabs({0}) == INFINITY",
    np.isinf,
    kinds={"b|i|u": "0", "c": "ga_cisinf({0})"},
    result="bool",
)
def isinf(m, g, y, x):
    return None  # piecewise constant


@scalar(
    "fabs({0}) < INFINITY",
    np.isfinite,
    kinds={"b|i|u": "1", "c": "ga_cisfinite({0})"},
    result="bool",
)
def isfinite(m, g, y, x):
    return None  # piecewise constant


@scalar("signbit({0}) != 0", np.signbit, result="bool")
def signbit(m, g, y, x):
    return None  # piecewise constant


# ---- complex numbers; a real one has the imaginary part 0 ----


@scalar(
    "{0}",
    lambda x: np.array(np.real(x)),
    kinds={"c": "{0}.x"},
    typed_as=np.absolute,
)
def real(m, g, y, x):
    return g


@scalar(
    "({t})0",
    lambda x: np.array(np.imag(x)),
    kinds={"c": "{0}.y"},
    typed_as=np.absolute,
)
def imag(m, g, y, x):
    return None  # of a real number constant


@scalar(
    "{0}",
    np.conjugate,
    kinds={"c": "ga_conj({0})"},
    undone_by="conjugate",
    aliases=("conj",),
)
def conjugate(m, g, y, x):
    return g


@scalar(
    "atan2(({t})0, {0})",
    lambda x: np.arctan2(np.imag(x), np.real(x)),
    kinds={"c": "ga_carg({0})"},
    result="float",
    typed_as=np.exp,
    gives_parts=True,
)
def angle(m, g, y, x):
    return None  # of a real number piecewise constant


# ---- choosing ----


@scalar("{0} != 0 ? {1} : {2}", np.where, joins=(1, 2))
def where(m, g, y, condition, a, b):
    return None, m.where(condition, g, 0), m.where(condition, 0, g)


@scalar("{1}", lambda a, b: np.broadcast_arrays(a, b)[1].copy(), joins=(1,))
def second(m, g, y, a, b):
    return None, g


# ---- the parts of a number ----


@scalar(
    "fabs({0}) == INFINITY ? copysign(({t})0, {0}) : copysign({0} - trunc({0}), {0})",
    lambda x: np.modf(x)[0],
    typed_as=np.modf,
)
def fractional_part(m, g, y, x):
    return g


@scalar("trunc({0})", lambda x: np.modf(x)[1], typed_as=np.modf, output=1)
def integral_part(m, g, y, x):
    return None  # piecewise constant


# x = mantissa * 2**exponent, with the mantissa's size from 1/2 to 1.
FREXP = """
GA_INLINE {t} ga_mantissa({t} x) {
  int e;
  return fabs(x) < INFINITY ? frexp(x, &e) : x;
}
GA_INLINE ga_int ga_exponent({t} x) {
  int e = 0;
  if (fabs(x) < INFINITY)
    frexp(x, &e);
  return e;
}
"""


@scalar("ga_mantissa({0})", lambda x: np.frexp(x)[0], support=FREXP, typed_as=np.frexp)
def mantissa(m, g, y, x):
    return g * m.where(m.eq(x, 0), 1, y / x)


@scalar(
    "ga_exponent({0})",
    lambda x: np.frexp(x)[1],
    support=FREXP,
    typed_as=np.frexp,
    output=1,
)
def exponent(m, g, y, x):
    return None  # piecewise constant


PAIRS = (
    Pair(np.divmod, (floor_divide, mod)),
    Pair(np.modf, (fractional_part, integral_part)),
    Pair(np.frexp, (mantissa, exponent)),
)
"""Functions with two results."""
