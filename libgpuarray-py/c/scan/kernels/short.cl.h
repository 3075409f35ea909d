/* Short contiguous rows.
 *
 * A work group copies `chunk` rows to local memory (coalesced), scans a row per item,
 * and copies back. Rows have an odd pitch against bank conflicts. Positions are
 * advanced without divisions. */
#include "words.cl.h"

#define SC_STEP                                                                        \
  {                                                                                    \
    row += rows_on;                                                                    \
    at += on;                                                                          \
    if (at >= n) {                                                                     \
      at -= n;                                                                         \
      row++;                                                                           \
    }                                                                                  \
  }
#define SC_LOADS 4

SC_KERNEL void SC_NAME(SC_PARAMETERS) {
  KERNEL_BEGIN;
  SC_BEGIN;
  LOCAL_MEM SC_ACC tile[SC_ROOM];
  const int lane = (int)LID_0, lanes = (int)LDIM_0, n = (int)length;
  const SC_INT first = (SC_INT)GID_0 * chunk;
  const int have = (int)(rows - first < chunk ? rows - first : chunk);
  const int pitch = n | 1, count = have * n;
  const int rows_on = lanes / n, on = lanes - rows_on * n;
  const int first_row = lane / n, first_at = lane - first_row * n;
  const ga_ssize begin = (ga_ssize)first * n;
  GLOBAL_MEM const SC_IN *xp =
      (GLOBAL_MEM const SC_IN *)((GLOBAL_MEM const char *)x + x_off) + begin;
  GLOBAL_MEM SC_OUT *op =
      (GLOBAL_MEM SC_OUT *)((GLOBAL_MEM char *)out + out_off) + begin;
  int row = first_row, at = first_at;
  for (int i = lane; i < count; i += SC_LOADS * lanes) {
    SC_ACC values[SC_LOADS];
    for (int v = 0; v < SC_LOADS; v++)
      if (i + v * lanes < count)
        values[v] = SC_LOAD(xp + i + v * lanes);
    for (int v = 0; v < SC_LOADS; v++) {
      if (i + v * lanes < count)
        tile[row * pitch + at] = values[v];
      SC_STEP
    }
  }
  local_barrier();
  for (int r = lane; r < have; r += lanes) {
    LOCAL_MEM_ARG SC_ACC *own = tile + r * pitch;
    SC_ACC carry = own[0];
    if (mode & 1)
      own[0] = SC_IDENTITY;
    for (int p = 1; p < n; p++) {
      const SC_ACC before = carry;
      carry = SC_COMBINE(carry, own[p]);
      own[p] = mode & 1 ? before : carry;
    }
  }
  local_barrier();
  row = first_row;
  at = first_at;
  for (int i = lane; i < count; i += lanes) {
    SC_STORE(op + i, tile[row * pitch + at]);
    SC_STEP
  }
}
