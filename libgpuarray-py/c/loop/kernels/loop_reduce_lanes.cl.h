/* One item combines ga_i_many accumulators to ga_i_s, as many side by side as a vector
 * has. */
ga_i_s = LP_OWN[0];
{
  ga_int ga_i_k = 1;
  if (ga_i_many >= 2 * LP_LANES) {
    LP_TYPE ga_i_w[LP_LANES];
    for (ga_int ga_i_j = 0; ga_i_j < LP_LANES; ga_i_j++)
      ga_i_w[ga_i_j] = LP_OWN[ga_i_j];
    for (ga_i_k = LP_LANES; ga_i_k + LP_LANES <= ga_i_many; ga_i_k += LP_LANES)
      for (ga_int ga_i_j = 0; ga_i_j < LP_LANES; ga_i_j++) {
        const LP_TYPE a = ga_i_w[ga_i_j], b = LP_OWN[ga_i_k + ga_i_j];
        ga_i_w[ga_i_j] = LP_COMBINE;
      }
    ga_i_s = ga_i_w[0];
    for (ga_int ga_i_j = 1; ga_i_j < LP_LANES; ga_i_j++) {
      const LP_TYPE a = ga_i_s, b = ga_i_w[ga_i_j];
      ga_i_s = LP_COMBINE;
    }
  }
  for (; ga_i_k < ga_i_many; ga_i_k++) {
    const LP_TYPE a = ga_i_s, b = LP_OWN[ga_i_k];
    ga_i_s = LP_COMBINE;
  }
}
