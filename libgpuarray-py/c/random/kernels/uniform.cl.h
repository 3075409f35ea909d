/* Numbers of the unit interval from random bits, a word for float and two for double.
 *
 * Texts of distributions are written for REAL, the type of the computation, and BITS,
 * as many random bits; R(x) is a literal; an element that has counts of its own has
 * COUNTS or twice as many. distribution_text.c includes the texts once for each type.
 * No product is added or subtracted but by fma or as TIMES(a, b), so that every device
 * and compiler rounds alike. */
#if REAL_IS_DOUBLE
/* In [0, 1), a multiple of 2^-53. */
GA_INLINE ga_double ga_unit(ga_ulong bits) {
  return ga_random_whole(bits >> 11) * 1.1102230246251565e-16;
}
/* In (0, 1], with more digits near 0. */
GA_INLINE ga_double ga_open_unit(ga_ulong bits) {
  return fma(ga_random_whole(bits), 5.4210108624275222e-20, 2.7105054312137611e-20);
}
/* The next number below. */
GA_INLINE ga_double ga_below(ga_double x) {
  const ga_ulong bits = ga_random_word(x);
  return x == 0 ? -4.9406564584124654e-324
                : ga_random_double(x > 0 ? bits - 1 : bits + 1);
}
#else
/* In [0, 1), a multiple of 2^-24. */
GA_INLINE ga_float ga_unit(ga_uint bits) {
  return (ga_float)(bits >> 8) * 5.9604644775390625e-8f;
}
GA_INLINE ga_float ga_open_unit(ga_uint bits) {
  return fma((ga_float)bits, 2.3283064365386963e-10f, 1.1641532182693481e-10f);
}
GA_INLINE ga_float ga_below(ga_float x) {
  const ga_uint bits = ga_random_bits(x);
  return ga_random_float(x == 0 ? 0x80000001u : x > 0 ? bits - 1 : bits + 1);
}
/* A uniform number below `high` also when rounded to a type that drops `dropped` bits
 * of a float, and whose numbers are multiples of 1 / finest. */
GA_INLINE ga_float ga_capped(ga_float v, ga_float low, ga_float high, ga_uint dropped,
                             ga_float finest) {
  const ga_float below = ga_below(high);
  const ga_uint lost = (1u << dropped) - 1, bits = ga_random_bits(below);
  ga_float last = ga_random_float((below < 0 ? bits + lost : bits) & ~lost);
  if (fabs(below) * finest < 1024.0f)
    last = floor(below * finest) / finest;
  last = last > low ? last : low;
  return v < last ? v : last;
}
#endif

/* Uniform in [low, high); low if they are equal. */
GA_INLINE REAL ga_uniform_of(BITS bits, REAL low, REAL high) {
  const REAL v = fma(ga_unit(bits), high - low, low), below = ga_below(high);
  const REAL last = below > low ? below : low;
  return ga_random_least(v, last);
}
