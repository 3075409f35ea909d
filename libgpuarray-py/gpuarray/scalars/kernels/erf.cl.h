/* erfcx, erfinv and erfcinv. */
#ifdef __CUDACC__
GA_INLINE T ga_erfcx(T x) {
  return erfcx(x);
}
GA_INLINE T ga_erfinv(T x) {
  return erfinv(x);
}
GA_INLINE T ga_erfcinv(T x) {
  return erfcinv(x);
}
#else
/* Beyond 8 by the continued fraction; below, what squaring x rounds off is put back. */
GA_INLINE T ga_erfcx(T x) {
  if (x > 8) {
    T rest = x;
    for (int k = 12; k > 0; k--)
      rest = x + 0.5f * k / rest;
    return 0.564189583547756286948f / rest;
  }
  if (x < -100)
    return INFINITY;
  const T square = x * x;
  return exp(square) * (1 + fma(x, x, -square)) * erfc(x);
}
/* Of a number up to 1/2 by its series, fitted. */
GA_INLINE T ga_erfinv_near(T x) {
  const T s = x * x;
  return x * (NEAR);
}
/* What erfc gives z of, 0 < z <= 1/2: from Winitzki's formula by Halley's steps on the
 * logarithm of erfc. */
GA_INLINE T ga_erfcinv_far(T z) {
  const T l = log(z), w = l + log(2 - z), mid = 4.33074675f + w / 2;
  T y = sqrt(sqrt(mid * mid - w / 0.147f) - mid);
  for (int k = 0; k < 3; k++) {
    const T scaled = ga_erfcx(y);
    const T slope = 1.12837916709551257390f / scaled;
    const T step = (y * y + l - log(scaled)) / slope;
    y -= step / (1 - step * (slope / 2 - y));
  }
  return y;
}
GA_INLINE T ga_erfinv(T x) {
  const T size = fabs(x);
  if (size <= 0.5f)
    return ga_erfinv_near(x);
  if (size < 1)
    return copysign(ga_erfcinv_far(1 - size), x);
  return size == 1 ? copysign((T)INFINITY, x) : (T)NAN;
}
GA_INLINE T ga_erfcinv(T z) {
  if (z >= 0.5f && z <= 1.5f)
    return ga_erfinv_near(1 - z);
  if (z > 0 && z < 2)
    return z < 1 ? ga_erfcinv_far(z) : -ga_erfcinv_far(2 - z);
  return z == 0 ? (T)INFINITY : z == 2 ? -(T)INFINITY : (T)NAN;
}
#endif
