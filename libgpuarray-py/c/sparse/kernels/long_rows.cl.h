/* Products of long rows: a work group takes a piece of a row, and with SP_IS_SUM, in a
 * later launch, the sums of a row's pieces. SP_WIDTH adjacent items take adjacent
 * columns, the teams of them values in turn. */
#include "row_words.cl.h"

#define SP_TEAMS (SP_THREADS / SP_WIDTH)

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  LOCAL_MEM SP_WORK sums[SP_THREADS];
  SP_STARTS;
  (void)shift;
  (void)limit;
  const ga_uint lid = (ga_uint)LID_0, team = lid / SP_WIDTH;
  const ga_ulong tiles = (width - 1) / SP_WIDTH + 1;
  ga_ulong count = ((GLOBAL_MEM const ga_uint *)list)[0];
  count = count < room ? count : room;
  for (ga_ulong i = GID_0; i < count * tiles; i += GDIM_0) {
    const ga_ulong entry = i / tiles, column = i % tiles * SP_WIDTH + lid % SP_WIDTH;
    const ga_ulong row = list[2 + 2 * entry], start = list[3 + 2 * entry];
    if (row >= rows)
      continue;
    SP_BOUNDS(row);
    SP_WORK sum = SP_ZERO;
#if SP_IS_SUM
    if (start != begin)
      continue;
    const ga_ulong pieces = (end - begin - 1) / piece_size + 1;
    const ga_ulong left = room - entry, own = pieces < left ? pieces : left;
    if (column < width)
      for (ga_ulong k = team; k < own; k += SP_TEAMS)
        sum = SP_ADD(sum, parts[(entry + k) * width + column]);
#else
    const ga_ulong stop = end - start < piece_size ? end : start + piece_size;
    if (column < width)
      for (ga_ulong k = start + team; k < stop; k += SP_TEAMS) {
        const SP_WORK v = SP_LOAD(values[k]);
        const ga_ulong j = (ga_ulong)indices[k];
        if (j < columns)
          sum = SP_ADD(sum, SP_TERM(v, j, column));
      }
#endif
    sums[lid] = sum;
    for (ga_uint step = SP_TEAMS / 2; step > 0; step /= 2) {
      local_barrier();
      if (team < step) {
        sum = SP_ADD(sum, sums[lid + step * SP_WIDTH]);
        sums[lid] = sum;
      }
    }
    if (team == 0 && column < width) {
#if SP_IS_SUM
      SP_PUT(row, column, sum);
#else
      parts[entry * width + column] = sum;
#endif
    }
    local_barrier();
  }
}
