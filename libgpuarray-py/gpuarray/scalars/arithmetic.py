"""Sums, products, quotients, powers and roots."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.families import float_function
from gpuarray.scalars.table import scalar

# Integers wrap, as in NumPy. In C a signed one must not, and a compiler counts on that,
# nor must a product of two unsigned shorts, which is one of ints; so they are computed
# as unsigned ones, of which a compiler keeps as many bits as the result has.


def _wrapping(operator: str) -> str:
    """Return the C text of an operation on integers of any size."""
    return f"({{t}})((ga_ulong){{0}} {operator} (ga_ulong){{1}})"


# The negative of 16 bits is one of 32 to ptxas 13.0: -(-32768) // 3 would be 10922.
_NEGATIVE = (
    "(sizeof({t}) == 2 ? ({t})ga_hidden(0 - (ga_uint){0}) : ({t})(0 - (ga_ulong){0}))"
)


@scalar(
    "{0} + {1}",
    np.add,
    kinds={"b": "{0} | {1}", "i|u": _wrapping("+"), "c": "ga_cadd({0}, {1})"},
    operator="add",
    identity=0,
    commutes=True,
    associates=True,
    reduction="sum",
    increases_in=(0, 1),
    example=([1, 2], 10),
)
def add(m, g, y, a, b):
    """The sum."""
    return g, g


@scalar(
    "{0} - {1}",
    np.subtract,
    kinds={"i|u": _wrapping("-"), "c": "ga_csub({0}, {1})"},
    operator="sub",
    increases_in=(0,),
    example=([10, 20], [1, 2]),
)
def sub(m, g, y, a, b):
    """The difference."""
    return g, -g


@scalar(
    "{0} * {1}",
    np.multiply,
    kinds={"b": "{0} & {1}", "i|u": _wrapping("*"), "c": "ga_cmul({0}, {1})"},
    operator="mul",
    identity=1,
    commutes=True,
    associates=True,
    reduction="prod",
    example=([1, 2], 10),
)
def mul(m, g, y, a, b):
    """The product."""
    return g * b, g * a


@scalar(
    "({r}){0} / ({r}){1}",
    np.true_divide,
    kinds={"c": "ga_cdiv({0}, {1})"},
    result="float",
    operator="truediv",
    aliases=("true_divide",),
    example=([1, 2], 4),
)
def true_div(m, g, y, a, b):
    """The quotient: of integers, too, a float."""
    return g / b, -g * y / b


# Python's floor division and modulus: the quotient is rounded down, the modulus has the
# divisor's sign. An integer divided by 0 gives 0, as in NumPy. A divisor of -1 is kept
# from the processor, which traps on the smallest number. The sign asked for is that of
# the remainder: Intel's compiler takes that of -x as if it did not wrap.
FLOOR_DIVIDE = """
GA_INLINE {t} ga_floor_divide({t} a, {t} b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return ({t})(0 - (ga_ulong)a);
  const {t} m = ({t})(a % b);
  return ({t})(a / b - (m != 0 && (m ^ b) < 0));
}
"""
FLOOR_DIVIDE_FLOAT = """
GA_INLINE {t} ga_floor_divide({t} a, {t} b) {
  if (b == 0)
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


@scalar(
    "ga_floor_divide({0}, {1})",
    np.floor_divide,
    kinds={"u": "{1} == 0 ? ({t})0 : ({t})({0} / {1})"},
    support={"i": FLOOR_DIVIDE, "f": FLOOR_DIVIDE_FLOAT},
    operator="floordiv",
    example=([7, -7], 2),
)
def floor_divide(m, g, y, a, b):
    """The quotient rounded down; of integers by 0 it is 0."""
    return None, None  # piecewise constant


@scalar(
    "ga_mod({0}, {1})",
    np.remainder,
    kinds={"u": "{1} == 0 ? ({t})0 : ({t})({0} % {1})"},
    support={"i": MOD, "f": MOD_FLOAT},
    operator="mod",
    example=([7, -7], 3),
)
def mod(m, g, y, a, b):
    """The remainder of ``floor_divide``, of the sign of ``b``."""
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
    example=([7, -7], 3),
)
def fmod(m, g, y, a, b):
    """The remainder, of the sign of ``a``: C's."""
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
  return a < 0 ? ({t})(0 - (ga_ulong)a) : a;
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
  a = a < 0 ? ({t})(0 - (ga_ulong)a) : a;
  b = b < 0 ? ({t})(0 - (ga_ulong)b) : b;
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
    example=([12, 18], 8),
)
def gcd(m, g, y, a, b):
    """The greatest common divisor of integers."""
    return None, None  # integers only


@scalar(
    "ga_lcm({0}, {1})",
    np.lcm,
    # Under another name, so that one program may contain both rows' functions.
    support={
        kind: text.replace("ga_gcd", "ga_lcm_gcd")
        for kind, text in (("i", GCD + LCM), ("u", GCD_UNSIGNED + LCM_UNSIGNED))
    },
    commutes=True,
    example=([4, 6], 10),
)
def lcm(m, g, y, a, b):
    """The least common multiple of integers."""
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


def _power(a, b):
    """NumPy's ``power``, also of negative integer exponents, which it refuses.

    Of 0.5 it is C's in every version: newer ones take the root where 0.5 is alone,
    which differs at -inf and -0.
    """
    a, b = np.asarray(a), np.asarray(b)
    is_half = b == 0.5
    if a.dtype.kind == "f" == b.dtype.kind and is_half.any():
        result = np.power(a, b)
        roots = np.float_power(a, b).astype(result.dtype)
        return np.where(is_half, roots, result)
    if b.dtype.kind != "i" or a.dtype.kind not in "biu" or not (b < 0).any():
        return np.power(a, b)
    of_one = np.power(a, np.where(b < 0, b & 1, b))
    is_zero = (b < 0) & (np.abs(a) != 1)
    return np.where(is_zero, 0, of_one).astype(of_one.dtype)


@scalar(
    "pow({0}, {1})",
    _power,
    typed_as=np.power,
    kinds={"i|u": "ga_power({0}, {1})", "c": "ga_cpow({0}, {1})"},
    support={"i": POWER, "u": POWER_UNSIGNED},
    operator="pow",
    aliases=("pow",),
    example=([2, 3], 2),
)
def power(m, g, y, a, b):
    """``a`` to the power ``b``; of integers an integer."""
    of_a = m.where(m.eq(b, 0), 0, g * (b * m.power(a, b - 1)))
    return of_a, m.where(m.eq(a, 0), 0, g * (y * m.log(a)))


@scalar("{0}", np.positive, kinds={"c": "{0}"}, operator="pos", example=([-1, 2],))
def positive(m, g, y, x):
    """The element itself."""
    return g


@scalar(
    "-{0}",
    np.negative,
    kinds={"i|u": _NEGATIVE, "c": "ga_cneg({0})"},
    operator="neg",
    undone_by="neg",
    undone_complex=True,
    example=([-1, 2],),
)
def neg(m, g, y, x):
    """The element with the other sign."""
    return -g


@scalar(
    "fabs({0})",
    np.absolute,
    kinds={
        "i": f"{{0}} < 0 ? {_NEGATIVE} : {{0}}",
        "b|u": "{0}",
        "c": "ga_cabs({0})",
    },
    operator="abs",
    example=([-1, 2],),
)
def abs_(m, g, y, x):
    """The absolute value; of a complex number a real one."""
    return g * m.sign(x)


# Of a complex number: divided by its size.
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
    example=([-5, 0, 5],),
)
def sign(m, g, y, x):
    """-1, 0 or 1 as the sign is; of a complex number, it over its size."""
    return None  # piecewise constant


@scalar(
    "{0} * {0}",
    np.square,
    kinds={
        "i|u": "({t})((ga_ulong){0} * (ga_ulong){0})",
        "c": "ga_cmul({0}, {0})",
    },
    example=([-1, 2],),
)
def square(m, g, y, x):
    """The element times itself."""
    return g * 2 * x


@float_function(
    "sqrt", np.sqrt, undone_by="square", domain=(0, np.inf), example=([1.0, 4.0],)
)
def sqrt(m, g, y, x):
    """The square root; nan of negative numbers."""
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
    floats_integers=True,
    undone_by="reciprocal",
    domain=(0, np.inf),
    example=([2.0, 4.0],),
)
def reciprocal(m, g, y, x):
    """One over the element; of an array's integers rounded towards 0."""
    return -g * y * y


@scalar(
    "pow({0}, {1})",
    np.float_power,
    kinds={"c": "ga_cpow({0}, {1})"},
    result="float",
    domain=(0, np.inf),
    example=([2, 3], -1),
)
def float_power(m, g, y, a, b):
    """``a`` to the power ``b`` in float64 or complex128."""
    of_a = m.where(m.eq(b, 0), 0, g * (b * m.power(a, b - 1)))
    return of_a, m.where(m.eq(a, 0), 0, g * (y * m.log(a)))


@scalar(
    "cbrt({0})", np.cbrt, result="float", domain=(0, np.inf), example=([8.0, -27.0],)
)
def cbrt(m, g, y, x):
    """The cube root."""
    return g / (3 * y * y)


@scalar("fabs({0})", np.fabs, result="float", example=([-1, 2],))
def fabs(m, g, y, x):
    """The absolute value as a float."""
    return g * m.sign(x)


@scalar(
    "{0} != {0} ? {0} : {0} == 0 ? {1} : ({t})({0} > 0)",
    np.heaviside,
    result="float",
    example=([-1.0, 0.0, 1.0], 0.5),
)
def heaviside(m, g, y, a, b):
    """0 where ``a`` is negative, ``b`` where it is 0, else 1."""
    return None, m.where(m.eq(a, 0), g, 0)


@scalar(
    "hypot({0}, {1})",
    np.hypot,
    result="float",
    commutes=True,
    associates=True,
    example=([3.0], [4.0]),
)
def hypot(m, g, y, a, b):
    """The hypotenuse: the root of ``a**2 + b**2``, without overflow in between."""
    return g * a / y, g * b / y
