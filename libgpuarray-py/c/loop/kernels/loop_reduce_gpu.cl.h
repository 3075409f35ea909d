/* All accumulators of a group become one, in the first, by halves. */
for (ga_uint ga_i_k = LDIM_0 / 2; ga_i_k > 0; ga_i_k /= 2) {
  if (LID_0 < ga_i_k) {
    const LP_TYPE a = LP_OWN[LID_0], b = LP_OWN[LID_0 + ga_i_k];
    LP_OWN[LID_0] = LP_COMBINE;
  }
  local_barrier();
}
