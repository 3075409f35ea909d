/* Which places of a sorted matrix another one has, too: 1 or 0 for each value, and 0
 * behind the last. */
#include "merge_words.cl.h"

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *out, ga_size out_off,
                    GLOBAL_MEM const SP_INDEX *indptr, ga_size indptr_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off,
                    GLOBAL_MEM const SP_INDEX *b_indices, ga_size b_indices_off,
                    ga_ulong rows, ga_ulong n, ga_ulong bn) {
  KERNEL_BEGIN;
  SP_TILE_MEMORY;
  out = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out + out_off);
  SP_READ(SP_INDEX, indptr);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_INDEX, b_indptr);
  SP_READ(SP_INDEX, b_indices);
  for (SP_COUNT tile = (SP_COUNT)GID_0; rows > 0 && tile <= ((SP_COUNT)n - 1) / SP_TILE;
       tile += (SP_COUNT)GDIM_0) {
    const SP_COUNT first = tile * SP_TILE, left = (SP_COUNT)n - first;
    const SP_COUNT end = first + (left < SP_TILE ? left : SP_TILE);
    SP_COUNT from;
    SP_TILE_ROWS(from, indptr, rows, first, end)
    SP_WALK;
    SP_EACH_PART(k, first, end) {
      SP_INDEX columns[SP_AHEAD];
      SP_COUNT own_rows[SP_AHEAD];
      for (ga_int u = 0; u < SP_AHEAD; u++) {
        SP_PART(u, k, end);
        (void)is_here;
        columns[u] = indices[at];
        own_rows[u] = SP_TILE_ROW(from, rows, at - first);
      }
      SP_SEARCH(b_indptr, b_indices, bn, own_rows, columns)
      for (ga_int u = 0; u < SP_AHEAD; u++) {
        SP_PART(u, k, end);
        if (is_here)
          out[at] = place[u] < stop[u] && b_indices[place[u]] == columns[u];
      }
    }
    local_barrier();
  }
  if (GID_0 == 0 && LID_0 == 0)
    out[n] = 0;
}
