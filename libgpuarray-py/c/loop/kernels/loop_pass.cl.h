/* A pass of an iteration over the elements of a piece. */
{
#if LP_SINGLE
  const ga_int ga_i_j = LP_ITEM, ga_i_e = ga_i_j;
  const bool ga_i_in = GA_WARP_SIZE == 1 || ga_i_j < ga_i_live;
  LP_BODY
#elif LP_PADDED || GA_WARP_SIZE == 1
  for (ga_int ga_i_u = 0; ga_i_u < ga_i_live; ga_i_u += GA_WARP_SIZE) {
    const ga_int ga_i_j = ga_i_u + LP_ITEM, ga_i_e = ga_i_j;
    const bool ga_i_in = GA_WARP_SIZE == 1 || ga_i_j < ga_i_live;
    LP_BODY
  }
#else
  ga_int ga_i_u = 0;
  for (; ga_i_u + GA_WARP_SIZE <= ga_i_live; ga_i_u += GA_WARP_SIZE) {
    const ga_int ga_i_j = ga_i_u + LP_ITEM, ga_i_e = ga_i_j;
    const bool ga_i_in = true;
    LP_BODY
  }
  if (ga_i_u < ga_i_live) {
    const ga_int ga_i_j = ga_i_u + LP_ITEM, ga_i_e = ga_i_j;
    const bool ga_i_in = ga_i_j < ga_i_live;
    LP_BODY
  }
#endif
}
