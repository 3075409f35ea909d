/* Numbers from the four words of a count that belongs to one element. `like` gives the
 * type. */

/* In (0, 1], a multiple of 2^-33. */
GA_INLINE REAL ga_word_unit(REAL like, ga_uint word) {
  (void)like;
  return fma((REAL)word, R(2.3283064365386963e-10), R(1.1641532182693481e-10));
}
/* The first word, or two words for double. */
GA_INLINE BITS ga_first_bits(REAL like, const ga_uint *w) {
  (void)like;
#if REAL_IS_DOUBLE
  return (BITS)w[1] << 32 | w[0];
#else
  return w[0];
#endif
}
/* A normal number from the first three words, as ga_normal_of but with the same bits on
 * every device. */
GA_INLINE REAL ga_count_normal(REAL like, const ga_uint *w) {
  REAL c, s;
  const REAL u = ga_open_unit(ga_first_bits(like, w));
#if REAL_IS_DOUBLE
  ga_random_turn_double((ga_ulong)w[2] << 32 | 0x80000000u, &c, &s);
#else
  ga_random_turn(w[1], &c, &s);
#endif
  return ga_times(c, ga_near_root(R(-2.0) * ga_real_log(u)));
}
