/* The incomplete gamma functions. Both are q = x^a e^-x / gamma(a + 1) times a series
 * (where x < a + 1) or a continued fraction; for large a Temme's uniform expansion. */
/* x - a - a * log(x / a), exact where x is near a. */
GA_INLINE T ga_gamma_apart(T a, T x) {
  const T mu = (x - a) / a;
  if (fabs(mu) > 0.25f)
    return a * (mu - log(x / a));
  const T r = mu / (2 + mu), s = r * r;
  T sum = 0;
  for (int k = 12; k > 0; k--)
    sum = s * (sum + 1 / (2 * k + (T)1));
  return a * (mu * r - 2 * r * sum);
}
GA_INLINE T ga_gamma_front(T a, T x) {
  if (a <= 20)
    return exp(a * log(x) - x) / tgamma(a + 1);
  const T s = 1 / (a * a);
  const T rest = (1 / 12.0f -
                  s * (1 / 360.0f - s * (1 / 1260.0f - s * (1 / 1680.0f - s / 1188)))) /
                 a;
  return exp(-ga_gamma_apart(a, x) - rest) / sqrt(6.28318530717958647693f * a);
}
GA_INLINE T ga_gamma_uniform(T a, T x, int upper) {
  const T y = ga_gamma_apart(a, x);
  if (!(y < 800))
    return (x < a) == upper;
  const T root = copysign(sqrt(y), x - a), h = root * sqrt(2 / a), z = 1 / a;
  const T c0 = C0;
  const T c1 = C1;
  const T c2 = C2;
  const T c3 = C3;
  const T rest =
      exp(-y) / sqrt(6.28318530717958647693f * a) * (c0 + z * (c1 + z * (c2 + z * c3)));
  return upper ? 0.5f * erfc(root) + rest : 0.5f * erfc(-root) - rest;
}
GA_INLINE T ga_gamma_fraction(T a, T x) {
  const T enough = sizeof(T) == 4 ? 2e-7f : 4e-16f;
  T b = x + 1 - a, c = 1e30f, d = 1 / b, h = d;
  for (int k = 1; k < 2000; k++) {
    const T top = -k * (k - a);
    b += 2;
    d = top * d + b;
    d = 1 / (fabs(d) < 1e-30f ? 1e-30f : d);
    c = b + top / c;
    c = fabs(c) < 1e-30f ? 1e-30f : c;
    h *= c * d;
    if (fabs(c * d - 1) < enough)
      break;
  }
  return h;
}
/* 1 - P where P is near 1 because a is small. */
GA_INLINE T ga_gamma_small(T a, T x) {
  const T power = a * (log(x) - (SLOPE));
  T sum = 0, term = 1;
  for (int k = 1; k < 30; k++) {
    term *= -x / k;
    sum += term / (a + k);
  }
  return -expm1(power) - exp(power) * a * sum;
}
GA_NOINLINE T ga_gamma_part(T a, T x, int upper) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (a == INFINITY && x == INFINITY))
    return NAN;
  if (x == 0 || a == INFINITY)
    return upper;
  if (a == 0 || x == INFINITY)
    return !upper;
  if (a > 10000)
    return ga_gamma_uniform(a, x, upper);
  if (upper && a < 0.1f && x < 1)
    return ga_gamma_small(a, x);
  const T front = ga_gamma_front(a, x);
  if (x >= a + 1 || (upper && a < 1 && x >= 1)) {
    const T above = front == 0 ? (T)0 : front * a * ga_gamma_fraction(a, x);
    return upper ? above : 1 - above;
  }
  T sum = 1, term = 1, before = 0;
  for (int k = 1; k < 2000 && sum != before; k++) {
    before = sum;
    term *= x / (a + k);
    sum += term;
  }
  return upper ? 1 - front * sum : front * sum;
}
