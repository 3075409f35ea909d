/* Rows of a matrix by index, as take.cl.h, on processors: each item copies its share of
 * rows. */
#include "shares_cpu.cl.h"

#define SP_ROW(i) (taken[i] < 0 ? taken[i] + (ga_long)rows : taken[i])
#define SP_BEGIN(row) begins[row]

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM const SP_INDEX *begins, ga_size begins_off, SP_MATRIX,
                    GLOBAL_MEM const ga_long *taken, ga_size taken_off, ga_ulong rows,
                    ga_ulong n, ga_ulong room, ga_ulong count) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_READ(SP_INDEX, begins);
  SP_READ_MATRIX;
  SP_READ(ga_long, taken);
  SP_SHARE(first, GID_0, GDIM_0, count, room, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, count, room, SP_BEGIN)
  for (ga_ulong i = first; i < last; i++) {
    const ga_ulong row = (ga_ulong)SP_ROW(i), at = (ga_ulong)begins[i];
    if (row >= rows)
      continue;
    SP_RANGE(begin, end, indptr, n, row);
    const ga_ulong length = end - begin;
    if (at > room || length > room - at)
      continue;
    SP_COPY_VALUES(out + at, values + begin, length)
    SP_COPY(out_indices + at, indices + begin, length)
  }
}
