/* CPU GEMM. A work group of BL_LANES items computes `rows` by BL_COLUMNS elements of c;
 * an item owns BL_WIDTH columns. A panel of b, BL_DEPTH rows, is packed into local
 * memory, as is a strip of a if its columns are contiguous or its elements need
 * conversion. BL_ROWS rows of a meet the panel at a time (register blocking). Barriers
 * only where items pack for each other. */
#include "gemm_words.cl.h"

#define BL_COLUMNS (BL_LANES * BL_WIDTH)

KERNEL void BL_NAME(BL_GEMM_PARAMETERS) {
  KERNEL_BEGIN;
  BL_GEMM_BEGIN;
  LOCAL_MEM BL_T panel[BL_DEPTH * BL_COLUMNS];
  LOCAL_MEM BL_T strip[BL_DEPTH * BL_TILE];
  LOCAL_MEM BL_T sums[BL_TILE * BL_COLUMNS];
  const ga_ssize lane = BL_LANES > 1 ? (ga_ssize)LID_0 : 0;
  const ga_ssize left = (ga_ssize)GID_0 * BL_COLUMNS;
  const ga_ssize top = (ga_ssize)GID_1 * rows;
  const ga_ssize count = rows < m - top ? rows : m - top;
  const int full = left + BL_COLUMNS <= n;
  const int has_strip = BL_IS_NARROW || (ai == 1 && ak != 1);
  a += top * ai;
  b += left * bj;
  c += top * ci + left * cj;
  for (ga_ssize from = 0; from == 0 || from < k; from += BL_DEPTH) {
    const ga_ssize depth = k - from < BL_DEPTH ? k - from : BL_DEPTH;
    if (full && bj == 1) {
      for (ga_ssize p = 0; p < depth; p++)
        for (int v = 0; v < BL_WIDTH; v++)
          BL_LOAD(panel[p * BL_COLUMNS + v * BL_LANES + lane],
                  b[p * bk + v * BL_LANES + lane], b_sign)
    } else if (bk == 1) {
      BL_WAIT;
      for (ga_ssize j = 0; j < BL_COLUMNS; j++) {
        const ga_ssize inside = left + j < n ? j : n - 1 - left;
        for (ga_ssize p = 0; p < depth; p += BL_LANES)
          if (p + lane < depth)
            BL_LOAD(panel[(p + lane) * BL_COLUMNS + j], b[p + lane + inside * bj],
                    b_sign)
      }
      BL_WAIT;
    } else {
      for (int v = 0; v < BL_WIDTH; v++) {
        const ga_ssize j = v * BL_LANES + lane;
        for (ga_ssize p = 0; p < depth; p++)
          BL_ZERO(panel[p * BL_COLUMNS + j]);
        if (left + j < n) {
          if (bj == 1)
            for (ga_ssize p = 0; p < depth; p++)
              BL_LOAD(panel[p * BL_COLUMNS + j], b[p * bk + j], b_sign)
          else
            for (ga_ssize p = 0; p < depth; p++)
              BL_LOAD(panel[p * BL_COLUMNS + j], b[p * bk + j * bj], b_sign)
        }
      }
    }
    if (has_strip) {
      BL_WAIT;
      if (ai == 1)
        for (ga_ssize p = 0; p < depth; p++)
          for (ga_ssize i = 0; i < count; i += BL_LANES)
            if (i + lane < count)
              BL_LOAD(strip[p * BL_TILE + i + lane], a[p * ak + i + lane], a_sign)
      if (ai != 1)
        for (ga_ssize i = 0; i < count; i++)
          for (ga_ssize p = 0; p < depth; p += BL_LANES)
            if (p + lane < depth)
              BL_LOAD(strip[(p + lane) * BL_TILE + i], a[(p + lane) * ak + i * ai],
                      a_sign)
      BL_WAIT;
    }
    for (ga_ssize i = 0; i < count; i += BL_ROWS) {
      BL_T acc[BL_ROWS][BL_WIDTH];
      for (int r = 0; r < BL_ROWS; r++)
        for (int v = 0; v < BL_WIDTH; v++)
          BL_ZERO(acc[r][v]);
      if (has_strip) {
        for (ga_ssize p = 0; p < depth; p++)
          BL_EACH (r, BL_ROWS) {
            const BL_T factor = strip[p * BL_TILE + i + r];
            for (int v = 0; v < BL_WIDTH; v++)
              BL_MAD(acc[r][v], factor, panel[p * BL_COLUMNS + v * BL_LANES + lane]);
          }
      } else {
        GLOBAL_MEM const BL_S *row[BL_ROWS];
        for (int r = 0; r < BL_ROWS; r++)
          row[r] = a + (i + r < count ? i + r : count - 1) * ai;
        for (ga_ssize p = 0; p < depth; p++)
          BL_EACH (r, BL_ROWS) {
            BL_T factor;
            BL_LOAD(factor, row[r][p * ak], a_sign)
            for (int v = 0; v < BL_WIDTH; v++)
              BL_MAD(acc[r][v], factor, panel[p * BL_COLUMNS + v * BL_LANES + lane]);
          }
      }
      for (int r = 0; r < BL_ROWS; r++)
        for (int v = 0; v < BL_WIDTH; v++) {
          const ga_ssize at = (i + r) * BL_COLUMNS + v * BL_LANES + lane;
          if (from > 0)
            BL_ADD(sums[at], acc[r][v]);
          else
            sums[at] = acc[r][v];
        }
    }
    a += BL_DEPTH * ak;
    b += BL_DEPTH * bk;
  }
  for (ga_ssize i = 0; i < count; i++)
    for (int v = 0; v < BL_WIDTH; v++) {
      const ga_ssize j = v * BL_LANES + lane;
      GLOBAL_MEM BL_S *to = c + i * ci;
      if (left + j >= n)
        continue;
      if (cj == 1)
        BL_FINISH(to[j], sums[i * BL_COLUMNS + j])
      else
        BL_FINISH(to[j * cj], sums[i * BL_COLUMNS + j])
    }
}
