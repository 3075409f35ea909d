/* GPU GEMV, contiguous rows: items of dimension 0 share a row, those of dimension 1
 * have a row each. */
#include "gemv_words.cl.h"

KERNEL void BL_NAME(BL_GEMV_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMV_BEGIN;
  LOCAL_MEM BL_T shared[256];
  const ga_ssize lane = (ga_ssize)LID_0, lanes = (ga_ssize)LDIM_0;
  const ga_ssize slot = (ga_ssize)LID_1, at = slot * lanes + lane;
  GLOBAL_MEM const BL_S *row = a + (i + slot < end ? i + slot : end - 1) * ai;
  BL_T acc[4];
  for (int v = 0; v < 4; v++)
    BL_ZERO(acc[v]);
  ga_ssize j = lane;
  if (BL_WIDE) {
    j = lane * BL_GW;
    for (; j + (3 * lanes + 1) * BL_GW <= n; j += 4 * lanes * BL_GW) {
      BL_T pack[4][BL_GW];
      BL_EACH (v, 4)
        BL_LOAD_PACK(pack[v], (row + j + v * lanes * BL_GW), a_sign)
      BL_EACH (v, 4)
        BL_EACH (w, BL_GW) {
          BL_T factor;
          BL_LOAD(factor, x[(j + v * lanes * BL_GW + w) * xj], x_sign)
          BL_MAD(acc[v], pack[v][w], factor);
        }
    }
    for (; j < n; j += lanes * BL_GW)
      for (int w = 0; w < BL_GW && j + w < n; w++)
        BL_MEET(acc[0], row[j + w], x[(j + w) * xj])
  } else {
    for (; j + 3 * lanes < n; j += 4 * lanes)
      for (int v = 0; v < 4; v++)
        BL_MEET(acc[v], row[(j + v * lanes) * aj], x[(j + v * lanes) * xj])
    for (; j < n; j += lanes)
      BL_MEET(acc[0], row[j * aj], x[j * xj])
  }
  BL_SUM_FOUR(acc);
  BL_SUM_SHARED(at, acc[0], lane, lanes, 1)
  if (lane == 0 && i + slot < end)
    BL_FINISH(y[(i + slot) * yi], shared[at])
}
