/* GPU small-K GEMM, BL_SIDE terms: an item keeps BL_COLUMNS columns of b in registers
 * and walks down its group's `rows` rows of a, which are in local memory. */
#include "words.cl.h"

/* Sum at (ga_i_x0, ga_i_x1), for the epilogue. */
#define BL_SUM acc[v]

KERNEL void BL_NAME(GLOBAL_MEM const BL_S *GA_APART a, ga_size a_off,
                    GLOBAL_MEM const BL_S *GA_APART b, ga_size b_off, ga_ssize m,
                    ga_ssize n, ga_ssize rows, ga_ssize ai, ga_ssize ak, ga_ssize bk,
                    ga_ssize bj BL_OUTPUTS) {
  KERNEL_BEGIN;
  BL_START
  LOCAL_MEM BL_T shared[BL_MOST_ROWS * BL_SIDE];
  const int lanes = (int)LDIM_0, slots = (int)LDIM_1, slot = (int)LID_1;
  const ga_uint item = (ga_uint)(LID_1 * LDIM_0 + LID_0);
  const ga_ssize left = (ga_ssize)GID_1 * (BL_COLUMNS * lanes) + (ga_ssize)LID_0;
  const ga_ssize top = (ga_ssize)GID_0 * rows;
  const int count = (int)(top + rows < m ? rows : m - top);
  BL_T kept[BL_SIDE][BL_COLUMNS];
  a = BL_AT(const BL_S, a, a_off) + top * ai;
  b = BL_AT(const BL_S, b, b_off);
  BL_EACH (v, BL_COLUMNS) {
    const ga_ssize j = left + v * lanes < n ? left + v * lanes : n - 1;
    BL_EACH (p, BL_SIDE)
      BL_LOAD(kept[p][v], b[p * bk + j * bj], 1)
  }
  if ((ai < ak) != (ai < -ak)) { /* |ai| < |ak| */
#pragma unroll 1
    for (int i = (int)item; i < count; i += BL_ITEMS)
      BL_EACH (p, BL_SIDE)
        BL_LOAD(shared[i * BL_SIDE + p], a[i * ai + p * ak], 1)
  } else
    for (ga_uint x = item; x < (ga_uint)(count * BL_SIDE); x += BL_ITEMS)
      BL_LOAD(shared[x], a[x / BL_SIDE * ai + x % BL_SIDE * ak], 1)
  local_barrier();
  for (int i = slot; i < count; i += slots) {
    BL_T acc[BL_COLUMNS];
    BL_EACH (v, BL_COLUMNS)
      BL_ZERO(acc[v]);
    BL_EACH (p, BL_SIDE) {
      const BL_T factor = shared[i * BL_SIDE + p];
      BL_EACH (v, BL_COLUMNS)
        BL_MAD(acc[v], factor, kept[p][v]);
    }
    BL_EACH (v, BL_COLUMNS)
      if (left + v * lanes < n) {
        const ga_ssize ga_i_x0 = top + i, ga_i_x1 = left + v * lanes;
        BL_STORE
      }
  }
}
