/* The sum of n! / (x + k)^(n + 1) over k from 0 on: of few terms, then by the series of
 * Euler and Maclaurin. x is above 0, n a whole number from 1 on. */
GA_INLINE T ga_polygamma_above_0(T n, T x) {
  T sum = 0;
  for (; x < 2 * n + 12; x += 1) {
    T term = 1 / x;
    for (T k = 1; k <= n; k += 1)
      term *= k / x;
    sum += term;
  }
  T first = 1 / x;
  for (T k = 1; k < n; k += 1)
    first *= k / x;
  const T z = 1 / x / x;
  const T sixth =
      (n + 8) * (n + 9) * z *
      (1 / 47900160.0f - (n + 10) * (n + 11) * z * (691 / 1307674368000.0f));
  const T fourth = (n + 4) * (n + 5) * z *
                   (1 / 30240.0f - (n + 6) * (n + 7) * z * (1 / 1209600.0f - sixth));
  const T second =
      n * (n + 1) * z * (1 / 12.0f - (n + 2) * (n + 3) * z * (1 / 720.0f - fourth));
  return sum + first * (1 + n / 2 / x + second);
}

/* The derivative of order n of ga_psi; below 0 by the sum over all integers. */
GA_INLINE T ga_polygamma(T n, T x) {
  if (n == 0)
    return ga_psi(x);
  const int is_even = n == 2 * floor(n / 2);
  if (!(n > 0 && n <= 100 && n == floor(n)) || isnan(x) || (x <= 0 && x == floor(x)))
    return NAN;
  const T sign = is_even ? -1 : 1;
  if (x > 0)
    return sign * ga_polygamma_above_0(n, x);
  const T d = x - rint(x);
  const T around = sign * ga_polygamma_above_0(n, d < 0 ? 1 + d : d) +
                   ga_polygamma_above_0(n, d < 0 ? -d : 1 - d);
  return around - ga_polygamma_above_0(n, 1 - x);
}
