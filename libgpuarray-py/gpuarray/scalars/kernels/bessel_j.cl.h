/* Bessel functions of the first kind. */
/* Hankel's expansion, of orders below 2 and x from 25 on. */
GA_INLINE T ga_jv_far(T v, T x) {
  T p = 1, q = 0, term = 1;
  for (int k = 1; k <= 30; k++) {
    const T odd = (T)(2 * k - 1);
    term *= (4 * v * v - odd * odd) / (8 * k * x);
    if (k & 1)
      q += k & 2 ? -term : term;
    else
      p += k & 2 ? -term : term;
  }
  const T turn = (0.5f * v + 0.25f) * 3.14159265358979323846f;
  const T s = sin(x), c = cos(x), st = sin(turn), ct = cos(turn);
  return 0.797884560802865355880f / sqrt(x) *
         (p * (c * ct + s * st) - q * (s * ct - c * st));
}
/* Downwards from an order where the function vanishes, scaled by Neumann's sum. */
GA_INLINE T ga_jv_down(T f, int steps, T x) {
  const int top = (int)fmax(x, (T)steps);
  int n = (top + 40 + 2 * (int)sqrt((T)top)) & ~1;
  T above = 0, here = 1e-30f, below, sum = 0, found = 0, weight = 1;
  for (; n > 0; n--) {
    if (n == steps)
      found = here;
    if (!(n & 1)) {
      sum += (f + n) * weight * here;
      if (n > 2)
        weight *= n / 2 / (f + n / 2 - 1);
    }
    below = 2 * (f + n) / x * here - above;
    above = here;
    here = below;
    if (fabs(here) > 1e20f) {
      here *= 1e-20f;
      above *= 1e-20f;
      sum *= 1e-20f;
      found *= 1e-20f;
    }
  }
  sum = tgamma(1 + f) * (here + sum / weight);
  for (; n > steps; n--) {
    below = 2 * (f + n) / x * here - above;
    above = here;
    here = below;
  }
  return (steps > 0 ? found : here) * pow(x / 2, f) / sum;
}
GA_INLINE T ga_jv_near(T v, T x) {
  const T s = 0.25f * x * x;
  T sum = 1, term = 1;
  for (int k = 1; k < 60; k++) {
    term *= -s / (k * (k + v));
    sum += term;
  }
  return sum * ga_jv_term(x / 2, v);
}
GA_NOINLINE T ga_jv(T v, T x) {
  if (!(fabs(v) <= 1000) || x != x || (x < 0 && v != floor(v)))
    return NAN;
  T sign = 1;
  if (v == floor(v)) {
    if ((x < 0) != (v < 0) && fmod(v, (T)2) != 0)
      sign = -1;
    v = fabs(v);
  }
  x = fabs(x);
  if (x == INFINITY)
    return 0;
  if (0.25f * x * x <= 1 + fmax(v, (T)0))
    return sign * ga_jv_near(v, x);
  const int steps = (int)floor(v);
  const T f = v - floor(v);
  if (x < 25 || x < v)
    return sign * ga_jv_down(f, steps, x);
  T a = ga_jv_far(f, x), b = ga_jv_far(f + 1, x), c;
  for (int n = 1; n <= steps; n++) {
    c = 2 * (f + n) / x * b - a;
    a = b;
    b = c;
  }
  for (int n = 0; n > steps; n--) {
    c = 2 * (f + n) / x * a - b;
    b = a;
    a = c;
  }
  return sign * a;
}
/* CUDA's own are exact to a few units below 8, to 2.2e-12 absolute beyond. */
GA_INLINE T ga_j0(T x) {
#ifdef __CUDACC__
  if (fabs(x) < 8)
    return j0(x);
#endif
  return ga_jv((T)0, x);
}
GA_INLINE T ga_j1(T x) {
#ifdef __CUDACC__
  if (fabs(x) < 8)
    return j1(x);
#endif
  return ga_jv((T)1, x);
}
