/* dot, first pass: group g sums `rows` terms into part[g]. */
#include "words.cl.h"

KERNEL void BL_NAME(GLOBAL_MEM BL_T *part, ga_size part_off,
                    GLOBAL_MEM const BL_S *GA_APART a, ga_size a_off,
                    GLOBAL_MEM const BL_S *GA_APART x, ga_size x_off, ga_ssize n,
                    ga_ssize rows, ga_ssize ai, ga_ssize xi, BL_R a_sign, BL_R x_sign) {
  KERNEL_BEGIN;
  LOCAL_MEM BL_T shared[256];
  const ga_ssize lane = (ga_ssize)LID_0, lanes = (ga_ssize)LDIM_0;
  ga_ssize j = (ga_ssize)GID_0 * rows;
  const ga_ssize end = j + rows < n ? j + rows : n;
  BL_T acc[BL_WIDTH];
  part = BL_AT(BL_T, part, part_off);
  a = BL_AT(const BL_S, a, a_off);
  x = BL_AT(const BL_S, x, x_off);
  for (int v = 0; v < BL_WIDTH; v++)
    BL_ZERO(acc[v]);
  if (ai == 1 && xi == 1)
    for (; j + BL_WIDTH * lanes <= end; j += BL_WIDTH * lanes)
      for (int v = 0; v < BL_WIDTH; v++)
        BL_MEET(acc[v], a[j + v * lanes + lane], x[j + v * lanes + lane])
  for (j += lane; j < end; j += lanes)
    BL_MEET(acc[0], a[j * ai], x[j * xi])
  for (int s = BL_WIDTH / 2; s > 0; s /= 2)
    for (int v = 0; v < s; v++)
      BL_ADD(acc[v], acc[v + s]);
  BL_SUM_SHARED(lane, acc[0], lane, lanes, 1)
  if (lane == 0)
    part[GID_0] = shared[0];
}
