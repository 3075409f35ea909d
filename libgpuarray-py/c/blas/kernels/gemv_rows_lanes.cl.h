/* CPU GEMV, contiguous rows, for runtimes that vectorize across items: these walk along
 * BL_LANES rows together, BL_ROWS at a time, then each reduces one row. */
#include "gemv_words.cl.h"

KERNEL void BL_NAME(BL_GEMV_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMV_BEGIN;
  LOCAL_MEM BL_T part[BL_LANES * (BL_LANES + 1)];
  const ga_ssize lane = (ga_ssize)LID_0;
  for (; i < end; i += BL_LANES) {
    for (ga_ssize q = 0; q < BL_LANES; q += BL_ROWS) {
      BL_T acc[BL_ROWS];
      GLOBAL_MEM const BL_S *row[BL_ROWS];
      ga_ssize j = 0;
      for (int r = 0; r < BL_ROWS; r++) {
        row[r] = a + (i + q + r < end ? i + q + r : end - 1) * ai;
        BL_ZERO(acc[r]);
      }
      if (aj == 1 && xj == 1)
        for (; j + BL_LANES <= n; j += BL_LANES)
          for (int r = 0; r < BL_ROWS; r++)
            BL_MEET(acc[r], row[r][j + lane], x[j + lane])
      for (; j < n; j += BL_LANES)
        if (j + lane < n)
          for (int r = 0; r < BL_ROWS; r++)
            BL_MEET(acc[r], row[r][(j + lane) * aj], x[(j + lane) * xj])
      for (int r = 0; r < BL_ROWS; r++)
        part[lane * (BL_LANES + 1) + q + r] = acc[r];
    }
    local_barrier();
    BL_T sum;
    BL_ZERO(sum);
    for (int s = 0; s < BL_LANES; s++)
      BL_ADD(sum, part[s * (BL_LANES + 1) + lane]);
    if (i + lane < end)
      BL_FINISH(y[(i + lane) * yi], sum)
    local_barrier();
  }
}
