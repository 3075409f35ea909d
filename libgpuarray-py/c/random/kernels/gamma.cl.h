/* The gamma distribution by Marsaglia and Tsang (2000), and what is made of it. An
 * attempt fails with a probability below 1/20. The last two counts are for the
 * exponential number of shapes below 1, and for the caller. */

/* What does not depend on random bits: `slope` is that of the squeeze 1 - slope x^4
 * below what the test accepts, for every d from 2/3 on. */
typedef struct OF_REAL(ga_gamma_plan) {
  REAL shape, scale, d, c, slope;
} OF_REAL(ga_gamma_plan);

GA_INLINE void ga_plan_gamma(OF_REAL(ga_gamma_plan) * p, REAL shape, REAL scale) {
  const REAL d = (shape < 1 ? shape + R(1.0) : shape) - R(0.33333333333333333);
  p->shape = shape;
  p->scale = scale;
  p->d = d;
  p->c = R(1.0) / sqrt(R(9.0) * d);
  p->slope = R(-1.0) / fma(R(70.0), d, R(-16.6));
}
/* *v is a gamma number over d, of this shape, or of shape + 1 if it is below 1. */
GA_INLINE ga_int ga_try_gamma(REAL *v, REAL *kept, ga_int attempt,
                              const OF_REAL(ga_gamma_plan) * p, const ga_uint *w) {
  const REAL x = ga_count_normal(p->d, w), u = ga_word_unit(p->d, w[3]);
  const REAL t = fma(p->c, x, R(1.0)), square = ga_times(x, x);
  (void)kept, (void)attempt;
  if (t <= R(1e-6))
    return 0;
  *v = ga_times(ga_times(t, t), t);
  if (u < fma(ga_times(square, square), p->slope, R(1.0)))
    return 1;
  const REAL change = R(1.0) - *v + ga_real_log(*v);
  return ga_real_log(u) < fma(p->d, change, R(0.5) * square);
}
GA_INLINE REAL ga_gamma_above_1(ga_ulong first, ga_ulong stream, ga_ulong seed,
                                REAL shape) {
  OF_REAL(ga_gamma_plan) p;
  REAL v = 1;
  ga_plan_gamma(&p, shape, R(1.0));
  for (ga_int attempt = 0; attempt < COUNTS - 2; attempt++) {
    ga_uint w[4];
    ga_philox(w, first + (ga_ulong)attempt, stream, seed);
    if (ga_try_gamma(&v, &v, attempt, &p, w))
      break;
  }
  return ga_times(p.d, v);
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
/* The number of `v`, that of ga_gamma_above_1. */
GA_INLINE REAL ga_scaled_gamma(REAL v, ga_ulong first, ga_ulong stream, ga_ulong seed,
                               REAL shape, REAL scale) {
  if (shape < 1)
    v = ga_times(v, ga_real_exp(-ga_gamma_loss(first, stream, seed, shape)));
  return shape == 0 ? 0 : ga_times(v, scale);
}
GA_INLINE REAL ga_gamma_number(REAL v, const OF_REAL(ga_gamma_plan) * p, ga_ulong first,
                               ga_ulong stream, ga_ulong seed) {
  return ga_scaled_gamma(ga_times(p->d, v), first, stream, seed, p->shape, p->scale);
}
GA_INLINE REAL ga_gamma_of(ga_ulong first, ga_ulong stream, ga_ulong seed, REAL shape,
                           REAL scale) {
  return ga_scaled_gamma(ga_gamma_above_1(first, stream, seed, shape), first, stream,
                         seed, shape, scale);
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
