/* All accumulators of a group become one, in the first: its first item combines them,
 * so many side by side as a vector has. */
if (LID_0 == 0) {
  LP_TYPE ga_i_w[LP_LANES], ga_i_s = LP_OWN[0];
  ga_uint ga_i_k = 1;
  if (LDIM_0 >= 2 * LP_LANES) {
    for (ga_uint ga_i_j = 0; ga_i_j < LP_LANES; ga_i_j++)
      ga_i_w[ga_i_j] = LP_OWN[ga_i_j];
    for (ga_i_k = LP_LANES; ga_i_k + LP_LANES <= LDIM_0; ga_i_k += LP_LANES)
      for (ga_uint ga_i_j = 0; ga_i_j < LP_LANES; ga_i_j++) {
        const LP_TYPE a = ga_i_w[ga_i_j], b = LP_OWN[ga_i_k + ga_i_j];
        ga_i_w[ga_i_j] = LP_COMBINE;
      }
    ga_i_s = ga_i_w[0];
    for (ga_uint ga_i_j = 1; ga_i_j < LP_LANES; ga_i_j++) {
      const LP_TYPE a = ga_i_s, b = ga_i_w[ga_i_j];
      ga_i_s = LP_COMBINE;
    }
  }
  for (; ga_i_k < LDIM_0; ga_i_k++) {
    const LP_TYPE a = ga_i_s, b = LP_OWN[ga_i_k];
    ga_i_s = LP_COMBINE;
  }
  LP_OWN[0] = ga_i_s;
}
local_barrier();
