GA_INLINE T ga_tri_gamma(T x) {
  T sum = 0, scale = 1;
  if (x <= 0) {
    if (x == floor(x))
      return NAN;
    const T pi = 3.14159265358979323846264338328f;
    const T s = pi / sin(pi * (x - rint(x)));
    sum = s * s;
    scale = -1;
    x = 1 - x;
  }
  while (x < 10) {
    sum += scale / (x * x);
    x += 1;
  }
  const T z = 1 / x / x;
  const T series =
      z * (1 / 6.0f -
           z * (1 / 30.0f - z * (1 / 42.0f - z * (1 / 30.0f - z * (5 / 66.0f)))));
  return sum + scale * (1 + 0.5f / x + series) / x;
}
