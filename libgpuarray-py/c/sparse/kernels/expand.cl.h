/* The row of each value: a search in the row pointers, on GPUs among those of a tile's
 * rows. */

/* The first row from `low` on that ends behind value k; `high` if none before it does.
 */
#define SP_FIND(low, high, k)                                                          \
  while (low < high) {                                                                 \
    const ga_ulong middle = low + (high - low) / 2;                                    \
    if ((ga_ulong)indptr[middle + 1] <= (k))                                           \
      low = middle + 1;                                                                \
    else                                                                               \
      high = middle;                                                                   \
  }
#define SP_TILE 2048

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *out, ga_size out_off,
                    GLOBAL_MEM const SP_INDEX *indptr, ga_size indptr_off,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out + out_off);
  indptr = (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indptr + indptr_off);
#if SP_IS_CPU
  const ga_ulong first = SP_ITEM * n / SP_ITEMS, end = (SP_ITEM + 1) * n / SP_ITEMS;
  ga_ulong row = 0, high = rows - 1;
  SP_FIND(row, high, first)
  for (ga_ulong k = first; k < end; k++) {
    while (row + 1 < rows && (ga_ulong)indptr[row + 1] <= k)
      row++;
    out[k] = (SP_INDEX)row;
  }
#else
  for (ga_ulong tile = GID_0; tile * SP_TILE < n; tile += GDIM_0) {
    const ga_ulong first = tile * SP_TILE;
    const ga_ulong end = n - first < SP_TILE ? n : first + SP_TILE;
    ga_ulong from = 0, high = rows - 1;
    SP_FIND(from, high, first)
    ga_ulong to = from;
    high = rows - 1;
    SP_FIND(to, high, end - 1)
    for (ga_ulong k = first + LID_0; k < end; k += LDIM_0) {
      ga_ulong row = from, last = to;
      SP_FIND(row, last, k)
      out[k] = (SP_INDEX)row;
    }
  }
#endif
}
