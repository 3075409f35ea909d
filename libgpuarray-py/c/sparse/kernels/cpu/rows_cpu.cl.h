/* Products of compressed rows on processors: an item takes adjacent rows with its share
 * of rows and values. Of several columns of x it takes SP_PER vectors at a time, then
 * single vectors, then what is left of a row. */
#include "../row_words.cl.h"
#include "shares_cpu.cl.h"

#define SP_BEGIN(row) indptr[row]
#define SP_ADD_TERM(to, k)                                                             \
  {                                                                                    \
    const SP_WORK v = SP_LOAD(values[k]);                                              \
    const ga_ulong j = (ga_ulong)indices[k];                                           \
    if (j < columns)                                                                   \
      to = SP_ADD(to, SP_TERM(v, j, 0));                                               \
  }
/* Adds what a row makes of `count` groups of columns from `left` on, each of which is
 * an element of sum[]; LOAD and ADD are those of a group of `size` columns. */
#define SP_ADD_COLUMNS(count, size, LOAD, ADD)                                         \
  for (ga_ulong k = begin; k < end; k++) {                                             \
    const SP_WORK v = SP_LOAD(values[k]);                                              \
    const ga_ulong j = (ga_ulong)indices[k];                                           \
    if (j < columns) {                                                                 \
      GLOBAL_MEM const SP_VALUE *from = x + (ga_ssize)j * x_row + (ga_ssize)left;      \
      for (ga_int p = 0; p < (ga_int)(count); p++)                                     \
        sum[p] = ADD(sum[p], v, LOAD(from + p * size));                                \
    }                                                                                  \
  }
#define SP_LOAD_ONE(from) SP_LOAD(*(from))
#define SP_ADD_ONE(sum, v, x) SP_ADD(sum, SP_MUL(v, x))
#ifdef SP_VECTOR
#define SP_LOAD_VECTOR(from) vload8(0, from)
#define SP_ADD_VECTOR(sum, v, x) ((sum) + (v) * (x))
/* Columns by `count` vectors, as long as there are so many. */
#define SP_VECTORS(count)                                                              \
  for (; left + 8 * count <= width; left += 8 * count) {                               \
    SP_VECTOR sum[count];                                                              \
    for (ga_int p = 0; p < count; p++)                                                 \
      sum[p] = (SP_VECTOR)(SP_ZERO);                                                   \
    SP_ADD_COLUMNS(count, 8, SP_LOAD_VECTOR, SP_ADD_VECTOR)                            \
    for (ga_int p = 0; p < count; p++) {                                               \
      SP_WORK one[8];                                                                  \
      vstore8(sum[p], 0, one);                                                         \
      for (ga_int c = 0; c < 8; c++)                                                   \
        SP_PUT(row, left + 8 * p + c, one[c])                                          \
    }                                                                                  \
  }
#endif

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
      SP_LIST_ROW(row);
      continue;
    }
#if SP_WIDTH == 1
    SP_WORK a = SP_ZERO, b = SP_ZERO, c = SP_ZERO, d = SP_ZERO;
    ga_ulong k = begin;
    for (; k + 4 <= end; k += 4) {
      const ga_ulong j0 = (ga_ulong)indices[k], j1 = (ga_ulong)indices[k + 1];
      const ga_ulong j2 = (ga_ulong)indices[k + 2], j3 = (ga_ulong)indices[k + 3];
      if ((j0 < columns) & (j1 < columns) & (j2 < columns) & (j3 < columns)) {
        a = SP_ADD(a, SP_TERM(SP_LOAD(values[k]), j0, 0));
        b = SP_ADD(b, SP_TERM(SP_LOAD(values[k + 1]), j1, 0));
        c = SP_ADD(c, SP_TERM(SP_LOAD(values[k + 2]), j2, 0));
        d = SP_ADD(d, SP_TERM(SP_LOAD(values[k + 3]), j3, 0));
        continue;
      }
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
    ga_ulong left = 0;
#ifdef SP_VECTOR
#if SP_PER > 1
    SP_VECTORS(SP_PER)
#endif
    SP_VECTORS(1)
#endif
    for (; left < width; left += 8) {
      const ga_int rest = width - left < 8 ? (ga_int)(width - left) : 8;
      SP_WORK sum[8];
      for (ga_int p = 0; p < 8; p++)
        sum[p] = SP_ZERO;
      if (rest == 8) {
        SP_ADD_COLUMNS(8, 1, SP_LOAD_ONE, SP_ADD_ONE)
      } else {
        SP_ADD_COLUMNS(rest, 1, SP_LOAD_ONE, SP_ADD_ONE)
      }
      for (ga_int p = 0; p < rest; p++)
        SP_PUT(row, left + p, sum[p])
    }
#endif
  }
}
