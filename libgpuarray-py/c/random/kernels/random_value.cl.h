/* Computes `v`, and of pairs `other`, from an element's words, the first of which is
 * w[e]. */
#if RN_IS_PAIR
RN_OF(&v, &other, RN_BITS(e), RN_BITS(e + RN_WORDS) RN_GIVEN);
#elif RN_IS_DISTRIBUTION
v = RN_OF(RN_BITS(e) RN_GIVEN);
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
