/* The derivative of a gamma number's logarithm by its shape, the probability below it
 * held fixed: -(dF/da) / (z f), of a shape a and the number's logarithm y; z = exp(y).
 * Each form adds terms of one sign. */
/* ln gamma's derivative at a + 1. */
GA_INLINE T ga_slope_psi(T a) {
  T sum = 0, x = a + 1;
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  const T s = 1 / (x * x);
  const T series =
      s *
      (1 / 12.0f - s * (1 / 120.0f - s * (1 / 252.0f - s * (1 / 240.0f - s / 132.0f))));
  return sum + log(x) - 0.5f / x - series;
}
/* Powers of 1 / a, for a from 32 on: with d = z / a - 1, the terms are h0 = log(1 + d)
 * / d and d h(k + 1) = (1 + d) h(k)' + e(k + 1), where ln a - psi(a) is the sum of e(k)
 * / a^k. Near d = 0 they are power series. */
GA_INLINE T ga_slope_large(T a, T y) {
  const T l = y - log(a), d = expm1(l), r = 1 / a;
  const T h0 = d == 0 ? (T)1 : l / d;
  T h1, h2, h3, h4 = 0;
  if (fabs(d) < 0.3f) {
    h1 = H1;
    h2 = H2;
    h3 = H3;
    h4 = H4;
  } else if (d < 100) {
    const T q = 1 / d, q2 = q * q, q3 = q2 * q;
    const T g1 = q3 * ((3 * q + 2) * l - 3) - 0.5f * q2;
    const T g2 = q3 * (9 * q - (12 * q2 + 6 * q) * l + 1) + q3 * (3 * q + 2) / (1 + d);
    h1 = q * (q - (1 + d) * q2 * l + 0.5f);
    h2 = q * ((1 + d) * g1 + 1 / 12.0f);
    h3 = (1 + d) * q * (q * (g1 + (1 + d) * g2) - q2 * ((1 + d) * g1 + 1 / 12.0f));
  } else {
    return r * h0;
  }
  return r * (h0 + r * (h1 + r * (h2 + r * (h3 + r * h4))));
}
/* The power series of F where log(z) is below psi(a + 1). */
GA_INLINE T ga_slope_below(T a, T z, T c) {
  const T enough = sizeof(T) == 4 ? 1e-8f : 1e-17f;
  T term = 1, sum = 1, by_shape = 0, inverses = 0;
  for (int n = 1; n < 400; n++) {
    const T inverse = 1 / (a + n);
    term *= z * inverse;
    inverses += inverse;
    sum += term;
    by_shape += term * inverses;
    if (term * inverses < enough * sum)
      break;
  }
  return (by_shape - sum * c) / a;
}
/* The integral of (1 + t / z)^(a - 1) exp(-t) (log(z) - psi(a) + log(1 + t / z)) over
 * t > 0, divided by z: the trapezoidal rule in s, where t = w exp(s - exp(-s)). */
GA_INLINE T ga_slope_above(T a, T z, T c) {
  const T step = sizeof(T) == 4 ? 0.45f : 0.2f;
  const int first = sizeof(T) == 4 ? -5 : -16, last = sizeof(T) == 4 ? 7 : 18;
  const T decay = 1 - (a - 1) / z;
  const T w = 1 / ((decay > 0 ? decay : (T)0) + 0.7f / sqrt(z));
  T sum = 0;
  for (int k = first; k <= last; k++) {
    const T s = step * k, e = exp(-s), t = w * exp(s - e), l = log1p(t / z);
    sum += exp((a - 1) * l - t) * (c + l) * t * (1 + e);
  }
  return sum * step / z;
}
GA_NOINLINE T ga_gamma_slope(T a, T y) {
  if (!(a > 0) || a == INFINITY || y != y)
    return NAN;
  if (a >= 32)
    return ga_slope_large(a, y);
  const T z = exp(y), c = y - ga_slope_psi(a);
  if (c < 0)
    return ga_slope_below(a, z, c);
  return z == INFINITY ? (T)0 : ga_slope_above(a, z, c + 1 / a);
}
