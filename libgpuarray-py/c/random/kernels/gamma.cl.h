/* The gamma distribution by Marsaglia and Tsang (2000), and what is made of it. An
 * attempt fails with a probability below 1/20. The last two counts are for the
 * exponential number of shapes below 1, and for the caller. */

/* A gamma number of this shape, or of shape + 1 if it is below 1. */
GA_INLINE REAL ga_gamma_above_1(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                REAL shape) {
  const REAL d = (shape < 1 ? shape + R(1.0) : shape) - R(0.33333333333333333);
  const REAL c = R(1.0) / sqrt(R(9.0) * d);
  REAL v = 1;
  for (ga_int attempt = 0; attempt < COUNTS - 2; attempt++) {
    ga_uint w[4];
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    const REAL x = ga_count_normal(d, w), u = ga_word_unit(d, w[3]);
    const REAL t = fma(c, x, R(1.0)), square = ga_times(x, x);
    if (t <= R(1e-6))
      continue;
    v = ga_times(ga_times(t, t), t);
    if (u < fma(ga_times(square, square), R(-0.0331), R(1.0)))
      break;
    const REAL change = R(1.0) - v + ga_real_log(v);
    if (ga_real_log(u) < fma(d, change, R(0.5) * square))
      break;
  }
  return ga_times(d, v);
}
/* By the exponential of minus this the number of shape + 1 is larger than that of a
 * shape below 1. */
GA_INLINE REAL ga_gamma_loss(ga_ulong first, ga_ulong stream, ga_ulong seed,
                             REAL shape) {
  ga_uint w[4];
  if (shape >= 1)
    return 0;
  ga_philox(w, first + COUNTS - 2, stream, seed);
  return -ga_real_log(ga_open_unit(ga_first_bits(shape, w))) / shape;
}
GA_INLINE REAL ga_gamma_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL shape,
                           REAL scale) {
  REAL v = ga_gamma_above_1(first, stream, seed, shape);
  if (shape < 1)
    v = ga_times(v, ga_real_exp(-ga_gamma_loss(first, stream, seed, shape)));
  return shape == 0 ? 0 : ga_times(v, scale);
}
/* The logarithm of a gamma number, finite for any small shape. */
GA_INLINE REAL ga_loggamma_of(ga_ulong first, ga_ulong stream, ga_ulong seed,
                              REAL shape) {
  return ga_real_log(ga_gamma_above_1(first, stream, seed, shape)) -
         ga_gamma_loss(first, stream, seed, shape);
}
GA_INLINE REAL ga_chisquare_of(ga_ulong first, ga_ulong stream, ga_ulong seed,
                               REAL df) {
  return ga_gamma_of(first, stream, seed, R(0.5) * df, R(2.0));
}
/* The ratio of the second gamma number of twice the counts to the first. */
GA_INLINE REAL ga_gamma_ratio(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL a,
                              REAL b) {
  const REAL over = ga_gamma_above_1(first + COUNTS, stream, seed, b);
  const REAL under = ga_gamma_above_1(first, stream, seed, a);
  const REAL loss = ga_gamma_loss(first, stream, seed, a) -
                    ga_gamma_loss(first + COUNTS, stream, seed, b);
  return ga_times(over / under, ga_real_exp(loss));
}
GA_INLINE REAL ga_beta_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL a,
                          REAL b) {
  return R(1.0) / (R(1.0) + ga_gamma_ratio(first, stream, seed, a, b));
}
GA_INLINE REAL ga_f_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL dfnum,
                       REAL dfden) {
  const REAL ratio =
      ga_gamma_ratio(first, stream, seed, R(0.5) * dfden, R(0.5) * dfnum);
  return ga_times(ratio, dfden / dfnum);
}
GA_INLINE REAL ga_standard_t_of(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                REAL df) {
  ga_uint w[4];
  ga_philox(w, first + COUNTS - 1, stream, seed);
  const REAL halved = R(0.5) * df;
  const REAL spread = sqrt(halved / ga_gamma_above_1(first, stream, seed, halved));
  const REAL loss = ga_gamma_loss(first, stream, seed, halved);
  return ga_times(ga_count_normal(df, w), ga_times(spread, ga_real_exp(R(0.5) * loss)));
}
/* Inverse Gaussian, by Michael, Schucany and Haas (1976): one of the two roots whose
 * product is the mean's square. */
GA_INLINE REAL ga_wald_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL mean,
                          REAL scale) {
  ga_uint w[4];
  ga_philox(w, first, stream, seed);
  const REAL x = ga_count_normal(mean, w);
  const REAL halved = R(0.5) * ga_times(ga_times(x, x), mean / scale);
  const REAL root = R(1.0) + halved + sqrt(ga_times(halved, halved + R(2.0)));
  const REAL u = ga_word_unit(mean, w[3]);
  return ga_times(u, R(1.0) + R(1.0) / root) <= 1 ? mean / root : ga_times(mean, root);
}
