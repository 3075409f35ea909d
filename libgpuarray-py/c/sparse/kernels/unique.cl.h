/* Duplicates of sorted matrices. SP_FORM 0, 1: counts, whether each value is the first
 * at its place; 2, 3: sums, by the scanned counts: an item sums the values of a place.
 * 1, 3: COO, `lines` are the rows of the values, else where they begin. */
#define SP_IS_LISTED (SP_FORM % 2)

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *counts, ga_size counts_off,
                    GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM SP_INDEX *out_lines, ga_size out_lines_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off, ga_ulong rows,
                    ga_ulong n, ga_ulong room) {
  KERNEL_BEGIN;
  counts = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)counts + counts_off);
  indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indices + indices_off);
  lines = (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)lines + lines_off);
#if SP_FORM < 2
  SP_EACH(k, n + 1) {
    ga_int is_first = k < n;
    if (k > 0 && k < n && indices[k] == indices[k - 1]) {
#if SP_IS_LISTED
      is_first = lines[k] != lines[k - 1];
#else
      ga_ulong low = 0, high = rows;
      while (low < high) {
        const ga_ulong middle = low + (high - low) / 2;
        if ((ga_ulong)lines[middle] < k)
          low = middle + 1;
        else
          high = middle;
      }
      is_first = (ga_ulong)lines[low] == k;
#endif
    }
    counts[k] = (SP_INDEX)is_first;
  }
#else
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  out_indices =
      (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indices + out_indices_off);
  out_lines = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_lines + out_lines_off);
  values = (GLOBAL_MEM const SP_VALUE *)((GLOBAL_MEM const char *)values + values_off);
  SP_EACH(k, n) {
    const ga_ulong place = (ga_ulong)counts[k];
    if ((ga_ulong)counts[k + 1] == place || place >= room)
      continue;
    SP_WORK sum = SP_LOAD(values[k]);
    for (ga_ulong next = k + 1; next < n && counts[next + 1] == counts[next]; next++)
      sum = SP_ADD(sum, SP_LOAD(values[next]));
    out[place] = SP_STORE(sum);
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
