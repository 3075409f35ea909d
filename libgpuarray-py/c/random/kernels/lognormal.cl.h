/* The exponential of normal numbers. */
GA_INLINE void ga_lognormal_of(REAL *first, REAL *second, BITS radius, BITS angle,
                               REAL mean, REAL sigma) {
  ga_normal_of(first, second, radius, angle, mean, sigma);
  *first = ga_real_exp(*first);
  *second = ga_real_exp(*second);
}
