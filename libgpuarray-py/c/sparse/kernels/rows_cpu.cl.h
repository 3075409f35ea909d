/* Products of compressed rows on processors: a work group takes adjacent rows with its
 * share of rows and values. Its items are the lanes of vectors: adjacent ones take
 * adjacent columns of x, SP_PER each. */
#include "row_words.cl.h"
#include "shares_cpu.cl.h"

#define SP_BEGIN(row) indptr[row]
#define SP_ADD_TERM(to, k)                                                             \
  {                                                                                    \
    const SP_WORK v = SP_LOAD(values[k]);                                              \
    const ga_ulong j = (ga_ulong)indices[k];                                           \
    if (j < columns)                                                                   \
      to = SP_ADD(to, SP_TERM(v, j, 0));                                               \
  }
#define SP_ADD_COLUMNS(k, is_here)                                                     \
  {                                                                                    \
    const SP_WORK v = SP_LOAD(values[k]);                                              \
    const ga_ulong j = (ga_ulong)indices[k];                                           \
    if (j < columns) {                                                                 \
      GLOBAL_MEM const SP_VALUE *from = x + (ga_ssize)j * x_row + (ga_ssize)own;       \
      for (ga_int p = 0; p < SP_PER; p++)                                              \
        if (is_here)                                                                   \
          sum[p] = SP_ADD(sum[p], SP_MUL(v, SP_LOAD(from[p * SP_WIDTH])));             \
    }                                                                                  \
  }

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_STARTS;
  (void)parts;
  (void)shift;
  SP_SHARE(first, GID_0, GDIM_0, rows, n, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, rows, n, SP_BEGIN)
  for (ga_ulong row = first; row < last; row++) {
    SP_BOUNDS(row);
    if (end - begin > limit) {
      if (LID_0 == 0)
        SP_LIST_ROW(row);
      continue;
    }
#if SP_WIDTH == 1
    SP_WORK a = SP_ZERO, b = SP_ZERO, c = SP_ZERO, d = SP_ZERO;
    ga_ulong k = begin;
    for (; k + 4 <= end; k += 4) {
      SP_ADD_TERM(a, k);
      SP_ADD_TERM(b, k + 1);
      SP_ADD_TERM(c, k + 2);
      SP_ADD_TERM(d, k + 3);
    }
    for (; k < end; k++)
      SP_ADD_TERM(a, k);
    const SP_WORK ab = SP_ADD(a, b), cd = SP_ADD(c, d);
    SP_PUT(row, 0, SP_ADD(ab, cd));
#else
    for (ga_ulong left = 0; left < width; left += SP_WIDTH * SP_PER) {
      const ga_ulong own = left + LID_0;
      SP_WORK sum[SP_PER];
      for (ga_int p = 0; p < SP_PER; p++)
        sum[p] = SP_ZERO;
      if (left + SP_WIDTH * SP_PER <= width) {
        for (ga_ulong k = begin; k < end; k++)
          SP_ADD_COLUMNS(k, 1);
      } else {
        for (ga_ulong k = begin; k < end; k++)
          SP_ADD_COLUMNS(k, own + p * SP_WIDTH < width);
      }
      for (ga_int p = 0; p < SP_PER; p++)
        if (own + p * SP_WIDTH < width)
          SP_PUT(row, own + p * SP_WIDTH, sum[p]);
    }
#endif
  }
}
