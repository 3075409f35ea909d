/* dot, second pass: one group sums the parts. */
#include "words.cl.h"

KERNEL void BL_NAME(GLOBAL_MEM BL_S *c, ga_size c_off,
                    GLOBAL_MEM const BL_T *GA_APART part, ga_size part_off, ga_ssize n,
                    BL_R alpha_x, BL_R alpha_y, BL_R beta_x, BL_R beta_y,
                    ga_int reads_c) {
  KERNEL_BEGIN;
  LOCAL_MEM BL_T shared[256];
  const ga_ssize lane = (ga_ssize)LID_0, lanes = (ga_ssize)LDIM_0;
  BL_T acc;
  BL_FACTORS;
  c = BL_AT(BL_S, c, c_off);
  part = BL_AT(const BL_T, part, part_off);
  BL_ZERO(acc);
  for (ga_ssize j = lane; j < n; j += lanes)
    BL_ADD(acc, part[j]);
  BL_SUM_SHARED(lane, acc, lane, lanes, 1)
  if (lane == 0)
    BL_FINISH(c[0], shared[0])
}
