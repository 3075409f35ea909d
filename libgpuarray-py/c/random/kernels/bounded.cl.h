/* Angles and truncated normal numbers by rejection. */

/* Von Mises: wrapped Cauchy angles of Best and Fisher, "Efficient simulation of the von
 * Mises distribution" (1979). Their angle f = acos((1 + r z) / (r + z)), z = cos(t),
 * has tan(f / 2) = g tan(t / 2), which keeps the digits for all kappa. */
GA_INLINE REAL ga_vonmises_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL mu,
                              REAL kappa) {
  const REAL twice = R(2.0) * kappa, turn = R(6.2831853071795865);
  const REAL root = twice < R(1e9) ? sqrt(fma(twice, twice, R(1.0))) : twice;
  const REAL tau = R(1.0) + root, narrow = sqrt(R(2.0) * tau) / (tau + twice);
  REAL angle = 0;
  for (ga_int attempt = 0; attempt < COUNTS; attempt++) {
    ga_uint w[4];
    REAL c, s;
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
#if REAL_IS_DOUBLE
    ga_random_turn_double(ga_first_bits(mu, w) >> 2 | 1, &c, &s);
#else
    ga_random_turn(w[0] >> 2 | 1, &c, &s);
#endif
    const REAL below = R(1.0) + R(1.0) / (root + twice);
    const REAL y = tau / fma(ga_times(R(2.0) * twice, c), c, below);
    const REAL v = ga_word_unit(mu, w[2]);
    angle = R(2.0) * ga_real_atan(ga_times(narrow, s), c);
    angle = w[3] >> 31 ? angle : -angle;
    if (ga_times(y, R(2.0) - y) >= v || ga_real_log(y / v) + R(1.0) >= y)
      break;
  }
  const REAL whole = mu + angle;
  return fma(-turn, floor(fma(whole, R(0.15915494309189535), R(0.5))), whole);
}

/* A normal number in [low, high], of which 0 is part: uniform numbers are accepted
 * if these are close, else normal ones. */
GA_INLINE REAL ga_normal_around_0(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                  REAL low, REAL high) {
  const REAL width = high - low;
  for (ga_int attempt = 0; attempt < COUNTS; attempt++) {
    ga_uint w[4];
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    if (width < R(2.5)) {
      const REAL x = fma(width, ga_open_unit(ga_first_bits(low, w)), low);
      if (ga_real_log(ga_word_unit(low, w[2])) <= R(-0.5) * ga_times(x, x))
        return x;
    } else {
      const REAL x = ga_count_normal(low, w);
      if (x >= low && x <= high)
        return x;
    }
  }
  return 0;
}
/* A normal number in [low, high], low above 0, by an exponential tail: Robert,
 * "Simulation of truncated normal variables" (1995). */
GA_INLINE REAL ga_normal_tail(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL low,
                              REAL high) {
  const REAL rate = R(0.5) * (low + sqrt(fma(low, low, R(4.0))));
  const REAL share = ga_real_expm1(-ga_times(rate, high - low));
  for (ga_int attempt = 0; attempt < COUNTS; attempt++) {
    ga_uint w[4];
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    const REAL u = ga_unit(ga_first_bits(low, w));
    const REAL x = low - ga_real_log1p(ga_times(u, share)) / rate, y = x - rate;
    if (ga_real_log(ga_word_unit(low, w[2])) <= R(-0.5) * ga_times(y, y))
      return x;
  }
  return low;
}
/* low and high in deviations from loc. */
GA_INLINE REAL ga_truncated_normal_of(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                      REAL loc, REAL scale, REAL low, REAL high) {
  REAL x;
  if (low > 0)
    x = ga_normal_tail(first, stream, seed, low, high);
  else if (high < 0)
    x = -ga_normal_tail(first, stream, seed, -high, -low);
  else
    x = ga_normal_around_0(first, stream, seed, low, high);
  x = x < low ? low : x > high ? high : x;
  return fma(x, scale, loc);
}
