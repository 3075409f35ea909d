/* CPU GEMV, contiguous columns: an item owns BL_WIDTH results; the rest one by one. */
#include "gemv_words.cl.h"

KERNEL void BL_NAME(BL_GEMV_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMV_BEGIN;
  const ga_ssize lane = (ga_ssize)LID_0;
  if (ai == 1)
    for (; i + BL_LANES * BL_WIDTH <= end; i += BL_LANES * BL_WIDTH) {
      BL_T acc[BL_WIDTH];
      GLOBAL_MEM const BL_S *column = a + i;
      for (int v = 0; v < BL_WIDTH; v++)
        BL_ZERO(acc[v]);
      for (ga_ssize j = 0; j < n; j++) {
        BL_T factor, bl_a;
        BL_LOAD(factor, x[j * xj], x_sign)
        for (int v = 0; v < BL_WIDTH; v++) {
          BL_LOAD(bl_a, column[v * BL_LANES + lane], a_sign)
          BL_MAD(acc[v], bl_a, factor);
        }
        column += aj;
      }
      for (int v = 0; v < BL_WIDTH; v++)
        BL_FINISH(y[(i + v * BL_LANES + lane) * yi], acc[v])
    }
  for (; i < end; i += BL_LANES)
    if (i + lane < end) {
      GLOBAL_MEM const BL_S *column = a + i * ai;
      BL_T acc;
      BL_ZERO(acc);
      if (ai == 1)
        for (ga_ssize j = 0; j < n; j++)
          BL_MEET(acc, column[j * aj + lane], x[j * xj])
      else
        for (ga_ssize j = 0; j < n; j++)
          BL_MEET(acc, column[j * aj + lane * ai], x[j * xj])
      BL_FINISH(y[(i + lane) * yi], acc)
    }
}
