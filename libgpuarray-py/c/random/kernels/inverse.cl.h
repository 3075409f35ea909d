/* Distributions by the inverse of their distribution function. */

/* -log(u) for u in (0, 1]. */
GA_INLINE REAL ga_wait_of(BITS bits) {
#if REAL_IS_DOUBLE
  return ga_random_wait_double(ga_open_unit(bits));
#else
  return 0.693147181f * ga_random_halvings(ga_open_unit(bits));
#endif
}
GA_INLINE REAL ga_exponential_of(BITS bits, REAL scale) {
  return ga_times(scale, ga_wait_of(bits));
}

/* The same with all digits near 0, too, where u is near 1, as ga_real_log1p; above 0.
 */
GA_INLINE REAL ga_fine_wait_of(BITS bits) {
  const ga_int is_high = bits >> (8 * sizeof bits - 1) != 0;
  const REAL u = ga_open_unit(is_high ? ~bits : bits), x = is_high ? R(1.0) - u : u;
  const REAL wait = -ga_real_log(x), away = R(1.0) - x;
  if (!is_high)
    return wait;
  return away > 0 ? ga_times(wait, u / away) : u;
}
/* The top bit as a sign, and the others. */
GA_INLINE REAL ga_random_sign(BITS bits, REAL v) {
  return bits >> (8 * sizeof bits - 1) ? v : -v;
}
GA_INLINE REAL ga_laplace_of(BITS bits, REAL loc, REAL scale) {
  const REAL wait = -ga_real_log(ga_open_unit(bits << 1));
  return fma(ga_random_sign(bits, wait), scale, loc);
}
GA_INLINE REAL ga_logistic_of(BITS bits, REAL loc, REAL scale) {
  const REAL u = R(0.5) * ga_open_unit(bits << 1);
  return fma(ga_random_sign(bits, ga_real_log(u / (R(1.0) - u))), scale, loc);
}
GA_INLINE REAL ga_gumbel_of(BITS bits, REAL loc, REAL scale) {
  return fma(-ga_real_log(ga_fine_wait_of(bits)), scale, loc);
}
/* The slope of a line at a random angle. */
GA_INLINE REAL ga_cauchy_of(BITS bits, REAL loc, REAL scale) {
  REAL c, s;
#if REAL_IS_DOUBLE
  ga_random_turn_double(bits | 1, &c, &s);
#else
  ga_random_turn(bits | 1, &c, &s);
#endif
  return fma(s / c, scale, loc);
}
GA_INLINE REAL ga_weibull_of(BITS bits, REAL a) {
  const REAL wait = ga_fine_wait_of(bits);
  return a == 0 ? 0 : ga_real_exp(ga_real_log(wait) / a);
}
GA_INLINE REAL ga_rayleigh_of(BITS bits, REAL scale) {
  return ga_times(scale, sqrt(R(2.0) * ga_fine_wait_of(bits)));
}
GA_INLINE REAL ga_pareto_of(BITS bits, REAL a) {
  return ga_real_expm1(ga_fine_wait_of(bits) / a);
}
GA_INLINE REAL ga_power_of(BITS bits, REAL a) {
  return ga_real_exp(-ga_fine_wait_of(bits) / a);
}
GA_INLINE REAL ga_triangular_of(BITS bits, REAL left, REAL mode, REAL right) {
  const REAL u = ga_unit(bits), width = right - left, rise = mode - left;
  const REAL up = sqrt(ga_times(u, ga_times(rise, width)));
  const REAL down = sqrt(ga_times(R(1.0) - u, ga_times(right - mode, width)));
  return ga_times(u, width) < rise ? left + up : right - down;
}
/* The number of trials until one succeeds. */
GA_INLINE REAL ga_geometric_of(BITS bits, REAL p) {
  const REAL k = p < 1 ? ceil(ga_fine_wait_of(bits) / -ga_real_log1p(-p)) : 1;
  return k > 1 ? k : 1;
}
GA_INLINE REAL ga_bernoulli_of(ga_uint word, REAL p) {
  return word < (ga_ulong)ceil(p * R(4294967296.0)) ? 1 : 0;
}
