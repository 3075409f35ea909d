/* MRG31k3p: both components are linear recurrences of order 3, modulo 2^31 - 1 and
 * 2^31 - 21069. States are canonical residues. */
#define MG_M1 2147483647u
#define MG_M2 2147462579u

/* a modulo `modulus`, for a below its double: a difference below 0 is a large number.
 */
GA_INLINE ga_uint ga_mrg_rest(ga_uint a, ga_uint modulus) {
  const ga_uint less = a - modulus;
  return less < a ? less : a;
}
/* The next values: 2^22 x2 + (2^7 + 1) x3, and 2^15 (y1 + y3) + y3. 2^31 is 1 and
 * 21069. */
GA_INLINE ga_uint ga_mrg_first(ga_uint x2, ga_uint x3) {
#ifdef __CUDACC__ /* as shifts below, so that no pipe is full */
  const ga_ulong sum = (ga_ulong)x2 * 4194304u + (ga_ulong)x3 * 129u;
  return ga_mrg_rest(((ga_uint)sum & MG_M1) + (ga_uint)(sum >> 31), MG_M1);
#else
  const ga_uint sum = ((x2 & 511u) << 22) + (x2 >> 9) + ((x3 & 16777215u) << 7);
  return ga_mrg_rest(ga_mrg_rest(sum + (x3 >> 24), MG_M1) + x3, MG_M1);
#endif
}
GA_INLINE ga_uint ga_mrg_second(ga_uint y1, ga_uint y3) {
  const ga_uint both = y1 + y3;
  const ga_uint sum = ((both & 65535u) << 15) + 21069u * (both >> 16);
  return ga_mrg_rest(ga_mrg_rest(sum, MG_M2) + y3, MG_M2);
}
/* x - y modulo 2^31 - 1, from 1 to it. */
GA_INLINE ga_int ga_mrg_number(ga_uint x, ga_uint y) {
  const ga_uint more = x - y + (MG_M1 - 1u), less = more - MG_M1;
  return (ga_int)((less < more ? less : more) + 1u);
}

/* Moves a state, the components' latest values first, on by a number of steps. `jumps`
 * has for each bit of it the two matrices, row by row. */
GA_INLINE void ga_mrg_jump(ga_uint *state, ga_ulong steps,
                           GLOBAL_MEM const ga_int *jumps) {
  for (ga_int bit = 0; steps >> bit != 0; bit++) {
    ga_uint moved[6];
    if ((steps >> bit & 1) == 0)
      continue;
    for (ga_int row = 0; row < 6; row++) {
      GLOBAL_MEM const ga_int *jump = jumps + 18 * bit + 3 * row;
      const ga_uint *part = state + row / 3 * 3;
      ga_ulong sum = 0;
      for (ga_int k = 0; k < 3; k++)
        sum += (ga_ulong)(ga_uint)jump[k] * part[k];
      moved[row] = (ga_uint)(sum % (row < 3 ? MG_M1 : MG_M2));
    }
    for (ga_int row = 0; row < 6; row++)
      state[row] = moved[row];
  }
}
