/* Computes `v`, in the work type, from an element's words, the first of which is
 * w[e]. */
#if RN_IS_UNIFORM
/* Uniform in [0, 1), with the type's precision. */
#if RN_IS_DOUBLE
const ga_double u =
    (ga_double)(((ga_ulong)w[e + 1] << 32 | w[e]) >> 11) * 1.1102230246251565e-16;
#else
const ga_float u = (ga_float)(w[e] >> 8) * 5.9604644775390625e-8f;
#endif
v = fma(u, p1, p0);
v = v < p2 ? v : p2;
#elif RN_IS_NORMAL || RN_IS_EXPONENTIAL
/* Uniform in (0, 1], with more bits near 0. */
#if RN_IS_DOUBLE
const ga_double u = fma((ga_double)((ga_ulong)w[e + 1] << 32 | w[e]),
                        5.4210108624275222e-20, 2.7105054312137611e-20);
#else
const ga_float u =
    fma((ga_float)w[e], 2.3283064365386963e-10f, 1.1641532182693481e-10f);
#endif
#if RN_IS_NORMAL
/* Box-Muller: radius from the pair's first word, angle from the second (64-bit words
 * for double). */
#if RN_IS_DOUBLE
const ga_double radius = p1 * sqrt(2.0 * ga_random_wait_double(u));
ga_random_turn_double((ga_ulong)w[e + 3] << 32 | w[e + 2], &v, &other);
#else
const ga_float radius = p1 * 1.41421356f * ga_random_root(ga_random_wait(u));
ga_random_turn(w[e + 1], &v, &other);
#endif
v = fma(radius, v, p0);
other = fma(radius, other, p0);
#elif RN_IS_DOUBLE
v = p0 * ga_random_wait_double(u);
#else
v = p0 * ga_random_wait(u);
#endif
#elif RN_IS_INTEGERS
/* floor(r * count / 2^64), r of two words; p is 0 for count 2^32. */
const ga_uint p = (ga_uint)p1;
const ga_ulong r =
    p == 0 ? w[e + 1] : ((ga_ulong)w[e + 1] * p + ((ga_ulong)w[e] * p >> 32)) >> 32;
v = (RN_WORK)(p0 + r);
#elif RN_IS_WIDE_INTEGERS
/* The same with 2^128 and four words. */
const ga_ulong r0 = (ga_ulong)w[1] << 32 | w[0];
const ga_ulong r1 = (ga_ulong)w[3] << 32 | w[2];
const ga_ulong low = r1 * p1, up = ga_random_high(r0, p1);
const ga_ulong r = p1 == 0 ? r1 : ga_random_high(r1, p1) + (low + up < low);
v = (RN_WORK)(p0 + r);
#elif RN_IS_BERNOULLI
v = (RN_WORK)(w[e] < p0 ? 1 : 0);
#elif RN_HAS_LONG
v = (RN_WORK)((ga_ulong)w[e + 1] << 32 | w[e]);
#else
v = (RN_WORK)w[e];
#endif
