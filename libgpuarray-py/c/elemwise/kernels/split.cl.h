/* The length of axis k with the factor and the shift that divide numbers below 2^31 by
 * it, the position along it, and ga_i_r without it. */
#define EL_LENGTH(k) , ga_uint ga_i_d##k, ga_uint ga_i_m##k, ga_uint ga_i_h##k
#define EL_SPLIT(k)                                                                    \
  const ga_uint ga_i_q##k = (ga_uint)(((ga_ulong)ga_i_r * ga_i_m##k) >> ga_i_h##k);    \
  const EL_INT ga_i_x##k = (EL_INT)(ga_i_r - ga_i_q##k * ga_i_d##k);                   \
  ga_i_r = ga_i_q##k;
