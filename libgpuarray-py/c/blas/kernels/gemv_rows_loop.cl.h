/* CPU GEMV, contiguous rows, for compilers that vectorize an item's loops: BL_ROWS rows
 * at a time, BL_WIDTH adjacent elements of each. */
#include "gemv_words.cl.h"

KERNEL void BL_NAME(BL_GEMV_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMV_BEGIN;
  for (; i < end; i += BL_ROWS) {
    BL_T acc[BL_ROWS][BL_WIDTH];
    GLOBAL_MEM const BL_S *row[BL_ROWS];
    for (int r = 0; r < BL_ROWS; r++) {
      row[r] = a + (i + r < end ? i + r : end - 1) * ai;
      for (int v = 0; v < BL_WIDTH; v++)
        BL_ZERO(acc[r][v]);
    }
    ga_ssize j = 0;
    if (aj == 1 && xj == 1)
      for (; j + BL_WIDTH <= n; j += BL_WIDTH)
        for (int r = 0; r < BL_ROWS; r++)
          for (int v = 0; v < BL_WIDTH; v++)
            BL_MEET(acc[r][v], row[r][j + v], x[j + v])
    for (; j < n; j++)
      for (int r = 0; r < BL_ROWS; r++)
        BL_MEET(acc[r][0], row[r][j * aj], x[j * xj])
    for (int r = 0; r < BL_ROWS; r++) {
      for (int s = BL_WIDTH / 2; s > 0; s /= 2)
        for (int v = 0; v < s; v++)
          BL_ADD(acc[r][v], acc[r][v + s]);
      if (i + r < end)
        BL_FINISH(y[(i + r) * yi], acc[r][0])
    }
  }
}
