/* The same with vector loads: an item owns a vector of results. */
#include "gemv_words.cl.h"

KERNEL void BL_NAME(BL_GEMV_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMV_BEGIN;
  LOCAL_MEM BL_T shared[256 * BL_GW];
  const ga_ssize lane = (ga_ssize)LID_0, lanes = (ga_ssize)LDIM_0;
  const ga_ssize item = (ga_ssize)LID_1, items = (ga_ssize)LDIM_1;
  const ga_ssize at = (item * lanes + lane) * BL_GW;
  BL_T acc[BL_GW];
  ga_ssize j = item;
  i += lane * BL_GW;
  a += i;
  for (int v = 0; v < BL_GW; v++)
    BL_ZERO(acc[v]);
  if (i + BL_GW <= end)
    for (; j + (BL_DEPTH - 1) * items < n; j += BL_DEPTH * items) {
      BL_T pack[BL_DEPTH][BL_GW], factor[BL_DEPTH];
      BL_EACH (u, BL_DEPTH) {
        BL_LOAD_PACK(pack[u], (a + (j + u * items) * aj), a_sign)
        BL_LOAD(factor[u], x[(j + u * items) * xj], x_sign)
      }
      BL_EACH (u, BL_DEPTH)
        BL_EACH (v, BL_GW)
          BL_MAD(acc[v], pack[u][v], factor[u]);
    }
  for (; j < n; j += items)
    for (int v = 0; v < BL_GW && i + v < end; v++)
      BL_MEET(acc[v], a[j * aj + v], x[j * xj])
  for (int v = 0; v < BL_GW; v++)
    shared[at + v] = acc[v];
  local_barrier();
  for (ga_ssize s = items / 2; s > 0; s /= 2) {
    if (item < s)
      for (int v = 0; v < BL_GW; v++)
        BL_ADD(shared[at + v], shared[at + v + s * lanes * BL_GW]);
    local_barrier();
  }
  if (item == 0)
    for (int v = 0; v < BL_GW && i + v < end; v++)
      BL_FINISH(y[(i + v) * yi], shared[at + v])
}
