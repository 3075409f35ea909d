/* GPU GEMV, contiguous columns: items of dimension 0 own adjacent results, those of
 * dimension 1 share n. */
#include "gemv_words.cl.h"

KERNEL void BL_NAME(BL_GEMV_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMV_BEGIN;
  LOCAL_MEM BL_T shared[256];
  const ga_ssize lane = (ga_ssize)LID_0, lanes = (ga_ssize)LDIM_0;
  const ga_ssize item = (ga_ssize)LID_1, items = (ga_ssize)LDIM_1;
  const ga_ssize at = item * lanes + lane;
  GLOBAL_MEM const BL_S *column = a + (i + lane < end ? i + lane : end - 1) * ai;
  BL_T acc[4];
  for (int v = 0; v < 4; v++)
    BL_ZERO(acc[v]);
  ga_ssize j = item;
  for (; j + 3 * items < n; j += 4 * items)
    for (int v = 0; v < 4; v++)
      BL_MEET(acc[v], column[(j + v * items) * aj], x[(j + v * items) * xj])
  for (; j < n; j += items)
    BL_MEET(acc[0], column[j * aj], x[j * xj])
  BL_SUM_FOUR(acc);
  BL_SUM_SHARED(at, acc[0], item, items, lanes)
  if (item == 0 && i + lane < end)
    BL_FINISH(y[(i + lane) * yi], shared[at])
}
