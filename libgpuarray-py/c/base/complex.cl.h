/* Arithmetic and functions of complex numbers, in the kernel language: added to a
 * program once for each width that it mentions, with GA_REAL, GA_PAIR and GA_EXACT (a
 * literal of the width) defined. Zeros, infinities and nans give what C99's Annex G asks
 * for; nothing overflows before its result does. */
GA_INLINE GA_PAIR ga_complex(GA_REAL x, GA_REAL y) {
  GA_PAIR z;
  z.x = x;
  z.y = y;
  return z;
}
GA_INLINE GA_PAIR ga_cadd(GA_PAIR a, GA_PAIR b) {
  return ga_complex(a.x + b.x, a.y + b.y);
}
GA_INLINE GA_PAIR ga_csub(GA_PAIR a, GA_PAIR b) {
  return ga_complex(a.x - b.x, a.y - b.y);
}
GA_INLINE GA_PAIR ga_cmul(GA_PAIR a, GA_PAIR b) {
  return ga_complex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
/* By the ratio of the divisor's parts (Smith), so that no square is formed. */
GA_INLINE GA_PAIR ga_cdiv(GA_PAIR a, GA_PAIR b) {
  const GA_REAL x = fabs(b.x), y = fabs(b.y);
  if (x == 0 && y == 0)
    return ga_complex(a.x / x, a.y / x);
  if (x >= y) {
    const GA_REAL ratio = b.y / b.x, scale = 1 / (b.x + b.y * ratio);
    return ga_complex((a.x + a.y * ratio) * scale, (a.y - a.x * ratio) * scale);
  }
  const GA_REAL ratio = b.x / b.y, scale = 1 / (b.y + b.x * ratio);
  return ga_complex((a.x * ratio + a.y) * scale, (a.y * ratio - a.x) * scale);
}
GA_INLINE GA_PAIR ga_cneg(GA_PAIR z) {
  return ga_complex(-z.x, -z.y);
}
GA_INLINE GA_PAIR ga_cscale(GA_PAIR z, GA_REAL factor) {
  return ga_complex(z.x * factor, z.y * factor);
}
GA_INLINE GA_PAIR ga_conj(GA_PAIR z) {
  return ga_complex(z.x, -z.y);
}
GA_INLINE GA_REAL ga_cabs(GA_PAIR z) {
  return hypot(z.x, z.y);
}
GA_INLINE GA_REAL ga_carg(GA_PAIR z) {
  return atan2(z.y, z.x);
}

/* ---- comparisons: NumPy's order, by the real part, then by the imaginary one ---- */

GA_INLINE int ga_ceq(GA_PAIR a, GA_PAIR b) {
  return a.x == b.x && a.y == b.y;
}
GA_INLINE int ga_cne(GA_PAIR a, GA_PAIR b) {
  return a.x != b.x || a.y != b.y;
}
GA_INLINE int ga_ctrue(GA_PAIR z) {
  return z.x != 0 || z.y != 0;
}
GA_INLINE int ga_clt(GA_PAIR a, GA_PAIR b) {
  return (a.x < b.x && a.y == a.y && b.y == b.y) || (a.x == b.x && a.y < b.y);
}
GA_INLINE int ga_cle(GA_PAIR a, GA_PAIR b) {
  return (a.x < b.x && a.y == a.y && b.y == b.y) || (a.x == b.x && a.y <= b.y);
}
GA_INLINE int ga_cisnan(GA_PAIR z) {
  return z.x != z.x || z.y != z.y;
}
GA_INLINE int ga_cisinf(GA_PAIR z) {
  return fabs(z.x) == INFINITY || fabs(z.y) == INFINITY;
}
GA_INLINE int ga_cisfinite(GA_PAIR z) {
  return fabs(z.x) < INFINITY && fabs(z.y) < INFINITY;
}

/* ---- exponential and logarithm ---- */

GA_INLINE GA_PAIR ga_cexp(GA_PAIR z) {
  const GA_REAL e = exp(z.x);
  if (z.y == 0)
    return ga_complex(e, z.y);
  if (fabs(z.x) == INFINITY && !(fabs(z.y) < INFINITY))
    return z.x < 0 ? ga_complex((GA_REAL)0, (GA_REAL)0) : ga_complex(z.x, z.y - z.y);
  const GA_REAL c = cos(z.y), s = sin(z.y);
  if (e == INFINITY && z.x < INFINITY) {
    const GA_REAL root = exp(z.x / 2);
    return ga_complex(root * c * root, root * s * root);
  }
  return ga_complex(e * c, e * s);
}
GA_INLINE GA_PAIR ga_clog(GA_PAIR z) {
  const GA_REAL x = fabs(z.x), y = fabs(z.y), r = hypot(x, y);
  GA_REAL l = log(r);
  if (r > GA_EXACT(0.5) && r < 2) { /* near 1 the logarithm of r has lost its digits */
    const GA_REAL large = x > y ? x : y, small = x > y ? y : x;
    l = log1p((large - 1) * (large + 1) + small * small) / 2;
  } else if (r == INFINITY && x < INFINITY && y < INFINITY)
    l = log(hypot(x / 2, y / 2)) + GA_EXACT(0.693147180559945309417232121458);
  return ga_complex(l, ga_carg(z));
}
/* exp(z) - 1 and log(1 + z), whose parts keep their digits near 0. */
GA_INLINE GA_PAIR ga_cexpm1(GA_PAIR z) {
  if (z.y == 0)
    return ga_complex(z.x == 0 ? (GA_REAL)0 : expm1(z.x), z.y);
  if (fabs(z.x) == INFINITY && !(fabs(z.y) < INFINITY))
    return ga_complex(expm1(z.x), z.x < 0 ? (GA_REAL)0 : (GA_REAL)NAN);
  const GA_REAL s = sin(z.y / 2);
  return ga_complex(expm1(z.x) * cos(z.y) - 2 * s * s, exp(z.x) * sin(z.y));
}
GA_INLINE GA_PAIR ga_clog1p(GA_PAIR z) {
  const GA_REAL above = z.x * (z.x + 2) + z.y * z.y; /* |1 + z|^2 - 1 */
  return ga_complex(fabs(above) < GA_EXACT(0.5) ? log1p(above) / 2
                                                : log(hypot(z.x + 1, z.y)),
                    atan2(z.y, z.x + 1));
}

/* ---- powers ---- */

GA_INLINE GA_PAIR ga_csqrt(GA_PAIR z) {
  GA_REAL x = z.x, y = z.y, scale = 1;
  if (x == 0 && y == 0)
    return ga_complex((GA_REAL)0, y);
  if (fabs(y) == INFINITY)
    return ga_complex(fabs(y), y);
  if (x == INFINITY)
    return ga_complex(x, y == y ? copysign((GA_REAL)0, y) : y);
  if (x == -INFINITY)
    return ga_complex(y == y ? (GA_REAL)0 : y, copysign(-x, y));
  if (hypot(x, y) > (GA_REAL)1e38f) {
    x /= 4;
    y /= 4;
    scale = 2;
  }
  const GA_REAL root = sqrt((fabs(x) + hypot(x, y)) / 2);
  return x >= 0 ? ga_complex(scale * root, scale * (y / (2 * root)))
                : ga_complex(scale * (fabs(y) / (2 * root)), copysign(scale * root, y));
}
/* Small whole exponents by multiplication, as NumPy does. */
GA_INLINE GA_PAIR ga_cpow(GA_PAIR a, GA_PAIR b) {
  if (b.x == 0 && b.y == 0)
    return ga_complex((GA_REAL)1, (GA_REAL)0);
  if (a.x == 0 && a.y == 0)
    return b.x > 0 ? ga_complex((GA_REAL)0, (GA_REAL)0) : ga_complex((GA_REAL)NAN, (GA_REAL)NAN);
  if (b.y == 0 && fabs(b.x) < 100 && trunc(b.x) == b.x) {
    GA_PAIR power = a, product = ga_complex((GA_REAL)1, (GA_REAL)0);
    int n = (int)fabs(b.x), is_first = 1;
    for (; n; n >>= 1) {
      if (n & 1) {
        product = is_first ? power : ga_cmul(product, power);
        is_first = 0;
      }
      if (n > 1)
        power = ga_cmul(power, power);
    }
    return b.x < 0 ? ga_cdiv(ga_complex((GA_REAL)1, (GA_REAL)0), product) : product;
  }
  return ga_cexp(ga_cmul(b, ga_clog(a)));
}

/* ---- hyperbolic and circular functions: sin(z) is -i sinh(iz), and so on ---- */

GA_INLINE GA_PAIR ga_csinh(GA_PAIR z) {
  if (z.y == 0)
    return ga_complex(sinh(z.x), z.y);
  if (z.x == 0)
    return ga_complex(z.x, sin(z.y));
  if (fabs(z.x) == INFINITY && !(fabs(z.y) < INFINITY))
    return ga_complex(z.x, z.y - z.y);
  const GA_REAL c = cos(z.y), s = sin(z.y), e = exp(fabs(z.x) / 2);
  if (e > (GA_REAL)1e18f) /* e * e may overflow where the result does not */
    return ga_complex(copysign(e / 2, z.x) * c * e, e / 2 * s * e);
  return ga_complex(sinh(z.x) * c, cosh(z.x) * s);
}
GA_INLINE GA_PAIR ga_ccosh(GA_PAIR z) {
  if (z.y == 0)
    return ga_complex(cosh(z.x), signbit(z.x) ? -z.y : z.y);
  if (z.x == 0)
    return ga_complex(cos(z.y), fabs(z.y) < INFINITY ? z.x * sin(z.y) : z.x);
  if (fabs(z.x) == INFINITY && !(fabs(z.y) < INFINITY))
    return ga_complex(fabs(z.x), z.y - z.y);
  const GA_REAL c = cos(z.y), s = sin(z.y), e = exp(fabs(z.x) / 2);
  if (e > (GA_REAL)1e18f)
    return ga_complex(e / 2 * c * e, copysign(e / 2, z.x) * s * e);
  return ga_complex(cosh(z.x) * c, sinh(z.x) * s);
}
/* Kahan's form, which has no pole of its own. */
GA_INLINE GA_PAIR ga_ctanh(GA_PAIR z) {
  if (z.y == 0)
    return ga_complex(tanh(z.x), z.y);
  if (fabs(z.x) == INFINITY)
    return ga_complex(copysign((GA_REAL)1, z.x),
                      fabs(z.y) < INFINITY ? copysign((GA_REAL)0, z.y) : (GA_REAL)0);
  if (z.x == 0)
    return ga_complex(z.x, tan(z.y));
  if (fabs(z.x) > 20 && fabs(z.y) < INFINITY)
    return ga_complex(copysign((GA_REAL)1, z.x), 4 * sin(z.y) * cos(z.y) *
                                                     exp(-fabs(z.x)) *
                                                     exp(-fabs(z.x)));
  const GA_REAL t = tan(z.y), s = sinh(z.x), beta = 1 + t * t;
  const GA_REAL rho = sqrt(1 + s * s), below = 1 + beta * s * s;
  if (fabs(t) == INFINITY)
    return ga_complex(rho / s, 1 / t);
  return ga_complex(beta * rho * s / below, t / below);
}
GA_INLINE GA_PAIR ga_csin(GA_PAIR z) {
  const GA_PAIR w = ga_csinh(ga_complex(-z.y, z.x));
  return ga_complex(w.y, -w.x);
}
GA_INLINE GA_PAIR ga_ccos(GA_PAIR z) {
  return ga_ccosh(ga_complex(-z.y, z.x));
}
GA_INLINE GA_PAIR ga_ctan(GA_PAIR z) {
  const GA_PAIR w = ga_ctanh(ga_complex(-z.y, z.x));
  return ga_complex(w.y, -w.x);
}

/* ---- their inverses, after Kahan: by the square roots of 1 - z and 1 + z ---- */

/* log|2z| of a large z: the size of each inverse far out. */
GA_INLINE GA_REAL ga_cfar(GA_PAIR z) {
  return log(hypot(z.x / 2, z.y / 2)) + 2 * GA_EXACT(0.693147180559945309417232121458);
}
GA_INLINE int ga_cisfar(GA_PAIR z) {
  return fabs(z.x) > (GA_REAL)1e12f || fabs(z.y) > (GA_REAL)1e12f;
}
GA_INLINE GA_PAIR ga_casin(GA_PAIR z) {
  if (ga_cisfar(z))
    return ga_complex(atan2(z.x, fabs(z.y)), copysign(ga_cfar(z), z.y));
  if (z.x == 0)
    return ga_complex(z.x, asinh(z.y));
  const GA_PAIR a = ga_csqrt(ga_complex(1 - z.x, -z.y));
  const GA_PAIR b = ga_csqrt(ga_complex(1 + z.x, z.y));
  return ga_complex(atan2(z.x, a.x * b.x - a.y * b.y),
                    copysign(asinh(a.x * b.y - a.y * b.x), z.y));
}
GA_INLINE GA_PAIR ga_cacos(GA_PAIR z) {
  if (ga_cisfar(z))
    return ga_complex(atan2(fabs(z.y), z.x), copysign(ga_cfar(z), -z.y));
  if (z.x == 0)
    return ga_complex(GA_EXACT(1.57079632679489661923132169164), asinh(-z.y));
  const GA_PAIR a = ga_csqrt(ga_complex(1 - z.x, -z.y));
  const GA_PAIR b = ga_csqrt(ga_complex(1 + z.x, z.y));
  return ga_complex(2 * atan2(a.x, b.x),
                    copysign(asinh(b.x * a.y - b.y * a.x), -z.y));
}
GA_INLINE GA_PAIR ga_catanh(GA_PAIR z) {
  if (z.x != z.x && fabs(z.y) < INFINITY)
    return ga_complex(z.x, z.x);
  if (ga_cisfar(z)) {
    const GA_REAL part = z.x / hypot(z.x, z.y) / hypot(z.x, z.y);
    return ga_complex(fabs(z.y) == INFINITY || fabs(z.x) == INFINITY
                          ? copysign((GA_REAL)0, z.x)
                          : part,
                      z.y == z.y ? copysign(GA_EXACT(1.57079632679489661923132169164), z.y) : z.y);
  }
  if (z.x == 0)
    return ga_complex(z.x, atan(z.y));
  const GA_REAL x = fabs(z.x), beside = 1 - x;
  const GA_REAL real = log1p(4 * x / (beside * beside + z.y * z.y)) / 4;
  return ga_complex(copysign(real, z.x),
                    atan2(2 * z.y, beside * (1 + x) - z.y * z.y) / 2);
}
GA_INLINE GA_PAIR ga_casinh(GA_PAIR z) {
  const GA_PAIR w = ga_casin(ga_complex(-z.y, z.x));
  return ga_complex(w.y, -w.x);
}
GA_INLINE GA_PAIR ga_cacosh(GA_PAIR z) {
  const GA_PAIR w = ga_cacos(z);
  return ga_complex(fabs(w.y), copysign(w.x, z.y));
}
GA_INLINE GA_PAIR ga_catan(GA_PAIR z) {
  const GA_PAIR w = ga_catanh(ga_complex(-z.y, z.x));
  return ga_complex(w.y, -w.x);
}
