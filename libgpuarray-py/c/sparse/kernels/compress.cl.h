/* Where each row begins among sorted row indices: binary searches, on GPUs SP_SEARCHES
 * of them side by side. */
#define SP_SEARCHES 4

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *indptr, ga_size indptr_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_INDEX, indptr);
  SP_READ(SP_INDEX, indices);
#if SP_IS_CPU
  SP_EACH(row, rows + 1) {
    SP_COUNT low = 0, high = (SP_COUNT)n;
    while (low < high) {
      const SP_COUNT middle = low + (high - low) / 2;
      if ((SP_COUNT)indices[middle] < (SP_COUNT)row)
        low = middle + 1;
      else
        high = middle;
    }
    indptr[row] = (SP_INDEX)low;
  }
#else
  for (ga_ulong row = SP_ITEM; row <= rows; row += SP_SEARCHES * SP_ITEMS) {
    SP_COUNT low[SP_SEARCHES], high[SP_SEARCHES];
    ga_int is_open = n > 0;
    for (ga_int u = 0; u < SP_SEARCHES; u++) {
      low[u] = 0;
      high[u] = (SP_COUNT)n;
    }
    while (is_open) {
      SP_COUNT seen[SP_SEARCHES];
      is_open = 0;
      for (ga_int u = 0; u < SP_SEARCHES; u++)
        seen[u] = low[u] < high[u] ? (SP_COUNT)indices[low[u] + (high[u] - low[u]) / 2]
                                   : ~(SP_COUNT)0;
      for (ga_int u = 0; u < SP_SEARCHES; u++) {
        const SP_COUNT middle = low[u] + (high[u] - low[u]) / 2;
        const ga_int is_below = seen[u] < (SP_COUNT)(row + u * SP_ITEMS);
        low[u] = is_below ? middle + 1 : low[u];
        high[u] = is_below ? high[u] : middle;
        is_open |= low[u] < high[u];
      }
    }
    for (ga_int u = 0; u < SP_SEARCHES; u++)
      if (row + u * SP_ITEMS <= rows)
        indptr[row + u * SP_ITEMS] = (SP_INDEX)low[u];
  }
#endif
}
