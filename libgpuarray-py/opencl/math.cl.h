/* Inlined math functions that compilers can vectorize, for runtimes whose own are
 * calls: PoCL's. They have no branches and no calls; math_words.cl.h maps the
 * language's names to them. Only CPU programs that use one contain this text.
 *
 * All but exp of float compute in double to about an ulp; floats are rounded from that.
 * Minimax polynomials (Remez's exchange in 60 digits) of least relative error; each
 * comment gives the interval. A product that must not be rounded before an addition is
 * written as fma. */
#if GA_OWN_MATH

/* Magic number: adding it rounds to an integer, in the low bits of the sum. */
#define GA_ROUNDING 6755399441055744.0
#define GA_LOG_2 0.6931471805599453
#define GA_LOG_2_REST 2.3190468138462996e-17
#define GA_HALF_PI 1.5707963267948966
#define GA_HALF_PI_REST 6.123233995736766e-17

GA_INLINE ga_double ga_nearest(ga_double x) {
  return (x + GA_ROUNDING) - GA_ROUNDING;
}

GA_INLINE ga_double ga_magnitude(ga_double x) {
  return as_double(as_ulong(x) & 0x7fffffffffffffffUL);
}

/* Copysign for an `x` that is not negative. */
GA_INLINE ga_double ga_signed(ga_double x, ga_double sign) {
  return as_double(as_ulong(x) | (as_ulong(sign) & 0x8000000000000000UL));
}

/* Ldexp for |k| < 2048; in two steps, so that a subnormal result is rounded once. */
GA_INLINE ga_double ga_scaled(ga_double x, ga_double k) {
  const ga_double part = ga_nearest(k * 0.5);
  x *= as_double((as_ulong(part + GA_ROUNDING) + 1023) << 52);
  return x * as_double((as_ulong(k - part + GA_ROUNDING) + 1023) << 52);
}

/* ---- exponentials ---- */

/* e^r - 1 - r for |r| <= log(2) / 2. */
GA_INLINE ga_double ga_exp_rest(ga_double r) {
  ga_double p = fma(2.082644560523595e-09, r, 2.5112057303925816e-08);
  p = fma(fma(p, r, 2.7557582601856684e-07), r, 2.7557234805456237e-06);
  p = fma(fma(p, r, 2.4801586925523308e-05), r, 0.0001984126989643773);
  p = fma(fma(p, r, 0.0013888888889116333), r, 0.008333333333317013);
  p = fma(fma(p, r, 0.041666666666666095), r, 0.16666666666666682);
  return fma(p, r, 0.5) * (r * r);
}

/* Range reduction: x = k log(2) + r. */
GA_INLINE ga_double ga_exp_parts(ga_double x, ga_double *k) {
  *k = ga_nearest(x * 1.4426950408889634);
  return fma(*k, -GA_LOG_2_REST, fma(*k, -GA_LOG_2, x));
}

GA_INLINE ga_double ga_exp(ga_double x) {
  ga_double k;
  const ga_double at = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
  const ga_double r = ga_exp_parts(at, &k);
  return ga_scaled(1.0 + (r + ga_exp_rest(r)), k);
}

/* 2^n e^r for |r| <= log(2) / 2. */
GA_INLINE ga_float ga_exp(ga_float x) {
  const ga_float at = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  const ga_float k = fma(at, 1.44269504f, 12582912.0f) - 12582912.0f;
  const ga_float r = fma(k, -1.42860677e-6f, fma(k, -0.693145752f, at));
  ga_float p = fma(1.98756915e-4f, r, 1.39819995e-3f);
  p = fma(fma(p, r, 8.33345190e-3f), r, 4.16657962e-2f);
  p = fma(fma(p, r, 1.66666657e-1f), r, 0.5f);
  p = fma(p, r * r, r) + 1.0f;
  const ga_int n = (ga_int)k, part = n >> 1;
  p *= as_float((part + 127) << 23);
  p *= as_float((n - part + 127) << 23);
  return x != x ? x : p;
}

GA_INLINE ga_double ga_exp2(ga_double x) {
  const ga_double at = x > 1025.0 ? 1025.0 : x < -1076.0 ? -1076.0 : x;
  const ga_double k = ga_nearest(at), r = (at - k) * GA_LOG_2;
  return ga_scaled(1.0 + (r + ga_exp_rest(r)), k);
}

/* For x from -50 to 710. */
GA_INLINE ga_double ga_expm1_within(ga_double x) {
  const ga_double k = ga_nearest(x * 1.4426950408889634);
  const ga_double high = fma(k, -0.6931471803691238, x),
                  low = k * 1.9082149292705877e-10;
  const ga_double r = high - low, lost = (high - r) - low;
  const ga_double by = as_double((as_ulong(k - 1.0 + GA_ROUNDING) + 1023) << 52);
  return 2.0 * fma(by, ga_exp_rest(r) + lost, fma(by, r, by - 0.5));
}

GA_INLINE ga_double ga_expm1(ga_double x) {
  const ga_double at = x > 710.0 ? 710.0 : x < -50.0 ? -50.0 : x;
  return ga_magnitude(x) < 1e-17 ? x : ga_expm1_within(at);
}

/* e^x / 2 for x from 0 to 712. */
GA_INLINE ga_double ga_half_exp(ga_double x) {
  ga_double k;
  const ga_double r = ga_exp_parts(x, &k);
  return ga_scaled(1.0 + (r + ga_exp_rest(r)), k - 1.0);
}

GA_INLINE ga_double ga_sinh(ga_double x) {
  const ga_double a = ga_magnitude(x), at = a > 712.0 ? 712.0 : a;
  const ga_double e = ga_half_exp(at), z = at < 1.0 ? at * at : 1.0;
  ga_double p = fma(7.758886251443487e-13, z, 1.6057255333504875e-10);
  p = fma(fma(p, z, 2.505212319235287e-08), z, 2.7557319156731074e-06);
  p = fma(fma(p, z, 0.0001984126984143292), z, 0.008333333333333146);
  p = fma(p, z, 0.16666666666666669) * z;
  const ga_double y = at < 1.0 ? fma(p, at, at) : e - 0.25 / e;
  return ga_signed(y, x);
}

GA_INLINE ga_double ga_cosh(ga_double x) {
  const ga_double a = ga_magnitude(x), e = ga_half_exp(a > 712.0 ? 712.0 : a);
  return e + 0.25 / e;
}

GA_INLINE ga_double ga_tanh(ga_double x) {
  const ga_double a = ga_magnitude(x);
  const ga_double t = ga_expm1_within(a > 22.0 ? 44.0 : a + a), under = t + 2.0;
  const ga_double over = t < 2.0 ? t : 2.0, by = 1.0 / under, near = over * by;
  const ga_double lost = fma(-near, under, over) - near * (t - (under - 2.0));
  const ga_double q = fma(lost, by, near);
  return a < 1e-17 ? x : ga_signed(t < 2.0 ? q : 1.0 - q, x);
}

/* ---- logarithms ---- */

/* Range reduction to x / 2^k in [sqrt(1/2), sqrt(2)], and its logarithm in two parts; 0
 * < x < infinity. With f = x / 2^k - 1 and s = f / (2 + f), log(1 + f) is 2 atanh(s): a
 * short series in s^2 <= 0.0295. */
GA_INLINE ga_double ga_log_parts(ga_double x, ga_double *k, ga_double *rest) {
  const bool is_subnormal = x < 2.2250738585072014e-308;
  const ga_double scaled = is_subnormal ? x * 18014398509481984.0 : x;
  const ga_ulong at = as_ulong(scaled) + (0x3ff0000000000000UL - 0x3fe6a09e667f3bcdUL);
  const ga_ulong bits = (at & 0xfffffffffffffUL) + 0x3fe6a09e667f3bcdUL;
  *k = as_double(at >> 52 | 0x4330000000000000UL) -
       (is_subnormal ? 4503599627370496.0 + 1077.0 : 4503599627370496.0 + 1023.0);
  const ga_double f = as_double(bits) - 1.0, s = f / (f + 2.0), z = s * s;
  ga_double p = fma(0.14797508156422653, z, 0.15313903316627284);
  p = fma(fma(p, z, 0.18183569732233623), z, 0.2222219847623143);
  p = fma(fma(p, z, 0.2857142874325923), z, 0.3999999999941111);
  p = fma(p, z, 0.6666666666666735) * z;
  const ga_double square = 0.5 * f * f, high = f - square;
  *rest = fma(s, square + p, (f - high) - square);
  return high;
}

/* Special cases: `y` is the logarithm of a positive finite x. */
GA_INLINE ga_double ga_log_of_any(ga_double x, ga_double y) {
  const ga_double other = x == 0.0 ? -(ga_double)INFINITY : x > 0.0 ? x : NAN;
  return x > 0.0 && x < (ga_double)INFINITY ? y : other;
}

/* log(x + more) for |more| much less than x. 0.6931471803691238 has enough trailing
 * zeros for exact products by k. */
GA_INLINE ga_double ga_log_of(ga_double x, ga_double more) {
  ga_double k, rest;
  const ga_double high = ga_log_parts(x, &k, &rest);
  const ga_double whole = k * 0.6931471803691238, sum = whole + high;
  rest += fma(k, 1.9082149292705877e-10, more);
  return sum + ((whole - sum) + high + rest);
}

GA_INLINE ga_double ga_log(ga_double x) {
  return ga_log_of_any(x, ga_log_of(x, 0.0));
}

/* Logarithm in another base: k unit + log(m) factor, with both constants in two parts;
 * products of k by the first part of the unit are exact. */
GA_INLINE ga_double ga_log_in(ga_double x, ga_double unit, ga_double unit_rest,
                              ga_double factor, ga_double factor_rest) {
  ga_double k, rest;
  const ga_double high = ga_log_parts(x, &k, &rest);
  const ga_double whole = k * unit, part = high * factor, sum = whole + part;
  rest = fma(rest, factor, fma(high, factor_rest, fma(high, factor, -part)));
  rest = fma(k, unit_rest, rest);
  return sum + ((whole - sum) + part + rest);
}

GA_INLINE ga_double ga_log2_within(ga_double x) {
  return ga_log_in(x, 1.0, 0.0, 1.4426950408889634, 2.0355273740931033e-17);
}

GA_INLINE ga_double ga_log2(ga_double x) {
  return ga_log_of_any(x, ga_log2_within(x));
}

GA_INLINE ga_double ga_log10(ga_double x) {
  return ga_log_of_any(x, ga_log_in(x, 0.30102999566361177, 3.6942390771589308e-13,
                                    0.4342944819032518, 1.098319650216765e-17));
}

/* Compensates for the rounding of 1 + x, which matters for small x. */
GA_INLINE ga_double ga_log1p(ga_double x) {
  const ga_double u = 1.0 + x, lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  const ga_double y = ga_log_of_any(u, ga_log_of(u, lost / u));
  return ga_magnitude(x) < 1e-17 ? x : y;
}

GA_INLINE ga_double ga_asinh(ga_double x) {
  const ga_double a = ga_magnitude(x), square = a * a;
  const ga_double most = a > 1e150 ? a : a + square / (1.0 + sqrt(square + 1.0));
  const ga_double y = ga_log1p(most) + (a > 1e150 ? GA_LOG_2 : 0.0);
  return a < 1e-17 ? x : ga_signed(y, x);
}

GA_INLINE ga_double ga_acosh(ga_double x) {
  const ga_double t = x - 1.0, most = x > 1e150 ? x : t + sqrt(fma(t, t, t + t));
  const ga_double y = ga_log1p(most) + (x > 1e150 ? GA_LOG_2 : 0.0);
  return x < 1.0 ? NAN : y;
}

GA_INLINE ga_double ga_atanh(ga_double x) {
  const ga_double a = ga_magnitude(x), y = 0.5 * ga_log1p((a + a) / (1.0 - a));
  return a < 1e-17 ? x : a > 1.0 ? NAN : ga_signed(y, x);
}

/* ---- powers ---- */

/* Odd powers of negative numbers are negative. */
GA_INLINE ga_float ga_pow(ga_float x, ga_float y) {
  const ga_double a = ga_magnitude((ga_double)x), n = (ga_double)y;
  const ga_double size = ga_magnitude(n), twin = 0.5 * n;
  const bool is_integer = size > 16777216.0 || ga_nearest(n) == n;
  const bool is_odd = is_integer && size < 16777216.0 && ga_nearest(twin) != twin;
  const ga_double t = ga_exp2(n * ga_log_of_any(a, ga_log2_within(a)));
  const ga_double p = a == 1.0 && y == y ? 1.0 : t;
  const ga_float value = (ga_float)(is_odd ? ga_signed(p, (ga_double)x) : p);
  const bool is_one = x == 1.0f || y == 0.0f;
  return is_one                                               ? 1.0f
         : x < 0.0f && !is_integer && a < (ga_double)INFINITY ? (ga_float)NAN
                                                              : value;
}

/* Cube root of the mantissa times 8^(0, 1/3 or 2/3), to 2^-40, and its power of 2; 0 <
 * x < infinity, not subnormal. */
GA_INLINE ga_double ga_cbrt_parts(ga_double x, ga_double *mantissa, ga_double *power) {
  const ga_ulong bits = as_ulong(x);
  const ga_uint exponent = (ga_uint)(bits >> 52), third = exponent * 43691u >> 17;
  const ga_ulong left = exponent - 3 * third;
  const ga_double m = as_double((bits & 0xfffffffffffffUL) | (left + 1023) << 52);
  ga_double y =
      as_double((ga_ulong)((ga_uint)(as_ulong(m) >> 32) / 3 + 715094163u) << 32);
  ga_double cube = y * y * y;
  y *= (cube + 2.0 * m) / (2.0 * cube + m);
  cube = y * y * y;
  y *= (cube + 2.0 * m) / (2.0 * cube + m);
  *mantissa = m;
  *power = as_double((ga_ulong)(third + 682) << 52);
  return y;
}

GA_INLINE ga_float ga_cbrt(ga_float x) {
  ga_double m, power;
  const ga_double a = ga_magnitude((ga_double)x);
  const ga_double y = ga_cbrt_parts(a, &m, &power) * power;
  return a > 0.0 && a < (ga_double)INFINITY ? (ga_float)ga_signed(y, (ga_double)x) : x;
}

/* One Newton step, compensated for the rounding of the square. */
GA_INLINE ga_double ga_cbrt(ga_double x) {
  ga_double m, power;
  const ga_double a = ga_magnitude(x);
  const bool is_subnormal = a < 2.2250738585072014e-308;
  ga_double y = ga_cbrt_parts(is_subnormal ? a * 18014398509481984.0 : a, &m, &power);
  const ga_double square = y * y, lost = fma(y, y, -square);
  y -= fma(lost, y, fma(square, y, -m)) / (3.0 * square);
  y *= is_subnormal ? power * 3.814697265625e-06 : power;
  return a > 0.0 && a < (ga_double)INFINITY ? ga_signed(y, x) : x;
}

GA_INLINE ga_double ga_hypot(ga_double x, ga_double y) {
  const ga_double a = ga_magnitude(x), b = ga_magnitude(y), most = a > b ? a : b;
  const ga_double down = most > 1e150 ? 0x1p-600 : most < 1e-150 ? 0x1p+600 : 1.0;
  const ga_double up = most > 1e150 ? 0x1p+600 : most < 1e-150 ? 0x1p-600 : 1.0;
  const ga_double p = a * down, q = b * down;
  const bool is_infinite = a == (ga_double)INFINITY || b == (ga_double)INFINITY;
  return is_infinite ? (ga_double)INFINITY : sqrt(fma(p, p, q * q)) * up;
}

GA_INLINE ga_float ga_hypot(ga_float x, ga_float y) {
  const ga_double a = (ga_double)x, b = (ga_double)y;
  const bool is_infinite =
      ga_magnitude(a) == (ga_double)INFINITY || ga_magnitude(b) == (ga_double)INFINITY;
  return is_infinite ? INFINITY : (ga_float)sqrt(fma(a, a, b * b));
}
#endif
