/* Logarithm by its bits. */
GA_INLINE REAL ga_log_of(REAL x) {
#if REAL_IS_DOUBLE
  return -ga_random_wait_double(x);
#else
  return -ga_random_wait(x);
#endif
}
