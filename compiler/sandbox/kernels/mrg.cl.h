/* MRG31k3p: both components are linear recurrences of order 3, modulo 2^31 - 1 and
 * 2^31 - 21069; the powers of two in their factors make the products shifts. States are
 * canonical residues, so no sum below needs more than 32 bits. */
#define MG_M1 2147483647u
#define MG_M2 2147462579u
/* 2^22 x + 2^7 y modulo 2^31 - 1, where a shift is a rotation of 31 bits. */
#define MG_FIRST(x, y)                                                                 \
  (((x & 511u) << 22) + (x >> 9) + ((y & 16777215u) << 7) + (y >> 24))
/* 2^15 x modulo 2^31 - 21069. */
#define MG_SECOND(x) (((x & 65535u) << 15) + 21069u * (x >> 16))

GA_INLINE ga_uint ga_mrg_sum(ga_uint a, ga_uint b, ga_uint modulus) {
  const ga_uint sum = a + b;
  return sum >= modulus ? sum - modulus : sum;
}

/* Moves a state on, the components' latest values first; a number from 1 to 2^31 - 1.
 */
GA_INLINE ga_int ga_mrg_next(ga_uint *s) {
  const ga_uint x = ga_mrg_sum(ga_mrg_sum(MG_FIRST(s[1], s[2]), 0, MG_M1), s[2], MG_M1);
  const ga_uint y1 = ga_mrg_sum(MG_SECOND(s[3]), 0, MG_M2);
  const ga_uint y3 = ga_mrg_sum(MG_SECOND(s[5]), 0, MG_M2);
  const ga_uint y = ga_mrg_sum(ga_mrg_sum(y3, s[5], MG_M2), y1, MG_M2);
  s[2] = s[1];
  s[1] = s[0];
  s[0] = x;
  s[5] = s[4];
  s[4] = s[3];
  s[3] = y;
  return (ga_int)(x > y ? x - y : x + MG_M1 - y);
}
