/* Which places of a sorted matrix another one has, too: 1 or 0 for each value, and 0
 * behind the last. */
#include "merge_words.cl.h"

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *out, ga_size out_off,
                    GLOBAL_MEM const SP_INDEX *rows, ga_size rows_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *b_indptr, ga_size b_indptr_off,
                    GLOBAL_MEM const SP_INDEX *b_indices, ga_size b_indices_off,
                    ga_ulong n, ga_ulong bn) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out + out_off);
  rows = (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)rows + rows_off);
  indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indices + indices_off);
  b_indptr =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)b_indptr + b_indptr_off);
  b_indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)b_indices + b_indices_off);
  SP_WALK(place, stop);
  (void)place_row;
  SP_EACH(k, n + 1) {
    ga_int found = 0;
    if (k < n) {
      const SP_INDEX column = indices[k];
      SP_SEARCH(place, stop, b_indptr, b_indices, bn, rows[k], column)
      found = place < stop && b_indices[place] == column;
    }
    out[k] = (SP_INDEX)found;
  }
}
