/* h^v / gamma(v + 1), TERM, and its logarithm: by Stirling's series, or by steps from
 * the order's fraction. */
GA_INLINE T LOG_TERM(T h, T v) {
  const T s = 1 / (v * v);
  const T rest = (1 / 12.0f -
                  s * (1 / 360.0f - s * (1 / 1260.0f - s * (1 / 1680.0f - s / 1188)))) /
                 v;
  return v * (1 + log(h / v)) - 0.5f * log(6.28318530717958647693f * v) - rest;
}
GA_INLINE T TERM(T h, T v) {
  if (v > 20)
    return exp(LOG_TERM(h, v));
  const int steps = (int)floor(v);
  if (h == 0 && v >= 0)
    return v == 0;
  if (h == 0)
    return steps & 1 ? (T)INFINITY : -(T)INFINITY;
  const T f = v - floor(v);
  T r = pow(h, f) / tgamma(1 + f);
  for (int k = 1; k <= steps; k++)
    r *= h / (f + k);
  for (int k = 0; k > steps; k--)
    r *= (f + k) / h;
  return r;
}
