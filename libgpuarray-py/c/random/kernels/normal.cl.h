/* Normal numbers by Box-Muller, two from two words (four for double): the radius from
 * the first, the angle from the second. */
GA_INLINE void ga_normal_of(REAL *first, REAL *second, BITS radius, BITS angle,
                            REAL loc, REAL scale) {
  REAL c, s;
#if REAL_IS_DOUBLE
  const REAL r = scale * sqrt(2.0 * ga_random_wait_double(ga_open_unit(radius)));
  ga_random_turn_double(angle, &c, &s);
#else
  const REAL halvings = ga_random_halvings(ga_open_unit(radius));
  const REAL length = scale * 1.17741002f * ga_random_root(halvings);
  const REAL r = ga_random_turn_near(length, angle, &c, &s);
#endif
  *first = fma(r, c, loc);
  *second = fma(r, s, loc);
}
