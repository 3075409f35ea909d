/* The values of a matrix where a mask is true. SP_FORM 0, 1: counts, 1 for each of
 * them, and 0 behind the last; 2, 3: by the scanned counts, values and indices. 1, 3:
 * COO, `lines` are the rows of the values, else where they begin. */
#include "group_words.cl.h"

#define SP_IS_LISTED (SP_FORM % 2)

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *counts, ga_size counts_off,
                    GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM SP_INDEX *out_lines, ga_size out_lines_off,
                    GLOBAL_MEM const ga_ubyte *mask, ga_size mask_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off, ga_ulong rows,
                    ga_ulong n, ga_ulong room) {
  KERNEL_BEGIN;
  counts = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)counts + counts_off);
#if SP_FORM < 2
  SP_READ(ga_ubyte, mask);
  SP_EACH(k, n + 1) {
    counts[k] = (SP_INDEX)(k < n && mask[k] != 0);
  }
#else
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  out_indices =
      (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indices + out_indices_off);
  out_lines = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_lines + out_lines_off);
  SP_READ(SP_VALUE, values);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_INDEX, lines);
  SP_EACH(k, n) {
    const ga_ulong place = (ga_ulong)counts[k];
    if ((ga_ulong)counts[k + 1] == place || place >= room)
      continue;
    out[place] = values[k];
    out_indices[place] = indices[k];
#if SP_IS_LISTED
    out_lines[place] = lines[k];
#endif
  }
#if !SP_IS_LISTED
  SP_EACH(row, rows + 1) {
    const ga_ulong at = (ga_ulong)lines[row];
    out_lines[row] = counts[at < n ? at : n];
  }
#endif
#endif
}
