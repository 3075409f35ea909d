/* Modified Bessel functions of the first kind. */
/* The asymptotic expansion where x is large; else the power series, whose sum is scaled
 * down on the way. */
GA_NOINLINE T ga_iv(T v, T x) {
  if (!(fabs(v) <= 1000) || x != x || (x < 0 && v != floor(v)))
    return NAN;
  T sign = 1;
  if (v == floor(v)) {
    if (x < 0 && fmod(v, (T)2) != 0)
      sign = -1;
    v = fabs(v);
  }
  x = fabs(x);
  if (x > 1400)
    return sign * INFINITY;
  T sum = 1, term = 1, scale = 0;
  if (x >= 30 && x >= v * v) {
    for (int k = 1; k <= 30; k++) {
      const T odd = (T)(2 * k - 1);
      term *= (odd * odd - 4 * v * v) / (8 * k * x);
      sum += term;
    }
    const T root = exp(x / 2);
    return sign * root * (root * 0.398942280401432677940f / sqrt(x) * sum);
  }
  for (int k = 1; k < 3000; k++) {
    const T before = sum;
    term *= 0.25f * x * x / (k * (k + v));
    sum += term;
    if (sum == before && k + v > 0)
      break;
    if (sum > 1e30f) {
      sum *= 1e-30f;
      term *= 1e-30f;
      scale += 69.0775527898213705205f;
    }
  }
  if (v > 20)
    return sign * exp(ga_iv_log_term(x / 2, v) + scale + log(sum));
  return sign * ga_iv_term(x / 2, v) * sum * exp(scale);
}
GA_INLINE T ga_i0(T x) {
#ifdef __CUDACC__
  return cyl_bessel_i0(x);
#else
  return ga_iv((T)0, x);
#endif
}
GA_INLINE T ga_i1(T x) {
#ifdef __CUDACC__
  return cyl_bessel_i1(x);
#else
  return ga_iv((T)1, x);
#endif
}
