/* Products of compressed rows on processors: an item takes adjacent rows with its share
 * of rows and values. */
#include "row_words.cl.h"

/* The first row of share `number`. */
#define SP_SHARE(out, number)                                                          \
  ga_ulong out = 0;                                                                    \
  {                                                                                    \
    const ga_ulong target = (rows + n) * (number) / items;                             \
    ga_ulong high = rows;                                                              \
    while (out < high) {                                                               \
      const ga_ulong middle = out + (high - out) / 2;                                  \
      if (middle + (ga_ulong)indptr[middle] < target)                                  \
        out = middle + 1;                                                              \
      else                                                                             \
        high = middle;                                                                 \
    }                                                                                  \
  }
#define SP_ADD_TERM(to, k)                                                             \
  {                                                                                    \
    const SP_WORK v = SP_LOAD(values[k]);                                              \
    const ga_ulong j = (ga_ulong)indices[k];                                           \
    if (j < columns)                                                                   \
      to = SP_ADD(to, SP_TERM(v, j, 0));                                               \
  }

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_STARTS;
  (void)parts;
  (void)shift;
  const ga_ulong items = SP_ITEMS;
  SP_SHARE(first, SP_ITEM);
  SP_SHARE(last, SP_ITEM + 1);
  if (SP_ITEM + 1 == items)
    last = rows;
  for (ga_ulong row = first; row < last; row++) {
    SP_BOUNDS(row);
    if (end - begin > limit) {
      SP_LIST_ROW(row);
      continue;
    }
#if SP_PER == 1
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
    for (ga_ulong left = 0; left < width; left += SP_PER) {
      const ga_ulong own = width - left < SP_PER ? width - left : SP_PER;
      SP_WORK sum[SP_PER];
      for (ga_int p = 0; p < SP_PER; p++)
        sum[p] = SP_ZERO;
      for (ga_ulong k = begin; k < end; k++) {
        const SP_WORK v = SP_LOAD(values[k]);
        const ga_ulong j = (ga_ulong)indices[k];
        if (j >= columns)
          continue;
        if (own == SP_PER)
          for (ga_int p = 0; p < SP_PER; p++)
            sum[p] = SP_ADD(sum[p], SP_TERM(v, j, left + (ga_ulong)p));
        else
          for (ga_ulong p = 0; p < own; p++)
            sum[p] = SP_ADD(sum[p], SP_TERM(v, j, left + p));
      }
      for (ga_ulong p = 0; p < own; p++)
        SP_PUT(row, left + p, sum[p]);
    }
#endif
  }
}
