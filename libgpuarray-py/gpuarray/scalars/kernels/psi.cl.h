GA_INLINE T ga_psi(T x) {
  T sum = 0;
  if (x <= 0) {
    if (x == floor(x))
      return NAN;
    const T pi = 3.14159265358979323846264338328f;
    sum = -pi / tan(pi * (x - rint(x)));
    x = 1 - x;
  }
  if (x > 1e30f)
    return sum + log(x);
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  const T z = 1 / (x * x);
  const T series =
      z *
      (1 / 12.0f - z * (1 / 120.0f - z * (1 / 252.0f - z * (1 / 240.0f - z / 132.0f))));
  return sum + log(x) - 0.5f / x - series;
}
