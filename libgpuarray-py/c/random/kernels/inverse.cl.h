/* Distributions by the inverse of their distribution function. */

/* -log(u) for u in (0, 1]. */
GA_INLINE REAL ga_wait_of(BITS bits) {
#if REAL_IS_DOUBLE
  return ga_random_wait_double(ga_open_unit(bits));
#else
  return ga_random_wait(ga_open_unit(bits));
#endif
}
GA_INLINE REAL ga_exponential_of(BITS bits, REAL scale) {
  return scale * ga_wait_of(bits);
}
GA_INLINE REAL ga_bernoulli_of(ga_uint word, REAL p) {
  return word < (ga_ulong)ceil(p * R(4294967296.0)) ? 1 : 0;
}
